/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Writes the format. The crate fxprof-processed-profile, which samply uses for that, cannot write lines of frames.

use std::borrow::Cow;
use std::collections::HashMap;
use std::num::NonZeroU32;

use indexmap::IndexSet;
use serde::Serialize;

use super::schema::{
    BUILT_IN, CATEGORIES, DOCUMENT, ENGINES, EVENT_LOOP, JAVASCRIPT, KINDS, MISSED_SAMPLES, PAGE,
    REVISION, RUNNING, RUNNING_BUILT_IN, SAMPLES, TRACING_MS, WORKER, WRITTEN_VERSION,
};
use crate::bounds::MAX_FIREFOX_WEIGHT;
use crate::error::WriteError;
use crate::format::Text;
use crate::json::{self, Array, Number};
use crate::label::{self, Labels};
use crate::recorded_by::{Program, RecordedBy};
use crate::recording::{
    Activity, EventLoop, EventLoopKind, Function, FunctionKind, MissedReason, Place, Process,
    Recording, Sample, SourceId, Stack,
};
use crate::sink::Sink;
use crate::stackless;
use crate::worth::{milliseconds, nanoseconds};

/// The category of samples without one, and the subcategory where there is no other.
const OTHER: &str = "Other";

/// The name of a stretch of samples that ran script.
const SCRIPT: &str = "Script";

/// An absent index or address.
const NONE: i64 = -1;

const ACTIVITY: &str = "Activity";
const EVENT_LOOP_MARKER: &str = "Event loop";
const MISSED_MARKER: &str = "Missed samples";

/// A category and a subcategory, by their indices in [`categories`].
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Category(u8, u8);

const JAVASCRIPT_INDEX: u8 = 1;
const FIRST_ACTIVITY: u8 = 2;

impl Category {
    const OTHER: Self = Self(0, 0);
    const JAVASCRIPT: Self = Self(JAVASCRIPT_INDEX, 0);
    const RUNNING: Self = Self(JAVASCRIPT_INDEX, 1);
    const BUILT_IN: Self = Self(JAVASCRIPT_INDEX, 2);
    const RUNNING_BUILT_IN: Self = Self(JAVASCRIPT_INDEX, 3);

    /// The category of a function. If it is the leaf, `activity` is that of the sample.
    fn of(kind: FunctionKind, activity: Option<Activity>) -> Self {
        match (activity, kind) {
            (None, FunctionKind::BuiltIn) => Self::BUILT_IN,
            (None, _) => Self::JAVASCRIPT,
            (Some(Activity::Script), FunctionKind::BuiltIn) => Self::RUNNING_BUILT_IN,
            (Some(Activity::Script), _) => Self::RUNNING,
            (Some(activity), _) => Self::of_activity(activity).1,
        }
    }

    /// With its name.
    fn of_activity(activity: Activity) -> (&'static str, Self) {
        let position = |entry: &(Activity, &str, &str)| entry.0 == activity;
        match CATEGORIES.iter().position(position) {
            None => (SCRIPT, Self::JAVASCRIPT),
            Some(index) => (CATEGORIES[index].1, Self(FIRST_ACTIVITY + index as u8, 0)),
        }
    }
}

#[derive(Serialize)]
struct WrittenCategory {
    name: &'static str,
    color: &'static str,
    subcategories: Vec<&'static str>,
}

fn categories() -> Vec<WrittenCategory> {
    let category = |name, color| WrittenCategory {
        name,
        color,
        subcategories: vec![OTHER],
    };
    let mut javascript = category(JAVASCRIPT, "yellow");
    javascript
        .subcategories
        .extend([RUNNING, BUILT_IN, RUNNING_BUILT_IN]);
    let others = CATEGORIES
        .iter()
        .map(|(_, name, color)| category(*name, *color));
    let first = [category(OTHER, "grey"), javascript];
    first.into_iter().chain(others).collect()
}

