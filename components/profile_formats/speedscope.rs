/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! speedscope's own format, <https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources>:
//! functions that all event loops share, and for each event loop its samples, each with a weight.
//!
//! We write sampled profiles in milliseconds. A sample's weight is the interval times the number of samples that it
//! stands for, so a function's time in speedscope is its samples times the interval. The time in which samples were
//! missed is left out. Samples in a row with the same stack are written as one. The member `sampleInterval`, in
//! milliseconds, is ours. If samples are worth times of their own, these are their weights. Then each is written alone,
//! and `sampleInterval` is left out.
//!
//! We read sampled profiles with any unit of time, and those without a unit, whose weights are numbers of samples. A
//! sample is worth its weight. If there is a `sampleInterval`, it stands for as many samples as it has intervals, rounded
//! to the nearest number, but for at least one. If not, it stands for one, and the interval is the median of the weights.
//! A weight of 0 stands for no time, and without a unit, or with a `sampleInterval`, for no sample either. Profiles of events
//! are read in `events.rs`.
//!
//! What recorded it is the `exporter`, as `NAME@VERSION`. The member `engines` is ours, too: each of its engines has a `name`
//! and a `version`. If what recorded it is unknown, both are left out.
//!
//! The activity of a sample without a stack is written as a function of that name. Other activities are lost, and so
//! are processes, the kinds of event loops and functions, realms, and how many samples were missed.
//!
//! A frame of the format is a function, and its line is where the function is defined. Places in functions are lost. In a
//! file of py-spy the line is the one that was executing or calling.
//!
//! With [`Detail::Lines`] a frame is a line of a function, and has the function's name. The line is the one that was
//! executing or calling, and is absent if it is not known. The column is absent if it is not the same in all frames at the
//! line. Definitions are lost, and so are offsets in WebAssembly modules. A file does not say which of the two it is, so
//! both are read in the same way, and a line becomes a function.

use std::borrow::Cow;
use std::collections::HashSet;
use std::mem;
use std::num::NonZeroU32;

use indexmap::{IndexMap, IndexSet};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::bounds::check_length;
use crate::calls::{Calls, Detail};
use crate::error::{Error, WriteError};
use crate::format::{Format, Text};
use crate::interval;
use crate::json::{self, Array, Number};
use crate::label;
use crate::recorded_by::{Program, RecordedBy};
use crate::recording::{
    EventLoop, EventLoopKind, LAST_TIME, Place, Process, Recording, Sample, StackId,
};
use crate::sink::Sink;
use crate::{stackless, worth};

mod events;
mod frames;

use self::events::{Event, Events};
use self::frames::{Frames, SharedFrame};

/// In the `exporter`.
const BEFORE_VERSION: char = '@';

/// The exporter that writes the line that was executing where others have that of the definition. Its files have a name,
/// too, which ours have not, even if they say that it has recorded them.
const EXECUTING_LINES: &str = "py-spy@";

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    shared: Shared,
    profiles: Vec<Profile>,
    sample_interval: Option<f64>,
    exporter: Option<String>,
    name: Option<IgnoredAny>,
    #[serde(default)]
    engines: Vec<Program>,
}

