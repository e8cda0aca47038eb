/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The browser's side: asks its processes, and keeps what they report.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};
use std::{fmt, io, process, thread};

use crossbeam_channel::Sender;
use js_profiler_traits::recording::{
    Chunk, EventLoopStatus as ReportedEventLoop, RecordingId, RecordingOptions, Report, Request,
    Selection, recording_interval,
};
use js_profiler_traits::{GroupId, preferences};
use log::{debug, warn};
use profile_formats::Recording;
use servo_base::cross_process_instant::CrossProcessInstant;

use crate::connection::{Accepted, ReceiveError, Sender as ConnectionSender};
use crate::kept::{self, Kept, Wanted};
use crate::{
    EventLoopId, EventLoopStatus, EventLoops, Options, ProcessStatus, Progress, RecordedStatus,
    SessionStatus, Status, connection,
};

/// A process that does not say how it is within this time is shown as it was.
const STATUS_TIMEOUT: Duration = Duration::from_millis(500);

/// What a process has not reported within this time after the end of the recording is lost.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// Of a recording so many failures are kept, and so much of the text of each, in characters: content
/// processes report them.
const MAX_FAILURES: usize = 1_000;
const MAX_FAILURE_TEXT: usize = 500;

/// The pause after a connection that could not be accepted, as when there are no descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// So many connections that were refused are told: anybody on this machine can try.
const MAX_REFUSALS_TOLD: usize = 100;

/// Records the event loops of this browser.
#[derive(Clone)]
pub struct Recorder(Arc<Shared>);

struct Shared {
    /// Held while a recording is started or stopped, so that processes are asked for both in this order.
    orders: Mutex<()>,
    state: Mutex<State>,
    /// A process has answered, or has gone.
    answered: Condvar,
}

#[derive(Default)]
struct State {
    /// This one first.
    processes: Vec<Process>,
    /// How many processes there have been.
    process_count: usize,
    recording: Option<UnderWay>,
    /// Why event loops of the recording, or of the last one, are not recorded any more.
    failures: BTreeMap<EventLoopId, String>,
    last_recording: u64,
    last_status: u64,
}

/// A process of the browser.
struct Process {
    /// Unlike process ids, never used again.
    number: usize,
    pid: u32,
    name: &'static str,
    /// None if it has gone.
    connection: Option<Connection>,
    /// Its last answer of that kind.
    status: u64,
    event_loops: Vec<ReportedEventLoop>,
    /// The last recording that it has ended.
    stopped: Option<RecordingId>,
    /// The present recording of it.
    kept: BTreeMap<u64, Kept>,
    /// When it went, in milliseconds on the recording's clock, if it was while there was a recording.
    ended: Option<f64>,
}

#[derive(Clone)]
enum Connection {
    /// This process. Reports are not made by whoever asks.
    This(Sender<Report>),
    Other(ConnectionSender<Request>),
}

/// A recording that goes on.
struct UnderWay {
    id: RecordingId,
    options: Options,
    /// The true one.
    interval: Duration,
    /// The 0 of its clock.
    start: CrossProcessInstant,
    /// The same, in milliseconds since the Unix epoch.
    time_origin: Option<f64>,
    stopping: bool,
}

/// Why no recording was started.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StartError {
    /// One goes on: there is one at a time.
    Recording,
    NoSuchEventLoop(EventLoopId),
    /// No event loop was chosen, and none of those to come.
    NothingToRecord,
}

impl fmt::Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recording => formatter.write_str("a recording is going on already"),
            Self::NoSuchEventLoop(id) => write!(formatter, "there is no event loop {id}"),
            Self::NothingToRecord => formatter.write_str("no event loop is to be recorded"),
        }
    }
}

impl std::error::Error for StartError {}

/// There is no recording to stop.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotRecording;

impl fmt::Display for NotRecording {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("no recording is going on")
    }
}

impl std::error::Error for NotRecording {}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl Recorder {
    /// Of this process. There is one recorder in a process.
    pub fn new() -> Self {
        let (sender, reports) = crossbeam_channel::unbounded();
        let shared = Arc::new(Shared {
            orders: Mutex::default(),
            state: Mutex::default(),
            answered: Condvar::new(),
        });
        let number = shared.add_process(process::id(), "Browser", Connection::This(sender));
        let weak = Arc::downgrade(&shared);
        spawn("ProfileRecorder", move || {
            follow(&weak, number, || reports.recv().ok());
        });
        Self(shared)
    }