/// <https://github.com/firefox-devtools/profiler/blob/main/docs-developer/markers.md>
fn marker_schemas() -> serde_json::Value {
    let display = ["marker-chart", "marker-table"];
    serde_json::json!([
        {
            "name": ACTIVITY,
            "description": "A stretch of samples that found the event loop at the same work",
            "display": display,
            "fields": [],
        },
        {
            "name": DOCUMENT,
            "description": "A document of the event loop",
            "tableLabel": "{marker.data.url}",
            "display": display,
            "fields": [{ "key": "url", "label": "URL", "format": "url" }],
        },
        {
            "name": EVENT_LOOP,
            "description": "What the event loop is there for",
            "tableLabel": "{marker.data.kind}",
            "display": display,
            "fields": [
                { "key": "kind", "label": "Kind", "format": "unique-string" },
            ],
        },
        {
            "name": MISSED_SAMPLES,
            "description": "A stretch in which samples were missed, so that nothing is known of the event loop",
            "tooltipLabel": "{marker.data.samples} samples missed: {marker.data.why}",
            "tableLabel": "{marker.data.samples}: {marker.data.why}",
            "chartLabel": "{marker.data.samples} missed: {marker.data.why}",
            "display": display,
            "fields": [
                { "key": "samples", "label": "Samples missed", "format": "integer" },
                { "key": "why", "label": "Why", "format": "unique-string" },
            ],
        },
    ])
}

/// A script, or a file that it was built from.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
struct WrittenSource<'a> {
    /// Here and below, a string's index.
    name: u32,
    text: Option<WrittenText<'a>>,
}

#[derive(Clone, Copy, Eq, Hash, PartialEq)]
struct WrittenText<'a> {
    text: &'a str,
    line: NonZeroU32,
    column: NonZeroU32,
    map_url: Option<u32>,
}

/// A place in an original file.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
struct WrittenLocation {
    source: u32,
    line: NonZeroU32,
    column: Option<NonZeroU32>,
}

#[derive(Clone, Copy, Eq, Hash, PartialEq)]
struct WrittenFunc {
    name: u32,
    /// Here and below, the index of an entry of a table.
    source: Option<u32>,
    kind: FunctionKind,
    line: Option<NonZeroU32>,
    column: Option<NonZeroU32>,
    original: Option<u32>,
}

#[derive(Clone, Copy, Eq, Hash, PartialEq)]
struct WrittenFrame {
    func: u32,
    place: Option<Place>,
    /// If there is one, it is in the place of `place`.
    original: Option<u32>,
    category: Category,
}

#[derive(Clone, Copy, Eq, Hash, PartialEq)]
struct WrittenStack {
    prefix: Option<u32>,
    frame: u32,
}

/// A marker of a thread.
struct Marker<'a> {
    name: &'static str,
    category: Category,
    /// In milliseconds; without an end it is a moment.
    start: f64,
    end: Option<f64>,
    data: MarkerData<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum MarkerData<'a> {
    EventLoop {
        /// A string's index.
        kind: u32,
    },
    Document {
        url: &'a str,
    },
    Activity {},
    MissedSamples {
        samples: u32,
        /// A string's index.
        why: u32,
    },
}

/// The tables of all event loops.
#[derive(Default)]
struct Tables<'a> {
    strings: IndexSet<Cow<'a, str>>,
    sources: IndexSet<WrittenSource<'a>>,
    locations: IndexSet<WrittenLocation>,
    funcs: IndexSet<WrittenFunc>,
    frames: IndexSet<WrittenFrame>,
    stacks: IndexSet<WrittenStack>,
}

/// The index of an entry. There are no more than the event loops' tables have ids for.
fn index_in<T: Eq + std::hash::Hash>(table: &mut IndexSet<T>, entry: T) -> u32 {
    table.insert_full(entry).0 as u32
}

impl<'a> Tables<'a> {
    fn add_string(&mut self, text: impl Into<Cow<'a, str>>) -> u32 {
        index_in(&mut self.strings, text.into())
    }

    fn string(&self, text: &str) -> u32 {
        let index = self.strings.get_index_of(text);
        index.expect("all that markers have were added") as u32
    }

    fn add_stack(&mut self, prefix: Option<u32>, frame: WrittenFrame) -> u32 {
        let frame = index_in(&mut self.frames, frame);
        index_in(&mut self.stacks, WrittenStack { prefix, frame })
    }
}

/// An event loop, and which entries of the tables it has.
struct Thread<'a> {
    /// Its process' index.
    process: usize,
    event_loop: &'a EventLoop,
    /// Of each sample.
    sample_stacks: Vec<Option<u32>>,
}

