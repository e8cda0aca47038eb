/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Chrome's `.cpuprofile`: the `Profile` of
//! <https://chromedevtools.github.io/devtools-protocol/tot/Profiler/#type-Profile>, a tree of calls with its
//! samples.
//!
//! It has one event loop, without its name, kind and realms. Each time is rounded to whole microseconds on its own,
//! so errors do not add up. A function's `hitCount` is the number of its samples. The activity of a sample without
//! a stack is written as a function at the root; other activities are lost. A sample without stack and activity is
//! written as idle, because tools put Chrome's `(program)` on the stack before it and count it there. A file does
//! not have the time origin of its clock, the number of missed samples, or what recorded it.
//!
//! A sample is worth the time until the next one: `worth.rs`. If a file has more entries in `samples` than hits, the
//! others belong to the hit of the same node beside them, and their time is its. One that has no hit beside it is a
//! sample without a line.
//!
//! Where the next sample comes later than a sample is worth, we write an entry of an idle node between them. It is no
//! sample, and its node has the member `noSamples`, which is ours. `hasPauses` is false in a file that we write, and then
//! nothing is cut. If samples are worth one interval each, the file has the member `sampleInterval` in microseconds. Then
//! the times in between are only when they were taken. These members are ours, too.
//!
//! Of places in functions it has only the lines at which leaves were executing: `positionTicks` says how many of a
//! node's samples each line has, but not which. When a file is read, the first samples of a node get its first
//! line, the next ones its second line, and those that are left get none. Ticks that a node has no samples for are
//! ignored, and so are those of native functions, to which V8 gives the lines of their callers. The lines of callers,
//! columns, and offsets in WebAssembly modules are lost.
//!
//! In Chrome's own files times sometimes go back. The samples are then sorted, as DevTools does it. If a file has no
//! `samples`, they are made from each `hitCount`, one after another.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::bounds::check_length;
use crate::calls::{Calls, Detail};
use crate::error::{Error, WriteError};
use crate::format::{Format, Text, only_event_loop};
use crate::interval;
use crate::json::{self, Array, Number};
use crate::label::{self, Label};
use crate::recording::{
    Activity, EventLoop, EventLoopKind, Frame, FunctionId, FunctionKind, Invalid, LAST_TIME, Place,
    Recording, Sample, StackId, check_time,
};
use crate::sink::Sink;
use crate::stackless;
use crate::worth::{self, MAX_WORTH};

/// The function that calls all others.
const ROOT: &str = "(root)";
const ROOT_ID: u64 = 1;

/// The script id of functions that are in no script.
const NO_SCRIPT: &str = "0";

const MICROSECONDS: f64 = 1e3;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Profile {
    nodes: Vec<Node>,
    #[serde(default)]
    start_time: f64,
    end_time: Option<f64>,
    samples: Option<Vec<u64>>,
    time_deltas: Option<Vec<f64>>,
    sample_interval: Option<f64>,
    has_pauses: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    id: u64,
    call_frame: CallFrame,
    #[serde(default)]
    hit_count: u64,
    #[serde(default)]
    children: Vec<u64>,
    /// Some writers have this instead of `children`.
    parent: Option<u64>,
    #[serde(default)]
    position_ticks: Vec<PositionTick>,
    /// Its entries stand for the time between samples.
    #[serde(default)]
    no_samples: bool,
}

/// Samples of a node at a line.
#[derive(Clone, Copy, Deserialize, Serialize)]
struct PositionTick {
    /// Where a writer finds the ticks of a node: its index.
    #[serde(skip)]
    node: u32,
    /// 1-based; 0 if unknown.
    line: u32,
    ticks: u64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct CallFrame<S = String> {
    function_name: S,
    /// Not needed where there is a URL.
    #[serde(skip_deserializing)]
    script_id: String,
    #[serde(default)]
    url: S,
    /// 0-based; -1 if unknown.
    line_number: Option<i64>,
    /// 0-based; -1 if unknown.
    #[serde(default = "unknown")]
    column_number: i64,
}

fn unknown() -> i64 {
    -1
}

/// What a sample of a node means.
#[derive(Clone, Copy)]
enum Leaf {
    Stack(Option<StackId>),
    Stackless(Option<Activity>),
}

/// The samples of a node: those at its lines, and the others.
struct Leaves<'a> {
    leaf: Leaf,
    /// The lines that still lack samples, and how many the first of them lacks.
    ticks: &'a [PositionTick],
    lacking: u64,
}

