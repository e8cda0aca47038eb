/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The sampling thread: one per process, shared by all event loops. It sleeps until the next tick at which a
//! sample of a session or recording is due. If there is no such tick it sleeps until it gets a request.
//!
//! It survives a panic. Sessions and recordings fail then, and their owners are told; those that are started
//! later are not affected. That is sound because the sampling thread shares nothing that a panic could leave
//! half-changed: the stopped thread runs on (`stop/linux.rs`), and the lasting parts of an event loop, its
//! thread and its context, are never changed.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use js_profiler_traits::{EventLoopId, SessionId, preferences};
use log::{debug, warn};
use servo_base::cross_process_instant::CrossProcessInstant;
use servo_base::id::BrowsingContextId;

use crate::failure::Failure;
use crate::on_trace::OnTrace;
use crate::sampled_loop::{SampledLoop, SampledLoopStatus};
use crate::sampled_recording::SampledRecordingOptions;
use crate::sampled_session::SampledSession;
use crate::sampled_thread::StackTaker;
use crate::schedule::Schedule;
use crate::spidermonkey::StackBuffer;
use crate::stop;
use crate::subscribers::Occasion;
use crate::ticks::Ticks;

/// How long others wait for an answer, and for the end of the thread. The thread serves requests between two samples, but a
/// machine may be busy, and somebody may have stopped the thread.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// How long others wait until the thread is ready, also if somebody else starts it.
const LONGEST_START: Duration = Duration::from_secs(5);

/// What the sampling thread is asked to do. It is dropped undone if the thread has ended.
type Request = Box<dyn FnOnce(&mut Sampler) + Send>;

/// A handle of the sampling thread, for those who need it to run. The thread ends when the last reference is
/// dropped.
pub struct SamplingThread {
    /// `None` once the thread is to end.
    requests: Option<Sender<Request>>,
    /// `None` once the thread has ended.
    handle: Option<JoinHandle<()>>,
    /// Closed when the thread has ended.
    ended: Receiver<()>,
}

/// The sampling thread of the process.
struct Current {
    thread: Weak<SamplingThread>,
    /// Whether somebody is starting it.
    is_starting: bool,
}

/// The lock is not held while the thread starts.
static CURRENT: Mutex<Current> = Mutex::new(Current {
    thread: Weak::new(),
    is_starting: false,
});

/// Notified when `is_starting` is false again.
static STARTED: Condvar = Condvar::new();

fn current() -> MutexGuard<'static, Current> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SamplingThread {
    /// The thread that is running, if any.
    pub fn current() -> Option<Arc<Self>> {
        current().thread.upgrade()
    }

    /// The thread that is running, or else a new one.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started, or does not start in time.
    pub fn get_or_start() -> io::Result<Arc<Self>> {
        Self::get_or_start_after(|| ())
    }

    /// The same. A new thread calls `prepare` before it is ready.
    fn get_or_start_after(prepare: impl FnOnce() + Send + 'static) -> io::Result<Arc<Self>> {
        let deadline = Instant::now() + LONGEST_START;
        let is_starting = |current: &mut Current| current.is_starting;
        let waited = STARTED.wait_timeout_while(current(), LONGEST_START, is_starting);
        let (mut found, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if found.is_starting {
            return Err(late_start());
        }
        if let Some(running) = found.thread.upgrade() {
            return Ok(running);
        }
        found.is_starting = true;
        drop(found);
        let started = Self::start(prepare, deadline).map(Arc::new);
        let mut current = current();
        current.is_starting = false;
        if let Ok(started) = &started {
            current.thread = Arc::downgrade(started);
        }
        STARTED.notify_all();
        started
    }

    fn start(prepare: impl FnOnce() + Send + 'static, deadline: Instant) -> io::Result<Self> {
        let (sender, receiver) = crossbeam_channel::unbounded();
        let (ready, when_ready) = crossbeam_channel::bounded(1);
        let (end, ended) = crossbeam_channel::bounded::<()>(0);
        let handle = thread::Builder::new()
            .name("JsSampler".to_owned())
            .spawn(move || {
                let _end = end;
                prepare();
                let sampler = Sampler::new(receiver);
                let _ = ready.send(());
                sampler.run();
            })?;
        // Waits until the thread is ready, so that the first tick of the first session is not late.
        when_ready
            .recv_deadline(deadline)
            .map_err(|error| match error {
                // It ends as soon as it is ready, because nobody can send it anything.
                RecvTimeoutError::Timeout => late_start(),
                RecvTimeoutError::Disconnected => io::Error::other("it panicked while it started"),
            })?;
        Ok(Self {
            requests: Some(sender),
            handle: Some(handle),
            ended,
        })
    }

    /// Sends a request. If the thread has ended, the request is dropped.
    pub fn send(&self, request: impl FnOnce(&mut Sampler) + Send + 'static) {
        if let (Some(requests), Some(handle)) = (&self.requests, &self.handle) {
            let _ = requests.send(Box::new(request));
            handle.thread().unpark();
        }
    }

    /// Sends a request whose answer comes on the channel. The channel is closed without an answer if the thread
    /// has ended.
    pub fn begin_to_ask<T: Send + 'static>(
        &self,
        request: impl FnOnce(&mut Sampler) -> T + Send + 'static,
    ) -> Receiver<T> {
        let (answer, when_answered) = crossbeam_channel::bounded(1);
        self.send(move |sampler| {
            let _ = answer.send(request(sampler));
        });
        when_answered
    }

    /// Sends a request, and waits for the answer for [`LONGEST_WAIT`]. `None` if the thread has ended, or if no answer has
    /// come. The request is carried out later then.
    pub fn ask_briefly<T: Send + 'static>(
        &self,
        request: impl FnOnce(&mut Sampler) -> T + Send + 'static,
    ) -> Option<T> {
        self.begin_to_ask(request).recv_timeout(LONGEST_WAIT).ok()
    }

    /// Sends a request, and waits for the answer, however long that takes. `None` if the thread has ended.
    #[cfg(test)]
    pub fn ask<T: Send + 'static>(
        &self,
        request: impl FnOnce(&mut Sampler) -> T + Send + 'static,
    ) -> Option<T> {
        self.begin_to_ask(request).recv().ok()
    }
}

