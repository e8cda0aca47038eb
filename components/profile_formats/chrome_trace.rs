/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What the Performance panel of Chrome's DevTools saves: a list of events, alone or as the member `traceEvents`, of which
//! those of V8's profiler are read. We do not write it.
//!
//! `Profile` begins the profile of a thread. Each `ProfileChunk` with the same process and id has new nodes of its tree of
//! calls, and samples: a node, the microseconds since the sample before, and mostly the line and column that were executing,
//! from 1 on. The definition in a node is from 0 on. The top level of a script has none: it is at the beginning. `CpuProfile`
//! has all of it in one event, as older versions write it. Times are those of the machine's clock, the same for all
//! processes. A sample is worth the time until the next one of its profile: `worth.rs`.
//!
//! Each profile is an event loop, with the name of its thread. Other events tell which URLs it ran, and which threads are
//! workers. `metadata` may hold source maps, which are applied when the file is read ([`crate::read_with`]).
//!
//! A function without a script is native. V8 gives its samples the line of the caller, so they get none.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::mem;
use std::num::NonZeroU32;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::counted::TOO_LARGE;
use crate::cpuprofile;
use crate::error::Error;
use crate::interval;
use crate::json;
use crate::label;
use crate::recording::{
    Activity, EventLoop, EventLoopKind, FetchedMap, Frame, Function, FunctionId, FunctionKind,
    Invalid, Place, Process, Recording, Sample, Source, SourceId, StackId,
};
use crate::stackless;

/// The function that calls all others.
const ROOT: &str = "(root)";

const MICROSECONDS: f64 = 1e3;

/// The thread of a renderer that runs its pages.
const RENDERER_THREAD: &str = "CrRendererMain";

/// The members of an event that are read. Producers write numbers as texts, too.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    pid: Option<Id>,
    tid: Option<Id>,
    id: Option<Id>,
    #[serde(default)]
    ts: Option<serde_json::Number>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

/// A number or a text.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq)]
#[serde(untagged)]
enum Id {
    Number(serde_json::Number),
    Text(String),
}

