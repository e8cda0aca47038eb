/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What there is to record, and how a recording is going. Serialised, it is what about:profiling is told of it.

use std::time::Duration;

use profile_formats::EventLoopKind;
use serde::{Serialize, Serializer};

use crate::BrowserEventLoopId;

/// The browser's processes and their event loops.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// The browser process first, then the content processes in the order in which they connected.
    pub processes: Vec<ProcessStatus>,
}

/// A process of the browser.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessStatus {
    /// The process id.
    pub pid: u32,
    /// A name for people.
    pub name: String,
    /// Whether the process has ended. It is still listed because a recording has samples of it.
    pub gone: bool,
    /// The event loops that it has reported.
    pub event_loops: Vec<EventLoopStatus>,
}

/// An event loop of the browser.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventLoopStatus {
    /// Its id, which [`crate::EventLoops::These`] takes.
    pub id: BrowserEventLoopId,
    /// A name for people. Several event loops may have the same.
    pub name: String,
    /// What it is for.
    #[serde(flatten, serialize_with = "kind")]
    pub kind: EventLoopKind,
    /// The reason, in one sentence, why its stacks cannot be recorded. `None` if they can. A recording
    /// without stacks has only what the event loop is doing.
    pub without_stacks: Option<String>,
    /// The sessions that pages have started and not yet stopped.
    pub sessions: Vec<SessionStatus>,
    /// How its recording goes; `None` if it is not being recorded.
    pub recorded: Option<RecordedStatus>,
    /// The memory that the process' profiler has allocated for it, in bytes.
    pub memory: u64,
}

/// How the recording of an event loop goes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedStatus {
    /// The interval at which samples are really taken: see [`crate::Options::interval`].
    #[serde(serialize_with = "milliseconds")]
    pub interval: Duration,
    /// Samples that are kept so far.
    #[serde(rename = "taken")]
    pub samples: u64,
    /// Ticks without a sample.
    pub missed: u64,
    pub unwalkable: u64,
    pub truncated: u64,
}

/// A session of a web page.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionStatus {
    /// The sample interval.
    #[serde(serialize_with = "milliseconds")]
    pub interval: Duration,
    /// Samples that were taken.
    pub taken: u64,
    /// Ticks that passed without a sample.
    pub missed: u64,
    /// Samples whose stack could not be walked.
    pub unwalkable: u64,
    /// Samples whose stack was truncated at the root end.
    pub truncated: u64,
    /// The URL of its document or of its worker's script; empty if not known.
    pub realm: String,
}

/// A recording that is running.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// The time since the recording began.
    #[serde(serialize_with = "milliseconds")]
    pub elapsed: Duration,
    /// The interval at which samples are really taken: see [`crate::Options::interval`].
    #[serde(serialize_with = "milliseconds")]
    pub interval: Duration,
    /// Samples that are kept so far.
    pub samples: u64,
    /// Ticks without a sample.
    pub missed: u64,
    /// Samples whose stack could not be walked.
    pub unwalkable: u64,
    /// How many event loops are or were recorded.
    pub event_loops: usize,
    /// The memory that the recording uses in this process, in bytes.
    pub memory: u64,
    /// As in [`crate::Wanted::keep_last`].
    #[serde(serialize_with = "milliseconds")]
    pub keep_last: Option<Duration>,
    /// As in [`crate::Wanted::long_tasks`].
    #[serde(serialize_with = "milliseconds")]
    pub long_tasks: Option<Duration>,
}

/// Two members. `documents` is empty if there are none.
fn kind<S: Serializer>(kind: &EventLoopKind, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Members<'a> {
        kind: &'static str,
        documents: &'a [String],
    }
    let (kind, documents) = match kind {
        EventLoopKind::Page { documents } => ("page", &**documents),
        EventLoopKind::Worker => ("worker", &[][..]),
        EventLoopKind::Unknown => ("unknown", &[][..]),
    };
    Members { kind, documents }.serialize(serializer)
}

fn milliseconds<S: Serializer>(
    duration: &(impl Copy + Into<Option<Duration>>),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let duration: Option<Duration> = (*duration).into();
    duration
        .map(|duration| duration.as_secs_f64() * 1_000.)
        .serialize(serializer)
}
