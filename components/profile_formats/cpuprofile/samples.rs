/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The members of a file, and its samples.

use std::cmp::Reverse;
use std::num::NonZeroU32;

use serde::Deserialize;

use super::columns::{Deltas, Ids};
use super::nodes::{Leaf, Nodes, Numbers, PositionTick, read_nodes};
use crate::error::Error;
use crate::interval;
use crate::recording::{
    Activity, EventLoop, EventLoopKind, Frame, Invalid, LAST_TIME, Place, Recording, Sample,
    StackId, check_time,
};
use crate::worth;

pub const MICROSECONDS: f64 = 1e3;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Profile {
    pub nodes: Nodes,
    pub start_time: Option<f64>,
    pub end_time: Option<f64>,
    pub samples: Option<Ids>,
    pub time_deltas: Option<Deltas>,
    pub sample_interval: Option<f64>,
    pub has_pauses: Option<bool>,
}

impl Profile {
    /// We have the member in all files, and a function without a script may have lines in them.
    pub fn is_of_v8(&self) -> bool {
        self.has_pauses != Some(false)
    }

    /// In microseconds.
    pub fn start(&self) -> f64 {
        self.start_time.unwrap_or_default()
    }

    /// The times between samples.
    pub fn deltas_of(&self, ids: &Ids) -> Result<&Deltas, Error> {
        match &self.time_deltas {
            Some(deltas) if deltas.len() == ids.len() => Ok(deltas),
            Some(deltas) => {
                let problem = format!("{} of {} samples", deltas.len(), ids.len());
                Err(Error::new("timeDeltas", problem))
            },
            None => Err(Error::of_file("it has samples and no timeDeltas")),
        }
    }
}

/// The samples of a node: those at its lines, and the others.
struct Leaves<'a> {
    leaf: Leaf,
    /// The lines that still lack samples, and how many the first of them lacks.
    ticks: &'a [PositionTick],
    lacking: u64,
}

impl<'a> Leaves<'a> {
    fn new(leaf: Leaf, ticks: &'a [PositionTick]) -> Self {
        Self {
            leaf,
            ticks,
            lacking: ticks.first().map_or(0, |tick| tick.ticks),
        }
    }

    /// The same for samples at no line.
    fn without_lines(&self) -> Self {
        Self {
            leaf: self.leaf,
            ticks: &[],
            lacking: 0,
        }
    }

    /// Takes up to this number of samples that have the same line, or no line. Returns the line and how many it took.
    fn take(&mut self, most: u64) -> (Option<NonZeroU32>, u64) {
        while let Some((tick, rest)) = self.ticks.split_first() {
            if self.lacking > 0 {
                let taken = self.lacking.min(most);
                self.lacking -= taken;
                return (NonZeroU32::new(tick.line), taken);
            }
            self.ticks = rest;
            self.lacking = rest.first().map_or(0, |tick| tick.ticks);
        }
        (None, most)
    }
}

/// With all samples.
pub fn read_whole(profile: &Profile, memory: u64) -> Result<Recording, Error> {
    let (mut event_loop, numbers, leaves) = read_calls(profile, memory)?;
    let mut leaves = leaves_of(profile, &leaves);
    let interval = match &profile.samples {
        Some(ids) => {
            let samples = read_samples(ids, profile, &numbers)?;
            add_samples(&mut event_loop, samples, profile, &mut leaves)?
        },
        None => add_hits(&mut event_loop, profile, &mut leaves)?,
    };
    Ok(Recording::of_one(event_loop, interval, None))
}

/// An event loop with the stacks of all nodes, the nodes' numbers, and what each node means.
pub fn read_calls(
    profile: &Profile,
    mut memory: u64,
) -> Result<(EventLoop, Numbers, Vec<Leaf>), Error> {
    memory = memory.saturating_sub(profile.nodes.bytes());
    let mut event_loop =
        EventLoop::within(memory, String::new(), EventLoopKind::Unknown).map_err(Error::of_file)?;
    let numbers = Numbers::of(&profile.nodes)?;
    let leaves = read_nodes(&profile.nodes, &numbers, &mut event_loop)?;
    Ok((event_loop, numbers, leaves))
}

fn leaves_of<'a>(profile: &'a Profile, leaves: &[Leaf]) -> Vec<Leaves<'a>> {
    let is_of_v8 = profile.is_of_v8();
    let leaves = leaves.iter().enumerate();
    leaves
        .map(|(number, leaf)| Leaves::new(*leaf, profile.nodes.ticks_of_samples(number, is_of_v8)))
        .collect()
}

