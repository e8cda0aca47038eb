/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The data of the viewer in `resources/about-profiling/`, version 2, as JSON. A table is an object of columns,
//! because these are shorter than rows and faster to read.
//!
//! It has everything. Each time of a sample is rounded to whole microseconds on its own, so errors do not add up.
//!
//! | member | |
//! |---|---|
//! | `version` | 2 |
//! | `interval` | ms |
//! | `timeOrigin` | ms since the Unix epoch, or null |
//! | `recordedBy` | what recorded it (left out if that is unknown): the `name` and `version` (or null) of a program, and `engines[]`, each with its `name` and `version` |
//! | `comparison` | true if the first process is the base of a comparison and the second one what is compared with it, with times by session (else left out); it is read over |
//! | `processes[]` | `name`, `pid` (or null), `ended` (ms on the clock of the samples, or null), `eventLoops` |
//! | `eventLoops[]` | `name`, `kind` (`"page"`, `"worker"`, `"unknown"`), `documents[]`, and the tables |
//! | `resources[]` | a URL |
//! | `sources[]` | texts of scripts (left out if there are none): `name`, `text`, the `line` and `column` at which it begins, and `mapUrl`, the link to its source map in a comment (left out if there is none, or if it is a `data:` URL) |
//! | `realms[]` | `url`, `origin` (null if it is opaque) |
//! | `functions` | `name[]`, `kind[]` (0 script, 1 built-in, 2 native, 3 unknown), `resource[]`, `line[]` and `column[]` of the definition, `realm[]`; `source[]` (left out if none has one); `generated` (left out if none has it): what the script that ran has for a function that is here by a source map, `name[]`, `resource[]` (-1 for other functions), `line[]`, `column[]` |
//! | `frames` | `function[]`, `line[]` and `column[]` that are executing or calling, `offset[]` in a WebAssembly module instead of them (left out if none has one), `firstLine[]` and `lastLine[]` instead of them where it is one of several lines (left out if it is so in none) |
//! | `stacks` | `parent[]`, which is before its children, and `frame[]` |
//! | `samples` | `time[]` (µs since the sample before, the first since 0), `weight[]` (left out if all are 1), `stack[]`, `activity[]` (0 idle, 1 script, 2 gc, 3 style, 4 layout, 5 paint, 6 other, 7 V8's program), `worth[]` (ns; left out if each is worth one interval for each sample that it stands for) |
//! | `missed` | left out if it is empty; `start[]` and `end[]` (µs on the clock of the samples), `samples[]` (how many), `why[]` (0 sampler late, 1 no processor, 2 in the kernel, 3 walks before too long, 4 stack too deep, 5 on another stack) |
//!
//! Resources, sources, realms, functions, parents, frames and stacks are indices. An id, an offset or an activity that is
//! absent is -1; a line or column, 0.

use std::io::Write;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::bounds::MAX_READ_BYTES;
use crate::error::{Error, WriteError};
use crate::interval;
use crate::json::{self, Array, check_length};
use crate::recorded_by::RecordedBy;
use crate::recording::{
    Activity, EventLoop, EventLoopKind, Frame, FrameId, Function, FunctionId, FunctionKind,
    GeneratedPlace, Invalid, Missed, MissedReason, Place, Process, Realm, RealmId, Recording,
    ResourceId, Sample, Source, SourceId, StackId,
};

const VERSION: u64 = 2;

const ABSENT: i64 = -1;

const MICROSECONDS: f64 = 1e3;

/// By their numbers.
const KINDS: [FunctionKind; 4] = [
    FunctionKind::Script,
    FunctionKind::BuiltIn,
    FunctionKind::Native,
    FunctionKind::Unknown,
];

#[derive(Deserialize)]
struct Head {
    version: u64,
}

/// `P` is the type of the processes, which are read into tables and written from iterators.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<P, R = RecordedBy> {
    version: u64,
    #[serde(serialize_with = "json::number")]
    interval: f64,
    time_origin: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded_by: Option<R>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    comparison: Option<bool>,
    processes: P,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct ProcessData<S, E> {
    name: S,
    pid: Option<u32>,
    ended: Option<f64>,
    event_loops: E,
}

