/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The time of a sample does not tell how deep the stack was: it is the time before the walk.
//!
//! Each sample is compared with the time at which it was due. On a busy machine most samples are late for other reasons,
//! but some are not, and these are compared.

use std::thread;
use std::time::{Duration, Instant};

use servo_base::cross_process_instant::CrossProcessInstant;

use crate::outcome::Outcome;
use crate::sample::Sample;
use crate::sampled_thread::{Audience, SampledThread, StackTaker};
use crate::sampled_while_running::while_running;
use crate::stop::wake_promptly;

/// Stacks with this many frames are deep.
const DEEP: usize = 300;

/// Other stacks have fewer frames than this.
const SHALLOW: usize = 10;

/// How many samples of deep stacks are compared with as many others, at least.
const ENOUGH: usize = 200;

/// A sample that is later than this is late for another reason: no walk takes as long.
const LATEST: Duration = Duration::from_millis(1);

/// How many samples are taken at most.
const MOST: usize = 100_000;

/// The share of the samples that are less late than the one that is compared.
const QUANTILE: f64 = 0.05;

/// How much later this sample of the deep stacks may be.
const MOST_LATER: Duration = Duration::from_micros(10);

/// Runs at either depth in turn.
const SCRIPT: &str = "
    function spin() {
        const end = Date.now() + 20;
        let x = 1;
        while (Date.now() < end) {
            for (let i = 0; i < 500; i++) { x = (Math.imul(x, 31) + i) | 0; }
        }
        return x;
    }
    function deep(frames) { return frames === 0 ? spin() + 1 : deep(frames - 1) + 1; }
    function rounds() {
        for (let i = 0; i < 4; i++) { spin(); deep(310); }
    }";

/// How late samples were, in nanoseconds.
#[derive(Default)]
struct Late {
    deep: Vec<i64>,
    shallow: Vec<i64>,
    taken: usize,
}

impl Late {
    /// Takes a sample that was due at a time of another clock.
    fn take(&mut self, sample: &Sample<'_>, due: Instant, clocks: (Instant, CrossProcessInstant)) {
        if sample.outcome != Outcome::Stack {
            return;
        }
        let (epoch, same_time) = clocks;
        let time = (sample.time - same_time).whole_nanoseconds() as i64;
        let late = time - (due - epoch).as_nanos() as i64;
        self.taken += 1;
        if late > LATEST.as_nanos() as i64 {
            return;
        }
        match sample.everything.frames.len() {
            DEEP.. => self.deep.push(late),
            0..SHALLOW => self.shallow.push(late),
            _ => {},
        }
    }

    fn are_enough(&self) -> bool {
        self.deep.len() >= ENOUGH && self.shallow.len() >= ENOUGH
    }

    /// By how much the samples of deep stacks were later, in nanoseconds.
    fn later(&mut self) -> i64 {
        let [deep, shallow] = [&mut self.deep, &mut self.shallow].map(|late| {
            late.sort_unstable();
            late[(late.len() as f64 * QUANTILE) as usize]
        });
        deep - shallow
    }
}

/// Samples a thread that runs the script, until there are enough samples.
fn later(sample: impl Fn(&mut SampledThread, &mut StackTaker, &Audience, &mut Late) + Sync) -> i64 {
    let mut late = while_running(SCRIPT, "rounds()", |thread, is_running| {
        wake_promptly();
        let mut taker = StackTaker::new();
        let mut late = Late::default();
        while !late.are_enough() && late.taken < MOST && is_running() {
            sample(thread, &mut taker, &Audience::of_everything(), &mut late);
        }
        late
    });
    assert!(late.are_enough());
    late.later()
}

fn assert_not_later(how: &str, later: i64) {
    println!("{how}: samples of deep stacks are {later} ns later");
    assert!(
        later.unsigned_abs() < MOST_LATER.as_nanos() as u64,
        "{how}: {later} ns"
    );
}

/// The two clocks, read at one time.
fn clocks() -> (Instant, CrossProcessInstant) {
    (Instant::now(), CrossProcessInstant::now())
}

#[test]
fn the_time_of_a_sample_does_not_tell_how_deep_the_stack_was() {
    let clocks = clocks();
    let later = later(|thread, taker, audience, late| {
        thread::sleep(Duration::from_micros(500));
        let due = Instant::now();
        let sample = thread.look(taker, audience).unwrap();
        late.take(&sample, due, clocks);
    });
    assert_not_later("stopped", later);
}

fn timed_walks(interval: Duration) {
    let clocks = clocks();
    let later = later(|thread, taker, audience, late| {
        // Timed walks are asked for only if the thread has stopped in time.
        thread.look(taker, audience).unwrap();
        if thread.timed_horizon().is_none() {
            return;
        }
        let now = Instant::now();
        let due: Vec<_> = (1..=4).map(|tick| now + interval * tick).collect();
        thread.ask(&due, interval, audience);
        let Some(until) = thread.timed_until() else {
            return;
        };
        thread::sleep(until.saturating_duration_since(Instant::now()));
        thread.collect(|due, walk| {
            if let Some((_, sample, _)) = walk {
                late.take(sample, due, clocks);
            }
        });
    });
    assert_not_later("timed", later);
}

#[test]
fn the_time_of_a_timed_sample_does_not_tell_how_deep_the_stack_was() {
    timed_walks(Duration::from_millis(1));
}

#[test]
fn the_time_of_a_timed_sample_with_cold_caches_does_not_tell_how_deep_the_stack_was() {
    timed_walks(Duration::from_millis(5));
}
