/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Reads the sums of a file's samples: how many there are of each node and line, and what they are worth together. They are
//! those of the samples that `cpuprofile.rs` reads, of which none is kept here.
//!
//! That holds where times are whole microseconds, as engines write them. Other files are read with all samples.

use std::io::Read;
use std::num::NonZeroU32;

use super::columns::{Deltas, Ids};
use super::nodes::{Leaf, no_node};
use super::samples::{MICROSECONDS, Profile, at_place, read_calls, read_whole};
use crate::error::Error;
use crate::interval;
use crate::json_stream;
use crate::median::median;
use crate::recording::{Activity, EventLoop, Place, Recording};
use crate::worth;

/// Times up to here, eleven days, in microseconds: as numbers of nanoseconds, floats hold them and half of one.
const MAX_TIME: i64 = 1_000_000_000_000;

const NANOSECONDS: u64 = 1_000;

/// Memory for an entry beside its id and the time before it, in bytes.
const ENTRY_BYTES: u64 = 6;
/// The same where times are not whole: that of a sample.
const SAMPLE_BYTES: u64 = 112;

/// `None` if the members do not show that it is such a file.
pub fn read(source: impl Read, mut memory: u64) -> Result<Option<Recording>, Error> {
    let profile: Profile = json_stream::read(source, &mut memory)?;
    let is_shown = profile.start_time.is_some() || profile.samples.is_some();
    is_shown.then(|| sum(profile, memory)).transpose()
}

fn sum(mut profile: Profile, mut memory: u64) -> Result<Recording, Error> {
    let count = profile.samples.as_ref().map_or(0, Ids::len) as u64;
    let Some(ids) = profile.samples.take() else {
        return read_whole(&profile, memory);
    };
    let is_whole = match profile.deltas_of(&ids) {
        Ok(Deltas::Whole(deltas)) => Moments::are_whole(profile.start(), deltas),
        // An error is told when the nodes have been read.
        Ok(Deltas::Any(_)) | Err(_) => false,
    };
    if !is_whole {
        profile.samples = Some(ids);
        return read_whole(&profile, memory.saturating_sub(SAMPLE_BYTES * count));
    }
    memory = memory.saturating_sub(ENTRY_BYTES * count);
    let (mut event_loop, numbers, leaves) = read_calls(&profile, memory)?;
    let nodes = ids.replaced(|id| numbers.get(id));
    let nodes = nodes.map_err(|(index, id)| no_node(id, format!("samples[{index}]")))?;
    drop(numbers);
    let Some(Deltas::Whole(deltas)) = profile.time_deltas.take() else {
        unreachable!("they have been looked at")
    };
    let moments = Moments::new(profile.start(), deltas, nodes);
    let mut sums = Sums::new(&profile, leaves);
    let interval = sums.add_samples(&profile, &moments)?;
    sums.add_to(&mut event_loop)?;
    Ok(Recording::of_one(event_loop, interval, None))
}

/// The entries of a file in the order of time.
struct Moments {
    /// By entry, the number of its node.
    nodes: Vec<u32>,
    /// The time before each entry. That of the first one means nothing.
    before: Vec<u32>,
    /// In microseconds.
    first: i64,
    last: i64,
}

impl Moments {
    /// Whether all calculations with the times are exact.
    fn are_whole(start: f64, deltas: &[i32]) -> bool {
        const MAX_START: f64 = 1e15;
        if start.fract() != 0. || start.abs() > MAX_START {
            return false;
        }
        let mut time = start as i64;
        let (mut first, mut last) = (i64::MAX, 0);
        for delta in deltas {
            time += i64::from(*delta);
            first = first.min(time);
            last = last.max(time);
        }
        deltas.is_empty() || (first >= 0 && last <= MAX_START as i64 && last - first <= MAX_TIME)
    }

    fn new(start: f64, deltas: Vec<i32>, nodes: Vec<u32>) -> Self {
        let first = start as i64 + deltas.first().map_or(0, |delta| i64::from(*delta));
        if deltas.iter().skip(1).all(|delta| *delta >= 0) {
            let behind: i64 = deltas.iter().skip(1).map(|delta| i64::from(*delta)).sum();
            return Self {
                nodes,
                before: deltas.into_iter().map(|delta| delta as u32).collect(),
                first,
                last: first + behind,
            };
        }
        let mut time = start as i64;
        let times = deltas.into_iter().map(|delta| {
            time += i64::from(delta);
            time
        });
        let mut entries: Vec<_> = times.zip(nodes).collect();
        entries.sort_by_key(|(time, _)| *time);
        let mut last = entries.first().map_or(0, |(time, _)| *time);
        let first = last;
        // In order, they are no further apart than they were.
        let before = entries.iter().map(|(time, _)| {
            let before = time - last;
            last = *time;
            before as u32
        });
        Self {
            before: before.collect(),
            nodes: entries.into_iter().map(|(_, node)| node).collect(),
            first,
            last,
        }
    }

