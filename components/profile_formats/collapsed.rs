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
//! Files of other programs may have more, which is read and not written: comments, which begin with `#` and a space;
//! counts with a fraction, which are then all counted in the smallest one; a count without a stack; two counts on each
//! line, of two profiles that are compared; and times instead of counts. The greatest common divisor of times is a sample,
//! unless there would be more than a million.
//!
//! Places in functions are left out, or with [`Detail::Lines`] written as lines and as offsets in WebAssembly
//! modules, without columns. Files of both kinds can be read.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::io::Write;

use crate::bounds::{MAX_TABLES_BYTES, check_length};
use crate::calls::{Call, Calls, Detail};
use crate::error::{Error, WriteError};
use crate::format::{Format, Text};
use crate::interval;
use crate::label::{self, Labels};
use crate::recording::{
    EventLoop, EventLoopKind, Frame, FrameId, FunctionId, FunctionKind, Invalid, LAST_TIME, Place,
    Process, Recording, Sample,
};
use crate::sink::Sink;
use crate::stackless;

/// What the counts of a file are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unit {
    Samples,
    Nanoseconds,
    Microseconds,
    Milliseconds,
}

impl Unit {
    pub const ALL: [Self; 4] = [
        Self::Samples,
        Self::Nanoseconds,
        Self::Microseconds,
        Self::Milliseconds,
    ];

    /// Its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Samples => "samples",
            Self::Nanoseconds => "ns",
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
        }
    }

    /// `None` if no unit has this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.as_str() == name)
    }

    fn milliseconds(self) -> f64 {
        match self {
            Self::Samples => interval::DEFAULT,
            Self::Nanoseconds => 1e-6,
            Self::Microseconds => 1e-3,
            Self::Milliseconds => 1.,
        }
    }
}

/// How the lines of a file are read, which all of them together show.
struct Reading {
    with_event_loops: bool,
    /// Whether each line has two counts, of which the second one is read.
    is_differential: bool,
    /// Whether the line of a function without a column is not that of its definition.
    are_lines_executing: bool,
    /// Decimal digits behind the point of counts.
    digits: u32,
    /// The counts, in units of the last digit, that are one sample.
    of_sample: u64,
    /// Milliseconds.
    interval: f64,
}

