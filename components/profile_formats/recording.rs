/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The model of a recording.
//!
//! The tables of an event loop have no equal entries. Only a table gives ids to its entries, so each id refers to an
//! entry. A sample takes 24 bytes, and a stack takes 8 beside its hash.
//!
//! Each sample is worth a time. In recordings by the browser this is one interval for each sample that it stands for, and
//! the time in which samples were missed is kept apart. Files of other programs say what samples are worth, or when they
//! were taken. A reader adds samples in one of these ways:
//!
//! - [`EventLoop::add_sample`] alone: each is worth one interval for each sample that it stands for.
//! - [`EventLoop::add_sample_worth`] for each: the file says how much time each is worth. None stands for several.
//! - [`EventLoop::add_sample`] for each, and then once [`EventLoop::value_until_next`]: each is worth the time until the
//!   next one.
//! - [`EventLoop::add_several`] for each: it stands for several samples, and is worth what they are worth together. Formats that
//!   have one entry for each timed sample write it as one.

use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasher;
use std::mem;
use std::num::NonZeroU32;
use std::sync::{Arc, LazyLock};

use foldhash::fast::RandomState;
use indexmap::IndexSet;
use serde::{Deserialize, Serialize};

use crate::error::WriteError;
use crate::recorded_by::RecordedBy;
use crate::worth::{self, MAX_WORTH};

/// Stacks of more frames are refused. An engine's own stack ends long before. In a file, each frame might call the
/// next one. Then the text of one stack would be as long as the file, for every sample.
pub const MAX_STACK_DEPTH: u32 = 10_000;

/// The greatest time that a clock may show: three hundred years, in milliseconds.
pub const LAST_TIME: f64 = 1e13;

/// The names of event loops that a format needs to tell them apart, in bytes, all together.
const MAX_NAMES_BYTES: usize = 1 << 26;

/// How much memory entries of an event loop's tables take at most, in bytes, beside their text. It includes the room
/// that tables reserve for more entries, and what readers keep for each entry while they read.
mod bytes {
    pub const EVENT_LOOP: u64 = 2_000;
    pub const RESOURCE: u64 = 100;
    pub const SOURCE: u64 = 250;
    pub const REALM: u64 = 150;
    pub const FUNCTION: u64 = 220;
    pub const FRAME: u64 = 100;
    pub const STACK: u64 = 64;
    pub const SAMPLE: u64 = 32;
    pub const WORTH: u64 = 16;
    pub const LABELS: u64 = 100;
    pub const LABELS_OF_SAMPLE: u64 = 8;
    pub const MISSED: u64 = 48;
}

/// Sums of weights stay below it, and so are exact in a number of JSON.
const MAX_WEIGHT: u64 = 1 << 53;

/// Processes and their event loops, on one clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Milliseconds since the Unix epoch when the clock of the samples showed 0; absent if that is unknown.
    pub time_origin: Option<f64>,
    /// Milliseconds from one sample of an event loop to the next; more than 0. If a file does not say, it is the
    /// median of the times between its samples.
    pub interval: f64,
    /// Absent if it is unknown.
    pub recorded_by: Option<RecordedBy>,
    /// Each with its event loops; ids of tables are an event loop's own.
    pub processes: Vec<Process>,
}

impl Recording {
    /// A recording of one event loop, as most formats have it. It does not say what recorded it.
    pub fn of_one(event_loop: EventLoop, interval: f64, time_origin: Option<f64>) -> Self {
        Self {
            time_origin,
            interval,
            recorded_by: None,
            processes: vec![Process {
                event_loops: vec![event_loop],
                ..Process::default()
            }],
        }
    }

    /// The recording of one of its event loops alone, counted from 0 over all processes.
    pub fn only(&self, index: usize) -> Option<Self> {
        let (process, event_loop) = self.event_loops_of_processes().nth(index)?;
        Some(Self {
            recorded_by: self.recorded_by.clone(),
            processes: vec![Process {
                name: process.name.clone(),
                pid: process.pid,
                ended: process.ended,
                event_loops: vec![event_loop.clone()],
            }],
            ..*self
        })
    }

    /// Removes all other event loops. False if this one is not there; then nothing has changed.
    pub fn keep_only(&mut self, mut index: usize) -> bool {
        for (number, process) in self.processes.iter_mut().enumerate() {
            let count = process.event_loops.len();
            if index < count {
                process.event_loops = vec![process.event_loops.swap_remove(index)];
                self.processes = vec![self.processes.swap_remove(number)];
                return true;
            }
            index -= count;
        }
        false
    }

    /// Each event loop with its process.
    pub fn event_loops_of_processes(&self) -> impl Iterator<Item = (&Process, &EventLoop)> {
        self.processes
            .iter()
            .flat_map(|process| process.event_loops.iter().map(move |one| (process, one)))
    }

    /// Those of all processes, in their order.
    pub fn event_loops(&self) -> impl Iterator<Item = &EventLoop> {
        self.event_loops_of_processes().map(|(_, one)| one)
    }

