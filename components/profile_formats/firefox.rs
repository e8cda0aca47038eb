/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The Firefox Profiler's processed format, version 55,
//! <https://github.com/firefox-devtools/profiler/blob/main/docs-developer/processed-profile-format.md>.
//!
//! It has everything but realms. If a process has no id, or a recording no time origin, one is made up. Times and the
//! interval are rounded to whole nanoseconds. A function that is in no script is written as `label.rs` says. The flag
//! for JavaScript tells the kinds of functions apart. A frame has the line and column of its place, or its offset in a
//! WebAssembly module as the address. The leaf's category is the activity, and several samples in a row with the same
//! activity are a marker. A sample that has an activity and no stack has a frame of that name. A stretch of missed
//! samples is a marker that says how many and why.
//!
//! What recorded it is the product, whose version is in `misc`, as of Firefox. The versions of its engines are a section of
//! `extra`, which the Firefox Profiler shows with the rest. If it is unknown, the product is empty. In a file that the
//! Firefox Profiler has imported, the product may be the program that was recorded, and `importedFrom` is the tool.
//!
//! If samples are worth times of their own, these are the weights, in milliseconds (`tracing-ms`). If not, the weights
//! are numbers of samples.
//!
//! In a file without weights, as Firefox writes them, a sample is worth the time until the next one: `worth.rs`. A sample
//! whose weight is 0 stands for none, as in files of samply. Profiles of differences, whose weights are less than 0, are
//! refused.
//!
//! We read files up to that version, also those of Firefox. Native functions in them have only their names and lines,
//! because their addresses are in machine code.

mod schema;
mod writer;

use std::borrow::Cow;
use std::collections::HashMap;
use std::num::NonZeroU32;

use serde::Deserialize;
use serde_json::Value;

use self::schema::{
    CATEGORIES, DOCUMENT, ENGINES, EVENT_LOOP, Flags, JAVASCRIPT, KINDS, MISSED_SAMPLES,
    NANOSECONDS, NEWEST_VERSION, PAGE, REVISION, RUNNING, RUNNING_BUILT_IN, SAMPLES, TRACING_MS,
    WORKER,
};
pub use self::writer::prepare;
use crate::bounds::MAX_READ_BYTES;
use crate::error::Error;
use crate::interval;
use crate::json::{self, check_length};
use crate::label;
use crate::recorded_by::{NoRecorder, Program, RecordedBy};
use crate::recording::{
    Activity, EventLoop, EventLoopKind, Frame, FrameId, Function, FunctionId, FunctionKind,
    Invalid, Missed, MissedReason, Place, Process, Recording, ResourceId, Sample, StackId,
};
use crate::stackless;

#[derive(Deserialize)]
struct File {
    meta: Meta,
    threads: Vec<Thread>,
}

/// The part that is the same in all versions.
#[derive(Deserialize)]
struct Head {
    meta: Meta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    preprocessed_profile_version: u32,
    #[serde(default)]
    interval: f64,
    #[serde(default)]
    start_time: f64,
    #[serde(default)]
    categories: Vec<Category>,
    product: Option<String>,
    misc: Option<String>,
    imported_from: Option<String>,
    /// Sections of other programs may have values of any type.
    #[serde(default)]
    extra: Value,
}

