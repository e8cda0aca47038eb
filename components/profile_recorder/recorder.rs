/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The browser's side: sends requests to the browser's processes, and keeps what they report.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};
use std::{fmt, io, mem, process, thread};

use crossbeam_channel::Sender;
use js_profiler_traits::recording::{
    Chunk, EventLoopStatus as ReportedEventLoop, LeftOut, LinkedMap, MAX_MAPS_BYTES,
    MAX_SOURCE_BYTES, MAX_SOURCES_BYTES, RecordedSource, RecordingId, RecordingOptions, Report,
    Request, Selection, is_map_itself, no_room_for_maps, recording_interval,
};
use js_profiler_traits::{EventLoopId, OTHER_FUNCTIONS, Room, preferences};
use log::{debug, warn};
use profile_formats::{RecordedBy, Recording};
use servo_base::cross_process_instant::CrossProcessInstant;
use servo_base::id::WebViewId;

use crate::connection::{Accepted, Sender as ConnectionSender, is_gone};
use crate::kept::{self, Kept};
use crate::{
    BrowserEventLoopId, EventLoopStatus, EventLoops, Options, ProcessStatus, Progress,
    RecordedStatus, SessionStatus, Status, connection,
};

/// A process that does not report its status in this time is shown as it was before.
const STATUS_TIMEOUT: Duration = Duration::from_millis(500);

/// Samples that a process has not reported in this time after the end of the recording are lost.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// The same for recordings with the texts of scripts or with source maps. Texts are read after the last sample, and maps
/// are fetched then.
const STOP_TIMEOUT_WITH_SOURCES: Duration = Duration::from_secs(20);

/// How often a wait looks whether it is over.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// For each reason, how many scripts without a text are named, and how many characters of each name.
const MAX_NAMED: usize = 5;
const MAX_SCRIPT_NAME: usize = 100;

/// How many failures of a recording are kept, and how many characters of the text of each. They need a limit
/// because content processes report them.
const MAX_FAILURES: usize = 1_000;
const MAX_FAILURE_TEXT: usize = 500;

/// For how many web views the first answer is kept. Content processes report these, too.
const MAX_ANSWERS: usize = 1_000;

/// The pause after a connection could not be accepted, for example because there are no descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

const MIB: usize = 1 << 20;

/// How many bytes the tables of a recording may take: with the texts of scripts and the source maps 1 GiB.
const MAX_TABLES_BYTES: usize = 1024 * MIB - MAX_SOURCES_BYTES - MAX_MAPS_BYTES;

/// How many refused connections are logged. There is a limit because anybody on this machine can try.
const MAX_REFUSALS_TOLD: usize = 100;

/// Records the event loops of this browser.
#[derive(Clone)]
pub struct Recorder(Arc<Shared>);

struct Shared {
    recorded_by: RecordedBy,
    /// Held while a recording is started or stopped, so that processes get these requests in the right order.
    orders: Mutex<()>,
    state: Mutex<State>,
    /// Notified when a process has answered or ended.
    answered: Condvar,
}

#[derive(Default)]
struct State {
    /// This process is the first.
    processes: Vec<Process>,
    /// How many processes there have been.
    process_count: usize,
    recording: Option<UnderWay>,
    /// The event loops of the present or the last recording that are no longer recorded, with a sentence that
    /// says why.
    failures: BTreeMap<BrowserEventLoopId, String>,
    /// The HTTP error with which the first page of each web view was answered, as reported to that recording. `None` if
    /// it was answered without one.
    answers: BTreeMap<WebViewId, Option<u16>>,
    /// The scripts whose sources are not in that recording or, if it has none, whose source maps are not.
    left_out: BTreeMap<(BrowserEventLoopId, LeftOut), Scripts>,
    /// What people are told about the scripts that the last recording left out.
    notices: Vec<String>,
    last_progress: Option<Progress>,
    last_recording: u64,
    last_status: u64,
}

/// A process of the browser.
struct Process {
    /// Unlike a process id, a number is never used again.
    number: usize,
    pid: u32,
    name: &'static str,
    /// `None` if the process has ended.
    connection: Option<Connection>,
    /// The number of the last request for the status that it has answered.
    status: u64,
    event_loops: Vec<ReportedEventLoop>,
    /// The last recording that it has ended.
    stopped: Option<RecordingId>,
    /// What is kept of the present recording, by the number of the event loop.
    kept: BTreeMap<u64, Kept>,
    /// When the process ended, in milliseconds since the recording began. Set only if that was during a
    /// recording.
    ended: Option<f64>,
}

