/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The event loops of this process, with what is needed to sample them from outside: recordings begin and end
//! without the event loops doing anything.
//!
//! An event loop is listed here from its beginning to its end. It joins the sampling thread when it gets its
//! first session or is recorded, and leaves when nobody needs its samples. Those that have joined keep the
//! sampling thread running: nobody else owns it.
//!
//! The lock is held only for short moments, and nothing is waited for meanwhile. The sampling thread never
//! takes it.

use std::io;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use js_profiler_traits::activity::SharedActivity;
use js_profiler_traits::recording::{
    EventLoopStatus, MAX_SOURCES_BYTES, PageAnswer, RecordingId, RecordingOptions, Report,
    SessionStatus, recording_interval,
};
use js_profiler_traits::{EventLoopId, Room, preferences};
use log::warn;

use crate::description::SharedDescription;
use crate::failure::Failure;
use crate::linked_maps::LinkedMaps;
use crate::reporter::Reporter;
use crate::sampled_loop::SampledLoop;
use crate::sampled_recording::SampledRecordingOptions;
use crate::sampled_thread::SampledThread;
use crate::sampling_thread::{self, SamplingThread};
use crate::script_sources::{SourceRequest, SourceRequests, WantedOfScripts};
use crate::spidermonkey::SampledContext;
use crate::stop::Thread;

/// How long the end of a recording waits for the last samples of all event loops. They are there at once unless the sampling
/// thread does not answer.
const LONGEST_WAIT_FOR_ENDS: Duration = Duration::from_secs(2);

/// How long the end of a recording waits for event loops that are busy, before it goes on without the texts and the
/// source maps of their scripts. It waits as long again for those that have begun to read them.
const LONGEST_WAIT_FOR_SOURCES: Duration = Duration::from_secs(2);

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    event_loops: Vec::new(),
    next: EventLoopId(1),
    recording: None,
    open_ends: Vec::new(),
});

struct Registry {
    event_loops: Vec<RegisteredLoop>,
    /// The id of the next event loop.
    next: EventLoopId,
    recording: Option<Recording>,
    /// The ends of recordings that nobody waits for at the moment: of event loops that have ended, and those that did not come
    /// in time.
    open_ends: Vec<End>,
}

struct RegisteredLoop {
    id: EventLoopId,
    /// An error says why the thread cannot be stopped.
    thread: Result<Thread, String>,
    context: SampledContext,
    activity: SharedActivity,
    description: Arc<SharedDescription>,
    /// How its first page was answered, if it has had one.
    first_answer: Option<PageAnswer>,
    source_requests: Arc<SourceRequests>,
    /// The scripts of the recording that are still to be read.
    unread_sources: Vec<u32>,
    /// Set while the event loop has joined that thread.
    sampling_thread: Option<Arc<SamplingThread>>,
    /// Whether the event loop has or had sessions. If so it does not leave the sampling thread until it ends.
    has_had_sessions: bool,
    /// Whether the current recording includes it and has not ended for it.
    recorded: bool,
    /// How many ends of its recordings are not known to have come. As long as there are any, it does not leave.
    pending_ends: usize,
}

/// The recording that is running.
struct Recording {
    options: RecordingOptions,
    reports: Sender<Report>,
    /// The first event loop that began after the recording.
    first_new: EventLoopId,
    /// The event loops that take no more samples.
    ended: Vec<EventLoopId>,
    /// How many bytes the texts of sources may still take.
    room: Arc<Room>,
    maps: Arc<LinkedMaps>,
}

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers the event loop of the calling thread. It is not sampled yet, unless the recording that is
/// running includes it.
pub fn register(
    context: SampledContext,
    source_requests: Arc<SourceRequests>,
) -> (EventLoopId, Arc<SharedDescription>) {
    let thread = Thread::current().map_err(|error| error.to_string());
    let description = Arc::new(SharedDescription::of_this_thread());
    let id = {
        let mut registry = registry();
        let id = registry.next;
        registry.next = EventLoopId(id.0 + 1);
        registry.event_loops.push(RegisteredLoop {
            id,
            thread,
            context,
            activity: SharedActivity::of_this_thread(),
            description: description.clone(),
            first_answer: None,
            source_requests,
            unread_sources: Vec::new(),
            sampling_thread: None,
            has_had_sessions: false,
            recorded: false,
            pending_ends: 0,
        });
        id
    };
    record_wanted();
    (id, description)
}

/// Removes an event loop. Does not wait until the sampling thread knows of it: the gate of the context keeps that thread from
/// using it ([`SampledContext`]). The end of the recording waits for the last samples of the event loop.
pub fn unregister(id: EventLoopId) {
    let sampling_thread = {
        let mut registry = registry();
        let Registry {
            event_loops,
            recording,
            open_ends,
            ..
        } = &mut *registry;
        let Some(index) = event_loops.iter().position(|other| other.id == id) else {
            return;
        };
        let mut event_loop = event_loops.swap_remove(index);
        let recording = recording.as_ref();
        open_ends.extend(recording.and_then(|recording| event_loop.end_recording(recording)));
        event_loop.sampling_thread
    };
    if let Some(sampling_thread) = sampling_thread {
        sampling_thread.send(move |sampler| sampler.leave(id));
    }
    // Those of other event loops that have ended may have come.
    settle();
}