impl Id {
    /// The number of a process or a thread; 0 if it is none.
    fn number(&self) -> i64 {
        let number = match self {
            Self::Number(number) => number.as_i64(),
            Self::Text(text) => text.parse().ok(),
        };
        number.unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct Args<T> {
    data: T,
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Start {
    start_time: Option<f64>,
}

/// What `ProfileChunk` adds, and all that `CpuProfile` has.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    #[serde(default)]
    cpu_profile: ChunkProfile,
    #[serde(default)]
    time_deltas: Vec<f64>,
    end_time: Option<f64>,
    #[serde(default)]
    lines: Vec<i64>,
    #[serde(default)]
    columns: Vec<i64>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChunkProfile {
    #[serde(default)]
    nodes: Vec<Node>,
    #[serde(default)]
    samples: Vec<u64>,
    #[serde(default)]
    time_deltas: Vec<f64>,
    start_time: Option<f64>,
    end_time: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    id: u64,
    parent: Option<u64>,
    #[serde(default)]
    children: Vec<u64>,
    call_frame: CallFrame,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallFrame {
    function_name: String,
    #[serde(default)]
    url: String,
    /// 0-based; absent or -1 if unknown.
    line_number: Option<i64>,
    column_number: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WorkerData {
    url: String,
    worker_thread_id: i64,
}

#[derive(Deserialize)]
struct Frames {
    #[serde(default)]
    frames: Vec<FrameData>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FrameData {
    #[serde(default)]
    url: String,
    process_id: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    source_maps: Vec<MetadataMap>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetadataMap {
    /// Of the script.
    url: String,
    #[serde(default)]
    source_map_url: String,
    source_map: Box<RawValue>,
}

/// What was found in the events.
struct Found<'m> {
    /// Bytes of memory that are left.
    memory: &'m mut u64,
    parts: Vec<Part>,
    processes: HashMap<i64, String>,
    threads: HashMap<(i64, i64), String>,
    workers: HashMap<(i64, i64), String>,
    documents: HashMap<i64, IndexSet<String>>,
    metadata: Metadata,
}

/// An event of a profile.
struct Part {
    /// Of the event among all.
    index: usize,
    pid: i64,
    tid: i64,
    id: Id,
    time: f64,
    content: Content,
}

enum Content {
    Start(f64),
    Chunk(Box<Chunk>),
    /// A profile in one event.
    Whole(Box<Chunk>),
}

/// Bytes of memory for an event of a profile, beside what is in its lists: in the table of all, which has room for more,
/// and in the profile that it begins.
const PART: u64 = (2 * size_of::<Part>() + size_of::<Chunk>() + 3 * size_of::<Profile>()) as u64;

/// Bytes of memory for the URL of a document, beside its text.
const DOCUMENT: usize = 48;

pub fn read(text: &[u8], mut memory: u64) -> Result<Recording, Error> {
    let is_list = text.trim_ascii_start().starts_with(b"[");
    let mut found = Found {
        memory: &mut memory,
        parts: Vec::new(),
        processes: HashMap::new(),
        threads: HashMap::new(),
        workers: HashMap::new(),
        documents: HashMap::new(),
        metadata: Metadata::default(),
    };
    let at = Cell::new(None);
    let mut problem = None;
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let seed = File {
        is_list,
        found: &mut found,
        at: &at,
        problem: &mut problem,
    };
    let result = seed
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end());
    let event_place = |index: usize| event_place(is_list, index);
    if let Some(error) = problem {
        return Err(error);
    }
    if let Err(error) = result {
        let place = at.get().map_or_else(String::new, event_place);
        return Err(Error::new(place, error));
    }
    if found.parts.is_empty() {
        return Err(Error::of_file(
            "a trace without samples of JavaScript: it has no events Profile, ProfileChunk or CpuProfile, which Chrome \
             writes in the category disabled-by-default-v8.cpu_profiler",
        ));
    }
    recording(found, &event_place)
}

fn event_place(is_list: bool, index: usize) -> String {
    match is_list {
        true => format!("[{index}]"),
        false => format!("traceEvents[{index}]"),
    }
}

/// The whole text, or the list of events in it.
struct File<'f, 'm> {
    is_list: bool,
    found: &'f mut Found<'m>,
    /// The index of the event that is read.
    at: &'f Cell<Option<usize>>,
    /// Takes the place of the error that ended the reading.
    problem: &'f mut Option<Error>,
}

impl<'de> DeserializeSeed<'de> for File<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for File<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of events, or an object with the member traceEvents")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut has_events = false;
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            match &*name {
                "traceEvents" => {
                    has_events = true;
                    map.next_value_seed(File {
                        is_list: self.is_list,
                        found: &mut *self.found,
                        at: self.at,
                        problem: &mut *self.problem,
                    })?;
                },
                "metadata" => {
                    let raw: &RawValue = map.next_value()?;
                    match read_part(raw, self.found.memory, "metadata") {
                        Ok(metadata) => self.found.metadata = metadata,
                        Err(error) => {
                            *self.problem = Some(error);
                            return Err(serde::de::Error::custom("metadata"));
                        },
                    }
                },
                _ => {
                    map.next_value::<IgnoredAny>()?;
                },
            }
        }
        match has_events {
            true => Ok(()),
            false => Err(serde::de::Error::missing_field("traceEvents")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> Result<(), A::Error> {
        for index in 0.. {
            self.at.set(Some(index));
            let Some(event) = events.next_element::<Event<'de>>()? else {
                break;
            };
            if let Err(error) = self.found.add(index, event) {
                let place = event_place(self.is_list, index);
                *self.problem = Some(error.within(&format!("{place}.args")));
                return Err(serde::de::Error::custom("an event"));
            }
        }
        self.at.set(None);
        Ok(())
    }
}

/// Takes bytes of memory.
fn take(memory: &mut u64, bytes: u64) -> Result<(), Error> {
    *memory = memory
        .checked_sub(bytes)
        .ok_or_else(|| Error::of_file(TOO_LARGE))?;
    Ok(())
}

/// A part of the text, whose error has a place within it.
fn read_part<T: serde::de::DeserializeOwned>(
    raw: &RawValue,
    memory: &mut u64,
    place: &str,
) -> Result<T, Error> {
    json::read(raw.get().as_bytes(), memory).map_err(|error| error.within(place))
}

impl Found<'_> {
    /// The place of an error is within the event's `args`.
    fn add(&mut self, index: usize, event: Event<'_>) -> Result<(), Error> {
        let Some(name) = event.name.as_deref() else {
            return Ok(());
        };
        let number = |id: &Option<Id>| id.as_ref().map_or(0, Id::number);
        let (pid, tid) = (number(&event.pid), number(&event.tid));
        let Some(args) = event.args else {
            return Ok(());
        };
        let profile = |content| Part {
            index,
            pid,
            tid,
            id: event.id.clone().unwrap_or(Id::Number(0.into())),
            time: event.ts.as_ref().and_then(|ts| ts.as_f64()).unwrap_or(0.),
            content,
        };
        if matches!(name, "Profile" | "ProfileChunk" | "CpuProfile") {
            take(self.memory, PART)?;
        }
        // What is told besides is left out if it is not as expected: other programs write events of these names, too.
        match name {
            "Profile" => {
                let args: Args<Start> = json::read(args.get().as_bytes(), self.memory)?;
                let part = profile(Content::Start(0.));
                let start = args.data.start_time.unwrap_or(part.time);
                self.parts.push(Part {
                    content: Content::Start(start),
                    ..part
                });
            },
            "ProfileChunk" | "CpuProfile" => {
                let args: Args<Box<Chunk>> = json::read(args.get().as_bytes(), self.memory)?;
                self.parts.push(profile(match name {
                    "ProfileChunk" => Content::Chunk(args.data),
                    _ => Content::Whole(args.data),
                }));
            },
            "process_name" => {
                if let Some(Name { name }) = self.told(args) {
                    self.processes.insert(pid, name);
                }
            },
            "thread_name" => {
                if let Some(Name { name }) = self.told(args) {
                    self.threads.insert((pid, tid), name);
                }
            },
            "TracingSessionIdForWorker" => {
                if let Some(Args { data }) = self.told::<Args<WorkerData>>(args) {
                    self.workers.insert((pid, data.worker_thread_id), data.url);
                }
            },
            "TracingStartedInBrowser" => {
                if let Some(Args { data }) = self.told::<Args<Frames>>(args) {
                    data.frames
                        .into_iter()
                        .for_each(|frame| self.add_document(frame));
                }
            },
            "FrameCommittedInBrowser" => {
                if let Some(Args { data }) = self.told::<Args<FrameData>>(args) {
                    self.add_document(data);
                }
            },
            _ => {},
        }
        Ok(())
    }

    fn told<T: serde::de::DeserializeOwned>(&mut self, args: &RawValue) -> Option<T> {
        // An entry of a table beside the text.
        const ENTRY: u64 = 200;
        let mut memory = self.memory.checked_sub(ENTRY)?;
        let told = json::read(args.get().as_bytes(), &mut memory).ok()?;
        *self.memory = memory;
        Some(told)
    }

    fn add_document(&mut self, frame: FrameData) {
        if let Some(pid) = frame.process_id
            && !frame.url.is_empty()
        {
            self.documents.entry(pid).or_default().insert(frame.url);
        }
    }
}

/// The events of one profile.
struct Profile {
    pid: i64,
    tid: i64,
    start: f64,
    chunks: Vec<(usize, Box<Chunk>)>,
}

impl Profile {
    /// When it ended, in milliseconds. Absent if it was still running.
    fn end(&self) -> Option<f64> {
        let ends = self.chunks.iter();
        let mut ends = ends.filter_map(|(_, chunk)| chunk.end_time.or(chunk.cpu_profile.end_time));
        ends.next_back().map(|end| end / MICROSECONDS)
    }
}

fn recording(mut found: Found<'_>, place: &dyn Fn(usize) -> String) -> Result<Recording, Error> {
    let mut memory = *found.memory;
    // What is kept for each of them while they are read, beside the recording.
    const NODE: usize = 200;
    const SAMPLE: usize = 128;
    let kept = found.parts.iter().map(|part| match &part.content {
        Content::Start(_) => 0,
        Content::Chunk(chunk) | Content::Whole(chunk) => {
            let ChunkProfile { nodes, samples, .. } = &chunk.cpu_profile;
            NODE * nodes.len() + SAMPLE * samples.len()
        },
    });
    take(&mut memory, kept.sum::<usize>() as u64)?;
    let maps = maps_of(mem::take(&mut found.metadata));
    let mut parts = mem::take(&mut found.parts);
    parts.sort_by(|a, b| a.time.total_cmp(&b.time));
    let mut profiles: Vec<Profile> = Vec::new();
    let mut current: HashMap<(i64, Id), usize> = HashMap::new();
    for part in parts {
        let Part {
            index,
            pid,
            tid,
            id,
            time,
            content,
        } = part;
        let begin = |profiles: &mut Vec<Profile>, start| {
            profiles.push(Profile {
                pid,
                tid,
                start,
                chunks: Vec::new(),
            });
            profiles.len() - 1
        };
        match content {
            Content::Start(start) => {
                let number = begin(&mut profiles, start);
                current.insert((pid, id), number);
            },
            Content::Chunk(chunk) => {
                let number = *current
                    .entry((pid, id))
                    .or_insert_with(|| begin(&mut profiles, time));
                profiles[number].chunks.push((index, chunk));
            },
            Content::Whole(chunk) => {
                let start = chunk.cpu_profile.start_time.unwrap_or(time);
                let number = begin(&mut profiles, start);
                profiles[number].chunks.push((index, chunk));
            },
        }
    }

    let mut processes: IndexMap<i64, Process> = IndexMap::new();
    let mut series = Vec::new();
    let mut event_loops = Vec::new();
    for profile in &profiles {
        let thread = (profile.pid, profile.tid);
        let name = found.threads.get(&thread).map_or("", String::as_str);
        take(&mut memory, name.len() as u64)?;
        let (name, kind) = match (
            found.workers.get(&thread),
            found.documents.get(&profile.pid),
        ) {
            (Some(url), _) => {
                take(&mut memory, url.len() as u64)?;
                let name = format!("{name} {url}").trim_start().to_owned();
                (name, EventLoopKind::Worker)
            },
            (None, Some(documents)) if name == RENDERER_THREAD => {
                let bytes = documents.iter().map(|url| url.len() + DOCUMENT);
                take(&mut memory, bytes.sum::<usize>() as u64)?;
                let documents = documents.iter().cloned().collect();
                (name.to_owned(), EventLoopKind::Page { documents })
            },
            _ => (name.to_owned(), EventLoopKind::Unknown),
        };
        let mut event_loop = EventLoop::within(memory, name, kind).map_err(Error::of_file)?;
        read_profile(profile, &maps, &mut event_loop, place)?;
        memory = memory.saturating_sub(event_loop.bytes());
        let times = event_loop.samples().iter().map(|sample| sample.time);
        series.push(times.collect::<Vec<_>>());
        event_loops.push(event_loop);
    }
    // All have the same interval, so threads that were running seldom are cut as the others.
    let interval = interval::estimate(series);
    // V8 says of pages when they are idle, and not of workers.
    let is_idle_sampled = event_loops.iter().any(EventLoop::has_idle_samples);
    for (profile, mut event_loop) in profiles.into_iter().zip(event_loops) {
        let before = event_loop.bytes();
        event_loop.allow(before + memory);
        event_loop
            .value_until_next_as(profile.end(), interval, is_idle_sampled)
            .map_err(Error::of_file)?;
        memory -= event_loop.bytes() - before;
        let process = processes.entry(profile.pid).or_insert_with(|| Process {
            name: found
                .processes
                .get(&profile.pid)
                .cloned()
                .unwrap_or_default(),
            pid: u32::try_from(profile.pid).ok().filter(|pid| *pid > 0),
            ..Process::default()
        });
        process.event_loops.push(event_loop);
    }
    Ok(Recording {
        time_origin: None,
        recorded_by: None,
        interval,
        processes: processes.into_values().collect(),
    })
}

/// The nodes of a profile, in the order of its events.
struct Nodes<'a> {
    all: Vec<NodeOf<'a>>,
    by_id: HashMap<u64, usize>,
}

struct NodeOf<'a> {
    node: &'a Node,
    /// The index of the event, and that of the node in it.
    at: (usize, usize),
    parent: Option<usize>,
    has_children: bool,
}

/// What a node means for a sample.
#[derive(Clone, Copy)]
struct Leaf {
    stack: Option<StackId>,
    activity: Option<Activity>,
    /// The function, if its samples have lines of its own.
    function: Option<FunctionId>,
}

/// Where something of an event's profile is.
fn in_event(event: &str, member: &str, index: usize) -> String {
    format!("{event}.args.data.cpuProfile.{member}[{index}]")
}

impl<'a> Nodes<'a> {
    fn of(profile: &'a Profile, place: &dyn Fn(usize) -> String) -> Result<Self, Error> {
        let mut nodes = Self {
            all: Vec::new(),
            by_id: HashMap::new(),
        };
        let place = |(event, index): (usize, usize)| in_event(&place(event), "nodes", index);
        for (event, chunk) in &profile.chunks {
            for (index, node) in chunk.cpu_profile.nodes.iter().enumerate() {
                let at = (*event, index);
                if nodes.by_id.insert(node.id, nodes.all.len()).is_some() {
                    let problem = format!("{} is the id of another node too", node.id);
                    return Err(Error::new(format!("{}.id", place(at)), problem));
                }
                nodes.all.push(NodeOf {
                    node,
                    at,
                    parent: None,
                    has_children: false,
                });
            }
        }
        for number in 0..nodes.all.len() {
            let NodeOf { node, at, .. } = nodes.all[number];
            if let Some(parent) = node.parent {
                let parent = nodes.number_of(parent, || format!("{}.parent", place(at)))?;
                nodes.connect(parent, number, || format!("{}.parent", place(at)))?;
            }
            for (index, child) in node.children.iter().enumerate() {
                let place = || format!("{}.children[{index}]", place(at));
                let child = nodes.number_of(*child, place)?;
                nodes.connect(number, child, place)?;
            }
        }
        Ok(nodes)
    }

