/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How long a recording may take to be saved, once somebody wants the browser to end.

use std::time::{Duration, Instant};

use crate::termination::Termination;

/// How long the browser's processes may take for the last of a recording: source maps that are still fetched.
const TIME_TO_STOP: Duration = Duration::from_millis(1_500);

/// After this time the recording is written. It includes [`TIME_TO_STOP`].
const TIME_UNTIL_WRITING: Duration = Duration::from_millis(2_500);

/// The samples are there in a small part of this time, unless a process is stuck.
const TIME_FOR_SAMPLES: Duration = Duration::from_millis(500);

/// Whether somebody waits for the end, and since when.
#[derive(Clone)]
pub struct Haste {
    termination: Termination,
    /// When the person closed the window.
    closed: Option<Instant>,
}

impl Haste {
    pub fn new(termination: Termination, closed: Option<Instant>) -> Self {
        Self {
            termination,
            closed,
        }
    }

    /// Whether the processes have had enough time for the last of a recording that has been stopping since then.
    pub fn is_stop_over(&self, since: Instant) -> bool {
        let limit = match self.termination.is_urgent() {
            true => return since.elapsed() > TIME_FOR_SAMPLES,
            false => TIME_TO_STOP,
        };
        self.since().is_some_and(|since| since.elapsed() > limit)
    }

    /// Why source maps that are not done are left out now. None if they may go on.
    pub fn over(&self) -> Option<String> {
        if self.termination.is_urgent() {
            return Some("a second signal asked to save the recording at once".to_owned());
        }
        let since = self.since()?;
        (since.elapsed() > TIME_UNTIL_WRITING)
            .then(|| "the browser was asked to end before they were done".to_owned())
    }

    fn since(&self) -> Option<Instant> {
        let asked = self.termination.asked_at();
        asked.into_iter().chain(self.closed).min()
    }
}