/// An event loop's function in the tables.
#[derive(Clone, Copy)]
struct AddedFunc {
    func: u32,
    kind: FunctionKind,
    /// The original file, if the function has its place there.
    original: Option<u32>,
}

impl<'a> Thread<'a> {
    fn of(process: usize, event_loop: &'a EventLoop, tables: &mut Tables<'a>) -> Self {
        let mut thread = Self {
            process,
            event_loop,
            sample_stacks: Vec::with_capacity(event_loop.samples().len()),
        };
        thread.add_samples(tables);
        let (kind, documents) = kind(event_loop);
        let texts = kind.into_iter().flat_map(|kind| [EVENT_LOOP_MARKER, kind]);
        for text in texts.chain(documents.first().map(|_| DOCUMENT)) {
            tables.add_string(text);
        }
        for stretch in stretches(event_loop, 0.) {
            tables.add_string(stretch.name);
        }
        let missed = event_loop.missed();
        if !missed.is_empty() {
            tables.add_string(MISSED_MARKER);
        }
        for why in MissedReason::ALL {
            if missed.iter().any(|missed| missed.why == why) {
                tables.add_string(why.as_str());
            }
        }
        thread
    }

    fn add_funcs(&self, tables: &mut Tables<'a>) -> Vec<AddedFunc> {
        let event_loop = self.event_loop;
        let labels = Labels::of(event_loop);
        let mut sources: HashMap<(&str, Option<SourceId>), u32> = HashMap::new();
        // Many functions may be in one script, whose text may be long.
        let mut add_source = |tables: &mut Tables<'a>, url: &'a str, id: Option<SourceId>| {
            *sources.entry((url, id)).or_insert_with(|| {
                let source = id.map(|id| event_loop.source(id));
                let text = source.and_then(|source| {
                    Some(WrittenText {
                        text: source.text.as_deref()?,
                        line: source.line,
                        column: source.column,
                        map_url: source.map_url.as_deref().map(|url| tables.add_string(url)),
                    })
                });
                let name = tables.add_string(url);
                index_in(&mut tables.sources, WrittenSource { name, text })
            })
        };
        let functions = event_loop.function_ids().zip(event_loop.functions());
        let funcs = functions.map(|(id, function)| {
            let Function {
                kind, line, column, ..
            } = *function;
            let mut original = None;
            let func = match event_loop.resource_of(function) {
                Some(url) => {
                    let exact = label::write_exact(&function.name, kind == FunctionKind::Native);
                    let func = WrittenFunc {
                        name: tables.add_string(exact),
                        source: Some(add_source(tables, url, function.source)),
                        kind,
                        line,
                        column,
                        original: None,
                    };
                    match (&function.generated, line, func.source) {
                        (Some(generated), Some(line), Some(source)) => {
                            original = Some(source);
                            let location = WrittenLocation {
                                source,
                                line,
                                column,
                            };
                            let built = event_loop.resource(generated.resource);
                            WrittenFunc {
                                source: Some(add_source(tables, built, None)),
                                line: generated.line,
                                column: generated.column,
                                original: Some(index_in(&mut tables.locations, location)),
                                ..func
                            }
                        },
                        _ => func,
                    }
                },
                None => WrittenFunc {
                    name: tables.add_string(text_of_pathless(function, || labels.text(id))),
                    source: None,
                    kind,
                    line: None,
                    column: None,
                    original: None,
                },
            };
            AddedFunc {
                func: index_in(&mut tables.funcs, func),
                kind,
                original,
            }
        });
        funcs.collect()
    }

    fn add_stack(
        tables: &mut Tables<'a>,
        prefix: Option<u32>,
        func: AddedFunc,
        place: Option<Place>,
        activity: Option<Activity>,
    ) -> u32 {
        let line = place.and_then(Place::line);
        let location = func.original.zip(line).map(|(source, line)| {
            let column = place.and_then(Place::column);
            let location = WrittenLocation {
                source,
                line,
                column,
            };
            index_in(&mut tables.locations, location)
        });
        let frame = WrittenFrame {
            func: func.func,
            place: place.filter(|_| func.original.is_none()),
            original: location,
            category: Category::of(func.kind, activity),
        };
        tables.add_stack(prefix, frame)
    }

