/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The trace of a web page: the JSON text of what `Profiler.stop()` gives,
//! <https://wicg.github.io/js-self-profiling/#the-profilertrace-dictionary> with the markers of
//! <https://github.com/WICG/js-self-profiling/blob/main/markers.md>.
//!
//! It has one event loop, without its name, kind and realms, and no places in functions. It does not tell an idle
//! event loop from one whose activity may not be shown, nor a built-in from a function that `eval` made. It does not
//! have the interval, the time origin of its clock, the number of missed samples, or what recorded it.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::calls::{Calls, Detail};
use crate::error::{Error, WriteError};
use crate::format::{Format, Text, only_event_loop};
use crate::interval;
use crate::json::{self, Array};
use crate::recording::{
    Activity, EventLoop, EventLoopKind, Frame, Function, FunctionKind, Invalid, Recording, Sample,
};
use crate::sink::Sink;
use crate::worth;

/// Members in the order in which `JSON.stringify()` writes those of a dictionary.
#[derive(Deserialize)]
struct Trace {
    frames: Vec<TraceFrame>,
    resources: Vec<String>,
    samples: Vec<TraceSample>,
    stacks: Vec<TraceStack>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct TraceFrame<S = String> {
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    name: S,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_id: Option<u32>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct TraceSample {
    #[serde(skip_serializing_if = "Option::is_none")]
    marker: Option<Activity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stack_id: Option<u32>,
    #[serde(serialize_with = "json::number")]
    timestamp: f64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct TraceStack {
    frame_id: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<u32>,
}

pub fn read(text: &[u8], mut memory: u64) -> Result<Recording, Error> {
    let trace: Trace = json::read(text, &mut memory)?;
    let mut event_loop =
        EventLoop::within(memory, String::new(), EventLoopKind::Unknown).map_err(Error::of_file)?;

    let mut resources = Vec::with_capacity(trace.resources.len());
    for (index, url) in trace.resources.iter().enumerate() {
        let added = event_loop.add_resource(url);
        resources
            .push(added.map_err(|invalid| Error::new(format!("resources[{index}]"), invalid))?);
    }

    let mut frames = Vec::with_capacity(trace.frames.len());
    for (index, frame) in trace.frames.into_iter().enumerate() {
        let resource = match frame.resource_id {
            Some(id) => *get(
                &resources,
                id,
                || format!("frames[{index}].resourceId"),
                "resources",
            )?,
            None => None,
        };
        let function = Function {
            name: frame.name,
            kind: match resource {
                Some(_) => FunctionKind::Script,
                None => FunctionKind::Unknown,
            },
            resource,
            line: frame.line.and_then(NonZeroU32::new),
            column: frame.column.and_then(NonZeroU32::new),
            realm: None,
            source: None,
            generated: None,
        };
        let added = event_loop.add_function(function).and_then(|function| {
            event_loop.add_frame(Frame {
                function,
                place: None,
            })
        });
        frames.push(added.map_err(|invalid| Error::new(format!("frames[{index}]"), invalid))?);
    }

    let mut stacks = Vec::with_capacity(trace.stacks.len());
    for (index, stack) in trace.stacks.iter().enumerate() {
        let parent =
            match stack.parent_id {
                None => None,
                Some(id) => Some(*stacks.get(id as usize).ok_or_else(|| {
                    Error::no_stack_before(format!("stacks[{index}].parentId"), id)
                })?),
            };
        let frame = *get(
            &frames,
            stack.frame_id,
            || format!("stacks[{index}].frameId"),
            "frames",
        )?;
        let added = event_loop.add_stack(parent, frame);
        stacks.push(added.map_err(|invalid| Error::new(format!("stacks[{index}]"), invalid))?);
    }

    for (index, sample) in trace.samples.iter().enumerate() {
        let stack = match sample.stack_id {
            Some(id) => Some(*get(
                &stacks,
                id,
                || format!("samples[{index}].stackId"),
                "stacks",
            )?),
            None => None,
        };
        event_loop
            .add_sample(Sample {
                time: sample.timestamp,
                weight: 1,
                stack,
                activity: sample.marker,
            })
            .map_err(|invalid| Error::new(format!("samples[{index}].timestamp"), invalid))?;
    }

    let interval = interval::estimate([trace.samples.iter().map(|sample| sample.timestamp)]);
    Ok(Recording::of_one(event_loop, interval, None))
}

/// Makes the samples of a page's trace worth the times between them, and the interval the usual one of these. Sets of traces
/// are of several engines and intervals, so that numbers of samples mean nothing. Chromium takes many samples at once where
/// it deoptimises functions, and none for a while at other times.
pub fn value_by_clock(recording: &mut Recording) -> Result<(), Invalid> {
    let gaps = recording.event_loops().flat_map(|event_loop| {
        let pairs = event_loop.samples().windows(2);
        pairs.map(|pair| pair[1].time - pair[0].time)
    });
    if let Some(interval) = usual(gaps.collect()) {
        recording.interval = interval;
    }
    let interval = recording.interval;
    let mut event_loops = recording
        .processes
        .iter_mut()
        .flat_map(|one| &mut one.event_loops);
    event_loops.try_for_each(|event_loop| event_loop.value_until_next(None, interval))
}

/// The time between two samples in which half of the whole time is. So many short ones count little. A long one is no more
/// than [`MOST_TIME`](worth::MOST_TIME).
fn usual(mut gaps: Vec<f64>) -> Option<f64> {
    gaps.retain(|gap| *gap > 0.);
    gaps.sort_by(f64::total_cmp);
    let half = gaps
        .iter()
        .map(|gap| gap.min(worth::MOST_TIME))
        .sum::<f64>()
        / 2.;
    let mut sum = 0.;
    let found = gaps.iter().find(|gap| {
        sum += gap.min(worth::MOST_TIME);
        sum >= half
    });
    found.map(|gap| interval::whole_nanoseconds(*gap))
}

fn get<'a, T>(
    table: &'a [T],
    id: u32,
    place: impl FnOnce() -> String,
    name: &str,
) -> Result<&'a T, Error> {
    table
        .get(id as usize)
        .ok_or_else(|| Error::out_of_range(place(), id.into(), name, table.len()))
}

pub fn prepare(recording: &Recording) -> Result<impl Text, WriteError> {
    let event_loop = only_event_loop(recording, Format::Trace)?;
    let calls = Calls::of(event_loop, Detail::Functions);
    Ok(move |sink: &mut Sink<'_>| write(event_loop, &calls, recording.interval, sink))
}

fn write(
    event_loop: &EventLoop,
    calls: &Calls,
    interval: f64,
    sink: &mut Sink<'_>,
) -> Result<(), WriteError> {
    #[derive(Serialize)]
    struct Trace<F, R, S, T> {
        frames: F,
        resources: R,
        samples: S,
        stacks: T,
    }

    let id = |index: usize| index as u32;
    let trace = Trace {
        frames: Array(|| {
            event_loop.functions().map(|function| TraceFrame {
                column: function.column.map(NonZeroU32::get),
                line: function.line.map(NonZeroU32::get),
                name: &*function.name,
                resource_id: function.resource.map(|resource| id(resource.index())),
            })
        }),
        resources: Array(|| event_loop.resources()),
        samples: Array(|| {
            event_loop
                .single_samples(interval)
                .map(|sample| TraceSample {
                    marker: sample
                        .activity
                        .filter(|one| !matches!(one, Activity::Idle | Activity::Program)),
                    stack_id: sample.stack.map(|stack| id(calls.index_of(stack))),
                    timestamp: sample.time,
                })
        }),
        stacks: Array(|| {
            calls.iter().map(|call| TraceStack {
                frame_id: id(call.function().index()),
                parent_id: call.caller,
            })
        }),
    };
    Ok(serde_json::to_writer(sink, &trace)?)
}
