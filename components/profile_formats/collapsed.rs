/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Collapsed stacks: a line for each stack, its functions from the root to the leaf between semicolons, a
//! space and the number of its samples. It is the input of
//! [FlameGraph](https://github.com/brendangregg/FlameGraph#2-fold-stacks) and inferno.
//!
//! It holds neither times nor activities; of what a function is it holds what `label.rs` writes. Where there
//! are several event loops, their names in brackets are the roots. Read, the stacks follow each other on a
//! clock with an interval of 1 ms.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use crate::error::{Error, WriteError};
use crate::interval;
use crate::label;
use crate::recording::{
    EventLoop, EventLoopKind, FrameId, FrameKind, Invalid, LAST_TIME, Process, Recording, Sample,
};
use crate::stackless;

pub fn read(text: &[u8]) -> Result<Recording, Error> {
    let lines = lines(text)?;
    // Of others' files a root or another may be in brackets too.
    let with_event_loops = lines.iter().all(|line| {
        line.stack
            .split_once(';')
            .is_some_and(|(root, _)| event_loop_name(root).is_some())
    });
    // In the order in which they come, each with the functions that it has by their texts.
    let mut event_loops: Vec<(EventLoop, HashMap<&str, FrameId>)> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    for line in lines {
        let (name, stack) = match line.stack.split_once(';') {
            Some((root, rest)) if with_event_loops => {
                (event_loop_name(root).unwrap_or_default(), rest)
            },
            _ => (String::new(), line.stack),
        };
        let number = *by_name.entry(name.clone()).or_insert_with(|| {
            let event_loop = EventLoop::new(name, EventLoopKind::Unknown);
            event_loops.push((event_loop, HashMap::new()));
            event_loops.len() - 1
        });
        let (event_loop, frames) = &mut event_loops[number];
        add(event_loop, frames, stack, line.count)
            .map_err(|invalid| Error::new(line.place(), invalid))?;
    }
    let mut event_loops: Vec<_> = event_loops.into_iter().map(|(one, _)| one).collect();
    if event_loops.is_empty() {
        event_loops.push(EventLoop::default());
    }
    Ok(Recording {
        time_origin: None,
        interval: interval::DEFAULT,
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
fn lines(text: &[u8]) -> Result<Vec<Line<'_>>, Error> {
    let mut lines = Vec::new();
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let number = index + 1;
        let error = |problem: &str| Error::new(place(number), problem);
        let line = str::from_utf8(line).map_err(|_| error("not UTF-8"))?;
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() {
            continue;
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
        if count > 0 {
            lines.push(Line {
                number,
                stack,
                count,
            });
        }
    }
    Ok(lines)
}

/// Adds a line's samples behind those that are there.
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
                    let frame = label::read(text).add_to(event_loop, FrameKind::Unknown)?;
                    frames.insert(text, frame);
                    frame
                },
            };
            sample.stack = Some(event_loop.add_stack(sample.stack, frame)?);
        }
    }
    event_loop.add_sample(sample)
}

/// The name of the event loop that a root stands for.
fn event_loop_name(root: &str) -> Option<String> {
    let name = root.strip_prefix('[')?.strip_suffix(']')?;
    Some(label::read_name(name))
}

pub fn write(recording: &Recording, mut writer: impl Write) -> Result<(), WriteError> {
    let is_several = recording.event_loops().count() > 1;
    let names = recording.distinct_names();
    for (event_loop, name) in recording.event_loops().zip(names) {
        let prefix = match is_several {
            true => format!("[{}];", label::write_name(&name)),
            false => String::new(),
        };
        let labels: Vec<_> = event_loop
            .frames()
            .map(|frame| label::write(event_loop, frame))
            .collect();
        let mut stackless_counts: BTreeMap<&str, u64> = BTreeMap::new();
        let mut counts = vec![0; event_loop.stacks().len()];
        for sample in event_loop.samples() {
            match sample.stack {
                Some(stack) => counts[stack.index()] += sample.weight,
                None => {
                    *stackless_counts
                        .entry(stackless::name(sample.activity))
                        .or_default() += sample.weight
                },
            }
        }
        for (stack, count) in event_loop.stack_ids().zip(counts) {
            if count > 0 {
                writer.write_all(prefix.as_bytes())?;
                write_stack(&event_loop.frames_of(Some(stack)), &labels, &mut writer)?;
                writeln!(writer, " {count}")?;
            }
        }
        for (name, count) in stackless_counts {
            writeln!(writer, "{prefix}{name} {count}")?;
        }
    }
    Ok(())
}

fn write_stack(
    frames: &[FrameId],
    labels: &[String],
    writer: &mut impl Write,
) -> Result<(), WriteError> {
    for (depth, frame) in frames.iter().enumerate() {
        let label = &labels[frame.index()];
        match depth {
            // Not to be taken for an event loop.
            0 if label.starts_with('[') && label.ends_with(']') => {
                writer.write_all(label::escape_first(label).as_bytes())?;
            },
            0 => writer.write_all(label.as_bytes())?,
            _ => write!(writer, ";{label}")?,
        }
    }
    Ok(())
}
