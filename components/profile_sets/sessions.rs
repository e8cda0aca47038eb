/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The times of functions in each session of a set.

use indexmap::map::Entry;
use profile_formats::EventLoop;

use crate::bounds::{MAX_SESSIONS, MAX_TIMES};
use crate::clocks::{Clocks, hash};
use crate::functions::{Distinct, Key};
use crate::hash_tables::{HashMap, HashSet, IndexMap, IndexSet};
use crate::labels::{Condition, KnownValues, Labels};
use crate::profile::{Profile, Samples};

/// A recording that is the only one of its set is cut into so many blocks at most, of so many samples at least.
const MAX_BLOCKS: u64 = 50;
const SAMPLES_OF_BLOCK: u64 = 20;

/// Sessions that are named for a function.
const SLOWEST: usize = 3;

/// What is known of one session. Times are in nanoseconds.
#[derive(Debug, Default)]
pub struct Session {
    pub labels: Labels,
    /// That of samples with a stack.
    pub time: u64,
    /// By the place of a function in [`Sessions::functions`]: its time by itself, and with what it calls.
    pub times: HashMap<u32, (u64, u64)>,
}

/// The sessions of one set, or of two that are to be compared: 0 and 1.
#[derive(Debug, Default)]
pub struct Sessions {
    condition: Option<Condition>,
    /// Whether times are those of lines of functions.
    by_lines: bool,
    known: KnownValues,
    functions: IndexSet<Key>,
    distinct: Distinct<u32>,
    sessions: IndexMap<(usize, String), Session>,
    clocks: [Clocks; 2],
    /// The only profile of each set up to here.
    alone: [Option<Profile>; 2],
    has_several: [bool; 2],
    blocks: [usize; 2],
    is_merged: [bool; 2],
    /// Functions that are another one: [`Distinct::same`].
    same: HashMap<u32, u32>,
    /// All times of all sessions.
    count: usize,
}

/// A function over sessions. Times are in nanoseconds, by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Percentiles {
    pub function: Key,
    /// The sum over all sessions.
    pub time: u64,
    /// Of all sessions, also those without it.
    pub p50: u64,
    pub p95: u64,
    /// The sessions in which it took the longest.
    pub slowest: Vec<(String, u64)>,
}

impl Sessions {
    pub fn new(condition: Option<Condition>) -> Self {
        Self {
            condition,
            ..Self::default()
        }
    }

    /// The same with the times of lines of functions, in which samples were or which called.
    pub fn of_lines(condition: Option<Condition>) -> Self {
        Self {
            by_lines: true,
            ..Self::new(condition)
        }
    }