    /// Lets the content processes of this browser connect from now on: see
    /// [`crate::report_to_browser`]. They get this process' preferences of the profiler.
    pub fn listen(&self) -> io::Result<()> {
        let listener = connection::listen()?;
        let shared = Arc::downgrade(&self.0);
        spawn("ProfileListener", move || {
            let mut refused = 0;
            while shared.strong_count() > 0 {
                let stream = match listener.next() {
                    Ok(stream) => stream,
                    Err(error) => {
                        warn!("A process could not connect to be profiled: {error}");
                        thread::sleep(ACCEPT_PAUSE);
                        continue;
                    },
                };
                match listener.take(stream) {
                    Ok(accepted) => {
                        let shared = shared.clone();
                        spawn("ProfileProcess", move || take_in(&shared, &accepted));
                    },
                    Err(error) => {
                        refused += 1;
                        if refused <= MAX_REFUSALS_TOLD {
                            warn!("A process cannot be profiled: {error}");
                        }
                    },
                }
            }
        });
        Ok(())
    }

    /// The browser ends: from now on no process takes samples, which would delay its end.
    pub fn end_sampling(&self) {
        self.0.ask_all(|_| Request::EndSampling);
    }

    /// The processes, their event loops and the sessions of web pages. Content processes are asked; it may
    /// take a moment.
    pub fn status(&self) -> Status {
        let shared = &*self.0;
        let number = {
            let mut state = shared.lock();
            state.last_status += 1;
            state.last_status
        };
        shared.ask_all(|_| Request::Status { number });
        let state = shared.wait(STATUS_TIMEOUT, |process| process.status >= number);
        let interval = state.recording.as_ref().map(|recording| recording.interval);
        let processes = state.processes.iter();
        Status {
            processes: processes.map(|process| process.shown(interval)).collect(),
        }
    }

    pub fn start(&self, options: Options) -> Result<(), StartError> {
        if let EventLoops::These { ids, new_ones } = &options.event_loops {
            self.check(ids, *new_ones)?;
        }
        let shared = &*self.0;
        let _in_order = shared.in_order();
        let requests = {
            let mut state = shared.lock();
            if state.recording.is_some() {
                return Err(StartError::Recording);
            }
            state.last_recording += 1;
            let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            let recording = UnderWay {
                id: RecordingId(state.last_recording),
                interval: recording_interval(options.interval, preferences::base_interval()),
                options,
                start: CrossProcessInstant::now(),
                time_origin: since_epoch.ok().map(|time| time.as_secs_f64() * 1_000.),
                stopping: false,
            };
            state.failures.clear();
            // Processes that connect from now on are asked when they do.
            let requests = state.requests(recording.request());
            state.recording = Some(recording);
            requests
        };
        ask(requests);
        Ok(())
    }

    fn check(&self, ids: &[EventLoopId], new_ones: bool) -> Result<(), StartError> {
        if ids.is_empty() && !new_ones {
            return Err(StartError::NothingToRecord);
        }
        let status = self.status();
        let event_loops = || status.processes.iter().flat_map(|one| &one.event_loops);
        match ids
            .iter()
            .find(|id| !event_loops().any(|event_loop| event_loop.id == **id))
        {
            Some(id) => Err(StartError::NoSuchEventLoop(*id)),
            None => Ok(()),
        }
    }

    /// How the recording goes; none if there is none.
    pub fn progress(&self) -> Option<Progress> {
        let state = self.0.lock();
        let recording = state.recording.as_ref().filter(|one| !one.stopping)?;
        let mut progress = Progress {
            elapsed: (CrossProcessInstant::now() - recording.start).unsigned_abs(),
            interval: recording.interval,
            samples: 0,
            missed: 0,
            unwalkable: 0,
            event_loops: 0,
            memory: 0,
            keep_last: recording.options.keep_last,
            long_tasks: recording.options.long_tasks,
        };
        let kept = state.processes.iter().flat_map(|one| one.kept.values());
        for kept in kept.filter(|kept| !kept.is_left_out()) {
            let counts = kept.counts();
            progress.samples += kept.samples();
            progress.missed = progress.missed.saturating_add(counts.missed);
            progress.unwalkable = progress.unwalkable.saturating_add(counts.unwalkable);
            progress.event_loops += 1;
            progress.memory += kept.memory();
        }
        Some(progress)
    }

