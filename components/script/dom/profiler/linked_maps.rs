/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The source maps to which the headers of responses link, for recordings. `map_fetch.rs` fetches them.

use net_traits::FetchMetadata;

use super::event_loop;

/// <https://tc39.es/ecma426/#sec-linking-generated-code>, and the name that it had before.
const HEADERS: [&str; 2] = ["SourceMap", "X-SourceMap"];

/// Called for every response, because any of them may be that of a script.
pub(crate) fn note_response(metadata: &FetchMetadata) {
    let metadata = metadata.metadata();
    let headers = metadata.headers.as_ref();
    let values = HEADERS
        .iter()
        .filter_map(|name| headers?.get(*name))
        .map(|value| String::from_utf8_lossy(value.as_bytes()));
    let link = values
        .map(|value| value.trim().to_owned())
        .find(|link| !link.is_empty());
    let url = metadata.final_url.as_str();
    event_loop::with(|one| one.note_map_header(url, link.as_deref()));
}
