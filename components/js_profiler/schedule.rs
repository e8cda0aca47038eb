/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! When the samples of a session or recording are due: at the ticks whose numbers are multiples of its interval, while it
//! is running.

use std::num::NonZeroU32;

use malloc_size_of_derive::MallocSizeOf;

/// The schedule of a session or recording. Ticks are counted in base intervals.
#[derive(MallocSizeOf)]
pub struct Schedule {
    /// In base intervals.
    interval: NonZeroU32,
    /// The tick up to which all samples have been taken or missed.
    last_tick: u64,
    is_paused: bool,
    has_ended: bool,
}

impl Schedule {
    /// A schedule that is running or paused. The first sample is due after `current_tick`. `interval` is in base
    /// intervals.
    pub fn new(interval: NonZeroU32, current_tick: u64, is_paused: bool) -> Self {
        Self {
            interval,
            last_tick: current_tick,
            is_paused,
            has_ended: false,
        }
    }

    /// The interval, in base intervals. It is the same whether or not the schedule is running.
    pub fn interval(&self) -> NonZeroU32 {
        self.interval
    }

    /// Whether samples are taken at present.
    pub fn is_running(&self) -> bool {
        !self.has_ended && !self.is_paused
    }

    /// Pauses the schedule or lets it go on at `current_tick`. While it is paused no samples are due, and
    /// none are missed.
    pub fn set_paused(&mut self, is_paused: bool, current_tick: u64) {
        if self.is_paused == is_paused {
            return;
        }
        self.is_paused = is_paused;
        self.last_tick = current_tick;
    }

    /// No more samples are due from now on.
    pub fn end(&mut self) {
        self.has_ended = true;
    }

    /// The next tick at which a sample is due; `None` unless the schedule is running.
    pub fn next_tick(&self) -> Option<u64> {
        self.next_tick_after(self.last_tick)
    }

    /// The first tick after `tick` at which a sample is due; `None` unless the schedule is running.
    pub fn next_tick_after(&self, tick: u64) -> Option<u64> {
        let interval = u64::from(self.interval.get());
        let is_running = self.is_running();
        is_running.then(|| (tick + 1).next_multiple_of(interval))
    }

    /// Whether a sample is due when the schedule moves on to `tick`.
    pub fn is_due_by(&self, tick: u64) -> bool {
        self.next_tick().is_some_and(|next| next <= tick)
    }

    /// Moves on to `tick`. Returns how many samples are missed, which are never taken later. These are all that
    /// became due, except for the last one.
    pub fn advance(&mut self, tick: u64) -> u64 {
        let missed = self.miss_before(tick);
        if self.is_running() {
            self.last_tick = tick;
        }
        missed
    }

    /// The same, except that the last sample that became due by `tick` stays due.
    pub fn miss_before(&mut self, tick: u64) -> u64 {
        if !self.is_running() {
            return 0;
        }
        let interval = u64::from(self.interval.get());
        let [last_due, last] = [tick, self.last_tick].map(|tick| tick / interval);
        let missed = last_due.saturating_sub(last + 1);
        if missed > 0 {
            self.last_tick = last_due * interval - 1;
        }
        missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(interval: u32) -> Schedule {
        Schedule::new(NonZeroU32::new(interval).unwrap(), 0, false)
    }

    #[test]
    fn a_late_tick_is_due_once_and_the_rest_are_missed() {
        let mut schedule = schedule(10);
        assert!(!schedule.is_due_by(9));
        assert_eq!(schedule.advance(9), 0);
        assert!(schedule.is_due_by(10) && !schedule.is_due_by(9));
        assert_eq!(schedule.advance(10), 0);
        assert!(!schedule.is_due_by(10), "it has been taken");
        assert_eq!(schedule.next_tick(), Some(20));
        assert!(schedule.is_due_by(55));
        assert_eq!(schedule.advance(55), 3);
        assert!(!schedule.is_due_by(55));
        assert_eq!(schedule.next_tick(), Some(60));
        assert_eq!(schedule.next_tick_after(71), Some(80));
    }

    #[test]
    fn what_is_missed_before_the_last_sample_that_is_due_leaves_that_one() {
        for interval in [1, 10] {
            let interval_of = u64::from(interval);
            let mut schedule = schedule(interval);
            assert_eq!(schedule.miss_before(interval_of - 1), 0);
            assert_eq!(schedule.miss_before(interval_of), 0);
            assert_eq!(schedule.next_tick(), Some(interval_of));
            let late = 6 * interval_of - 1;
            assert_eq!(schedule.miss_before(late), 4);
            assert_eq!(schedule.next_tick(), Some(5 * interval_of));
            assert_eq!(schedule.miss_before(late), 0, "they are counted once");
            assert_eq!(schedule.advance(late), 0);
            assert_eq!(schedule.next_tick(), Some(6 * interval_of));
        }
    }

    #[test]
    fn nothing_is_due_or_missed_while_it_is_paused_or_after_it_has_ended() {
        let mut schedule = schedule(10);
        schedule.set_paused(true, 5);
        assert_eq!(schedule.next_tick(), None);
        assert!(!schedule.is_due_by(50));
        assert_eq!((schedule.miss_before(50), schedule.advance(50)), (0, 0));
        schedule.set_paused(false, 55);
        assert_eq!(schedule.next_tick(), Some(60));
        assert!(schedule.is_due_by(60));
        assert_eq!(schedule.advance(60), 0);
        schedule.end();
        schedule.set_paused(false, 60);
        assert_eq!(schedule.next_tick(), None);
        assert!(!schedule.is_due_by(100));
        assert_eq!(schedule.advance(100), 0);
    }
}