    /// Of which event loops the recording, or the last one if there is none, has not all, because they
    /// could not be sampled or not to its end: a sentence for each, which says why.
    pub fn failures(&self) -> Vec<String> {
        self.0.lock().failures.values().cloned().collect()
    }

    /// Ends the recording and gives it. Event loops run on meanwhile.
    pub fn stop(&self) -> Result<Recording, NotRecording> {
        let shared = &*self.0;
        let _in_order = shared.in_order();
        let id = {
            let mut state = shared.lock();
            let recording = state.recording.as_mut().ok_or(NotRecording)?;
            if recording.stopping {
                return Err(NotRecording);
            }
            recording.stopping = true;
            recording.id
        };
        shared.ask_all(|_| Request::Stop(id));
        let mut state = shared.wait(STOP_TIMEOUT, |process| process.stopped == Some(id));
        for process in &state.processes {
            if process.connection.is_some() && process.stopped != Some(id) {
                warn!(
                    "Process {} has not said that its recording ended; what it has not reported is lost",
                    process.pid
                );
            }
        }
        let recording = state.recording.take().ok_or(NotRecording)?;
        let finished: Vec<_> = state.processes.iter_mut().map(Process::take_kept).collect();
        state
            .processes
            .retain(|process| process.connection.is_some());
        drop(state);
        Ok(recording.finish(finished))
    }
}

/// What is left of a process when a recording ends.
struct Finished {
    pid: u32,
    name: &'static str,
    ended: Option<f64>,
    kept: BTreeMap<u64, Kept>,
}

impl UnderWay {
    fn wanted(&self) -> Wanted {
        Wanted {
            max_samples: self.options.max_samples.map(|max| max.get()),
            keep_last: self.options.keep_last,
            long_tasks: self.options.long_tasks,
            without_page: self.options.without_page,
        }
    }

    /// What processes are asked that are there when it begins.
    fn request(&self) -> impl Fn(&Process) -> Request + use<> {
        let (id, interval, event_loops) =
            (self.id, self.interval, self.options.event_loops.clone());
        move |process| {
            let event_loops = match &event_loops {
                EventLoops::All => Selection::All,
                EventLoops::Main => Selection::Main,
                EventLoops::These { ids, new_ones } => {
                    let of_process = ids.iter().filter(|id| id.process == process.pid);
                    Selection::These {
                        groups: of_process.map(|id| GroupId(id.group)).collect(),
                        new_ones: *new_ones,
                    }
                },
            };
            start_request(id, interval, event_loops)
        }
    }

    /// What a process is asked that comes later: all of its event loops are new.
    fn request_of_new_process(&self) -> Option<Request> {
        let event_loops = match self.options.event_loops {
            EventLoops::All | EventLoops::These { new_ones: true, .. } => Selection::All,
            EventLoops::Main => Selection::Main,
            EventLoops::These {
                new_ones: false, ..
            } => return None,
        };
        Some(start_request(self.id, self.interval, event_loops))
    }

    fn finish(self, processes: Vec<Finished>) -> Recording {
        let kept = processes.iter().flat_map(|process| process.kept.values());
        let newest = kept.map(Kept::last_time).fold(0., f64::max);
        let processes = processes
            .into_iter()
            .filter(|process| !process.kept.is_empty())
            .map(|process| {
                let pid = process.pid;
                let event_loops = process.kept.into_iter().filter_map(|(group, kept)| {
                    debug!("Event loop {pid}.{group}: {:?}", kept.counts());
                    let finished = kept.finish(newest);
                    let log = |error| warn!("Event loop {pid}.{group} is left out: {error}");
                    finished.map_err(log).ok()
                });
                profile_formats::Process {
                    event_loops: event_loops.collect(),
                    name: process.name.to_owned(),
                    pid: Some(pid),
                    ended: process.ended,
                }
            });
        Recording {
            time_origin: self.time_origin,
            interval: self.interval.as_secs_f64() * 1_000.,
            processes: processes.collect(),
        }
    }
}

fn start_request(id: RecordingId, interval: Duration, event_loops: Selection) -> Request {
    Request::Start(RecordingOptions {
        id,
        interval,
        event_loops,
    })
}

