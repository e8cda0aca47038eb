/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The Firefox Profiler's processed format, version 55,
//! <https://github.com/firefox-devtools/profiler/blob/main/docs-developer/processed-profile-format.md>.
//!
//! It holds everything but realms, and where a process has no id or a recording no time origin, it gets one.
//! Times and the interval are rounded to whole nanoseconds. A function is in the form that `label.rs` has, for
//! the writer's frames are labels; whether it is JavaScript says what kind of frame it is. The leaf's category is
//! the activity, and a stretch of samples with one activity is a marker. A sample that has an activity and no stack
//! has a frame of that name.
//!
//! Read are files up to that version, those of Firefox as well; of them native functions have their name only.

use std::borrow::Cow;
use std::collections::HashMap;
use std::num::NonZeroU32;

use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CategoryPairHandle, CpuDelta, Frame as WrittenFrame, FrameFlags,
    FrameHandle, FrameInfo, MarkerFieldFlags, MarkerFieldFormat, MarkerTiming, Profile,
    ReferenceTimestamp, SamplingInterval, StackHandle, StaticSchemaMarker, StaticSchemaMarkerField,
    StringHandle, ThreadHandle, Timestamp,
};
use serde::Deserialize;
use serde_json::Value;

use crate::bounds::{MAX_FIREFOX_WEIGHT, MAX_READ_BYTES};
use crate::error::{Error, WriteError};
use crate::format::Text;
use crate::interval;
use crate::json::{self, check_length};
use crate::label::{self, Labels};
use crate::recording::{
    Activity, EventLoop, EventLoopKind, Frame, FrameId, FrameKind, Invalid, Process, Recording,
    ResourceId, Sample, Stack, StackId,
};
use crate::sink::Sink;
use crate::stackless;

const NEWEST_VERSION: u32 = 55;

const NANOSECONDS: f64 = 1e6;

/// The category of functions whose activity was not recorded, of callers, and of a leaf that was running.
const JAVASCRIPT: &str = "JavaScript";
/// Its subcategories: a leaf that was recorded as running; what the engine or the DOM has; and both.
const RUNNING: &str = "Running";
const BUILT_IN: &str = "Built-in";
const RUNNING_BUILT_IN: &str = "Running built-in";
/// What a stretch of it is called.
const SCRIPT: &str = "Script";
const OTHER_WORK: &str = "Other work";

/// Categories by Firefox's names, where it has one, and its colours.
const CATEGORIES: [(Activity, &str, CategoryColor); 6] = [
    (Activity::Idle, "Idle", CategoryColor::Transparent),
    (Activity::Gc, "GC / CC", CategoryColor::Orange),
    (Activity::Style, "Style", CategoryColor::LightBlue),
    (Activity::Layout, "Layout", CategoryColor::Purple),
    (Activity::Paint, "Graphics", CategoryColor::Green),
    (Activity::Other, OTHER_WORK, CategoryColor::DarkGray),
];

/// How the writer tells frames apart.
const KINDS: [(FrameKind, FrameFlags); 4] = [
    (FrameKind::Script, FrameFlags::IS_JS),
    (FrameKind::BuiltIn, FrameFlags::IS_RELEVANT_FOR_JS),
    (
        FrameKind::Unknown,
        FrameFlags::IS_JS.union(FrameFlags::IS_RELEVANT_FOR_JS),
    ),
    (FrameKind::Native, FrameFlags::empty()),
];

const EVENT_LOOP: &str = "EventLoop";
const DOCUMENT: &str = "Document";
const PAGE: &str = "page";
const WORKER: &str = "worker";

#[derive(Deserialize)]
struct File {
    meta: Meta,
    threads: Vec<Thread>,
}

/// What files of any version have.
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
}

#[derive(Default, Deserialize)]
struct Markers {
    #[serde(default)]
    data: Vec<Option<MarkerData>>,
}

/// The members that markers of ours have. Those of others are of any type.
#[derive(Deserialize)]
struct MarkerData {
    #[serde(default, rename = "type")]
    marker_type: Value,
    #[serde(default)]
    kind: Value,
    #[serde(default)]
    url: Value,
}

