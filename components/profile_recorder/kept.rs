/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What is kept of an event loop's recording: the tables as they came, the samples that are wanted, and what was missed
//! between them.
//!
//! Chunks come from other processes, and these run what pages give them. So a chunk is accepted only as far
//! as it refers to entries that exist, and to times at which it can have been sampled.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::mem;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::time::Duration;

use js_profiler_traits::recording::{
    Chunk, Description, EventLoopKind, LinkedMap, MAX_MAP_BYTES, MAX_SOURCE_BYTES, MissedReason,
    Realm, RecordedFrame, RecordedFunction, RecordedFunctionKind, RecordedMissed, RecordedPosition,
    RecordedSource, is_map_itself,
};
use js_profiler_traits::{Marker, OTHER_FUNCTIONS, Room, SampleCounts, Stack};
use profile_formats::{
    Activity, EventLoop, FetchedMap, Frame, FrameId, Function, FunctionId, FunctionKind, Invalid,
    MAX_STACK_DEPTH, Missed, Place, Sample, Source, SourceId, StackId,
};
use servo_base::cross_process_instant::CrossProcessInstant;

use crate::Wanted;

/// What is kept of an event loop's recording.
#[derive(Debug)]
pub struct Kept {
    wanted: Wanted,
    /// The time 0 of the recording's clock.
    start: CrossProcessInstant,
    description: Description,
    /// Whether it has shown the page that is left out, and whether others.
    has_shown: HasShown,
    counts: SampleCounts,
    /// The tables with their samples, in the order in which they came.
    parts: VecDeque<Part>,
    /// The number of samples in all parts.
    samples: u64,
    /// The time of the last sample that came, kept or not, in milliseconds.
    last_time: f64,
    /// The newest samples in which the event loop has been busy without a pause.
    stretch: Option<Stretch>,
    /// What was missed before, between and after the samples that are kept, in the order of time.
    missed: VecDeque<Missed>,
    /// The last stretch of missed samples that came, kept or not: its start and its end, in milliseconds.
    last_missed: (f64, f64),
    /// How many samples were reported as missed.
    missed_samples: u64,
    /// The sources of scripts, by the engine's number.
    sources: HashMap<u32, RecordedSource>,
    /// The source maps that were fetched for them, by the engine's number of the script.
    maps: HashMap<u32, Arc<FetchedMap>>,
    /// The size of the sources and the maps, in bytes.
    sources_bytes: usize,
    /// Whether no more samples are accepted.
    full: bool,
    /// For the tables of the whole recording.
    room: Arc<Room>,
}

#[derive(Clone, Copy, Debug, Default)]
struct HasShown {
    page: bool,
    others: bool,
}

/// Tables and the samples that refer to them.
#[derive(Debug)]
struct Part {
    resources: Rows<String>,
    realms: Rows<Realm>,
    functions: Rows<RecordedFunction>,
    frames: Rows<RecordedFrame>,
    stacks: Rows<Stack>,
    /// The depth of each stack that is kept, in frames.
    depths: Vec<u32>,
    samples: VecDeque<KeptSample>,
    /// The size of the texts in the tables, in bytes.
    text: u64,
    taken: Taken,
}

/// The rows of a table. Those that are left out come after those that are kept, and have ids, too.
#[derive(Debug)]
struct Rows<T> {
    kept: Vec<T>,
    left_out: usize,
}

impl<T> Rows<T> {
    const fn new() -> Self {
        Self {
            kept: Vec::new(),
            left_out: 0,
        }
    }

    /// How many there are, with those that are left out.
    fn len(&self) -> usize {
        self.kept.len() + self.left_out
    }

    /// Keeps a row if there is room for it. `text` is the size of its texts, in bytes. Returns what was kept of these.
    fn add(&mut self, row: T, text: usize, taken: &mut Taken) -> u64 {
        // Vectors double their size.
        if taken.take(2 * size_of::<T>() + text) {
            self.kept.push(row);
            return text as u64;
        }
        self.left_out += 1;
        0
    }
}

/// What the tables of a part have taken of the room of the recording. It is given back with them.
#[derive(Debug)]
struct Taken {
    room: Arc<Room>,
    bytes: usize,
    /// Whether there was no room for a row. No later one is kept then, so that no row that is kept refers to one that is
    /// not.
    is_full: bool,
}

impl Taken {
    fn take(&mut self, bytes: usize) -> bool {
        // When it is full, nothing more is taken of the room, not even for a row that is short.
        self.is_full = self.is_full || !self.room.take(bytes);
        if !self.is_full {
            self.bytes += bytes;
        }
        !self.is_full
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.room.give_back(self.bytes);
    }
}

#[derive(Clone, Copy, Debug)]
struct KeptSample {
    /// In milliseconds since the recording began.
    time: f64,
    /// The index of the stack plus one.
    stack: Option<NonZeroU32>,
    marker: Option<Marker>,
}

const _: () = assert!(size_of::<KeptSample>() == 16);

/// A stretch of time in which the event loop has been busy, since its last idle sample.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// The time of its first sample, in milliseconds since the recording began.
    since: f64,
    /// How many of the newest samples belong to it.
    samples: u64,
    /// Whether it is long enough to be kept.
    is_long: bool,
}

/// The longest name of a script that is accepted, and the longest link to a source map, in bytes.
const MAX_SOURCE_NAME: usize = 40_000;

/// How many samples an event loop can have missed in a millisecond of its recording, at most. The shortest interval is
/// 100 µs.
const MAX_MISSED_PER_MILLISECOND: f64 = 1_000.;

