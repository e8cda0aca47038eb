/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Collapsed stacks: a line for each stack, its functions from the root to the leaf between semicolons, a
//! space and the number of its samples. It is the input of
//! [FlameGraph](https://github.com/brendangregg/FlameGraph#2-fold-stacks) and inferno.
//!
//! It has no times and no activities. A function is written as `label.rs` says. If there are several event loops,
//! their names in brackets are the roots. How many samples were missed is lost, and so is what recorded them. When a file
//! is read, its stacks follow each other on a clock with an interval of 1 ms.
//!
//! If samples of any event loop are worth times of their own, the number of each stack is its time in whole microseconds.
//! So its share is right in every tool. How many samples it has is lost then.
//!
//! Places in functions are left out, or with [`Detail::Lines`] written as lines and as offsets in WebAssembly
//! modules, without columns. Files of both kinds can be read.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;

use crate::bounds::{MAX_TABLES_BYTES, check_length};
use crate::calls::{Call, Calls, Detail};
use crate::error::{Error, WriteError};
use crate::format::{Format, Text};
use crate::interval;
use crate::label::{self, Labels};
use crate::recording::{
    EventLoop, EventLoopKind, Frame, FrameId, FunctionId, FunctionKind, Invalid, LAST_TIME,
    Process, Recording, Sample,
};
use crate::sink::Sink;
use crate::stackless;

pub fn read(text: &[u8], memory: u64) -> Result<Recording, Error> {
    let mut memory = memory.min(MAX_TABLES_BYTES);
    // In files of other programs, other frames may be in brackets as well.
    let mut with_event_loops = true;
    for line in lines(text) {
        let root = line?.stack.split_once(';').map(|(root, _)| root);
        with_event_loops &= root.is_some_and(|root| in_brackets(root).is_some());
    }
    // In the order in which they come, each with the frames that it has by their texts.
    let mut event_loops: Vec<(EventLoop, HashMap<&str, FrameId>)> = Vec::new();
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    for line in lines(text) {
        let line = line?;
        let error = |invalid: Invalid| Error::new(line.place(), invalid);
        let (name, stack) = match line.stack.split_once(';') {
            Some((root, rest)) if with_event_loops => (in_brackets(root).unwrap_or_default(), rest),
            _ => ("", line.stack),
        };
        let number = match by_name.get(name) {
            Some(number) => *number,
            None => {
                let event_loop =
                    EventLoop::within(memory, label::read_name(name), EventLoopKind::Unknown)
                        .map_err(error)?;
                memory -= event_loop.bytes();
                by_name.insert(name, event_loops.len());
                event_loops.push((event_loop, HashMap::new()));
                event_loops.len() - 1
            },
        };
        let (event_loop, frames) = &mut event_loops[number];
        let before = event_loop.bytes();
        event_loop.allow(before + memory);
        add(event_loop, frames, stack, line.count).map_err(error)?;
        memory -= event_loop.bytes() - before;
    }
    let mut event_loops: Vec<_> = event_loops.into_iter().map(|(one, _)| one).collect();
    if event_loops.is_empty() {
        event_loops.push(EventLoop::default());
    }
    Ok(Recording {
        time_origin: None,
        interval: interval::DEFAULT,
        recorded_by: None,
        processes: vec![Process {
            event_loops,
            ..Process::default()
        }],
    })
}

struct Line<'a> {
    /// 1-based.
    number: usize,
    stack: &'a str,
    count: u64,
}

impl Line<'_> {
    fn place(&self) -> String {
        place(self.number)
    }
}

fn place(number: usize) -> String {
    format!("line {number}")
}

/// Those with samples.
fn lines(text: &[u8]) -> impl Iterator<Item = Result<Line<'_>, Error>> {
    let lines = text.split(|byte| *byte == b'\n').enumerate();
    let lines = lines.map(|(index, line)| read_line(index + 1, line));
    lines.filter_map(Result::transpose)
}