#[derive(Deserialize)]
struct Category {
    name: String,
    #[serde(default)]
    subcategories: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    #[serde(default)]
    name: String,
    process_name: Option<String>,
    process_shutdown_time: Option<f64>,
    #[serde(default)]
    pid: Value,
    samples: Samples,
    stack_table: StackTable,
    frame_table: FrameTable,
    func_table: FuncTable,
    string_array: Vec<String>,
    #[serde(default)]
    markers: Markers,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Samples {
    stack: Vec<Option<u32>>,
    time: Option<Vec<f64>>,
    time_deltas: Option<Vec<f64>>,
    weight: Option<Vec<f64>>,
    weight_type: Option<String>,
}

#[derive(Deserialize)]
struct StackTable {
    prefix: Vec<Option<u32>>,
    frame: Vec<u32>,
}

#[derive(Deserialize)]
struct FrameTable {
    func: Vec<u32>,
    #[serde(default)]
    category: Vec<Option<u32>>,
    #[serde(default)]
    subcategory: Vec<Option<u32>>,
    #[serde(default)]
    line: Vec<Option<u32>>,
    #[serde(default)]
    column: Vec<Option<u32>>,
    /// -1 if there is none.
    #[serde(default)]
    address: Vec<Option<f64>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FuncTable {
    name: Vec<u32>,
    #[serde(default, rename = "isJS")]
    is_js: Vec<bool>,
    #[serde(default, rename = "relevantForJS")]
    relevant_for_js: Vec<bool>,
    #[serde(default)]
    file_name: Vec<Option<u32>>,
    #[serde(default)]
    line_number: Vec<Option<u32>>,
    #[serde(default)]
    column_number: Vec<Option<u32>>,
    /// A library's, for code of the machine; -1 if there is none.
    #[serde(default)]
    resource: Vec<i64>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Markers {
    #[serde(default)]
    data: Vec<Option<MarkerData>>,
    #[serde(default)]
    start_time: Vec<Option<f64>>,
    #[serde(default)]
    end_time: Vec<Option<f64>>,
}

/// The members of our own markers. Markers of other programs may have members of any type.
#[derive(Deserialize)]
struct MarkerData {
    #[serde(default, rename = "type")]
    marker_type: Value,
    #[serde(default)]
    kind: Value,
    #[serde(default)]
    url: Value,
    #[serde(default)]
    samples: Value,
    #[serde(default)]
    why: Value,
}

pub fn read(text: &[u8], mut memory: u64) -> Result<Recording, Error> {
    let File { meta, threads } = json::read(text, &mut memory).map_err(|error| {
        // More likely, the file has a newer version.
        let mut memory = MAX_READ_BYTES;
        let head = json::read(text, &mut memory);
        let checked = head.and_then(|Head { meta }| check_version(&meta));
        checked.err().unwrap_or(error)
    })?;
    check_version(&meta)?;

    let mut processes: Vec<Process> = Vec::new();
    let mut by_pid: HashMap<String, usize> = HashMap::new();
    for (index, thread) in threads.iter().enumerate() {
        let place = format!("threads[{index}]");
        let event_loop = read_thread(thread, &meta, &mut memory, &place)?;
        let pid = match &thread.pid {
            Value::String(pid) => pid.clone(),
            other => other.to_string(),
        };
        let process = *by_pid.entry(pid.clone()).or_insert_with(|| {
            processes.push(Process {
                name: thread.process_name.clone().unwrap_or_default(),
                pid: pid.parse().ok(),
                ended: thread.process_shutdown_time,
                event_loops: Vec::new(),
            });
            processes.len() - 1
        });
        processes[process].event_loops.push(event_loop);
    }
    let mut recording = Recording {
        time_origin: (meta.start_time > 0.).then_some(meta.start_time),
        interval: meta.interval,
        recorded_by: read_recorded_by(&meta)?,
        processes,
    };
    recording.interval = match meta.interval {
        0. => {
            let series = recording
                .event_loops()
                .map(|event_loop| event_loop.samples().iter().map(|sample| sample.time));
            interval::estimate(series)
        },
        interval => interval::checked(interval, "meta.interval")?,
    };
    Ok(recording)
}

fn check_version(meta: &Meta) -> Result<(), Error> {
    let version = meta.preprocessed_profile_version;
    if version <= NEWEST_VERSION {
        return Ok(());
    }
    let problem =
        format!("{version} is newer than {NEWEST_VERSION}, the newest version that is read");
    Err(Error::new("meta.preprocessedProfileVersion", problem))
}

/// `None` if the file does not say.
fn read_recorded_by(meta: &Meta) -> Result<Option<RecordedBy>, Error> {
    let imported_from = meta.imported_from.as_deref().unwrap_or_default();
    let program = Program::new(imported_from, None).or_else(|| {
        let misc = meta.misc.as_deref();
        let version = misc.map(|misc| misc.strip_prefix(REVISION).unwrap_or(misc));
        Program::new(meta.product.as_deref().unwrap_or_default(), version)
    });
    let engines = read_engines(&meta.extra)?;
    let recorded_by = program.map(|program| RecordedBy::new(program, engines));
    let recorded_by = recorded_by.transpose();
    recorded_by.map_err(|problem| Error::new("meta.extra", problem))
}

fn read_engines(extra: &Value) -> Result<Vec<Program>, Error> {
    let sections = extra.as_array().into_iter().flatten().enumerate();
    let mut ours = sections.filter(|(_, section)| section["label"] == ENGINES);
    let Some((number, section)) = ours.next() else {
        return Ok(Vec::new());
    };
    let place = format!("meta.extra[{number}].entries");
    let entries = section["entries"].as_array();
    let entries = entries.ok_or_else(|| Error::new(&place, "not a list of engines"))?;
    let entries = entries.iter().enumerate();
    let engines = entries.map(|(index, entry)| {
        let member = |name: &str| {
            let text = entry[name].as_str();
            text.ok_or_else(|| Error::new(format!("{place}[{index}].{name}"), "not a text"))
        };
        let engine = Program::new(member("label")?, Some(member("value")?));
        engine.ok_or_else(|| Error::new(format!("{place}[{index}].label"), NoRecorder::WithoutName))
    });
    engines.collect()
}

fn read_thread(
    thread: &Thread,
    meta: &Meta,
    memory: &mut u64,
    place: &str,
) -> Result<EventLoop, Error> {
    let kind = read_kind(thread, place)?;
    let mut event_loop = EventLoop::within(*memory, thread.name.clone(), kind)
        .map_err(|invalid| Error::new(place, invalid))?;
    let stacks = read_stacks(thread, meta, &mut event_loop, place)?;
    let samples = &thread.samples;
    let times = times(samples, place)?;
    let count = samples.stack.len();
    let column = |name: &str| format!("{place}.samples.{name}");
    check_length(times.len(), count, || column("time"))?;
    if let Some(weights) = &samples.weight {
        check_length(weights.len(), count, || column("weight"))?;
    }
    let is_timed = match samples.weight_type.as_deref() {
        None | Some(SAMPLES) => false,
        Some(TRACING_MS) => true,
        Some(other) => {
            let problem = format!("{other:?} is neither {SAMPLES:?} nor {TRACING_MS:?}");
            return Err(Error::new(column("weightType"), problem));
        },
    };
    for (index, stack) in samples.stack.iter().enumerate() {
        let weight = samples.weight.as_ref().map(|weights| weights[index]);
        let place_of_weight = || format!("{}[{index}]", column("weight"));
        // A profile of differences has such weights.
        let problem = match weight {
            Some(weight) if weight < 0. => Some("is less than 0: differences are no samples"),
            Some(weight) if !is_timed && weight.fract() != 0. => Some("is not a number of samples"),
            _ => None,
        };
        if let Some(problem) = problem {
            let problem = format!("{} {problem}", weight.unwrap_or_default());
            return Err(Error::new(place_of_weight(), problem));
        }
        // It stands for no sample.
        if weight == Some(0.) && !is_timed {
            continue;
        }
        let (stack, activity) = match stack {
            None => (None, None),
            Some(id) => *stacks.get(*id as usize).ok_or_else(|| {
                let place = format!("{}[{index}]", column("stack"));
                Error::out_of_range(place, (*id).into(), "stackTable", stacks.len())
            })?,
        };
        let mut sample = Sample {
            time: times[index],
            weight: 1,
            stack,
            activity,
        };
        let added = match weight {
            Some(worth) if is_timed => event_loop.add_sample_worth(sample, worth),
            weight => {
                // Saturates; a weight that is too large is refused.
                sample.weight = weight.map_or(1, |weight| weight as u64);
                event_loop.add_sample(sample)
            },
        };
        added.map_err(|invalid| {
            let place = match invalid {
                Invalid::Worth(_) | Invalid::TooLong => place_of_weight(),
                _ => format!("{}[{index}]", column("time")),
            };
            Error::new(place, invalid)
        })?;
    }
    if samples.weight.is_none() {
        let interval = interval_of(&event_loop, meta)?;
        let valued = event_loop.value_until_next(None, interval);
        valued.map_err(|invalid| Error::new(column("time"), invalid))?;
    }
    read_missed(thread, &mut event_loop, place)?;
    *memory -= event_loop.bytes();
    Ok(event_loop)
}

/// That of the file, or of its samples.
fn interval_of(event_loop: &EventLoop, meta: &Meta) -> Result<f64, Error> {
    if meta.interval != 0. {
        return interval::checked(meta.interval, "meta.interval");
    }
    let times = event_loop.samples().iter().map(|sample| sample.time);
    Ok(interval::estimate([times]))
}

/// In milliseconds, whole nanoseconds.
fn times<'a>(samples: &'a Samples, place: &str) -> Result<Cow<'a, [f64]>, Error> {
    let whole = |time: f64| (time * NANOSECONDS).round() / NANOSECONDS;
    match (&samples.time, &samples.time_deltas) {
        (Some(times), _) => Ok(times.into()),
        (None, Some(deltas)) => {
            let mut time = 0.;
            let times = deltas.iter().map(|delta| {
                time += delta;
                whole(time)
            });
            Ok(times.collect())
        },
        (None, None) => Err(Error::new(
            format!("{place}.samples"),
            "neither time nor timeDeltas",
        )),
    }
}

/// A sample's stack and activity.
type Leaf = (Option<StackId>, Option<Activity>);

/// What each entry of the stack table means for a sample.
fn read_stacks(
    thread: &Thread,
    meta: &Meta,
    event_loop: &mut EventLoop,
    place: &str,
) -> Result<Vec<Leaf>, Error> {
    let Thread {
        stack_table,
        frame_table,
        func_table,
        ..
    } = thread;
    let count = stack_table.frame.len();
    check_length(stack_table.prefix.len(), count, || {
        format!("{place}.stackTable.prefix")
    })?;
    let mut functions: Vec<Option<FunctionId>> = vec![None; func_table.name.len()];
    let mut frames: Vec<Option<FrameId>> = vec![None; frame_table.func.len()];
    let mut texts = Texts::default();
    let mut stacks: Vec<Leaf> = Vec::with_capacity(count);
    for (index, (prefix, frame)) in stack_table
        .prefix
        .iter()
        .zip(&stack_table.frame)
        .enumerate()
    {
        let parent = match prefix {
            None => None,
            Some(prefix) => {
                let parent = stacks.get(*prefix as usize).ok_or_else(|| {
                    Error::no_stack_before(format!("{place}.stackTable.prefix[{index}]"), prefix)
                })?;
                parent.0
            },
        };
        let frame = *frame as usize;
        let func = *frame_table.func.get(frame).ok_or_else(|| {
            let place = format!("{place}.stackTable.frame[{index}]");
            Error::out_of_range(place, frame as u64, "frameTable", frame_table.func.len())
        })? as usize;
        if func >= functions.len() {
            let place = format!("{place}.frameTable.func[{frame}]");
            return Err(Error::out_of_range(
                place,
                func as u64,
                "funcTable",
                functions.len(),
            ));
        }
        let name = string(thread, func_table.name[func], || {
            format!("{place}.funcTable.name[{func}]")
        })?;
        if prefix.is_none()
            && func_table.kind(func) == FunctionKind::Native
            && let Some(activity) = stackless::activity(name)
        {
            stacks.push((None, activity));
            continue;
        }
        let id = match frames[frame] {
            Some(id) => id,
            None => {
                let function = match functions[func] {
                    Some(function) => function,
                    None => {
                        let function = read_func(thread, func, &mut texts, event_loop, place)?;
                        *functions[func].insert(function)
                    },
                };
                let added = event_loop.add_frame(Frame {
                    function,
                    place: read_place(thread, frame, event_loop.function(function).kind),
                });
                *frames[frame].insert(added.map_err(|invalid| {
                    Error::new(format!("{place}.frameTable.func[{frame}]"), invalid)
                })?)
            },
        };
        let stack = event_loop.add_stack(parent, id);
        let stack = stack
            .map_err(|invalid| Error::new(format!("{place}.stackTable.frame[{index}]"), invalid))?;
        stacks.push((Some(stack), activity_of(frame_table, frame, meta)));
    }
    Ok(stacks)
}

/// Where in its function a frame is.
fn read_place(thread: &Thread, frame: usize, kind: FunctionKind) -> Option<Place> {
    let Thread {
        frame_table,
        func_table,
        ..
    } = thread;
    let number = |column: &[Option<u32>]| {
        let number = column.get(frame).copied().flatten();
        number.and_then(NonZeroU32::new)
    };
    let source = Place::of_source(number(&frame_table.line), number(&frame_table.column));
    if source.is_some() {
        return source;
    }
    let func = frame_table.func[frame] as usize;
    let is_in_library = func_table.resource.get(func).is_some_and(|id| *id >= 0);
    if is_in_library || kind == FunctionKind::Native {
        return None;
    }
    let address = frame_table.address.get(frame).copied().flatten()?;
    let is_offset = (0. ..=f64::from(u32::MAX)).contains(&address) && address.fract() == 0.;
    is_offset.then_some(Place::WasmOffset(address as u32))
}

impl FuncTable {
    fn kind(&self, func: usize) -> FunctionKind {
        let has = |column: &[bool]| column.get(func).copied().unwrap_or_default();
        let flags = Flags::new(has(&self.is_js), has(&self.relevant_for_js));
        let entry = KINDS.iter().find(|(_, other)| *other == flags);
        entry.expect("every kind has its flags").0
    }
}

/// What tells a function from others: the indices of its name and its URL among the strings, and the rest.
type FuncKey = (
    u32,
    u32,
    FunctionKind,
    Option<NonZeroU32>,
    Option<NonZeroU32>,
);

/// What has been made of strings for functions, by the strings' indices. Many functions may share a long string.
#[derive(Default)]
struct Texts {
    labels: HashMap<(u32, FunctionKind), FunctionId>,
    files: HashMap<u32, Option<ResourceId>>,
    functions: HashMap<FuncKey, FunctionId>,
}

fn read_func(
    thread: &Thread,
    func: usize,
    texts: &mut Texts,
    event_loop: &mut EventLoop,
    place: &str,
) -> Result<FunctionId, Error> {
    let table = &thread.func_table;
    let number = |column: &[Option<u32>]| column.get(func).copied().flatten();
    let kind = table.kind(func);
    let name_index = table.name[func];
    let name = string(thread, name_index, || {
        format!("{place}.funcTable.name[{func}]")
    })?;
    let invalid = |invalid: Invalid| Error::new(format!("{place}.funcTable.name[{func}]"), invalid);
    let Some(file_name) = number(&table.file_name) else {
        if let Some(function) = texts.labels.get(&(name_index, kind)) {
            return Ok(*function);
        }
        let function = label::read(name)
            .add_to(event_loop, kind)
            .map_err(invalid)?;
        texts.labels.insert((name_index, kind), function);
        return Ok(function);
    };
    let resource = match texts.files.get(&file_name) {
        Some(resource) => *resource,
        None => {
            let url = string(thread, file_name, || {
                format!("{place}.funcTable.fileName[{func}]")
            })?;
            let resource = event_loop.add_resource(url).map_err(invalid)?;
            texts.files.insert(file_name, resource);
            resource
        },
    };
    let line = number(&table.line_number).and_then(NonZeroU32::new);
    let column = number(&table.column_number).and_then(NonZeroU32::new);
    let key = (name_index, file_name, kind, line, column);
    if let Some(function) = texts.functions.get(&key) {
        return Ok(*function);
    }
    let function = event_loop.add_function(Function {
        name: label::read_exact(name).into_owned(),
        kind,
        resource,
        line,
        column,
        realm: None,
        source: None,
        generated: None,
    });
    let function = function.map_err(invalid)?;
    texts.functions.insert(key, function);
    Ok(function)
}

fn activity_of(frames: &FrameTable, frame: usize, meta: &Meta) -> Option<Activity> {
    let index = |column: &[Option<u32>]| column.get(frame).copied().flatten();
    let category = meta.categories.get(index(&frames.category)? as usize)?;
    if category.name == JAVASCRIPT {
        let subcategory = category
            .subcategories
            .get(index(&frames.subcategory)? as usize)?;
        let is_running = subcategory == RUNNING || subcategory == RUNNING_BUILT_IN;
        return is_running.then_some(Activity::Script);
    }
    let entry = CATEGORIES
        .iter()
        .find(|(_, name, _)| *name == category.name);
    entry.map(|(activity, ..)| *activity)
}

fn read_kind(thread: &Thread, place: &str) -> Result<EventLoopKind, Error> {
    let mut kind = EventLoopKind::Unknown;
    for (index, marker) in thread.markers.data.iter().enumerate() {
        let Some(marker) = marker else { continue };
        let place = |member: &str| format!("{place}.markers.data[{index}].{member}");
        match marker.marker_type.as_str() {
            Some(EVENT_LOOP) => {
                kind = match string_of(thread, &marker.kind, || place("kind"))? {
                    PAGE => EventLoopKind::Page {
                        documents: Vec::new(),
                    },
                    WORKER => EventLoopKind::Worker,
                    other => {
                        let problem = format!("{other:?} is neither {PAGE:?} nor {WORKER:?}");
                        return Err(Error::new(place("kind"), problem));
                    },
                };
            },
            Some(DOCUMENT) => {
                if let EventLoopKind::Page { documents } = &mut kind {
                    documents.extend(marker.url.as_str().map(str::to_owned));
                }
            },
            _ => {},
        }
    }
    Ok(kind)
}

fn read_missed(thread: &Thread, event_loop: &mut EventLoop, place: &str) -> Result<(), Error> {
    let markers = &thread.markers;
    for (index, marker) in markers.data.iter().enumerate() {
        let Some(marker) = marker else { continue };
        if marker.marker_type.as_str() != Some(MISSED_SAMPLES) {
            continue;
        }
        let column = |name: &str| format!("{place}.markers.{name}[{index}]");
        let member = |name: &str| format!("{}.{name}", column("data"));
        let time = |times: &[Option<f64>], name: &str| {
            let time = times.get(index).copied().flatten();
            time.ok_or_else(|| Error::new(column(name), "missed samples without this time"))
        };
        let start = time(&markers.start_time, "startTime")?;
        let end = time(&markers.end_time, "endTime")?;
        let samples = marker.samples.as_u64();
        let samples = samples
            .and_then(|samples| u32::try_from(samples).ok())
            .ok_or_else(|| {
                let problem = format!("{} is not a number of samples", marker.samples);
                Error::new(member("samples"), problem)
            })?;
        let text = string_of(thread, &marker.why, || member("why"))?;
        let why = MissedReason::ALL
            .into_iter()
            .find(|why| why.as_str() == text)
            .ok_or_else(|| Error::new(member("why"), format!("{text:?} is no reason")))?;
        let added = event_loop.add_missed(Missed {
            start,
            end,
            samples,
            why,
        });
        added.map_err(|invalid| {
            let place = match invalid {
                Invalid::NoneMissed => member("samples"),
                Invalid::EndsBefore { .. } => column("endTime"),
                Invalid::Time(time) if time != start => column("endTime"),
                _ => column("startTime"),
            };
            Error::new(place, invalid)
        })?;
    }
    Ok(())
}

/// The string whose index is a member of a marker.
fn string_of<'a>(
    thread: &'a Thread,
    index: &Value,
    place: impl Fn() -> String,
) -> Result<&'a str, Error> {
    let index = index.as_u64().and_then(|index| u32::try_from(index).ok());
    let index = index.ok_or_else(|| Error::new(place(), "not an index of stringArray"))?;
    string(thread, index, place)
}

fn string(thread: &Thread, index: u32, place: impl FnOnce() -> String) -> Result<&str, Error> {
    let strings = &thread.string_array;
    let string = strings.get(index as usize).map(String::as_str);
    string.ok_or_else(|| Error::out_of_range(place(), index.into(), "stringArray", strings.len()))
}