    fn add_samples(&mut self, tables: &mut Tables<'a>) {
        let event_loop = self.event_loop;
        let funcs = self.add_funcs(tables);
        let mut stacks: Vec<u32> = Vec::with_capacity(event_loop.stacks().len());
        for Stack { parent, frame } in event_loop.stacks() {
            let frame = event_loop.frame(*frame);
            let prefix = parent.map(|parent| stacks[parent.index()]);
            let func = funcs[frame.function.index()];
            stacks.push(Self::add_stack(tables, prefix, func, frame.place, None));
        }
        for sample in event_loop.samples() {
            let stack = match (sample.stack, sample.activity) {
                (None, None) => None,
                (None, activity) => {
                    let func = WrittenFunc {
                        name: tables.add_string(stackless::name(activity)),
                        source: None,
                        kind: FunctionKind::Native,
                        line: None,
                        column: None,
                        original: None,
                    };
                    let func = AddedFunc {
                        func: index_in(&mut tables.funcs, func),
                        kind: FunctionKind::Native,
                        original: None,
                    };
                    Some(Self::add_stack(tables, None, func, None, activity))
                },
                (Some(stack), None) => Some(stacks[stack.index()]),
                (Some(stack), activity) => {
                    let Stack { parent, frame } = event_loop.stack(stack);
                    let frame = event_loop.frame(frame);
                    let prefix = parent.map(|parent| stacks[parent.index()]);
                    let func = funcs[frame.function.index()];
                    Some(Self::add_stack(tables, prefix, func, frame.place, activity))
                },
            };
            self.sample_stacks.push(stack);
        }
    }

    /// The markers for the kind of the event loop, for its activities and for missed samples.
    fn markers(&self, tables: &Tables<'_>, interval: f64) -> impl Iterator<Item = Marker<'a>> {
        let (kind, documents) = kind(self.event_loop);
        let kind = kind.map(|kind| Marker {
            name: EVENT_LOOP_MARKER,
            category: Category::OTHER,
            start: 0.,
            end: None,
            data: MarkerData::EventLoop {
                kind: tables.string(kind),
            },
        });
        let documents = documents.iter().map(|url| Marker {
            name: DOCUMENT,
            category: Category::OTHER,
            start: 0.,
            end: None,
            data: MarkerData::Document { url },
        });
        let activities = stretches(self.event_loop, interval).map(move |stretch| {
            let end = stretch.last.time + milliseconds(stretch.last_worth);
            Marker {
                name: stretch.name,
                category: stretch.category,
                start: stretch.start,
                end: Some(stretch.next.map_or(end, |next| end.min(next))),
                data: MarkerData::Activity {},
            }
        });
        let missed = self.event_loop.missed().iter().map(|missed| Marker {
            name: MISSED_MARKER,
            category: Category::OTHER,
            start: missed.start,
            end: Some(missed.end),
            data: MarkerData::MissedSamples {
                samples: missed.samples,
                why: tables.string(missed.why.as_str()),
            },
        });
        kind.into_iter()
            .chain(documents)
            .chain(activities)
            .chain(missed)
    }

    /// Entries for samples, of which no one has too large a weight.
    fn parts(&self, interval: f64) -> impl Iterator<Item = Part<'a>> {
        let is_timed = self.event_loop.is_timed();
        let samples = self.event_loop.samples().iter().enumerate();
        let mut last = Before::default();
        samples
            .zip(self.event_loop.worths(interval))
            .flat_map(move |((index, sample), worth)| {
                let own = Before {
                    time: sample.time,
                    worth: Some(worth).filter(|_| is_timed && is_busy(sample)),
                };
                let before = std::mem::replace(&mut last, own);
                let count = match is_timed {
                    true => 1,
                    false => sample.weight.div_ceil(MAX_FIREFOX_WEIGHT),
                };
                (0..count).map(move |number| Part {
                    index,
                    sample,
                    before: if number == 0 { before } else { own },
                    weight: match is_timed {
                        true => Weight::Milliseconds(Number(milliseconds(worth))),
                        false => Weight::Samples(
                            MAX_FIREFOX_WEIGHT.min(sample.weight - number * MAX_FIREFOX_WEIGHT),
                        ),
                    },
                })
            })
    }
}