/// None if it has no samples.
fn read_line(number: usize, line: &[u8]) -> Result<Option<Line<'_>>, Error> {
    let error = |problem: &str| Error::new(place(number), problem);
    let line = str::from_utf8(line).map_err(|_| error("not UTF-8"))?;
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.is_empty() {
        return Ok(None);
    }
    let (stack, count) = line
        .rsplit_once(' ')
        .ok_or_else(|| error("no space with the number of samples behind it"))?;
    let count: u64 = count
        .parse()
        .map_err(|_| error(&format!("{count:?} is not a number of samples")))?;
    if stack.is_empty() {
        return Err(error("no stack before the number of samples"));
    }
    Ok((count > 0).then_some(Line {
        number,
        stack,
        count,
    }))
}

/// Adds a line's samples after those that are there.
fn add<'a>(
    event_loop: &mut EventLoop,
    frames: &mut HashMap<&'a str, FrameId>,
    stack: &'a str,
    count: u64,
) -> Result<(), Invalid> {
    let mut sample = Sample {
        time: (event_loop.weight() as f64 * interval::DEFAULT).min(LAST_TIME),
        weight: count,
        stack: None,
        activity: None,
    };
    if let Some(activity) = stackless::activity(stack) {
        sample.activity = activity;
    } else {
        for text in stack.split(';') {
            let frame = match frames.get(text) {
                Some(frame) => *frame,
                None => {
                    let (label, place) = label::read_with_place(text);
                    let function = label.add_to(event_loop, FunctionKind::Unknown)?;
                    let frame = event_loop.add_frame(Frame { function, place })?;
                    frames.insert(text, frame);
                    frame
                },
            };
            sample.stack = Some(event_loop.add_stack(sample.stack, frame)?);
        }
    }
    event_loop.add_sample(sample)
}

/// The name of the event loop that a root stands for, as in the file.
fn in_brackets(root: &str) -> Option<&str> {
    root.strip_prefix('[')?.strip_suffix(']')
}

pub fn prepare(recording: &Recording, detail: Detail) -> Result<impl Text, WriteError> {
    let format = match detail {
        Detail::Functions => Format::Collapsed,
        Detail::Lines => Format::CollapsedLines,
    };
    let unit = match recording.event_loops().any(EventLoop::is_timed) {
        true => Unit::Microseconds(recording.interval),
        false => Unit::Samples,
    };
    let is_several = recording.event_loops().count() > 1;
    let names = match is_several {
        true => recording.distinct_names()?,
        false => vec![String::new()],
    };
    let mut event_loops = Vec::new();
    for (event_loop, name) in recording.event_loops().zip(names) {
        let prefix = match is_several {
            true => format!("[{}];", label::write_name(&name)),
            false => String::new(),
        };
        event_loops.push(Lines::of(event_loop, prefix, detail, unit));
    }
    let length = event_loops.iter().map(Lines::length);
    check_length(format, length.fold(0, u64::saturating_add))?;
    Ok(move |sink: &mut Sink<'_>| event_loops.iter().try_for_each(|lines| lines.write(sink)))
}

/// What the number of a stack counts.
#[derive(Clone, Copy)]
enum Unit {
    Samples,
    /// With the interval in milliseconds.
    Microseconds(f64),
}

impl Unit {
    /// What each sample adds to the number of its stack: samples, or nanoseconds.
    fn parts(self, event_loop: &EventLoop) -> Vec<u64> {
        match self {
            Self::Samples => {
                let samples = event_loop.samples().iter();
                samples.map(|sample| sample.weight).collect()
            },
            Self::Microseconds(interval) => event_loop.worths(interval).collect(),
        }
    }

    /// The number of a stack, by the sum of these.
    fn count(self, sum: u64) -> u64 {
        match self {
            Self::Samples => sum,
            Self::Microseconds(_) => sum.saturating_add(500) / 1_000,
        }
    }
}

/// The lines of an event loop.
struct Lines<'a> {
    prefix: String,
    labels: Labels<'a>,
    calls: Calls,
    /// Functions that would be taken for event loops at a root. They have the same text at every depth, because other
    /// programs take two texts for two functions.
    escaped: HashSet<FunctionId>,
    /// By call.
    counts: Vec<u64>,
    stackless_counts: BTreeMap<&'static str, u64>,
}