pub fn read(text: &[u8], mut memory: u64) -> Result<Recording, Error> {
    let File { meta, threads } = json::read(text, &mut memory).map_err(|error| {
        // That it is of a newer version is the likelier cause.
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
    if let Some(other) = samples
        .weight_type
        .as_ref()
        .filter(|other| *other != "samples")
    {
        let problem = format!("{other:?} is not read, only \"samples\"");
        return Err(Error::new(column("weightType"), problem));
    }
    for (index, stack) in samples.stack.iter().enumerate() {
        let weight = samples.weight.as_ref().map_or(1., |weights| weights[index]);
        if weight < 1. || weight.fract() != 0. {
            let problem = format!("{weight} is not a number of samples");
            return Err(Error::new(
                format!("{}[{index}]", column("weight")),
                problem,
            ));
        }
        let (stack, activity) = match stack {
            None => (None, None),
            Some(id) => *stacks.get(*id as usize).ok_or_else(|| {
                let place = format!("{}[{index}]", column("stack"));
                Error::out_of_range(place, (*id).into(), "stackTable", stacks.len())
            })?,
        };
        let added = event_loop.add_sample(Sample {
            time: times[index],
            // Saturates; what is too heavy is refused.
            weight: weight as u64,
            stack,
            activity,
        });
        added.map_err(|invalid| Error::new(format!("{}[{index}]", column("time")), invalid))?;
    }
    *memory -= event_loop.bytes();
    Ok(event_loop)
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

/// What each entry of the stack table is to a sample.
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
    let mut frames: Vec<Option<FrameId>> = vec![None; func_table.name.len()];
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
        if func >= frames.len() {
            let place = format!("{place}.frameTable.func[{frame}]");
            return Err(Error::out_of_range(
                place,
                func as u64,
                "funcTable",
                frames.len(),
            ));
        }
        let name = string(thread, func_table.name[func], || {
            format!("{place}.funcTable.name[{func}]")
        })?;
        let flags = func_table.flags(func);
        if prefix.is_none()
            && flags.is_empty()
            && let Some(activity) = stackless::activity(name)
        {
            stacks.push((None, activity));
            continue;
        }
        let id = match frames[func] {
            Some(id) => id,
            None => *frames[func].insert(read_func(thread, func, &mut texts, event_loop, place)?),
        };
        let stack = event_loop.add_stack(parent, id);
        let stack = stack
            .map_err(|invalid| Error::new(format!("{place}.stackTable.frame[{index}]"), invalid))?;
        stacks.push((Some(stack), activity_of(frame_table, frame, meta)));
    }
    Ok(stacks)
}

impl FuncTable {
    fn flags(&self, func: usize) -> FrameFlags {
        let has = |column: &[bool]| column.get(func).copied().unwrap_or_default();
        let mut flags = FrameFlags::empty();
        flags.set(FrameFlags::IS_JS, has(&self.is_js));
        flags.set(FrameFlags::IS_RELEVANT_FOR_JS, has(&self.relevant_for_js));
        flags
    }
}

/// The strings of a name and of a URL, by their indices, and what else a frame is told from others by.
type FrameKey = (u32, u32, FrameKind, Option<NonZeroU32>, Option<NonZeroU32>);

/// What functions have been made of strings, by their indices: of a long string many functions may be.
#[derive(Default)]
struct Texts {
    labels: HashMap<(u32, FrameKind), FrameId>,
    files: HashMap<u32, Option<ResourceId>>,
    frames: HashMap<FrameKey, FrameId>,
}

fn read_func(
    thread: &Thread,
    func: usize,
    texts: &mut Texts,
    event_loop: &mut EventLoop,
    place: &str,
) -> Result<FrameId, Error> {
    let table = &thread.func_table;
    let number = |column: &[Option<u32>]| column.get(func).copied().flatten();
    let flags = table.flags(func);
    let kind = KINDS.iter().find(|(_, other)| *other == flags);
    let kind = kind.map_or(FrameKind::Unknown, |(kind, _)| *kind);
    let name_index = table.name[func];
    let name = string(thread, name_index, || {
        format!("{place}.funcTable.name[{func}]")
    })?;
    let invalid = |invalid: Invalid| Error::new(format!("{place}.funcTable.name[{func}]"), invalid);
    let Some(file_name) = number(&table.file_name) else {
        if let Some(frame) = texts.labels.get(&(name_index, kind)) {
            return Ok(*frame);
        }
        let frame = label::read(name)
            .add_to(event_loop, kind)
            .map_err(invalid)?;
        texts.labels.insert((name_index, kind), frame);
        return Ok(frame);
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
    if let Some(frame) = texts.frames.get(&key) {
        return Ok(*frame);
    }
    let frame = event_loop.add_frame(Frame {
        name: label::read_name(name),
        kind,
        resource,
        line,
        column,
        realm: None,
    });
    let frame = frame.map_err(invalid)?;
    texts.frames.insert(key, frame);
    Ok(frame)
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
                let string_index = marker
                    .kind
                    .as_u64()
                    .and_then(|index| u32::try_from(index).ok());
                let string_index = string_index
                    .ok_or_else(|| Error::new(place("kind"), "not an index of stringArray"))?;
                kind = match string(thread, string_index, || place("kind"))? {
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

fn string(thread: &Thread, index: u32, place: impl FnOnce() -> String) -> Result<&str, Error> {
    let strings = &thread.string_array;
    let string = strings.get(index as usize).map(String::as_str);
    string.ok_or_else(|| Error::out_of_range(place(), index.into(), "stringArray", strings.len()))
}

/// A page or a worker.
struct EventLoopMarker {
    kind: StringHandle,
}

impl StaticSchemaMarker for EventLoopMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = EVENT_LOOP;
    const DESCRIPTION: Option<&'static str> = Some("What the event loop is there for");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.data.kind}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[StaticSchemaMarkerField {
        key: "kind",
        label: "Kind",
        format: MarkerFieldFormat::String,
        flags: MarkerFieldFlags::SEARCHABLE,
    }];

    fn name(&self, profile: &mut Profile) -> StringHandle {
        profile.intern_string("Event loop")
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        CategoryHandle::OTHER
    }

    fn string_field_value(&self, _: u32) -> StringHandle {
        self.kind
    }

    fn number_field_value(&self, _: u32) -> f64 {
        unreachable!("no field is a number")
    }
}

/// A document of a page's event loop.
struct DocumentMarker {
    url: StringHandle,
}

impl StaticSchemaMarker for DocumentMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = DOCUMENT;
    const DESCRIPTION: Option<&'static str> = Some("A document of the event loop");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.data.url}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[StaticSchemaMarkerField {
        key: "url",
        label: "URL",
        format: MarkerFieldFormat::Url,
        flags: MarkerFieldFlags::SEARCHABLE,
    }];

    fn name(&self, profile: &mut Profile) -> StringHandle {
        profile.intern_string("Document")
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        CategoryHandle::OTHER
    }

    fn string_field_value(&self, _: u32) -> StringHandle {
        self.url
    }

    fn number_field_value(&self, _: u32) -> f64 {
        unreachable!("no field is a number")
    }
}

