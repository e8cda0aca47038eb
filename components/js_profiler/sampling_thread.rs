/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The sampling thread: one per process, shared by all groups. It sleeps until the next tick at which a
//! sample of a session or recording is due. If there is no such tick it sleeps until it gets a message.
//!
//! It survives a panic. Sessions and recordings fail then, and their owners are told; those that are started
//! later are not affected. That is sound because the sampling thread shares nothing that a panic could leave
//! half-changed: the stopped thread runs on (`stop/linux.rs`), and the lasting parts of a group, its thread
//! and its context, are never changed.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use js_profiler_traits::activity::SharedActivity;
use js_profiler_traits::{GroupId, RealmId, SampleCounts, SessionId, preferences};
use log::debug;
use malloc_size_of::MallocSizeOf;
use profile_traits::mem::perform_memory_report;
use servo_base::cross_process_instant::CrossProcessInstant;
use servo_base::id::BrowsingContextId;

use crate::description::SharedDescription;
use crate::failure::{Failure, OnTrace};
use crate::options::SessionOptions;
use crate::sampled_loop::SampledLoop;
use crate::sampled_recording::{SampledRecording, SampledRecordingOptions};
use crate::sampled_session::{OnEnd, SampledSession};
use crate::spidermonkey::{SampledContext, StackBuffer};
use crate::stop::{self, Thread};
use crate::ticks::Ticks;
use crate::walks::StackTaker;

/// Measures a group. Called on the sampling thread.
pub type Measure = Box<dyn FnOnce(&dyn MallocSizeOf) + Send>;

/// What event loops and recorders ask of the sampling thread.
///
/// `group` and `session` name the group and the session that a message is about. A channel in a message takes
/// the answer. It is dropped without one if the sampling thread has ended.
pub enum Message {
    /// Makes an event loop a group.
    Join {
        group: GroupId,
        /// `None` if the thread cannot be stopped.
        thread: Option<Thread>,
        /// The context that runs the event loop's JavaScript.
        context: SampledContext,
        /// What the event loop's thread is doing.
        activity: SharedActivity,
        /// What the event loop says about itself.
        description: Arc<SharedDescription>,
    },
    /// Removes a group. When the answer comes, its thread is never stopped again.
    Leave { group: GroupId, left: Sender<()> },
    /// Starts a session. Takes its first sample if the event loop's thread waits for that, and answers then.
    Start {
        group: GroupId,
        session: SessionId,
        /// The realm that is sampled.
        realm: RealmId,
        /// Where a forced sample finds the session.
        browsing_context: Option<BrowsingContextId>,
        /// The sample interval must be a multiple of the base interval.
        options: SessionOptions,
        /// Called if the session ends by itself.
        on_end: OnEnd,
        /// Answered when the first sample has been taken or missed. `None` if nobody waits for the first
        /// sample.
        first_sample_taken: Option<Sender<()>>,
    },
    /// Pauses a session (`paused` is true) or lets it go on.
    SetPaused {
        group: GroupId,
        session: SessionId,
        paused: bool,
    },
    /// Ends a session, and passes its trace to `on_trace`. The trace has no sample later than `time`.
    Stop {
        group: GroupId,
        session: SessionId,
        time: CrossProcessInstant,
        on_trace: OnTrace,
    },
    /// Takes a sample, independently of ticks, for every running session of a browsing context. The answer is
    /// the number of these sessions that did not get one, because their thread could not be sampled.
    ForceSample {
        browsing_context: BrowsingContextId,
        taken: Sender<usize>,
    },
    /// Calls `measure` with a group.
    Measure { group: GroupId, measure: Measure },
    /// Starts the recording of a group. A recording that is running is ended.
    Record {
        group: GroupId,
        recording: Box<SampledRecordingOptions>,
    },
    /// Ends the recording of a group. When the answer comes, all data of the recording has been reported. The
    /// answer has the same meaning as that of `NewSources`.
    EndRecording {
        group: GroupId,
        ended: Sender<Vec<u32>>,
    },
    /// Asks for the scripts of which a group's recording wants something, except for those in earlier
    /// answers.
    NewSources {
        group: GroupId,
        sources: Sender<Vec<u32>>,
    },
    /// Asks for the status of all groups.
    Status(Sender<Vec<GroupStatus>>),
    /// Ends a session without a trace.
    Discard { group: GroupId, session: SessionId },
    /// Ends the thread. Sent when the last group has left.
    End,
}

/// The status of a group.
pub struct GroupStatus {
    /// The group.
    pub group: GroupId,
    /// Its sessions that have not been stopped.
    pub sessions: Vec<SampledSessionStatus>,
    /// The memory that is allocated for the group, in bytes.
    pub memory: usize,
}