/// What a process must not report.
#[derive(Clone, Debug, PartialEq)]
pub enum Nonsense {
    /// An id without an entry: what refers to it, and the id.
    NoSuch(&'static str, u32),
    /// Samples or entries before the first tables.
    NoTables,
    /// More entries of a table than there are ids.
    TooMany(&'static str),
    /// A stack of more than [`MAX_STACK_DEPTH`] frames.
    TooDeep,
    /// A sample that is earlier than the one before.
    Backwards {
        /// The time of the sample, in milliseconds since the recording began.
        time: f64,
        /// The time of the one before.
        last: f64,
    },
    /// A sample from before the recording began, or from the future.
    OutOfTime,
    /// Missed samples that are impossible, and what is wrong with them.
    Missed(&'static str),
    /// A source that is impossible, and what is wrong with it.
    Source(&'static str),
    /// A source map that is impossible, and what is wrong with it.
    Map(&'static str),
}

impl fmt::Display for Nonsense {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuch(what, id) => write!(formatter, "{what} {id}, which does not exist"),
            Self::NoTables => formatter.write_str("samples without tables"),
            Self::TooMany(what) => write!(formatter, "more {what} than there are ids"),
            Self::TooDeep => write!(formatter, "a stack of more than {MAX_STACK_DEPTH} frames"),
            Self::Backwards { time, last } => {
                write!(formatter, "a sample at {time} ms after one at {last} ms")
            },
            Self::OutOfTime => {
                formatter.write_str("a sample from before the recording or from the future")
            },
            Self::Missed(problem) => write!(formatter, "missed samples {problem}"),
            Self::Source(problem) => write!(formatter, "the text of a script {problem}"),
            Self::Map(problem) => write!(formatter, "a source map {problem}"),
        }
    }
}

impl std::error::Error for Nonsense {}

impl Kept {
    /// Keeps nothing yet. `start` is when the recording began. `room` is for the tables of all its event loops.
    pub fn new(wanted: Wanted, start: CrossProcessInstant, room: Arc<Room>) -> Self {
        Self {
            wanted,
            start,
            description: Description::default(),
            has_shown: HasShown::default(),
            counts: SampleCounts::default(),
            parts: VecDeque::new(),
            samples: 0,
            last_time: 0.,
            stretch: None,
            missed: VecDeque::new(),
            last_missed: (0., 0.),
            missed_samples: 0,
            sources: HashMap::new(),
            maps: HashMap::new(),
            sources_bytes: 0,
            full: false,
            room,
        }
    }

    /// Adds a chunk, up to the first thing in it that cannot be accepted. `now` is the time at which it came.
    ///
    /// # Errors
    ///
    /// A [`Nonsense`] says what cannot be accepted.
    pub fn add(&mut self, mut chunk: Chunk, now: CrossProcessInstant) -> Result<(), Nonsense> {
        self.counts = chunk.counts;
        if let Some(description) = chunk.description.take() {
            if let Some(page) = self.wanted.without_page {
                for url in &description.urls {
                    match is_of_page(url, page) {
                        true => self.has_shown.page = true,
                        false => self.has_shown.others = true,
                    }
                }
            }
            self.description = description;
        }
        if self.full {
            return Ok(());
        }
        if chunk.new_tables {
            self.parts.retain(|part| !part.samples.is_empty());
            self.parts.push_back(Part::new(self.room.clone()));
        }
        let part = self.parts.back_mut().ok_or(Nonsense::NoTables)?;
        let samples = mem::take(&mut chunk.samples);
        let missed = mem::take(&mut chunk.missed);
        part.add_tables(chunk)?;
        let stack_count = part.stacks.len();
        if self.is_left_out() {
            // The tables are kept, because the event loop may still show another page.
            return Ok(());
        }
        let mut missed = missed.into_iter().peekable();
        for sample in samples {
            while let Some(before) = missed.next_if(|missed| missed.end <= sample.time) {
                self.add_missed(before, now)?;
            }
            check("a sample of stack", sample.stack, stack_count)?;
            let stack = sample.stack.and_then(|id| NonZeroU32::new(id + 1));
            // The clock is the system's, which is the same for all processes.
            if !(self.start..=now).contains(&sample.time) {
                return Err(Nonsense::OutOfTime);
            }
            let time = milliseconds(self.start, sample.time);
            if time < self.last_time {
                return Err(Nonsense::Backwards {
                    time,
                    last: self.last_time,
                });
            }
            self.add_sample(KeptSample {
                time,
                stack,
                marker: sample.marker,
            });
            if self.full {
                return Ok(());
            }
        }
        for behind in missed {
            self.add_missed(behind, now)?;
        }
        Ok(())
    }

    /// Adds the source of a script.
    ///
    /// # Errors
    ///
    /// A [`Nonsense`] says why it cannot be accepted.
    pub fn add_source(&mut self, source: RecordedSource) -> Result<(), Nonsense> {
        let text = source.text.as_ref().map_or(0, String::len);
        let is_long = |link: &String| match is_map_itself(link) {
            true => link.len() > MAX_MAP_BYTES,
            false => link.len() > MAX_SOURCE_NAME,
        };
        if text > MAX_SOURCE_BYTES
            || source.name.len() > MAX_SOURCE_NAME
            || source.map_url.as_ref().is_some_and(is_long)
        {
            return Err(Nonsense::Source("that is too long"));
        }
        if source.line == 0 || source.column == 0 {
            return Err(Nonsense::Source("that begins at no line or column"));
        }
        let bytes = bytes_of_source(&source);
        if self.sources.insert(source.id, source).is_some() {
            return Err(Nonsense::Source("that was reported before"));
        }
        self.sources_bytes += bytes;
        Ok(())
    }

    /// Adds a source map to the scripts that link to it, if they are kept and have no map yet. True if there are
    /// any such scripts.
    ///
    /// # Errors
    ///
    /// A [`Nonsense`] says why it cannot be accepted.
    pub fn add_map(&mut self, map: LinkedMap) -> Result<bool, Nonsense> {
        let LinkedMap {
            sources,
            url,
            content,
        } = map;
        let is_too_long = match &content {
            Ok(content) => content.len() > MAX_MAP_BYTES,
            Err(why) => why.len() > MAX_SOURCE_NAME,
        };
        if is_too_long || url.len() > MAX_SOURCE_NAME {
            return Err(Nonsense::Map("that is too long"));
        }
        if sources.is_empty() {
            return Err(Nonsense::Map("of no script"));
        }
        let bytes = url.len() + content.as_ref().unwrap_or_else(|why| why).len();
        let map = Arc::new(FetchedMap { url, content });
        let mut is_kept = false;
        for source in sources {
            if self.sources.contains_key(&source) && !self.maps.contains_key(&source) {
                self.maps.insert(source, map.clone());
                is_kept = true;
            }
        }
        if is_kept {
            self.sources_bytes += bytes;
        }
        Ok(is_kept)
    }

    /// Adds a stretch of missed samples. The last sample that was added is the one before it.
    fn add_missed(
        &mut self,
        missed: RecordedMissed,
        now: CrossProcessInstant,
    ) -> Result<(), Nonsense> {
        let RecordedMissed {
            start,
            end,
            samples,
            why,
        } = missed;
        if start < self.start || end > now {
            return Err(Nonsense::Missed(
                "from before the recording or from the future",
            ));
        }
        if start > end {
            return Err(Nonsense::Missed("whose end is before their start"));
        }
        let [start, end] = [start, end].map(|time| milliseconds(self.start, time));
        let is_same = (start, end) == self.last_missed;
        if start < self.last_time || (start < self.last_missed.1 && !is_same) {
            return Err(Nonsense::Missed("from before what was reported last"));
        }
        if samples == 0 {
            return Err(Nonsense::Missed("of which there are none"));
        }
        self.missed_samples += u64::from(samples);
        if self.missed_samples as f64 > (end + 1.) * MAX_MISSED_PER_MILLISECOND {
            return Err(Nonsense::Missed("of which there are too many for the time"));
        }
        self.last_missed = (start, end);
        // Each reason may occur once before each sample, and once after the last one.
        let most = (self.samples + 1) * MissedReason::ALL.len() as u64;
        if self.missed.len() as u64 >= most {
            return Err(Nonsense::Missed("again and again without a sample"));
        }
        self.missed.push_back(Missed {
            start,
            end,
            samples,
            why: reason(why),
        });
        Ok(())
    }

    fn add_sample(&mut self, sample: KeptSample) {
        self.last_time = sample.time;
        if let Some(least) = self.wanted.long_tasks
            && !self.is_of_long_task(sample, milliseconds_of(least))
        {
            return;
        }
        if let Some(part) = self.parts.back_mut() {
            part.samples.push_back(sample);
            self.samples += 1;
        }
        self.forget_old(self.last_time);
        let Some(max_samples) = self.wanted.max_samples.map(NonZeroU64::get) else {
            return;
        };
        if self.wanted.keep_last.is_some() {
            while self.samples > max_samples {
                self.forget_first();
            }
        } else if self.samples >= max_samples {
            // A stretch that is not known to be long yet may still be dropped.
            self.full = self.stretch.is_none_or(|stretch| stretch.is_long);
        }
    }

    /// Follows the stretches in which the event loop is busy, and drops the samples of those that were too short.
    /// Returns whether this sample may be kept. An idle sample may be kept only if it ends a long stretch.
    fn is_of_long_task(&mut self, sample: KeptSample, least: f64) -> bool {
        if sample.marker.is_some() {
            if self.stretch.is_none() {
                // What was missed before this sample is kept only if the sample before it is kept.
                let last = self.last_kept_time();
                while self.missed.back().is_some_and(|one| one.start > last) {
                    self.missed.pop_back();
                }
            }
            let stretch = self.stretch.get_or_insert(Stretch {
                since: sample.time,
                samples: 0,
                is_long: false,
            });
            stretch.samples += 1;
            stretch.is_long |= sample.time - stretch.since > least;
            return true;
        }
        let Some(stretch) = self.stretch.take() else {
            self.forget_missed_behind_last();
            return false;
        };
        // The event loop was busy until this sample at the latest.
        let is_long = stretch.is_long || sample.time - stretch.since > least;
        if !is_long {
            self.take_back(stretch.samples);
            self.forget_missed_behind_last();
        }
        is_long
    }

    /// The time of the newest sample that is kept, in milliseconds since the recording began. Minus infinity if there
    /// is none.
    fn last_kept_time(&self) -> f64 {
        let last = self.parts.iter().rev().find_map(|part| part.samples.back());
        last.map_or(f64::NEG_INFINITY, |sample| sample.time)
    }

    /// Drops what was missed after the newest sample that is kept.
    fn forget_missed_behind_last(&mut self) {
        let last = self.last_kept_time();
        while self.missed.back().is_some_and(|one| one.end > last) {
            self.missed.pop_back();
        }
    }

    /// Drops what was missed before the oldest sample that is kept, or before `oldest` if there is none.
    fn forget_missed_before_first(&mut self, oldest: f64) {
        let first = self.first().map_or(oldest, |sample| sample.time);
        while self.missed.front().is_some_and(|one| one.end < first) {
            self.missed.pop_front();
        }
    }

    /// Drops the newest samples.
    fn take_back(&mut self, samples: u64) {
        for _ in 0..samples {
            for part in self.parts.iter_mut().rev() {
                if part.samples.pop_back().is_some() {
                    self.samples -= 1;
                    break;
                }
            }
        }
    }

    /// Drops the samples that are older than `newest` by more than is to be kept, and what was missed between them.
    /// `newest` is in milliseconds since the recording began.
    pub fn forget_old(&mut self, newest: f64) {
        let Some(keep_last) = self.wanted.keep_last else {
            return;
        };
        let oldest = newest - milliseconds_of(keep_last);
        while self.first().is_some_and(|sample| sample.time < oldest) {
            self.forget_first();
        }
        self.forget_missed_before_first(oldest);
    }

    fn first(&self) -> Option<&KeptSample> {
        self.parts.iter().find_map(|part| part.samples.front())
    }

    fn forget_first(&mut self) {
        while let Some(part) = self.parts.front_mut() {
            if part.samples.pop_front().is_some() {
                self.samples -= 1;
                if let Some(stretch) = &mut self.stretch {
                    // The dropped sample may belong to the stretch.
                    stretch.samples = stretch.samples.min(self.samples);
                }
                return;
            }
            if self.parts.len() == 1 {
                return;
            }
            // Nothing refers to its tables any more.
            self.parts.pop_front();
        }
    }

    /// Whether the whole event loop is left out.
    pub fn is_left_out(&self) -> bool {
        self.has_shown.page && !self.has_shown.others
    }

    /// A name for people. Several event loops may have the same.
    pub fn label(&self) -> String {
        self.description.label()
    }

    /// How the samples of the event loop went, as its process reports it.
    pub fn counts(&self) -> SampleCounts {
        self.counts
    }

    /// How many samples show functions for which there was no room: in the tables of its process, as that reports it, or
    /// here.
    pub fn others(&self) -> u64 {
        let full = self.parts.iter().filter(|part| part.stacks.left_out > 0);
        let of_part = |part: &Part| {
            let is_other = |sample: &&KeptSample| !part.has_stack(sample);
            part.samples.iter().filter(is_other).count() as u64
        };
        self.counts.other.saturating_add(full.map(of_part).sum())
    }

    /// How many samples are kept.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The time of the last sample that came, in milliseconds since the recording began.
    pub fn last_time(&self) -> f64 {
        self.last_time
    }

    /// Whether no more samples are accepted.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// The memory that is used, in bytes.
    pub fn memory(&self) -> u64 {
        let of_part = |part: &Part| {
            part.text
                + vec_bytes(&part.resources.kept)
                + vec_bytes(&part.realms.kept)
                + vec_bytes(&part.functions.kept)
                + vec_bytes(&part.frames.kept)
                + vec_bytes(&part.stacks.kept)
                + vec_bytes(&part.depths)
                + (part.samples.capacity() * size_of::<KeptSample>()) as u64
        };
        let missed = self.missed.capacity() * size_of::<Missed>();
        self.parts.iter().map(of_part).sum::<u64>() + (missed + self.sources_bytes) as u64
    }

    /// The event loop, with its samples, the entries that these refer to, and what was missed. `newest` is the time at which
    /// the recording ends, in milliseconds since it began.
    ///
    /// # Errors
    ///
    /// If the model of a recording does not accept an entry or a sample.
    pub fn finish(mut self, newest: f64) -> Result<EventLoop, Invalid> {
        if self.wanted.long_tasks.is_some() {
            let stretch = self.stretch.take();
            let short = stretch.filter(|stretch| !stretch.is_long);
            self.take_back(short.map_or(0, |stretch| stretch.samples));
            // A long task that is still running goes on through the samples that were missed after it.
            if stretch.is_none() || short.is_some() {
                self.forget_missed_behind_last();
            }
        }
        if let Some(max) = self.wanted.max_samples.map(NonZeroU64::get)
            && self.samples > max
        {
            self.take_back(self.samples - max);
            self.forget_missed_behind_last();
        }
        self.forget_old(newest);
        let label = self.description.label();
        let mut event_loop = EventLoop::new(label, kind(self.description));
        let mut sources = Sources {
            reported: self.sources,
            maps: self.maps,
            known: HashMap::new(),
        };
        for part in mem::take(&mut self.parts) {
            part.finish(&mut event_loop, &mut sources)?;
        }
        for missed in self.missed {
            event_loop.add_missed(missed)?;
        }
        Ok(event_loop)
    }
}

/// The sources of scripts, while an event loop's tables are made.
struct Sources {
    /// Those that are in no table yet.
    reported: HashMap<u32, RecordedSource>,
    maps: HashMap<u32, Arc<FetchedMap>>,
    known: HashMap<u32, SourceId>,
}

impl Sources {
    /// A source in the tables. `None` if it was not reported.
    fn add(&mut self, id: u32, event_loop: &mut EventLoop) -> Result<Option<SourceId>, Invalid> {
        if let Some(known) = self.known.get(&id) {
            return Ok(Some(*known));
        }
        let Some(source) = self.reported.remove(&id) else {
            return Ok(None);
        };
        let one_or_more = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        let source = event_loop.add_source(Source {
            name: source.name,
            line: one_or_more(source.line),
            column: one_or_more(source.column),
            text: source.text,
            map_url: source.map_url,
        })?;
        if let Some(map) = self.maps.remove(&id) {
            event_loop.add_map(source, map);
        }
        self.known.insert(id, source);
        Ok(Some(source))
    }
}

impl Part {
    fn new(room: Arc<Room>) -> Self {
        Self {
            resources: Rows::new(),
            realms: Rows::new(),
            functions: Rows::new(),
            frames: Rows::new(),
            stacks: Rows::new(),
            depths: Vec::new(),
            samples: VecDeque::new(),
            text: 0,
            taken: Taken {
                room,
                bytes: 0,
                is_full: false,
            },
        }
    }

    /// Whether the stack of a sample is kept, or it has none.
    fn has_stack(&self, sample: &KeptSample) -> bool {
        index(sample.stack).is_none_or(|index| index < self.stacks.kept.len())
    }

    fn add_tables(&mut self, new: Chunk) -> Result<(), Nonsense> {
        let taken = &mut self.taken;
        for resource in new.resources {
            let text = resource.capacity();
            self.text += self.resources.add(resource, text, taken);
        }
        for realm in new.realms {
            let origin = realm.origin.as_ref().map_or(0, String::capacity);
            let text = realm.url.capacity() + origin;
            self.text += self.realms.add(realm, text, taken);
        }
        for function in new.functions {
            let resource_count = self.resources.len();
            check("a function of resource", function.resource, resource_count)?;
            check("a function of realm", function.realm, self.realms.len())?;
            let text = function.name.capacity();
            self.text += self.functions.add(function, text, taken);
        }
        for frame in new.frames {
            let function = Some(frame.function);
            check("a frame of function", function, self.functions.len())?;
            self.frames.add(frame, 0, taken);
        }
        for stack in new.stacks {
            check(
                "a stack with frame",
                Some(stack.frame_id),
                self.frames.len(),
            )?;
            check("a stack with parent", stack.parent_id, self.stacks.len())?;
            // What is called from a stack that is left out is left out, too.
            let parent = stack.parent_id.map(|id| id as usize);
            let parent_depth = parent.and_then(|id| self.depths.get(id).copied());
            let parent_depth = parent_depth.unwrap_or_default();
            if parent_depth >= MAX_STACK_DEPTH {
                return Err(Nonsense::TooDeep);
            }
            self.stacks.add(stack, 2 * size_of::<u32>(), taken);
            if self.stacks.left_out == 0 {
                self.depths.push(parent_depth + 1);
            }
        }
        for (what, length) in [
            ("functions", self.functions.len()),
            ("frames", self.frames.len()),
            ("stacks", self.stacks.len()),
        ] {
            // `None` needs an id, too.
            if length >= u32::MAX as usize {
                return Err(Nonsense::TooMany(what));
            }
        }
        Ok(())
    }

    fn finish(self, event_loop: &mut EventLoop, sources: &mut Sources) -> Result<(), Invalid> {
        let kept = &self.stacks.kept;
        let mut is_used = vec![false; kept.len()];
        let mut has_other = false;
        for sample in &self.samples {
            let Some(index) = index(sample.stack) else {
                continue;
            };
            match is_used.get_mut(index) {
                Some(is_used) => *is_used = true,
                None => has_other = true,
            }
        }
        // A parent comes before its children.
        for index in (0..kept.len()).rev() {
            if let Some(parent) = kept[index].parent_id.filter(|_| is_used[index]) {
                is_used[parent as usize] = true;
            }
        }
        let mut functions: Vec<Option<FunctionId>> = vec![None; self.functions.kept.len()];
        let mut frames: Vec<Option<FrameId>> = vec![None; self.frames.kept.len()];
        let mut stacks: Vec<Option<StackId>> = vec![None; kept.len()];
        for (index, stack) in kept.iter().enumerate() {
            if !is_used[index] {
                continue;
            }
            let frame = match frames[stack.frame_id as usize] {
                Some(frame) => frame,
                None => {
                    let frame = self.frames.kept[stack.frame_id as usize];
                    let index = frame.function as usize;
                    let function = match functions[index] {
                        Some(function) => function,
                        None => {
                            let function = self.add_function(event_loop, sources, index)?;
                            *functions[index].insert(function)
                        },
                    };
                    let has_text = event_loop.function(function).resource.is_some();
                    let place = frame.position.and_then(place);
                    // A place means nothing without the text that it is in.
                    let place = place.filter(|one| has_text || one.wasm_offset().is_some());
                    let frame = event_loop.add_frame(Frame { function, place })?;
                    *frames[stack.frame_id as usize].insert(frame)
                },
            };
            let parent = stack.parent_id.and_then(|parent| stacks[parent as usize]);
            stacks[index] = Some(event_loop.add_stack(parent, frame)?);
        }
        let other = match has_other {
            true => Some(add_other_stack(event_loop)?),
            false => None,
        };
        for sample in self.samples {
            let stack = index(sample.stack);
            event_loop.add_sample(Sample {
                time: sample.time,
                weight: 1,
                stack: stack.and_then(|index| stacks.get(index).copied().unwrap_or(other)),
                activity: Some(sample.marker.map_or(Activity::Idle, activity)),
            })?;
        }
        Ok(())
    }

    fn add_function(
        &self,
        event_loop: &mut EventLoop,
        sources: &mut Sources,
        index: usize,
    ) -> Result<FunctionId, Invalid> {
        let function = &self.functions.kept[index];
        let source = match function.source {
            Some(id) => sources.add(id, event_loop)?,
            None => None,
        };
        let resource = match (function.resource, source) {
            (Some(id), _) => event_loop.add_resource(&self.resources.kept[id as usize])?,
            // A script made it from text.
            (None, Some(source)) => {
                let name = event_loop.source(source).name.clone();
                event_loop.add_resource(&name)?
            },
            (None, None) => None,
        };
        let number = |number: Option<u32>| {
            let number = number.filter(|_| resource.is_some());
            number.and_then(NonZeroU32::new)
        };
        let realm = match function.realm {
            Some(id) => {
                let realm = &self.realms.kept[id as usize];
                Some(event_loop.add_realm(profile_formats::Realm {
                    url: realm.url.clone(),
                    origin: realm.origin.clone(),
                })?)
            },
            None => None,
        };
        event_loop.add_function(Function {
            name: function.name.clone(),
            kind: match function.kind {
                RecordedFunctionKind::Script => FunctionKind::Script,
                RecordedFunctionKind::BuiltIn => FunctionKind::BuiltIn,
            },
            resource,
            line: number(function.line),
            column: number(function.column),
            realm,
            source,
            generated: None,
        })
    }
}

/// The stack that stands for those for which there was no room. It has one frame, which stands for functions.
fn add_other_stack(event_loop: &mut EventLoop) -> Result<StackId, Invalid> {
    let function = event_loop.add_function(Function {
        name: OTHER_FUNCTIONS.to_owned(),
        kind: FunctionKind::Script,
        resource: None,
        line: None,
        column: None,
        realm: None,
        source: None,
        generated: None,
    })?;
    let frame = event_loop.add_frame(Frame {
        function,
        place: None,
    })?;
    event_loop.add_stack(None, frame)
}

/// A place in the terms of the model of a recording. `None` for line 0, which does not exist.
fn place(position: RecordedPosition) -> Option<Place> {
    Some(match position {
        RecordedPosition::Source { line, column } => Place::Source {
            line: NonZeroU32::new(line)?,
            column: NonZeroU32::new(column),
        },
        RecordedPosition::WasmOffset(offset) => Place::WasmOffset(offset),
    })
}

/// What an event loop is for, in the terms of the model of a recording.
pub fn kind(description: Description) -> profile_formats::EventLoopKind {
    match description.kind {
        EventLoopKind::Page => profile_formats::EventLoopKind::Page {
            documents: description.urls,
        },
        EventLoopKind::Worker | EventLoopKind::SharedWorker | EventLoopKind::ServiceWorker => {
            profile_formats::EventLoopKind::Worker
        },
        EventLoopKind::Unknown => profile_formats::EventLoopKind::Unknown,
    }
}

fn activity(marker: Marker) -> Activity {
    match marker {
        Marker::Script => Activity::Script,
        Marker::Gc => Activity::Gc,
        Marker::Style => Activity::Style,
        Marker::Layout => Activity::Layout,
        Marker::Paint => Activity::Paint,
        Marker::Other => Activity::Other,
    }
}

/// Why samples were missed, in the terms of the model of a recording.
fn reason(why: MissedReason) -> profile_formats::MissedReason {
    match why {
        MissedReason::SamplerLate => profile_formats::MissedReason::SamplerLate,
        MissedReason::NoProcessor => profile_formats::MissedReason::NoProcessor,
        MissedReason::NotStopped => profile_formats::MissedReason::NotStopped,
        MissedReason::LongWalks => profile_formats::MissedReason::LongWalks,
        MissedReason::TooDeep => profile_formats::MissedReason::TooDeep,
        MissedReason::OtherStack => profile_formats::MissedReason::OtherStack,
    }
}

fn check(what: &'static str, id: Option<u32>, length: usize) -> Result<(), Nonsense> {
    match id {
        Some(id) if id as usize >= length => Err(Nonsense::NoSuch(what, id)),
        _ => Ok(()),
    }
}

/// The memory that a source takes, in bytes.
pub fn bytes_of_source(source: &RecordedSource) -> usize {
    let link = source.map_url.as_ref().map_or(0, String::len);
    let text = source.text.as_ref().map_or(0, String::len);
    size_of::<RecordedSource>() + text + source.name.len() + link
}

/// The memory, in bytes, that a source map takes, or the reason why there is none.
pub fn bytes_of_map(map: &LinkedMap) -> usize {
    let content = map.content.as_ref().unwrap_or_else(|why| why);
    size_of::<LinkedMap>() + content.len() + map.url.len()
}

/// Whether a URL is that of a page, whatever its query and fragment.
fn is_of_page(url: &str, page: &str) -> bool {
    url.strip_prefix(page)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['?', '#']))
}

fn index(stack: Option<NonZeroU32>) -> Option<usize> {
    stack.map(|id| id.get() as usize - 1)
}

fn vec_bytes<T>(vec: &Vec<T>) -> u64 {
    (vec.capacity() * size_of::<T>()) as u64
}

/// The milliseconds from `start` to `time`.
pub fn milliseconds(start: CrossProcessInstant, time: CrossProcessInstant) -> f64 {
    (time - start).as_seconds_f64() * 1_000.
}

fn milliseconds_of(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.
}

#[cfg(test)]
mod tests {
    use js_profiler_traits::EventLoopId;
    use js_profiler_traits::recording::{RecordedSample, RecordingId};

