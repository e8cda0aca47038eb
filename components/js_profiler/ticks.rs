/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The times at which samples are due: a grid of ticks, nearly at multiples of the base interval since an epoch.
//!
//! A session with an interval of *n* base intervals is due on every tick whose number is a multiple of *n*.
//! So all sessions of an event loop are in step, and a session that begins or ends does not move the ticks of
//! others.
//!
//! A program may have a period that is a multiple of the interval, or is in another simple ratio to it: ticks every 10 ms
//! meet a frame of 1/60 s at five places only. At exact multiples such a program would be sampled at the same few places
//! again and again, and functions would have the wrong shares. So the grid moves to and fro by
//! [`SWING`], at a speed that changes at random, and every place is sampled alike. The mean interval stays what it is. See
//! McCanne and Torek, "A Randomized Sampling Clock for CPU Utilization Estimation and Code Profiling", 1993.
//!
//! The speed stays the same for a second or more. At some speeds a fast loop is in step with the ticks: 23 rounds of a loop
//! may take as long as three intervals. So each tick is late by a random time, too, of up to a [`LATENESS`]th of the base
//! interval. Of recordings of 1 s at 1 ms, of loops of 50 µs to 2 ms, 1.6 % had an eighth of a round with a share that was
//! wrong by a fifth of it or more, and 0.7 % do now (root mean square over the eighths, simulated).

use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

/// How far the grid moves. A program may repeat once per interval. It is sampled at every phase if the interval is at most
/// this long.
const SWING: Duration = Duration::from_millis(10);

/// The shortest time that this takes. So it makes an interval at most 1 % longer or shorter.
const SHORTEST_SWING: Duration = Duration::from_secs(1);

/// A tick is late by less than the base interval divided by this. It makes an interval at most 5 % of the base interval
/// longer or shorter.
const LATENESS: u64 = 20;

/// What a random number is for.
#[derive(Hash)]
enum Random {
    Turn,
    Lateness,
}

/// The grid of ticks of a process.
#[derive(Clone, Debug)]
pub struct Ticks {
    epoch: Instant,
    /// In nanoseconds.
    base: u64,
    /// Half the mean number of ticks from one turn to the next.
    half_swing: u64,
    random: RandomState,
}

/// A tick at which the grid begins to move the other way.
#[derive(Clone, Copy)]
struct Turn {
    tick: u64,
    /// In nanoseconds since the epoch.
    time: u64,
}

impl Turn {
    fn ticks_since(self, earlier: Self) -> u128 {
        u128::from(self.tick - earlier.tick)
    }

    /// In nanoseconds.
    fn time_since(self, earlier: Self) -> u128 {
        u128::from(self.time - earlier.time)
    }
}

/// What lies between two turns. The grid moves at the same speed there.
struct Stretch {
    from: Turn,
    to: Turn,
}

impl Stretch {
    /// The last of its ticks that is not after a time, if none is late. In nanoseconds since the epoch.
    fn tick_at(&self, time: u64) -> u64 {
        let since = u128::from(time - self.from.time);
        let ticks = since * self.to.ticks_since(self.from) / self.to.time_since(self.from);
        self.from.tick + ticks as u64
    }

    /// When one of its ticks is, if it is not late. In nanoseconds since the epoch.
    fn time_of(&self, tick: u64) -> u64 {
        let since = u128::from(tick - self.from.tick);
        // Rounded up, so that the tick is not after this time.
        let time = (since * self.to.time_since(self.from)).div_ceil(self.to.ticks_since(self.from));
        self.from.time + time as u64
    }
}

impl Ticks {
    /// A grid that begins at `epoch`, and whose mean interval is `base`.
    pub fn new(epoch: Instant, base: Duration) -> Self {
        Self {
            epoch,
            base: base.as_nanos() as u64,
            half_swing: SHORTEST_SWING.as_nanos().div_ceil(base.as_nanos()) as u64,
            random: RandomState::new(),
        }
    }

    /// The first turn is at the epoch. The others are at random distances: on the average `2 * half_swing` ticks, and at
    /// least half as many.
    fn turn(&self, number: u64) -> Turn {
        if number == 0 {
            return Turn { tick: 0, time: 0 };
        }
        let random = self.random.hash_one((Random::Turn, number)) % (self.half_swing + 1);
        let tick = 2 * self.half_swing * number + random;
        let offset = match number % 2 {
            0 => 0,
            _ => SWING.as_nanos() as u64,
        };
        Turn {
            tick,
            time: tick * self.base + offset,
        }
    }

    /// The last turn that is not `after` something, and the one after it. `mean` is where the turn would be if all were at
    /// the same distance: the turn itself is that one or one beside it.
    fn stretch(&self, mean: u64, after: impl Fn(&Turn) -> bool) -> Stretch {
        let mut number = mean + 1;
        let mut to = self.turn(number);
        while !after(&to) {
            number += 1;
            to = self.turn(number);
        }
        let mut from = self.turn(number - 1);
        while after(&from) {
            number -= 1;
            to = from;
            from = self.turn(number - 1);
        }
        Stretch { from, to }
    }

