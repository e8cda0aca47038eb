/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! For how long an event loop stood still for its samples.

use std::time::Duration;

use hdrhistogram::Histogram;
use js_profiler_traits::GroupId;
use log::debug;
use malloc_size_of_derive::MallocSizeOf;

/// Longer ones are counted as this, in nanoseconds.
const LONGEST: u64 = 1_000_000_000;
const SIGNIFICANT_FIGURES: u8 = 2;

/// A histogram of the times from the first to the last thing that is done for a sample on the event loop's
/// thread. What the kernel does to deliver the signal and to return from it comes to that.
#[derive(MallocSizeOf)]
pub struct StopTimes {
    #[ignore_malloc_size_of = "Always of the same few kilobytes"]
    nanoseconds: Histogram<u32>,
}

impl StopTimes {
    pub fn new() -> Self {
        Self {
            nanoseconds: Histogram::new_with_bounds(1, LONGEST, SIGNIFICANT_FIGURES)
                .expect("the bounds are in order, and the figures few"),
        }
    }

    pub fn record(&mut self, duration: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.saturating_record(nanoseconds);
    }

    /// Writes what was recorded since the last call into the log.
    pub fn log_and_clear(&mut self, group: GroupId) {
        if self.nanoseconds.is_empty() {
            return;
        }
        debug!(
            "{group:?}: stood still {} times, ns: median {}, 99th percentile {}, longest {}",
            self.nanoseconds.len(),
            self.nanoseconds.value_at_quantile(0.5),
            self.nanoseconds.value_at_quantile(0.99),
            self.nanoseconds.max(),
        );
        self.nanoseconds.clear();
    }
}