    /// Those that were made for a test, by their sets and ids.
    #[cfg(test)]
    pub fn made(functions: Vec<Key>, sessions: Vec<((usize, String), Session)>) -> Self {
        Self {
            functions: functions.into_iter().collect(),
            sessions: sessions.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Adds a profile to a set. The error is a clause about it: there is no room for it.
    pub fn add(&mut self, set: usize, profile: Profile) -> Result<(), String> {
        if self.clocks[set].is_repeated(&profile) {
            return Ok(());
        }
        self.is_merged[set] |= profile.is_merged();
        if !self.has_several[set] {
            let Some(first) = self.alone[set].take() else {
                self.alone[set] = Some(profile);
                return Ok(());
            };
            self.has_several[set] = true;
            self.add_blocks(set, &first, 1)?;
        }
        self.add_blocks(set, &profile, 1)
    }

    /// Behind the last profile. One that is the only one of its set is cut into blocks of time, unless it has sessions.
    pub fn finish(&mut self) -> Result<(), String> {
        for set in 0..self.alone.len() {
            let Some(alone) = self.alone[set].take() else {
                continue;
            };
            let samples = alone.samples().into_iter().flat_map(|(_, samples)| samples);
            let sessions: HashSet<String> = samples.map(|samples| samples.session).collect();
            let is_one = sessions.len() < 2;
            self.is_merged[set] &= is_one;
            let blocks = match is_one && !self.is_merged[set] {
                true => (alone.weight() / SAMPLES_OF_BLOCK).clamp(1, MAX_BLOCKS) as usize,
                false => 1,
            };
            self.blocks[set] = if blocks > 1 { blocks } else { 0 };
            self.add_blocks(set, &alone, blocks)?;
        }
        self.join_columns();
        Ok(())
    }

    /// The same, but the only profile of a set stays one session.
    pub fn finish_whole(&mut self) -> Result<(), String> {
        for set in 0..self.alone.len() {
            if let Some(alone) = self.alone[set].take() {
                self.add_blocks(set, &alone, 1)?;
            }
        }
        self.join_columns();
        Ok(())
    }

    fn add_blocks(&mut self, set: usize, profile: &Profile, blocks: usize) -> Result<(), String> {
        for (event_loop, groups) in profile.samples_in(blocks) {
            let mut known: Vec<Option<u32>> = match self.by_lines {
                true => vec![None; event_loop.frames().len()],
                false => vec![None; event_loop.functions().len()],
            };
            for samples in groups {
                self.add_samples(set, event_loop, &mut known, samples)?;
            }
            let known = known.into_iter().flatten();
            let functions = &self.functions;
            self.distinct
                .add(known.map(|place| (&functions[place as usize], place)));
        }
        Ok(())
    }

    fn add_samples(
        &mut self,
        set: usize,
        event_loop: &EventLoop,
        known: &mut [Option<u32>],
        samples: Samples,
    ) -> Result<(), String> {
        if !samples.fit(self.condition.as_ref()) {
            return Ok(());
        }
        let id = hash(&[samples.session.as_bytes()]);
        let mut room = self.clocks[set].room(id, &samples);
        let count = self.sessions.len();
        let session = match self.sessions.entry((set, samples.session)) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(_) if count == MAX_SESSIONS => {
                return Err(format!(
                    "more than {MAX_SESSIONS} sessions are not compared"
                ));
            },
            Entry::Vacant(entry) => entry.insert(Session::default()),
        };
        session
            .labels
            .add_missing(&self.known.bounded(&samples.labels));
        let before = session.times.len();
        let mut seen: HashSet<u32> = HashSet::default();
        for ((stack, _), sum) in samples.sums {
            let worth = sum.worth.min(room);
            room -= worth;
            if stack.is_some() {
                session.time = session.time.saturating_add(worth);
            }
            seen.clear();
            let mut next = stack;
            while let Some(id) = next {
                let stack = event_loop.stack(id);
                let place = match self.by_lines {
                    true => &mut known[stack.frame.index()],
                    false => &mut known[event_loop.frame(stack.frame).function.index()],
                };
                let place = *place.get_or_insert_with(|| {
                    let key = match self.by_lines {
                        true => Key::of_line(event_loop, stack.frame),
                        false => {
                            let frame = event_loop.frame(stack.frame);
                            Key::of(event_loop, event_loop.function(frame.function))
                        },
                    };
                    // There are no more than fit into memory.
                    self.functions.insert_full(key).0 as u32
                });
                let (itself, total) = session.times.entry(place).or_default();
                if seen.is_empty() {
                    *itself = itself.saturating_add(worth);
                }
                // If a function calls itself, its time counts once.
                if seen.insert(place) {
                    *total = total.saturating_add(worth);
                }
                next = stack.parent;
            }
        }
        self.count += session.times.len() - before;
        match self.count > MAX_TIMES {
            true => Err(format!(
                "more than {MAX_TIMES} times of functions are not compared"
            )),
            false => Ok(()),
        }
    }

    /// Makes one function of those that differ by the column that engines give to `async`.
    fn join_columns(&mut self) {
        let same = self.distinct.same(self.functions.iter().zip(0..));
        for session in self.sessions.values_mut() {
            for (one, other) in &same {
                if let Some((itself, total)) = session.times.remove(one) {
                    let of_other = session.times.entry(*other).or_default();
                    of_other.0 = of_other.0.saturating_add(itself);
                    of_other.1 = of_other.1.saturating_add(total);
                }
            }
        }
        self.same = same;
    }

    /// Functions that are another one by their columns: that one.
    pub fn joined(&self) -> HashMap<Key, Key> {
        let key = |place: u32| self.functions[place as usize].clone();
        let same = self.same.iter();
        same.map(|(one, other)| (key(*one), key(*other))).collect()
    }

    /// Whether they are lines of functions.
    pub fn are_lines(&self) -> bool {
        self.by_lines
    }

    pub fn functions(&self) -> &IndexSet<Key> {
        &self.functions
    }

    /// Each with its set and its id.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (usize, &str, &Session)> {
        let sessions = self.sessions.iter();
        sessions.map(|((set, id), session)| (*set, &**id, session))
    }

    /// Whether nothing tells the sessions of a set apart.
    pub fn is_merged(&self, set: usize) -> bool {
        self.is_merged[set]
    }

    /// Of how many blocks of one recording a set is; 0 if it is of sessions.
    pub fn blocks(&self, set: usize) -> usize {
        self.blocks[set]
    }

    /// The values of a label, in the order in which they came.
    pub fn values_of(&self, label: &str) -> Vec<String> {
        let values = self.sessions.values();
        let values = values.filter_map(|session| session.labels.get(label));
        let values: IndexSet<_> = values.map(str::to_owned).collect();
        values.into_iter().collect()
    }

    /// The functions with the most time by themselves in some sessions.
    pub fn percentiles(&self, is_in: impl Fn(&Session) -> bool, top: usize) -> Vec<Percentiles> {
        let sessions = self.iter().filter(|(_, _, session)| is_in(session));
        let mut count = 0_usize;
        let mut times: HashMap<u32, Vec<(u64, &str)>> = HashMap::default();
        for (_, id, session) in sessions {
            count += 1;
            for (function, (itself, _)) in &session.times {
                times.entry(*function).or_default().push((*itself, id));
            }
        }
        let rows = times.into_iter().map(|(function, mut times)| {
            times.sort_unstable_by(|one, other| other.cmp(one));
            // The nearest rank among all sessions; those that are not listed have no time.
            let percentile = |percent: usize| {
                let from_top = count - (count * percent).div_ceil(100);
                times.get(from_top).map_or(0, |(time, _)| *time)
            };
            let slowest = times.iter().take(SLOWEST);
            let slowest = slowest.filter(|(time, _)| *time > 0);
            Percentiles {
                function: self.functions[function as usize].clone(),
                time: times
                    .iter()
                    .fold(0, |sum: u64, (time, _)| sum.saturating_add(*time)),
                p50: percentile(50),
                p95: percentile(95),
                slowest: slowest
                    .map(|(time, id)| ((*id).to_owned(), *time))
                    .collect(),
            }
        });
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by(|one, other| {
            let by_time = other.time.cmp(&one.time);
            by_time.then_with(|| one.function.cmp(&other.function))
        });
        rows.truncate(top);
        rows
    }
}
