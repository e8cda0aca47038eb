/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The state of the profiler as about:profiling shows it.

use std::time::Duration;

use profile_formats::EventLoopKind;
use profile_recorder::{
    BrowserEventLoopId, EventLoopStatus, ProcessStatus, Progress, RecordedStatus, Recorder,
    SessionStatus,
};
use serde::Serialize;

use super::recordings::Entry;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    processes: Vec<Process>,
    recording: Option<Recording>,
    /// Failures of the current or else the last recording, as sentences.
    failures: Vec<String>,
    /// What is missing from the last recording, as sentences.
    notices: Vec<String>,
    recordings: Vec<Entry>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Process {
    pid: u32,
    name: String,
    gone: bool,
    event_loops: Vec<EventLoop>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EventLoop {
    id: BrowserEventLoopId,
    name: String,
    kind: &'static str,
    documents: Vec<String>,
    without_stacks: Option<String>,
    sessions: Vec<Session>,
    /// How the recording in progress has sampled it.
    recorded: Option<Recorded>,
    /// Bytes.
    memory: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Session {
    /// Milliseconds.
    interval: f64,
    taken: u64,
    missed: u64,
    unwalkable: u64,
    truncated: u64,
    realm: String,
}

/// The same figures as for a session.
#[derive(Serialize)]
struct Recorded {
    /// Milliseconds.
    interval: f64,
    taken: u64,
    missed: u64,
    unwalkable: u64,
    truncated: u64,
}

/// The recording in progress. Times are in milliseconds.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Recording {
    elapsed: f64,
    interval: f64,
    samples: u64,
    missed: u64,
    unwalkable: u64,
    event_loops: usize,
    memory: u64,
    keep_last: Option<f64>,
    long_tasks: Option<f64>,
}

impl State {
    /// `map_notices` are about the source maps of the last recording.
    pub fn of(recorder: &Recorder, map_notices: Vec<String>, recordings: Vec<Entry>) -> Self {
        let processes = recorder.status().processes;
        Self {
            processes: processes.into_iter().map(Process::from).collect(),
            recording: recorder.progress().map(Recording::from),
            failures: recorder.failures(),
            notices: [recorder.notices(), map_notices].concat(),
            recordings,
        }
    }
}

impl From<ProcessStatus> for Process {
    fn from(status: ProcessStatus) -> Self {
        Self {
            pid: status.pid,
            name: status.name,
            gone: status.gone,
            event_loops: status
                .event_loops
                .into_iter()
                .map(EventLoop::from)
                .collect(),
        }
    }
}

impl From<EventLoopStatus> for EventLoop {
    fn from(status: EventLoopStatus) -> Self {
        let (kind, documents) = match status.kind {
            EventLoopKind::Page { documents } => ("page", documents),
            EventLoopKind::Worker => ("worker", Vec::new()),
            EventLoopKind::Unknown => ("unknown", Vec::new()),
        };
        Self {
            id: status.id,
            name: status.name,
            kind,
            documents,
            without_stacks: status.without_stacks,
            sessions: status.sessions.into_iter().map(Session::from).collect(),
            recorded: status.recorded.map(Recorded::from),
            memory: status.memory,
        }
    }
}

impl From<SessionStatus> for Session {
    fn from(status: SessionStatus) -> Self {
        Self {
            interval: milliseconds(status.interval),
            taken: status.taken,
            missed: status.missed,
            unwalkable: status.unwalkable,
            truncated: status.truncated,
            realm: status.realm,
        }
    }
}

impl From<RecordedStatus> for Recorded {
    fn from(status: RecordedStatus) -> Self {
        Self {
            interval: milliseconds(status.interval),
            taken: status.samples,
            missed: status.missed,
            unwalkable: status.unwalkable,
            truncated: status.truncated,
        }
    }
}

impl From<Progress> for Recording {
    fn from(progress: Progress) -> Self {
        Self {
            elapsed: milliseconds(progress.elapsed),
            interval: milliseconds(progress.interval),
            samples: progress.samples,
            missed: progress.missed,
            unwalkable: progress.unwalkable,
            event_loops: progress.event_loops,
            memory: progress.memory,
            keep_last: progress.keep_last.map(milliseconds),
            long_tasks: progress.long_tasks.map(milliseconds),
        }
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.
}