/// A stretch of samples with one activity.
struct ActivityMarker {
    name: StringHandle,
    category: CategoryHandle,
}

impl StaticSchemaMarker for ActivityMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "Activity";
    const DESCRIPTION: Option<&'static str> =
        Some("A stretch of samples that found the event loop at the same work");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[];

    fn name(&self, _: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, _: u32) -> StringHandle {
        unreachable!("there are no fields")
    }

    fn number_field_value(&self, _: u32) -> f64 {
        unreachable!("there are no fields")
    }
}

/// Handles of the categories.
struct Categories {
    javascript: CategoryHandle,
    running: CategoryPairHandle,
    built_in: CategoryPairHandle,
    running_built_in: CategoryPairHandle,
    others: Vec<(Activity, &'static str, CategoryHandle)>,
}

impl Categories {
    fn add(profile: &mut Profile) -> Self {
        let javascript = profile.add_category(JAVASCRIPT, CategoryColor::Yellow);
        Self {
            javascript,
            running: profile.add_subcategory(javascript, RUNNING),
            built_in: profile.add_subcategory(javascript, BUILT_IN),
            running_built_in: profile.add_subcategory(javascript, RUNNING_BUILT_IN),
            others: CATEGORIES
                .iter()
                .map(|(activity, name, color)| {
                    (*activity, *name, profile.add_category(name, *color))
                })
                .collect(),
        }
    }

