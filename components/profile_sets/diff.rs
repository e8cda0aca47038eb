/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Two sets of sessions compared: which functions became slower or faster, and how certain that is.
//!
//! - An interval is that of 95 %: the estimate and so many standard errors to each side, which are found by drawing sessions
//!   (`bootstrap.rs`).
//! - Simultaneous intervals are wider, so that in 95 % of all comparisons those of all listed functions hold at once.
//! - Growth is on the scale of logarithms, on which halving is as much as doubling.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use crate::bootstrap::{ONE_SIDED, Random, Replicates, Rows, TWO_SIDED, degrees, student};
use crate::bounds::MAX_COMPARED;
use crate::functions::Key;
use crate::hash_tables::{HashMap, IndexSet};
use crate::sessions::{Session, Sessions};

/// How often sessions are drawn.
pub const REPLICATES: usize = 1_000;

/// The same sessions give the same intervals.
const SEED: u64 = 0x5eed;

/// With fewer sessions on a side there are no intervals.
const LEAST_SESSIONS: usize = 5;

/// The part of the time that a function must have, before or after, to be watched.
const LEAST_SHARE: f64 = 0.005;

/// Milliseconds that stand for none in a logarithm.
const NEARLY_NONE: f64 = 1e-6;

/// One of the two sets.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    pub name: String,
    pub sessions: usize,
    /// If they are blocks of one recording: how many.
    pub blocks: usize,
    /// The time of samples with a stack, in milliseconds per session.
    pub milliseconds: f64,
    /// Whether its sessions cannot be told apart.
    pub is_merged: bool,
}

/// Between these it is with 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// What is known of a function on both sides. Times are in milliseconds per session, shares are parts of the time of samples
/// with a stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// In the new set, or in the base if it is gone.
    pub function: Key,
    /// Where the base has it, if that is another place.
    pub moved_from: Option<Key>,
    /// In the base, and in the new set.
    pub self_time: [f64; 2],
    pub total_time: [f64; 2],
    pub self_share: [f64; 2],
    pub total_share: [f64; 2],
    /// Of the difference of the times by itself.
    pub time: Option<Interval>,
    /// Of the part by which that time grew: 0.05 is 5 %. Absent if one side has no time.
    pub growth: Option<Interval>,
    /// Of the difference of the shares of the time by itself, and with what it calls.
    pub share: Option<Interval>,
    pub of_total_share: Option<Interval>,
    /// Simultaneous ones, of functions that have enough of the time.
    pub time_at_once: Option<Interval>,
    pub growth_at_once: Option<Interval>,
    /// By how much the share by itself changed at least, with 95 %. Not the time: all sessions may be longer by chance, and then
    /// all times are.
    pub certain: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Diff {
    pub sides: [Side; 2],
    /// Those that are certain and large first.
    pub changes: Vec<Change>,
    /// Why there are no intervals.
    pub without_intervals: Option<String>,
    /// Whether the functions are lines of functions.
    pub are_lines: bool,
}

