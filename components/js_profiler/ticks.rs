/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The times at which samples are due: ticks, whose mean distance is the base interval, and which ticks are for which
//! interval.
//!
//! A program may have a period. Ticks at equal distances would meet it at the same few places again and again, and
//! functions would have wrong shares. So the distance from one tick to the next is drawn at random, as that of independent
//! samples is, except for a least distance: see McCanne and Torek, "A Randomized Sampling Clock for CPU Utilization
//! Estimation and Code Profiling", 1993. The distances depend on nothing else, so no walk moves a tick.
//!
//! A session with an interval of *n* base intervals is due at some of the ticks, whose distances are drawn in the same way:
//! on the average at each *n*th. Those with the same interval are due at the same ticks. So a session that begins or ends
//! does not move the ticks of others.
//!
//! A distance is the least one plus the sum of two exponential ones. Of all simple distributions that were tried, this one
//! comes nearest to independent samples for all periods: the variance of a share is at most 1.05 times theirs, and less for
//! a period of more than the interval.

use std::cell::RefCell;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use malloc_size_of::{MallocSizeOf, MallocSizeOfOps};

/// The least distance is the mean one divided by this.
const LEAST: f64 = 5.;

/// How many distances are drawn together. Their sum is exactly so many mean distances, but for a part of one distance.
const BLOCK: u64 = 256;

/// How many blocks are remembered: those of now and of what comes next.
const REMEMBERED: usize = 2;

/// Numbers in ascending order, from 0 on, whose distances are random and have an exact mean. Each is a function of its index
/// and of a random key.
struct RandomSteps {
    mean: u64,
    /// The least distance.
    least: f64,
    random: RandomState,
    remembered: RefCell<[Block; REMEMBERED]>,
}

/// What comes after the numbers that are multiples of `BLOCK * mean`.
struct Block {
    /// `u64::MAX` if nothing is known.
    number: u64,
    offsets: Box<[u64]>,
}

impl RandomSteps {
    fn new(mean: u64, random: RandomState) -> Self {
        Self {
            mean,
            // In whole numbers, each must be another one.
            least: (mean as f64 / LEAST).max(1.),
            random,
            remembered: RefCell::new(std::array::from_fn(|_| Block {
                number: u64::MAX,
                offsets: Box::default(),
            })),
        }
    }

    /// Calls `use_it` with the offsets of a block.
    fn with_block<R>(&self, number: u64, use_it: impl FnOnce(&[u64]) -> R) -> R {
        let mut remembered = self.remembered.borrow_mut();
        let block = &mut remembered[number as usize % REMEMBERED];
        if block.number != number {
            *block = Block {
                number,
                offsets: self.draw(number),
            };
        }
        use_it(&block.offsets)
    }

    fn draw(&self, number: u64) -> Box<[u64]> {
        // More than 0, at most 1.
        let uniform = |index: u64, which: u8| {
            let bits = self.random.hash_one((number, index, which)) >> 11;
            (bits + 1) as f64 / (1_u64 << 53) as f64
        };
        let drawn: Vec<_> = (0..BLOCK)
            .map(|index| -(uniform(index, 0) * uniform(index, 1)).ln())
            .collect();
        let mean = drawn.iter().sum::<f64>() / BLOCK as f64;
        let more = (self.mean as f64 - self.least) / mean;
        // Without it, one tick of each block would be in step with all periods of which a block is a multiple. The distance to
        // the block before is longer by it, and that to the next one is shorter.
        let room = more * drawn.last().unwrap_or(&0.);
        let mut next = match number {
            0 => 0.,
            _ => room * uniform(BLOCK, 0),
        };
        drawn
            .iter()
            .map(|one| {
                let offset = next;
                next += self.least + more * one;
                offset as u64
            })
            .collect()
    }

    /// The number with an index.
    fn at(&self, index: u64) -> u64 {
        let (block, within) = (index / BLOCK, index % BLOCK);
        let offset = self.with_block(block, |offsets| offsets[within as usize]);
        block * BLOCK * self.mean + offset
    }

    /// The index of the last number that is not above `limit`.
    fn last_by(&self, limit: u64) -> u64 {
        let (block, within) = (limit / (BLOCK * self.mean), limit % (BLOCK * self.mean));
        let behind = self.with_block(block, |offsets| {
            offsets.partition_point(|offset| *offset <= within)
        });
        block * BLOCK + behind as u64 - 1
    }
}

impl fmt::Debug for RandomSteps {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("RandomSteps");
        shown.field("mean", &self.mean).finish_non_exhaustive()
    }
}

impl MallocSizeOf for RandomSteps {
    fn size_of(&self, _: &mut MallocSizeOfOps) -> usize {
        let remembered = self.remembered.borrow();
        remembered
            .iter()
            .map(|block| size_of_val(&*block.offsets))
            .sum()
    }
}

