/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! When the samples of a session or recording are due: at the ticks that are for its interval, while it is running.

use std::num::NonZeroU32;

use malloc_size_of_derive::MallocSizeOf;

use crate::ticks::DueTicks;

/// The schedule of a session or recording. Ticks are counted in base intervals.
#[derive(MallocSizeOf)]
pub struct Schedule {
    due: DueTicks,
    /// The tick up to which all samples have been taken or missed.
    last_tick: u64,
    is_paused: bool,
    has_ended: bool,
}

impl Schedule {
    /// A schedule that is running or paused. The first sample is due after `current_tick`.
    pub fn new(due: DueTicks, current_tick: u64, is_paused: bool) -> Self {
        Self {
            due,
            last_tick: current_tick,
            is_paused,
            has_ended: false,
        }
    }

    /// The mean interval, in base intervals. It is the same whether or not the schedule is running.
    pub fn interval(&self) -> NonZeroU32 {
        self.due.interval()
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
        self.is_running().then(|| self.due.next_after(tick))
    }

    /// Whether a sample is due when the schedule moves on to `tick`.
    pub fn is_due_by(&self, tick: u64) -> bool {
        self.next_tick().is_some_and(|next| next <= tick)
    }

    /// Moves on to `tick`. Returns how many samples are missed, which are never taken later. These are all that
    /// became due, except for the last one.
    pub fn advance(&mut self, tick: u64) -> u64 {
        self.skip(tick).saturating_sub(1)
    }

    /// Moves on to `tick`, unless it is there. Returns how many samples became due, all of which are missed.
    pub fn skip(&mut self, tick: u64) -> u64 {
        let due = self.due_by(tick);
        if self.is_running() {
            self.last_tick = self.last_tick.max(tick);
        }
        due
    }

    /// The same, except that the last sample that became due by `tick` stays due.
    pub fn miss_before(&mut self, tick: u64) -> u64 {
        let missed = self.due_by(tick).saturating_sub(1);
        if missed > 0 {
            self.last_tick = self.due.last_by(tick) - 1;
        }
        missed
    }

    /// How many samples have become due by `tick`.
    fn due_by(&self, tick: u64) -> u64 {
        if !self.is_running() || tick <= self.last_tick {
            return 0;
        }
        self.due.count(tick) - self.due.count(self.last_tick)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::ticks::Ticks;

    /// A schedule with an interval of 10, and its first ticks.
    fn schedule() -> (Schedule, [u64; 6]) {
        let ticks = Ticks::new(Instant::now(), Duration::from_millis(1));
        let due = ticks.due(NonZeroU32::new(10).unwrap());
        let mut tick = 0;
        let first = [(); 6].map(|()| {
            tick = due.next_after(tick);
            tick
        });
        (Schedule::new(due, 0, false), first)
    }

    #[test]
    fn a_late_tick_is_due_once_and_the_rest_are_missed() {
        let (mut schedule, due) = schedule();
        assert!(!schedule.is_due_by(due[0] - 1));
        assert_eq!(schedule.advance(due[0] - 1), 0);
        assert!(schedule.is_due_by(due[0]) && !schedule.is_due_by(due[0] - 1));
        assert_eq!(schedule.advance(due[0]), 0);
        assert!(!schedule.is_due_by(due[0]), "it has been taken");
        assert_eq!(schedule.next_tick(), Some(due[1]));
        assert!(schedule.is_due_by(due[4]));
        assert_eq!(schedule.advance(due[4]), 3);
        assert!(!schedule.is_due_by(due[4]));
        assert_eq!(schedule.next_tick(), Some(due[5]));
        assert_eq!(schedule.next_tick_after(due[2]), Some(due[3]));
    }

    #[test]
    fn what_is_skipped_is_missed_and_is_due_no_more() {
        let (mut schedule, due) = schedule();
        assert_eq!(schedule.skip(due[2]), 3);
        assert_eq!(schedule.skip(due[1]), 0, "it has moved on");
        assert!(!schedule.is_due_by(due[2]));
        assert_eq!(schedule.next_tick(), Some(due[3]));
        assert_eq!(schedule.advance(due[3]), 0);
    }

    #[test]
    fn what_is_missed_before_the_last_sample_that_is_due_leaves_that_one() {
        let (mut schedule, due) = schedule();
        assert_eq!(schedule.miss_before(due[0] - 1), 0);
        assert_eq!(schedule.miss_before(due[0]), 0);
        assert_eq!(schedule.next_tick(), Some(due[0]));
        let late = due[5] - 1;
        assert_eq!(schedule.miss_before(late), 4);
        assert_eq!(schedule.next_tick(), Some(due[4]));
        assert_eq!(schedule.miss_before(late), 0, "they are counted once");
        assert_eq!(schedule.advance(late), 0);
        assert_eq!(schedule.next_tick(), Some(due[5]));
    }

    #[test]
    fn nothing_is_due_or_missed_while_it_is_paused_or_after_it_has_ended() {
        let (mut schedule, due) = schedule();
        schedule.set_paused(true, 1);
        assert_eq!(schedule.next_tick(), None);
        assert!(!schedule.is_due_by(due[3]));
        assert_eq!(
            (schedule.miss_before(due[3]), schedule.advance(due[3])),
            (0, 0)
        );
        schedule.set_paused(false, due[3]);
        assert_eq!(schedule.next_tick(), Some(due[4]));
        assert!(schedule.is_due_by(due[4]));
        assert_eq!(schedule.advance(due[4]), 0);
        schedule.end();
        schedule.set_paused(false, due[4]);
        assert_eq!(schedule.next_tick(), None);
        assert!(!schedule.is_due_by(due[5]));
        assert_eq!(schedule.advance(due[5]), 0);
    }
}