    use super::*;

    /// Tables in which the stack 0 is `root`, and the stack 1 is `leaf` below it.
    fn tables(leaf: &str) -> Chunk {
        let function = |name: &str, resource, realm| RecordedFunction {
            name: name.to_owned(),
            kind: RecordedFunctionKind::Script,
            resource,
            line: Some(3),
            column: Some(7),
            realm,
            source: resource.map(|resource| resource + 20),
        };
        Chunk {
            new_tables: true,
            resources: vec!["https://a.example/a.js".to_owned()],
            realms: vec![Realm {
                url: "https://a.example/".to_owned(),
                origin: Some("https://a.example".to_owned()),
            }],
            functions: vec![
                function("root", Some(0), Some(0)),
                function(leaf, None, None),
            ],
            frames: vec![frame(0), frame(1)],
            stacks: vec![stack(None, 0), stack(Some(0), 1)],
            ..nothing()
        }
    }

    /// As much as anybody needs.
    fn room() -> Arc<Room> {
        Arc::new(Room::of(usize::MAX))
    }

    fn frame(function: u32) -> RecordedFrame {
        RecordedFrame {
            function,
            position: None,
        }
    }

    fn stack(parent_id: Option<u32>, frame_id: u32) -> Stack {
        Stack {
            parent_id,
            frame_id,
        }
    }

