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

mod columns;
mod nodes;
mod samples;
mod summed;

use std::borrow::Cow;
use std::num::NonZeroU32;

use serde::Serialize;

use self::columns::Ids;
use self::nodes::{CallFrame, PositionTick, ROOT};
pub use self::nodes::{position, unknown};
use self::samples::{MICROSECONDS, Profile, read_whole};
pub use self::summed::read as read_sums;
use crate::bounds::check_length;
use crate::calls::{Calls, Detail};
use crate::error::{Error, WriteError};
use crate::format::{Format, Text, only_event_loop};
use crate::json::{self, Array, Number};
use crate::label;
use crate::recording::{Activity, EventLoop, FunctionId, Place, Recording};
use crate::sink::Sink;
use crate::stackless;
use crate::worth::{self, MAX_WORTH};

const ROOT_ID: u64 = 1;

/// The script id of functions that are in no script.
const NO_SCRIPT: &str = "0";

pub fn read(text: &[u8], mut memory: u64) -> Result<Recording, Error> {
    let profile: Profile = json::read(text, &mut memory)?;
    // What is kept for each of them while they are read.
    const SAMPLE: usize = 112;
    let samples = profile.samples.as_ref().map_or(0, Ids::len);
    memory = memory.saturating_sub((SAMPLE * samples) as u64);
    read_whole(&profile, memory)
}

/// All that is needed to write the nodes.
struct WrittenNodes<'a> {
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
    let nodes = WrittenNodes {
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
        let last = match is_timed {
            true => MAX_WORTH,
            false => next.unwrap_or(MAX_WORTH),
        };
        let weight = sample.weight;
        // Several that are worth a time together share it.
        let since_start = move |number: u64| match is_timed {
            true => (u128::from(worth) * u128::from(number) / u128::from(weight)) as u64,
            false => interval_of.saturating_mul(number),
        };
        let single = move |number: u64| Entry {
            start: start.saturating_add(since_start(number)).min(last),
            length: since_start(number + 1) - since_start(number),
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

impl WrittenNodes<'_> {
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