/// Makes the event loop join the sampling thread for the rest of its life, unless it has. Returns that thread.
///
/// # Errors
///
/// If the thread of the event loop cannot be stopped, the sampling thread cannot be started, or the event
/// loop has ended.
pub fn join_for_sessions(id: EventLoopId) -> io::Result<Arc<SamplingThread>> {
    let sampling_thread = start_sampling()?;
    let mut registry = registry();
    let event_loop = registry
        .event_loop(id)
        .ok_or_else(|| io::Error::other("the event loop has ended"))?;
    if let Err(error) = &event_loop.thread {
        return Err(io::Error::other(error.clone()));
    }
    event_loop.join(&sampling_thread);
    event_loop.has_had_sessions = true;
    Ok(sampling_thread)
}

/// Starts the sampling thread if it is not running. That takes a while, so it must not be done under the
/// lock.
fn start_sampling() -> io::Result<Arc<SamplingThread>> {
    Thread::prepare()?;
    SamplingThread::get_or_start()
}

/// The sampling thread, if the event loop has joined it.
pub fn sampling_thread_of(id: EventLoopId) -> Option<Arc<SamplingThread>> {
    registry().event_loop(id)?.sampling_thread.clone()
}

/// Notes how a page of an event loop was answered. If it is the first one, the answer is reported to the recording that
/// is running, and to each later one at its beginning.
pub fn note_answer(id: EventLoopId, answer: PageAnswer) {
    let mut registry = registry();
    let Some(event_loop) = registry.event_loop(id) else {
        return;
    };
    if event_loop.first_answer.is_some() {
        return;
    }
    event_loop.first_answer = Some(answer);
    if let Some(recording) = &registry.recording {
        recording.report_answer(answer);
    }
}

/// Starts a recording. A recording that is running is ended.
pub fn start_recording(options: RecordingOptions, reports: Sender<Report>) {
    stop_recording(None);
    settle();
    {
        let mut registry = registry();
        let recording = Recording {
            options,
            reports,
            first_new: registry.next,
            ended: Vec::new(),
            room: Arc::new(Room::of(MAX_SOURCES_BYTES)),
            maps: Arc::default(),
        };
        for event_loop in &mut registry.event_loops {
            event_loop.unread_sources.clear();
            if let Some(answer) = event_loop.first_answer {
                recording.report_answer(answer);
            }
        }
        registry.recording = Some(recording);
    }
    record_wanted();
}

/// Starts to record each event loop that the recording includes and that is not recorded yet.
pub fn record_wanted() {
    if !registry().is_any_wanted() {
        return;
    }
    let sampling_thread = start_sampling();
    registry().record_wanted(&sampling_thread);
}

/// Ends the recording with this id, or any recording if `id` is `None`. Returns when everything has been reported, or what does
/// not come in time.
pub fn stop_recording(id: Option<RecordingId>) {
    let (recording, ends) = {
        let mut registry = registry();
        let is_meant = |recording: &mut Recording| id.is_none_or(|id| recording.options.id == id);
        let Some(recording) = registry.recording.take_if(is_meant) else {
            return;
        };
        let mut ends = mem::take(&mut registry.open_ends);
        let event_loops = registry.event_loops.iter_mut();
        ends.extend(event_loops.filter_map(|event_loop| event_loop.end_recording(&recording)));
        (recording, ends)
    };
    wait_for(ends);
    if recording.wanted_of_scripts().is_any() {
        report_sources(&recording);
        // If nobody asks for the end, nobody waits for the maps.
        if id.is_some() {
            recording.maps.finish();
        }
    }
}

/// Ends the recording of one event loop, and returns when its samples have been reported, or do not come in time.
pub fn end_event_loop(recording: RecordingId, id: EventLoopId) {
    let end = {
        let mut registry = registry();
        let Registry {
            event_loops,
            recording: running,
            ..
        } = &mut *registry;
        let Some(running) = running.as_mut().filter(|one| one.options.id == recording) else {
            return;
        };
        running.ended.push(id);
        let mut event_loops = event_loops.iter_mut();
        let event_loop = event_loops.find(|event_loop| event_loop.id == id);
        event_loop.and_then(|event_loop| event_loop.end_recording(running))
    };
    wait_for(end.into_iter().collect());
}

/// The end of an event loop's recording.
struct End {
    reporter: Reporter,
    /// The answer comes when everything has been reported. It names the scripts that are to be read.
    when_ended: Receiver<Vec<u32>>,
    /// Whether it was reported that the end did not come in time.
    is_told: bool,
}

/// Waits for these ends, for a limited time in all. What does not come is left to [`settle`].
fn wait_for(ends: Vec<End>) {
    let deadline = Instant::now() + LONGEST_WAIT_FOR_ENDS;
    for mut end in ends {
        match end.when_ended.recv_deadline(deadline) {
            Ok(new_sources) => end.note(new_sources),
            // The sampling thread has panicked.
            Err(RecvTimeoutError::Disconnected) => end.note(Vec::new()),
            Err(RecvTimeoutError::Timeout) => {
                if !mem::replace(&mut end.is_told, true) {
                    end.reporter.fail(Failure::TimedOut.to_string());
                }
                registry().open_ends.push(end);
            },
        }
    }
}