/// The ticks of a process.
#[derive(Debug)]
pub struct Ticks {
    epoch: Instant,
    /// In nanoseconds since the epoch.
    steps: RandomSteps,
    random: RandomState,
}

impl Ticks {
    /// Ticks from `epoch` on, whose mean distance is `base`.
    pub fn new(epoch: Instant, base: Duration) -> Self {
        let random = RandomState::new();
        Self {
            epoch,
            steps: RandomSteps::new(base.as_nanos() as u64, RandomState::new()),
            random,
        }
    }

    /// The number of the last tick that is not after `now`.
    pub fn at(&self, now: Instant) -> u64 {
        let elapsed = now.saturating_duration_since(self.epoch);
        self.steps.last_by(elapsed.as_nanos() as u64)
    }

    /// When a tick is.
    pub fn instant(&self, tick: u64) -> Instant {
        self.epoch + Duration::from_nanos(self.steps.at(tick))
    }

    /// The ticks that are for an interval.
    pub fn due(&self, interval: NonZeroU32) -> DueTicks {
        DueTicks {
            interval,
            steps: (interval != NonZeroU32::MIN)
                .then(|| RandomSteps::new(interval.get().into(), self.random.clone())),
        }
    }

    /// How long this many base intervals are on the average.
    pub fn duration(&self, base_intervals: NonZeroU32) -> Duration {
        Duration::from_nanos(self.steps.mean) * base_intervals.get()
    }

    /// How many base intervals an interval has. It must be a multiple of the base interval.
    pub fn in_base_intervals(&self, interval: Duration) -> NonZeroU32 {
        let interval = interval.as_nanos() as u64;
        debug_assert_eq!(interval % self.steps.mean, 0);
        let multiple = (interval / self.steps.mean) as u32;
        NonZeroU32::new(multiple).expect("an interval is at least the base interval")
    }
}

/// The ticks at which samples of an interval are due.
#[derive(Debug)]
pub struct DueTicks {
    interval: NonZeroU32,
    /// The numbers of the ticks. `None` if each tick is due.
    steps: Option<RandomSteps>,
}

impl MallocSizeOf for DueTicks {
    fn size_of(&self, ops: &mut MallocSizeOfOps) -> usize {
        self.steps.as_ref().map_or(0, |steps| steps.size_of(ops))
    }
}

impl DueTicks {
    /// In base intervals, on the average.
    pub fn interval(&self) -> NonZeroU32 {
        self.interval
    }

    /// How many are due up to `tick`, without the first tick of all.
    pub fn count(&self, tick: u64) -> u64 {
        match &self.steps {
            None => tick,
            Some(steps) => steps.last_by(tick),
        }
    }

    /// The last one that is not after `tick`.
    pub fn last_by(&self, tick: u64) -> u64 {
        match &self.steps {
            None => tick,
            Some(steps) => steps.at(steps.last_by(tick)),
        }
    }

