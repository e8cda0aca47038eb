/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What there is to record, and how a recording goes.

use std::time::Duration;

use profile_formats::EventLoopKind;

use crate::EventLoopId;

/// The browser's processes and their event loops.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    pub processes: Vec<ProcessStatus>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ProcessStatus {
    pub pid: u32,
    pub name: String,
    /// Whether it has ended.
    pub gone: bool,
    pub event_loops: Vec<EventLoopStatus>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct EventLoopStatus {
    pub id: EventLoopId,
    pub name: String,
    pub kind: EventLoopKind,
    /// Why its stacks cannot be recorded, in one sentence, if so: then what it does is recorded alone.
    pub without_stacks: Option<String>,
    /// Those of web pages.
    pub sessions: Vec<SessionStatus>,
    /// What the recording that goes on has of it; none without a recording of it.
    pub recorded: Option<RecordedStatus>,
    /// What the process' profiler has allocated for it, in bytes.
    pub memory: u64,
}

/// How the recording of an event loop goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordedStatus {
    /// The true one: see [`crate::Options::interval`].
    pub interval: Duration,
    /// Kept so far.
    pub samples: u64,
    /// Ticks without a sample.
    pub missed: u64,
    pub unwalkable: u64,
    pub truncated: u64,
}

/// A session of a web page.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionStatus {
    pub interval: Duration,
    pub taken: u64,
    pub missed: u64,
    pub unwalkable: u64,
    pub truncated: u64,
    /// The URL of its document, or of its worker's script.
    pub realm: String,
}

/// A recording that goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    pub elapsed: Duration,
    /// The true one: see [`crate::Options::interval`].
    pub interval: Duration,
    /// Kept so far.
    pub samples: u64,
    /// Ticks without a sample.
    pub missed: u64,
    pub unwalkable: u64,
    /// How many event loops are or were recorded.
    pub event_loops: usize,
    /// What the recording takes in this process, in bytes.
    pub memory: u64,
    pub keep_last: Option<Duration>,
    pub long_tasks: Option<Duration>,
}