/// Compares sessions. `side_of` says on which side a session of a set is: 0 is the base, and 1 the new one. The error is a
/// sentence.
pub fn diff(
    sessions: &Sessions,
    names: [String; 2],
    side_of: impl Fn(usize, &Session) -> Option<usize>,
    replicates: usize,
) -> Result<Diff, String> {
    let mut sides: [Vec<&Session>; 2] = Default::default();
    let mut sets: [IndexSet<usize>; 2] = Default::default();
    for (set, _, session) in sessions.iter() {
        if let Some(side) = side_of(set, session) {
            sides[side].push(session);
            sets[side].insert(set);
        }
    }
    for (side, name) in sides.iter().zip(&names) {
        if side.is_empty() {
            return Err(format!("{name}: no session to compare"));
        }
    }
    let pairs = matched(sessions, &sides);
    let pairs = most(pairs, &sides);
    let rows = [0, 1].map(|side| rows_of(&sides[side], &pairs, side));
    let blocks = [0, 1].map(|side| {
        let of_sets = sets[side].iter().map(|set| sessions.blocks(*set));
        of_sets.max().unwrap_or(0)
    });
    // A block is a part of its session.
    let scales = blocks.map(|blocks| blocks.max(1) as f64);
    let merged = [0, 1].map(|side| sets[side].iter().any(|set| sessions.is_merged(*set)));
    let without_intervals = if merged.contains(&true) {
        Some("a file was merged without its sessions (merge --sessions keeps them)".to_owned())
    } else if rows.iter().any(|rows| rows.len() < LEAST_SESSIONS) {
        Some(format!("a side has fewer than {LEAST_SESSIONS} sessions"))
    } else {
        None
    };
    let compared = Compared {
        rows,
        scales,
        functions: pairs.len(),
    };
    let means = compared.means();
    let intervals = match without_intervals {
        None => Some(compared.intervals(&means, replicates)),
        Some(_) => None,
    };
    let mut changes: Vec<_> = pairs
        .iter()
        .enumerate()
        .map(|(place, pair)| {
            let mut change = compared.change(&means, place);
            let [base, new] = pair.map(|one| one.map(|one| &sessions.functions()[one as usize]));
            let function = new.or(base).cloned();
            change.function = function.expect("each pair has a function");
            change.moved_from = base.filter(|_| new.is_some() && new != base).cloned();
            if let Some(intervals) = &intervals {
                intervals.set(&mut change, place);
            }
            change
        })
        .collect();
    changes.sort_by(|one, other| {
        let size = |change: &Change| (change.self_share[1] - change.self_share[0]).abs();
        let by_certain = other.certain.total_cmp(&one.certain);
        by_certain
            .then_with(|| size(other).total_cmp(&size(one)))
            .then_with(|| one.function.cmp(&other.function))
    });
    let mut names = names.into_iter();
    let sides = [0, 1].map(|side| Side {
        name: names.next().unwrap_or_default(),
        sessions: sides[side].len(),
        blocks: blocks[side],
        milliseconds: means[side][2 * pairs.len()],
        is_merged: merged[side],
    });
    Ok(Diff {
        sides,
        changes,
        without_intervals,
        are_lines: sessions.are_lines(),
    })
}

impl Diff {
    /// The functions that have enough of the time and grew by more than a part of their time, by intervals that hold for all
    /// of them at once. The error is a sentence: there are no intervals.
    pub fn grown(&self, by: f64) -> Result<Vec<&Change>, String> {
        if let Some(why) = &self.without_intervals {
            return Err(format!("there are no intervals to judge by: {why}"));
        }
        let grown = self.changes.iter().filter(|change| {
            match change.growth_at_once {
                Some(growth) => growth.low > by,
                // From none to some is more than any part.
                None => {
                    change.self_time[0] == 0.
                        && change.time_at_once.is_some_and(|time| time.low > 0.)
                },
            }
        });
        Ok(grown.collect())
    }
}

/// A function of the base and one of the new set.
type Pair = [Option<u32>; 2];

