/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Where the data of an event loop's recording is reported.

use crossbeam_channel::Sender;
use js_profiler_traits::EventLoopId;
use js_profiler_traits::recording::{LinkedMap, RecordingId, Report};

/// Reports what a recording gets of one event loop.
#[derive(Clone)]
pub struct Reporter {
    /// The recording of the browser that the reports belong to.
    pub recording: RecordingId,
    /// The event loop that they are about.
    pub event_loop: EventLoopId,
    /// Takes the reports. The channel must be unbounded.
    pub reports: Sender<Report>,
}

impl Reporter {
    /// Sends a report.
    pub fn send(&self, report: Report) {
        // An error means that nobody receives reports any more.
        let _ = self.reports.send(report);
    }

    /// Reports why nothing more comes.
    pub fn fail(&self, why: String) {
        self.send(Report::Failed {
            recording: self.recording,
            event_loop: self.event_loop,
            why,
        });
    }

    /// Reports the map of these scripts ([`js_profiler_traits::recording::RecordedSource::id`]), or why there is none.
    pub fn map(&self, sources: Vec<u32>, url: String, content: Result<String, String>) {
        self.send(Report::Map {
            recording: self.recording,
            event_loop: self.event_loop,
            map: Box::new(LinkedMap {
                sources,
                url,
                content,
            }),
        });
    }
}