    /// A name for each event loop that no other one has: the name of its process, if there are several, and its own.
    /// It is an error if the names would be too long together.
    pub(crate) fn distinct_names(&self) -> Result<Vec<String>, WriteError> {
        let is_several = self.processes.len() > 1;
        // A process may have a long name and many event loops.
        let lengths = self.event_loops_of_processes();
        let length: usize = lengths
            .map(|(process, event_loop)| process.name.len() + event_loop.name.len())
            .fold(0, usize::saturating_add);
        if length > MAX_NAMES_BYTES {
            return Err(WriteError::TooLarge(format!(
                "the names of its event loops would be {length} bytes; more than {MAX_NAMES_BYTES} are not written"
            )));
        }
        let mut names = IndexSet::new();
        let mut numbers: HashMap<String, u64> = HashMap::new();
        for (process, event_loop) in self.event_loops_of_processes() {
            let name = match is_several && !process.name.is_empty() {
                true => format!("{} / {}", process.name, event_loop.name),
                false => event_loop.name.clone(),
            };
            let number = numbers.entry(name.clone()).or_default();
            loop {
                *number += 1;
                let distinct = match *number {
                    1 => name.clone(),
                    number => format!("{name} ({number})"),
                };
                if names.insert(distinct) {
                    break;
                }
            }
        }
        Ok(names.into_iter().collect())
    }
}

/// A process of the browser, or what a file has in its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    /// Empty if unknown.
    pub name: String,
    /// The system's number for it; absent if it is unknown.
    pub pid: Option<u32>,
    /// When it ended, in milliseconds on the clock of the samples; absent if it outlived the recording.
    pub ended: Option<f64>,
    pub event_loops: Vec<EventLoop>,
}

/// What an event loop is for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum EventLoopKind {
    /// Documents that share an agent; their URLs.
    Page {
        documents: Vec<String>,
    },
    Worker,
    /// The file does not say.
    #[default]
    Unknown,
}

/// A table without equal entries. Its hashes have a seed of their own in each process, so no file can be made of entries with
/// the same hash.
type Table<T> = IndexSet<T, RandomState>;

/// The same for equal URLs in this process.
pub fn resource_hash(url: &str) -> u64 {
    static HASHES: LazyLock<RandomState> = LazyLock::new(RandomState::default);
    HASHES.hash_one(url)
}

/// A script thread or a worker: its tables and its samples.
#[derive(Clone, Debug, Default)]
pub struct EventLoop {
    /// Empty if unknown.
    pub name: String,
    pub kind: EventLoopKind,
    resources: Table<String>,
    /// The same for equal ones in all event loops, so that functions are told apart without reading URLs.
    resource_hashes: Vec<u64>,
    sources: Table<Source>,
    /// Neither compared nor written.
    maps: HashMap<SourceId, Arc<FetchedMap>>,
    realms: Table<Realm>,
    functions: Table<Function>,
    frames: Table<Frame>,
    stacks: Table<Stack>,
    depths: Vec<u32>,
    samples: Vec<Sample>,
    /// What each sample is worth, in nanoseconds. Empty if that is one interval for each sample that it stands for.
    worths: Vec<u64>,
    /// The sum of these.
    worth: u64,
    label_sets: IndexSet<LabelSet>,
    /// For each sample one more than the place of its labels, or 0. Those behind the end have none.
    labels_of_samples: Vec<u32>,
    missed: Vec<Missed>,
    weight: u64,
    is_summed: bool,
    bytes: u64,
    /// `None` if there is no limit.
    max_bytes: Option<u64>,
}

/// What samples are said to belong to, as `release` and `2.1`: names with their values.
pub type LabelSet = Vec<(String, String)>;

/// A global and what belongs to it.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Realm {
    /// The URL of the document or of the worker's script.
    pub url: String,
    /// Serialised; absent if it is opaque.
    pub origin: Option<String>,
}

/// A function, or the top level of a script.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Function {
    /// The function's own name; empty for an anonymous function and for top-level script.
    pub name: String,
    pub kind: FunctionKind,
    /// The script in which it is defined; absent for what is defined in none with a URL.
    pub resource: Option<ResourceId>,
    /// 1-based line of the definition; absent if neither the name nor the script is known.
    pub line: Option<NonZeroU32>,
    /// 1-based column of the definition, in UTF-16 code units; absent if the line is.
    pub column: Option<NonZeroU32>,
    /// The realm whose function it is, where that was recorded.
    pub realm: Option<RealmId>,
    /// The script in which it is defined, if the recording has its text or its source map.
    pub source: Option<SourceId>,
    /// What the script that ran has for it, if the rest is by a source map.
    pub generated: Option<Box<GeneratedPlace>>,
}

/// The source of a script, or a file that a script was built from.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Source {
    /// The URL. If script made it from text, what made it, such as `https://a.test/a.js line 3 > eval`.
    pub name: String,
    /// 1-based line at which the text begins; of an inline script, the line in its document.
    pub line: NonZeroU32,
    /// 1-based column of the first character, in UTF-16 code units.
    pub column: NonZeroU32,
    /// Absent if the recording has only the map of the script. Such a source is dropped when maps are applied
    /// ([`crate::apply_own_maps`]), and is written to no file.
    pub text: Option<String>,
    /// The link to its source map, from the header of the response, or else from the comment in the text; absent if the
    /// map is in the comment itself. It may be a `data:` URL, which is the map itself.
    pub map_url: Option<String>,
}

/// The source map that a script links to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FetchedMap {
    /// The URL that it came from; if it did not come, the URL or the link that was asked for.
    pub url: String,
    /// An error says why it did not come, as a clause about it.
    pub content: Result<String, String>,
}

/// A function of a script that was built from other files: its name and definition there.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct GeneratedPlace {
    /// Empty for an anonymous function and for top-level script.
    pub name: String,
    pub resource: ResourceId,
    /// 1-based.
    pub line: Option<NonZeroU32>,
    /// 1-based, in UTF-16 code units; absent if the line is.
    pub column: Option<NonZeroU32>,
}