    fn len(&self) -> usize {
        self.nodes.len()
    }

    /// What the last entry is worth, in nanoseconds. Both are in milliseconds, the end on the clock of the file.
    fn worth_of_last(&self, end: Option<f64>, interval: f64) -> u64 {
        let last = (self.last - self.first) as f64 / MICROSECONDS;
        let since_first = (self.last - self.first) as u64 * NANOSECONDS;
        let end = end.map(|end| (end - self.first as f64) / MICROSECONDS);
        let end = match end {
            Some(end) if end >= last => worth::nanoseconds(end),
            _ => since_first.saturating_add(worth::nanoseconds(interval)),
        };
        end.saturating_sub(since_first)
    }

    /// What an entry is worth, in nanoseconds, if the last one is worth this.
    #[inline]
    fn worth(&self, entry: usize, of_last: u64) -> u64 {
        let next = self.before.get(entry + 1);
        next.map_or(of_last, |time| u64::from(*time) * NANOSECONDS)
    }

    /// Whether each entry is the first one of a sample. `is_hit` is `None` if all are hits.
    fn are_starts<'a>(&'a self, is_hit: Option<&'a [bool]>) -> impl Iterator<Item = bool> + 'a {
        let (mut last, mut has_hit) = (None, false);
        self.nodes.iter().enumerate().map(move |(entry, node)| {
            let Some(is_hit) = is_hit else { return true };
            let is_hit = is_hit[entry];
            let is_other = last.replace(*node) != Some(*node);
            // What is before the first hit belongs to it.
            let is_start = is_other || is_hit && has_hit;
            has_hit = is_hit || has_hit && !is_other;
            is_start
        })
    }

    /// The median of the times from one sample to the next, in milliseconds.
    fn interval(&self, is_hit: Option<&[bool]>) -> f64 {
        let median = median(|| {
            let mut since_last = 0_u64;
            let starts = self.are_starts(is_hit).zip(&self.before).skip(1);
            starts.filter_map(move |(is_start, before)| {
                since_last += u64::from(*before);
                if !is_start {
                    return None;
                }
                Some(u32::try_from(std::mem::take(&mut since_last)).unwrap_or(u32::MAX))
            })
        });
        median.map_or(interval::DEFAULT, |median| {
            interval::whole_nanoseconds(f64::from(median) / MICROSECONDS)
        })
    }

    /// Which entries are hits of their nodes, as `hits_among` finds them. `None` if all are.
    fn hits(&self, profile: &Profile, counts: &[u32]) -> Option<Vec<bool>> {
        let hits = profile.nodes.hits();
        if hits == 0 || hits >= self.len() as u64 {
            return None;
        }
        let of_last = self.worth_of_last(profile.end_time, self.interval(None));
        let hits_of = |node: usize| profile.nodes.get(node).hit_count;
        // The entries of nodes that have more of them than hits, one node behind the other.
        let mut ends = Vec::with_capacity(counts.len());
        let mut end = 0;
        for (node, count) in counts.iter().enumerate() {
            ends.push(end);
            end += if u64::from(*count) > hits_of(node) {
                *count
            } else {
                0
            };
        }
        let mut entries = vec![0_u32; end as usize];
        for (entry, node) in self.nodes.iter().enumerate() {
            let node = *node as usize;
            if u64::from(counts[node]) > hits_of(node) {
                entries[ends[node] as usize] = entry as u32;
                ends[node] += 1;
            }
        }
        let mut is_hit = vec![true; self.len()];
        for (node, count) in counts.iter().enumerate() {
            let hits = hits_of(node);
            if u64::from(*count) <= hits {
                continue;
            }
            let (end, hits) = (ends[node] as usize, hits as usize);
            let of_node = &mut entries[end - *count as usize..end];
            let most_first = |entry: &u32| {
                let worth = self.worth(*entry as usize, of_last);
                (std::cmp::Reverse(worth), *entry)
            };
            // The greatest ones, and of the same ones the first.
            of_node.select_nth_unstable_by_key(hits, most_first);
            for entry in &of_node[hits..] {
                is_hit[*entry as usize] = false;
            }
        }
        Some(is_hit)
    }
}

/// The samples of a node at one line, or at none.
struct Line {
    /// 0 if it is at none.
    line: u32,
    lacking: u64,
    weight: u64,
    /// In nanoseconds.
    worth: u64,
}

/// The lines of a node: the one that gets the next sample, and the last one, which is none. `None` if its entries are no
/// samples.
type Lines = Option<(u32, u32)>;