/// Notes those ends that have come of the ones that nobody waits for.
fn settle() {
    let mut come = Vec::new();
    {
        let mut registry = registry();
        for end in mem::take(&mut registry.open_ends) {
            match end.when_ended.try_recv() {
                Ok(new_sources) => come.push((end, new_sources)),
                Err(TryRecvError::Disconnected) => come.push((end, Vec::new())),
                Err(TryRecvError::Empty) => registry.open_ends.push(end),
            }
        }
    }
    for (end, new_sources) in come {
        end.note(new_sources);
    }
}

impl End {
    /// Notes that everything has been reported, except for these scripts. The event loop leaves the sampling thread, unless it
    /// is still sampled. Must not be called under the lock.
    fn note(self, new_sources: Vec<u32>) {
        let event_loop = self.reporter.event_loop;
        let left = registry().event_loop(event_loop).and_then(|event_loop| {
            event_loop.unread_sources.extend(new_sources);
            event_loop.leave_if_not_sampled()
        });
        // Dropping the last reference ends the sampling thread and waits for its end. So it is dropped without the
        // lock.
        drop(left);
    }
}

/// Asks the event loops for what is wanted of their scripts, and waits for the answers for a limited time.
fn report_sources(recording: &Recording) {
    let mut asked = Vec::new();
    for event_loop in &mut registry().event_loops {
        let ids = mem::take(&mut event_loop.unread_sources);
        if !ids.is_empty() {
            let request = recording.source_request(event_loop.id, ids);
            let requests = event_loop.source_requests.clone();
            let when_done = requests.ask(request);
            asked.push((requests, when_done));
        }
    }
    wait_for_sources(&asked, LONGEST_WAIT_FOR_SOURCES);
}

/// Waits for the answers: for `time` until they begin, and as long again until they end.
fn wait_for_sources(asked: &[(Arc<SourceRequests>, Receiver<()>)], time: Duration) {
    let deadline = Instant::now() + time;
    for (requests, when_done) in asked {
        // An error means that it is done, or that the deadline has passed.
        let _ = when_done.recv_deadline(deadline);
        if let Some(request) = requests.take_back() {
            request.tell_busy();
        }
    }
    for (_, when_done) in asked {
        let _ = when_done.recv_deadline(deadline + time);
    }
}

/// The scripts of an event loop that must be read now, because some of them are about to go away. Called on its own
/// thread.
pub fn sources_to_read(id: EventLoopId) -> Option<SourceRequest> {
    let (mut request, sampling_thread) = {
        let mut registry = registry();
        let recording = registry.recording.as_ref()?;
        if !recording.wanted_of_scripts().is_any() {
            return None;
        }
        let mut request = recording.source_request(id, Vec::new());
        let event_loop = registry.event_loop(id)?;
        request.ids = mem::take(&mut event_loop.unread_sources);
        (request, event_loop.sampling_thread.clone())
    };
    let new_sources = sampling_thread.and_then(|thread| {
        thread.ask_briefly(move |sampler| sampler.event_loop(id).map(SampledLoop::take_new_sources))
    });
    request
        .ids
        .extend(new_sources.flatten().unwrap_or_default());
    Some(request)
}

/// The status of all event loops of the process.
pub fn status() -> Vec<EventLoopStatus> {
    let mut sampled = sampling_thread::status();
    let registry = registry();
    let status_of = |event_loop: &RegisteredLoop| {
        let described = event_loop.description.lock();
        let index = sampled.iter().position(|other| other.id == event_loop.id);
        let sampled = index.map(|index| sampled.swap_remove(index));
        let memory = sampled.as_ref().map_or(0, |sampled| sampled.memory);
        let sessions = sampled.into_iter().flat_map(|sampled| sampled.sessions);
        let sessions = sessions.map(|(realm, status)| SessionStatus {
            realm: described.realms.get(&realm).cloned(),
            ..status
        });
        EventLoopStatus {
            id: event_loop.id,
            description: described.event_loop.clone(),
            without_stacks: event_loop.why_without_stacks(),
            sessions: sessions.collect(),
            memory,
        }
    };
    registry.event_loops.iter().map(status_of).collect()
}

impl Registry {
    fn event_loop(&mut self, id: EventLoopId) -> Option<&mut RegisteredLoop> {
        self.event_loops
            .iter_mut()
            .find(|event_loop| event_loop.id == id)
    }

    fn is_any_wanted(&self) -> bool {
        let recording = self.recording.as_ref();
        recording.is_some_and(|recording| self.event_loops.iter().any(|one| recording.wants(one)))
    }

    /// Starts to record the event loops that the recording includes. This is determined again under the lock, because
    /// event loops and the recording may have ended since it was released.
    fn record_wanted(&mut self, sampling_thread: &io::Result<Arc<SamplingThread>>) {
        let Some(recording) = &self.recording else {
            return;
        };
        for event_loop in &mut self.event_loops {
            if recording.wants(event_loop) {
                event_loop.record(recording, sampling_thread);
            }
        }
    }
}

impl Recording {
    fn report_answer(&self, answer: PageAnswer) {
        // An error means that nobody receives reports any more.
        let _ = self.reports.send(Report::PageAnswer {
            recording: self.options.id,
            answer,
        });
    }

    fn reporter(&self, event_loop: EventLoopId) -> Reporter {
        Reporter {
            recording: self.options.id,
            event_loop,
            reports: self.reports.clone(),
        }
    }

    fn wanted_of_scripts(&self) -> WantedOfScripts {
        WantedOfScripts {
            sources: self.options.sources,
            maps: self.options.linked_maps,
        }
    }