    fn number_of(&self, id: u64, place: impl FnOnce() -> String) -> Result<usize, Error> {
        let number = self.by_id.get(&id).copied();
        number.ok_or_else(|| Error::new(place(), format!("{id} is the id of no node")))
    }

    fn connect(
        &mut self,
        parent: usize,
        child: usize,
        place: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        self.all[parent].has_children = true;
        let known = self.all[child].parent.replace(parent);
        if known.is_some_and(|known| known != parent) {
            let id = self.all[child].node.id;
            return Err(Error::new(place(), format!("{id} has two callers")));
        }
        Ok(())
    }

    /// The nodes in an order in which a caller is before those that it calls.
    fn in_order_of_calls(&self, place: &dyn Fn(usize) -> String) -> Result<Vec<usize>, Error> {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.all.len()];
        let mut next = Vec::new();
        for (number, node) in self.all.iter().enumerate().rev() {
            match node.parent {
                Some(parent) => children[parent].push(number),
                None => next.push(number),
            }
        }
        let mut order = Vec::with_capacity(self.all.len());
        let mut is_reached = vec![false; self.all.len()];
        while let Some(number) = next.pop() {
            order.push(number);
            is_reached[number] = true;
            next.append(&mut children[number]);
        }
        if let Some(number) = is_reached.iter().position(|is_reached| !is_reached) {
            let (event, index) = self.all[number].at;
            let problem = "the node is among its own callers, or called by one that is";
            return Err(Error::new(in_event(&place(event), "nodes", index), problem));
        }
        Ok(order)
    }
}