impl Process {
    /// `interval` is that of the recording, if there is one.
    fn shown(&self, interval: Option<Duration>) -> ProcessStatus {
        let event_loops = self.event_loops.iter().map(|event_loop| EventLoopStatus {
            id: EventLoopId {
                process: self.pid,
                group: event_loop.group.0,
            },
            name: event_loop.description.label(),
            kind: kept::kind(event_loop.description.clone()),
            without_stacks: event_loop.without_stacks.clone(),
            sessions: event_loop
                .sessions
                .iter()
                .map(|session| SessionStatus {
                    interval: session.interval,
                    taken: session.counts.taken,
                    missed: session.counts.missed,
                    unwalkable: session.counts.unwalkable,
                    truncated: session.counts.truncated,
                    realm: session
                        .realm
                        .as_ref()
                        .map_or_else(String::new, |realm| realm.url.clone()),
                })
                .collect(),
            recorded: interval.and_then(|interval| self.recorded(event_loop.group, interval)),
            memory: event_loop.memory,
        });
        ProcessStatus {
            pid: self.pid,
            name: self.name.to_owned(),
            gone: self.connection.is_none(),
            event_loops: event_loops.collect(),
        }
    }

    fn recorded(&self, group: GroupId, interval: Duration) -> Option<RecordedStatus> {
        let kept = self.kept.get(&group.0).filter(|kept| !kept.is_left_out())?;
        let counts = kept.counts();
        Some(RecordedStatus {
            interval,
            samples: kept.samples(),
            missed: counts.missed,
            unwalkable: counts.unwalkable,
            truncated: counts.truncated,
        })
    }

    fn take_kept(&mut self) -> Finished {
        let mut kept = std::mem::take(&mut self.kept);
        kept.retain(|_, kept| !kept.is_left_out());
        Finished {
            pid: self.pid,
            name: self.name,
            ended: self.ended.take(),
            kept,
        }
    }
}

impl Connection {
    fn ask(&self, request: Request) {
        match self {
            Self::This(reports) => js_profiler::serve(request, reports),
            Self::Other(requests) => {
                // An error means that the process has gone, as its thread here will find.
                let _ = requests.send(&request);
            },
        }
    }
}

impl State {
    /// What to ask the processes. This one comes last, since it does at once what it is asked.
    fn requests(&self, request: impl Fn(&Process) -> Request) -> Vec<(Connection, Request)> {
        let ask = |process: &Process| Some((process.connection.clone()?, request(process)));
        self.processes.iter().rev().filter_map(ask).collect()
    }
}