/// The text of a function without a file: its name, if nothing else would be read from that, or a label. Native ones at the root
/// may be activities.
fn text_of_pathless(function: &Function, label: impl FnOnce() -> String) -> String {
    let name = label::write_exact(&function.name, false);
    let read = label::read_pathless(&name);
    let text = match function.line.or(read.line) {
        None if read.name == function.name => name.into_owned(),
        _ => label(),
    };
    match function.kind == FunctionKind::Native && stackless::activity(&text).is_some() {
        true => label::escape_first(&text),
        false => text,
    }
}

/// An event loop's kind, if it is known, and its documents.
fn kind(event_loop: &EventLoop) -> (Option<&'static str>, &[String]) {
    match &event_loop.kind {
        EventLoopKind::Unknown => (None, &[]),
        EventLoopKind::Page { documents } => (Some(PAGE), documents),
        EventLoopKind::Worker => (Some(WORKER), &[]),
    }
}

/// Samples in a row with one activity.
struct Stretch<'a> {
    name: &'static str,
    category: Category,
    /// Here and below, a time in milliseconds.
    start: f64,
    last: &'a Sample,
    /// What it is worth, in nanoseconds.
    last_worth: u64,
    /// The time of the sample after it.
    next: Option<f64>,
}

/// The stretches that are shown, which are those that are not idle.
fn stretches(event_loop: &EventLoop, interval: f64) -> impl Iterator<Item = Stretch<'_>> {
    let samples = event_loop.samples();
    let mut worths = event_loop.worths(interval);
    let mut behind = 0;
    samples
        .chunk_by(|one, next| one.activity == next.activity)
        .filter_map(move |stretch| {
            behind += stretch.len();
            let last_worth = worths.nth(stretch.len() - 1).unwrap_or_default();
            let activity = stretch[0].activity.filter(|one| *one != Activity::Idle)?;
            let (name, category) = Category::of_activity(activity);
            Some(Stretch {
                name,
                category,
                start: stretch[0].time,
                last: &stretch[stretch.len() - 1],
                last_worth,
                next: samples.get(behind).map(|next| next.time),
            })
        })
}

/// An entry for a sample.
struct Part<'a> {
    index: usize,
    sample: &'a Sample,
    before: Before,
    weight: Weight,
}

/// The entry before.
#[derive(Clone, Copy, Default)]
struct Before {
    /// In milliseconds.
    time: f64,
    /// How long the event loop was busy since then, in nanoseconds, if samples are worth times. If not, its own sample
    /// says it.
    worth: Option<u64>,
}

#[derive(Clone, Copy, Serialize)]
#[serde(untagged)]
enum Weight {
    Samples(u64),
    Milliseconds(Number),
}

fn is_busy(sample: &Sample) -> bool {
    let is_idle = sample
        .activity
        .is_none_or(|activity| activity == Activity::Idle);
    sample.stack.is_some() || !is_idle
}

impl Part<'_> {
    /// How long the event loop has been busy since the entry before, in microseconds. The activity graph shows it.
    fn busy(&self, is_timed: bool, interval: f64) -> u64 {
        if is_timed {
            return self.before.worth.unwrap_or_default() / 1_000;
        }
        let since = self.sample.time - self.before.time;
        match is_busy(self.sample) {
            true => nanoseconds(since.min(self.sample.weight as f64 * interval)) / 1_000,
            false => 0,
        }
    }

    /// In milliseconds, whole nanoseconds.
    fn since_before(&self) -> f64 {
        let since = nanoseconds(self.sample.time) - nanoseconds(self.before.time);
        milliseconds(since)
    }
}

/// In milliseconds, whole nanoseconds.
fn rounded(milliseconds: f64) -> f64 {
    self::milliseconds(nanoseconds(milliseconds))
}

/// Ids of processes. Each is used once: the second process with the id 42 gets 42.1.
fn distinct_pids(processes: &[Process]) -> Vec<String> {
    let mut counts: HashMap<u32, u32> = HashMap::new();
    let pids = processes.iter().enumerate();
    let pids = pids.map(|(index, process)| process.pid.unwrap_or(index as u32 + 1));
    pids.map(|pid| {
        let count = counts.entry(pid).or_default();
        *count += 1;
        match count {
            1 => pid.to_string(),
            count => format!("{pid}.{}", *count - 1),
        }
    })
    .collect()
}