    fn source_request(&self, event_loop: EventLoopId, ids: Vec<u32>) -> SourceRequest {
        SourceRequest {
            reporter: self.reporter(event_loop),
            wanted: self.wanted_of_scripts(),
            ids,
            room: self.room.clone(),
            maps: self.maps.clone(),
            done: None,
        }
    }

    /// Whether the recording includes an event loop that is not recorded yet.
    fn wants(&self, event_loop: &RegisteredLoop) -> bool {
        let id = event_loop.id;
        let kind = event_loop.description.lock().event_loop.kind;
        let is_new = id.0 >= self.first_new.0;
        !event_loop.recorded
            && self.options.event_loops.includes(id, kind, is_new)
            && !self.ended.contains(&id)
    }
}

impl RegisteredLoop {
    /// Makes the event loop join the sampling thread, unless it has.
    fn join(&mut self, sampling_thread: &Arc<SamplingThread>) {
        if self.sampling_thread.is_some() {
            return;
        }
        let (id, context) = (self.id, self.context.clone());
        let thread = self.thread.as_ref().ok().copied();
        let (activity, description) = (self.activity.clone(), self.description.clone());
        sampling_thread.send(move |sampler| {
            let thread = SampledThread::new(id, thread, context, activity, description);
            sampler.join(SampledLoop::new(id, thread));
        });
        self.sampling_thread = Some(sampling_thread.clone());
    }

    /// Called when the sampling thread has confirmed the end of a recording of this event loop. If nobody
    /// samples the event loop any more, it leaves the sampling thread, and its reference to that thread is
    /// returned.
    ///
    /// This does not wait until it has left.
    fn leave_if_not_sampled(&mut self) -> Option<Arc<SamplingThread>> {
        self.pending_ends -= 1;
        if self.recorded || self.has_had_sessions || self.pending_ends > 0 {
            return None;
        }
        let sampling_thread = self.sampling_thread.take()?;
        let id = self.id;
        sampling_thread.send(move |sampler| sampler.leave(id));
        Some(sampling_thread)
    }

    fn why_without_stacks(&self) -> Option<String> {
        let error = self.thread.as_ref().err()?;
        Some(format!(
            "The event loop's thread cannot be stopped: {error}."
        ))
    }

    fn record(&mut self, recording: &Recording, sampling_thread: &io::Result<Arc<SamplingThread>>) {
        let id = self.id;
        let without_stacks = self.why_without_stacks();
        if let Some(why) = &without_stacks {
            warn!("{id:?} is recorded without stacks. {why}");
        }
        let sampling_thread = match sampling_thread {
            Ok(sampling_thread) => sampling_thread,
            Err(error) => {
                let why = format!("the sampling thread cannot be used: {error}");
                warn!("{id:?} cannot be recorded: {why}");
                recording.reporter(id).fail(why);
                return;
            },
        };
        let base = preferences::base_interval();
        self.join(sampling_thread);
        self.recorded = true;
        let interval = recording_interval(recording.options.interval, base);
        let options = SampledRecordingOptions {
            reporter: recording.reporter(id),
            has_stacks: without_stacks.is_none(),
            scripts: recording.wanted_of_scripts().is_any(),
        };
        sampling_thread.send(move |sampler| {
            sampler.record(id, options, interval);
        });
    }