/// Which functions are one. Those that only one side has are matched by their name and URL, then by their name and the name of
/// their file, and then by their name alone. First come names that both sides have once, then functions that moved as far as one
/// of these before them, and then names of which both sides have as many.
fn matched(sessions: &Sessions, sides: &[Vec<&Session>; 2]) -> Vec<Pair> {
    let functions = sessions.functions();
    let of_sides = [0, 1].map(|side: usize| {
        let times = sides[side].iter().flat_map(|session| session.times.keys());
        let mut places: Vec<u32> = times
            .copied()
            .collect::<IndexSet<_>>()
            .into_iter()
            .collect();
        places.sort_unstable();
        places
    });
    let [base, new] = &of_sides;
    let is_in = |places: &Vec<u32>, place: &u32| places.binary_search(place).is_ok();
    let both = base.iter().filter(|place| is_in(new, place));
    let mut pairs: Vec<Pair> = both.map(|place| [Some(*place); 2]).collect();
    let mut left = [(base, new), (new, base)].map(|(one, other)| {
        let only = one.iter().filter(|place| !is_in(other, place));
        only.copied().collect::<Vec<u32>>()
    });
    let take = |pairs: &mut Vec<Pair>, left: &mut [Vec<u32>; 2], found: Vec<Pair>| {
        for (side, left) in left.iter_mut().enumerate() {
            let taken: IndexSet<u32> = found.iter().filter_map(|pair| pair[side]).collect();
            left.retain(|place| !taken.contains(place));
        }
        pairs.extend(found);
    };
    let parts: [fn(&str) -> &str; 3] = [|url| url, file_name, |_| ""];
    for part_of in parts {
        let found = matched_by_name(functions, &left, part_of, 1);
        take(&mut pairs, &mut left, found);
    }
    // Which functions of a name have samples is chance. So a name that is there more than once tells less than a neighbour.
    let moved = moved_with_neighbours(functions, &pairs, &left);
    take(&mut pairs, &mut left, moved);
    for part_of in parts {
        let found = matched_by_name(functions, &left, part_of, usize::MAX);
        take(&mut pairs, &mut left, found);
    }
    pairs.extend(left[0].iter().map(|place| [Some(*place), None]));
    pairs.extend(left[1].iter().map(|place| [None, Some(*place)]));
    pairs
}

/// Functions with a name of which both sides have as many in a part of the URL, and no more than `most`: in the order of their
/// places.
fn matched_by_name(
    functions: &IndexSet<Key>,
    left: &[Vec<u32>; 2],
    part_of: fn(&str) -> &str,
    most: usize,
) -> Vec<Pair> {
    let groups = left.each_ref().map(|places| {
        let mut groups: HashMap<(&str, &str), Vec<u32>> = HashMap::default();
        for place in places {
            let key = &functions[*place as usize];
            // Only places tell functions without a name apart.
            if !key.name.is_empty() {
                let group = (&*key.name, part_of(&key.url));
                groups.entry(group).or_default().push(*place);
            }
        }
        for group in groups.values_mut() {
            group.sort_by_key(|place| {
                let key = &functions[*place as usize];
                (key.line, key.column)
            });
        }
        groups
    });
    let mut found: Vec<Pair> = Vec::new();
    for (key, base) in &groups[0] {
        if let Some(new) = groups[1].get(key)
            && new.len() == base.len()
            && base.len() <= most
        {
            let both = base.iter().zip(new);
            found.extend(both.map(|(base, new)| [Some(*base), Some(*new)]));
        }
    }
    found.sort_unstable();
    found
}

/// The last part of a URL or of a path.
fn file_name(url: &str) -> &str {
    url.rsplit('/').next().unwrap_or_default()
}

/// Functions of a name that one side has more often, or without one: those that moved by as many lines as the last function before
/// them in their file that is matched by its name.
fn moved_with_neighbours(
    functions: &IndexSet<Key>,
    pairs: &[Pair],
    left: &[Vec<u32>; 2],
) -> Vec<Pair> {
    // By file of the base: the lines of functions with a name, and where these are in the new set.
    let mut anchors: HashMap<&str, BTreeMap<u32, (&str, u32)>> = HashMap::default();
    for pair in pairs {
        let [Some(base), Some(new)] = pair.map(|place| Some(&functions[place? as usize])) else {
            continue;
        };
        if let (Some(line), Some(new_line)) = (base.line, new.line)
            && file_name(&base.url) == file_name(&new.url)
            && !base.name.is_empty()
        {
            let lines = anchors.entry(&base.url).or_default();
            lines.insert(line.get(), (&*new.url, new_line.get()));
        }
    }
    let new = left[1].iter();
    let mut new: HashMap<&Key, u32> = new
        .map(|place| (&functions[*place as usize], *place))
        .collect();
    let moved = left[0].iter().filter_map(|place| {
        let key = &functions[*place as usize];
        let line = key.line?;
        let (from, (url, to)) = anchors.get(&*key.url)?.range(..=line.get()).next_back()?;
        let moved = Key {
            url: (*url).to_owned(),
            line: NonZeroU32::new(to.checked_add(line.get() - from)?),
            ..key.clone()
        };
        Some([Some(*place), Some(new.remove(&moved)?)])
    });
    moved.collect()
}