    fn nothing() -> Chunk {
        Chunk::empty(RecordingId(1), EventLoopId(1), SampleCounts::default())
    }

    /// A moment on the tests' clock, in milliseconds.
    fn at(milliseconds: u64) -> CrossProcessInstant {
        CrossProcessInstant::epoch()
            + Duration::from_millis(1_000 + milliseconds)
                .try_into()
                .unwrap()
    }

    const END: u64 = 1_000_000;

    fn busy(time: u64, stack: Option<u32>) -> RecordedSample {
        RecordedSample {
            time: at(time),
            stack,
            marker: Some(Marker::Script),
        }
    }

    fn idle(time: u64) -> RecordedSample {
        RecordedSample {
            time: at(time),
            stack: None,
            marker: None,
        }
    }

    fn samples(samples: impl IntoIterator<Item = RecordedSample>) -> Chunk {
        Chunk {
            samples: samples.into_iter().collect(),
            ..nothing()
        }
    }

    /// Samples that were missed for one reason.
    fn missed(start: u64, end: u64, samples: u32) -> RecordedMissed {
        RecordedMissed {
            start: at(start),
            end: at(end),
            samples,
            why: MissedReason::NoProcessor,
        }
    }

    /// A chunk of samples and of what was missed between them: start, end and number.
    fn with_missed(
        of_samples: impl IntoIterator<Item = RecordedSample>,
        of_missed: &[(u64, u64, u32)],
    ) -> Chunk {
        let of_missed = of_missed.iter();
        Chunk {
            missed: of_missed
                .map(|&(start, end, samples)| missed(start, end, samples))
                .collect(),
            ..samples(of_samples)
        }
    }

