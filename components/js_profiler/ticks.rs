/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The times at which samples are due: a grid of ticks, at multiples of the base interval since an epoch.
//!
//! A session with an interval of *n* base intervals is due on every tick whose number is a multiple of *n*.
//! So all sessions of an event loop are in step, and a session that begins or ends does not move the ticks of
//! others.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

/// The grid of ticks of a process.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    epoch: Instant,
    base: Duration,
}

impl Ticks {
    /// A grid whose tick 0 is at `epoch`, and whose interval is `base`.
    pub fn new(epoch: Instant, base: Duration) -> Self {
        Self { epoch, base }
    }

    /// The number of the last tick that is not after `now`.
    pub fn at(&self, now: Instant) -> u64 {
        let elapsed = now.saturating_duration_since(self.epoch);
        (elapsed.as_nanos() / self.base.as_nanos()) as u64
    }

    /// When a tick is.
    pub fn instant(&self, tick: u64) -> Instant {
        let nanoseconds = self.base.as_nanos() as u64 * tick;
        self.epoch + Duration::from_nanos(nanoseconds)
    }

    /// How long this many base intervals are.
    pub fn duration(&self, base_intervals: NonZeroU32) -> Duration {
        self.base * base_intervals.get()
    }

    /// How many base intervals an interval has. It must be a multiple of the base interval.
    pub fn in_base_intervals(&self, interval: Duration) -> NonZeroU32 {
        let multiple = interval.as_nanos() / self.base.as_nanos();
        debug_assert_eq!(self.base.as_nanos() * multiple, interval.as_nanos());
        NonZeroU32::new(multiple as u32).expect("an interval is at least the base interval")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_at_multiples_of_the_base_since_the_epoch() {
        let epoch = Instant::now();
        let ticks = Ticks::new(epoch, Duration::from_millis(1));
        assert_eq!(ticks.at(epoch), 0);
        assert_eq!(ticks.at(epoch + Duration::from_nanos(999_999)), 0);
        assert_eq!(ticks.at(epoch + Duration::from_millis(1)), 1);
        assert_eq!(ticks.instant(1_000), epoch + Duration::from_secs(1));
        assert_eq!(ticks.at(ticks.instant(123_456_789)), 123_456_789);
        assert_eq!(ticks.in_base_intervals(Duration::from_millis(10)).get(), 10);
    }
}