struct Sums {
    leaves: Vec<Leaf>,
    /// Of all nodes, and the node of each.
    lines: Vec<Line>,
    nodes: Vec<u32>,
    /// By node.
    lines_of: Vec<Lines>,
    is_timed: bool,
}

impl Sums {
    fn new(profile: &Profile, leaves: Vec<Leaf>) -> Self {
        let is_of_v8 = profile.is_of_v8();
        let mut lines = Vec::with_capacity(leaves.len());
        let mut lines_of = Vec::with_capacity(leaves.len());
        let mut nodes = Vec::with_capacity(leaves.len());
        let line = |line: u32, lacking: u64| Line {
            line,
            lacking,
            weight: 0,
            worth: 0,
        };
        for (number, node) in profile.nodes.iter().enumerate() {
            let start = lines.len() as u32;
            let ticks = profile.nodes.ticks_of_samples(number, is_of_v8);
            lines.extend(ticks.iter().map(|tick| line(tick.line, tick.ticks)));
            lines_of.push((!node.no_samples).then_some((start, lines.len() as u32)));
            lines.push(line(0, 0));
            nodes.resize(lines.len(), number as u32);
        }
        Self {
            leaves,
            lines,
            nodes,
            lines_of,
            is_timed: false,
        }
    }

    /// Adds all samples, and returns the interval in milliseconds.
    fn add_samples(&mut self, profile: &Profile, moments: &Moments) -> Result<f64, Error> {
        if let Some(interval) = profile.sample_interval {
            for node in &moments.nodes {
                self.add(*node, true, 0);
            }
            return interval::checked(interval / MICROSECONDS, "sampleInterval");
        }
        let mut counts = vec![0_u32; profile.nodes.len()];
        for node in &moments.nodes {
            counts[*node as usize] += 1;
        }
        let is_hit = moments.hits(profile, &counts);
        let is_hit = is_hit.as_deref();
        let interval = moments.interval(is_hit);
        let is_idle = |node: usize| {
            matches!(self.leaves[node], Leaf::Stackless(Some(Activity::Idle)))
                && self.lines_of[node].is_some()
        };
        let has_idle = (0..counts.len()).any(|node| counts[node] > 0 && is_idle(node));
        // V8 of workerd takes no samples while it is idle, but has idle ones at the start.
        let of_samples = moments.nodes.iter().map(|node| *node as usize);
        let of_samples = of_samples.filter(|node| self.lines_of[*node].is_some());
        let is_idle_sampled = has_idle && of_samples.skip_while(|node| is_idle(*node)).any(is_idle);
        let most = match profile.has_pauses.unwrap_or(!is_idle_sampled) {
            true => worth::nanoseconds(worth::most(interval)),
            false => u64::MAX,
        };
        let of_last = moments.worth_of_last(profile.end_time, interval);
        let (mut has_hit, mut worth) = (false, 0);
        let mut starts = moments.are_starts(is_hit).skip(1);
        for (entry, node) in moments.nodes.iter().enumerate() {
            has_hit |= is_hit.is_none_or(|is_hit| is_hit[entry]);
            worth += moments.worth(entry, of_last).min(most);
            // The next entry is that of another sample.
            if starts.next().unwrap_or(true) {
                self.add(*node, has_hit, std::mem::take(&mut worth));
                has_hit = false;
            }
        }
        self.is_timed = true;
        Ok(interval)
    }

    /// Adds a sample of a node, which has a line if it is a hit.
    #[inline]
    fn add(&mut self, node: u32, is_hit: bool, worth: u64) {
        let Some((next, last)) = &mut self.lines_of[node as usize] else {
            return;
        };
        let mut line = *last;
        if is_hit {
            while next < last && self.lines[*next as usize].lacking == 0 {
                *next += 1;
            }
            line = *next;
        }
        let line = &mut self.lines[line as usize];
        line.lacking = line.lacking.saturating_sub(1);
        line.weight += 1;
        line.worth = line.worth.saturating_add(worth);
    }

    fn add_to(&self, event_loop: &mut EventLoop) -> Result<(), Error> {
        for (line, node) in self.lines.iter().zip(&self.nodes) {
            if line.weight == 0 {
                continue;
            }
            let (stack, activity) = match self.leaves[*node as usize] {
                Leaf::Stack(stack) => (stack, None),
                Leaf::Stackless(activity) => (None, activity),
            };
            let place = Place::of_source(NonZeroU32::new(line.line), None);
            let stack = match (stack, place) {
                (Some(stack), Some(_)) => at_place(event_loop, stack, place).map(Some),
                _ => Ok(stack),
            };
            let worth = self.is_timed.then_some(line.worth);
            stack
                .and_then(|stack| event_loop.add_sum(stack, activity, line.weight, worth))
                .map_err(|invalid| Error::new(format!("nodes[{node}]"), invalid))?;
        }
        Ok(())
    }
}
