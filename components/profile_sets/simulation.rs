/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Pairs of sets that are made, so that the truth is known: how often intervals hold it, how often the function that changed
//! comes first, and how often a comparison of equal sets fails.
//!
//! `STROBE_SIMULATED_PAIRS=1000 cargo test -p profile_sets --lib simulation -- --nocapture` makes as many pairs for each change,
//! and prints the figures. The crate is optimised in a dev build, too. Without the variable there are so few that the bounds are wider.

use std::collections::HashMap;
use std::env;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::bootstrap::Random;
use crate::diff::{Diff, diff};
use crate::functions::Key;
use crate::sessions::{Session, Sessions};

const SESSIONS: usize = 500;
const FUNCTIONS: u32 = 300;

/// The one that changes, and its part of the time.
const CHANGED: u32 = 7;
const PART: f64 = 0.05;

/// A session has about so many samples, each of so many milliseconds.
const SAMPLES: f64 = 1_000.;
const INTERVAL: f64 = 10.;

/// How far machines and visits differ, and how far what a function does in a session differs, on the scale of logarithms.
const OF_SESSIONS: f64 = 0.5;
const OF_FUNCTIONS: f64 = 0.15;

/// Sessions are drawn less often than in the product, to have an end.
const REPLICATES: usize = 300;

/// Pairs for each change, unless the variable says another number.
const PAIRS: u64 = 12;

/// By function: the part of the time that it has. A few have most of it.
fn parts() -> Vec<f64> {
    let of_rank = |rank: u32| 1. / (f64::from(rank) + 3.).powf(0.9);
    let others: f64 = (1..FUNCTIONS).map(of_rank).sum();
    let mut rank = 0;
    let parts = (0..FUNCTIONS).map(|function| match function {
        CHANGED => PART,
        _ => {
            rank += 1;
            (1. - PART) * of_rank(rank) / others
        },
    });
    parts.collect()
}

/// With a mean of 1.
fn varied(random: &mut Random, deviation: f64) -> f64 {
    (deviation * random.normal() - deviation * deviation / 2.).exp()
}

fn session(parts: &[f64], change: f64, random: &mut Random) -> Session {
    let samples = SAMPLES * varied(random, OF_SESSIONS);
    let mut session = Session::default();
    for (function, part) in (0..).zip(parts) {
        let growth = if function == CHANGED { 1. + change } else { 1. };
        let expected = samples * part * growth * varied(random, OF_FUNCTIONS);
        let count = random.poisson(expected);
        if count > 0 {
            let time = (count as f64 * INTERVAL * 1e6) as u64;
            session.times.insert(function, (time, time));
            session.time += time;
        }
    }
    session
}

fn pair(change: f64, seed: u64) -> Diff {
    let mut random = Random(seed);
    let parts = parts();
    let functions = (0..FUNCTIONS).map(|function| Key {
        name: format!("f{function}"),
        url: String::new(),
        line: None,
        column: None,
    });
    let mut all = HashMap::new();
    for set in 0..2 {
        for number in 0..SESSIONS {
            let change = if set == 1 { change } else { 0. };
            all.insert(
                (set, number.to_string()),
                session(&parts, change, &mut random),
            );
        }
    }
    // In the order in which they were made.
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by_key(|((set, id), _)| (*set, id.parse::<usize>().unwrap_or_default()));
    let sessions = Sessions::made(functions.collect(), all);
    let names = ["base", "new"].map(str::to_owned);
    diff(&sessions, names, |set, _| Some(set), REPLICATES).unwrap()
}

/// Over all pairs of a change.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    pairs: u64,
    /// The interval of the growth of the function that changed holds the truth; that of its share does.
    growth_holds: u64,
    share_holds: u64,
    /// The function that changed is the first one.
    is_first: u64,
    /// Some function other than that one has grown.
    false_alarms: u64,
}

fn figures(change: f64, pairs: u64) -> Figures {
    let figures = Mutex::new(Figures::default());
    let next = AtomicU64::new(0);
    let work = || loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= pairs {
            break;
        }
        let diff = pair(change, number * 1_000_003 + (change * 1_000.) as u64);
        let changed = format!("f{CHANGED}");
        let place = diff
            .changes
            .iter()
            .position(|one| one.function.name == changed);
        let one = &diff.changes[place.unwrap()];
        let holds = |interval: crate::diff::Interval, truth: f64| {
            u64::from(interval.low <= truth && truth <= interval.high)
        };
        // All other functions stay as they are.
        let share = PART * (1. + change) / (1. + PART * change) - PART;
        let grown = diff.grown(0.).unwrap();
        let mut figures = figures.lock().unwrap();
        figures.pairs += 1;
        figures.growth_holds += holds(one.growth.unwrap(), change);
        figures.share_holds += holds(one.share.unwrap(), share);
        figures.is_first += u64::from(place == Some(0));
        let others = grown
            .iter()
            .filter(|one| change == 0. || one.function.name != changed);
        figures.false_alarms += u64::from(others.count() > 0);
    };
    thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    figures.into_inner().unwrap()
}

#[test]
fn intervals_hold_and_the_change_is_found() {
    let asked = env::var("STROBE_SIMULATED_PAIRS").ok();
    let pairs = asked.map_or(PAIRS, |pairs| pairs.parse().unwrap());
    // Four deviations of a part of so few pairs.
    let room = |part: f64| match pairs >= 1_000 {
        true => 0.,
        false => 4. * (part * (1. - part) / pairs as f64).sqrt(),
    };
    let mut wrong = Vec::new();
    for change in [0., 0.01, 0.02, 0.05, 0.1] {
        let figures = figures(change, pairs);
        println!("{change}: {figures:?}");
        let part = |count: u64| count as f64 / pairs as f64;
        let holds = 0.93 - room(0.93)..=0.97 + room(0.97);
        let is_first = if change >= 0.05 { 0.9 - room(0.9) } else { 0. };
        let fails = if change == 0. { 0.07 + room(0.07) } else { 1. };
        let is_right = holds.contains(&part(figures.growth_holds))
            && holds.contains(&part(figures.share_holds))
            && part(figures.is_first) >= is_first
            && part(figures.false_alarms) <= fails;
        if !is_right {
            wrong.push((change, figures));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
