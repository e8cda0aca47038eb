/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The sampling component of a browser whose engine has no hooks: there is no event loop that it could
//! sample, and it says so to whoever asks.

#![deny(unsafe_code)]

use crossbeam_channel::Sender;
use js_profiler_traits::recording::{Report, Request};

/// Answers what wants an answer.
pub fn serve(request: Request, reports: &Sender<Report>) {
    let report = match request {
        Request::Stop(recording) => Report::Stopped(recording),
        Request::Status { number } => Report::Status {
            number,
            event_loops: Vec::new(),
        },
        Request::SetPreferences(_)
        | Request::Start(_)
        | Request::EndEventLoop { .. }
        | Request::EndSampling => return,
    };
    // An error means that nobody wants to know any more.
    let _ = reports.send(report);
}

/// There is none.
pub fn end_recording() {}

/// It is not known here: nothing of this crate is compiled against the engine.
pub fn engine_version() -> Option<&'static str> {
    None
}