#[derive(Deserialize)]
struct Shared {
    frames: Vec<SharedFrame>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Profile {
    #[serde(rename = "type")]
    kind: ProfileType,
    #[serde(default)]
    name: String,
    unit: Unit,
    #[serde(default)]
    start_value: f64,
    #[serde(default)]
    samples: Vec<Vec<u32>>,
    #[serde(default)]
    weights: Vec<f64>,
    end_value: Option<f64>,
    #[serde(default)]
    events: Vec<Event>,
}

impl Profile {
    fn events(&self) -> Events<'_> {
        Events {
            begin: self.start_value,
            events: &self.events,
            end: self.end_value,
            milliseconds: self.unit.milliseconds().unwrap_or_default(),
        }
    }
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum ProfileType {
    Sampled,
    Evented,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Unit {
    None,
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
    Bytes,
}

impl Unit {
    /// In milliseconds. Without a unit each is a sample.
    fn milliseconds(self) -> Option<f64> {
        match self {
            Self::None => Some(interval::DEFAULT),
            Self::Nanoseconds => Some(1e-6),
            Self::Microseconds => Some(1e-3),
            Self::Milliseconds => Some(1.),
            Self::Seconds => Some(1e3),
            Self::Bytes => None,
        }
    }
}

pub fn read(text: &[u8], mut memory: u64) -> Result<Recording, Error> {
    let file: File = json::read(text, &mut memory)?;
    for (index, profile) in file.profiles.iter().enumerate() {
        check(profile, &format!("profiles[{index}]"))?;
    }
    let interval = match file.sample_interval {
        Some(interval) => interval::checked(interval, "sampleInterval")?,
        None => interval::checked(median_weight(&file.profiles), "profiles")?,
    };
    let is_counted = file.sample_interval.is_some();

    let exporter = file.exporter.as_deref().unwrap_or_default();
    let are_lines_executing = exporter.starts_with(EXECUTING_LINES) && file.name.is_some();
    // A short profile takes less memory than an event loop, so their number is no measure.
    let mut event_loops = Vec::new();
    for (index, profile) in file.profiles.into_iter().enumerate() {
        let place = format!("profiles[{index}]");
        event_loops.push(read_profile(
            profile,
            &file.shared.frames,
            Reading {
                interval,
                is_counted,
                are_lines_executing,
            },
            &mut memory,
            &place,
        )?);
    }
    let program = file.exporter.as_deref().and_then(read_exporter);
    let recorded_by = program.map(|program| RecordedBy::new(program, file.engines));
    Ok(Recording {
        time_origin: None,
        interval,
        recorded_by: recorded_by
            .transpose()
            .map_err(|problem| Error::new("engines", problem))?,
        processes: vec![Process {
            event_loops,
            ..Process::default()
        }],
    })
}

/// `None` if there is no name in it.
fn read_exporter(text: &str) -> Option<Program> {
    let with_version = text.rsplit_once(BEFORE_VERSION);
    let with_version = with_version.and_then(|(name, version)| Program::new(name, Some(version)));
    with_version.or_else(|| Program::new(text, None))
}

fn exporter(program: &Program) -> String {
    match program.version() {
        Some(version) => format!("{}{BEFORE_VERSION}{version}", program.name()),
        None => program.name().to_owned(),
    }
}

fn check(profile: &Profile, place: &str) -> Result<(), Error> {
    if profile.kind == ProfileType::Evented {
        events::check(&profile.events(), place)?;
    }
    if profile.unit == Unit::Bytes {
        let problem = "bytes are not a time";
        return Err(Error::new(format!("{place}.unit"), problem));
    }
    if profile.weights.len() != profile.samples.len() {
        let (weights, samples) = (profile.weights.len(), profile.samples.len());
        let problem = format!("{weights} weights of {samples} samples");
        return Err(Error::new(format!("{place}.weights"), problem));
    }
    let negative = profile.weights.iter().position(|weight| *weight < 0.);
    if let Some(index) = negative {
        let problem = format!("{} is less than 0", profile.weights[index]);
        return Err(Error::new(format!("{place}.weights[{index}]"), problem));
    }
    Ok(())
}

/// In milliseconds.
fn median_weight(profiles: &[Profile]) -> f64 {
    // A count is exact as it is.
    let is_counted =
        |profile: &Profile| profile.unit == Unit::None && profile.kind == ProfileType::Sampled;
    if profiles.iter().all(is_counted) {
        return interval::DEFAULT;
    }
    let weights = profiles.iter().flat_map(|profile| {
        let milliseconds = profile.unit.milliseconds().unwrap_or_default();
        let weights = profile.weights.iter().copied();
        let weights = weights.chain(events::lengths(profile.events()));
        weights.map(move |weight| weight * milliseconds)
    });
    interval::median(weights.filter(|weight| *weight > 0.).collect())
}

/// How all profiles of a file are read.
#[derive(Clone, Copy)]
struct Reading {
    /// In milliseconds.
    interval: f64,
    /// Whether a weight says how many samples there are.
    is_counted: bool,
    are_lines_executing: bool,
}

fn read_profile(
    mut profile: Profile,
    shared: &[SharedFrame],
    reading: Reading,
    memory: &mut u64,
    place: &str,
) -> Result<EventLoop, Error> {
    let milliseconds = profile.unit.milliseconds().unwrap_or_default();
    let name = mem::take(&mut profile.name);
    let mut event_loop = EventLoop::within(*memory, name, EventLoopKind::Unknown)
        .map_err(|invalid| Error::new(place, invalid))?;
    let is_counted = reading.is_counted || profile.unit == Unit::None;
    let mut frames = Frames::new(shared, reading.are_lines_executing);
    if profile.kind == ProfileType::Evented {
        events::read(&profile.events(), &mut frames, &mut event_loop, place)?;
    }
    let mut passed: f64 = 0.;
    // The sample before and its stacks, from the root. Up to where two samples differ, their stacks are the same.
    let mut last: &[u32] = &[];
    let mut stacks: Vec<StackId> = Vec::new();
    for (index, (sample, weight)) in profile.samples.iter().zip(&profile.weights).enumerate() {
        let place_of_sample = || format!("{place}.samples[{index}]");
        let duration = weight * milliseconds;
        // Behind the end of all clocks there is no other time.
        let time = profile.start_value * milliseconds + passed.min(LAST_TIME);
        let time = if passed > 0. {
            time.min(LAST_TIME)
        } else {
            time
        };
        passed += duration;
        if duration == 0. && is_counted {
            continue;
        }
        let weight = match is_counted {
            // Saturates; a weight that is too large is refused below.
            true => (duration / reading.interval).round().max(1.) as u64,
            false => 1,
        };
        let mut read = Sample {
            time,
            weight,
            stack: None,
            activity: None,
        };
        let alone = match **sample {
            [only] => frames.activity(only),
            _ => None,
        };
        if let Some(activity) = alone {
            read.activity = activity;
        } else {
            let common = sample.iter().zip(last).take_while(|(id, last)| id == last);
            stacks.truncate(common.count());
            last = sample;
            for (depth, id) in sample.iter().enumerate().skip(stacks.len()) {
                let place = || format!("{place}.samples[{index}][{depth}]");
                let frame = frames.get(*id, &mut event_loop, place)?;
                let stack = event_loop.add_stack(stacks.last().copied(), frame);
                stacks.push(stack.map_err(|invalid| Error::new(place(), invalid))?);
            }
            read.stack = stacks.last().copied();
        }
        let added = match is_counted {
            true => event_loop.add_sample(read),
            false => event_loop.add_sample_worth(read, duration),
        };
        added.map_err(|invalid| Error::new(place_of_sample(), invalid))?;
    }
    *memory -= event_loop.bytes();
    Ok(event_loop)
}

/// What is in the table of frames, for all event loops: the functions, or their lines.
struct SharedFrames<'a> {
    /// Each URL is there once, however many functions are in it.
    files: IndexSet<&'a str>,
    /// Those with the same name and place are one.
    functions: IndexSet<SharedKey<'a>>,
    /// Absent if functions are written.
    lines: Option<Lines>,
    /// For each event loop the places of its frames.
    places: Vec<Vec<usize>>,
    /// Of each event loop.
    calls: Vec<Calls>,
}

#[derive(Clone, Eq, Hash, PartialEq)]
struct SharedKey<'a> {
    name: Cow<'a, str>,
    /// By its place.
    file: Option<usize>,
    line: Option<NonZeroU32>,
    column: Option<NonZeroU32>,
}