#[derive(Deserialize, Serialize)]
struct EventLoopData<S, N, U, V, R, C, F, T, M, X> {
    name: S,
    kind: Kind,
    documents: N,
    resources: U,
    #[serde(skip_serializing_if = "Option::is_none")]
    sources: Option<V>,
    realms: R,
    functions: C,
    frames: F,
    stacks: T,
    samples: M,
    #[serde(skip_serializing_if = "Option::is_none")]
    missed: Option<X>,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Page,
    Worker,
    Unknown,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct SourceData<S> {
    name: S,
    text: S,
    line: NonZeroU32,
    column: NonZeroU32,
    #[serde(skip_serializing_if = "Option::is_none")]
    map_url: Option<S>,
}

#[derive(Deserialize, Serialize)]
struct RealmData<S> {
    url: S,
    origin: Option<S>,
}

#[derive(Deserialize, Serialize)]
struct Functions<N, K, R, L, C, M, V, G> {
    name: N,
    kind: K,
    resource: R,
    line: L,
    column: C,
    realm: M,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<V>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generated: Option<G>,
}

#[derive(Deserialize, Serialize)]
struct Generated<N, R, L, C> {
    name: N,
    resource: R,
    line: L,
    column: C,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Frames<F, L, C, O, E> {
    function: F,
    line: L,
    column: C,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<O>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_line: Option<E>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_line: Option<E>,
}

#[derive(Deserialize, Serialize)]
struct Stacks<P, F> {
    parent: P,
    frame: F,
}

#[derive(Deserialize, Serialize)]
struct Samples<T, W, S, A, V> {
    time: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<W>,
    stack: S,
    activity: A,
    #[serde(skip_serializing_if = "Option::is_none")]
    worth: Option<V>,
}

#[derive(Deserialize, Serialize)]
struct MissedData<S, E, N, W> {
    start: S,
    end: E,
    samples: N,
    why: W,
}

type ReadGenerated = Generated<Vec<String>, Vec<i64>, Vec<u32>, Vec<u32>>;
type ReadFunctions = Functions<
    Vec<String>,
    Vec<u64>,
    Vec<i64>,
    Vec<u32>,
    Vec<u32>,
    Vec<i64>,
    Vec<i64>,
    ReadGenerated,
>;
type ReadFrames = Frames<Vec<i64>, Vec<u32>, Vec<u32>, Vec<i64>, Vec<u32>>;
type ReadStacks = Stacks<Vec<i64>, Vec<i64>>;
type ReadSamples = Samples<Vec<u64>, Vec<u64>, Vec<i64>, Vec<i64>, Vec<u64>>;
type ReadMissed = MissedData<Vec<u64>, Vec<u64>, Vec<u32>, Vec<u64>>;
type ReadEventLoop = EventLoopData<
    String,
    Vec<String>,
    Vec<String>,
    Vec<SourceData<String>>,
    Vec<RealmData<String>>,
    ReadFunctions,
    ReadFrames,
    ReadStacks,
    ReadSamples,
    ReadMissed,
>;
type ReadProcess = ProcessData<String, Vec<ReadEventLoop>>;

pub fn read(text: &[u8], mut memory: u64) -> Result<Recording, Error> {
    let error = match json::read::<Data<Vec<ReadProcess>>>(text, &mut memory) {
        Ok(data) if data.version == VERSION => return read_data(data, memory),
        Ok(data) => return Err(unknown_version(data.version)),
        Err(error) => error,
    };
    // More likely, the file has another version.
    let mut memory_of_head = MAX_READ_BYTES;
    match json::read(text, &mut memory_of_head) {
        Ok(Head { version: VERSION }) => Err(error),
        Ok(Head { version }) => Err(unknown_version(version)),
        Err(error) => Err(error),
    }
}

fn unknown_version(version: u64) -> Error {
    Error::new(
        "version",
        format!("{version} is not {VERSION}, the version that is read"),
    )
}

fn read_data(data: Data<Vec<ReadProcess>>, mut memory: u64) -> Result<Recording, Error> {
    let mut processes = Vec::with_capacity(data.processes.len());
    for (number, process) in data.processes.into_iter().enumerate() {
        let mut event_loops = Vec::with_capacity(process.event_loops.len());
        for (index, event_loop) in process.event_loops.into_iter().enumerate() {
            let place = format!("processes[{number}].eventLoops[{index}]");
            event_loops.push(read_event_loop(event_loop, &mut memory, &place)?);
        }
        processes.push(Process {
            name: process.name,
            pid: process.pid,
            ended: process.ended,
            event_loops,
        });
    }
    Ok(Recording {
        time_origin: data.time_origin,
        interval: interval::checked(data.interval, "interval")?,
        recorded_by: data.recorded_by,
        processes,
    })
}

fn read_event_loop(data: ReadEventLoop, memory: &mut u64, place: &str) -> Result<EventLoop, Error> {
    let kind = data.kind.with(data.documents);
    let mut event_loop = EventLoop::within(*memory, data.name, kind)
        .map_err(|invalid| Error::new(place, invalid))?;
    let functions = read_functions(
        data.functions,
        data.resources,
        data.sources.unwrap_or_default(),
        data.realms,
        &mut event_loop,
        place,
    )?;
    let frames = read_frames(
        data.frames,
        &functions,
        &mut event_loop,
        &format!("{place}.frames"),
    )?;
    read_stacks_and_samples(data.stacks, data.samples, &frames, &mut event_loop, place)?;
    if let Some(missed) = data.missed {
        read_missed(missed, &mut event_loop, &format!("{place}.missed"))?;
    }
    *memory -= event_loop.bytes();
    Ok(event_loop)
}

impl Kind {
    fn with(self, documents: Vec<String>) -> EventLoopKind {
        match self {
            Self::Page => EventLoopKind::Page { documents },
            Self::Worker => EventLoopKind::Worker,
            Self::Unknown => EventLoopKind::Unknown,
        }
    }
}

/// The ids that a table's entries get. Equal entries get one id.
fn added<T, I>(
    entries: Vec<T>,
    place: &str,
    mut add: impl FnMut(T) -> Result<I, Invalid>,
) -> Result<Vec<I>, Error> {
    let entries = entries.into_iter().enumerate();
    let ids = entries.map(|(index, entry)| {
        add(entry).map_err(|invalid| Error::new(format!("{place}[{index}]"), invalid))
    });
    ids.collect()
}

fn read_functions(
    functions: ReadFunctions,
    resources: Vec<String>,
    sources: Vec<SourceData<String>>,
    realms: Vec<RealmData<String>>,
    event_loop: &mut EventLoop,
    place: &str,
) -> Result<Vec<FunctionId>, Error> {
    let resources = added(resources, &format!("{place}.resources"), |url| {
        event_loop.add_resource(&url)
    })?;
    let sources = added(sources, &format!("{place}.sources"), |source| {
        event_loop.add_source(Source {
            name: source.name,
            line: source.line,
            column: source.column,
            text: Some(source.text),
            map_url: source.map_url,
        })
    })?;
    let realms = added(realms, &format!("{place}.realms"), |realm| {
        event_loop.add_realm(Realm {
            url: realm.url,
            origin: realm.origin,
        })
    })?;
    let count = functions.name.len();
    let column = |name: &str| format!("{place}.functions.{name}");
    check_length(functions.kind.len(), count, || column("kind"))?;
    check_length(functions.resource.len(), count, || column("resource"))?;
    check_length(functions.line.len(), count, || column("line"))?;
    check_length(functions.column.len(), count, || column("column"))?;
    check_length(functions.realm.len(), count, || column("realm"))?;
    if let Some(source) = &functions.source {
        check_length(source.len(), count, || column("source"))?;
    }
    let generated = match functions.generated {
        Some(generated) => read_generated(generated, &resources, count, &column("generated"))?,
        None => Vec::new(),
    };
    let mut generated = generated.into_iter();
    let mut ids = Vec::with_capacity(count);
    for (index, name) in functions.name.into_iter().enumerate() {
        let at = |name: &str| format!("{}[{index}]", column(name));
        let kind = functions.kind[index];
        let kind = usize::try_from(kind)
            .ok()
            .and_then(|kind| KINDS.get(kind))
            .ok_or_else(|| Error::new(at("kind"), format!("{kind} is no kind of function")))?;
        let resource = entry(functions.resource[index], &resources, "resources", || {
            at("resource")
        })?;
        let realm = entry(functions.realm[index], &realms, "realms", || at("realm"))?;
        let source = match functions.source.as_ref().map(|sources| sources[index]) {
            Some(source) => entry(source, &sources, "sources", || at("source"))?,
            None => None,
        };
        let added = event_loop.add_function(Function {
            name,
            kind: *kind,
            resource: resource.flatten(),
            line: NonZeroU32::new(functions.line[index]),
            column: NonZeroU32::new(functions.column[index]),
            realm,
            source,
            generated: generated.next().flatten(),
        });
        ids.push(added.map_err(|invalid| Error::new(at("name"), invalid))?);
    }
    Ok(ids)
}

/// One for each function.
fn read_generated(
    generated: ReadGenerated,
    resources: &[Option<ResourceId>],
    count: usize,
    place: &str,
) -> Result<Vec<Option<Box<GeneratedPlace>>>, Error> {
    let column = |name: &str| format!("{place}.{name}");
    check_length(generated.name.len(), count, || column("name"))?;
    check_length(generated.resource.len(), count, || column("resource"))?;
    check_length(generated.line.len(), count, || column("line"))?;
    check_length(generated.column.len(), count, || column("column"))?;
    let names = generated.name.into_iter().enumerate();
    names
        .map(|(index, name)| {
            let resource = entry(generated.resource[index], resources, "resources", || {
                format!("{}[{index}]", column("resource"))
            })?;
            Ok(resource.flatten().map(|resource| {
                Box::new(GeneratedPlace {
                    name,
                    resource,
                    line: NonZeroU32::new(generated.line[index]),
                    column: NonZeroU32::new(generated.column[index]),
                })
            }))
        })
        .collect()
}

fn read_frames(
    frames: ReadFrames,
    functions: &[FunctionId],
    event_loop: &mut EventLoop,
    place: &str,
) -> Result<Vec<FrameId>, Error> {
    let count = frames.function.len();
    let column = |name: &str| format!("{place}.{name}");
    check_length(frames.line.len(), count, || column("line"))?;
    check_length(frames.column.len(), count, || column("column"))?;
    if let Some(offsets) = &frames.offset {
        check_length(offsets.len(), count, || column("offset"))?;
    }
    let lines = [
        ("firstLine", &frames.first_line),
        ("lastLine", &frames.last_line),
    ];
    for (name, lines) in lines {
        if let Some(lines) = lines {
            check_length(lines.len(), count, || column(name))?;
        }
    }
    let mut ids = Vec::with_capacity(count);
    for (index, function) in frames.function.into_iter().enumerate() {
        let at = |name: &str| format!("{}[{index}]", column(name));
        let function = entry(function, functions, "functions", || at("function"))?
            .ok_or_else(|| Error::new(at("function"), "a frame without a function"))?;
        let [line, column] = [&frames.line, &frames.column].map(|column| column[index]);
        let source = Place::of_source(NonZeroU32::new(line), NonZeroU32::new(column));
        let [first, last] = [&frames.first_line, &frames.last_line].map(|lines| {
            let line = lines.as_ref().map(|lines| lines[index]);
            line.and_then(NonZeroU32::new)
        });
        let lines = match (first, last) {
            (None, None) => None,
            (Some(first), Some(last)) if first < last && source.is_none() => {
                Some(Place::of_lines(first, last))
            },
            _ => {
                let problem = "not the last of several lines, or there is a line, too";
                return Err(Error::new(at("lastLine"), problem));
            },
        };
        let source = source.or(lines);
        let offset = match frames.offset.as_ref().map(|offsets| offsets[index]) {
            None | Some(ABSENT) => None,
            Some(offset) => {
                let problem = || format!("{offset} is neither {ABSENT} nor an offset in a module");
                let offset =
                    u32::try_from(offset).map_err(|_| Error::new(at("offset"), problem()))?;
                Some(Place::WasmOffset(offset))
            },
        };
        if source.is_some() && offset.is_some() {
            let problem = "a frame with both a line and an offset in a module";
            return Err(Error::new(at("offset"), problem));
        }
        let added = event_loop.add_frame(Frame {
            function,
            place: source.or(offset),
        });
        ids.push(added.map_err(|invalid| Error::new(at("function"), invalid))?);
    }
    Ok(ids)
}

fn read_stacks_and_samples(
    stacks: ReadStacks,
    samples: ReadSamples,
    frames: &[FrameId],
    event_loop: &mut EventLoop,
    place: &str,
) -> Result<(), Error> {
    let stacks = read_stacks(stacks, frames, event_loop, &format!("{place}.stacks"))?;
    read_samples(samples, &stacks, event_loop, &format!("{place}.samples"))
}

fn read_stacks(
    stacks: ReadStacks,
    frames: &[FrameId],
    event_loop: &mut EventLoop,
    place: &str,
) -> Result<Vec<StackId>, Error> {
    let count = stacks.frame.len();
    check_length(stacks.parent.len(), count, || format!("{place}.parent"))?;
    let mut ids: Vec<StackId> = Vec::with_capacity(count);
    for (index, (parent, frame)) in stacks.parent.into_iter().zip(stacks.frame).enumerate() {
        let frame_place = || format!("{place}.frame[{index}]");
        let frame = entry(frame, frames, "frames", frame_place)?
            .ok_or_else(|| Error::new(frame_place(), "a stack without a frame"))?;
        let parent = match parent {
            ABSENT => None,
            parent => {
                let before = usize::try_from(parent)
                    .ok()
                    .and_then(|parent| ids.get(parent));
                let before = before.ok_or_else(|| {
                    Error::no_stack_before(format!("{place}.parent[{index}]"), parent)
                })?;
                Some(*before)
            },
        };
        let added = event_loop.add_stack(parent, frame);
        ids.push(added.map_err(|invalid| Error::new(frame_place(), invalid))?);
    }
    Ok(ids)
}

fn read_samples(
    samples: ReadSamples,
    stacks: &[StackId],
    event_loop: &mut EventLoop,
    place: &str,
) -> Result<(), Error> {
    let count = samples.time.len();
    check_length(samples.stack.len(), count, || format!("{place}.stack"))?;
    check_length(samples.activity.len(), count, || {
        format!("{place}.activity")
    })?;
    if let Some(weights) = &samples.weight {
        check_length(weights.len(), count, || format!("{place}.weight"))?;
    }
    if let Some(worths) = &samples.worth {
        check_length(worths.len(), count, || format!("{place}.worth"))?;
    }
    let mut microseconds: u64 = 0;
    for (index, since_last) in samples.time.into_iter().enumerate() {
        // Saturates; a time that is too late is refused.
        microseconds = microseconds.saturating_add(since_last);
        let at = |name: &str| format!("{place}.{name}[{index}]");
        let activity = samples.activity[index];
        let activity = match activity {
            ABSENT => None,
            activity => {
                let known = usize::try_from(activity)
                    .ok()
                    .and_then(|activity| Activity::ALL.get(activity));
                let problem = || format!("{activity} is no activity");
                Some(*known.ok_or_else(|| Error::new(at("activity"), problem()))?)
            },
        };
        let weight = samples.weight.as_ref().map_or(1, |weights| weights[index]);
        let added = event_loop.add_sample(Sample {
            time: microseconds as f64 / MICROSECONDS,
            weight,
            stack: entry(samples.stack[index], stacks, "stacks", || at("stack"))?,
            activity,
        });
        added.map_err(|invalid| {
            let column = match invalid {
                Invalid::NoWeight | Invalid::TooHeavy => "weight",
                _ => "time",
            };
            Error::new(at(column), invalid)
        })?;
    }
    if let Some(worths) = samples.worth {
        let set = event_loop.set_sums(worths);
        set.map_err(|invalid| Error::new(format!("{place}.worth"), invalid))?;
    }
    Ok(())
}

fn read_missed(missed: ReadMissed, event_loop: &mut EventLoop, place: &str) -> Result<(), Error> {
    let count = missed.start.len();
    check_length(missed.end.len(), count, || format!("{place}.end"))?;
    check_length(missed.samples.len(), count, || format!("{place}.samples"))?;
    check_length(missed.why.len(), count, || format!("{place}.why"))?;
    for (index, start) in missed.start.into_iter().enumerate() {
        let at = |name: &str| format!("{place}.{name}[{index}]");
        let why = missed.why[index];
        let why = usize::try_from(why)
            .ok()
            .and_then(|why| MissedReason::ALL.get(why))
            .ok_or_else(|| Error::new(at("why"), format!("{why} is no reason")))?;
        let start = start as f64 / MICROSECONDS;
        let end = missed.end[index] as f64 / MICROSECONDS;
        let added = event_loop.add_missed(Missed {
            start,
            end,
            samples: missed.samples[index],
            why: *why,
        });
        added.map_err(|invalid| {
            let column = match invalid {
                Invalid::NoneMissed => "samples",
                Invalid::EndsBefore { .. } => "end",
                Invalid::Time(time) if time != start => "end",
                _ => "start",
            };
            Error::new(at(column), invalid)
        })?;
    }
    Ok(())
}

/// What an index stands for; `None` for [`ABSENT`].
fn entry<T: Copy>(
    index: i64,
    table: &[T],
    name: &str,
    place: impl FnOnce() -> String,
) -> Result<Option<T>, Error> {
    if index == ABSENT {
        return Ok(None);
    }
    let entry = usize::try_from(index)
        .ok()
        .and_then(|index| table.get(index));
    match entry {
        Some(entry) => Ok(Some(*entry)),
        None => Err(Error::new(
            place(),
            format!(
                "{index} is neither {ABSENT} nor an index of {name}, which has {}",
                table.len()
            ),
        )),
    }
}

/// Writes what the viewer reads.
pub fn write(recording: &Recording, writer: impl Write) -> Result<(), WriteError> {
    Ok(serde_json::to_writer(writer, &data(recording))?)
}

/// A value that is made while it is written.
pub fn data(recording: &Recording) -> impl Serialize {
    data_with(recording, None)
}

/// Those of a comparison, whose first process is the base.
pub fn comparison_data(recording: &Recording) -> impl Serialize {
    data_with(recording, Some(true))
}

fn data_with(recording: &Recording, comparison: Option<bool>) -> impl Serialize {
    Data {
        comparison,
        version: VERSION,
        interval: recording.interval,
        time_origin: recording.time_origin,
        recorded_by: recording.recorded_by.as_ref(),
        processes: Array(|| {
            recording.processes.iter().map(|process| ProcessData {
                name: &*process.name,
                pid: process.pid,
                ended: process.ended,
                event_loops: Array(|| process.event_loops.iter().map(event_loop_data)),
            })
        }),
    }
}

fn event_loop_data(event_loop: &EventLoop) -> impl Serialize {
    let (kind, documents) = match &event_loop.kind {
        EventLoopKind::Page { documents } => (Kind::Page, &**documents),
        EventLoopKind::Worker => (Kind::Worker, &[][..]),
        EventLoopKind::Unknown => (Kind::Unknown, &[][..]),
    };
    EventLoopData {
        name: &*event_loop.name,
        kind,
        documents,
        resources: Array(|| event_loop.resources()),
        sources: sources_data(event_loop),
        realms: Array(|| {
            event_loop.realms().map(|realm| RealmData {
                url: &*realm.url,
                origin: realm.origin.as_deref(),
            })
        }),
        functions: functions_data(event_loop),
        frames: frames_data(event_loop),
        stacks: Stacks {
            parent: Array(|| {
                let parents = event_loop.stacks().map(|stack| stack.parent);
                parents.map(|parent| index_or_absent(parent.map(StackId::index)))
            }),
            frame: Array(|| event_loop.stacks().map(|stack| stack.frame.index())),
        },
        samples: samples_data(event_loop),
        missed: missed_data(event_loop),
    }
}

fn sources_data(event_loop: &EventLoop) -> Option<impl Serialize> {
    let sources = move || {
        event_loop.sources().map(|source| SourceData {
            name: &*source.name,
            // Those without one are dropped when maps are applied.
            text: source.text.as_deref().unwrap_or_default(),
            line: source.line,
            column: source.column,
            map_url: source.map_url.as_deref(),
        })
    };
    (sources().len() > 0).then_some(Array(sources))
}

fn functions_data(event_loop: &EventLoop) -> impl Serialize {
    let sources = || event_loop.functions().map(|function| function.source);
    let has_source = sources().any(|source| source.is_some());
    Functions {
        name: Array(|| event_loop.functions().map(|function| &*function.name)),
        kind: Array(|| {
            let kinds = event_loop.functions().map(|function| function.kind);
            kinds.map(|kind| number_of(&KINDS, kind))
        }),
        resource: Array(|| {
            let resources = event_loop.functions().map(|function| function.resource);
            resources.map(|resource| index_or_absent(resource.map(ResourceId::index)))
        }),
        line: Array(|| {
            let lines = event_loop.functions().map(|function| function.line);
            lines.map(number_or_absent)
        }),
        column: Array(|| {
            let columns = event_loop.functions().map(|function| function.column);
            columns.map(number_or_absent)
        }),
        realm: Array(|| {
            let realms = event_loop.functions().map(|function| function.realm);
            realms.map(|realm| index_or_absent(realm.map(RealmId::index)))
        }),
        source: has_source.then_some(Array(move || {
            sources().map(|source| index_or_absent(source.map(SourceId::index)))
        })),
        generated: generated_data(event_loop),
    }
}

fn generated_data(event_loop: &EventLoop) -> Option<impl Serialize> {
    let all = || {
        let functions = event_loop.functions();
        functions.map(|function| function.generated.as_deref())
    };
    let has_any = all().any(|one| one.is_some());
    has_any.then_some(Generated {
        name: Array(move || all().map(|one| one.map_or("", |one| &*one.name))),
        resource: Array(move || {
            let resources = all().map(|one| one.map(|one| one.resource.index()));
            resources.map(index_or_absent)
        }),
        line: Array(move || all().map(|one| number_or_absent(one.and_then(|one| one.line)))),
        column: Array(move || all().map(|one| number_or_absent(one.and_then(|one| one.column)))),
    })
}

fn frames_data(event_loop: &EventLoop) -> impl Serialize {
    let places = || event_loop.frames().map(|frame| frame.place);
    let has_lines = places().any(|place| place.and_then(Place::lines).is_some());
    let lines = |of: fn((NonZeroU32, NonZeroU32)) -> NonZeroU32| {
        has_lines.then_some(Array(move || {
            let lines = places().map(|place| place.and_then(Place::lines));
            lines.map(move |lines| number_or_absent(lines.map(of)))
        }))
    };
    let has_offsets = places().any(|place| place.and_then(Place::wasm_offset).is_some());
    Frames {
        function: Array(|| event_loop.frames().map(|frame| frame.function.index())),
        line: Array(move || places().map(|place| number_or_absent(place.and_then(Place::line)))),
        column: Array(move || {
            places().map(|place| number_or_absent(place.and_then(Place::column)))
        }),
        offset: has_offsets.then_some(Array(move || {
            let offsets = places().map(|place| place.and_then(Place::wasm_offset));
            offsets.map(|offset| offset.map_or(ABSENT, i64::from))
        })),
        first_line: lines(|(first, _)| first),
        last_line: lines(|(_, last)| last),
    }
}

fn samples_data(event_loop: &EventLoop) -> impl Serialize {
    let samples = event_loop.samples();
    let is_weighted = samples.iter().any(|sample| sample.weight != 1);
    Samples {
        time: Array(|| {
            samples.iter().scan(0, |last, sample| {
                let microseconds = microseconds(sample.time);
                let since_last = microseconds - *last;
                *last = microseconds;
                Some(since_last)
            })
        }),
        weight: is_weighted.then_some(Array(|| samples.iter().map(|sample| sample.weight))),
        stack: Array(|| {
            let stacks = samples.iter().map(|sample| sample.stack);
            stacks.map(|stack| index_or_absent(stack.map(StackId::index)))
        }),
        activity: Array(|| {
            let activities = samples.iter().map(|sample| sample.activity);
            activities.map(|activity| match activity {
                Some(activity) => number_of(&Activity::ALL, activity),
                None => ABSENT,
            })
        }),
        worth: event_loop
            .is_timed()
            .then_some(Array(|| event_loop.worths(0.))),
    }
}

fn missed_data(event_loop: &EventLoop) -> Option<impl Serialize> {
    let missed = event_loop.missed();
    (!missed.is_empty()).then_some(MissedData {
        start: Array(|| missed.iter().map(|one| microseconds(one.start))),
        end: Array(|| missed.iter().map(|one| microseconds(one.end))),
        samples: Array(|| missed.iter().map(|one| one.samples)),
        why: Array(|| {
            let reasons = missed.iter().map(|one| one.why);
            reasons.map(|why| number_of(&MissedReason::ALL, why))
        }),
    })
}

fn microseconds(milliseconds: f64) -> u64 {
    (milliseconds * MICROSECONDS).round() as u64
}

/// A line or column.
fn number_or_absent(number: Option<NonZeroU32>) -> u32 {
    number.map_or(0, NonZeroU32::get)
}

fn index_or_absent(index: Option<usize>) -> i64 {
    index.map_or(ABSENT, |index| index as i64)
}

fn number_of<T: PartialEq>(numbers: &[T], entry: T) -> i64 {
    index_or_absent(numbers.iter().position(|other| *other == entry))
}
