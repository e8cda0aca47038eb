/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Recordings for people who work on the engine, with all realms and scripts of event loops: what a process
//! is asked to record, and what it reports.
//!
//! Tables are sent piece by piece: a [`Chunk`] has what is new since the last one, and its ids continue from
//! there.

use std::borrow::Cow;
use std::time::Duration;

use malloc_size_of_derive::MallocSizeOf;
use serde::{Deserialize, Serialize};
use servo_base::cross_process_instant::CrossProcessInstant;
use servo_base::id::WebViewId;

use crate::{EventLoopId, Marker, SampleCounts, Stack};

/// The id of a recording of a browser, which covers all processes of that browser.
#[derive(Clone, Copy, Debug, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub struct RecordingId(pub u64);

/// The text of a source that is longer than this in UTF-8, in bytes, is left out of a recording.
pub const MAX_SOURCE_BYTES: usize = 16 << 20;

/// The texts of all sources in a recording together take at most this in UTF-8, in bytes.
pub const MAX_SOURCES_BYTES: usize = 64 << 20;

/// A source map that is longer than this, in bytes, is not fetched. A report must be shorter than a message between
/// processes may be.
pub const MAX_MAP_BYTES: usize = 48 << 20;

/// The source maps that are fetched for a recording take at most this, in bytes, all together.
pub const MAX_MAPS_BYTES: usize = 192 << 20;

/// Why there is no room for another source map, as a clause for people.
pub fn no_room_for_maps() -> String {
    let most = MAX_MAPS_BYTES >> 20;
    format!("all source maps together would be longer than {most} MiB")
}

/// What the recorder asks of a process.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub enum Request {
    /// Sets preferences of the profiler, pairs of name and value: see [`crate::preferences`].
    SetPreferences(Vec<(String, String)>),
    /// Starts a recording. A recording that is running is ended.
    Start(RecordingOptions),
    /// Takes no more samples of one event loop.
    EndEventLoop {
        /// The recording that the event loop is part of.
        recording: RecordingId,
        /// The event loop.
        event_loop: EventLoopId,
    },
    /// Ends the recording. The answer is [`Report::Stopped`], which comes after the last chunk.
    Stop(RecordingId),
    /// Asks how all event loops are. The answer is a [`Report::Status`] with the same number.
    Status {
        /// Chosen by the recorder, to recognise the answer.
        number: u64,
    },
    /// The browser is closing: no more samples are taken, neither for recordings nor for the sessions of
    /// pages.
    EndSampling,
}

/// What a recording is started with.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RecordingOptions {
    /// The id that its reports will have.
    pub id: RecordingId,
    /// The requested interval. It is rounded down to a multiple of the base interval: see
    /// [`recording_interval`].
    pub interval: Duration,
    /// The event loops to record.
    pub event_loops: Selection,
    /// Whether the sources of the scripts whose functions were sampled are reported with their texts: see
    /// [`Report::Source`].
    pub sources: bool,
    /// Whether the source maps that these scripts link to are fetched and reported: see [`Report::Map`].
    pub linked_maps: bool,
}

/// The interval that a recording gets for the `requested` one: rounded down to a multiple of `base`, and
/// never below `base`.
pub fn recording_interval(requested: Duration, base: Duration) -> Duration {
    let multiple = requested.as_nanos() / base.as_nanos();
    base * u32::try_from(multiple).unwrap_or(u32::MAX).max(1)
}

/// Which event loops of a process are recorded.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Selection {
    /// All of them, including later ones.
    All,
    /// Those of documents, including later ones.
    Main,
    /// Chosen ones.
    These {
        /// The event loops that were chosen.
        event_loops: Vec<EventLoopId>,
        /// Whether later event loops are recorded as well.
        new_ones: bool,
    },
}

impl Selection {
    /// Whether an event loop is recorded. `is_new` says whether it began after the recording.
    pub fn includes(&self, event_loop: EventLoopId, kind: EventLoopKind, is_new: bool) -> bool {
        match self {
            Self::All => true,
            Self::Main => kind == EventLoopKind::Page,
            Self::These {
                event_loops,
                new_ones,
            } => (is_new && *new_ones) || event_loops.contains(&event_loop),
        }
    }
}