    /// By how much a tick is late, in nanoseconds. The first one is not.
    fn lateness(&self, tick: u64) -> u64 {
        match (tick, self.base / LATENESS) {
            (0, _) | (_, 0) => 0,
            (_, longest) => self.random.hash_one((Random::Lateness, tick)) % longest,
        }
    }

    /// The number of the last tick that is not after `now`.
    pub fn at(&self, now: Instant) -> u64 {
        let elapsed = now.saturating_duration_since(self.epoch).as_nanos() as u64;
        let mean = elapsed / (self.base * 2 * self.half_swing);
        let stretch = self.stretch(mean, |turn| turn.time > elapsed);
        let tick = stretch.tick_at(elapsed);
        match stretch.time_of(tick) + self.lateness(tick) > elapsed {
            true => tick - 1,
            false => tick,
        }
    }

    /// When a tick is.
    pub fn instant(&self, tick: u64) -> Instant {
        let mean = tick / (2 * self.half_swing);
        let stretch = self.stretch(mean, |turn| turn.tick > tick);
        self.epoch + Duration::from_nanos(stretch.time_of(tick) + self.lateness(tick))
    }

    /// How long this many base intervals are on the average.
    pub fn duration(&self, base_intervals: NonZeroU32) -> Duration {
        Duration::from_nanos(self.base) * base_intervals.get()
    }

    /// How many base intervals an interval has. It must be a multiple of the base interval.
    pub fn in_base_intervals(&self, interval: Duration) -> NonZeroU32 {
        let interval = interval.as_nanos() as u64;
        debug_assert_eq!(interval % self.base, 0);
        let multiple = (interval / self.base) as u32;
        NonZeroU32::new(multiple).expect("an interval is at least the base interval")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(base: Duration) -> (Instant, Ticks) {
        let epoch = Instant::now();
        (epoch, Ticks::new(epoch, base))
    }

    #[test]
    fn a_tick_lasts_until_the_next_one() {
        for base in [100, 1_000, 7_000, 1_000_000].map(Duration::from_micros) {
            let (epoch, ticks) = ticks(base);
            assert_eq!(ticks.at(epoch), 0);
            for tick in (1..20_000).chain(123_456_789..123_457_789) {
                let instant = ticks.instant(tick);
                assert_eq!(ticks.at(instant), tick);
                assert_eq!(ticks.at(instant - Duration::from_nanos(1)), tick - 1);
            }
        }
        let (_, ticks) = ticks(Duration::from_millis(1));
        assert_eq!(ticks.in_base_intervals(Duration::from_millis(10)).get(), 10);
    }

    #[test]
    fn intervals_are_true_within_six_percent_and_together() {
        let base = Duration::from_millis(1);
        let (epoch, ticks) = ticks(base);
        let mut longest = Duration::ZERO;
        let mut shortest = base;
        for tick in 1..100_000 {
            let interval = ticks.instant(tick + 1) - ticks.instant(tick);
            longest = longest.max(interval);
            shortest = shortest.min(interval);
            let off = (ticks.instant(tick) - epoch).abs_diff(base * tick as u32);
            assert!(off <= SWING + base / LATENESS as u32, "{off:?}");
        }
        assert!(longest <= base.mul_f64(1.060_001), "{longest:?}");
        assert!(shortest >= base.mul_f64(0.939_999), "{shortest:?}");
        assert!(longest > base.mul_f64(1.04) && shortest < base.mul_f64(0.96));
    }

    #[test]
    fn a_fast_loop_is_not_in_step_with_the_ticks() {
        let base = Duration::from_millis(1);
        for _ in 0..10 {
            let (epoch, ticks) = ticks(base);
            // The grid does not turn earlier than at this tick.
            let last = ticks.half_swing;
            let interval = (ticks.instant(last) - epoch).as_secs_f64() / last as f64;
            let period = interval * 3. / 23.;
            let mut phases = [0_u32; 8];
            for tick in 1..=last {
                let time = (ticks.instant(tick) - epoch).as_secs_f64();
                phases[(8. * (time / period).fract()) as usize] += 1;
            }
            let mean = last as u32 / 8;
            let is_even = phases
                .iter()
                .all(|count| (mean / 2..2 * mean).contains(count));
            assert!(is_even, "{phases:?}");
        }
    }

    #[test]
    fn a_program_with_a_period_is_sampled_at_every_phase() {
        let (epoch, ticks) = ticks(Duration::from_millis(1));
        for (interval, period) in [(10, 10.), (10, 1000. / 60.), (1, 2.), (10, 10.1), (5, 10.)] {
            let mut phases = [0_u32; 5];
            let samples: u64 = 100_000 / interval;
            for sample in 1..=samples {
                let time = (ticks.instant(sample * interval) - epoch).as_secs_f64() * 1000.;
                phases[(5. * (time / period).fract()) as usize] += 1;
            }
            for count in phases {
                let share = 100. * f64::from(count) / samples as f64;
                assert!(
                    (share - 20.).abs() < 5.,
                    "{interval} ms, {period} ms: {phases:?}"
                );
            }
        }
    }
}