impl Source {
    /// About what it takes in an event loop's tables, in bytes.
    fn bytes(&self) -> u64 {
        let [text, link] =
            [&self.text, &self.map_url].map(|one| one.as_ref().map_or(0, String::len));
        bytes::SOURCE + (self.name.len() + text + link) as u64
    }
}

impl Function {
    /// About what it takes in an event loop's tables, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let generated = self.generated.as_ref().map_or(0, |generated| {
            size_of::<GeneratedPlace>() + generated.name.len()
        });
        bytes::FUNCTION + (self.name.len() + generated) as u64
    }
}

/// Whose code a function is.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum FunctionKind {
    /// A function of a script.
    Script,
    /// A function of the engine or of the DOM that script called.
    BuiltIn,
    /// Neither: code that has nothing to do with JavaScript.
    Native,
    /// The file does not say. The trace of a page never does: a function without a script is a built-in, or `eval`
    /// has made it.
    #[default]
    Unknown,
}

/// A function, and the place in it that was executing (at the leaf of a stack) or calling (elsewhere).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Frame {
    pub function: FunctionId,
    /// Absent if it was not recorded, and where there is none, as in a built-in.
    pub place: Option<Place>,
}

/// A place in the code of a function.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Place {
    /// In the text of the function's script.
    Source {
        /// 1-based.
        line: NonZeroU32,
        /// 1-based, in UTF-16 code units; absent if it is unknown.
        column: Option<NonZeroU32>,
    },
    /// In the text of the function's script, somewhere in these lines. A source map says no more of a line of a built script.
    Lines {
        /// 1-based.
        first: NonZeroU32,
        /// After the first one.
        last: NonZeroU32,
    },
    /// In a WebAssembly module: bytes from its start.
    WasmOffset(u32),
}

impl Place {
    /// Absent without a line.
    pub fn of_source(line: Option<NonZeroU32>, column: Option<NonZeroU32>) -> Option<Self> {
        line.map(|line| Self::Source { line, column })
    }

    /// One line, or somewhere in several. The last one is not before the first.
    pub fn of_lines(first: NonZeroU32, last: NonZeroU32) -> Self {
        debug_assert!(first <= last);
        match first == last {
            true => Self::Source {
                line: first,
                column: None,
            },
            false => Self::Lines { first, last },
        }
    }

    /// Absent if it is not known which of several it is.
    pub fn line(self) -> Option<NonZeroU32> {
        match self {
            Self::Source { line, .. } => Some(line),
            Self::Lines { .. } | Self::WasmOffset(_) => None,
        }
    }

    pub fn column(self) -> Option<NonZeroU32> {
        match self {
            Self::Source { column, .. } => column,
            Self::Lines { .. } | Self::WasmOffset(_) => None,
        }
    }

    /// The first and the last line, if it is somewhere in several.
    pub fn lines(self) -> Option<(NonZeroU32, NonZeroU32)> {
        match self {
            Self::Lines { first, last } => Some((first, last)),
            Self::Source { .. } | Self::WasmOffset(_) => None,
        }
    }

    pub fn without_column(self) -> Self {
        match self {
            Self::Source { line, .. } => Self::Source { line, column: None },
            Self::Lines { .. } | Self::WasmOffset(_) => self,
        }
    }

    pub fn wasm_offset(self) -> Option<u32> {
        match self {
            Self::Source { .. } | Self::Lines { .. } => None,
            Self::WasmOffset(offset) => Some(offset),
        }
    }
}

/// A caller's stack and a callee.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Stack {
    /// The caller's; absent at the root. It is before this one in the table.
    pub parent: Option<StackId>,
    pub frame: FrameId,
}

/// What an event loop was doing at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Milliseconds on the recording's clock.
    pub time: f64,
    /// How many samples it stands for: 1, unless a file has one entry for several equal samples.
    pub weight: u64,
    /// The leaf's; absent if no function was running or none may be shown.
    pub stack: Option<StackId>,
    /// Absent if it was not recorded.
    pub activity: Option<Activity>,
}

// 100,000 samples of each of 8 event loops are 19 MB.
const _: () = assert!(size_of::<Sample>() == 24);
const _: () = assert!(size_of::<Stack>() == 8);
const _: () = assert!(size_of::<Frame>() == 16);

/// Samples that were missed between two that were taken. Nothing is known of what the event loop did there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Missed {
    /// The time of the sample before or of the beginning of the recording, in milliseconds on its clock.
    pub start: f64,
    /// The time of the next sample or of the end of the recording, in milliseconds on its clock.
    pub end: f64,
    /// How many were missed for this reason: 1 or more.
    pub samples: u32,
    pub why: MissedReason,
}

const _: () = assert!(size_of::<Missed>() == 24);

/// Why samples were missed.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum MissedReason {
    /// The sampling thread got no processor in time, or was busy with other event loops.
    SamplerLate,
    /// The event loop's thread waited for a processor when it was to stop.
    NoProcessor,
    /// The event loop's thread did not stop, because it was in the kernel.
    NotStopped,
    /// The walks of the stacks before took so long that the event loop had to run on first.
    LongWalks,
    /// The stack was too deep to be walked in a short time.
    TooDeep,
    /// The event loop's thread was on a stack that could not be walked at that moment.
    OtherStack,
}

impl MissedReason {
    /// In the order of their numbers in the viewer's data.
    pub const ALL: [Self; 6] = [
        Self::SamplerLate,
        Self::NoProcessor,
        Self::NotStopped,
        Self::LongWalks,
        Self::TooDeep,
        Self::OtherStack,
    ];

