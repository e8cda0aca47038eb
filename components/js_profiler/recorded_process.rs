/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! This process as the recorder sees it. The recorder may be in another process.

use crossbeam_channel::Sender;
use js_profiler_traits::preferences;
use js_profiler_traits::recording::{Report, Request};
use log::warn;

use crate::{registry, sampling_thread};

/// Does what `request` asks, and returns when that is done. It may be called from any thread but those of
/// event loops.
///
/// Reports come from the calling thread and from the sampling thread. The channel must be unbounded, because
/// the sampling thread never waits for it to have room. A preference that cannot be set is logged and
/// skipped.
pub fn serve(request: Request, reports: &Sender<Report>) {
    match request {
        Request::SetPreferences(preferences) => {
            for (name, value) in preferences {
                if let Err(error) = preferences::set(&name, &value) {
                    warn!("{error}");
                }
            }
        },
        Request::Start(options) => registry::start_recording(options, reports.clone()),
        Request::EndEventLoop {
            recording,
            event_loop,
        } => registry::end_event_loop(recording, event_loop),
        Request::Stop(recording) => {
            registry::stop_recording(Some(recording));
            report(reports, Report::Stopped(recording));
        },
        Request::Status { number } => {
            let event_loops = registry::status();
            report(
                reports,
                Report::Status {
                    number,
                    event_loops,
                },
            );
        },
        Request::EndSampling => sampling_thread::end_sampling(),
    }
}

/// Ends the recording that is running, if any. For a process that has lost its recorder.
pub fn end_recording() {
    registry::stop_recording(None);
}

fn report(reports: &Sender<Report>, report: Report) {
    // An error means that nobody receives reports any more.
    let _ = reports.send(report);
}
