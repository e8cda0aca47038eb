/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Pages that a server answers with an error. Servo shows the content of the error, if there is any, and does not
//! tell the embedder the status. So the status is written to the page's console, and reported to recordings.

use std::ops::Range;

use embedder_traits::{ConsoleLogLevel, EmbedderMsg};
use js_profiler_traits::recording::PageAnswer;
use net_traits::Metadata;

use super::event_loop;
use crate::dom::document::Document;
use crate::dom::node::NodeTraits;

/// <https://www.rfc-editor.org/rfc/rfc9110#name-status-codes>
const ERRORS: Range<u16> = 400..600;

/// Called when a document has been made for the response to a page's request.
pub(super) fn tell(document: &Document, metadata: &Metadata) {
    let status = metadata.status.raw_code();
    let http_error = ERRORS.contains(&status).then_some(status);
    let webview = document.webview_id();
    let answer = PageAnswer {
        webview,
        http_error,
    };
    event_loop::with(|one| one.note_answer(answer));
    if let Some(status) = http_error {
        document
            .owner_global()
            .send_to_embedder(EmbedderMsg::ShowConsoleApiMessage(
                Some(webview),
                ConsoleLogLevel::Warn,
                format!(
                    "{} was answered with the HTTP status {status}",
                    metadata.final_url
                ),
            ));
    }
}