    /// The times at which the event loop was not sampled.
    fn unknown(event_loop: &EventLoop) -> Vec<(f64, f64)> {
        let missed = event_loop.missed().iter();
        missed.map(|one| (one.start, one.end)).collect()
    }

    fn kept(wanted: Wanted) -> Kept {
        let mut kept = Kept::new(wanted, at(0), room());
        kept.add(tables("leaf"), at(END)).unwrap();
        kept
    }

    fn times(event_loop: &EventLoop) -> Vec<f64> {
        event_loop.samples().iter().map(|one| one.time).collect()
    }

    /// The names on the stack of a sample, from the root to the leaf.
    fn names(event_loop: &EventLoop, sample: usize) -> Vec<&str> {
        let frames = event_loop.frames_of(event_loop.samples()[sample].stack);
        frames
            .into_iter()
            .map(|frame| &*event_loop.function_of(frame).name)
            .collect()
    }

    #[test]
    fn what_has_no_room_is_shown_as_other_functions_until_new_tables_come() {
        const ROOM: usize = 4_000;
        let room = Arc::new(Room::of(ROOM));
        let of_last_second = Wanted {
            keep_last: Some(Duration::from_secs(1)),
            ..Wanted::default()
        };
        let mut kept = Kept::new(of_last_second, at(0), room.clone());
        let add = |kept: &mut Kept, chunk| kept.add(chunk, at(END));
        add(&mut kept, tables("leaf")).unwrap();
        add(&mut kept, samples([busy(1, Some(1))])).unwrap();
        let long = || tables(&"x".repeat(ROOM)).functions;
        let more = Chunk {
            functions: long(),
            frames: vec![frame(0), frame(3), frame(2)],
            stacks: vec![stack(Some(0), 2), stack(Some(2), 3)],
            ..samples([busy(2, Some(3)), busy(3, Some(0)), busy(4, Some(2))])
        };
        add(&mut kept, more).unwrap();
        // Ids go on, and are checked like those of rows that are kept.
        add(&mut kept, samples([busy(5, Some(3))])).unwrap();
        let no_such = add(&mut kept, samples([busy(6, Some(4))]));
        assert_eq!(no_such, Err(Nonsense::NoSuch("a sample of stack", 4)));
        let no_such = Chunk {
            frames: vec![frame(4)],
            ..nothing()
        };
        let no_such = add(&mut kept, no_such);
        assert_eq!(no_such, Err(Nonsense::NoSuch("a frame of function", 4)));
        assert_eq!(kept.others(), 3);
        let reported = Chunk {
            counts: SampleCounts {
                other: 7,
                ..SampleCounts::default()
            },
            ..nothing()
        };
        add(&mut kept, reported).unwrap();
        assert_eq!(kept.others(), 10);
        // The old tables have samples, so they keep their room until these are too old.
        add(&mut kept, tables("second leaf")).unwrap();
        add(
            &mut kept,
            samples([busy(900, Some(1)), busy(1_500, Some(1))]),
        )
        .unwrap();
        let mut event_loop = kept.finish(1_500.).unwrap();
        assert_eq!(times(&event_loop), [900., 1_500.]);
        assert_eq!(names(&event_loop, 0), ["root", "second leaf"]);
        assert!(room.has(ROOM), "all of it is given back");

        let mut kept = Kept::new(Wanted::default(), at(0), room.clone());
        add(&mut kept, tables("leaf")).unwrap();
        let more = Chunk {
            functions: long(),
            frames: vec![frame(2)],
            stacks: vec![stack(Some(0), 2)],
            ..samples([busy(1, Some(1)), busy(2, Some(2)), busy(3, Some(0))])
        };
        add(&mut kept, more).unwrap();
        event_loop = kept.finish(3.).unwrap();
        let shown: Vec<_> = (0..3).map(|sample| names(&event_loop, sample)).collect();
        assert_eq!(
            shown,
            [&["root", "leaf"][..], &[OTHER_FUNCTIONS], &["root"]]
        );
    }

    #[test]
    fn chunks_are_put_together() {
        let mut kept = kept(Wanted::default());
        kept.add(
            Chunk {
                description: Some(Description {
                    kind: EventLoopKind::Page,
                    name: String::new(),
                    urls: vec!["https://a.example/".to_owned()],
                }),
                ..samples([busy(1, Some(1)), idle(2)])
            },
            at(END),
        )
        .unwrap();
        kept.add(
            Chunk {
                stacks: vec![stack(Some(1), 0)],
                ..samples([busy(3, Some(2)), busy(4, None)])
            },
            at(END),
        )
        .unwrap();
        let event_loop = kept.finish(4.).unwrap();
        assert_eq!(event_loop.name, "Page https://a.example/");
        let documents = vec!["https://a.example/".to_owned()];
        assert_eq!(
            event_loop.kind,
            profile_formats::EventLoopKind::Page { documents }
        );
        assert_eq!(times(&event_loop), [1., 2., 3., 4.]);
        assert_eq!(names(&event_loop, 0), ["root", "leaf"]);
        assert_eq!(names(&event_loop, 2), ["root", "leaf", "root"]);
        assert!(names(&event_loop, 1).is_empty() && names(&event_loop, 3).is_empty());
        let activities: Vec<_> = event_loop
            .samples()
            .iter()
            .map(|sample| sample.activity.unwrap())
            .collect();
        use Activity::{Idle, Script};
        assert_eq!(activities, [Script, Idle, Script, Script]);
        let root = event_loop.functions().next().unwrap();
        assert_eq!(event_loop.resource_of(root), Some("https://a.example/a.js"));
        let realm = event_loop.realm(root.realm.unwrap());
        assert_eq!(realm.origin.as_deref(), Some("https://a.example"));
        assert_eq!(root.line.map(NonZeroU32::get), Some(3));
    }