impl Drop for SamplingThread {
    fn drop(&mut self) {
        drop(self.requests.take());
        let Some(handle) = self.handle.take() else {
            return;
        };
        handle.thread().unpark();
        // All event loops have left, or it has been told that they do. If it is late, it ends by itself.
        match self.ended.recv_timeout(LONGEST_WAIT) {
            Err(RecvTimeoutError::Timeout) => warn!("The sampling thread does not end in time."),
            // The thread reports its panics itself.
            _ => drop(handle.join()),
        }
    }
}

fn late_start() -> io::Error {
    let seconds = LONGEST_START.as_secs();
    io::Error::new(
        io::ErrorKind::TimedOut,
        format!("it did not start within {seconds} s"),
    )
}

/// Whether the browser is closing. Then nobody waits for samples any more.
static HAS_ENDED: AtomicBool = AtomicBool::new(false);

/// Never stops a thread for a sample again. Otherwise threads that end would have to wait while samples of
/// busy threads are taken, one after the other. Sessions and recordings keep what they have.
pub fn end_sampling() {
    HAS_ENDED.store(true, Ordering::Relaxed);
}

/// Takes a sample at once, independently of intervals, for every running session that was started for
/// `browsing_context` in this process. Returns when the sample has been taken. For the Force Sample command:
/// <https://wicg.github.io/js-self-profiling/#force-sample>.
///
/// It may be called from any thread. The sampled thread need not answer: if it is running JavaScript, the
/// sample shows that.
///
/// # Errors
///
/// The number of sessions that did not get a sample, because their thread did not stop or its stack could not
/// be walked; 1 if the sampling thread does not answer.
pub fn force_sample(browsing_context: BrowsingContextId) -> Result<(), usize> {
    // Without a sampling thread there are no sessions.
    let Some(thread) = SamplingThread::current() else {
        return Ok(());
    };
    match thread.ask_briefly(move |sampler| sampler.force_sample(browsing_context)) {
        Some(0) => Ok(()),
        failed => Err(failed.unwrap_or(1)),
    }
}

/// The status of all event loops that are sampled. Nothing is known of them if the sampling thread does not answer.
pub fn status() -> Vec<SampledLoopStatus> {
    let status = SamplingThread::current().and_then(|thread| {
        thread.ask_briefly(|sampler| {
            let event_loops = sampler.event_loops.iter();
            event_loops
                .map(|event_loop| event_loop.status(&sampler.ticks))
                .collect()
        })
    });
    status.unwrap_or_default()
}

/// The state of the thread itself. Requests use it on the sampling thread.
pub struct Sampler {
    requests: Receiver<Request>,
    event_loops: Vec<SampledLoop>,
    ticks: Ticks,
    taker: StackTaker,
}

impl Sampler {
    fn new(requests: Receiver<Request>) -> Self {
        stop::wake_promptly();
        Self {
            requests,
            event_loops: Vec::new(),
            ticks: Ticks::new(Instant::now(), preferences::base_interval()),
            taker: StackTaker::new(),
        }
    }