pub fn prepare(recording: &Recording) -> Result<impl Text, WriteError> {
    let pids = distinct_pids(&recording.processes);
    let processes = recording.processes.iter().enumerate();
    let mut tables = Tables::default();
    let mut threads = Vec::new();
    for (index, process) in processes {
        for event_loop in &process.event_loops {
            threads.push(Thread::of(index, event_loop, &mut tables));
        }
    }
    Ok(move |sink: &mut Sink<'_>| write(recording, &pids, &tables, &threads, sink))
}

/// What the Firefox Profiler shows beside the product: the versions of its engines. `None` if there are none.
fn extra(recorded_by: &RecordedBy) -> Option<serde_json::Value> {
    let engines = recorded_by.engines().iter();
    let entries: Vec<_> = engines
        .map(|engine| {
            serde_json::json!({
                "label": engine.name(),
                "format": "string",
                "value": engine.version().unwrap_or_default(),
            })
        })
        .collect();
    let sections = serde_json::json!([{ "label": ENGINES, "entries": entries }]);
    (!recorded_by.engines().is_empty()).then_some(sections)
}

/// A column with the same value in all rows.
fn same<T: Copy + Serialize>(value: T, length: usize) -> impl Serialize {
    Array(move || std::iter::repeat_n(value, length))
}

fn write(
    recording: &Recording,
    pids: &[String],
    tables: &Tables<'_>,
    threads: &[Thread<'_>],
    sink: &mut Sink<'_>,
) -> Result<(), WriteError> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct File<M, S, T> {
        meta: M,
        libs: [(); 0],
        pages: [(); 0],
        profiler_overhead: [(); 0],
        counters: [(); 0],
        shared: S,
        threads: T,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Meta<'a, T> {
        preprocessed_profile_version: u32,
        /// The version of Gecko's own format. Nobody reads it.
        version: u32,
        product: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        misc: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        extra: Option<serde_json::Value>,
        process_type: u32,
        #[serde(serialize_with = "json::number")]
        interval: f64,
        #[serde(serialize_with = "json::number")]
        start_time: f64,
        symbolicated: bool,
        source_code_is_not_on_searchfox: bool,
        uses_only_one_stack_type: bool,
        debug: bool,
        extensions: serde_json::Value,
        paused_ranges: [(); 0],
        sample_units: serde_json::Value,
        categories: Vec<WrittenCategory>,
        marker_schema: serde_json::Value,
        initial_visible_threads: T,
        initial_selected_threads: Vec<u32>,
    }

    let mut funcs = tables.funcs.iter();
    let has_script = funcs.any(|func| func.kind != FunctionKind::Native);
    let program = recording.recorded_by.as_ref().map(RecordedBy::program);
    let version = program.and_then(Program::version);
    let file = File {
        meta: Meta {
            preprocessed_profile_version: WRITTEN_VERSION,
            version: 24,
            product: program.map_or("", Program::name),
            misc: version.map(|version| format!("{REVISION}{version}")),
            extra: recording.recorded_by.as_ref().and_then(extra),
            process_type: 0,
            interval: rounded(recording.interval),
            start_time: recording.time_origin.unwrap_or_default(),
            symbolicated: true,
            source_code_is_not_on_searchfox: true,
            uses_only_one_stack_type: !has_script,
            debug: false,
            extensions: serde_json::json!({ "length": 0, "baseURL": [], "id": [], "name": [] }),
            paused_ranges: [],
            sample_units: serde_json::json!({
                "time": "ms", "eventDelay": "ms", "threadCPUDelta": "µs",
            }),
            categories: categories(),
            marker_schema: marker_schemas(),
            initial_visible_threads: Array(|| 0..threads.len()),
            initial_selected_threads: threads.first().map(|_| 0).into_iter().collect(),
        },
        libs: [],
        pages: [],
        profiler_overhead: [],
        counters: [],
        shared: shared(tables),
        threads: Array(|| {
            threads.iter().enumerate().map(|(index, thread)| {
                let process = &recording.processes[thread.process];
                let pid = &pids[thread.process];
                thread_data(thread, tables, index + 1, process, pid, recording.interval)
            })
        }),
    };
    Ok(serde_json::to_writer(sink, &file)?)
}

fn thread_data<'a>(
    thread: &'a Thread<'a>,
    tables: &'a Tables<'a>,
    tid: usize,
    process: &'a Process,
    pid: &'a str,
    interval: f64,
) -> impl Serialize + 'a {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct ThreadData<'a, S, M> {
        name: &'a str,
        /// The Firefox Profiler would show a main thread under its process' name.
        is_main_thread: bool,
        process_type: &'static str,
        process_name: &'a str,
        process_startup_time: u32,
        process_shutdown_time: Option<f64>,
        register_time: u32,
        unregister_time: Option<f64>,
        paused_ranges: [(); 0],
        show_markers_in_timeline: bool,
        pid: &'a str,
        tid: String,
        samples: S,
        markers: M,
    }
    let ended = process.ended.map(rounded);
    ThreadData {
        name: &thread.event_loop.name,
        is_main_thread: false,
        process_type: "default",
        process_name: &process.name,
        process_startup_time: 0,
        process_shutdown_time: ended,
        register_time: 0,
        unregister_time: ended,
        paused_ranges: [],
        show_markers_in_timeline: true,
        pid,
        tid: tid.to_string(),
        samples: samples(thread, interval),
        markers: markers(thread, tables, interval),
    }
}