/// The status of a session.
pub struct SampledSessionStatus {
    /// The realm that has started it.
    pub realm: RealmId,
    /// The sample interval.
    pub interval: Duration,
    /// How its samples have gone so far.
    pub counts: SampleCounts,
}

/// A handle of the sampling thread, for those who need it to run. The thread ends when the last reference is
/// dropped.
pub struct SamplingThread {
    sender: Sender<Message>,
    /// `None` once the thread has ended.
    handle: Option<JoinHandle<()>>,
}

/// The lock is held while the thread starts, because everybody who takes it has to wait for the thread anyway.
static SAMPLING_THREAD: Mutex<Weak<SamplingThread>> = Mutex::new(Weak::new());

fn sampling_thread() -> MutexGuard<'static, Weak<SamplingThread>> {
    SAMPLING_THREAD
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

impl SamplingThread {
    /// The thread that is running, if any.
    pub fn current() -> Option<Arc<Self>> {
        sampling_thread().upgrade()
    }

    /// The thread that is running, or else a new one.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub fn get_or_start() -> io::Result<Arc<Self>> {
        let mut current = sampling_thread();
        if let Some(running) = current.upgrade() {
            return Ok(running);
        }
        let started = Arc::new(Self::start()?);
        *current = Arc::downgrade(&started);
        Ok(started)
    }

    fn start() -> io::Result<Self> {
        let (sender, receiver) = crossbeam_channel::unbounded();
        let (ready, when_ready) = crossbeam_channel::bounded(1);
        let handle = thread::Builder::new()
            .name("JsSampler".to_owned())
            .spawn(move || {
                let sampler = Sampler::new(receiver);
                let _ = ready.send(());
                sampler.run();
            })?;
        // Waits until the thread is ready, so that the first tick of the first session is not late. An error
        // means that the thread panicked.
        when_ready
            .recv()
            .map_err(|_| io::Error::other("it panicked while it started"))?;
        Ok(Self {
            sender,
            handle: Some(handle),
        })
    }

    /// Sends a message. If the thread has ended, the message is dropped, and with it the channel for an
    /// answer.
    pub fn send(&self, message: Message) {
        let _ = self.sender.send(message);
        if let Some(handle) = &self.handle {
            handle.thread().unpark();
        }
    }

    /// Sends a message, and waits for the answer. `None` if the thread has ended, or does not know what the
    /// message is about.
    pub fn ask<T>(&self, message: impl FnOnce(Sender<T>) -> Message) -> Option<T> {
        let (answer, when_answered) = crossbeam_channel::bounded(1);
        self.send(message(answer));
        when_answered.recv().ok()
    }
}

impl Drop for SamplingThread {
    fn drop(&mut self) {
        self.send(Message::End);
        if let Some(handle) = self.handle.take() {
            // The thread reports its panics itself.
            let _ = handle.join();
        }
    }
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
/// be walked.
pub fn force_sample(browsing_context: BrowsingContextId) -> Result<(), usize> {
    // Without a sampling thread, or without an answer from it, there are no sessions.
    let failed = SamplingThread::current().and_then(|thread| {
        thread.ask(|taken| Message::ForceSample {
            browsing_context,
            taken,
        })
    });
    match failed {
        None | Some(0) => Ok(()),
        Some(failed) => Err(failed),
    }
}

/// The status of all groups. Event loops that nobody samples are not groups.
pub fn status() -> Vec<GroupStatus> {
    let status = SamplingThread::current().and_then(|thread| thread.ask(Message::Status));
    status.unwrap_or_default()
}

/// The state of the thread itself.
struct Sampler {
    receiver: Receiver<Message>,
    groups: Vec<SampledLoop>,
    ticks: Ticks,
    stacks: StackTaker,
}

impl Sampler {
    fn new(receiver: Receiver<Message>) -> Self {
        stop::wake_promptly();
        Self {
            receiver,
            groups: Vec::new(),
            ticks: Ticks::new(Instant::now(), preferences::base_interval()),
            stacks: StackTaker::new(),
        }
    }

    fn run(mut self) {
        while panic::catch_unwind(AssertUnwindSafe(|| self.serve())).is_err() {
            // The panic itself has been reported.
            self.stacks.buffer = StackBuffer::new();
            for group in &mut self.groups {
                group.fail(&Failure::Panicked);
            }
        }
    }

    /// Handles messages and takes samples, until the thread is to end.
    fn serve(&mut self) {
        loop {
            let wakes = self.groups.iter();
            let wakes = wakes.filter_map(|group| group.next_wake(&self.ticks));
            // The deadline is absolute, so a late sample does not delay the ones after it.
            let message = self.wait(wakes.min().filter(|_| !HAS_ENDED.load(Ordering::Relaxed)));
            match message {
                Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(message) => {
                    // Walks that were requested in advance do not know of this message yet, so they are
                    // collected first.
                    self.groups.iter_mut().for_each(SampledLoop::collect);
                    self.handle(message);
                },
                Err(RecvTimeoutError::Timeout) => self.tick(),
            }
        }
    }