/// Those with the most time, of both sides together.
fn most(pairs: Vec<Pair>, sides: &[Vec<&Session>; 2]) -> Vec<Pair> {
    let sums = sides.each_ref().map(|sessions| {
        let mut sums: HashMap<u32, f64> = HashMap::default();
        let all: f64 = sessions.iter().map(|session| session.time as f64).sum();
        for session in sessions {
            for (place, (itself, total)) in &session.times {
                *sums.entry(*place).or_default() += (itself + total / 1_000) as f64 / all.max(1.);
            }
        }
        sums
    });
    let part = |pair: &Pair| -> f64 {
        let parts = pair.iter().zip(&sums);
        parts
            .map(|(place, sums)| {
                place
                    .and_then(|place| sums.get(&place))
                    .copied()
                    .unwrap_or(0.)
            })
            .sum()
    };
    let mut with_parts: Vec<_> = pairs.into_iter().map(|pair| (part(&pair), pair)).collect();
    with_parts.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    with_parts.truncate(MAX_COMPARED);
    with_parts.into_iter().map(|(_, pair)| pair).collect()
}

/// By session: the times of all functions by themselves, those with what they call, and the whole time, in milliseconds.
fn rows_of(sessions: &[&Session], pairs: &[Pair], side: usize) -> Rows {
    let mut rows = Rows::new(2 * pairs.len() + 1);
    let milliseconds = |nanoseconds: u64| (nanoseconds as f64 / 1e6) as f32;
    let mut row = Vec::new();
    for session in sessions {
        let times = pairs.iter().map(|pair| {
            let times = pair[side].and_then(|place| session.times.get(&place));
            times.copied().unwrap_or_default()
        });
        row.clear();
        row.extend(times.clone().map(|(itself, _)| milliseconds(itself)));
        row.extend(times.map(|(_, total)| milliseconds(total)));
        row.push(milliseconds(session.time));
        rows.push(&row);
    }
    rows
}

/// The sessions of both sides.
struct Compared {
    rows: [Rows; 2],
    /// By how much the times of a row are to be multiplied to be those of a session.
    scales: [f64; 2],
    functions: usize,
}

/// Means of both sides, in milliseconds per session.
type Means = [Vec<f64>; 2];

/// The statistics of a function, by their places.
const TIME: usize = 0;
const GROWTH: usize = 1;
const SHARE: usize = 2;
const TOTAL_SHARE: usize = 3;
const STATISTICS: usize = 4;

impl Compared {
    fn means(&self) -> Means {
        [0, 1].map(|side| self.scaled(side, self.rows[side].means()))
    }

    fn scaled(&self, side: usize, mut means: Vec<f64>) -> Vec<f64> {
        for mean in &mut means {
            *mean *= self.scales[side];
        }
        means
    }

    fn change(&self, means: &Means, place: usize) -> Change {
        let all = 2 * self.functions;
        let share =
            |place: usize| [0, 1].map(|side: usize| part(means[side][place], means[side][all]));
        Change {
            function: Key {
                name: String::new(),
                url: String::new(),
                line: None,
                column: None,
            },
            moved_from: None,
            self_time: [0, 1].map(|side: usize| means[side][place]),
            total_time: [0, 1].map(|side: usize| means[side][self.functions + place]),
            self_share: share(place),
            total_share: share(self.functions + place),
            time: None,
            growth: None,
            share: None,
            of_total_share: None,
            time_at_once: None,
            growth_at_once: None,
            certain: 0.,
        }
    }