    /// Ends its part of the recording. `None` if it is not recorded.
    fn end_recording(&mut self, recording: &Recording) -> Option<End> {
        if !mem::take(&mut self.recorded) {
            return None;
        }
        let id = self.id;
        let when_ended = self
            .sampling_thread
            .as_ref()?
            .begin_to_ask(move |sampler| sampler.end_recording(id));
        self.pending_ends += 1;
        Some(End {
            reporter: recording.reporter(id),
            when_ended,
            is_told: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::thread::{self, JoinHandle};
    use std::time::Duration;

    use js_profiler_traits::activity::enter;
    use js_profiler_traits::recording::{
        Chunk, Description, EventLoopKind, MissedReason, Realm, RecordedMissed, Request, Selection,
    };
    use js_profiler_traits::{Marker, RealmId, SessionId, Trace};
    use servo_base::cross_process_instant::CrossProcessInstant;
    use servo_base::id::{BrowsingContextId, Index, PipelineNamespaceId, TEST_WEBVIEW_ID};

    use super::*;
    use crate::on_trace::OnTrace;
    use crate::options::SessionOptions;
    use crate::sampled_session::{Ended, SampledSession};
    use crate::sampling_thread::tests::Held;
    use crate::spidermonkey::test_context::TestContext;
    use crate::stop::tests::EVENT_LOOPS;
    use crate::{EventLoop, serve};

    const HOUR: Duration = Duration::from_secs(3_600);

    type Call = Box<dyn FnOnce(&EventLoop) + Send>;

    /// An event loop on a thread of its own. It runs no script.
    struct Loop {
        id: EventLoopId,
        calls: Option<Sender<Call>>,
        handle: Option<JoinHandle<()>>,
    }

    impl Loop {
        fn begin() -> Self {
            let (calls, to_call) = crossbeam_channel::unbounded::<Call>();
            let (begun, when_begun) = crossbeam_channel::bounded(1);
            let handle = thread::Builder::new()
                .name("TestLoop".to_owned())
                .spawn(move || {
                    let context = TestContext::new();
                    let event_loop = EventLoop::new(context.engine());
                    begun.send(event_loop.id()).unwrap();
                    for call in to_call {
                        call(&event_loop);
                    }
                })
                .unwrap();
            Self {
                id: when_begun.recv().unwrap(),
                calls: Some(calls),
                handle: Some(handle),
            }
        }

        /// Calls `call` on the event loop's thread, and waits until it has returned.
        fn call(&self, call: impl FnOnce(&EventLoop) + Send + 'static) {
            let (done, when_done) = crossbeam_channel::bounded(1);
            let call: Call = Box::new(move |event_loop| {
                call(event_loop);
                done.send(()).unwrap();
            });
            self.calls.as_ref().unwrap().send(call).unwrap();
            when_done.recv().unwrap();
        }

        fn describe(&self, kind: EventLoopKind) {
            self.call(move |event_loop| {
                event_loop.describe(Description {
                    kind,
                    ..Description::default()
                });
            });
        }
    }

    impl Drop for Loop {
        fn drop(&mut self) {
            drop(self.calls.take());
            self.handle.take().unwrap().join().unwrap();
        }
    }

    /// The recorder of this process.
    struct Recorder {
        sender: Sender<Report>,
        reports: Receiver<Report>,
    }

    impl Recorder {
        fn start(number: u64, event_loops: Selection) -> Self {
            let (sender, reports) = crossbeam_channel::unbounded();
            let recorder = Self { sender, reports };
            recorder.serve(Request::Start(RecordingOptions {
                id: RecordingId(number),
                interval: Duration::from_millis(1),
                event_loops,
                sources: false,
                linked_maps: false,
            }));
            recorder
        }

        fn serve(&self, request: Request) {
            serve(request, &self.sender);
        }

        fn chunk(&self) -> Chunk {
            match self.reports.recv().unwrap() {
                Report::Chunk(chunk) => *chunk,
                report => panic!("{report:?}"),
            }
        }

        /// Waits until all of these have reported new samples. No other event loop may report any.
        fn wait_for_samples_of(&self, loops: &[&Loop]) {
            while self.reports.try_recv().is_ok() {}
            let mut awaited: BTreeSet<_> = loops.iter().map(|one| one.id.0).collect();
            let all = awaited.clone();
            while !awaited.is_empty() {
                let chunk = self.chunk();
                assert!(all.contains(&chunk.event_loop.0), "{:?}", chunk.event_loop);
                if !chunk.samples.is_empty() {
                    awaited.remove(&chunk.event_loop.0);
                }
            }
        }

        /// How many samples were taken by the last chunk that has come; 0 if none has come since the last call.
        fn last_taken(&self) -> u64 {
            let mut taken = 0;
            while let Ok(Report::Chunk(chunk)) = self.reports.try_recv() {
                taken = chunk.counts.taken;
            }
            taken
        }

        fn stop(&self, number: u64) -> Vec<Chunk> {
            self.serve(Request::Stop(RecordingId(number)));
            let mut chunks = Vec::new();
            loop {
                match self.reports.recv().unwrap() {
                    Report::Chunk(chunk) => chunks.push(*chunk),
                    Report::Stopped(id) => {
                        assert_eq!(id, RecordingId(number));
                        assert!(self.reports.is_empty(), "nothing comes after it");
                        return chunks;
                    },
                    report => panic!("{report:?}"),
                }
            }
        }
    }

    fn is_sampling() -> bool {
        SamplingThread::current().is_some()
    }

    #[test]
    fn a_recording_needs_nothing_of_event_loops_and_releases_them() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let first = Loop::begin();
        let second = Loop::begin();
        assert!(!is_sampling(), "no event loop is sampled without need");

        let recorder = Recorder::start(1, Selection::All);
        recorder.wait_for_samples_of(&[&first, &second]);
        let third = Loop::begin();
        recorder.wait_for_samples_of(&[&first, &second, &third]);
        let gone = second.id;
        drop(second);
        recorder.wait_for_samples_of(&[&first, &third]);

        let last: BTreeSet<_> = recorder
            .stop(1)
            .iter()
            .map(|chunk| chunk.event_loop.0)
            .collect();
        assert_eq!(last, BTreeSet::from([first.id.0, third.id.0]));
        assert!(!last.contains(&gone.0));
        assert!(
            !is_sampling(),
            "the sampling thread ends with the last event loop"
        );
        drop(first);
        assert!(!is_sampling());

        let recorder = Recorder::start(2, Selection::All);
        recorder.wait_for_samples_of(&[&third]);
        drop(third);
        assert!(!is_sampling(), "the last event loop has left by itself");
        recorder.stop(2);
    }

    #[test]
    fn an_event_loop_that_ends_has_reported_everything() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let event_loop = Loop::begin();
        let recorder = Recorder::start(1, Selection::All);
        recorder.wait_for_samples_of(&[&event_loop]);
        drop(event_loop);
        let taken = recorder.last_taken();
        assert_ne!(
            taken, 0,
            "the last chunk has come when the event loop has ended"
        );
        assert!(recorder.stop(1).is_empty());
    }

    #[test]
    fn sessions_and_a_recording_do_not_end_each_other() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let event_loop = Loop::begin();
        let id = event_loop.id;
        let recorder = Recorder::start(1, Selection::All);
        join_for_sessions(id).unwrap();
        join_for_sessions(id).unwrap();
        recorder.wait_for_samples_of(&[&event_loop]);
        assert_eq!(recorder.stop(1).len(), 1);
        assert!(is_sampling(), "sessions keep running");
        let recorder = Recorder::start(2, Selection::All);
        recorder.wait_for_samples_of(&[&event_loop]);
        recorder.stop(2);
        assert!(is_sampling());
        drop(event_loop);
        assert!(!is_sampling());
        assert!(join_for_sessions(id).is_err());
    }