/// Each guess is told by a notice. Without a unit, counts are samples unless they look like nanoseconds.
pub fn read(
    text: &[u8],
    memory: u64,
    unit: Option<Unit>,
    notices: &mut Vec<String>,
) -> Result<Recording, Error> {
    let mut memory = memory.min(MAX_TABLES_BYTES);
    let reading = Reading::of(text, unit, notices)?;
    // In the order in which they come, each with the frames that it has by their texts.
    let mut event_loops: Vec<(EventLoop, HashMap<&str, FrameId>)> = Vec::new();
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    for line in lines(text) {
        let line = line?;
        let error = |invalid: Invalid| Error::new(line.place(), invalid);
        let line_stack = match reading.is_differential {
            true => split_count(line.stack).map_or(line.stack, |(stack, _)| stack),
            false => line.stack,
        };
        let (name, stack) = match line_stack.split_once(';') {
            Some((root, rest)) if reading.with_event_loops => {
                (in_brackets(root).unwrap_or_default(), rest)
            },
            _ => ("", line_stack),
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
        let count = reading.samples_of(line.count).ok_or_else(|| {
            let problem = format!("{} is more samples than a profile can have", line.count);
            Error::new(line.place(), problem)
        })?;
        reading
            .add(event_loop, frames, stack, count)
            .map_err(error)?;
        memory -= event_loop.bytes() - before;
    }
    let mut event_loops: Vec<_> = event_loops.into_iter().map(|(one, _)| one).collect();
    if event_loops.is_empty() {
        event_loops.push(EventLoop::default());
    }
    Ok(Recording {
        time_origin: None,
        interval: reading.interval,
        recorded_by: None,
        processes: vec![Process {
            event_loops,
            ..Process::default()
        }],
    })
}

impl Reading {
    /// The most samples that times are divided into, if they have no common divisor that is long enough.
    const MOST_PARTS: u64 = 1_000_000;

    /// The least common divisor of counts that look like nanoseconds.
    const LEAST_PERIOD: u64 = 100_000;

    fn of(text: &[u8], unit: Option<Unit>, notices: &mut Vec<String>) -> Result<Self, Error> {
        let mut reading = Self {
            with_event_loops: true,
            is_differential: is_differential(text),
            are_lines_executing: is_of_py_spy(text),
            digits: 0,
            of_sample: 1,
            interval: interval::DEFAULT,
        };
        for line in lines(text) {
            let line = line?;
            let root = line.stack.split_once(';').map(|(root, _)| root);
            // In files of other programs, other frames may be in brackets as well.
            reading.with_event_loops &= root.is_some_and(|root| in_brackets(root).is_some());
            reading.digits = reading.digits.max(line.count.digits());
        }
        if reading.is_differential {
            let what = "each line has two counts, as those of two profiles that are compared; the second ones are read";
            notices.push(what.to_owned());
        }
        let (mut divisor, mut total, mut is_varied) = (0, 0_u64, false);
        let mut first = None;
        for line in lines(text) {
            let Some(count) = line?.count.scaled(reading.digits) else {
                continue;
            };
            divisor = common_divisor(divisor, count);
            total = total.saturating_add(count);
            is_varied |= *first.get_or_insert(count) != count;
        }
        let looks_like_nanoseconds =
            reading.digits == 0 && is_varied && divisor >= Self::LEAST_PERIOD;
        let unit = match unit {
            Some(unit) => unit,
            None if looks_like_nanoseconds => {
                notices.push(format!(
                    "the counts are taken for nanoseconds, for all are multiples of {divisor}; --unit says what they are"
                ));
                Unit::Nanoseconds
            },
            None => Unit::Samples,
        };
        let of_digit = unit.milliseconds() / 10_f64.powi(reading.digits as i32);
        if unit != Unit::Samples && divisor > 0 {
            let least = total.div_ceil(Self::MOST_PARTS);
            // A common divisor is a sample.
            reading.of_sample = match total / divisor <= Self::MOST_PARTS {
                true => divisor,
                false => least,
            };
        }
        reading.interval = of_digit * reading.of_sample as f64;
        Ok(reading)
    }

    fn samples_of(&self, count: Count) -> Option<u64> {
        let count = count.scaled(self.digits)?;
        let samples = count.saturating_add(self.of_sample / 2) / self.of_sample;
        Some(samples.max(1))
    }

    /// Adds a line's samples after those that are there.
    fn add<'a>(
        &self,
        event_loop: &mut EventLoop,
        frames: &mut HashMap<&'a str, FrameId>,
        stack: &'a str,
        count: u64,
    ) -> Result<(), Invalid> {
        let mut sample = Sample {
            time: (event_loop.weight() as f64 * self.interval).min(LAST_TIME),
            weight: count,
            stack: None,
            activity: None,
        };
        if let Some(activity) = stackless::activity(stack) {
            sample.activity = activity;
        } else if !stack.is_empty() {
            for text in stack.split(';') {
                let frame = match frames.get(text) {
                    Some(frame) => *frame,
                    None => {
                        let (mut label, mut place) = label::read_with_place(text);
                        if self.are_lines_executing && place.is_none() && label.column.is_none() {
                            place = Place::of_source(label.line.take(), None);
                        }
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
}

fn common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// Whether all lines have two counts, as `difffolded.pl` of FlameGraph writes them. A name may end in a number, too: then
/// some are the same, or lines differ by it alone.
fn is_differential(text: &[u8]) -> bool {
    // Each is another stack. More take more memory than a profile may take, and are refused when they are read.
    const MOST_STACKS: usize = MAX_TABLES_BYTES as usize / 64;
    let mut stacks = HashSet::new();
    let mut firsts = None;
    let mut is_varied = false;
    for line in text.split(|byte| *byte == b'\n').enumerate() {
        let (number, line) = line;
        let Ok(line) = split_line(number + 1, line) else {
            return false;
        };
        let Some((stack, _)) = line else { continue };
        let Some((stack, first)) = split_count(stack).filter(|(stack, _)| !stack.is_empty()) else {
            return false;
        };
        if !stacks.insert(stack) || stacks.len() > MOST_STACKS {
            return false;
        }
        is_varied |= *firsts.get_or_insert(first) != first;
    }
    is_varied
}

/// Whether a file is one of py-spy, or of another tool that writes the same: functions of Python with a line.
fn is_of_py_spy(text: &[u8]) -> bool {
    const LINE: &[u8] = b".py:";
    let has_line = text.windows(LINE.len()).any(|part| part == LINE);
    has_line
        && lines(text).flatten().any(|line| {
            let frames = line.stack.split(';');
            frames.into_iter().any(label::is_of_python)
        })
}

/// Whether the first line with a stack is one of collapsed stacks.
pub fn is_collapsed(text: &[u8]) -> bool {
    let lines = text.split(|byte| *byte == b'\n');
    let mut lines = lines.filter(|line| !line.trim_ascii().is_empty() && !is_comment(line));
    let Some(line) = lines.next() else {
        return false;
    };
    // Binary data may have a number behind a space.
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let count = line.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    count.len() < line.len() && str::from_utf8(count).is_ok_and(|count| Count::of(count).is_some())
}

/// `#` alone may begin the name of a private method.
fn is_comment(line: &[u8]) -> bool {
    match line.strip_prefix(b"#") {
        Some(rest) => rest.first().is_none_or(u8::is_ascii_whitespace),
        None => false,
    }
}

struct Line<'a> {
    /// 1-based.
    number: usize,
    /// Empty if no function was running.
    stack: &'a str,
    count: Count,
}

/// A count of samples or a time, which may have a fraction.
#[derive(Clone, Copy, PartialEq)]
struct Count {
    whole: u64,
    /// In units of 10 to the power of -[`Self::MAX_DIGITS`].
    fraction: u64,
}

impl Count {
    /// Digits behind the point that count.
    const MAX_DIGITS: u32 = 6;

    /// Digits, and perhaps a point and more digits.
    fn of(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !are_digits(whole) || !are_digits(fraction) {
            return None;
        }
        let digits = fraction.bytes().chain(std::iter::repeat(b'0'));
        let digits = digits.take(Self::MAX_DIGITS as usize);
        let mut count = Self {
            whole: whole.parse().ok()?,
            fraction: digits.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')),
        };
        if count == Self::NOTHING && fraction.bytes().any(|digit| digit != b'0') {
            // The least there is.
            count.fraction = 1;
        }
        Some(count)
    }

    const NOTHING: Self = Self {
        whole: 0,
        fraction: 0,
    };

    /// How many digits behind the point there are.
    fn digits(self) -> u32 {
        let mut digits = Self::MAX_DIGITS;
        let mut fraction = self.fraction;
        while digits > 0 && fraction.is_multiple_of(10) {
            fraction /= 10;
            digits -= 1;
        }
        digits
    }

    /// In units of the last of these digits. `None` if it is too large.
    fn scaled(self, digits: u32) -> Option<u64> {
        let whole = self.whole.checked_mul(10_u64.pow(digits))?;
        whole.checked_add(self.fraction / 10_u64.pow(Self::MAX_DIGITS - digits))
    }
}

impl fmt::Display for Count {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.whole)?;
        match self.fraction {
            0 => Ok(()),
            fraction => write!(formatter, ".{fraction:06}"),
        }
    }
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
    let line = split_line(number, line)?.map(|(stack, count)| Line {
        number,
        stack,
        count,
    });
    Ok(line.filter(|line| line.count != Count::NOTHING))
}

/// The stack and the count. None if it is empty or a comment.
fn split_line(number: usize, line: &[u8]) -> Result<Option<(&str, Count)>, Error> {
    let error = |problem: &str| Error::new(place(number), problem);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.is_empty() || is_comment(line) {
        return Ok(None);
    }
    let line = str::from_utf8(line).map_err(|_| error("not UTF-8"))?;
    let (stack, count) = line
        .rsplit_once(' ')
        .ok_or_else(|| error("no space with the number of samples behind it"))?;
    let count =
        Count::of(count).ok_or_else(|| error(&format!("{count:?} is not a number of samples")))?;
    Ok(Some((stack, count)))
}

/// A stack, and a count that ends it.
fn split_count(stack: &str) -> Option<(&str, Count)> {
    let (stack, count) = stack.rsplit_once(' ')?;
    Some((stack, Count::of(count)?))
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
    let counted = match recording.event_loops().any(EventLoop::is_timed) {
        true => Counted::Microseconds(recording.interval),
        false => Counted::Samples,
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
        event_loops.push(Lines::of(event_loop, prefix, detail, counted));
    }
    // Or the numbers at the ends of all names would be taken for counts.
    let is_taken = are_numbers_taken(&event_loops);
    for lines in &mut event_loops {
        lines.marks_ends = is_taken;
    }
    let length = event_loops.iter().map(Lines::length);
    check_length(format, length.fold(0, u64::saturating_add))?;
    Ok(move |sink: &mut Sink<'_>| event_loops.iter().try_for_each(|lines| lines.write(sink)))
}

/// What the number of a stack counts.
#[derive(Clone, Copy)]
enum Counted {
    Samples,
    /// With the interval in milliseconds.
    Microseconds(f64),
}

impl Counted {
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

/// Whether the numbers at the ends of all names would be taken for counts.
fn are_numbers_taken(event_loops: &[Lines<'_>]) -> bool {
    let mut first = None;
    let mut is_varied = false;
    for lines in event_loops {
        if !lines.stackless_counts.is_empty() {
            return false;
        }
        let calls = lines.calls.iter().zip(&lines.counts);
        for (call, _) in calls.filter(|(_, count)| **count > 0) {
            let Some(number) = lines.end_number(call) else {
                return false;
            };
            is_varied |= *first.get_or_insert(number) != number;
        }
    }
    is_varied
}

/// The lines of an event loop.
struct Lines<'a> {
    prefix: String,
    labels: Labels<'a>,
    calls: Calls,
    /// Functions that would be taken for event loops at a root, or for what is no function. They have the same text at
    /// every depth, because other programs take two texts for two functions.
    escaped: HashSet<FunctionId>,
    /// By call.
    counts: Vec<u64>,
    stackless_counts: BTreeMap<&'static str, u64>,
    /// Whether names that end in a number have the mark of an unknown definition behind them.
    marks_ends: bool,
}

impl<'a> Lines<'a> {
    fn of(event_loop: &'a EventLoop, prefix: String, detail: Detail, counted: Counted) -> Self {
        let mut stackless_counts: BTreeMap<&str, u64> = BTreeMap::new();
        let calls = Calls::of(event_loop, detail);
        let mut counts = vec![0; calls.len()];
        for (sample, part) in event_loop.samples().iter().zip(counted.parts(event_loop)) {
            let count = match sample.stack {
                Some(stack) => &mut counts[calls.index_of(stack)],
                None => stackless_counts
                    .entry(stackless::name(sample.activity))
                    .or_default(),
            };
            *count = count.saturating_add(part);
        }
        for count in counts.iter_mut().chain(stackless_counts.values_mut()) {
            *count = counted.count(*count);
        }
        let labels = Labels::of(event_loop);
        let roots = calls.iter().zip(&counts);
        let roots = roots.filter(|(call, _)| call.caller.is_none() && call.place().is_none());
        let at_roots: HashSet<_> = roots
            .filter(|(call, count)| {
                let function = call.function();
                // Below the name of an event loop there is no doubt.
                (prefix.is_empty() && labels.is_in_brackets(function))
                    || (**count > 0 && labels.is_in_parentheses(function))
            })
            .map(|(call, _)| labels.text(call.function()))
            .filter(|text| text.starts_with('[') || stackless::activity(text).is_some())
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
            marks_ends: false,
        }
    }

    /// The number at the end of the line of a call, before its count.
    fn end_number(&self, call: &Call) -> Option<&str> {
        match call.place() {
            None => self.labels.end_number(call.function()),
            Some(_) => None,
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
        if self.marks_ends
            && path
                .last()
                .is_some_and(|call| self.end_number(call).is_some())
        {
            sink.write_all(label::NO_DEFINITION.as_bytes())?;
        }
        Ok(())
    }
}