/// What a process reports to the recorder.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub enum Report {
    /// What is new of one event loop's recording.
    Chunk(Box<Chunk>),
    /// One event loop of the recording cannot be sampled, or is no longer sampled.
    Failed {
        /// The recording that the event loop is part of.
        recording: RecordingId,
        /// The event loop.
        event_loop: EventLoopId,
        /// The reason, as a part of a sentence for people.
        why: String,
    },
    /// The recording has ended. Nothing else is reported for it afterwards.
    Stopped(RecordingId),
    /// The answer to [`Request::Status`].
    Status {
        /// The number of the request.
        number: u64,
        /// All event loops of the process.
        event_loops: Vec<EventLoopStatus>,
    },
    /// The source of a script whose functions came in a chunk of this event loop. It has a text, or a link to a source
    /// map, or both.
    Source {
        /// The recording that the event loop is part of.
        recording: RecordingId,
        /// The event loop.
        event_loop: EventLoopId,
        /// The source.
        source: Box<RecordedSource>,
    },
    /// The texts of some sources of an event loop are left out. If only source maps are wanted, it is not known
    /// whether these scripts link to any.
    SourcesLeftOut {
        /// The recording that the event loop is part of.
        recording: RecordingId,
        /// The event loop.
        event_loop: EventLoopId,
        /// The reason.
        why: LeftOut,
        /// How many.
        count: u32,
        /// The names of the first ones, where they are known.
        names: Vec<String>,
    },
    /// A source map that scripts of an event loop link to. A [`Report::Source`] of each came before.
    Map {
        /// The recording that the event loop is part of.
        recording: RecordingId,
        /// The event loop.
        event_loop: EventLoopId,
        /// The map, or why there is none.
        map: Box<LinkedMap>,
    },
    /// How the first page of an event loop was answered. A web view that no page has opened has a new event loop for
    /// its first page, so the answer to that page is always reported. It is the first one reported for its web view.
    PageAnswer {
        /// The recording.
        recording: RecordingId,
        /// The answer.
        answer: PageAnswer,
    },
}

/// How a page was answered. A page is a document that is in no frame.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct PageAnswer {
    /// The web view that shows the page.
    pub webview: WebViewId,
    /// The HTTP status of the response, after redirects, if it is that of an error.
    pub http_error: Option<u16>,
}

/// What is new of an event loop's recording since the last chunk.
#[derive(Clone, Debug, Deserialize, MallocSizeOf, PartialEq, Serialize)]
pub struct Chunk {
    /// The recording that the samples belong to.
    pub recording: RecordingId,
    /// The event loop that was sampled.
    pub event_loop: EventLoopId,
    /// The event loop's description, if it has changed since the last chunk.
    pub description: Option<Description>,
    /// Whether the tables start over with this chunk, with ids from 0. They do when they have become too
    /// large.
    pub new_tables: bool,
    /// New URLs of scripts.
    pub resources: Vec<String>,
    /// New realms of documents and workers.
    pub realms: Vec<Realm>,
    /// New functions and top-level scripts.
    pub functions: Vec<RecordedFunction>,
    /// New frames.
    pub frames: Vec<RecordedFrame>,
    /// New stacks, as a trie: each stack comes after its parent.
    pub stacks: Vec<Stack>,
    /// The samples that were missed since the last chunk.
    pub missed: Vec<RecordedMissed>,
    /// New samples, in the order of time.
    pub samples: Vec<RecordedSample>,
    /// The counts since the recording began.
    pub counts: SampleCounts,
}

impl Chunk {
    /// A chunk with nothing new.
    pub fn empty(recording: RecordingId, event_loop: EventLoopId, counts: SampleCounts) -> Self {
        Self {
            recording,
            event_loop,
            description: None,
            new_tables: false,
            resources: Vec::new(),
            realms: Vec::new(),
            functions: Vec::new(),
            frames: Vec::new(),
            stacks: Vec::new(),
            missed: Vec::new(),
            samples: Vec::new(),
            counts,
        }
    }
}

/// A global of a document or a worker.
#[derive(Clone, Debug, Deserialize, Eq, Hash, MallocSizeOf, PartialEq, Serialize)]
pub struct Realm {
    /// The URL of the document or of the worker's script.
    pub url: String,
    /// The serialised origin; `None` for an opaque one.
    pub origin: Option<String>,
}

/// A function or top-level script of a recording.
#[derive(Clone, Debug, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub struct RecordedFunction {
    /// The function's own name, or what the engine calls it by where it stands (`object.method`); empty for top-level
    /// script and where there is neither.
    pub name: String,
    /// Whose function it is.
    pub kind: RecordedFunctionKind,
    /// Index into the table of [`Chunk::resources`]; `None` if no script with a URL defines it.
    pub resource: Option<u32>,
    /// 1-based line of the definition; `None` if it is in no script.
    pub line: Option<u32>,
    /// 1-based column of the definition, in UTF-16 code units; `None` if it is in no script.
    pub column: Option<u32>,
    /// Index into the table of [`Chunk::realms`]; `None` if the realm does not belong to a document or
    /// worker.
    pub realm: Option<u32>,
    /// The [`RecordedSource::id`] of the script that defines it; `None` if it is in no script.
    pub source: Option<u32>,
}