#[derive(Clone)]
enum Connection {
    /// This process: what does as requests ask. A channel takes its reports, because the thread that sends a request must not
    /// handle them.
    This(Serve, Sender<Report>),
    /// A content process.
    Other(ConnectionSender<Request>),
}

type Serve = Arc<dyn Fn(Request, &Sender<Report>) + Send + Sync>;

/// A recording that is running.
struct UnderWay {
    id: RecordingId,
    options: Options,
    /// The interval at which samples are really taken.
    interval: Duration,
    /// The time 0 of the recording's clock.
    start: CrossProcessInstant,
    /// The same, in milliseconds since the Unix epoch. `None` if the system's clock is before that.
    time_origin: Option<f64>,
    /// How many bytes sources may still take.
    sources_room: usize,
    /// How many bytes source maps may still take.
    maps_room: usize,
    /// For the tables of all event loops.
    tables_room: Arc<Room>,
    /// When its end was asked for. What processes had not reported then may still come.
    end: Option<CrossProcessInstant>,
}

/// Scripts of an event loop.
#[derive(Default)]
struct Scripts {
    count: u32,
    /// The names of the first ones.
    names: Vec<String>,
}

impl Scripts {
    fn add(&mut self, count: u32, names: impl IntoIterator<Item = String>) {
        self.count = self.count.saturating_add(count);
        let room = MAX_NAMED - self.names.len();
        let names = names.into_iter().take(room);
        self.names
            .extend(names.map(|name| name.chars().take(MAX_SCRIPT_NAME).collect()));
    }

    /// One sentence for people, about the scripts of this event loop. Either their sources were wanted or only their
    /// source maps.
    fn notice(&self, event_loop: &str, why: LeftOut, sources_were_wanted: bool) -> String {
        let (each, discarded) = match self.count {
            1 => ("it", "script"),
            _ => ("each", "scripts"),
        };
        let missing = match (self.count, sources_were_wanted) {
            (1, true) => "the text of a script is missing".to_owned(),
            (count, true) => format!("the texts of {count} scripts are missing"),
            (1, false) => {
                "a script is shown as it ran, even if it links to a source map".to_owned()
            },
            (count, false) => {
                format!("{count} scripts are shown as they ran, even if they link to source maps")
            },
        };
        let why = match why {
            LeftOut::TooLong => format!("{each} is longer than {} MiB", MAX_SOURCE_BYTES / MIB),
            LeftOut::NoRoom => format!(
                "all texts together would be longer than {} MiB",
                MAX_SOURCES_BYTES / MIB
            ),
            LeftOut::Gone => format!("the engine has discarded the {discarded}"),
            LeftOut::Busy => "the event loop was busy when the recording ended".to_owned(),
        };
        let names = match self.names.is_empty() {
            true => String::new(),
            false => format!(" ({})", self.names.join(", ")),
        };
        format!("Event loop {event_loop}: {missing}, because {why}{names}.")
    }
}

/// Why no recording was started.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StartError {
    /// A recording is running already. There can be only one.
    Recording,
    /// A chosen event loop does not exist.
    NoSuchEventLoop(BrowserEventLoopId),
    /// No event loop was chosen, and later ones are not to be recorded.
    NothingToRecord,
}

impl fmt::Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recording => formatter.write_str("a recording is running already"),
            Self::NoSuchEventLoop(id) => write!(formatter, "there is no event loop {id}"),
            Self::NothingToRecord => formatter.write_str("no event loop is to be recorded"),
        }
    }
}

impl std::error::Error for StartError {}

impl Recorder {
    /// The recorder of this process. There must be only one. `recorded_by` is this browser, as its recordings say. Content
    /// processes are not asked.
    pub fn new(recorded_by: RecordedBy) -> Self {
        Self::of_process(recorded_by, Arc::new(js_profiler::serve))
    }

    /// A recorder of a process in which `serve` does as requests ask.
    pub(crate) fn of_process(recorded_by: RecordedBy, serve: Serve) -> Self {
        let (sender, reports) = crossbeam_channel::unbounded();
        let shared = Arc::new(Shared {
            recorded_by,
            orders: Mutex::default(),
            state: Mutex::default(),
            answered: Condvar::new(),
        });
        let connection = Connection::This(serve, sender);
        let number = shared.add_process(process::id(), "Browser", connection);
        let weak = Arc::downgrade(&shared);
        let _ = spawn("ProfileRecorder", move || {
            follow(&weak, number, || reports.recv().ok());
        });
        Self(shared)
    }

