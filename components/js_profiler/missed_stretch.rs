/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! When samples were missed, and why. A recording shows it.

use std::mem;

use js_profiler_traits::recording::{MissedReason, RecordedMissed};
use malloc_size_of_derive::MallocSizeOf;
use servo_base::cross_process_instant::CrossProcessInstant;

/// The samples that were missed since the last sample that was taken.
#[derive(MallocSizeOf)]
pub struct MissedStretch {
    /// The time of the sample that was taken last.
    start: CrossProcessInstant,
    /// How many were missed for each reason, in the order of [`MissedReason::ALL`].
    samples: [u64; MissedReason::ALL.len()],
}

impl MissedStretch {
    /// A stretch that begins now.
    pub fn new() -> Self {
        Self {
            start: CrossProcessInstant::now(),
            samples: [0; MissedReason::ALL.len()],
        }
    }

    /// Adds samples that were missed for the reason `why`.
    pub fn add(&mut self, why: MissedReason, samples: u64) {
        self.samples[why as usize] += samples;
    }

    /// What was missed until `end`, where the next stretch begins.
    pub fn end(
        &mut self,
        end: CrossProcessInstant,
    ) -> impl Iterator<Item = RecordedMissed> + use<> {
        // The first sample may be from the moment in which the recording began.
        let start = mem::replace(&mut self.start, end).min(end);
        let missed = mem::take(&mut self.samples);
        let counted = MissedReason::ALL.into_iter().zip(missed);
        counted
            .filter(|(_, samples)| *samples > 0)
            .map(move |(why, samples)| RecordedMissed {
                start,
                end,
                samples: u32::try_from(samples).unwrap_or(u32::MAX),
                why,
            })
    }
}