    /// That of a function, which as the leaf has the sample's activity.
    fn of(&self, kind: FrameKind, activity: Option<Activity>) -> CategoryPairHandle {
        match (activity, kind) {
            (None, FrameKind::BuiltIn) => self.built_in,
            (None, _) => self.javascript.into(),
            (Some(Activity::Script), FrameKind::BuiltIn) => self.running_built_in,
            (Some(Activity::Script), _) => self.running,
            (Some(activity), _) => {
                let entry = self.others.iter().find(|(other, ..)| *other == activity);
                entry
                    .map_or(self.javascript, |(.., category)| *category)
                    .into()
            },
        }
    }

    /// The name and category of a stretch, of one that is to be seen.
    fn of_stretch(&self, activity: Option<Activity>) -> Option<(&'static str, CategoryHandle)> {
        match activity? {
            Activity::Idle => None,
            Activity::Script => Some((SCRIPT, self.javascript)),
            activity => {
                let entry = self.others.iter().find(|(other, ..)| *other == activity)?;
                Some((entry.1, entry.2))
            },
        }
    }
}

pub fn prepare(recording: &Recording) -> Result<impl Text, WriteError> {
    let interval = SamplingInterval::from_nanos(nanoseconds(recording.interval));
    let time_origin =
        ReferenceTimestamp::from_millis_since_unix_epoch(recording.time_origin.unwrap_or_default());
    let mut profile = Profile::new("Strobe", time_origin, interval);
    profile.set_symbolicated(true);
    let categories = Categories::add(&mut profile);
    let start = Timestamp::from_nanos_since_reference(0);
    let mut tid = 0;
    for (index, process) in recording.processes.iter().enumerate() {
        let pid = process.pid.unwrap_or(index as u32 + 1);
        let handle = profile.add_process(&process.name, pid, start);
        if let Some(ended) = process.ended {
            profile.set_process_end_time(handle, timestamp(ended));
        }
        for event_loop in &process.event_loops {
            tid += 1;
            // A main thread would be shown under its process' name.
            let thread = profile.add_thread(handle, tid, start, false);
            profile.set_thread_name(thread, &event_loop.name);
            profile.set_thread_show_markers_in_timeline(thread, true);
            if let Some(ended) = process.ended {
                profile.set_thread_end_time(thread, timestamp(ended));
            }
            profile.add_initial_visible_thread(thread);
            if tid == 1 {
                profile.add_initial_selected_thread(thread);
            }
            write_kind(&mut profile, thread, &event_loop.kind);
            write_samples(
                &mut profile,
                thread,
                event_loop,
                recording.interval,
                &categories,
            );
            write_activities(
                &mut profile,
                thread,
                event_loop,
                recording.interval,
                &categories,
            );
        }
    }
    Ok(move |sink: &mut Sink<'_>| Ok(serde_json::to_writer(sink, &profile)?))
}

fn nanoseconds(milliseconds: f64) -> u64 {
    (milliseconds * NANOSECONDS).round() as u64
}

fn timestamp(milliseconds: f64) -> Timestamp {
    Timestamp::from_nanos_since_reference(nanoseconds(milliseconds))
}

fn write_kind(profile: &mut Profile, thread: ThreadHandle, kind: &EventLoopKind) {
    let (kind, documents) = match kind {
        EventLoopKind::Unknown => return,
        EventLoopKind::Page { documents } => (PAGE, &**documents),
        EventLoopKind::Worker => (WORKER, &[][..]),
    };
    let timing = MarkerTiming::Instant(Timestamp::from_nanos_since_reference(0));
    let kind = profile.intern_string(kind);
    profile.add_marker(thread, timing.clone(), EventLoopMarker { kind });
    for url in documents {
        let url = profile.intern_string(url);
        profile.add_marker(thread, timing.clone(), DocumentMarker { url });
    }
}

fn write_samples(
    profile: &mut Profile,
    thread: ThreadHandle,
    event_loop: &EventLoop,
    interval: f64,
    categories: &Categories,
) {
    let labels = Labels::of(event_loop);
    let labels: Vec<_> = event_loop
        .frame_ids()
        .map(|id| {
            let kind = event_loop.frame(id).kind;
            let flags = KINDS.iter().find(|(other, _)| *other == kind);
            let flags = flags.map_or(FrameFlags::empty(), |(_, flags)| *flags);
            (profile.intern_string(&labels.text(id)), flags, kind)
        })
        .collect();
    let intern_frame = |profile: &mut Profile, frame: FrameId, activity| -> FrameHandle {
        let (label, flags, kind) = labels[frame.index()];
        profile.intern_frame(
            thread,
            FrameInfo {
                frame: WrittenFrame::Label(label),
                category_pair: categories.of(kind, activity),
                flags,
            },
        )
    };
    let mut stacks: Vec<StackHandle> = Vec::with_capacity(event_loop.stacks().len());
    for stack in event_loop.stacks() {
        let frame = intern_frame(profile, stack.frame, None);
        let parent = stack.parent.map(|parent| stacks[parent.index()]);
        stacks.push(profile.intern_stack(thread, parent, frame));
    }

    let mut last = 0.;
    for sample in event_loop.samples() {
        let stack = match (sample.stack, sample.activity) {
            (None, None) => None,
            (None, activity) => {
                let label = profile.intern_string(stackless::name(activity));
                let frame = FrameInfo {
                    frame: WrittenFrame::Label(label),
                    category_pair: categories.of(FrameKind::Native, activity),
                    flags: FrameFlags::empty(),
                };
                let frame = profile.intern_frame(thread, frame);
                Some(profile.intern_stack(thread, None, frame))
            },
            (Some(stack), None) => Some(stacks[stack.index()]),
            (Some(stack), activity) => {
                let Stack { parent, frame } = event_loop.stack(stack);
                let frame = intern_frame(profile, frame, activity);
                let parent = parent.map(|parent| stacks[parent.index()]);
                Some(profile.intern_stack(thread, parent, frame))
            },
        };
        // The height of the graph of activity.
        let is_busy = sample.stack.is_some()
            || sample
                .activity
                .is_some_and(|activity| activity != Activity::Idle);
        let busy = match is_busy {
            true => (sample.time - last).min(sample.weight as f64 * interval),
            false => 0.,
        };
        last = sample.time;
        let mut busy = CpuDelta::from_nanos(nanoseconds(busy));
        let mut weight = sample.weight;
        while weight > 0 {
            let part = i32::try_from(weight.min(MAX_FIREFOX_WEIGHT)).unwrap_or(i32::MAX);
            profile.add_sample(thread, timestamp(sample.time), stack, busy, part);
            busy = CpuDelta::ZERO;
            weight -= u64::from(part.unsigned_abs());
        }
    }
}

fn write_activities(
    profile: &mut Profile,
    thread: ThreadHandle,
    event_loop: &EventLoop,
    interval: f64,
    categories: &Categories,
) {
    let samples = event_loop.samples();
    let mut first = 0;
    for stretch in samples.chunk_by(|one, next| one.activity == next.activity) {
        let start = stretch[0];
        let last = stretch[stretch.len() - 1];
        first += stretch.len();
        let Some((name, category)) = categories.of_stretch(start.activity) else {
            continue;
        };
        let end = last.time + last.weight as f64 * interval;
        let end = samples.get(first).map_or(end, |next| end.min(next.time));
        let marker = ActivityMarker {
            name: profile.intern_string(name),
            category,
        };
        let timing = MarkerTiming::Interval(timestamp(start.time), timestamp(end));
        profile.add_marker(thread, timing, marker);
    }
}