impl<'a> SharedFrames<'a> {
    fn of(recording: &'a Recording, detail: Detail) -> Self {
        let mut shared = Self {
            files: IndexSet::new(),
            functions: IndexSet::new(),
            lines: match detail {
                Detail::Functions => None,
                Detail::Lines => Some(Lines::default()),
            },
            places: Vec::new(),
            calls: Vec::new(),
        };
        // In all event loops together, or a function would have two texts.
        let mut at_roots: HashSet<&str> = HashSet::new();
        for event_loop in recording.event_loops() {
            let calls = Calls::of(event_loop, detail);
            let functions = event_loop.functions().zip(calls.are_roots(event_loop));
            let roots = functions.filter(|(_, is_root)| *is_root);
            at_roots.extend(roots.map(|(function, _)| &*function.name));
        }
        for event_loop in recording.event_loops() {
            let files = event_loop.resources();
            let files: Vec<usize> = files.map(|url| shared.files.insert_full(url).0).collect();
            let calls = Calls::of(event_loop, detail);
            let functions = event_loop.functions().map(|function| {
                let is_taken = function.resource.is_none() && at_roots.contains(&*function.name);
                let key = SharedKey {
                    name: label::write_exact(&function.name, is_taken),
                    file: function.resource.map(|resource| files[resource.index()]),
                    line: function.line,
                    column: function.column,
                };
                shared.functions.insert_full(key).0
            });
            let functions: Vec<usize> = functions.collect();
            let places = event_loop.frames().map(|frame| {
                let function = functions[frame.function.index()];
                match &mut shared.lines {
                    None => function,
                    Some(lines) => lines.add(function, frame.place),
                }
            });
            let places = places.collect();
            shared.places.push(places);
            shared.calls.push(calls);
            for sample in event_loop.samples() {
                if sample.stack.is_none() && sample.activity.is_some() {
                    let function = shared.functions.insert_full(stackless_key(sample)).0;
                    if let Some(lines) = &mut shared.lines {
                        lines.add(function, None);
                    }
                }
            }
        }
        shared
    }