/// What the threads share.
fn shared<'a>(tables: &'a Tables<'a>) -> impl Serialize + 'a {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Shared<S, T, N, F, L, A> {
        stack_table: S,
        frame_table: T,
        func_table: N,
        resource_table: serde_json::Value,
        native_symbols: serde_json::Value,
        sources: F,
        source_location_table: L,
        string_array: A,
    }
    Shared {
        stack_table: stack_table(&tables.stacks),
        frame_table: frame_table(&tables.frames),
        func_table: func_table(&tables.funcs),
        resource_table: serde_json::json!({ "length": 0, "name": [], "host": [], "type": [] }),
        native_symbols: serde_json::json!({
            "length": 0, "address": [], "functionSize": [], "libIndex": [], "name": [],
        }),
        sources: sources(&tables.sources),
        source_location_table: locations(&tables.locations),
        string_array: Array(|| tables.strings.iter()),
    }
}

fn sources<'a>(sources: &'a IndexSet<WrittenSource<'a>>) -> impl Serialize + 'a {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Sources<I, F, L, C, M, T> {
        length: usize,
        id: I,
        filename: F,
        start_line: L,
        start_column: C,
        #[serde(rename = "sourceMapURL")]
        source_map_url: M,
        content: T,
    }
    let texts = || sources.iter().map(|source| source.text);
    Sources {
        length: sources.len(),
        // Firefox would ask its own script for a text by the id.
        id: same((), sources.len()),
        filename: Array(|| sources.iter().map(|source| source.name)),
        start_line: Array(move || {
            texts().map(|text| text.map_or(NonZeroU32::MIN, |text| text.line))
        }),
        start_column: Array(move || {
            texts().map(|text| text.map_or(NonZeroU32::MIN, |text| text.column))
        }),
        source_map_url: Array(move || texts().map(|text| text.and_then(|text| text.map_url))),
        content: Array(move || texts().map(|text| text.map(|text| text.text))),
    }
}

fn locations(locations: &IndexSet<WrittenLocation>) -> impl Serialize {
    #[derive(Serialize)]
    struct Locations<S, L, C> {
        length: usize,
        source: S,
        line: L,
        column: C,
    }
    Locations {
        length: locations.len(),
        source: Array(|| locations.iter().map(|location| location.source)),
        line: Array(|| locations.iter().map(|location| location.line)),
        column: Array(|| locations.iter().map(|location| location.column)),
    }
}

fn func_table(funcs: &IndexSet<WrittenFunc>) -> impl Serialize {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct FuncTable<N, J, R, E, S, L, C, O> {
        length: usize,
        name: N,
        #[serde(rename = "isJS")]
        is_js: J,
        #[serde(rename = "relevantForJS")]
        relevant_for_js: R,
        resource: E,
        source: S,
        line_number: L,
        column_number: C,
        original_location: O,
    }
    let flags = |func: &WrittenFunc| {
        let entry = KINDS.iter().find(|(kind, _)| *kind == func.kind);
        entry.expect("every kind has its flags").1
    };
    FuncTable {
        length: funcs.len(),
        name: Array(|| funcs.iter().map(|func| func.name)),
        is_js: Array(move || funcs.iter().map(move |func| flags(func).is_js)),
        relevant_for_js: Array(move || funcs.iter().map(move |func| flags(func).relevant_for_js)),
        resource: same(NONE, funcs.len()),
        source: Array(|| funcs.iter().map(|func| func.source)),
        line_number: Array(|| funcs.iter().map(|func| func.line)),
        column_number: Array(|| funcs.iter().map(|func| func.column)),
        original_location: Array(|| funcs.iter().map(|func| func.original)),
    }
}

