/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Recordings for people who work on the engine: all realms and scripts of event loops. What a process is
//! asked to record, and what it reports.
//!
//! Tables go over piece by piece: a [`Chunk`] has what is new since the last one, and ids count on.

use std::borrow::Cow;
use std::time::Duration;

use malloc_size_of_derive::MallocSizeOf;
use serde::{Deserialize, Serialize};
use servo_base::cross_process_instant::CrossProcessInstant;

use crate::{GroupId, Marker, SampleCounts, Stack};

/// A recording of a browser, in all of its processes.
#[derive(Clone, Copy, Debug, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub struct RecordingId(pub u64);

/// What a process is asked.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub enum Request {
    /// Sets preferences of the profiler, by name: see [`crate::preferences`].
    SetPreferences(Vec<(String, String)>),
    /// Begins a recording; one that goes on ends.
    Start(RecordingOptions),
    /// One event loop takes no more samples.
    EndEventLoop {
        recording: RecordingId,
        group: GroupId,
    },
    /// Ends the recording. The answer, after the last chunk, is [`Report::Stopped`].
    Stop(RecordingId),
    /// The answer is [`Report::Status`] with this number.
    Status { number: u64 },
    /// The browser ends: no samples are taken any more, for recordings and for sessions of pages.
    EndSampling,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RecordingOptions {
    pub id: RecordingId,
    /// It is rounded down to a multiple of the base interval: see [`recording_interval`].
    pub interval: Duration,
    pub event_loops: Selection,
}

/// The interval that a recording gets for the one that it asked for: rounded down to a multiple of
/// `base`, and never below it.
pub fn recording_interval(requested: Duration, base: Duration) -> Duration {
    let multiple = requested.as_nanos() / base.as_nanos();
    base * u32::try_from(multiple).unwrap_or(u32::MAX).max(1)
}

/// Which event loops of a process are recorded.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Selection {
    /// All, with those to come.
    All,
    /// Those of documents, with those to come.
    Main,
    These {
        groups: Vec<GroupId>,
        /// Whether those to come are recorded as well.
        new_ones: bool,
    },
}

impl Selection {
    /// `is_new` says whether the event loop began after the recording.
    pub fn includes(&self, group: GroupId, kind: EventLoopKind, is_new: bool) -> bool {
        match self {
            Self::All => true,
            Self::Main => kind == EventLoopKind::Page,
            Self::These { groups, new_ones } => (is_new && *new_ones) || groups.contains(&group),
        }
    }
}

/// What a process reports.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub enum Report {
    Chunk(Box<Chunk>),
    /// An event loop of the recording is not sampled, or not any more, and why.
    Failed {
        recording: RecordingId,
        group: GroupId,
        why: String,
    },
    Stopped(RecordingId),
    Status {
        number: u64,
        event_loops: Vec<EventLoopStatus>,
    },
}

/// What there is new of an event loop's recording.
#[derive(Clone, Debug, Deserialize, MallocSizeOf, PartialEq, Serialize)]
pub struct Chunk {
    pub recording: RecordingId,
    pub group: GroupId,
    /// If it has changed.
    pub description: Option<Description>,
    /// Why the samples have no stacks, in one sentence, if so.
    pub without_stacks: Option<String>,
    /// Whether the tables begin anew: ids count from 0 again. They do when they have become too large.
    pub new_tables: bool,
    /// URLs of scripts.
    pub resources: Vec<String>,
    pub realms: Vec<Realm>,
    pub frames: Vec<RecordedFrame>,
    /// A parent stands before its children.
    pub stacks: Vec<Stack>,
    /// In the order of time.
    pub samples: Vec<RecordedSample>,
    /// From the beginning of the recording.
    pub counts: SampleCounts,
}

impl Chunk {
    /// With nothing new.
    pub fn empty(recording: RecordingId, group: GroupId, counts: SampleCounts) -> Self {
        Self {
            recording,
            group,
            description: None,
            without_stacks: None,
            new_tables: false,
            resources: Vec::new(),
            realms: Vec::new(),
            frames: Vec::new(),
            stacks: Vec::new(),
            samples: Vec::new(),
            counts,
        }
    }
}

/// A global and what belongs to it.
#[derive(Clone, Debug, Deserialize, Eq, Hash, MallocSizeOf, PartialEq, Serialize)]
pub struct Realm {
    /// The URL of the document or of the worker's script.
    pub url: String,
    /// Serialised; absent if it is opaque.
    pub origin: Option<String>,
}

#[derive(Clone, Debug, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub struct RecordedFrame {
    /// The function's own name; empty for an anonymous function and for top-level script.
    pub name: String,
    pub kind: RecordedFrameKind,
    /// Absent for what is defined in no script with a URL.
    pub resource: Option<u32>,
    /// 1-based line of the definition.
    pub line: Option<u32>,
    /// 1-based column of the definition, in UTF-16 code units.
    pub column: Option<u32>,
    /// Absent if the realm is none of a document or worker.
    pub realm: Option<u32>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub enum RecordedFrameKind {
    /// A function or top-level script of a page, or a function of WebAssembly.
    Script,
    /// A function of the engine or of the browser that scripts can call.
    BuiltIn,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub struct RecordedSample {
    /// When the thread was stopped, or found idle.
    pub time: CrossProcessInstant,
    /// Index of the leaf's stack.
    pub stack: Option<u32>,
    /// What the event loop was doing; absent if it was idle.
    pub activity: Option<Marker>,
}

/// What an event loop is there for.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub enum EventLoopKind {
    /// Documents that share an agent.
    Page,
    Worker,
    SharedWorker,
    ServiceWorker,
    /// It has not run a document's or a worker's script yet, or is there for something else.
    #[default]
    Unknown,
}

/// An event loop, for people.
#[derive(Clone, Debug, Default, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub struct Description {
    pub kind: EventLoopKind,
    /// That of a worker; of an unknown kind, that of the thread. May be empty.
    pub name: String,
    /// Of the documents, the one that others are in first; of a worker, that of its script.
    pub urls: Vec<String>,
}

impl Description {
    /// A name for people; it may be that of other event loops as well.
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

/// A `data:` URL has all of the document in it.
fn shortened(text: &str) -> Cow<'_, str> {
    const LENGTH: usize = 200;
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct EventLoopStatus {
    pub group: GroupId,
    pub description: Description,
    /// Why a recording of it has no stacks, in one sentence, if so.
    pub without_stacks: Option<String>,
    pub sessions: Vec<SessionStatus>,
    /// What the sampling component has allocated for it, in bytes.
    pub memory: u64,
}

/// A session of a web page.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SessionStatus {
    pub interval: Duration,
    pub counts: SampleCounts,
    /// Absent if the realm is none of a document or worker.
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
        let (one, two) = (GroupId(1), GroupId(2));
        let these = |new_ones| Selection::These {
            groups: vec![one],
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