    fn len(&self) -> usize {
        match &self.lines {
            None => self.functions.len(),
            Some(lines) => lines.0.len(),
        }
    }

    /// The entry at a place of the table.
    fn frame(&self, place: usize) -> SharedFrame<&str> {
        let (function, line, column) = match &self.lines {
            None => {
                let function = &self.functions[place];
                (function, function.line, function.column)
            },
            Some(lines) => {
                let (function, line, column) = lines.get(place);
                (&self.functions[function], line, column)
            },
        };
        SharedFrame {
            name: &*function.name,
            file: function.file.map(|file| self.files[file]),
            line: line.map(NonZeroU32::get),
            col: column.map(NonZeroU32::get),
        }
    }

    fn frames(&self) -> impl Iterator<Item = SharedFrame<&str>> {
        (0..self.len()).map(|place| self.frame(place))
    }

    /// The place of a sample without a stack. Absent if its activity is not known.
    fn place_of_stackless(&self, sample: &Sample) -> Option<usize> {
        sample.activity?;
        let function = self.functions.get_index_of(&stackless_key(sample))?;
        match &self.lines {
            None => Some(function),
            Some(lines) => lines.0.get_index_of(&(function, None)),
        }
    }

    /// The least length of their text, in bytes.
    fn least_length(&self) -> u64 {
        let lengths = self.frames().map(|frame| {
            let file = frame.file.map_or(0, str::len);
            (r#"{"name":""}"#.len() + frame.name.len() + file) as u64
        });
        lengths.fold(0, u64::saturating_add)
    }
}

/// Functions by their places, and lines of them. A line has a column if it is the same in all frames at the line.
#[derive(Default)]
struct Lines(IndexMap<(usize, Option<NonZeroU32>), Option<NonZeroU32>>);

impl Lines {
    /// Adds the line of a frame if it is not there. Returns its place.
    fn add(&mut self, function: usize, place: Option<Place>) -> usize {
        let line = place.and_then(Place::line);
        let column = place.and_then(Place::column);
        let entry = self.0.entry((function, line));
        let index = entry.index();
        let known = entry.or_insert(column);
        if *known != column {
            *known = None;
        }
        index
    }

    /// The function, the line and the column at a place.
    fn get(&self, place: usize) -> (usize, Option<NonZeroU32>, Option<NonZeroU32>) {
        let entry = self.0.get_index(place);
        let ((function, line), column) = entry.expect("it is the place of a line");
        (*function, *line, *column)
    }
}

/// The least length of the samples' text, in bytes.
fn least_length(event_loop: &EventLoop, calls: &Calls, timing: Timing) -> u64 {
    // A place in the table and a comma for each frame; brackets, a weight and two commas.
    let lengths = stretches(event_loop, calls, timing).map(|(sample, _)| {
        let depth = sample.stack.map_or(0, |stack| event_loop.depth(stack));
        2 * u64::from(depth) + 4
    });
    lengths.fold(0, u64::saturating_add)
}

pub fn prepare(recording: &Recording, detail: Detail) -> Result<impl Text, WriteError> {
    let format = match detail {
        Detail::Functions => Format::Speedscope,
        Detail::Lines => Format::SpeedscopeLines,
    };
    let names = recording.distinct_names()?;
    let shared = SharedFrames::of(recording, detail);
    let lengths = recording.event_loops().zip(&shared.calls);
    let timing = Timing::of(recording);
    let lengths = lengths.map(|(event_loop, calls)| least_length(event_loop, calls, timing));
    let length = lengths.fold(shared.least_length(), u64::saturating_add);
    check_length(format, length)?;
    Ok(move |sink: &mut Sink<'_>| write(recording, &names, &shared, sink))
}

fn write(
    recording: &Recording,
    names: &[String],
    shared: &SharedFrames<'_>,
    sink: &mut Sink<'_>,
) -> Result<(), WriteError> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct File<'a, F, P> {
        #[serde(rename = "$schema")]
        schema: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        exporter: Option<String>,
        #[serde(skip_serializing_if = "<[Program]>::is_empty")]
        engines: &'a [Program],
        active_profile_index: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        sample_interval: Option<Number>,
        shared: Shared<F>,
        profiles: P,
    }
    #[derive(Serialize)]
    struct Shared<F> {
        frames: F,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Profile<'a, S, W> {
        #[serde(rename = "type")]
        kind: &'static str,
        name: &'a str,
        unit: &'static str,
        #[serde(serialize_with = "json::number")]
        start_value: f64,
        #[serde(serialize_with = "json::number")]
        end_value: f64,
        samples: S,
        weights: W,
    }