fn frame_table(frames: &IndexSet<WrittenFrame>) -> impl Serialize {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct FrameTable<F, L, C, A, B, D, W, N, G, S, O> {
        length: usize,
        func: F,
        line: L,
        column: C,
        address: A,
        lib: B,
        inline_depth: D,
        #[serde(rename = "innerWindowID")]
        inner_window_id: W,
        native_symbol: N,
        category: G,
        subcategory: S,
        original_location: O,
    }
    let places = || frames.iter().map(|frame| frame.place);
    FrameTable {
        length: frames.len(),
        func: Array(|| frames.iter().map(|frame| frame.func)),
        line: Array(move || places().map(|place| place.and_then(Place::line))),
        column: Array(move || places().map(|place| place.and_then(Place::column))),
        address: Array(move || {
            let offsets = places().map(|place| place.and_then(Place::wasm_offset));
            offsets.map(|offset| offset.map_or(NONE, i64::from))
        }),
        lib: same(NONE, frames.len()),
        inline_depth: same(0, frames.len()),
        inner_window_id: same(0, frames.len()),
        native_symbol: same((), frames.len()),
        category: Array(|| frames.iter().map(|frame| frame.category.0)),
        subcategory: Array(|| frames.iter().map(|frame| frame.category.1)),
        original_location: Array(|| frames.iter().map(|frame| frame.original)),
    }
}

fn stack_table(stacks: &IndexSet<WrittenStack>) -> impl Serialize {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct StackTable<P, F> {
        length: usize,
        prefix_offset: P,
        frame: F,
    }
    StackTable {
        length: stacks.len(),
        prefix_offset: Array(|| {
            let indices = 0u32..;
            let offset =
                |index, stack: &WrittenStack| stack.prefix.map_or(0, |prefix| index - prefix);
            indices
                .zip(stacks.iter())
                .map(move |(index, stack)| offset(index, stack))
        }),
        frame: Array(|| stacks.iter().map(|stack| stack.frame)),
    }
}

fn samples<'a>(thread: &'a Thread<'a>, interval: f64) -> impl Serialize + 'a {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Samples<S, T, W, C> {
        length: usize,
        weight_type: &'static str,
        stack: S,
        time_deltas: T,
        weight: W,
        #[serde(rename = "threadCPUDelta")]
        thread_cpu_delta: C,
    }
    let is_timed = thread.event_loop.is_timed();
    let parts = move || thread.parts(interval);
    Samples {
        length: parts().count(),
        weight_type: if is_timed { TRACING_MS } else { SAMPLES },
        stack: Array(move || parts().map(|part| thread.sample_stacks[part.index])),
        time_deltas: Array(move || parts().map(|part| Number(part.since_before()))),
        weight: Array(move || parts().map(|part| part.weight)),
        thread_cpu_delta: Array(move || parts().map(move |part| part.busy(is_timed, interval))),
    }
}

fn markers<'a>(
    thread: &'a Thread<'a>,
    tables: &'a Tables<'a>,
    interval: f64,
) -> impl Serialize + 'a {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Markers<N, C, P, S, E, D> {
        length: usize,
        name: N,
        category: C,
        phase: P,
        start_time: S,
        end_time: E,
        data: D,
    }
    const INSTANT: u8 = 0;
    const INTERVAL: u8 = 1;
    let all = move || thread.markers(tables, interval);
    Markers {
        length: all().count(),
        name: Array(move || all().map(|marker| tables.string(marker.name))),
        category: Array(move || all().map(|marker| marker.category.0)),
        phase: Array(move || {
            all().map(|marker| match marker.end {
                None => INSTANT,
                Some(_) => INTERVAL,
            })
        }),
        start_time: Array(move || all().map(|marker| Number(rounded(marker.start)))),
        end_time: Array(move || all().map(|marker| marker.end.map(|end| Number(rounded(end))))),
        data: Array(move || all().map(|marker| marker.data)),
    }
}