/// The source of a script: its text as the engine has it, where that begins, and the link to its source map.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct RecordedSource {
    /// The engine's number of it, which no other script of the process has.
    pub id: u32,
    /// The URL of the script. If script made it from text, what made it, such as
    /// `https://a.example/a.js line 3 > eval`.
    pub name: String,
    /// The 1-based line at which the text begins; of an inline script, the line in its document.
    pub line: u32,
    /// The 1-based column of the text's first character, in UTF-16 code units.
    pub column: u32,
    /// The text. A surrogate without its partner is U+FFFD. `None` if texts are not wanted, or if it is left out.
    pub text: Option<String>,
    /// The link to its source map, from the header of the response, or else from the comment in the text. `None` if
    /// there is neither. It may be a `data:` URL, which is the map itself. If that is in the comment of a text that is
    /// reported, it is not repeated here.
    pub map_url: Option<String>,
}

/// Whether a link to a source map is the map itself.
pub fn is_map_itself(link: &str) -> bool {
    let scheme = link.get(..5).unwrap_or_default();
    scheme.eq_ignore_ascii_case("data:")
}

/// A source map that scripts link to.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct LinkedMap {
    /// The [`RecordedSource::id`] of each script.
    pub sources: Vec<u32>,
    /// The URL that it came from, after redirects, or the one that was asked. If there is none, the link.
    pub url: String,
    /// What came. An error says why nothing did, as a part of a sentence for people.
    pub content: Result<String, String>,
}

/// Why the text of a source is left out of a recording.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub enum LeftOut {
    /// It is longer than [`MAX_SOURCE_BYTES`].
    TooLong,
    /// The texts before it take [`MAX_SOURCES_BYTES`], together with it.
    NoRoom,
    /// The engine has let go of the script.
    Gone,
    /// The event loop was busy until the wait for it was over.
    Busy,
}

/// Whose function a [`RecordedFunction`] is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub enum RecordedFunctionKind {
    /// A function or top-level script of a page, or a WebAssembly function.
    Script,
    /// A function of the engine or the browser that scripts can call.
    BuiltIn,
}

/// A function, and the place in it that it was executing, at the leaf of a stack, or calling.
#[derive(Clone, Copy, Debug, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub struct RecordedFrame {
    /// Index into the table of [`Chunk::functions`].
    pub function: u32,
    /// `None` for a built-in, and where the place is not known.
    pub position: Option<RecordedPosition>,
}

/// A place in a script or in a module of WebAssembly.
#[derive(Clone, Copy, Debug, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub enum RecordedPosition {
    /// 1-based; the column is in UTF-16 code units.
    Source {
        /// The line.
        line: u32,
        /// The column in it.
        column: u32,
    },
    /// In bytes from the beginning of the module.
    WasmOffset(u32),
}

/// Samples that were missed between two that were taken. Nothing is known of what the event loop did there.
#[derive(Clone, Copy, Debug, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub struct RecordedMissed {
    /// The time of the sample before, or of the beginning of the recording.
    pub start: CrossProcessInstant,
    /// The time of the next sample, or of the end of the recording.
    pub end: CrossProcessInstant,
    /// How many samples were missed for this reason.
    pub samples: u32,
    /// The reason.
    pub why: MissedReason,
}

/// Why a sample was missed.
#[derive(
    Clone, Copy, Debug, Deserialize, Eq, Hash, MallocSizeOf, Ord, PartialEq, PartialOrd, Serialize,
)]
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
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 6] = [
        Self::SamplerLate,
        Self::NoProcessor,
        Self::NotStopped,
        Self::LongWalks,
        Self::TooDeep,
        Self::OtherStack,
    ];
}

/// A sample of a recording.
#[derive(Clone, Copy, Debug, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub struct RecordedSample {
    /// When the thread was stopped or found idle.
    pub time: CrossProcessInstant,
    /// Index of the leaf's stack in the table of [`Chunk::stacks`]; `None` if no JavaScript was running, or
    /// its stack is not known.
    pub stack: Option<u32>,
    /// What the event loop was doing; `None` if it was idle.
    pub marker: Option<Marker>,
}

/// What an event loop is for.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub enum EventLoopKind {
    /// The documents of one agent.
    Page,
    /// A dedicated worker.
    Worker,
    /// A shared worker.
    SharedWorker,
    /// A service worker.
    ServiceWorker,
    /// It has not run a script of a document or worker yet, or is for something else.
    #[default]
    Unknown,
}

/// What people are told of an event loop.
#[derive(Clone, Debug, Default, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub struct Description {
    /// What it is for.
    pub kind: EventLoopKind,
    /// The name of the worker or, for an unknown kind, of the thread. May be empty.
    pub name: String,
    /// The URLs of the documents, top-level ones first; for a worker, the URL of its script.
    pub urls: Vec<String>,
}