    /// For people, after a number of samples.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SamplerLate => "sampler late",
            Self::NoProcessor => "no processor for the thread",
            Self::NotStopped => "thread in the kernel",
            Self::LongWalks => "walks before too long",
            Self::TooDeep => "stack too deep",
            Self::OtherStack => "on another stack",
        }
    }
}

/// What the event loop was doing: nothing, or what the `ProfilerMarker` of the same name says. The trace of a page has
/// only the marker, and has none for an idle event loop either.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Activity {
    /// Waiting for something to do. No marker says so.
    #[serde(skip)]
    Idle,
    /// Compiling or running script.
    Script,
    /// Collecting garbage.
    Gc,
    /// Matching selectors and computing style.
    Style,
    /// Building boxes and fragments.
    Layout,
    /// Building what is painted.
    Paint,
    /// Anything else, such as parsing or handling a message.
    Other,
    /// Neither idle nor in any function: what V8 calls `(program)`. No marker says so.
    #[serde(skip)]
    Program,
}

impl Activity {
    /// In the order of their numbers in the viewer's data.
    pub const ALL: [Self; 8] = [
        Self::Idle,
        Self::Script,
        Self::Gc,
        Self::Style,
        Self::Layout,
        Self::Paint,
        Self::Other,
        Self::Program,
    ];

    /// Its name in labels: that of the marker, if there is one.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Script => "script",
            Self::Gc => "gc",
            Self::Style => "style",
            Self::Layout => "layout",
            Self::Paint => "paint",
            Self::Other => "other",
            Self::Program => "program",
        }
    }
}

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ResourceId(u32);

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SourceId(u32);

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RealmId(u32);

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct FunctionId(u32);

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct FrameId(u32);

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct LabelSetId(u32);

/// One more than the index, so that an absent one takes no room.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct StackId(NonZeroU32);