    /// This browser, as its recordings say.
    pub fn recorded_by(&self) -> &RecordedBy {
        &self.0.recorded_by
    }

    /// Accepts the content processes of this browser from now on: see [`crate::report_to_browser`]. They take
    /// over this process' preferences of the profiler.
    ///
    /// # Errors
    ///
    /// If the socket cannot be made.
    pub fn listen(&self) -> io::Result<()> {
        let listener = connection::listen()?;
        let shared = Arc::downgrade(&self.0);
        let _ = spawn("ProfileListener", move || {
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
                        let _ = spawn("ProfileProcess", move || take_in(&shared, &accepted));
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

    /// The browser is closing: no process takes samples any more, because that would delay the end.
    pub fn end_sampling(&self) {
        self.0.ask_all(|_| Request::EndSampling);
    }

    /// The processes, their event loops and the sessions of web pages. Asks the content processes, so it may
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

    /// Starts a recording.
    ///
    /// # Errors
    ///
    /// A [`StartError`] says why no recording was started.
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
                sources_room: MAX_SOURCES_BYTES,
                maps_room: MAX_MAPS_BYTES,
                tables_room: Arc::new(Room::of(MAX_TABLES_BYTES)),
                end: None,
            };
            state.failures.clear();
            state.answers.clear();
            state.left_out.clear();
            state.notices.clear();
            // Processes that connect later get the request when they connect.
            let requests = state.requests(|process| recording.request(process));
            state.recording = Some(recording);
            requests
        };
        ask(requests);
        Ok(())
    }