    #[test]
    fn tables_that_begin_anew_are_not_mixed_up_with_those_before() {
        let mut kept = kept(Wanted::default());
        kept.add(samples([busy(1, Some(1))]), at(END)).unwrap();
        kept.add(tables("other"), at(END)).unwrap();
        kept.add(samples([busy(2, Some(1))]), at(END)).unwrap();
        let event_loop = kept.finish(2.).unwrap();
        assert_eq!(names(&event_loop, 0), ["root", "leaf"]);
        assert_eq!(names(&event_loop, 1), ["root", "other"]);
        // Entries that both tables have are not duplicated.
        assert_eq!(event_loop.frames().len(), 3);
        assert_eq!(event_loop.stacks().len(), 3);
    }

    #[test]
    fn nonsense_is_refused_and_what_came_before_it_is_kept() {
        let cases = [
            (
                samples([busy(5, Some(2))]),
                Nonsense::NoSuch("a sample of stack", 2),
            ),
            (
                samples([busy(5, Some(u32::MAX))]),
                Nonsense::NoSuch("a sample of stack", u32::MAX),
            ),
            (
                Chunk {
                    stacks: vec![stack(Some(2), 0)],
                    ..nothing()
                },
                Nonsense::NoSuch("a stack with parent", 2),
            ),
            (
                Chunk {
                    stacks: vec![stack(None, 2)],
                    ..nothing()
                },
                Nonsense::NoSuch("a stack with frame", 2),
            ),
            (
                Chunk {
                    frames: vec![frame(2)],
                    ..nothing()
                },
                Nonsense::NoSuch("a frame of function", 2),
            ),
            (
                Chunk {
                    functions: vec![RecordedFunction {
                        resource: Some(1),
                        ..tables("").functions[0].clone()
                    }],
                    ..nothing()
                },
                Nonsense::NoSuch("a function of resource", 1),
            ),
            (
                Chunk {
                    functions: vec![RecordedFunction {
                        realm: Some(1),
                        ..tables("").functions[0].clone()
                    }],
                    ..nothing()
                },
                Nonsense::NoSuch("a function of realm", 1),
            ),
            (
                samples([busy(6, None), busy(5, None)]),
                Nonsense::Backwards { time: 5., last: 6. },
            ),
            (samples([busy(END + 1, None)]), Nonsense::OutOfTime),
            (
                samples([RecordedSample {
                    time: CrossProcessInstant::epoch(),
                    ..idle(0)
                }]),
                Nonsense::OutOfTime,
            ),
            (
                Chunk {
                    stacks: (1..MAX_STACK_DEPTH).map(|id| stack(Some(id), 0)).collect(),
                    ..nothing()
                },
                Nonsense::TooDeep,
            ),
        ];
        for (chunk, expected) in cases {
            let mut kept = kept(Wanted::default());
            kept.add(samples([busy(4, Some(1))]), at(END)).unwrap();
            assert_eq!(kept.add(chunk, at(END)), Err(expected.clone()));
            let event_loop = kept.finish(4.).unwrap();
            assert_eq!(times(&event_loop)[0], 4., "{expected}");
            assert_eq!(names(&event_loop, 0), ["root", "leaf"]);
        }
        let mut empty = Kept::new(Wanted::default(), at(0), room());
        let result = empty.add(samples([idle(1)]), at(END));
        assert_eq!(result, Err(Nonsense::NoTables));
    }

    #[test]
    fn missed_samples_are_kept_with_their_reasons() {
        let mut kept = kept(Wanted::default());
        let late = RecordedMissed {
            why: MissedReason::SamplerLate,
            ..missed(2, 9, 5)
        };
        kept.add(
            Chunk {
                missed: vec![missed(0, 1, 1), late, missed(2, 9, 2), missed(9, 9, 1)],
                ..samples([busy(1, Some(1)), busy(2, Some(1)), busy(9, Some(1))])
            },
            at(END),
        )
        .unwrap();
        // No sample comes after it.
        kept.add(with_missed([], &[(9, 12, 3)]), at(END)).unwrap();
        let event_loop = kept.finish(12.).unwrap();
        let missed = event_loop.missed().iter();
        let missed: Vec<_> = missed
            .map(|one| (one.start, one.end, one.samples, one.why))
            .collect();
        use profile_formats::MissedReason::{NoProcessor, SamplerLate};
        assert_eq!(
            missed,
            [
                (0., 1., 1, NoProcessor),
                (2., 9., 5, SamplerLate),
                (2., 9., 2, NoProcessor),
                (9., 9., 1, NoProcessor),
                (9., 12., 3, NoProcessor),
            ]
        );
    }

    #[test]
    fn nonsense_about_missed_samples_is_refused() {
        let from_before = RecordedMissed {
            start: CrossProcessInstant::epoch(),
            ..missed(5, 6, 1)
        };
        let of = |missed: &[RecordedMissed]| Chunk {
            missed: missed.to_vec(),
            ..nothing()
        };
        for (chunk, problem) in [
            (of(&[from_before]), "before the recording"),
            (of(&[missed(5, END + 1, 1)]), "the future"),
            (of(&[missed(6, 5, 1)]), "end is before their start"),
            // There is a sample at 4.
            (of(&[missed(3, 5, 1)]), "before what was reported last"),
            (of(&[missed(5, 7, 1), missed(4, 5, 1)]), "reported last"),
            (of(&[missed(5, 7, 1), missed(6, 8, 1)]), "reported last"),
            (
                with_missed([idle(6)], &[(7, 8, 1), (5, 6, 1)]),
                "reported last",
            ),
            (of(&[missed(5, 7, 0)]), "there are none"),
            (of(&[missed(5, 7, 8_001)]), "too many for the time"),
            (of(&[missed(5, 7, u32::MAX)]), "too many for the time"),
            (of(&[missed(5, 7, 4_000); 3]), "too many for the time"),
            (
                of(&[missed(5, 7, 1); 2 * MissedReason::ALL.len() + 1]),
                "without a sample",
            ),
        ] {
            let mut kept = kept(Wanted::default());
            kept.add(with_missed([busy(4, Some(1))], &[(0, 2, 2)]), at(END))
                .unwrap();
            let refused = kept.add(chunk, at(END)).unwrap_err();
            assert!(
                matches!(refused, Nonsense::Missed(_)) && refused.to_string().contains(problem),
                "{problem}: {refused}"
            );
            let event_loop = kept.finish(4.).unwrap();
            assert_eq!(times(&event_loop)[0], 4., "{problem}");
            assert_eq!(unknown(&event_loop)[0], (0., 2.), "{problem}");
        }
    }

    #[test]
    fn what_was_missed_goes_with_the_samples_beside_it() {
        // A full buffer.
        let mut full = kept(Wanted {
            max_samples: NonZeroU64::new(2),
            ..Wanted::default()
        });
        let of_samples = || [idle(3), idle(6), idle(9)];
        let of_missed = [(0, 3, 1), (3, 6, 1), (6, 9, 1), (9, 12, 1)];
        full.add(with_missed(of_samples(), &of_missed), at(END))
            .unwrap();
        full.add(with_missed([], &[(12, 15, 1)]), at(END)).unwrap();
        let event_loop = full.finish(15.).unwrap();
        assert_eq!(unknown(&event_loop), [(0., 3.), (3., 6.)]);

        // A flight recorder, by time and by number.
        for (max_samples, keep_last) in [(None, 5), (NonZeroU64::new(2), 100)] {
            let mut last = kept(Wanted {
                max_samples,
                keep_last: Some(Duration::from_millis(keep_last)),
                ..Wanted::default()
            });
            last.add(with_missed(of_samples(), &of_missed), at(END))
                .unwrap();
            let event_loop = last.finish(10.).unwrap();
            assert_eq!(times(&event_loop), [6., 9.]);
            assert_eq!(unknown(&event_loop), [(3., 6.), (6., 9.), (9., 12.)]);
        }

        // A flight recorder of an event loop that was sampled once.
        let mut last = kept(Wanted {
            keep_last: Some(Duration::from_millis(5)),
            ..Wanted::default()
        });
        last.add(with_missed([idle(3)], &[(0, 3, 1), (3, 90, 9)]), at(END))
            .unwrap();
        assert_eq!(unknown(&last.finish(90.).unwrap()), [(3., 90.)]);
    }