macro_rules! index {
    ($($id:ident)*) => {$(
        impl $id {
            /// The place in its table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}
index!(ResourceId SourceId RealmId FunctionId FrameId LabelSetId);

impl StackId {
    fn new(index: usize) -> Option<Self> {
        let number = u32::try_from(index).ok()?.checked_add(1)?;
        NonZeroU32::new(number).map(Self)
    }

    /// The place in its table.
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Why an event loop does not accept an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Invalid {
    /// Times do not go back.
    Backwards { time: f64, last: f64 },
    /// Not a number of milliseconds from 0 on.
    Time(f64),
    /// A sample whose weight is 0.
    NoWeight,
    /// What a sample is worth is not a number of milliseconds from 0 on.
    Worth(f64),
    /// A sample that is worth a time of its own and stands for several.
    Several,
    /// All samples of an event loop are worth more time than a clock can show.
    TooLong,
    /// A stretch of missed samples that ends before it starts.
    EndsBefore { start: f64, end: f64 },
    /// A stretch of missed samples that starts before the end of the last one, and is not the same.
    Overlaps { start: f64, last: f64 },
    /// A stretch in which no sample was missed.
    NoneMissed,
    /// The samples of an event loop stand for more than numbers of JSON can count.
    TooHeavy,
    /// A stack of more than [`MAX_STACK_DEPTH`] frames.
    TooDeep,
    /// A table has as many entries as ids.
    Full,
    /// The tables would take more memory than they may.
    TooLarge,
}

impl fmt::Display for Invalid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Backwards { time, last } => {
                write!(
                    formatter,
                    "{time} ms is before {last} ms, the sample before it"
                )
            },
            Self::Time(time) => write!(formatter, "{time} ms is not between 0 and {LAST_TIME} ms"),
            Self::NoWeight => formatter.write_str("a sample that stands for none"),
            Self::Worth(worth) => write!(
                formatter,
                "{worth} ms is not a time between 0 and {LAST_TIME} ms"
            ),
            Self::Several => {
                formatter.write_str("a sample that is worth a time of its own and stands for several")
            },
            Self::TooLong => write!(formatter, "more than {LAST_TIME} ms in all"),
            Self::EndsBefore { start, end } => {
                write!(formatter, "{end} ms is before {start} ms, its start")
            },
            Self::Overlaps { start, last } => {
                write!(
                    formatter,
                    "{start} ms is before {last} ms, the end of the stretch before it"
                )
            },
            Self::NoneMissed => formatter.write_str("no sample was missed"),
            Self::TooHeavy => write!(formatter, "more than {MAX_WEIGHT} samples in all"),
            Self::TooDeep => write!(formatter, "a stack of more than {MAX_STACK_DEPTH} frames"),
            Self::Full => write!(formatter, "more than {} entries", u32::MAX),
            Self::TooLarge => formatter.write_str(
                "up to here the functions, stacks and samples take all the memory that a profile may take",
            ),
        }
    }
}

impl EventLoop {
    /// Without samples.
    pub fn new(name: impl Into<String>, kind: EventLoopKind) -> Self {
        Self {
            name: name.into(),
            kind,
            ..Self::default()
        }
    }

    /// One whose tables take no more memory than this, in bytes.
    pub(crate) fn within(
        max_bytes: u64,
        name: String,
        kind: EventLoopKind,
    ) -> Result<Self, Invalid> {
        let mut event_loop = Self {
            max_bytes: Some(max_bytes),
            ..Self::new(name, kind)
        };
        event_loop.take(bytes::EVENT_LOOP, 0)?;
        Ok(event_loop)
    }

    /// One whose tables take no more memory than this, in bytes. It has no name.
    pub fn bounded(max_bytes: u64) -> Self {
        Self {
            max_bytes: Some(max_bytes),
            ..Self::default()
        }
    }

    /// About how much memory its tables take, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Sets a new bound for its tables, in bytes.
    pub(crate) fn allow(&mut self, max_bytes: u64) {
        self.max_bytes = Some(max_bytes);
    }

    /// Counts a new entry, which has a text of this length.
    fn take(&mut self, entry: u64, text: usize) -> Result<(), Invalid> {
        let bytes = self.bytes + entry + text as u64;
        if self.max_bytes.is_some_and(|max_bytes| bytes > max_bytes) {
            return Err(Invalid::TooLarge);
        }
        self.bytes = bytes;
        Ok(())
    }

    /// `None` for the empty URL, which names no script.
    pub fn add_resource(&mut self, url: &str) -> Result<Option<ResourceId>, Invalid> {
        if url.is_empty() {
            return Ok(None);
        }
        let index = match self.resources.get_index_of(url) {
            Some(index) => index,
            None => {
                self.take(bytes::RESOURCE, url.len())?;
                self.resource_hashes.push(resource_hash(url));
                self.resources.insert_full(url.to_owned()).0
            },
        };
        id(index).map(|id| Some(ResourceId(id)))
    }

    /// An equal one keeps its id.
    pub fn add_source(&mut self, source: Source) -> Result<SourceId, Invalid> {
        let bytes = source.bytes();
        let (index, is_new) = self.sources.insert_full(source);
        if is_new {
            self.take(bytes, 0)?;
        }
        id(index).map(SourceId)
    }

    /// Whether the recording has texts.
    pub(crate) fn has_texts(&self) -> bool {
        self.sources.iter().any(|source| source.text.is_some())
    }

    /// Drops the sources without a text. Functions that differed only by them become one.
    pub(crate) fn forget_sources_without_text(&mut self) -> Result<(), Invalid> {
        if self.sources.iter().all(|source| source.text.is_some()) {
            return Ok(());
        }
        let mut ids = Vec::with_capacity(self.sources.len());
        for source in mem::take(&mut self.sources) {
            ids.push(match source.text {
                Some(_) => Some(SourceId(id(self.sources.insert_full(source).0)?)),
                None => {
                    self.bytes -= source.bytes();
                    None
                },
            });
        }
        let of_source = |function: &Function| Function {
            source: function.source.and_then(|source| ids[source.index()]),
            ..function.clone()
        };
        let functions = self.functions.iter().map(of_source).collect();
        let frames: Vec<_> = self
            .frames
            .iter()
            .map(|frame| (frame.function.index(), frame.place))
            .collect();
        self.replace_functions(functions, &frames)
    }

    /// Adds the map that a script links to. Of several, one that came counts. It is kept until it is applied.
    pub fn add_map(&mut self, source: SourceId, map: Arc<FetchedMap>) {
        let has_come = |map: &Arc<FetchedMap>| map.content.is_ok();
        if !self.maps.get(&source).is_some_and(has_come) {
            self.maps.insert(source, map);
        }
    }

    pub(crate) fn take_map(&mut self, source: SourceId) -> Option<Arc<FetchedMap>> {
        self.maps.remove(&source)
    }

    pub(crate) fn forget_maps(&mut self) {
        self.maps = HashMap::new();
    }

    /// An equal one keeps its id.
    pub fn add_realm(&mut self, realm: Realm) -> Result<RealmId, Invalid> {
        let length = realm.url.len() + realm.origin.as_ref().map_or(0, String::len);
        let (index, is_new) = self.realms.insert_full(realm);
        if is_new {
            self.take(bytes::REALM, length)?;
        }
        id(index).map(RealmId)
    }

    /// `function`'s ids are this event loop's. An equal one keeps its id.
    pub fn add_function(&mut self, mut function: Function) -> Result<FunctionId, Invalid> {
        debug_assert!(
            function
                .resource
                .is_none_or(|id| id.index() < self.resources.len())
        );
        debug_assert!(
            function
                .source
                .is_none_or(|id| id.index() < self.sources.len())
        );
        debug_assert!(
            function
                .realm
                .is_none_or(|id| id.index() < self.realms.len())
        );
        debug_assert!(
            function
                .generated
                .as_ref()
                .is_none_or(|generated| generated.resource.index() < self.resources.len())
        );
        // A position says nothing about a function if neither its name nor its script is known.
        if function.resource.is_none() && function.name.is_empty() {
            function.line = None;
        }
        if function.line.is_none() {
            function.column = None;
        }
        if let Some(generated) = &mut function.generated
            && generated.line.is_none()
        {
            generated.column = None;
        }
        let bytes = function.bytes();
        let (index, is_new) = self.functions.insert_full(function);
        if is_new {
            self.take(bytes, 0)?;
        }
        id(index).map(FunctionId)
    }

    /// `frame`'s function is this event loop's. An equal one keeps its id.
    pub fn add_frame(&mut self, frame: Frame) -> Result<FrameId, Invalid> {
        debug_assert!(frame.function.index() < self.functions.len());
        let (index, is_new) = self.frames.insert_full(frame);
        if is_new {
            self.take(bytes::FRAME, 0)?;
        }
        id(index).map(FrameId)
    }

    /// The ids are this event loop's.
    pub fn add_stack(
        &mut self,
        parent: Option<StackId>,
        frame: FrameId,
    ) -> Result<StackId, Invalid> {
        debug_assert!(frame.index() < self.frames.len());
        let depth = 1 + parent.map_or(0, |parent| self.depths[parent.index()]);
        if depth > MAX_STACK_DEPTH {
            return Err(Invalid::TooDeep);
        }
        let (index, is_new) = self.stacks.insert_full(Stack { parent, frame });
        if is_new {
            self.depths.push(depth);
            self.take(bytes::STACK, 0)?;
        }
        StackId::new(index).ok_or(Invalid::Full)
    }

    /// The stack is this event loop's, and the time not before that of the last sample.
    pub fn add_sample(&mut self, sample: Sample) -> Result<(), Invalid> {
        debug_assert!(sample.stack.is_none_or(|id| id.index() < self.stacks.len()));
        check_time(sample.time)?;
        if let Some(last) = self.samples.last()
            && sample.time < last.time
        {
            return Err(Invalid::Backwards {
                time: sample.time,
                last: last.time,
            });
        }
        if sample.weight == 0 {
            return Err(Invalid::NoWeight);
        }
        self.weight = self
            .weight
            .checked_add(sample.weight)
            .filter(|weight| *weight <= MAX_WEIGHT)
            .ok_or(Invalid::TooHeavy)?;
        self.take(bytes::SAMPLE, 0)?;
        self.samples.push(sample);
        Ok(())
    }

    /// Like [`Self::add_sample`], for a sample that is worth a time, in milliseconds, and stands for no other. All samples
    /// of an event loop are added in this way, or none.
    pub fn add_sample_worth(&mut self, sample: Sample, worth: f64) -> Result<(), Invalid> {
        debug_assert_eq!(self.worths.len(), self.samples.len());
        if !(0. ..=LAST_TIME).contains(&worth) {
            return Err(Invalid::Worth(worth));
        }
        self.add_sample(sample)?;
        self.take(bytes::WORTH, 0)?;
        self.push_worth(worth::nanoseconds(worth))
    }

    /// Adds samples that are equal but for their times, which are not kept. `worth` is what they are worth together, in
    /// nanoseconds, for all samples of an event loop or for none. A recording with such sums is for reports alone.
    pub(crate) fn add_sum(
        &mut self,
        stack: Option<StackId>,
        activity: Option<Activity>,
        weight: u64,
        worth: Option<u64>,
    ) -> Result<(), Invalid> {
        let time = self.samples.last().map_or(0., |last| last.time);
        self.add_sample(Sample {
            time,
            weight,
            stack,
            activity,
        })?;
        self.is_summed = true;
        if let Some(worth) = worth {
            self.take(bytes::WORTH, 0)?;
            self.add_worth(worth)?;
        }
        Ok(())
    }

    /// Whether its samples are sums of several, whose times are not known.
    pub(crate) fn is_summed(&self) -> bool {
        self.is_summed
    }

    /// Of the sample behind those that have one.
    fn push_worth(&mut self, worth: u64) -> Result<(), Invalid> {
        if self.samples[self.worths.len()].weight != 1 {
            return Err(Invalid::Several);
        }
        self.add_worth(worth)
    }

    fn add_worth(&mut self, worth: u64) -> Result<(), Invalid> {
        self.worth = self
            .worth
            .checked_add(worth)
            .filter(|worth| *worth <= MAX_WORTH)
            .ok_or(Invalid::TooLong)?;
        self.worths.push(worth);
        Ok(())
    }

    /// Like [`Self::add_sample`], for a sample that is worth a time in nanoseconds, and may stand for several, which are worth
    /// it together. All samples of an event loop are added in this way, or none.
    pub fn add_several(&mut self, sample: Sample, worth: u64) -> Result<(), Invalid> {
        debug_assert_eq!(self.worths.len(), self.samples.len());
        self.add_sample(sample)?;
        self.take(bytes::WORTH, 0)?;
        self.add_worth(worth)
    }

    /// An equal one keeps its id.
    pub fn add_label_set(&mut self, labels: LabelSet) -> Result<LabelSetId, Invalid> {
        if let Some(index) = self.label_sets.get_index_of(&labels) {
            return id(index).map(LabelSetId);
        }
        let texts = labels.iter().map(|(name, value)| name.len() + value.len());
        self.take(bytes::LABELS * (1 + labels.len() as u64), texts.sum())?;
        let (index, _) = self.label_sets.insert_full(labels);
        id(index).map(LabelSetId)
    }

    /// Gives labels to the sample that was added last. The id is this event loop's.
    pub fn label_last_sample(&mut self, labels: LabelSetId) -> Result<(), Invalid> {
        debug_assert!(labels.index() < self.label_sets.len());
        let added = self.samples.len() - self.labels_of_samples.len();
        self.take(bytes::LABELS_OF_SAMPLE * added as u64, 0)?;
        self.labels_of_samples.resize(self.samples.len(), 0);
        if let Some(last) = self.labels_of_samples.last_mut() {
            *last = labels.0 + 1;
        }
        Ok(())
    }

    pub fn label_sets(&self) -> impl ExactSizeIterator<Item = &LabelSet> {
        self.label_sets.iter()
    }

    /// The labels of the sample at a place in [`Self::samples`].
    pub fn labels_of(&self, sample: usize) -> &[(String, String)] {
        let labels = self.labels_of_samples.get(sample).copied().unwrap_or(0);
        let labels = labels.checked_sub(1);
        labels.map_or(&[], |index| &self.label_sets[index as usize])
    }

    /// Makes each sample worth the time until the next one, and the last one the time to `end`, or else one interval.
    /// Unless some samples are idle, none is worth more than [`worth::most`].
    ///
    /// `end` and the interval are in milliseconds.
    pub(crate) fn value_until_next(
        &mut self,
        end: Option<f64>,
        interval: f64,
    ) -> Result<(), Invalid> {
        self.value_until_next_as(end, interval, self.has_idle_samples())
    }

    /// The same. `is_idle_sampled` says whether samples are taken while an event loop is idle, so that none is cut.
    pub(crate) fn value_until_next_as(
        &mut self,
        end: Option<f64>,
        interval: f64,
        is_idle_sampled: bool,
    ) -> Result<(), Invalid> {
        let moments: Vec<f64> = self.samples.iter().map(|sample| sample.time).collect();
        let most = (!is_idle_sampled).then(|| worth::most(interval));
        self.set_worths(worth::until_next(&moments, end, interval, most))
    }

    /// Sets what each sample is worth, in nanoseconds. None stands for several.
    pub(crate) fn set_worths(&mut self, worths: Vec<u64>) -> Result<(), Invalid> {
        debug_assert_eq!(worths.len(), self.samples.len());
        debug_assert!(self.worths.is_empty());
        self.take(bytes::WORTH * worths.len() as u64, 0)?;
        worths
            .into_iter()
            .try_for_each(|worth| self.push_worth(worth))
    }

    /// The same for samples that may stand for several, which are worth it together.
    pub(crate) fn set_sums(&mut self, worths: Vec<u64>) -> Result<(), Invalid> {
        debug_assert_eq!(worths.len(), self.samples.len());
        debug_assert!(self.worths.is_empty());
        self.take(bytes::WORTH * worths.len() as u64, 0)?;
        worths
            .into_iter()
            .try_for_each(|worth| self.add_worth(worth))
    }

    /// Whether samples were taken while it waited for something to do.
    pub(crate) fn has_idle_samples(&self) -> bool {
        let mut samples = self.samples.iter();
        samples.any(|sample| sample.stack.is_none() && sample.activity == Some(Activity::Idle))
    }

    /// Puts other functions and frames in the place of all that there are. `frames` has, for each frame, the index of
    /// its function in `functions` and its place. Functions, frames and stacks that are now equal become one, and the
    /// samples stay.
    pub(crate) fn replace_functions(
        &mut self,
        functions: Vec<Function>,
        frames: &[(usize, Option<Place>)],
    ) -> Result<(), Invalid> {
        debug_assert_eq!(frames.len(), self.frames.len());
        let old = mem::take(&mut self.functions);
        let old_stacks = mem::take(&mut self.stacks);
        let old_bytes = old.iter().map(Function::bytes).sum::<u64>()
            + bytes::FRAME * self.frames.len() as u64
            + bytes::STACK * old_stacks.len() as u64;
        self.bytes -= old_bytes;
        self.frames.clear();
        self.depths.clear();
        drop(old);

        let functions = functions
            .into_iter()
            .map(|function| self.add_function(function))
            .collect::<Result<Vec<_>, _>>()?;
        let frames = frames
            .iter()
            .map(|&(function, place)| {
                let function = functions[function];
                self.add_frame(Frame { function, place })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut stacks: Vec<StackId> = Vec::with_capacity(old_stacks.len());
        for stack in old_stacks {
            let parent = stack.parent.map(|parent| stacks[parent.index()]);
            stacks.push(self.add_stack(parent, frames[stack.frame.index()])?);
        }
        for sample in &mut self.samples {
            sample.stack = sample.stack.map(|stack| stacks[stack.index()]);
        }
        Ok(())
    }

    /// Puts another function in the place of each, in their order. Functions that are now equal become one.
    pub(crate) fn set_functions(&mut self, functions: Vec<Function>) -> Result<(), Invalid> {
        debug_assert_eq!(functions.len(), self.functions.len());
        let frames = self.frames.iter();
        let frames: Vec<_> = frames
            .map(|frame| (frame.function.index(), frame.place))
            .collect();
        self.replace_functions(functions, &frames)
    }

    /// Puts another function in the place of each, and another URL in the place of each URL for which there is one. Functions
    /// that are now equal become one.
    pub fn map_functions(
        &mut self,
        function_of: impl Fn(FunctionId) -> FunctionId,
        url_of: impl Fn(&str) -> Option<String>,
    ) -> Result<(), Invalid> {
        let urls: Vec<_> = self.resources.iter().map(|url| url_of(url)).collect();
        let urls = urls
            .into_iter()
            .map(|url| self.add_resource(&url?).ok().flatten());
        let urls: Vec<_> = urls.collect();
        let functions = self.functions.iter().map(|function| {
            let resource = function.resource;
            Function {
                resource: resource.and_then(|id| urls[id.index()]).or(resource),
                ..function.clone()
            }
        });
        let functions = functions.collect();
        let frames = self.frames.iter().map(|frame| {
            let function = function_of(frame.function);
            (function.index(), frame.place)
        });
        let frames: Vec<_> = frames.collect();
        self.replace_functions(functions, &frames)
    }

    /// A stretch follows the last one, or is the same for another reason.
    pub fn add_missed(&mut self, missed: Missed) -> Result<(), Invalid> {
        let Missed {
            start,
            end,
            samples,
            ..
        } = missed;
        for time in [start, end] {
            check_time(time)?;
        }
        if end < start {
            return Err(Invalid::EndsBefore { start, end });
        }
        if let Some(last) = self.missed.last()
            && start < last.end
            && (start, end) != (last.start, last.end)
        {
            return Err(Invalid::Overlaps {
                start,
                last: last.end,
            });
        }
        if samples == 0 {
            return Err(Invalid::NoneMissed);
        }
        self.take(bytes::MISSED, 0)?;
        self.missed.push(missed);
        Ok(())
    }

    pub fn resources(&self) -> impl ExactSizeIterator<Item = &str> {
        self.resources.iter().map(String::as_str)
    }

    pub fn sources(&self) -> impl ExactSizeIterator<Item = &Source> {
        self.sources.iter()
    }

    pub fn realms(&self) -> impl ExactSizeIterator<Item = &Realm> {
        self.realms.iter()
    }

    pub fn functions(&self) -> impl ExactSizeIterator<Item = &Function> {
        self.functions.iter()
    }

    /// In the order of [`Self::functions`].
    pub(crate) fn function_ids(&self) -> impl Iterator<Item = FunctionId> + use<> {
        (0..self.functions.len() as u32).map(FunctionId)
    }

    pub fn frames(&self) -> impl ExactSizeIterator<Item = &Frame> {
        self.frames.iter()
    }

    /// A parent is before its children.
    pub fn stacks(&self) -> impl ExactSizeIterator<Item = &Stack> + DoubleEndedIterator {
        self.stacks.iter()
    }

    /// In the order of [`Self::stacks`].
    pub fn stack_ids(&self) -> impl Iterator<Item = StackId> + use<> {
        (0..self.stacks.len()).filter_map(StackId::new)
    }

    /// Samples with a weight of 1: each as often as its weight says, an interval apart as far as the
    /// next one allows.
    pub(crate) fn single_samples(&self, interval: f64) -> impl Iterator<Item = Sample> {
        self.samples
            .iter()
            .enumerate()
            .flat_map(move |(index, sample)| {
                let next = self.samples.get(index + 1);
                let last = next.map_or(f64::INFINITY, |next| next.time);
                (0..sample.weight).map(move |number| Sample {
                    time: (sample.time + number as f64 * interval).min(last),
                    weight: 1,
                    ..*sample
                })
            })
    }

    /// In the order of time.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Whether each sample is worth a time of its own, which is that of all that it stands for. If not, it is worth one
    /// interval for each sample that it stands for.
    pub fn is_timed(&self) -> bool {
        !self.worths.is_empty()
    }

    /// What each sample is worth, in nanoseconds. The interval is that of the recording, in milliseconds.
    pub fn worths(&self, interval: f64) -> impl Iterator<Item = u64> {
        let interval = worth::nanoseconds(interval);
        self.samples.iter().enumerate().map(move |(index, sample)| {
            let worth = self.worths.get(index).copied();
            worth.unwrap_or_else(|| sample.weight.saturating_mul(interval))
        })
    }

    /// The samples that were missed, in the order of time. Empty as well where it was not recorded.
    pub fn missed(&self) -> &[Missed] {
        &self.missed
    }

    /// The entry of a table. Here and below, the id is this event loop's.
    pub fn resource(&self, id: ResourceId) -> &str {
        &self.resources[id.index()]
    }

    /// The URL of the script in which a function is defined.
    pub fn resource_of(&self, function: &Function) -> Option<&str> {
        function.resource.map(|id| self.resource(id))
    }

    /// The [`resource_hash`] of the URL of the function's script; 0 if there is none.
    pub fn resource_hash_of(&self, function: &Function) -> u64 {
        function
            .resource
            .map_or(0, |id| self.resource_hashes[id.index()])
    }

    pub fn source(&self, id: SourceId) -> &Source {
        &self.sources[id.index()]
    }

    pub fn realm(&self, id: RealmId) -> &Realm {
        &self.realms[id.index()]
    }

    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.index()]
    }

    pub fn frame(&self, id: FrameId) -> Frame {
        self.frames[id.index()]
    }

    /// The frame at a place of its table.
    pub(crate) fn frame_at(&self, index: usize) -> Frame {
        self.frames[index]
    }

    /// The function of a frame.
    pub fn function_of(&self, frame: FrameId) -> &Function {
        self.function(self.frame(frame).function)
    }

    pub fn stack(&self, id: StackId) -> Stack {
        self.stacks[id.index()]
    }

    /// The frames of a stack, from the root to the leaf.
    pub fn frames_of(&self, stack: Option<StackId>) -> Vec<FrameId> {
        let mut frames = Vec::with_capacity(stack.map_or(0, |id| self.depths[id.index()] as usize));
        let mut next = stack;
        while let Some(id) = next {
            let stack = self.stack(id);
            frames.push(stack.frame);
            next = stack.parent;
        }
        frames.reverse();
        frames
    }

    /// How many frames a stack has.
    pub(crate) fn depth(&self, stack: StackId) -> u32 {
        self.depths[stack.index()]
    }

    /// How many samples it has, each by its weight.
    pub fn weight(&self) -> u64 {
        self.weight
    }
}

/// The order of the tables counts, for ids refer to it.
impl PartialEq for EventLoop {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.kind == other.kind
            && self.resources.iter().eq(&other.resources)
            && self.sources.iter().eq(&other.sources)
            && self.realms.iter().eq(&other.realms)
            && self.functions.iter().eq(&other.functions)
            && self.frames.iter().eq(&other.frames)
            && self.stacks.iter().eq(&other.stacks)
            && self.samples == other.samples
            && self.worths == other.worths
            && (0..self.samples.len())
                .all(|sample| self.labels_of(sample) == other.labels_of(sample))
            && self.missed == other.missed
    }
}

/// A time of a sample, in milliseconds.
pub(crate) fn check_time(time: f64) -> Result<(), Invalid> {
    match (0. ..=LAST_TIME).contains(&time) {
        true => Ok(()),
        false => Err(Invalid::Time(time)),
    }
}

fn id(index: usize) -> Result<u32, Invalid> {
    u32::try_from(index).map_err(|_| Invalid::Full)
}