/// Not under the lock of the state, which reports take.
fn ask(requests: Vec<(Connection, Request)>) {
    for (connection, request) in requests {
        connection.ask(request);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add_process(&self, pid: u32, name: &'static str, connection: Connection) -> usize {
        let mut state = self.lock();
        let number = state.process_count;
        state.process_count += 1;
        state.processes.push(Process {
            number,
            pid,
            name,
            connection: Some(connection.clone()),
            status: 0,
            event_loops: Vec::new(),
            stopped: None,
            kept: BTreeMap::new(),
            ended: None,
        });
        // Under the lock, so that it comes before an order to stop.
        let recording = state.recording.as_ref().filter(|one| !one.stopping);
        if let Some(request) = recording.and_then(UnderWay::request_of_new_process) {
            connection.ask(request);
        }
        number
    }

    fn in_order(&self) -> MutexGuard<'_, ()> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask_all(&self, request: impl Fn(&Process) -> Request) {
        let requests = self.lock().requests(request);
        ask(requests);
    }

    /// Waits until all processes that have not gone have answered, but not for longer than that.
    fn wait(
        &self,
        timeout: Duration,
        has_answered: impl Fn(&Process) -> bool,
    ) -> MutexGuard<'_, State> {
        let deadline = Instant::now() + timeout;
        let mut state = self.lock();
        loop {
            let is_waited_for =
                |process: &Process| process.connection.is_some() && !has_answered(process);
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || !state.processes.iter().any(is_waited_for) {
                return state;
            }
            state = self
                .answered
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Takes a report of a process. Breaks if nothing more is taken of it.
    fn take(&self, number: usize, report: Report) -> ControlFlow<()> {
        let mut state = self.lock();
        let state = &mut *state;
        let mut processes = state.processes.iter_mut();
        let Some(process) = processes.find(|process| process.number == number) else {
            return ControlFlow::Break(());
        };
        match report {
            Report::Chunk(chunk) => {
                let Some(recording) = &state.recording else {
                    return ControlFlow::Continue(());
                };
                let result = process.take_chunk(recording, *chunk);
                if let Err(nonsense) = result {
                    warn!(
                        "Process {} reports {nonsense}. Nothing more is taken from it.",
                        process.pid
                    );
                    return ControlFlow::Break(());
                }
            },
            Report::Failed {
                recording,
                group,
                why,
            } => {
                let is_meant = |under_way: &UnderWay| under_way.id == recording;
                if state.recording.as_ref().is_some_and(is_meant)
                    && state.failures.len() < MAX_FAILURES
                {
                    let id = EventLoopId {
                        process: process.pid,
                        group: group.0,
                    };
                    let name = process.kept.get(&group.0).map(Kept::label);
                    let name = name.filter(|name| !name.is_empty());
                    let name = name.map_or_else(|| id.to_string(), |name| format!("{id}, {name}"));
                    let why: String = why.chars().take(MAX_FAILURE_TEXT).collect();
                    warn!("Event loop {name} is not recorded any more: {why}");
                    let text = format!("Event loop {name} was not recorded to the end: {why}.");
                    state.failures.insert(id, text);
                }
            },
            Report::Stopped(id) => {
                process.stopped = Some(id);
                self.answered.notify_all();
            },
            Report::Status {
                number,
                event_loops,
            } => {
                process.status = number;
                process.event_loops = event_loops;
                self.answered.notify_all();
            },
        }
        ControlFlow::Continue(())
    }

    /// The process has gone, or is as good as gone.
    fn lose(&self, number: usize) {
        let mut state = self.lock();
        let state = &mut *state;
        if let Some(recording) = &state.recording {
            let now = kept::milliseconds(recording.start, CrossProcessInstant::now());
            let mut processes = state.processes.iter_mut();
            if let Some(process) = processes.find(|process| process.number == number) {
                process.connection = None;
                process.ended = Some(now);
            }
        } else {
            state.processes.retain(|process| process.number != number);
        }
        self.answered.notify_all();
    }
}

impl Process {
    fn take_chunk(&mut self, recording: &UnderWay, chunk: Chunk) -> Result<(), kept::Nonsense> {
        if chunk.recording != recording.id {
            return Ok(());
        }
        let group = chunk.group;
        let kept = self
            .kept
            .entry(group.0)
            .or_insert_with(|| Kept::new(recording.wanted(), recording.start));
        let was_full = kept.is_full();
        kept.add(chunk, CrossProcessInstant::now())?;
        if kept.is_full()
            && !was_full
            && let Some(connection) = self.connection.clone()
        {
            let request = Request::EndEventLoop {
                recording: recording.id,
                group,
            };
            // Not on this thread, which has the lock that others wait for.
            spawn("ProfileRequest", move || connection.ask(request));
        }
        Ok(())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Content processes find out by themselves.
        if self.lock().recording.is_some() {
            js_profiler::end_recording();
        }
    }
}

/// Takes the reports of a process until it has gone, or the recorder has.
fn follow(shared: &Weak<Shared>, number: usize, mut next: impl FnMut() -> Option<Report>) {
    while let Some(report) = next() {
        let Some(shared) = shared.upgrade() else {
            return;
        };
        if shared.take(number, report).is_break() {
            break;
        }
    }
    if let Some(shared) = shared.upgrade() {
        shared.lose(number);
    }
}

/// Takes in a process that has connected, and takes its reports until it has gone.
fn take_in(shared: &Weak<Shared>, accepted: &Accepted) {
    let connection = Connection::Other(accepted.requests.clone());
    // Until it has these it begins nothing.
    connection.ask(Request::SetPreferences(preferences::all()));
    let number = match shared.upgrade() {
        Some(shared) => shared.add_process(accepted.pid, "Web content", connection),
        None => return,
    };
    follow(shared, number, || match accepted.reports.receive() {
        Ok(report) => Some(report),
        Err(ReceiveError::Gone) => None,
        Err(ReceiveError::Failed(error)) => {
            warn!(
                "Process {} reports what cannot be read: {error}. Nothing more is taken from it.",
                accepted.pid
            );
            None
        },
    });
}

/// Runs on a thread of its own, which nobody waits for.
fn spawn(name: &str, run: impl FnOnce() + Send + 'static) {
    if let Err(error) = thread::Builder::new().name(name.to_owned()).spawn(run) {
        warn!("There is no thread for {name}: {error}");
    }
}