    #[test]
    fn nobody_waits_for_long_for_a_sampling_thread_that_does_not_answer() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let event_loop = Loop::begin();
        let sampling_thread = join_for_sessions(event_loop.id).unwrap();
        let held = Held::sampling_thread(&sampling_thread);
        assert_eq!(sampling_thread.ask_briefly(|_| ()), None);
        assert!(status().iter().any(|one| one.id == event_loop.id));
        let context = BrowsingContextId {
            namespace_id: PipelineNamespaceId(1),
            index: Index::new(1).unwrap(),
        };
        assert_eq!(sampling_thread::force_sample(context), Err(1));
        held.let_go_on();
        assert_eq!(sampling_thread.ask(|_| ()), Some(()));
        assert_eq!(sampling_thread::force_sample(context), Ok(()));
        drop(sampling_thread);
    }

    #[test]
    fn an_event_loop_ends_without_waiting_and_its_last_samples_come() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, second) = (Loop::begin(), Loop::begin());
        let recorder = Recorder::start(1, Selection::All);
        recorder.wait_for_samples_of(&[&first, &second]);
        let held = Held::sampling_thread(&sampling_thread_of(first.id).unwrap());
        let gone = second.id;
        // Its thread ends, and its context is destroyed.
        drop(second);
        while recorder.reports.try_recv().is_ok() {}
        held.let_go_on();
        let last = recorder.stop(1);
        let last: BTreeSet<_> = last.iter().map(|chunk| chunk.event_loop.0).collect();
        assert_eq!(last, BTreeSet::from([first.id.0, gone.0]));
        assert!(registry().open_ends.is_empty());
        assert!(!is_sampling());
    }

    #[test]
    fn what_was_due_when_a_recording_ends_is_missed() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let event_loop = Loop::begin();
        let recorder = Recorder::start(1, Selection::All);
        recorder.wait_for_samples_of(&[&event_loop]);
        let held = Held::sampling_thread(&sampling_thread_of(event_loop.id).unwrap());
        let taken = recorder.last_taken();
        thread::sleep(Duration::from_millis(200));
        let last = thread::scope(|scope| {
            let stop = scope.spawn(|| recorder.stop(1));
            // It is asked for now.
            while registry().recording.is_some() {
                thread::yield_now();
            }
            held.let_go_on();
            stop.join().unwrap()
        });
        let last = last.last().unwrap();
        assert!(last.counts.taken >= taken);
        let missed: u32 = last.missed.iter().map(|missed| missed.samples).sum();
        // In 200 ms there are some 200 ticks.
        assert!(missed >= 150, "{:?} {:?}", last.counts, last.missed);
        assert!(last.counts.missed >= u64::from(missed));
        let is_late = |missed: &RecordedMissed| missed.why == MissedReason::SamplerLate;
        assert!(last.missed.iter().all(is_late), "{:?}", last.missed);
    }

    #[test]
    fn a_recording_ends_without_what_does_not_come_and_says_so() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, second, third) = (Loop::begin(), Loop::begin(), Loop::begin());
        let recorder = Recorder::start(1, Selection::All);
        recorder.wait_for_samples_of(&[&first, &second, &third]);
        let sampling_thread = sampling_thread_of(first.id).unwrap();
        let held = Held::sampling_thread(&sampling_thread);
        recorder.serve(Request::EndEventLoop {
            recording: RecordingId(1),
            event_loop: first.id,
        });
        let gone = second.id;
        drop(second);
        recorder.serve(Request::Stop(RecordingId(1)));
        let mut failed = Vec::new();
        loop {
            match recorder.reports.recv().unwrap() {
                Report::Failed {
                    recording,
                    event_loop,
                    why,
                } => {
                    assert_eq!(recording, RecordingId(1));
                    assert_eq!(why, "the sampling thread did not answer in time");
                    failed.push(event_loop);
                },
                Report::Stopped(_) => break,
                Report::Chunk(_) => {},
                report => panic!("{report:?}"),
            }
        }
        // Each is told once.
        assert_eq!(failed, [first.id, gone, third.id]);
        assert_eq!(registry().open_ends.len(), 3);
        held.let_go_on();
        sampling_thread.ask(|_| ()).unwrap();
        drop(sampling_thread);

        // The next recording finds that the ends have come, and is complete.
        let recorder = Recorder::start(2, Selection::All);
        assert!(registry().open_ends.is_empty());
        recorder.wait_for_samples_of(&[&first, &third]);
        assert_eq!(recorder.stop(2).len(), 2);
        assert!(!is_sampling());
    }

    #[test]
    fn event_loops_that_read_sources_for_ever_are_not_waited_for() {
        let recording = Recording {
            options: RecordingOptions {
                id: RecordingId(1),
                interval: Duration::from_millis(1),
                event_loops: Selection::All,
                sources: true,
                linked_maps: false,
            },
            reports: crossbeam_channel::unbounded().0,
            first_new: EventLoopId(1),
            ended: Vec::new(),
            room: Arc::new(Room::of(MAX_SOURCES_BYTES)),
            maps: Arc::default(),
        };
        let (held, hold, when_begun) = Held::new();
        // So many that a limit for each of them would add up.
        let asked: Vec<_> = (1..=40)
            .map(|id| {
                let requests = Arc::new(SourceRequests::default());
                let when_done = requests.ask(recording.source_request(EventLoopId(id), vec![1]));
                (requests, when_done)
            })
            .collect();
        let begun: Vec<_> = asked.iter().map(|(requests, _)| requests.next()).collect();
        let reading = thread::spawn(move || {
            hold();
            drop(begun);
        });
        when_begun.recv().unwrap();
        wait_for_sources(&asked, LONGEST_WAIT_FOR_SOURCES);
        held.let_go_on();
        reading.join().unwrap();
    }

    #[test]
    fn only_chosen_event_loops_are_recorded() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let page = Loop::begin();
        page.describe(EventLoopKind::Page);
        let worker = Loop::begin();
        worker.describe(EventLoopKind::Worker);

        let recorder = Recorder::start(1, Selection::Main);
        recorder.wait_for_samples_of(&[&page]);
        let new = Loop::begin();
        recorder.wait_for_samples_of(&[&page]);
        // Only now is it known to be a page's event loop.
        new.describe(EventLoopKind::Page);
        recorder.wait_for_samples_of(&[&page, &new]);
        recorder.stop(1);

        let these = |new_ones| Selection::These {
            event_loops: vec![worker.id],
            new_ones,
        };
        let recorder = Recorder::start(2, these(false));
        let another = Loop::begin();
        recorder.wait_for_samples_of(&[&worker]);
        recorder.stop(2);
        let recorder = Recorder::start(3, these(true));
        let newest = Loop::begin();
        recorder.wait_for_samples_of(&[&worker, &newest]);
        // Stopping another recording does not end this one.
        recorder.serve(Request::Stop(RecordingId(2)));
        assert_eq!(
            recorder
                .reports
                .iter()
                .find(|one| matches!(one, Report::Stopped(_))),
            Some(Report::Stopped(RecordingId(2)))
        );
        recorder.wait_for_samples_of(&[&worker, &newest]);
        let end = |event_loop| {
            recorder.serve(Request::EndEventLoop {
                recording: RecordingId(3),
                event_loop,
            });
        };
        end(newest.id);
        newest.describe(EventLoopKind::Page);
        recorder.wait_for_samples_of(&[&worker]);
        end(worker.id);
        assert!(!is_sampling());
        recorder.stop(3);
        drop(another);
    }

    #[test]
    fn a_new_recording_ends_the_one_before() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let event_loop = Loop::begin();
        let first = Recorder::start(1, Selection::All);
        first.wait_for_samples_of(&[&event_loop]);
        let second = Recorder::start(2, Selection::All);
        while first.reports.try_recv().is_ok() {}
        second.wait_for_samples_of(&[&event_loop]);
        assert!(first.reports.is_empty());
        crate::end_recording();
        assert!(!is_sampling());
    }

    #[test]
    fn the_answer_to_the_first_page_is_reported_to_this_recording_and_to_later_ones() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let event_loop = Loop::begin();
        let answer = |http_error| PageAnswer {
            webview: TEST_WEBVIEW_ID,
            http_error,
        };
        let answers = |recorder: &Recorder, number| -> Vec<_> {
            recorder.serve(Request::Stop(RecordingId(number)));
            let answers = recorder
                .reports
                .try_iter()
                .filter_map(|report| match report {
                    Report::PageAnswer { recording, answer } => Some((recording, answer)),
                    _ => None,
                });
            answers.collect()
        };
        let recorder = Recorder::start(1, Selection::All);
        for noted in [answer(Some(404)), answer(None)] {
            event_loop.call(move |event_loop| event_loop.note_answer(noted));
        }
        let expected = |number| [(RecordingId(number), answer(Some(404)))];
        assert_eq!(answers(&recorder, 1), expected(1));
        let recorder = Recorder::start(2, Selection::All);
        assert_eq!(answers(&recorder, 2), expected(2));

        drop(event_loop);
        let recorder = Recorder::start(3, Selection::All);
        assert!(answers(&recorder, 3).is_empty(), "its event loop has ended");
    }

    /// A session of an event loop that has no realm. It is started as one with a realm is.
    struct TestSession {
        event_loop: EventLoopId,
        id: SessionId,
        sampling_thread: Arc<SamplingThread>,
        ends: Receiver<Ended>,
    }

    impl TestSession {
        fn start(event_loop: &Loop, number: u64) -> Self {
            let sampling_thread = join_for_sessions(event_loop.id).unwrap();
            let (end, ends) = crossbeam_channel::unbounded();
            let session = Self {
                event_loop: event_loop.id,
                id: SessionId(number),
                sampling_thread,
                ends,
            };
            let options = SessionOptions::every(Duration::from_millis(1));
            let (event_loop, id) = (session.event_loop, session.id);
            session.sampling_thread.send(move |sampler| {
                let schedule = sampler.schedule(options.sample_interval, options.is_paused);
                let on_end = Box::new(move |ended| end.send(ended).unwrap());
                let started = SampledSession::new(id, RealmId(1), None, schedule, options, on_end);
                sampler.start(event_loop, started);
            });
            session
        }

        fn wait_for_samples(&self) {
            let taken = || {
                // On a busy machine the sampling thread may not answer in time.
                let sampled = sampling_thread::status();
                let status = sampled.iter().find(|status| status.id == self.event_loop)?;
                let sessions = &status.sessions;
                sessions.iter().map(|(_, one)| one.counts.taken).max()
            };
            while taken().is_none_or(|taken| taken < 3) {
                thread::sleep(Duration::from_millis(1));
            }
        }

        fn stop(&self) -> Result<Trace, Failure> {
            let (taken, when_taken) = crossbeam_channel::bounded(1);
            let (event_loop, id, time) = (self.event_loop, self.id, CrossProcessInstant::now());
            let on_trace = OnTrace::within(HOUR, move |trace| taken.send(trace).unwrap());
            self.sampling_thread
                .send(move |sampler| sampler.stop(event_loop, id, time, on_trace));
            when_taken.recv().unwrap()
        }
    }

    #[test]
    fn a_panic_of_the_sampling_thread_ends_everything_and_new_sessions_work() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, second) = (Loop::begin(), Loop::begin());
        // Twice, because everything must work after a panic as it did before.
        for round in 1..=2 {
            let recorder = Recorder::start(round, Selection::All);
            let sessions = [(&first, 1), (&first, 2), (&second, 3)]
                .map(|(event_loop, number)| TestSession::start(event_loop, 10 * round + number));
            recorder.wait_for_samples_of(&[&first, &second]);
            for session in &sessions {
                session.wait_for_samples();
            }
            let sampling_thread = sampling_thread_of(first.id).expect("it has sessions");
            let answer: Option<()> = sampling_thread.ask(|_| panic!("on purpose"));
            assert_eq!(answer, None);
            drop(sampling_thread);

            for session in &sessions {
                assert_eq!(session.ends.recv(), Ok(Ended::Failed(Failure::Panicked)));
                assert_eq!(session.stop().err(), Some(Failure::Panicked));
                assert_eq!(
                    session.stop().err(),
                    Some(Failure::Lost),
                    "it has been stopped"
                );
            }
            let mut failed = BTreeSet::new();
            while failed.len() < 2 {
                match recorder.reports.recv().unwrap() {
                    Report::Failed {
                        recording,
                        event_loop,
                        why,
                    } => {
                        assert_eq!(recording, RecordingId(round));
                        assert_eq!(why, Failure::Panicked.to_string());
                        failed.insert(event_loop.0);
                    },
                    Report::Chunk(_) => {},
                    report => panic!("{report:?}"),
                }
            }
            assert_eq!(failed, BTreeSet::from([first.id.0, second.id.0]));
            assert!(recorder.stop(round).is_empty(), "nothing comes after it");

            let session = TestSession::start(&first, 10 * round + 4);
            session.wait_for_samples();
            assert!(session.stop().unwrap().samples.len() >= 3);
            assert!(session.ends.is_empty());
        }
        drop((first, second));
        assert!(
            !is_sampling(),
            "the sampling thread ends as it would without a panic"
        );
    }

    #[test]
    fn samples_say_what_an_event_loop_is_doing() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let event_loop = Loop::begin();
        let recorder = Recorder::start(1, Selection::All);
        recorder.wait_for_samples_of(&[&event_loop]);
        let (begun, when_begun) = crossbeam_channel::bounded(1);
        let (end, when_to_end) = crossbeam_channel::bounded::<()>(1);
        let call: Call = Box::new(move |_| {
            let _layout = enter(Marker::Layout, None);
            begun.send(()).unwrap();
            when_to_end.recv().unwrap();
        });
        event_loop.calls.as_ref().unwrap().send(call).unwrap();
        when_begun.recv().unwrap();
        let is_layout = |chunk: &Chunk| {
            let mut markers = chunk.samples.iter().map(|sample| sample.marker);
            markers.any(|marker| marker == Some(Marker::Layout))
        };
        while !is_layout(&recorder.chunk()) {}
        end.send(()).unwrap();
        let is_idle = |chunk: &Chunk| {
            let mut samples = chunk.samples.iter();
            samples.any(|sample| sample.marker.is_none() && sample.stack.is_none())
        };
        while !is_idle(&recorder.chunk()) {}
        recorder.stop(1);
    }

    #[test]
    fn the_status_is_of_all_event_loops() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let first = Loop::begin();
        let second = Loop::begin();
        second.describe(EventLoopKind::Worker);
        second.call(|event_loop| {
            let realm = Realm {
                url: "https://a.example/".to_owned(),
                origin: None,
            };
            event_loop.describe_realm(js_profiler_traits::RealmId(1), realm);
        });
        let recorder = Recorder::start(
            1,
            Selection::These {
                event_loops: vec![second.id],
                new_ones: false,
            },
        );
        recorder.wait_for_samples_of(&[&second]);
        recorder.serve(Request::Status { number: 7 });
        let status = recorder.reports.iter().find_map(|report| match report {
            Report::Status {
                number: 7,
                event_loops,
            } => Some(event_loops),
            _ => None,
        });
        let status = status.unwrap();
        let of = |event_loop: &Loop| {
            status
                .iter()
                .find(|status| status.id == event_loop.id)
                .unwrap()
        };
        assert_eq!(status.len(), 2);
        assert_eq!(of(&first).description.name, "TestLoop");
        assert_eq!(of(&first).memory, 0, "nothing is done for it");
        assert_eq!(of(&second).description.kind, EventLoopKind::Worker);
        assert_ne!(of(&second).memory, 0);
        recorder.stop(1);
    }
}