    #[test]
    fn what_was_missed_in_a_flight_recorder_takes_no_more_memory_than_its_samples() {
        let mut kept = kept(Wanted {
            max_samples: NonZeroU64::new(3),
            keep_last: Some(Duration::from_millis(100)),
            ..Wanted::default()
        });
        for round in 0..10_000 {
            let time = round * 2;
            let chunk = with_missed([idle(time + 2)], &[(time, time + 2, 1)]);
            kept.add(chunk, at(END)).unwrap();
            assert!(kept.missed.len() <= 4, "{}", kept.missed.len());
        }
        // All at once, which no clock shows.
        let result = (0..100).try_for_each(|_| {
            let chunk = with_missed([idle(20_000)], &[(20_000, 20_000, 1); 3]);
            kept.add(chunk, at(END))
        });
        assert!(matches!(result, Err(Nonsense::Missed(_))), "{result:?}");
        assert!(
            kept.missed.len() <= 4 * MissedReason::ALL.len(),
            "{}",
            kept.missed.len()
        );
    }

    #[test]
    fn a_full_buffer_takes_no_more() {
        let mut kept = kept(Wanted {
            max_samples: NonZeroU64::new(3),
            ..Wanted::default()
        });
        kept.add(samples((1..=2).map(idle)), at(END)).unwrap();
        assert!(!kept.is_full());
        kept.add(samples((3..=9).map(idle)), at(END)).unwrap();
        assert!(kept.is_full());
        kept.add(samples((10..=19).map(idle)), at(END)).unwrap();
        assert_eq!(kept.samples(), 3);
        assert_eq!(times(&kept.finish(19.).unwrap()), [1., 2., 3.]);
    }

    #[test]
    fn a_flight_recorder_keeps_only_the_last_samples() {
        let mut kept = kept(Wanted {
            keep_last: Some(Duration::from_millis(10)),
            ..Wanted::default()
        });
        for round in 0..1_000 {
            let first = round * 10;
            // Every hundredth round has tables of its own.
            if round % 100 == 99 {
                kept.add(tables(&format!("leaf {round}")), at(END)).unwrap();
            }
            let chunk = samples((first..first + 10).map(|time| busy(time, Some(1))));
            kept.add(chunk, at(END)).unwrap();
            assert!(kept.samples() <= 11, "{}", kept.samples());
            assert!(kept.parts.len() <= 2, "{}", kept.parts.len());
        }
        kept.add(
            Chunk {
                functions: vec![tables("unused").functions[1].clone()],
                frames: vec![frame(2)],
                stacks: vec![stack(None, 2)],
                ..nothing()
            },
            at(END),
        )
        .unwrap();
        // The last sample of another event loop is later.
        let event_loop = kept.finish(10_004.).unwrap();
        assert_eq!(
            times(&event_loop),
            [9_994., 9_995., 9_996., 9_997., 9_998., 9_999.]
        );
        assert_eq!(names(&event_loop, 0), ["root", "leaf 999"]);
        assert_eq!(event_loop.frames().len(), 2, "only what is used");
        assert_eq!(event_loop.stacks().len(), 2);
    }

    #[test]
    fn a_flight_recorder_with_a_full_buffer_forgets_the_oldest() {
        let mut kept = kept(Wanted {
            max_samples: NonZeroU64::new(3),
            keep_last: Some(Duration::from_millis(100)),
            ..Wanted::default()
        });
        kept.add(samples((1..=9).map(idle)), at(END)).unwrap();
        assert!(!kept.is_full());
        assert_eq!(times(&kept.finish(9.).unwrap()), [7., 8., 9.]);
    }

    #[test]
    fn an_event_loop_is_left_out_while_it_shows_one_page_alone() {
        let mut kept = kept(Wanted {
            without_page: Some("about:profiling"),
            ..Wanted::default()
        });
        let shows = |urls: &[&str]| Chunk {
            description: Some(Description {
                kind: EventLoopKind::Page,
                urls: urls.iter().map(|&url| url.to_owned()).collect(),
                ..Description::default()
            }),
            ..samples([])
        };
        kept.add(shows(&["about:profiling#recording=1"]), at(END))
            .unwrap();
        assert!(kept.is_left_out());
        kept.add(samples([busy(1, Some(1))]), at(END)).unwrap();
        // Its documents have gone.
        kept.add(shows(&[]), at(END)).unwrap();
        assert!(kept.is_left_out());
        kept.add(samples([busy(2, Some(1))]), at(END)).unwrap();
        assert_eq!(kept.samples(), 0);
        // From now on it is wanted, with what is in the tables already.
        kept.add(shows(&["about:profiling2"]), at(END)).unwrap();
        assert!(!kept.is_left_out());
        kept.add(samples([busy(3, Some(1))]), at(END)).unwrap();
        let event_loop = kept.finish(3.).unwrap();
        assert_eq!(times(&event_loop), [3.]);
        assert_eq!(names(&event_loop, 0), ["root", "leaf"]);
    }

    const LONG: Wanted = Wanted {
        max_samples: None,
        keep_last: None,
        long_tasks: Some(Duration::from_millis(5)),
        without_page: None,
    };

    #[test]
    fn long_tasks_are_kept_whole_and_others_not_at_all() {
        let mut kept = kept(LONG);
        let task = |from: u64, until: u64| (from..until).map(|time| busy(time, Some(1)));
        // A task exactly as long as the limit, and then a longer one. Both come in pieces.
        kept.add(samples((0..10).map(idle).chain(task(10, 13))), at(END))
            .unwrap();
        kept.add(samples(task(13, 15).chain([idle(15), idle(16)])), at(END))
            .unwrap();
        assert_eq!(kept.samples(), 0);
        kept.add(samples(task(20, 24)), at(END)).unwrap();
        kept.add(samples(task(24, 26).chain([idle(26), idle(27)])), at(END))
            .unwrap();
        // This task is longer than the limit only if the event loop was busy until the next idle sample.
        kept.add(
            samples([busy(30, None), busy(34, None), idle(36), idle(37)]),
            at(END),
        )
        .unwrap();
        // These tasks are still running when the recording ends. One of them is long enough.
        kept.add(samples(task(40, 47)), at(END)).unwrap();
        let mut short = kept_of(LONG, samples(task(40, 44)));
        assert_eq!(short.samples(), 4, "it may become long");
        short.add(samples([]), at(END)).unwrap();
        assert!(times(&short.finish(44.).unwrap()).is_empty());
        let expected: Vec<_> = (20..27)
            .chain([30, 34, 36])
            .chain(40..47)
            .map(f64::from)
            .collect();
        assert_eq!(times(&kept.finish(47.).unwrap()), expected);
    }

