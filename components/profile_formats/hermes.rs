/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What Hermes, the engine of React Native, writes of its sampling profiler: samples, and `stackFrames` by id, each with its
//! caller. The name of a frame has the place that was executing or calling: `name(file:line:column)`. The definition is in
//! `funcLine` and `funcColumn`; it is where the code of the function begins. Numbers are texts. We do not write it.
//!
//! Each thread is an event loop. A frame without a place, as of bytecode without debug information, has a name alone. Functions
//! of the engine have names such as `[Native] arrayPrototypeMap`. `[root]` is no function, nor is a collection of garbage,
//! which is what the sample was doing.
//!
//! A sample is worth the time until the next one of its thread, or if any in its thread stands for several, an interval for
//! each: `worth.rs`.

use std::collections::HashMap;
use std::num::NonZeroU32;

use indexmap::IndexMap;
use serde::Deserialize;

use crate::counted::TOO_LARGE;
use crate::error::Error;
use crate::interval;
use crate::json;
use crate::label::Label;
use crate::recording::{
    Activity, EventLoop, EventLoopKind, Frame, FunctionKind, Invalid, MAX_STACK_DEPTH, Place,
    Process, Recording, Sample, StackId,
};

/// The category of the frame that calls all others.
const ROOT: &str = "root";

/// The category of functions of the engine.
const NATIVE: &str = "Native";

/// The category of frames that are no functions.
const METADATA: &str = "Metadata";

/// What the names of collections begin with.
const COLLECTION: &str = "[GC";

const THREAD_NAME: &str = "thread_name";
const PROCESS_NAME: &str = "process_name";

const MICROSECONDS: f64 = 1e3;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(default)]
    trace_events: Vec<Event>,
    samples: Vec<HermesSample>,
    stack_frames: HashMap<String, StackFrame>,
}

/// One that gives a name to a process or a thread.
#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    name: String,
    #[serde(default)]
    pid: Number,
    #[serde(default)]
    tid: Number,
    #[serde(default)]
    args: EventArgs,
}

#[derive(Default, Deserialize)]
struct EventArgs {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct HermesSample {
    /// In microseconds.
    ts: Number,
    #[serde(default)]
    pid: Number,
    #[serde(default)]
    tid: Number,
    weight: Option<Number>,
    sf: Number,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StackFrame {
    name: String,
    #[serde(default)]
    category: String,
    parent: Option<Number>,
    line: Option<Number>,
    column: Option<Number>,
    func_line: Option<Number>,
    func_column: Option<Number>,
}

/// A whole number, also as a text.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
#[serde(try_from = "NumberOrText")]
struct Number(i64);

#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(i64),
    Text(String),
}

impl TryFrom<NumberOrText> for Number {
    type Error = String;