    fn check(&self, ids: &[BrowserEventLoopId], new_ones: bool) -> Result<(), StartError> {
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

    /// How the recording is going; `None` if there is none.
    pub fn progress(&self) -> Option<Progress> {
        let state = self.0.lock();
        let recording = state.recording.as_ref().filter(|one| one.end.is_none())?;
        Some(state.progress_of(recording))
    }

    /// How the last recording that [`stop`](Self::stop) has returned went, from its beginning to its end. `None` if there
    /// was none.
    pub fn last_progress(&self) -> Option<Progress> {
        self.0.lock().last_progress
    }

    /// The event loops that the present or the last recording has only in part, or not at all, because they
    /// could not be sampled: a sentence for each, with the reason.
    pub fn failures(&self) -> Vec<String> {
        self.0.lock().failures.values().cloned().collect()
    }

    /// The HTTP status with which the first page of a web view was answered, after redirects, if it is that of an error
    /// and came before the end of the present or the last recording. It is not known of a web view that a page has opened.
    pub fn http_error(&self, webview: WebViewId) -> Option<u16> {
        self.0.lock().answers.get(&webview).copied().flatten()
    }

    /// What is missing from the last recording, although its samples are complete: a sentence for each event
    /// loop and reason.
    pub fn notices(&self) -> Vec<String> {
        self.0.lock().notices.clone()
    }

    /// Ends the recording and returns it. `None` if there is no recording, or if another thread is ending it. Event loops
    /// keep running meanwhile.
    pub fn stop(&self) -> Option<Recording> {
        self.stop_unless(|| false)
    }

    /// The same. Does not wait any longer for what processes have not reported once `is_over` is true: it may be samples or
    /// the texts and source maps of scripts.
    pub fn stop_unless(&self, is_over: impl Fn() -> bool) -> Option<Recording> {
        let shared = &*self.0;
        let _in_order = shared.in_order();
        let (id, timeout) = {
            let mut state = shared.lock();
            let recording = state.recording.as_mut()?;
            if recording.end.is_some() {
                return None;
            }
            recording.end = Some(CrossProcessInstant::now());
            let timeout = match recording.options.sources || recording.options.linked_maps {
                true => STOP_TIMEOUT_WITH_SOURCES,
                false => STOP_TIMEOUT,
            };
            (recording.id, timeout)
        };
        let requests = shared.lock().requests(|_| Request::Stop(id));
        ask_aside(requests);
        let mut state = shared.wait_unless(timeout, is_over, |process| process.stopped == Some(id));
        let is_late =
            |process: &&Process| process.connection.is_some() && process.stopped != Some(id);
        let late = state.processes.iter().filter(is_late);
        let late: Vec<_> = late.map(Process::late_notice).collect();
        let recording = state.recording.take()?;
        state.last_progress = Some(state.progress_of(&recording));
        state.notices = state.tell_left_out(recording.options.sources);
        let others = state.tell_others();
        state.notices.extend(others);
        state.notices.extend(late);
        let finished: Vec<_> = state.processes.iter_mut().map(Process::take_kept).collect();
        state
            .processes
            .retain(|process| process.connection.is_some());
        drop(state);
        Some(recording.finish(finished, shared.recorded_by.clone()))
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
    /// The request that starts the recording of these event loops.
    fn start(&self, event_loops: Selection) -> Request {
        Request::Start(RecordingOptions {
            id: self.id,
            interval: self.interval,
            event_loops,
            sources: self.options.sources,
            linked_maps: self.options.linked_maps,
        })
    }

    /// The request for a process that exists when the recording begins.
    fn request(&self, process: &Process) -> Request {
        self.start(match &self.options.event_loops {
            EventLoops::All => Selection::All,
            EventLoops::Main => Selection::Main,
            EventLoops::These { ids, new_ones } => {
                let of_process = ids.iter().filter(|id| id.process == process.pid);
                Selection::These {
                    event_loops: of_process.map(|id| EventLoopId(id.event_loop)).collect(),
                    new_ones: *new_ones,
                }
            },
        })
    }

    /// The request for a process that connects later, whose event loops are all new.
    fn request_of_new_process(&self) -> Option<Request> {
        match self.options.event_loops {
            EventLoops::All | EventLoops::These { new_ones: true, .. } => {
                Some(self.start(Selection::All))
            },
            EventLoops::Main => Some(self.start(Selection::Main)),
            EventLoops::These {
                new_ones: false, ..
            } => None,
        }
    }

    fn finish(self, processes: Vec<Finished>, recorded_by: RecordedBy) -> Recording {
        let kept = processes.iter().flat_map(|process| process.kept.values());
        let newest = kept.map(Kept::last_time).fold(0., f64::max);
        let processes = processes
            .into_iter()
            .filter(|process| !process.kept.is_empty())
            .map(|process| {
                let pid = process.pid;
                let event_loops = process.kept.into_iter().filter_map(|(event_loop, kept)| {
                    debug!("Event loop {pid}.{event_loop}: {:?}", kept.counts());
                    let finished = kept.finish(newest);
                    let log = |error| warn!("Event loop {pid}.{event_loop} is left out: {error}");
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
            recorded_by: Some(recorded_by),
            processes: processes.collect(),
        }
    }
}

impl Process {
    /// What people are told if the process has not confirmed the end of its recording.
    fn late_notice(&self) -> String {
        format!(
            "Process {} has not confirmed the end of its recording: what it has not reported is lost, such as the texts and \
             source maps of scripts.",
            self.pid
        )
    }

    /// `interval` is that of the recording, if there is one.
    fn shown(&self, interval: Option<Duration>) -> ProcessStatus {
        let event_loops = self.event_loops.iter().map(|event_loop| EventLoopStatus {
            id: BrowserEventLoopId {
                process: self.pid,
                event_loop: event_loop.id.0,
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
            recorded: interval.and_then(|interval| self.recorded(event_loop.id, interval)),
            memory: event_loop.memory,
        });
        ProcessStatus {
            pid: self.pid,
            name: self.name.to_owned(),
            gone: self.connection.is_none(),
            event_loops: event_loops.collect(),
        }
    }

    fn recorded(&self, event_loop: EventLoopId, interval: Duration) -> Option<RecordedStatus> {
        let kept = self
            .kept
            .get(&event_loop.0)
            .filter(|kept| !kept.is_left_out())?;
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
        let mut kept = mem::take(&mut self.kept);
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
            Self::This(serve, reports) => serve(request, reports),
            Self::Other(requests) => {
                // An error means that the process has ended. The thread that reads its reports notices that.
                let _ = requests.send(&request);
            },
        }
    }
}

impl State {
    /// How a recording is going, or how it went.
    fn progress_of(&self, recording: &UnderWay) -> Progress {
        let end = recording.end.unwrap_or_else(CrossProcessInstant::now);
        let mut progress = Progress {
            elapsed: (end - recording.start).unsigned_abs(),
            interval: recording.interval,
            samples: 0,
            missed: 0,
            unwalkable: 0,
            event_loops: 0,
            memory: 0,
            keep_last: recording.options.kept.keep_last,
            long_tasks: recording.options.kept.long_tasks,
        };
        let kept = self.processes.iter().flat_map(|one| one.kept.values());
        for kept in kept.filter(|kept| !kept.is_left_out()) {
            let counts = kept.counts();
            progress.samples += kept.samples();
            progress.missed = progress.missed.saturating_add(counts.missed);
            progress.unwalkable = progress.unwalkable.saturating_add(counts.unwalkable);
            progress.event_loops += 1;
            progress.memory += kept.memory();
        }
        progress
    }

    /// What is left out of the recording that ends.
    fn tell_left_out(&mut self, sources_were_wanted: bool) -> Vec<String> {
        let left_out = mem::take(&mut self.left_out).into_iter();
        let notices = left_out.filter_map(|((id, why), scripts)| {
            let mut processes = self.processes.iter();
            let process = processes.find(|process| process.pid == id.process)?;
            let kept = process
                .kept
                .get(&id.event_loop)
                .filter(|kept| !kept.is_left_out())?;
            Some(scripts.notice(&named(id, &kept.label()), why, sources_were_wanted))
        });
        notices.collect()
    }

    /// In how many samples of each event loop functions had no room.
    fn tell_others(&self) -> Vec<String> {
        let processes = self.processes.iter();
        let kept = processes.flat_map(|process| {
            let of_process = process.kept.iter();
            of_process.map(move |(id, kept)| (process.event_loop_id(EventLoopId(*id)), kept))
        });
        let notices = kept.filter(|(_, kept)| !kept.is_left_out()).filter_map(|(id, kept)| {
            let name = named(id, &kept.label());
            let samples = match kept.others() {
                0 => return None,
                1 => "1 sample shows".to_owned(),
                count => format!("{count} samples show"),
            };
            Some(format!(
                "Event loop {name}: {samples} functions for which there was no room, as {OTHER_FUNCTIONS}."
            ))
        });
        notices.collect()
    }

    /// The requests to the processes. This process is the last, because it does at once what it is asked.
    fn requests(&self, request: impl Fn(&Process) -> Request) -> Vec<(Connection, Request)> {
        let ask = |process: &Process| Some((process.connection.clone()?, request(process)));
        self.processes.iter().rev().filter_map(ask).collect()
    }
}

/// Must not be called under the lock of the state, because the threads that handle reports take it.
fn ask(requests: Vec<(Connection, Request)>) {
    for (connection, request) in requests {
        connection.ask(request);
    }
}

/// Asks each process on a thread of its own: this process does at once what it is asked, and may wait for event loops and for
/// source maps meanwhile, and another one may accept nothing.
fn ask_aside(requests: Vec<(Connection, Request)>) {
    for (connection, request) in requests {
        let (same, again) = (connection.clone(), request.clone());
        if spawn("ProfileRequest", move || same.ask(again)).is_err() {
            connection.ask(request);
        }
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
        // Done under the lock, so that this request comes before a request to stop.
        let recording = state.recording.as_ref().filter(|one| one.end.is_none());
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

    /// Waits until all connected processes have answered, for `timeout` at most.
    fn wait(
        &self,
        timeout: Duration,
        has_answered: impl Fn(&Process) -> bool,
    ) -> MutexGuard<'_, State> {
        self.wait_unless(timeout, || false, has_answered)
    }

    /// The same, until `is_over` is true.
    fn wait_unless(
        &self,
        timeout: Duration,
        is_over: impl Fn() -> bool,
        has_answered: impl Fn(&Process) -> bool,
    ) -> MutexGuard<'_, State> {
        let deadline = Instant::now() + timeout;
        let mut state = self.lock();
        loop {
            let is_waited_for =
                |process: &Process| process.connection.is_some() && !has_answered(process);
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || is_over() || !state.processes.iter().any(is_waited_for) {
                return state;
            }
            state = self
                .answered
                .wait_timeout(state, left.min(LOOK_INTERVAL))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Handles a report of a process. Breaks if nothing more is accepted from the process.
    fn take(&self, number: usize, report: Report) -> ControlFlow<()> {
        let mut state = self.lock();
        let state = &mut *state;
        let mut processes = state.processes.iter_mut();
        let Some(process) = processes.find(|process| process.number == number) else {
            return ControlFlow::Break(());
        };
        let recording = state.recording.as_mut();
        let under_way = |id| recording.filter(|one| one.id == id);
        match report {
            Report::Chunk(chunk) => {
                if let Some(under_way) = under_way(chunk.recording)
                    && let Err(nonsense) = process.take_chunk(under_way, *chunk)
                {
                    return refuse(process.pid, &nonsense);
                }
            },
            Report::Failed {
                recording,
                event_loop,
                why,
            } => {
                if under_way(recording).is_some() && state.failures.len() < MAX_FAILURES {
                    let id = process.event_loop_id(event_loop);
                    let name = process.kept.get(&event_loop.0).map(Kept::label);
                    let name = named(id, &name.unwrap_or_default());
                    let why: String = why.chars().take(MAX_FAILURE_TEXT).collect();
                    warn!("Event loop {name} is not recorded any more: {why}");
                    let text = format!("Event loop {name} was not recorded to the end: {why}.");
                    state.failures.insert(id, text);
                }
            },
            Report::Source {
                recording,
                event_loop,
                source,
            } => {
                let Some(under_way) = under_way(recording) else {
                    return ControlFlow::Continue(());
                };
                match process.take_source(under_way, event_loop, *source) {
                    Ok(None) => {},
                    Ok(Some(name)) => {
                        let id = process.event_loop_id(event_loop);
                        add_left_out(&mut state.left_out, id, LeftOut::NoRoom, 1, [name]);
                    },
                    Err(nonsense) => return refuse(process.pid, &nonsense),
                }
            },
            Report::Map {
                recording,
                event_loop,
                map,
            } => {
                if let Some(under_way) = under_way(recording)
                    && let Err(nonsense) = process.take_map(under_way, event_loop, *map)
                {
                    return refuse(process.pid, &nonsense);
                }
            },
            Report::SourcesLeftOut {
                recording,
                event_loop,
                why,
                count,
                names,
            } => {
                let is_kept = process.kept.contains_key(&event_loop.0);
                if is_kept && under_way(recording).is_some() {
                    let id = process.event_loop_id(event_loop);
                    add_left_out(&mut state.left_out, id, why, count, names);
                }
            },
            Report::PageAnswer { recording, answer } => {
                if under_way(recording).is_some() && state.answers.len() < MAX_ANSWERS {
                    // It is reported before anything of the page runs. So the answers to pages that this one navigates
                    // to come later.
                    let first = state.answers.entry(answer.webview);
                    first.or_insert(answer.http_error);
                }
            },
            Report::Stopped(id) => {
                // The end of an earlier recording may be late.
                if process.stopped.is_none_or(|last| last.0 < id.0) {
                    process.stopped = Some(id);
                }
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

    /// Notes that a process has ended, or that nothing more is accepted from it.
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

/// Says what is wrong with a report. Nothing more is accepted from its process.
fn refuse(pid: u32, nonsense: &kept::Nonsense) -> ControlFlow<()> {
    warn!("Process {pid} reports {nonsense}. Nothing more is accepted from it.");
    ControlFlow::Break(())
}

/// The name of an event loop for people. `name` may be empty.
fn named(id: BrowserEventLoopId, name: &str) -> String {
    match name.is_empty() {
        true => id.to_string(),
        false => format!("{id}, {name}"),
    }
}

/// Counts what is left out, unless there are too many reasons and event loops to tell.
fn add_left_out(
    left_out: &mut BTreeMap<(BrowserEventLoopId, LeftOut), Scripts>,
    id: BrowserEventLoopId,
    why: LeftOut,
    count: u32,
    names: impl IntoIterator<Item = String>,
) {
    if left_out.len() < MAX_FAILURES || left_out.contains_key(&(id, why)) {
        left_out.entry((id, why)).or_default().add(count, names);
    }
}

impl Process {
    fn event_loop_id(&self, event_loop: EventLoopId) -> BrowserEventLoopId {
        BrowserEventLoopId {
            process: self.pid,
            event_loop: event_loop.0,
        }
    }

    /// Keeps the source of a script. If there is no room for it, returns the script's name.
    fn take_source(
        &mut self,
        recording: &mut UnderWay,
        event_loop: EventLoopId,
        mut source: RecordedSource,
    ) -> Result<Option<String>, kept::Nonsense> {
        let is_wanted = match source.text {
            Some(_) => recording.options.sources,
            None => recording.options.linked_maps,
        };
        // The functions that it defines come first.
        let kept = self.kept.get_mut(&event_loop.0).filter(|_| is_wanted);
        let kept = kept.ok_or(kept::Nonsense::Source("that nobody has asked for"))?;
        let map = source.map_url.take_if(|link| is_map_itself(link));
        let Some(room) = recording
            .sources_room
            .checked_sub(kept::bytes_of_source(&source))
        else {
            return Ok(Some(source.name));
        };
        // A map that is in the link takes the room of maps.
        let bytes = map.as_ref().map_or(0, String::len);
        let maps_room = recording.maps_room.checked_sub(bytes);
        let without_map = map.is_some() && maps_room.is_none();
        let (id, name) = (source.id, source.name.clone());
        source.map_url = map.filter(|_| maps_room.is_some()).or(source.map_url);
        kept.add_source(source)?;
        recording.sources_room = room;
        recording.maps_room = maps_room.unwrap_or(recording.maps_room);
        if without_map {
            kept.add_map(LinkedMap {
                sources: vec![id],
                url: name,
                content: Err(format!(
                    "for its source map, in a data: URL, there is no room: {}",
                    no_room_for_maps()
                )),
            })?;
        }
        Ok(None)
    }

    /// Keeps a source map or, if there is no room for it, a note that says so.
    fn take_map(
        &mut self,
        recording: &mut UnderWay,
        event_loop: EventLoopId,
        mut map: LinkedMap,
    ) -> Result<(), kept::Nonsense> {
        let kept = self
            .kept
            .get_mut(&event_loop.0)
            .filter(|_| recording.options.linked_maps);
        let kept = kept.ok_or(kept::Nonsense::Map("that nobody has asked for"))?;
        let room = recording.maps_room.checked_sub(kept::bytes_of_map(&map));
        if room.is_none() {
            map.url = map.url.chars().take(MAX_FAILURE_TEXT).collect();
            map.content = Err(no_room_for_maps());
        }
        if kept.add_map(map)?
            && let Some(room) = room
        {
            recording.maps_room = room;
        }
        Ok(())
    }

    fn take_chunk(&mut self, recording: &UnderWay, chunk: Chunk) -> Result<(), kept::Nonsense> {
        let event_loop = chunk.event_loop;
        let kept = self.kept.entry(event_loop.0).or_insert_with(|| {
            let room = recording.tables_room.clone();
            Kept::new(recording.options.kept, recording.start, room)
        });
        let was_full = kept.is_full();
        kept.add(chunk, CrossProcessInstant::now())?;
        if kept.is_full()
            && !was_full
            && let Some(connection) = self.connection.clone()
        {
            let request = Request::EndEventLoop {
                recording: recording.id,
                event_loop,
            };
            // Not on this thread, which holds the lock that others wait for.
            let _ = spawn("ProfileRequest", move || connection.ask(request));
        }
        Ok(())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Content processes notice by themselves that the recorder is gone.
        if self.lock().recording.is_some() {
            js_profiler::end_recording();
        }
    }
}

/// Handles the reports of a process until the process has ended or the recorder is gone.
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

/// Adds a process that has connected, and handles its reports until it has ended.
fn take_in(shared: &Weak<Shared>, accepted: &Accepted) {
    let connection = Connection::Other(accepted.requests.clone());
    // The process begins nothing until it has these.
    connection.ask(Request::SetPreferences(preferences::all()));
    let number = match shared.upgrade() {
        Some(shared) => shared.add_process(accepted.pid, "Web content", connection),
        None => return,
    };
    follow(shared, number, || match accepted.reports.receive() {
        Ok(report) => Some(report),
        Err(error) if is_gone(&error) => None,
        Err(error) => {
            warn!(
                "Process {} has sent a report that cannot be read: {error}. Nothing more is accepted from it.",
                accepted.pid
            );
            None
        },
    });
}

/// Runs `run` on a new thread, which nobody waits for. An error was logged.
fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let started = thread::Builder::new().name(name.to_owned()).spawn(run);
    started.map(drop).inspect_err(|error| {
        warn!("The thread {name} cannot be started: {error}");
    })
}