fn read_profile(
    profile: &Profile,
    maps: &Maps,
    event_loop: &mut EventLoop,
    place: &dyn Fn(usize) -> String,
) -> Result<(), Error> {
    let nodes = Nodes::of(profile, place)?;
    let nothing = Leaf {
        stack: None,
        activity: None,
        function: None,
    };
    let mut leaves = vec![nothing; nodes.all.len()];
    let mut sources = HashMap::new();
    for number in nodes.in_order_of_calls(place)? {
        let NodeOf {
            node,
            at: (event, index),
            parent,
            has_children,
        } = nodes.all[number];
        let caller = parent.and_then(|parent| leaves[parent].stack);
        let CallFrame {
            function_name: name,
            url,
            line_number,
            ..
        } = &node.call_frame;
        let is_alone = caller.is_none() && !has_children && url.is_empty();
        if parent.is_none() && name == ROOT {
            continue;
        }
        if let Some(activity) = stackless::activity(name).filter(|_| is_alone) {
            leaves[number].activity = activity;
            continue;
        }
        let at = || in_event(&place(event), "nodes", index);
        let function = add_function(event_loop, &node.call_frame, maps, &mut sources, &at)?;
        let frame = event_loop.add_frame(Frame {
            function,
            place: None,
        });
        let stack = frame.and_then(|frame| event_loop.add_stack(caller, frame));
        let is_in_script = !url.is_empty() || line_number.is_some_and(|line| line >= 0);
        leaves[number] = Leaf {
            stack: Some(stack.map_err(|invalid| Error::new(at(), invalid))?),
            activity: None,
            function: is_in_script.then_some(function),
        };
    }
    add_samples(profile, &nodes, &leaves, event_loop, place)
}