    fn try_from(number: NumberOrText) -> Result<Self, String> {
        match number {
            NumberOrText::Number(number) => Ok(Self(number)),
            NumberOrText::Text(text) => match text.parse() {
                Ok(number) => Ok(Self(number)),
                Err(_) => Err(format!("{text:?} is not a whole number")),
            },
        }
    }
}

impl Number {
    /// 1-based, as lines and columns are.
    fn position(number: Option<Self>) -> Option<NonZeroU32> {
        NonZeroU32::new(u32::try_from(number?.0).ok()?)
    }
}

/// What a frame and its callers mean for a sample.
#[derive(Clone, Copy)]
struct Leaf {
    stack: Option<StackId>,
    activity: Option<Activity>,
}

struct Thread {
    event_loop: EventLoop,
    leaves: HashMap<i64, Leaf>,
}

pub fn read(text: &[u8], mut memory: u64) -> Result<Recording, Error> {
    let file: File = json::read(text, &mut memory)?;
    // What is kept for each of them while they are read.
    const FRAME: usize = 100;
    const LEAF: u64 = 64;
    const SAMPLE: usize = 16;
    const EVENT: usize = 100;
    let kept = FRAME * file.stack_frames.len()
        + SAMPLE * file.samples.len()
        + EVENT * file.trace_events.len();
    memory = memory.saturating_sub(kept as u64);
    let mut frames: HashMap<i64, &StackFrame> = HashMap::with_capacity(file.stack_frames.len());
    for (id, frame) in &file.stack_frames {
        let number = id
            .parse()
            .map_err(|_| Error::new("stackFrames", format!("{id:?} is not a whole number")))?;
        frames.insert(number, frame);
    }
    let mut names: HashMap<(&str, Number, Number), &str> = HashMap::new();
    for event in &file.trace_events {
        // The name of a process has no thread.
        let tid = match &*event.name {
            THREAD_NAME => event.tid,
            PROCESS_NAME => Number::default(),
            _ => continue,
        };
        names.insert((&*event.name, event.pid, tid), &*event.args.name);
    }
    let name_of = |name, pid, tid| names.get(&(name, pid, tid)).copied().unwrap_or_default();

    let mut order: Vec<_> = file.samples.iter().enumerate().collect();
    order.sort_by_key(|(_, sample)| sample.ts.0);
    let mut threads: IndexMap<(i64, i64), Thread> = IndexMap::new();
    for (index, sample) in order {
        let place = || format!("samples[{index}]");
        let invalid = |invalid: Invalid| Error::new(place(), invalid);
        let key = (sample.pid.0, sample.tid.0);
        if !threads.contains_key(&key) {
            let name = name_of(THREAD_NAME, sample.pid, sample.tid).to_owned();
            let event_loop =
                EventLoop::within(memory, name, EventLoopKind::Unknown).map_err(invalid)?;
            memory -= event_loop.bytes();
            let leaves = HashMap::new();
            threads.insert(key, Thread { event_loop, leaves });
        }
        let thread = &mut threads[&key];
        let before = thread.event_loop.bytes();
        let leaves_before = thread.leaves.len();
        thread.event_loop.allow(before + memory);
        let weight = match sample.weight {
            None => 1,
            Some(Number(weight)) => u64::try_from(weight).unwrap_or_default(),
        };
        if weight > 0 {
            let leaf = thread.leaf(sample.sf.0, &frames, &place)?;
            let sample = Sample {
                time: sample.ts.0 as f64 / MICROSECONDS,
                weight,
                stack: leaf.stack,
                activity: leaf.activity,
            };
            thread.event_loop.add_sample(sample).map_err(invalid)?;
        }
        // Each thread has the leaves that its samples ask for.
        let leaves = LEAF * (thread.leaves.len() - leaves_before) as u64;
        memory = memory
            .checked_sub(thread.event_loop.bytes() - before + leaves)
            .ok_or_else(|| Error::of_file(TOO_LARGE))?;
    }

    let series = threads.values().map(|thread| {
        let samples = thread.event_loop.samples().iter();
        samples.map(|sample| sample.time)
    });
    let interval = interval::estimate(series);
    for thread in threads.values_mut() {
        let event_loop = &mut thread.event_loop;
        if event_loop.samples().iter().any(|sample| sample.weight > 1) {
            continue;
        }
        let before = event_loop.bytes();
        event_loop.allow(before + memory);
        event_loop
            .value_until_next(None, interval)
            .map_err(Error::of_file)?;
        memory -= event_loop.bytes() - before;
    }
    let mut processes: IndexMap<i64, Process> = IndexMap::new();
    for ((pid, _), thread) in threads {
        let process = processes.entry(pid).or_insert_with(|| Process {
            name: name_of(PROCESS_NAME, Number(pid), Number::default()).to_owned(),
            pid: u32::try_from(pid).ok().filter(|pid| *pid > 0),
            ..Process::default()
        });
        process.event_loops.push(thread.event_loop);
    }
    if processes.is_empty() {
        return Ok(Recording::of_one(EventLoop::default(), interval, None));
    }
    Ok(Recording {
        time_origin: None,
        recorded_by: None,
        interval,
        processes: processes.into_values().collect(),
    })
}

impl Thread {
    fn leaf(
        &mut self,
        id: i64,
        frames: &HashMap<i64, &StackFrame>,
        place: &dyn Fn() -> String,
    ) -> Result<Leaf, Error> {
        // From the leaf up to a frame that is known.
        let mut path: Vec<(i64, &StackFrame)> = Vec::new();
        let mut next = Some(id);
        let mut leaf = Leaf {
            stack: None,
            activity: None,
        };
        while let Some(id) = next {
            if let Some(known) = self.leaves.get(&id) {
                leaf = *known;
                break;
            }
            let frame = *frames.get(&id).ok_or_else(|| {
                let place = match path.last() {
                    None => format!("{}.sf", place()),
                    Some((callee, _)) => format!("stackFrames.{callee}.parent"),
                };
                Error::new(place, format!("{id} is not the id of a frame"))
            })?;
            path.push((id, frame));
            // With the root, and with frames that are no functions.
            if path.len() > 2 * MAX_STACK_DEPTH as usize {
                let problem = format!(
                    "a stack of more than {MAX_STACK_DEPTH} frames, or a frame among its own callers"
                );
                return Err(Error::new(format!("stackFrames.{id}"), problem));
            }
            next = frame.parent.map(|parent| parent.0);
        }
        for (id, frame) in path.into_iter().rev() {
            leaf = self
                .add_frame(leaf, frame)
                .map_err(|invalid| Error::new(format!("stackFrames.{id}"), invalid))?;
            self.leaves.insert(id, leaf);
        }
        Ok(leaf)
    }