    /// The next message, or a timeout when the deadline has passed.
    ///
    /// Works like `Receiver::recv_deadline()`, but goes to sleep at once. That method polls the channel for a
    /// while first, which at every tick would cost more than the sample.
    fn wait(&self, deadline: Option<Instant>) -> Result<Message, RecvTimeoutError> {
        loop {
            match self.receiver.try_recv() {
                Ok(message) => return Ok(message),
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
        for group in &mut self.groups {
            if HAS_ENDED.load(Ordering::Relaxed) {
                return;
            }
            group.wake(&self.ticks, &mut self.stacks);
        }
    }

    fn group(&mut self, id: GroupId) -> Option<&mut SampledLoop> {
        self.groups.iter_mut().find(|group| group.id == id)
    }

    fn status_of(&self, group: &SampledLoop) -> GroupStatus {
        let mut memory = 0;
        perform_memory_report(|ops| memory = group.size_of(ops));
        let sessions = group.sessions().iter().map(|session| SampledSessionStatus {
            realm: session.realm(),
            interval: self.ticks.duration(session.schedule().interval()),
            counts: session.counts(),
        });
        GroupStatus {
            group: group.id,
            sessions: sessions.collect(),
            memory,
        }
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::End => unreachable!("ends the loop"),
            Message::Join {
                group,
                thread,
                context,
                activity,
                description,
            } => {
                let group = SampledLoop::new(group, thread, context, activity, description);
                self.groups.push(group);
            },
            Message::Leave { group, left } => {
                if let Some(index) = self.groups.iter().position(|other| other.id == group) {
                    self.groups.swap_remove(index).end_recording();
                }
                let _ = left.send(());
            },
            Message::Start {
                group,
                session,
                realm,
                browsing_context,
                options,
                on_end,
                first_sample_taken,
            } => {
                let current_tick = self.ticks.at(Instant::now());
                let interval = self.ticks.in_base_intervals(options.sample_interval);
                let mut groups = self.groups.iter_mut();
                if let Some(group) = groups.find(|known| known.id == group) {
                    let started = SampledSession::new(
                        session,
                        realm,
                        browsing_context,
                        interval,
                        options,
                        on_end,
                        current_tick,
                    );
                    group.add(started);
                    if first_sample_taken.is_some() {
                        group.take_first_sample(session, &mut self.stacks);
                    }
                }
                if let Some(taken) = first_sample_taken {
                    let _ = taken.send(());
                }
            },
            Message::SetPaused {
                group,
                session,
                paused,
            } => {
                let current_tick = self.ticks.at(Instant::now());
                if let Some(session) = self.group(group).and_then(|group| group.session(session)) {
                    session.set_paused(paused, current_tick);
                }
            },
            Message::Stop {
                group,
                session,
                time,
                on_trace,
            } => {
                let id = session;
                if let Some(session) = self.group(group).and_then(|group| group.remove(id)) {
                    debug!("{:?}: {:?}", id, session.counts());
                    on_trace.take(session.finish(time));
                }
            },
            Message::ForceSample {
                browsing_context,
                taken,
            } => {
                let groups = self.groups.iter_mut();
                let failed =
                    groups.map(|group| group.force_sample(browsing_context, &mut self.stacks));
                let _ = taken.send(failed.sum());
            },
            Message::Measure { group, measure } => {
                if let Some(group) = self.group(group) {
                    measure(group);
                }
            },
            Message::Record { group, recording } => {
                let current_tick = self.ticks.at(Instant::now());
                let interval = self.ticks.in_base_intervals(recording.interval);
                if let Some(group) = self.group(group) {
                    group.record(SampledRecording::new(
                        group.id,
                        group.description().clone(),
                        *recording,
                        interval,
                        current_tick,
                    ));
                }
            },
            Message::EndRecording { group, ended } => {
                let group = self.group(group);
                let _ = ended.send(group.map_or_else(Vec::new, SampledLoop::end_recording));
            },
            Message::NewSources { group, sources } => {
                let group = self.group(group);
                let _ = sources.send(group.map_or_else(Vec::new, SampledLoop::take_new_sources));
            },
            Message::Status(answer) => {
                let status = self.groups.iter().map(|group| self.status_of(group));
                let _ = answer.send(status.collect());
            },
            Message::Discard { group, session } => {
                if let Some(group) = self.group(group) {
                    group.remove(session);
                }
            },
        }
    }
}