/// A sample before it is known which come before it.
struct EarlySample {
    time: f64,
    leaf: usize,
    place: Option<Place>,
    /// The index of its event, and its own in that.
    at: (usize, usize),
}

fn add_samples(
    profile: &Profile,
    nodes: &Nodes<'_>,
    leaves: &[Leaf],
    event_loop: &mut EventLoop,
    place: &dyn Fn(usize) -> String,
) -> Result<(), Error> {
    let mut samples = Vec::new();
    let mut microseconds = profile.start;
    for (event, chunk) in &profile.chunks {
        let ids = &chunk.cpu_profile.samples;
        // Older versions have them in the other place.
        let deltas = match chunk.time_deltas.is_empty() {
            true => &chunk.cpu_profile.time_deltas,
            false => &chunk.time_deltas,
        };
        if deltas.len() != ids.len() {
            let problem = format!("{} of {} samples", deltas.len(), ids.len());
            let place = format!("{}.args.data.timeDeltas", place(*event));
            return Err(Error::new(place, problem));
        }
        for (index, (id, delta)) in ids.iter().zip(deltas).enumerate() {
            microseconds += delta;
            let leaf = nodes.number_of(*id, || in_event(&place(*event), "samples", index))?;
            let number = |column: &[i64]| {
                let number = column.get(index).copied().unwrap_or_default();
                u32::try_from(number).ok().and_then(NonZeroU32::new)
            };
            samples.push(EarlySample {
                time: microseconds / MICROSECONDS,
                leaf,
                place: Place::of_source(number(&chunk.lines), number(&chunk.columns)),
                at: (*event, index),
            });
        }
    }
    // Times of V8 sometimes go back.
    samples.sort_by(|a, b| a.time.total_cmp(&b.time));
    for sample in samples {
        let Leaf {
            stack,
            activity,
            function,
        } = leaves[sample.leaf];
        let (event, index) = sample.at;
        let stack = match (stack, function, sample.place) {
            (Some(stack), Some(function), place @ Some(_)) => {
                let parent = event_loop.stack(stack).parent;
                let frame = event_loop.add_frame(Frame { function, place });
                frame
                    .and_then(|frame| event_loop.add_stack(parent, frame))
                    .map(Some)
            },
            _ => Ok(stack),
        };
        stack
            .and_then(|stack| {
                event_loop.add_sample(Sample {
                    time: sample.time,
                    weight: 1,
                    stack,
                    activity,
                })
            })
            .map_err(|invalid| Error::new(in_event(&place(event), "samples", index), invalid))?;
    }
    Ok(())
}