    fn run(mut self) {
        while panic::catch_unwind(AssertUnwindSafe(|| self.serve())).is_err() {
            // The panic itself has been reported.
            self.taker.buffer = StackBuffer::new();
            for event_loop in &mut self.event_loops {
                event_loop.fail(&Failure::Panicked);
            }
        }
    }

    /// Does what is requested and takes samples, until the thread is to end.
    fn serve(&mut self) {
        loop {
            let event_loops = self.event_loops.iter();
            let wakes = event_loops.filter_map(|event_loop| event_loop.next_wake(&self.ticks));
            // The deadline is absolute, so a late sample does not delay the ones after it.
            let request = self.wait(wakes.min().filter(|_| !HAS_ENDED.load(Ordering::Relaxed)));
            match request {
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(request) => {
                    // Timed walks that were asked for do not know of this request yet, so they are collected
                    // first.
                    for event_loop in &mut self.event_loops {
                        event_loop.collect(&self.ticks);
                    }
                    request(self);
                },
                Err(RecvTimeoutError::Timeout) => self.tick(),
            }
        }
    }

    /// The next request, or a timeout when the deadline has passed.
    ///
    /// Works like `Receiver::recv_deadline()`, but goes to sleep at once. That method polls the channel for a
    /// while first, which at every tick would cost more than the sample.
    fn wait(&self, deadline: Option<Instant>) -> Result<Request, RecvTimeoutError> {
        loop {
            match self.requests.try_recv() {
                Ok(request) => return Ok(request),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                Err(TryRecvError::Empty) => {},
            }
            match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return Err(RecvTimeoutError::Timeout),
                Some(left) => thread::park_timeout(left),
                None => thread::park(),
            }
        }
    }

    fn tick(&mut self) {
        for event_loop in &mut self.event_loops {
            if HAS_ENDED.load(Ordering::Relaxed) {
                return;
            }
            event_loop.wake(&self.ticks, &mut self.taker);
        }
    }

    /// Adds an event loop.
    pub fn join(&mut self, event_loop: SampledLoop) {
        self.event_loops.push(event_loop);
    }

    /// Removes an event loop, whose thread is never stopped again.
    pub fn leave(&mut self, id: EventLoopId) {
        if let Some(index) = self.event_loops.iter().position(|other| other.id == id) {
            let mut event_loop = self.event_loops.swap_remove(index);
            event_loop.end_recording(&self.ticks);
        }
    }

    /// The event loop with this id; `None` if it has not joined, or has left.
    pub fn event_loop(&mut self, id: EventLoopId) -> Option<&mut SampledLoop> {
        self.event_loop_and_ticks(id)
            .map(|(event_loop, _)| event_loop)
    }

    fn event_loop_and_ticks(&mut self, id: EventLoopId) -> Option<(&mut SampledLoop, &Ticks)> {
        let mut event_loops = self.event_loops.iter_mut();
        let event_loop = event_loops.find(|other| other.id == id)?;
        Some((event_loop, &self.ticks))
    }

    /// A schedule that begins now. The interval must be a multiple of the base interval.
    pub fn schedule(&self, interval: Duration, is_paused: bool) -> Schedule {
        let interval = self.ticks.in_base_intervals(interval);
        Schedule::new(
            self.ticks.due(interval),
            self.ticks.at(Instant::now()),
            is_paused,
        )
    }

    /// Starts a session of an event loop, and takes its first sample unless it is paused.
    pub fn start(&mut self, event_loop: EventLoopId, session: SampledSession) {
        let mut event_loops = self.event_loops.iter_mut();
        if let Some(event_loop) = event_loops.find(|other| other.id == event_loop) {
            let id = session.id;
            event_loop.add(session);
            event_loop.take(Occasion::First(id), &self.ticks, &mut self.taker);
        }
    }

    /// Starts a recording of an event loop. The interval must be a multiple of the base interval.
    pub fn record(
        &mut self,
        event_loop: EventLoopId,
        options: SampledRecordingOptions,
        interval: Duration,
    ) {
        let schedule = self.schedule(interval, false);
        if let Some((event_loop, ticks)) = self.event_loop_and_ticks(event_loop) {
            event_loop.record(options, schedule, ticks);
        }
    }

    /// Ends the recording of an event loop: see [`SampledLoop::end_recording`].
    pub fn end_recording(&mut self, event_loop: EventLoopId) -> Vec<u32> {
        let found = self.event_loop_and_ticks(event_loop);
        found.map_or_else(Vec::new, |(event_loop, ticks)| {
            event_loop.end_recording(ticks)
        })
    }

    /// Pauses a session or lets it go on.
    pub fn set_paused(&mut self, event_loop: EventLoopId, session: SessionId, is_paused: bool) {
        let current_tick = self.ticks.at(Instant::now());
        let event_loop = self.event_loop(event_loop);
        if let Some(session) = event_loop.and_then(|event_loop| event_loop.session(session)) {
            let schedule = &mut session.subscriber.schedule;
            schedule.set_paused(is_paused, current_tick);
        }
    }

    /// Ends a session without a trace.
    pub fn discard(&mut self, event_loop: EventLoopId, session: SessionId) {
        if let Some(event_loop) = self.event_loop(event_loop) {
            event_loop.remove(session, |_| ());
        }
    }

    /// Ends a session, and passes its trace to `on_trace`. The trace has no sample later than `time`.
    pub fn stop(
        &mut self,
        event_loop: EventLoopId,
        session: SessionId,
        time: CrossProcessInstant,
        on_trace: OnTrace,
    ) {
        if let Some(event_loop) = self.event_loop(event_loop) {
            event_loop.remove(session, |session| {
                debug!("{:?}: {:?}", session.id, session.subscriber.counts);
                on_trace.take(session.finish(time));
            });
        }
    }

    /// Takes a sample, independently of ticks, for every running session of a browsing context. Returns how many
    /// of these sessions did not get one, because their thread could not be sampled.
    fn force_sample(&mut self, browsing_context: BrowsingContextId) -> usize {
        let event_loops = self.event_loops.iter_mut();
        event_loops
            .map(|event_loop| {
                let occasion = Occasion::Forced(browsing_context);
                event_loop.take(occasion, &self.ticks, &mut self.taker)
            })
            .sum()
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::stop::tests::EVENT_LOOPS;

    /// Something that does not go on until it is told to. After a minute it does, so that a test of somebody who waits without
    /// a limit fails.
    pub struct Held {
        go_on: Sender<()>,
        was_told: Receiver<bool>,
    }

    impl Held {
        /// Also returns what is to be called by whatever is to be held, and when that has begun.
        pub fn new() -> (Self, impl FnOnce() + Send + 'static, Receiver<()>) {
            const LONGEST: Duration = Duration::from_secs(60);
            let (go_on, when_to_go_on) = crossbeam_channel::bounded::<()>(0);
            let (ended, was_told) = crossbeam_channel::bounded(1);
            let (begun, when_begun) = crossbeam_channel::bounded(1);
            let hold = move || {
                begun.send(()).unwrap();
                let told = when_to_go_on.recv_timeout(LONGEST);
                let _ = ended.send(told == Err(RecvTimeoutError::Disconnected));
            };
            (Self { go_on, was_told }, hold, when_begun)
        }

        /// Keeps a sampling thread busy.
        pub fn sampling_thread(thread: &SamplingThread) -> Self {
            let (held, hold, when_begun) = Self::new();
            thread.send(move |_| hold());
            when_begun.recv().unwrap();
            held
        }

        /// Lets it go on. Nobody may have waited for it before.
        pub fn let_go_on(self) {
            drop(self.go_on);
            assert!(self.was_told.recv().unwrap(), "somebody has waited for it");
        }
    }

    #[test]
    fn nobody_waits_for_long_for_a_sampling_thread_that_does_not_start() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let (held, hold, _when_begun) = Held::new();
        let error = |started: io::Result<Arc<SamplingThread>>| started.err().unwrap();
        let late = error(SamplingThread::get_or_start_after(hold));
        assert_eq!(late.to_string(), "it did not start within 5 s");
        assert!(SamplingThread::current().is_none());
        held.let_go_on();
        let panicked = error(SamplingThread::get_or_start_after(|| panic!("on purpose")));
        assert_eq!(panicked.to_string(), "it panicked while it started");
        SamplingThread::get_or_start().unwrap();
    }

    #[test]
    fn a_thread_that_starts_is_the_only_one_and_holds_nobody_up() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let (held, hold, when_begun) = Held::new();
        let start = thread::spawn(|| {
            SamplingThread::get_or_start_after(|| {
                // The lock is free.
                assert!(SamplingThread::current().is_none());
                hold();
            })
        });
        when_begun.recv().unwrap();
        let other = thread::spawn(SamplingThread::get_or_start);
        assert!(SamplingThread::current().is_none());
        held.let_go_on();
        let [started, other] = [start, other].map(|thread| thread.join().unwrap().unwrap());
        assert!(Arc::ptr_eq(&started, &other));
    }

    #[test]
    fn nobody_waits_for_long_for_a_sampling_thread_that_does_not_end() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let thread = SamplingThread::get_or_start().unwrap();
        let held = Held::sampling_thread(&thread);
        let when_ended = thread.ended.clone();
        drop(thread);
        held.let_go_on();
        // It ends nevertheless.
        assert!(when_ended.recv().is_err());
    }
}