/// Adds samples, each worth the time until the next one unless the file says the interval. Returns the interval.
fn add_samples(
    event_loop: &mut EventLoop,
    mut entries: Vec<NodeSample>,
    profile: &Profile,
    leaves: &mut [Leaves],
) -> Result<f64, Error> {
    entries.sort_by(|a, b| a.microseconds.total_cmp(&b.microseconds));
    for entry in &entries {
        check_time(entry.microseconds / MICROSECONDS)
            .map_err(|invalid| Error::new(entry.place(), invalid))?;
    }
    let is_sample = |entry: &NodeSample| !profile.nodes.get(entry.node).no_samples;
    if let Some(interval) = profile.sample_interval {
        for entry in entries.iter().filter(|entry| is_sample(entry)) {
            add_sample(
                event_loop,
                entry,
                interval::DEFAULT,
                &mut leaves[entry.node],
            )
            .map_err(|invalid| Error::new(entry.place(), invalid))?;
        }
        return interval::checked(interval / MICROSECONDS, "sampleInterval");
    }

    // The clock may have begun long ago. Times since the first sample have more digits left.
    let first = entries.first().map_or(0., |entry| entry.microseconds);
    let since_first = |microseconds: f64| (microseconds - first) / MICROSECONDS;
    let moments = entries.iter().map(|one| since_first(one.microseconds));
    let moments: Vec<f64> = moments.collect();
    let end = profile.end_time.map(since_first);
    let until_next = |interval, most| worth::until_next(&moments, end, interval, most);
    let interval = interval::estimate([moments.iter().copied()]);
    let is_hit = hits_among(&entries, &until_next(interval, None), &profile.nodes);
    let starts = starts_of_samples(&entries, &is_hit);
    let interval = interval::estimate([starts.iter().map(|start| moments[*start])]);

    // V8 of workerd takes no samples while it is idle, but has idle ones at the start.
    let mut has_run = false;
    let mut is_idle_sampled = false;
    for (index, start) in starts.iter().enumerate() {
        let entry = &entries[*start];
        if !is_sample(entry) {
            continue;
        }
        let end = starts.get(index + 1).copied().unwrap_or(entries.len());
        let leaves = &mut leaves[entry.node];
        let is_idle = matches!(leaves.leaf, Leaf::Stackless(Some(Activity::Idle)));
        is_idle_sampled |= has_run && is_idle;
        has_run |= !is_idle;
        let added = match is_hit[*start..end].contains(&true) {
            true => add_sample(event_loop, entry, interval, leaves),
            false => add_sample(event_loop, entry, interval, &mut leaves.without_lines()),
        };
        added.map_err(|invalid| Error::new(entry.place(), invalid))?;
    }
    let has_pauses = profile.has_pauses.unwrap_or(!is_idle_sampled);
    let worths = until_next(interval, has_pauses.then(|| worth::most(interval)));
    let ends = starts.iter().skip(1).copied().chain([entries.len()]);
    let of_samples = starts.iter().zip(ends);
    let of_samples = of_samples.filter(|(start, _)| is_sample(&entries[**start]));
    let worths = of_samples.map(|(start, end)| worths[*start..end].iter().sum());
    event_loop
        .set_worths(worths.collect())
        .map_err(|invalid| Error::new("timeDeltas", invalid))?;
    Ok(interval)
}

/// Which entries are hits of their nodes. V8 has others, too: one at the start, and several where it deoptimises a function.
/// Nothing says which, but they are closer to the next entry than hits are.
fn hits_among(entries: &[NodeSample], worths: &[u64], nodes: &Nodes) -> Vec<bool> {
    let hits = nodes.hits();
    // Other tools do not say how many hits there are.
    if hits == 0 || hits >= entries.len() as u64 {
        return vec![true; entries.len()];
    }
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|index| (entries[*index].node, Reverse(worths[*index])));
    let mut is_hit = vec![false; entries.len()];
    for of_node in order.chunk_by(|a, b| entries[*a].node == entries[*b].node) {
        let hits = nodes.get(entries[of_node[0]].node).hit_count;
        let hits = usize::try_from(hits).unwrap_or(usize::MAX);
        for index in of_node.iter().take(hits) {
            is_hit[*index] = true;
        }
    }
    is_hit
}