impl<'a> Leaves<'a> {
    fn new(leaf: Leaf, node: &'a Node, is_of_v8: bool) -> Self {
        let call_frame = &node.call_frame;
        let is_native = is_of_v8
            && call_frame.url.is_empty()
            && call_frame.line_number.is_some_and(|line| line < 0);
        // Those of a native function are at lines of its caller.
        let ticks = match is_native {
            true => &[],
            false => &*node.position_ticks,
        };
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

pub fn read(text: &[u8], mut memory: u64) -> Result<Recording, Error> {
    let profile: Profile = json::read(text, &mut memory)?;
    // What is kept for each of them while they are read.
    const NODE: usize = 200;
    const SAMPLE: usize = 112;
    let samples = profile.samples.as_ref().map_or(0, Vec::len);
    memory = memory.saturating_sub((NODE * profile.nodes.len() + SAMPLE * samples) as u64);
    let mut event_loop =
        EventLoop::within(memory, String::new(), EventLoopKind::Unknown).map_err(Error::of_file)?;
    let numbers = numbers_by_id(&profile.nodes)?;
    let leaves = read_nodes(&profile.nodes, &numbers, &mut event_loop)?;

    // We have the member in all files, and a function without a script may have lines in them.
    let is_of_v8 = profile.has_pauses != Some(false);
    let leaves = leaves.into_iter().zip(&profile.nodes);
    let mut leaves: Vec<_> = leaves
        .map(|(leaf, node)| Leaves::new(leaf, node, is_of_v8))
        .collect();
    let interval = match &profile.samples {
        Some(ids) => {
            let samples = read_samples(ids, &profile, &numbers)?;
            add_samples(&mut event_loop, samples, &profile, &mut leaves)?
        },
        None => add_hits(&mut event_loop, &profile, &mut leaves)?,
    };
    Ok(Recording::of_one(event_loop, interval, None))
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
    let is_sample = |entry: &NodeSample| !profile.nodes[entry.node].no_samples;
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
fn hits_among(entries: &[NodeSample], worths: &[u64], nodes: &[Node]) -> Vec<bool> {
    let hits = nodes.iter().map(|node| node.hit_count);
    let hits = hits.fold(0, u64::saturating_add);
    // Other tools do not say how many hits there are.
    if hits == 0 || hits >= entries.len() as u64 {
        return vec![true; entries.len()];
    }
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|index| (entries[*index].node, Reverse(worths[*index])));
    let mut is_hit = vec![false; entries.len()];
    for of_node in order.chunk_by(|a, b| entries[*a].node == entries[*b].node) {
        let hits = nodes[entries[of_node[0]].node].hit_count;
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
    let hits = profile.nodes.iter().map(|node| node.hit_count);
    // A sum that is too large is refused later.
    let hits = hits.fold(0, u64::saturating_add);
    let time = profile
        .end_time
        .map(|end| (end - profile.start_time) / MICROSECONDS);
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
fn at_place(
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

fn read_samples(
    ids: &[u64],
    profile: &Profile,
    numbers: &HashMap<u64, usize>,
) -> Result<Vec<NodeSample>, Error> {
    let deltas = match &profile.time_deltas {
        Some(deltas) if deltas.len() == ids.len() => &**deltas,
        Some(deltas) => {
            let problem = format!("{} of {} samples", deltas.len(), ids.len());
            return Err(Error::new("timeDeltas", problem));
        },
        None => return Err(Error::of_file("it has samples and no timeDeltas")),
    };
    let mut microseconds = profile.start_time;
    let mut samples = Vec::with_capacity(ids.len());
    for (index, (id, delta)) in ids.iter().zip(deltas).enumerate() {
        microseconds += delta;
        samples.push(NodeSample {
            microseconds,
            weight: 1,
            node: number_of(*id, numbers, || format!("samples[{index}]"))?,
            index: Some(index),
        });
    }
    Ok(samples)
}

fn hits(nodes: &[Node], interval: f64) -> Vec<NodeSample> {
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

fn numbers_by_id(nodes: &[Node]) -> Result<HashMap<u64, usize>, Error> {
    let mut numbers = HashMap::with_capacity(nodes.len());
    for (number, node) in nodes.iter().enumerate() {
        if numbers.insert(node.id, number).is_some() {
            let problem = format!("{} is the id of another node too", node.id);
            return Err(Error::new(format!("nodes[{number}].id"), problem));
        }
    }
    Ok(numbers)
}

fn number_of(
    id: u64,
    numbers: &HashMap<u64, usize>,
    place: impl FnOnce() -> String,
) -> Result<usize, Error> {
    let number = numbers.get(&id).copied();
    number.ok_or_else(|| Error::new(place(), format!("{id} is the id of no node")))
}

/// What each node means, by its number.
fn read_nodes(
    nodes: &[Node],
    numbers: &HashMap<u64, usize>,
    event_loop: &mut EventLoop,
) -> Result<Vec<Leaf>, Error> {
    let parents = parents(nodes, numbers)?;
    let mut children = vec![Vec::new(); nodes.len()];
    let mut next = Vec::new();
    for (number, parent) in parents.iter().enumerate().rev() {
        match parent {
            Some(parent) => children[*parent].push(number),
            None => next.push(number),
        }
    }

    let mut leaves: Vec<Option<Leaf>> = vec![None; nodes.len()];
    while let Some(number) = next.pop() {
        let node = &nodes[number];
        let place = || format!("nodes[{number}]");
        let caller = match parents[number].and_then(|parent| leaves[parent]) {
            Some(Leaf::Stack(stack)) => stack,
            _ => None,
        };
        let call_frame = &node.call_frame;
        let is_alone = caller.is_none() && children[number].is_empty() && call_frame.url.is_empty();
        let stackless = stackless::activity(&call_frame.function_name).filter(|_| is_alone);
        let leaf = match stackless {
            _ if parents[number].is_none() && call_frame.function_name == ROOT => Leaf::Stack(None),
            Some(activity) => Leaf::Stackless(activity),
            None => {
                let function = add_function(event_loop, call_frame, &place)?;
                let frame = event_loop.add_frame(Frame {
                    function,
                    place: None,
                });
                let stack = frame.and_then(|frame| event_loop.add_stack(caller, frame));
                Leaf::Stack(Some(stack.map_err(|invalid| Error::new(place(), invalid))?))
            },
        };
        leaves[number] = Some(leaf);
        next.extend(&children[number]);
    }
    // A node that is not reached from a node without a caller is one of its own callers.
    let found = leaves.iter().position(Option::is_none);
    if let Some(number) = found {
        let problem = "the node is among its own callers, or called by one that is";
        return Err(Error::new(format!("nodes[{number}]"), problem));
    }
    Ok(leaves.into_iter().flatten().collect())
}

/// The number of each node's caller.
fn parents(nodes: &[Node], numbers: &HashMap<u64, usize>) -> Result<Vec<Option<usize>>, Error> {
    let mut parents = vec![None; nodes.len()];
    for (number, node) in nodes.iter().enumerate() {
        if let Some(id) = node.parent {
            let parent = number_of(id, numbers, || format!("nodes[{number}].parent"))?;
            parents[number] = Some(parent);
        }
    }
    for (number, node) in nodes.iter().enumerate() {
        for (index, id) in node.children.iter().enumerate() {
            let place = || format!("nodes[{number}].children[{index}]");
            let child = number_of(*id, numbers, place)?;
            if parents[child]
                .replace(number)
                .is_some_and(|other| other != number)
            {
                return Err(Error::new(place(), format!("{id} has two callers")));
            }
        }
    }
    Ok(parents)
}

fn add_function(
    event_loop: &mut EventLoop,
    call_frame: &CallFrame,
    place: &impl Fn() -> String,
) -> Result<FunctionId, Error> {
    let position = |number: i64, member: &str| {
        let one_based = number
            .checked_add(1)
            .and_then(|number| u32::try_from(number).ok());
        let problem = || format!("{number} is not a number from -1 on that a file can have");
        let error = || Error::new(format!("{}.callFrame.{member}", place()), problem());
        one_based.map(NonZeroU32::new).ok_or_else(error)
    };
    let line = position(call_frame.line_number.unwrap_or_else(unknown), "lineNumber")?;
    let column = position(call_frame.column_number, "columnNumber")?;
    let kind = match &*call_frame.url {
        "" => FunctionKind::Unknown,
        _ => FunctionKind::Script,
    };
    let label = Label {
        name: label::read_exact(&call_frame.function_name).into_owned(),
        resource: Some(call_frame.url.clone()),
        line,
        column,
    };
    label
        .add_to(event_loop, kind)
        .map_err(|invalid| Error::new(place(), invalid))
}

/// All that is needed to write the nodes.
struct Nodes<'a> {
    event_loop: &'a EventLoop,
    calls: Calls,
    interval: f64,
    /// The node's id of each sample.
    ids: Vec<u64>,
    /// Here and below, by node.
    hits: Vec<u64>,
    children: Vec<Vec<u64>>,
    /// In the order of nodes and lines.
    ticks: Vec<PositionTick>,
    /// The nodes for samples without a call, which come after those of calls.
    stackless: Vec<Option<Activity>>,
    /// The id of the last node, if there is time between samples.
    no_samples: Option<u64>,
    /// By function.
    names: Vec<Cow<'a, str>>,
}

pub fn prepare(recording: &Recording) -> Result<impl Text, WriteError> {
    let event_loop = only_event_loop(recording, Format::Cpuprofile)?;
    let calls = Calls::of(event_loop, Detail::Functions);
    // The root, the calls, and the nodes for samples without a call.
    let id_of_call = |call: usize| ROOT_ID + 1 + call as u64;
    let first_stackless = id_of_call(calls.len());
    let mut stackless: Vec<Option<Activity>> = Vec::new();
    let mut ids = Vec::with_capacity(event_loop.samples().len());
    for sample in event_loop.samples() {
        ids.push(match sample.stack {
            Some(stack) => id_of_call(calls.index_of(stack)),
            None => {
                let activity = sample.activity.or(Some(Activity::Idle));
                let number = stackless.iter().position(|other| *other == activity);
                let number = number.unwrap_or_else(|| {
                    stackless.push(activity);
                    stackless.len() - 1
                });
                first_stackless + number as u64
            },
        });
    }
    let interval = recording.interval;
    let has_gaps = entries(event_loop, interval).any(|entry| entry.sample.is_none());
    let no_samples = has_gaps.then_some(first_stackless + stackless.len() as u64);
    let count = 1 + calls.len() + stackless.len() + usize::from(has_gaps);
    let mut hits = vec![0; count];
    for (id, sample) in ids.iter().zip(event_loop.samples()) {
        hits[(id - ROOT_ID) as usize] += sample.weight;
    }
    let mut children = vec![Vec::new(); count];
    for (index, call) in calls.iter().enumerate() {
        let caller = call
            .caller
            .map_or(ROOT_ID, |caller| id_of_call(caller as usize));
        children[(caller - ROOT_ID) as usize].push(id_of_call(index));
    }
    children[0].extend((0..stackless.len() as u64).map(|number| first_stackless + number));
    children[0].extend(no_samples);

    let names =
        event_loop
            .functions()
            .zip(calls.are_roots(event_loop))
            .map(|(function, is_root)| match &*function.name {
                "" => Cow::Borrowed(""),
                name => label::write_exact(name, is_root && function.resource.is_none()),
            });
    let ticks = position_ticks(event_loop, &calls);
    let nodes = Nodes {
        event_loop,
        calls,
        interval,
        ids,
        hits,
        children,
        ticks,
        stackless,
        no_samples,
        names: names.collect(),
    };
    check_length(Format::Cpuprofile, nodes.least_length())?;
    Ok(move |sink: &mut Sink<'_>| nodes.write(sink))
}

/// The lines of all nodes' samples, in the order of nodes and lines.
fn position_ticks(event_loop: &EventLoop, calls: &Calls) -> Vec<PositionTick> {
    let mut weights = vec![0; event_loop.stacks().len()];
    for sample in event_loop.samples() {
        if let Some(stack) = sample.stack {
            weights[stack.index()] += sample.weight;
        }
    }
    let mut ticks = Vec::new();
    for (stack, weight) in event_loop.stack_ids().zip(weights) {
        let place = event_loop.frame(event_loop.stack(stack).frame).place;
        if let Some(line) = place.and_then(Place::line).filter(|_| weight > 0) {
            ticks.push(PositionTick {
                // After the root.
                node: 1 + calls.index_of(stack) as u32,
                line: line.get(),
                ticks: weight,
            });
        }
    }
    ticks.sort_unstable_by_key(|tick| (tick.node, tick.line));
    // Stacks that differ in columns or callers' places are at one line of a node.
    ticks.dedup_by(|tick, before| {
        let is_same = (tick.node, tick.line) == (before.node, before.line);
        before.ticks += if is_same { tick.ticks } else { 0 };
        is_same
    });
    ticks
}

/// An entry of a file's samples.
struct Entry {
    /// Here and below, in nanoseconds.
    start: u64,
    length: u64,
    /// The index of the event loop's sample; absent for the time between samples.
    sample: Option<usize>,
}

/// What is between two entries, in nanoseconds, if it is no more than the error of times.
const SAME_TIME: u64 = 1_000;

/// An entry for each sample, as often as its weight says, and where the next one comes later than it is worth, an entry
/// for the time between them.
fn entries(event_loop: &EventLoop, interval: f64) -> impl Iterator<Item = Entry> {
    let samples = event_loop.samples();
    let is_timed = event_loop.is_timed();
    let interval_of = worth::nanoseconds(interval);
    // A sample that is worth an interval may be late by one. Then nothing is missing.
    let longest_gap = if is_timed {
        SAME_TIME
    } else {
        interval_of.saturating_mul(3) / 2
    };
    let mut clock: Option<u64> = None;
    let worths = event_loop.worths(interval).enumerate();
    worths.flat_map(move |(index, worth)| {
        let sample = &samples[index];
        let time = worth::nanoseconds(sample.time);
        let next = samples
            .get(index + 1)
            .map(|next| worth::nanoseconds(next.time));
        let start = match clock {
            // What samples are worth counts for more than when they were taken.
            Some(clock) if is_timed && time < clock.saturating_add(SAME_TIME) => clock,
            _ => time,
        };
        // There is no time behind the end of all clocks.
        let end = start.saturating_add(worth).min(MAX_WORTH);
        clock = Some(end);
        let (step, last) = match is_timed {
            true => (worth, MAX_WORTH),
            false => (interval_of, next.unwrap_or(MAX_WORTH)),
        };
        let single = move |number: u64| Entry {
            start: start.saturating_add(step.saturating_mul(number)).min(last),
            length: step,
            sample: Some(index),
        };
        let gap = next.filter(|next| next.saturating_sub(end) >= longest_gap);
        let gap = gap.map(|next| Entry {
            start: end,
            length: next - end,
            sample: None,
        });
        (0..sample.weight).map(single).chain(gap)
    })
}

impl Nodes<'_> {
    /// The least length of the text, in bytes.
    fn least_length(&self) -> u64 {
        /// A node has the names of its members and two names; a sample, its id and the time since the last one.
        const NODE: usize = 100;
        const SAMPLE: u64 = 4;
        let calls = self.calls.iter().map(|call| {
            let function = self.event_loop.function(call.function());
            let url = self.event_loop.resource_of(function).unwrap_or_default();
            (NODE + self.names[call.function().index()].len() + url.len()) as u64
        });
        calls.fold(self.event_loop.weight() * SAMPLE, u64::saturating_add)
    }

    fn write(&self, sink: &mut Sink<'_>) -> Result<(), WriteError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Profile<N, S, D> {
            nodes: N,
            start_time: u64,
            end_time: u64,
            #[serde(skip_serializing_if = "Option::is_none")]
            sample_interval: Option<Number>,
            has_pauses: bool,
            samples: S,
            time_deltas: D,
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Node<'a> {
            id: u64,
            call_frame: CallFrame<&'a str>,
            hit_count: u64,
            #[serde(skip_serializing_if = "<[u64]>::is_empty")]
            children: &'a [u64],
            #[serde(skip_serializing_if = "<[PositionTick]>::is_empty")]
            position_ticks: &'a [PositionTick],
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            no_samples: bool,
        }

        let Self {
            event_loop,
            calls,
            interval,
            ids,
            hits,
            children,
            ticks,
            stackless,
            no_samples,
            names,
        } = self;
        let interval = *interval;
        let call_frame_of = |function: FunctionId| {
            let name = &*names[function.index()];
            let function = event_loop.function(function);
            let position = |number: Option<NonZeroU32>| {
                number.map_or(-1, |number| i64::from(number.get()) - 1)
            };
            CallFrame {
                function_name: name,
                script_id: match function.resource {
                    Some(resource) => (resource.index() + 1).to_string(),
                    None => NO_SCRIPT.to_owned(),
                },
                url: event_loop.resource_of(function).unwrap_or_default(),
                line_number: Some(position(function.line)),
                column_number: position(function.column),
            }
        };
        let call_frames = || {
            let root = std::iter::once(without_place(ROOT));
            let calls = calls.iter().map(|call| call_frame_of(call.function()));
            let stackless = stackless
                .iter()
                .map(|activity| without_place(stackless::name(*activity)));
            let idle = stackless::name(Some(Activity::Idle));
            let no_samples = no_samples.map(|_| without_place(idle));
            root.chain(calls).chain(stackless).chain(no_samples)
        };
        let ticks_of = |node: usize| {
            let start = ticks.partition_point(|tick| (tick.node as usize) < node);
            let end = ticks.partition_point(|tick| (tick.node as usize) <= node);
            &ticks[start..end]
        };
        let nodes = || {
            call_frames().enumerate().map(|(index, call_frame)| Node {
                id: ROOT_ID + index as u64,
                call_frame,
                hit_count: hits[index],
                children: &children[index],
                position_ticks: ticks_of(index),
                no_samples: *no_samples == Some(ROOT_ID + index as u64),
            })
        };

        let microseconds = |nanoseconds: u64| nanoseconds.saturating_add(500) / 1_000;
        let entries = || entries(event_loop, interval);
        let times = || entries().map(|entry| microseconds(entry.start));
        let start = times().next().unwrap_or_default();
        let last = entries().last();
        let end = last.map_or(0, |last| {
            last.start.saturating_add(last.length).min(MAX_WORTH)
        });
        let profile = Profile {
            nodes: Array(nodes),
            start_time: start,
            end_time: microseconds(end),
            sample_interval: (!event_loop.is_timed()).then_some(Number(interval * MICROSECONDS)),
            has_pauses: false,
            samples: Array(|| {
                entries().map(|entry| entry.sample.map_or(*no_samples, |index| Some(ids[index])))
            }),
            time_deltas: Array(|| {
                times().scan(start, |last, time| {
                    let delta = time - *last;
                    *last = time;
                    Some(delta)
                })
            }),
        };
        Ok(serde_json::to_writer(sink, &profile)?)
    }
}

fn without_place(name: &str) -> CallFrame<&str> {
    CallFrame {
        function_name: name,
        script_id: NO_SCRIPT.to_owned(),
        url: "",
        line_number: Some(unknown()),
        column_number: unknown(),
    }
}