    let timing = Timing::of(recording);
    let profiles = || {
        let tables = shared.places.iter().zip(&shared.calls);
        let event_loops = recording.event_loops().zip(names).zip(tables);
        event_loops.map(|((event_loop, name), (places, calls))| {
            let first = event_loop.samples().first();
            let start = first.map_or(0., |sample| sample.time);
            let worths = event_loop.worths(timing.interval);
            let worth = worths.fold(0, u64::saturating_add);
            Profile {
                kind: "sampled",
                name,
                unit: "milliseconds",
                start_value: start,
                end_value: match timing.is_timed {
                    true => start + worth::milliseconds(worth),
                    false => start + event_loop.weight() as f64 * timing.interval,
                },
                samples: Array(move || {
                    stretches(event_loop, calls, timing).map(move |(sample, _)| -> Vec<usize> {
                        if sample.stack.is_none() {
                            return shared.place_of_stackless(sample).into_iter().collect();
                        }
                        let frames = event_loop.frames_of(sample.stack).into_iter();
                        frames.map(|frame| places[frame.index()]).collect()
                    })
                }),
                weights: Array(move || {
                    stretches(event_loop, calls, timing).map(|(_, weight)| Number(weight))
                }),
            }
        })
    };
    let recorded_by = recording.recorded_by.as_ref();
    let file = File {
        schema: SCHEMA,
        exporter: recorded_by.map(|recorded_by| exporter(recorded_by.program())),
        engines: recorded_by.map_or(&[], RecordedBy::engines),
        active_profile_index: 0,
        sample_interval: (!timing.is_timed).then_some(Number(timing.interval)),
        shared: Shared {
            frames: Array(|| shared.frames()),
        },
        profiles: Array(profiles),
    };
    Ok(serde_json::to_writer(sink, &file)?)
}

/// How the samples of all event loops are written.
#[derive(Clone, Copy)]
struct Timing {
    /// Whether samples of any event loop are worth times of their own. Then each sample is written alone.
    is_timed: bool,
    /// In milliseconds.
    interval: f64,
}

impl Timing {
    fn of(recording: &Recording) -> Self {
        Self {
            is_timed: recording.event_loops().any(EventLoop::is_timed),
            interval: recording.interval,
        }
    }
}

/// The first of several samples in a row that are written the same way, and the weight of all of them in milliseconds. With
/// lines, samples at two offsets in a WebAssembly module are not put together.
fn stretches<'a>(
    event_loop: &'a EventLoop,
    calls: &Calls,
    timing: Timing,
) -> impl Iterator<Item = (&'a Sample, f64)> {
    let call_of = |sample: &Sample| sample.stack.map(|stack| calls.index_of(stack));
    let is_alike = move |one: &Sample, next: &Sample| {
        !timing.is_timed
            && call_of(one) == call_of(next)
            && (one.stack.is_some() || one.activity == next.activity)
    };
    let stretches = event_loop.samples().chunk_by(is_alike);
    let worths = event_loop.worths(timing.interval);
    stretches.zip(worths).map(move |(stretch, worth)| {
        let samples: u64 = stretch.iter().map(|sample| sample.weight).sum();
        let weight = match timing.is_timed {
            // A stretch is one sample.
            true => worth::milliseconds(worth),
            false => samples as f64 * timing.interval,
        };
        (&stretch[0], weight)
    })
}

fn stackless_key(sample: &Sample) -> SharedKey<'static> {
    SharedKey {
        name: stackless::name(sample.activity).into(),
        file: None,
        line: None,
        column: None,
    }
}