/// The index of the first entry of each sample. An entry that is no hit belongs to the sample of the same node beside it.
fn starts_of_samples(entries: &[NodeSample], is_hit: &[bool]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut start = 0;
    for run in entries.chunk_by(|a, b| a.node == b.node) {
        starts.push(start);
        let mut hits = (start..start + run.len()).filter(|index| is_hit[*index]);
        // What is before the first hit belongs to it.
        hits.next();
        starts.extend(hits);
        start += run.len();
    }
    starts
}

/// Adds the hits of all nodes, one after another. Each is worth the same part of the file's time. Returns it.
fn add_hits(
    event_loop: &mut EventLoop,
    profile: &Profile,
    leaves: &mut [Leaves],
) -> Result<f64, Error> {
    let hits = profile.nodes.hits();
    let time = profile
        .end_time
        .map(|end| (end - profile.start()) / MICROSECONDS);
    let interval = match (profile.sample_interval, time) {
        (Some(interval), _) => interval::checked(interval / MICROSECONDS, "sampleInterval")?,
        (None, Some(time)) if time > 0. && time <= LAST_TIME && hits > 0 => {
            interval::whole_nanoseconds(time / hits as f64)
        },
        _ => interval::DEFAULT,
    };
    for sample in self::hits(&profile.nodes, interval) {
        add_sample(event_loop, &sample, interval, &mut leaves[sample.node])
            .map_err(|invalid| Error::new(sample.place(), invalid))?;
    }
    Ok(interval)
}

/// Adds a sample, or one for each line of a node's hits.
fn add_sample(
    event_loop: &mut EventLoop,
    sample: &NodeSample,
    interval: f64,
    leaves: &mut Leaves,
) -> Result<(), Invalid> {
    let mut rest = sample.weight;
    while rest > 0 {
        let (line, weight) = leaves.take(rest);
        let (stack, activity) = match leaves.leaf {
            Leaf::Stack(stack) => (stack, None),
            Leaf::Stackless(activity) => (None, activity),
        };
        let stack = match (stack, Place::of_source(line, None)) {
            (Some(stack), place @ Some(_)) => Some(at_place(event_loop, stack, place)?),
            _ => stack,
        };
        let before = sample.weight - rest;
        event_loop.add_sample(Sample {
            time: match before {
                0 => sample.microseconds / MICROSECONDS,
                _ => (sample.microseconds / MICROSECONDS + before as f64 * interval).min(LAST_TIME),
            },
            weight,
            stack,
            activity,
        })?;
        rest -= weight;
    }
    Ok(())
}

/// A stack whose leaf is at a place.
pub fn at_place(
    event_loop: &mut EventLoop,
    stack: StackId,
    place: Option<Place>,
) -> Result<StackId, Invalid> {
    let stack = event_loop.stack(stack);
    let frame = event_loop.add_frame(Frame {
        place,
        ..event_loop.frame(stack.frame)
    })?;
    event_loop.add_stack(stack.parent, frame)
}

/// A sample of the node with a number.
struct NodeSample {
    microseconds: f64,
    weight: u64,
    node: usize,
    /// Its index in the file's samples; absent if it is of a node's hits.
    index: Option<usize>,
}

impl NodeSample {
    fn place(&self) -> String {
        match self.index {
            Some(index) => format!("timeDeltas[{index}]"),
            None => format!("nodes[{}].hitCount", self.node),
        }
    }
}

fn read_samples(ids: &Ids, profile: &Profile, numbers: &Numbers) -> Result<Vec<NodeSample>, Error> {
    let deltas = profile.deltas_of(ids)?;
    let mut microseconds = profile.start();
    let mut samples = Vec::with_capacity(ids.len());
    for (index, (id, delta)) in ids.iter().zip(deltas.iter()).enumerate() {
        microseconds += delta;
        samples.push(NodeSample {
            microseconds,
            weight: 1,
            node: numbers.number_of(id, || format!("samples[{index}]"))?,
            index: Some(index),
        });
    }
    Ok(samples)
}

fn hits(nodes: &Nodes, interval: f64) -> Vec<NodeSample> {
    let mut before: u64 = 0;
    let nodes = nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| node.hit_count > 0);
    nodes
        .map(|(number, node)| {
            let time = (before as f64 * interval).min(LAST_TIME);
            // A weight that is too large is refused later.
            before = before.saturating_add(node.hit_count);
            NodeSample {
                microseconds: time * MICROSECONDS,
                weight: node.hit_count,
                node: number,
                index: None,
            }
        })
        .collect()
}
