/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The addresses of about:profiling and of its server.

use url::Url;

/// The scheme of the server. Servo also asks the handler of this scheme for about:profiling.
pub const SCHEME: &str = "profiling";

const PAGE: &str = "about:profiling";

/// Whether `url` is about:profiling, with any query and fragment.
pub fn is_profiling_page(url: &Url) -> bool {
    url.scheme() == "about" && url.path() == "profiling"
}

/// The address of the page, or of a recording on it.
pub fn page_url(recording: Option<&str>) -> Url {
    let mut url = Url::parse(PAGE).expect("is a URL");
    let fragment = recording.map(|recording| format!("recording={recording}"));
    url.set_fragment(fragment.as_deref());
    url
}