/// The source maps in the metadata, by the URLs of their scripts.
type Maps = HashMap<String, Arc<FetchedMap>>;

fn maps_of(metadata: Metadata) -> Maps {
    let maps = metadata.source_maps.into_iter().map(|map| {
        let url = match map.source_map_url.is_empty() {
            true => map.url.clone(),
            false => map.source_map_url,
        };
        // Not copied, for it may be long.
        let content: Box<str> = map.source_map.into();
        let content = Ok(content.into());
        (map.url, Arc::new(FetchedMap { url, content }))
    });
    maps.collect()
}

fn add_function<'m>(
    event_loop: &mut EventLoop,
    call_frame: &CallFrame,
    maps: &'m Maps,
    sources: &mut HashMap<&'m str, SourceId>,
    place: &dyn Fn() -> String,
) -> Result<FunctionId, Error> {
    let CallFrame {
        function_name,
        url,
        line_number,
        column_number,
    } = call_frame;
    let position = |number: &Option<i64>, member: &str| {
        cpuprofile::position(number.unwrap_or_else(cpuprofile::unknown), member, place)
    };
    let mut line = position(line_number, "lineNumber")?;
    let mut column = position(column_number, "columnNumber")?;
    if line.is_none() && function_name.is_empty() && !url.is_empty() {
        // The top level of a script.
        (line, column) = (Some(NonZeroU32::MIN), Some(NonZeroU32::MIN));
    }
    let invalid = |invalid: Invalid| Error::new(place(), invalid);
    let source = match maps.get_key_value(url) {
        None => None,
        Some((url, map)) => Some(match sources.get(&**url) {
            Some(source) => *source,
            None => {
                let source = Source {
                    name: url.clone(),
                    line: NonZeroU32::MIN,
                    column: NonZeroU32::MIN,
                    text: None,
                    map_url: Some(map.url.clone()),
                };
                let source = event_loop.add_source(source).map_err(invalid)?;
                event_loop.add_map(source, Arc::clone(map));
                *sources.entry(url).or_insert(source)
            },
        }),
    };
    let resource = event_loop.add_resource(url).map_err(invalid)?;
    let kind = match resource {
        Some(_) => FunctionKind::Script,
        None => FunctionKind::Unknown,
    };
    event_loop
        .add_function(Function {
            name: label::read_exact(function_name).into_owned(),
            kind,
            resource,
            line,
            column,
            source,
            ..Function::default()
        })
        .map_err(invalid)
}
