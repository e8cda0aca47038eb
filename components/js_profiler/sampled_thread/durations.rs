/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How long an event loop stood still for its samples.

use std::ops::Range;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use js_profiler_traits::EventLoopId;
use log::debug;
use malloc_size_of_derive::MallocSizeOf;

/// The longest time that is counted, in nanoseconds. Longer ones are counted as this.
const LONGEST: u64 = 1_000_000_000;
const SIGNIFICANT_FIGURES: u8 = 2;

/// For how long a thread runs at most after a walk. A walk takes a few milliseconds at most, because its steps are limited
/// (`STROBE_MOST_WORK`). What seems to take longer was interrupted: the thread got no processor, or its process was stopped.
pub const LONGEST_RUN: Duration = Duration::from_millis(50);

/// For how long a thread has to run after a walk that took so long.
pub fn run_after(walk: Duration) -> Duration {
    walk.min(LONGEST_RUN)
}

/// A histogram of the times that an event loop's thread spent on samples, from the first to the last
/// instruction of ours on that thread. The time in which the kernel delivers the signal and returns from it
/// is not included.
#[derive(MallocSizeOf)]
pub struct StopDurations {
    #[ignore_malloc_size_of = "Always of the same few kilobytes"]
    nanoseconds: Histogram<u32>,
    /// When the walk began after which the thread has to run on.
    #[ignore_malloc_size_of = "Holds nothing"]
    begin: Instant,
    #[ignore_malloc_size_of = "Holds nothing"]
    runs_until: Instant,
}

impl StopDurations {
    /// A histogram without times. The event loop may stand still at once.
    pub fn new() -> Self {
        Self {
            nanoseconds: Histogram::new_with_bounds(1, LONGEST, SIGNIFICANT_FIGURES)
                .expect("the bounds are in order, and the figures few"),
            begin: Instant::now(),
            runs_until: Instant::now(),
        }
    }

    /// The thread must not be stopped before this instant. It runs for at least as long as its walk took.
    pub fn runs_until(&self) -> Instant {
        self.runs_until
    }

    /// From the beginning of the walks after which the thread has to run until it may be stopped again.
    pub fn walks_and_rest(&self) -> Range<Instant> {
        self.begin..self.runs_until
    }

    /// Notes that the thread had stood still for `duration` when it ran again at `end`. Stops are recorded in their
    /// order, but maybe much later.
    pub fn record(&mut self, end: Instant, duration: Duration) {
        let of_walk = run_after(duration);
        if end > self.runs_until {
            self.begin = end.checked_sub(of_walk).unwrap_or(end);
        }
        self.runs_until = self.runs_until.max(end) + of_walk;
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.saturating_record(nanoseconds);
    }

    /// Writes what was recorded since the last call into the log.
    pub fn log_and_clear(&mut self, event_loop: EventLoopId) {
        if self.nanoseconds.is_empty() {
            return;
        }
        debug!(
            "{event_loop:?}: stood still {} times, ns: median {}, 99th percentile {}, longest {}",
            self.nanoseconds.len(),
            self.nanoseconds.value_at_quantile(0.5),
            self.nanoseconds.value_at_quantile(0.99),
            self.nanoseconds.max(),
        );
        self.nanoseconds.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_loop_runs_for_as_long_as_it_stood_still() {
        let mut stops = StopDurations::new();
        let end = Instant::now();
        stops.record(end, Duration::from_millis(30));
        assert_eq!(stops.runs_until(), end + Duration::from_millis(30));
        // It had to run for 10 ms more.
        let end = end + Duration::from_millis(20);
        stops.record(end, Duration::from_millis(20));
        assert_eq!(stops.runs_until(), end + Duration::from_millis(30));
        let begin = end - Duration::from_millis(50);
        assert_eq!(stops.walks_and_rest().start, begin);
    }

    #[test]
    fn a_walk_that_was_interrupted_does_not_keep_an_event_loop_from_being_sampled() {
        let mut stops = StopDurations::new();
        let end = Instant::now() + Duration::from_secs(10);
        stops.record(end, Duration::from_secs(10));
        assert_eq!(stops.runs_until(), end + LONGEST_RUN);
        assert_eq!(stops.walks_and_rest().start, end - LONGEST_RUN);
    }

    #[test]
    fn time_between_stops_that_are_recorded_together_counts() {
        let mut stops = StopDurations::new();
        let begin = Instant::now();
        for second in 1..=4 {
            let end = begin + Duration::from_secs(10 * second);
            stops.record(end, Duration::from_millis(40));
        }
        assert_eq!(stops.runs_until(), begin + Duration::from_millis(40_040));
    }
}