impl Description {
    /// A name for people. Several event loops may have the same.
    pub fn label(&self) -> String {
        let url = self.urls.first().map(|url| shortened(url));
        let name = Some(shortened(&self.name)).filter(|name| !name.is_empty());
        let what = match self.kind {
            EventLoopKind::Page => "Page",
            EventLoopKind::Worker => "Worker",
            EventLoopKind::SharedWorker => "Shared worker",
            EventLoopKind::ServiceWorker => "Service worker",
            EventLoopKind::Unknown => return name.or(url).unwrap_or_default().into_owned(),
        };
        let Some(which) = name.or(url) else {
            return what.to_owned();
        };
        match self.urls.len() {
            0 | 1 => format!("{what} {which}"),
            number => format!("{what} {which} (+{})", number - 1),
        }
    }
}

/// Cuts a long text: a `data:` URL contains the whole document.
fn shortened(text: &str) -> Cow<'_, str> {
    const LENGTH: usize = 200;
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// How an event loop is at the moment.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct EventLoopStatus {
    /// The event loop.
    pub id: EventLoopId,
    /// What people are told of it.
    pub description: Description,
    /// The reason, in one sentence, why a recording of it would have no stacks. `None` if it would have them.
    pub without_stacks: Option<String>,
    /// The sessions that pages have started and not yet stopped.
    pub sessions: Vec<SessionStatus>,
    /// The memory that the sampling component has allocated for it, in bytes.
    pub memory: u64,
}

/// A session of a web page.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SessionStatus {
    /// The sample interval.
    pub interval: Duration,
    /// How its samples have gone so far.
    pub counts: SampleCounts,
    /// The realm of the page; `None` if the realm does not belong to a document or worker.
    pub realm: Option<Realm>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description(kind: EventLoopKind, name: &str, urls: &[&str]) -> Description {
        Description {
            kind,
            name: name.to_owned(),
            urls: urls.iter().map(|&url| url.to_owned()).collect(),
        }
    }

    #[test]
    fn a_label_says_what_an_event_loop_is_for() {
        use EventLoopKind::{Page, ServiceWorker, SharedWorker, Unknown, Worker};
        let (a, b) = ("https://a.example/", "https://b.example/");
        for (description, expected) in [
            (description(Page, "", &[a]), "Page https://a.example/"),
            (
                description(Page, "", &[a, b, b]),
                "Page https://a.example/ (+2)",
            ),
            (description(Page, "", &[]), "Page"),
            (description(Worker, "", &[a]), "Worker https://a.example/"),
            (description(Worker, "sums", &[a]), "Worker sums"),
            (
                description(SharedWorker, "", &[a]),
                "Shared worker https://a.example/",
            ),
            (
                description(ServiceWorker, "", &[a]),
                "Service worker https://a.example/",
            ),
            (description(Unknown, "Script#1", &[]), "Script#1"),
            (description(Unknown, "", &[]), ""),
        ] {
            assert_eq!(description.label(), expected);
        }
        let long = format!("data:text/html,{}", "ä".repeat(1_000));
        let label = description(Page, "", &[&long]).label();
        assert_eq!(label.chars().count(), "Page ".len() + 200 + 1);
    }

    #[test]
    fn a_selection_includes_what_it_says() {
        use EventLoopKind::{Page, Unknown, Worker};
        let (one, two) = (EventLoopId(1), EventLoopId(2));
        let these = |new_ones| Selection::These {
            event_loops: vec![one],
            new_ones,
        };
        for kind in [Page, Worker, Unknown] {
            for is_new in [false, true] {
                assert!(Selection::All.includes(one, kind, is_new));
                assert_eq!(Selection::Main.includes(one, kind, is_new), kind == Page);
                for new_ones in [false, true] {
                    assert!(these(new_ones).includes(one, kind, is_new));
                    let is_included = these(new_ones).includes(two, kind, is_new);
                    assert_eq!(is_included, new_ones && is_new);
                }
            }
        }
    }

    #[test]
    fn an_interval_is_rounded_down_to_a_multiple_of_the_base() {
        let micros = Duration::from_micros;
        for (requested, base, expected) in [
            (0, 1_000, 1_000),
            (1_999, 1_000, 1_000),
            (600, 200, 600),
            (700, 200, 600),
            (10_000, 1_000, 10_000),
        ] {
            let interval = recording_interval(micros(requested), micros(base));
            assert_eq!(interval, micros(expected));
        }
        let longest = recording_interval(Duration::MAX, micros(1_000));
        assert_eq!(longest, micros(1_000) * u32::MAX);
    }
}