    /// The first one after `tick`.
    pub fn next_after(&self, tick: u64) -> u64 {
        match &self.steps {
            None => tick + 1,
            Some(steps) => steps.at(steps.last_by(tick) + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;

    fn ticks(base: Duration) -> (Instant, Ticks) {
        let epoch = Instant::now();
        (epoch, Ticks::new(epoch, base))
    }

    fn interval(base_intervals: u32) -> NonZeroU32 {
        NonZeroU32::new(base_intervals).unwrap()
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
    fn distances_have_an_exact_mean_and_a_least_one() {
        let base = Duration::from_millis(1);
        let (epoch, ticks) = ticks(base);
        let distances: Vec<_> = (0..100 * BLOCK)
            .map(|tick| ticks.instant(tick + 1) - ticks.instant(tick))
            .collect();
        let off = (ticks.instant(100 * BLOCK) - epoch).abs_diff(base * 100 * BLOCK as u32);
        assert!(off < 10 * base, "{off:?}");
        let least = *distances.iter().min().unwrap();
        let fifth = base / LEAST as u32;
        assert!((fifth - Duration::from_nanos(1)..fifth * 5 / 4).contains(&least));
        // The variance of the sum of two exponential distances.
        let square = |distance: &Duration| (distance.as_secs_f64() * 1_000. - 1.).powi(2);
        let variance = distances.iter().map(square).sum::<f64>() / distances.len() as f64;
        let expected = (1. - 1. / LEAST).powi(2) / 2.;
        assert!((variance / expected - 1.).abs() < 0.1, "{variance}");
    }

    #[test]
    fn due_ticks_have_an_exact_mean_and_a_least_distance() {
        let (_, ticks) = ticks(Duration::from_millis(1));
        for base_intervals in [1, 2, 3, 7, 10, 1_000] {
            let due = ticks.due(interval(base_intervals));
            let same = ticks.due(interval(base_intervals));
            let least = (u64::from(base_intervals) / LEAST as u64).max(1);
            let (mut tick, mut number) = (0, 0);
            while number < 10 * BLOCK {
                assert_eq!(due.count(tick), number);
                let next = due.next_after(tick);
                assert_eq!(same.next_after(next - 1), next);
                assert!(next - tick >= least, "{base_intervals}: {tick}, {next}");
                assert_eq!(due.count(next - 1), number);
                assert_eq!((due.last_by(next - 1), due.last_by(next)), (tick, next));
                (tick, number) = (next, number + 1);
            }
            let off = tick.abs_diff(10 * BLOCK * u64::from(base_intervals));
            assert!(off < 10 * u64::from(base_intervals), "{off}");
        }
    }

    /// The greatest factor by which a share may vary more than that of independent samples, as a variance.
    const MOST_VARIANCE: f64 = 1.1;

    /// Of how many recordings a share is taken.
    const RECORDINGS: u64 = 400;

    /// The share of the samples at times, in milliseconds, that are inside: that of one recording after the other.
    fn shares(
        base_intervals: u32,
        samples: u32,
        is_inside: impl Fn(f64) -> bool,
    ) -> impl Iterator<Item = f64> {
        let (epoch, ticks) = ticks(Duration::from_millis(1));
        let due = ticks.due(interval(base_intervals));
        let mut tick = 0;
        iter::repeat_with(move || {
            let mut inside = 0_u32;
            for _ in 0..samples {
                tick = due.next_after(tick);
                let time = (ticks.instant(tick) - epoch).as_secs_f64() * 1_000.;
                inside += u32::from(is_inside(time));
            }
            f64::from(inside) / f64::from(samples)
        })
    }

    /// A program does one thing for a part of its period. Its share varies from recording to recording at most as much as
    /// with independent samples, whatever the period.
    #[test]
    fn shares_are_as_true_as_those_of_independent_samples() {
        for (base_intervals, samples) in [(1, 1_000), (10, 500), (2, 500)] {
            for step in 0..25 {
                // From 0.2 to 40 ms.
                let period = 0.2 * 200_f64.powf(f64::from(step) / 24.);
                for part in [0.25, 0.5] {
                    let is_inside = |time: f64| (time / period).fract() < part;
                    let shares = shares(base_intervals, samples, is_inside);
                    let squares = shares
                        .take(RECORDINGS as usize)
                        .map(|share| (share - part).powi(2));
                    let variance = squares.sum::<f64>() / RECORDINGS as f64;
                    let independent = part * (1. - part) / f64::from(samples);
                    // Four standard errors of a variance of so many recordings.
                    let most = MOST_VARIANCE * (1. + 4. * (2. / RECORDINGS as f64).sqrt());
                    assert!(
                        variance < most * independent,
                        "{base_intervals} ms, period {period:.3} ms, part {part}: {:.3}",
                        variance / independent
                    );
                }
            }
        }
    }

    /// How many samples a recording has: 2 s at 1 ms, or 20 s at 10 ms.
    const SAMPLES: u32 = 2_000;

    /// How many recordings have a share within the 95 % interval of independent samples, in percent.
    fn within(base_intervals: u32, truth: f64, is_inside: impl Fn(f64) -> bool) -> f64 {
        const RECORDINGS: usize = 10_000;
        let most = 1.96 * (truth * (1. - truth) / f64::from(SAMPLES)).sqrt();
        let within = shares(base_intervals, SAMPLES, is_inside)
            .take(RECORDINGS)
            .filter(|share| (share - truth).abs() <= most)
            .count();
        100. * within as f64 / RECORDINGS as f64
    }

    /// The table of docs/figures/shares.md.
    #[test]
    #[ignore = "By hand: 20,000 recordings of each program"]
    fn shares_lie_in_the_intervals_of_independent_samples() {
        for base_intervals in [1, 10] {
            let mut least = [100_f64; 2];
            for step in 0..50 {
                let period = 0.2 * 200_f64.powf(f64::from(step) / 49.);
                let is_in = |time: f64, period: f64| (time / period).fract() < 0.25;
                // Another work whose period is in no simple ratio to the first.
                let other = period * (1. + 5_f64.sqrt()) / 2.;
                let one = within(base_intervals, 0.25, |time| is_in(time, period));
                let two = within(base_intervals, 0.4375, |time| {
                    is_in(time, period) || is_in(time, other)
                });
                println!(
                    "{base_intervals} ms, period {period:.2} ms: {one:.2} %, with another {two:.2} %"
                );
                least = [least[0].min(one), least[1].min(two)];
            }
            println!("{base_intervals} ms: at least {least:?} %");
            // Each is known within 0.7 %: three standard errors.
            assert!(least.iter().all(|least| *least >= 93.3), "{least:?}");
        }
    }
}