impl<'a> Lines<'a> {
    fn of(event_loop: &'a EventLoop, prefix: String, detail: Detail, unit: Unit) -> Self {
        let mut stackless_counts: BTreeMap<&str, u64> = BTreeMap::new();
        let calls = Calls::of(event_loop, detail);
        let mut counts = vec![0; calls.len()];
        for (sample, part) in event_loop.samples().iter().zip(unit.parts(event_loop)) {
            let count = match sample.stack {
                Some(stack) => &mut counts[calls.index_of(stack)],
                None => stackless_counts
                    .entry(stackless::name(sample.activity))
                    .or_default(),
            };
            *count = count.saturating_add(part);
        }
        for count in counts.iter_mut().chain(stackless_counts.values_mut()) {
            *count = unit.count(*count);
        }
        let labels = Labels::of(event_loop);
        // Below the name of an event loop there is no doubt.
        let roots = calls
            .iter()
            .filter(|call| prefix.is_empty() && call.caller.is_none() && call.place().is_none());
        let at_roots: HashSet<_> = roots
            .map(Call::function)
            .filter(|function| labels.is_in_brackets(*function))
            .map(|function| labels.text(function))
            .collect();
        let escaped = match at_roots.is_empty() {
            true => HashSet::new(),
            false => calls
                .iter()
                .map(Call::function)
                .filter(|function| at_roots.contains(&labels.text(*function)))
                .collect(),
        };
        Self {
            prefix,
            labels,
            escaped,
            calls,
            counts,
            stackless_counts,
        }
    }

    /// The least length of all lines with a stack, in bytes: counts are taken for one digit, nothing at a root for
    /// escaped, and places are left out. None of the text is made for this.
    fn length(&self) -> u64 {
        const SPACE_DIGIT_AND_END: u64 = 3;
        let mut length: u64 = 0;
        let mut lengths: Vec<u64> = Vec::with_capacity(self.counts.len());
        for (call, count) in self.calls.iter().zip(&self.counts) {
            let before = match call.caller {
                Some(caller) => lengths[caller as usize] + 1,
                None => self.prefix.len() as u64,
            };
            let line = before + self.labels.length(call.function()) as u64;
            lengths.push(line);
            if *count > 0 {
                length = length.saturating_add(line + SPACE_DIGIT_AND_END);
            }
        }
        length
    }

    fn write(&self, sink: &mut Sink<'_>) -> Result<(), WriteError> {
        for (index, count) in self.counts.iter().enumerate() {
            if *count > 0 {
                sink.write_all(self.prefix.as_bytes())?;
                self.write_path(&self.calls.path_to(index), sink)?;
                writeln!(sink, " {count}")?;
            }
        }
        let stackless = self.stackless_counts.iter();
        for (name, count) in stackless.filter(|(_, count)| **count > 0) {
            writeln!(sink, "{}{name} {count}", self.prefix)?;
        }
        Ok(())
    }

    fn write_path(&self, path: &[&Call], sink: &mut Sink<'_>) -> Result<(), WriteError> {
        for (depth, call) in path.iter().enumerate() {
            let (function, place) = (call.function(), call.place());
            if depth > 0 {
                sink.write_all(b";")?;
            }
            if place.is_none() && self.escaped.contains(&function) {
                let label = self.labels.text(function);
                sink.write_all(label::escape_first(&label).as_bytes())?;
                continue;
            }
            self.labels.write(function, place, sink)?;
        }
        Ok(())
    }
}