    /// The statistics of all functions.
    fn statistics(&self, means: &Means) -> Vec<f64> {
        let all = 2 * self.functions;
        let mut statistics = Vec::with_capacity(STATISTICS * self.functions);
        for place in 0..self.functions {
            let [base, new] = [0, 1].map(|side: usize| means[side][place]);
            let share = |side: usize, place: usize| part(means[side][place], means[side][all]);
            let total = self.functions + place;
            statistics.extend([
                new - base,
                (new.max(NEARLY_NONE) / base.max(NEARLY_NONE)).ln(),
                share(1, place) - share(0, place),
                share(1, total) - share(0, total),
            ]);
        }
        statistics
    }

    fn intervals(&self, means: &Means, replicates: usize) -> Intervals {
        let mut random = Random(SEED);
        let drawn = (0..replicates).map(|_| {
            let means = [0, 1]
                .map(|side: usize| self.scaled(side, self.rows[side].means_of_drawn(&mut random)));
            self.statistics(&means)
        });
        let drawn: Vec<_> = drawn.collect();
        let counts = self.rows.each_ref().map(|rows| rows.len() as f64);
        let least = counts[0].min(counts[1]);
        let correction = (least / (least - 1.)).sqrt();
        let replicates = Replicates::new(self.statistics(means), &drawn, correction);
        let degrees = degrees(self.rows.each_ref().map(Rows::len), drawn.len());
        let one = student(TWO_SIDED, degrees);
        let watched = (0..self.functions).filter(|place| {
            let share = self.change(means, *place).self_share;
            share[0].max(share[1]) >= LEAST_SHARE
        });
        let watched: Vec<usize> = watched.collect();
        let at_once = |statistic: usize| {
            let which = watched.iter().map(|place| STATISTICS * place + statistic);
            replicates.simultaneous(&which.collect::<Vec<_>>(), one)
        };
        Intervals {
            at_once: [at_once(TIME), at_once(GROWTH)],
            one,
            least: student(ONE_SIDED, degrees),
            watched,
            replicates,
        }
    }
}

fn part(of: f64, all: f64) -> f64 {
    if all > 0. { of / all } else { 0. }
}

struct Intervals {
    replicates: Replicates,
    /// By how many standard errors an interval extends, for one statistic and for all times and growths.
    one: f64,
    at_once: [f64; 2],
    /// By how many standard errors less than its estimate a change may be: it is larger with 95 %.
    least: f64,
    /// The places of functions with enough time, in order.
    watched: Vec<usize>,
}

impl Intervals {
    fn of(&self, place: usize, statistic: usize, errors: f64) -> Interval {
        let index = STATISTICS * place + statistic;
        let (estimate, error) = (
            self.replicates.estimate(index),
            self.replicates.error(index),
        );
        Interval {
            low: estimate - errors * error,
            high: estimate + errors * error,
        }
    }

    fn set(&self, change: &mut Change, place: usize) {
        let growth = |errors: f64| {
            let of = self.of(place, GROWTH, errors);
            let both = change.self_time.iter().all(|time| *time > 0.);
            both.then(|| Interval {
                low: of.low.exp_m1(),
                high: of.high.exp_m1(),
            })
        };
        let time = self.of(place, TIME, self.one);
        let share = self.of(place, SHARE, self.one);
        if self.watched.binary_search(&place).is_ok() {
            change.growth_at_once = growth(self.at_once[1]);
            change.time_at_once = Some(self.of(place, TIME, self.at_once[0]));
        }
        change.growth = growth(self.one);
        change.time = Some(time);
        change.share = Some(share);
        change.of_total_share = Some(self.of(place, TOTAL_SHARE, self.one));
        change.certain = self.certain(place, SHARE);
    }

    /// How large a change is at least, in the direction in which it was found.
    fn certain(&self, place: usize, statistic: usize) -> f64 {
        let index = STATISTICS * place + statistic;
        let estimate = self.replicates.estimate(index).abs();
        (estimate - self.least * self.replicates.error(index)).max(0.)
    }
}