    #[test]
    fn of_long_tasks_what_was_missed_in_them_is_kept() {
        let mut kept = kept(LONG);
        // Idle, then a short task.
        kept.add(
            with_missed(
                [idle(2), idle(4), busy(6, None), busy(8, None), idle(10)],
                &[(0, 2, 1), (2, 4, 1), (4, 6, 1), (6, 8, 1), (8, 10, 1)],
            ),
            at(END),
        )
        .unwrap();
        assert_eq!((kept.samples(), kept.missed.len()), (0, 0));
        for time in 10..100 {
            let chunk = with_missed([idle(time + 1)], &[(time, time + 1, 1)]);
            kept.add(chunk, at(END)).unwrap();
        }
        // A long task, in two pieces, and another one with no sample between.
        kept.add(
            with_missed(
                [busy(120, None), busy(122, None)],
                &[(100, 120, 1), (120, 122, 1)],
            ),
            at(END),
        )
        .unwrap();
        kept.add(
            with_missed(
                [busy(128, None), idle(130), busy(132, None), busy(138, None)],
                &[(122, 128, 1), (128, 130, 1), (130, 132, 1), (132, 138, 1)],
            ),
            at(END),
        )
        .unwrap();
        kept.add(
            with_missed(
                [idle(140), idle(142)],
                &[(138, 140, 1), (140, 142, 1), (142, 144, 1)],
            ),
            at(END),
        )
        .unwrap();
        let event_loop = kept.finish(144.).unwrap();
        assert_eq!(
            times(&event_loop),
            [120., 122., 128., 130., 132., 138., 140.]
        );
        let expected = [
            (120, 122),
            (122, 128),
            (128, 130),
            (130, 132),
            (132, 138),
            (138, 140),
        ];
        let expected = expected.map(|(start, end)| (f64::from(start), f64::from(end)));
        assert_eq!(unknown(&event_loop), expected);

        // Tasks that are still running: a long one and a short one.
        let running = |last| {
            let of_samples = [busy(20, None), busy(last, None)];
            let of_missed = [(20, last, 1), (last, 40, 1)];
            kept_of(LONG, with_missed(of_samples, &of_missed)).finish(40.)
        };
        assert_eq!(unknown(&running(28).unwrap()), [(20., 28.), (28., 40.)]);
        assert!(unknown(&running(21).unwrap()).is_empty());
    }

    fn kept_of(wanted: Wanted, chunk: Chunk) -> Kept {
        let mut kept = kept(wanted);
        kept.add(chunk, at(END)).unwrap();
        kept
    }

    #[test]
    fn short_tasks_take_no_memory_however_many_there_are() {
        let mut kept = kept(LONG);
        for round in 0..1_000 {
            let time = round * 4;
            kept.add(
                samples([busy(time, Some(1)), busy(time + 1, None), idle(time + 2)]),
                at(END),
            )
            .unwrap();
            kept.add(tables("leaf"), at(END)).unwrap();
            assert_eq!(kept.samples(), 0);
            assert!(kept.parts.len() <= 2);
        }
        assert!(kept.memory() < 10_000, "{}", kept.memory());
    }

    #[test]
    fn a_buffer_of_long_tasks_is_full_of_them() {
        let mut kept = kept(Wanted {
            max_samples: NonZeroU64::new(8),
            ..LONG
        });
        for round in 0..10 {
            let time = round * 6;
            let short = (time..time + 5).map(|time| busy(time, None));
            kept.add(samples(short.chain([idle(time + 5)])), at(END))
                .unwrap();
            assert!(!kept.is_full());
        }
        kept.add(samples((100..200).map(|time| busy(time, Some(1)))), at(END))
            .unwrap();
        assert!(kept.is_full());
        let expected: Vec<_> = (100..108).map(f64::from).collect();
        assert_eq!(times(&kept.finish(200.).unwrap()), expected);
    }

    fn source(id: u32, text: &str) -> RecordedSource {
        RecordedSource {
            id,
            name: "https://a.example/a.js line 3 > eval".to_owned(),
            line: 1,
            column: 1,
            text: Some(text.to_owned()),
            map_url: Some("a.js.map".to_owned()),
        }
    }

    #[test]
    fn a_function_has_the_text_that_defines_it() {
        let now = CrossProcessInstant::now();
        let mut kept = Kept::new(Wanted::default(), now, room());
        let mut chunk = tables("evaluated");
        chunk.functions[0].source = Some(7);
        chunk.functions[1].source = Some(8);
        for frame in &mut chunk.frames {
            frame.position = Some(RecordedPosition::Source { line: 4, column: 2 });
        }
        chunk.samples = vec![RecordedSample {
            time: now,
            stack: Some(1),
            marker: None,
        }];
        kept.add(chunk, now).unwrap();
        let before = kept.memory();
        kept.add_source(source(8, "two")).unwrap();
        // No function refers to it.
        kept.add_source(source(9, "three")).unwrap();
        assert!(kept.memory() > before);
        let event_loop = kept.finish(0.).unwrap();
        let [root, evaluated] = &event_loop.functions().collect::<Vec<_>>()[..] else {
            panic!("{event_loop:?}");
        };
        assert_eq!(root.source, None);
        assert_eq!(event_loop.resource_of(root), Some("https://a.example/a.js"));
        let text = event_loop.source(evaluated.source.unwrap());
        assert_eq!(
            (text.text.as_deref(), text.map_url.as_deref()),
            (Some("two"), Some("a.js.map"))
        );
        assert_eq!(event_loop.sources().len(), 1);
        // It has no URL.
        let made_by = "https://a.example/a.js line 3 > eval";
        assert_eq!(event_loop.resource_of(evaluated), Some(made_by));
        assert_eq!(evaluated.line.map(NonZeroU32::get), Some(3));
        let lines = event_loop.frames().map(|frame| frame.place.unwrap().line());
        assert!(lines.eq([NonZeroU32::new(4); 2]));
    }

    #[test]
    fn a_text_that_cannot_be_is_refused() {
        let mut kept = Kept::new(Wanted::default(), CrossProcessInstant::now(), room());
        kept.add_source(source(1, "a")).unwrap();
        let long = "a".repeat(MAX_SOURCE_BYTES + 1);
        let long_name = "a".repeat(MAX_SOURCE_NAME + 1);
        for unsound in [
            source(1, "b"),
            source(2, &long),
            RecordedSource {
                name: long_name.clone(),
                ..source(2, "b")
            },
            RecordedSource {
                map_url: Some(long_name),
                ..source(2, "b")
            },
            RecordedSource {
                line: 0,
                ..source(2, "b")
            },
            RecordedSource {
                column: 0,
                ..source(2, "b")
            },
        ] {
            let refused = kept.add_source(unsound).unwrap_err();
            assert!(matches!(refused, Nonsense::Source(_)), "{refused}");
        }
    }

    fn map(sources: &[u32], content: Result<&str, &str>) -> LinkedMap {
        LinkedMap {
            sources: sources.to_vec(),
            url: "https://a.example/a.map".to_owned(),
            content: content.map(str::to_owned).map_err(str::to_owned),
        }
    }

    #[test]
    fn a_map_is_kept_once_for_a_text_that_is_kept() {
        let mut kept = Kept::new(Wanted::default(), CrossProcessInstant::now(), room());
        kept.add_source(source(1, "a")).unwrap();
        kept.add_source(source(2, "b")).unwrap();
        assert_eq!(kept.add_map(map(&[3], Ok("{}"))), Ok(false));
        let before = kept.memory();
        assert_eq!(kept.add_map(map(&[1, 3], Ok("{}"))), Ok(true));
        let url = "https://a.example/a.map";
        assert_eq!(kept.memory(), before + 2 + url.len() as u64);
        assert_eq!(kept.add_map(map(&[1], Err("it is gone"))), Ok(false));
        assert_eq!(kept.add_map(map(&[1, 2], Err("it is gone"))), Ok(true));
        let contents = [1, 2].map(|id| kept.maps[&id].content.clone());
        assert_eq!(
            contents,
            [Ok("{}".to_owned()), Err("it is gone".to_owned())]
        );
    }

    #[test]
    fn a_map_that_cannot_be_is_refused() {
        let mut kept = Kept::new(Wanted::default(), CrossProcessInstant::now(), room());
        kept.add_source(source(1, "a")).unwrap();
        let long = "a".repeat(MAX_MAP_BYTES + 1);
        let long_text = "a".repeat(MAX_SOURCE_NAME + 1);
        for unsound in [
            map(&[], Ok("{}")),
            map(&[1], Ok(&long)),
            map(&[1], Err(&long_text)),
            LinkedMap {
                url: long_text.clone(),
                ..map(&[1], Ok("{}"))
            },
        ] {
            let refused = kept.add_map(unsound).unwrap_err();
            assert!(matches!(refused, Nonsense::Map(_)), "{refused}");
        }
    }

    #[test]
    fn a_long_task_in_a_flight_recorder_may_be_longer_than_what_it_keeps() {
        let mut kept = kept(Wanted {
            keep_last: Some(Duration::from_millis(3)),
            ..LONG
        });
        kept.add(samples((0..20).map(|time| busy(time, None))), at(END))
            .unwrap();
        kept.add(samples([idle(20)]), at(END)).unwrap();
        assert_eq!(times(&kept.finish(20.).unwrap()), [17., 18., 19., 20.]);
    }
}