    fn add_frame(&mut self, caller: Leaf, frame: &StackFrame) -> Result<Leaf, Invalid> {
        match &*frame.category {
            ROOT if frame.parent.is_none() => return Ok(caller),
            METADATA if frame.name.starts_with(COLLECTION) => {
                return Ok(Leaf {
                    activity: Some(Activity::Gc),
                    ..caller
                });
            },
            _ => {},
        }
        let (label, place) = function_of(frame);
        let kind = match &*frame.category {
            NATIVE => FunctionKind::BuiltIn,
            _ if label.resource.is_some() => FunctionKind::Script,
            _ => FunctionKind::Unknown,
        };
        let function = label.add_to(&mut self.event_loop, kind)?;
        let frame = self.event_loop.add_frame(Frame { function, place })?;
        Ok(Leaf {
            stack: Some(self.event_loop.add_stack(caller.stack, frame)?),
            activity: None,
        })
    }
}

/// The function, and the place in it.
fn function_of(frame: &StackFrame) -> (Label, Option<Place>) {
    let name_alone = || {
        let label = Label {
            name: frame.name.clone(),
            ..Label::default()
        };
        (label, None)
    };
    let [line, column, func_line, func_column] =
        [frame.line, frame.column, frame.func_line, frame.func_column].map(Number::position);
    let Some((name, file)) = split(&frame.name, line, column) else {
        return name_alone();
    };
    let label = Label {
        name: name.to_owned(),
        resource: Some(file.to_owned()),
        line: func_line,
        column: func_column,
    };
    (label, Place::of_source(line, column))
}

/// The name and the file of `name(file:line:column)`. Both may have parentheses in them.
fn split(text: &str, line: Option<NonZeroU32>, column: Option<NonZeroU32>) -> Option<(&str, &str)> {
    let end = format!(":{}:{})", line?, column?);
    let before = text.strip_suffix(&*end)?;
    let mut open = 0_u32;
    for (at, byte) in before.bytes().enumerate().rev() {
        match byte {
            b')' => open += 1,
            b'(' if open == 0 => return Some((&before[..at], &before[at + 1..])),
            b'(' => open -= 1,
            _ => {},
        }
    }
    // Parentheses of the file are not in pairs.
    before.rsplit_once('(')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_files_may_have_parentheses() {
        let split = |text| split(text, NonZeroU32::new(12), NonZeroU32::new(3));
        assert_eq!(split("f(a.js:12:3)"), Some(("f", "a.js")));
        assert_eq!(split("(a.js:12:3)"), Some(("", "a.js")));
        assert_eq!(split("a (b)(c.js:12:3)"), Some(("a (b)", "c.js")));
        assert_eq!(split("f(dir (1)/c.js:12:3)"), Some(("f", "dir (1)/c.js")));
        assert_eq!(split("f(dir :)/c.js:12:3)"), Some(("f", "dir :)/c.js")));
        assert_eq!(split("f(a.js:12:4)"), None);
        assert_eq!(split("f"), None);
    }
}
