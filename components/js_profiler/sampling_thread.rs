/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The sampling thread: one per process, which all groups share. It sleeps until the next tick of any
//! session or recording, and while there is none, until there is one.
//!
//! It outlives a panic: sessions and recordings fail, which their owners are told, and those that are started
//! later begin with nothing of what there was. That is sound, because all it has is its own: the thread
//! that was stopped runs on (`stop/linux.rs`), and what a group has for good, its thread and its
//! context, is never changed.

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
use crate::recording::{SampledRecording, SampledRecordingOptions};
use crate::sampled_loop::SampledLoop;
use crate::session::{OnEnd, SampledSession};
use crate::spidermonkey::{SampledContext, StackBuffer};
use crate::stop::{self, Thread};
use crate::ticks::Ticks;
use crate::walked::StackTaker;

/// Called with a group, on the sampling thread.
pub type Measure = Box<dyn FnOnce(&dyn MallocSizeOf) + Send>;

/// What event loops ask of the sampling thread.
pub enum Message {
    Join {
        group: GroupId,
        /// None if it cannot be stopped.
        thread: Option<Thread>,
        context: SampledContext,
        activity: SharedActivity,
        description: Arc<SharedDescription>,
    },
    /// When the answer comes, the group's thread is never stopped again.
    Leave { group: GroupId, left: Sender<()> },
    /// Starts a session, and takes its first sample if the event loop's thread waits for that.
    Start {
        group: GroupId,
        session: SessionId,
        realm: RealmId,
        browsing_context: Option<BrowsingContextId>,
        /// The interval is a multiple of the base interval.
        options: SessionOptions,
        on_end: OnEnd,
        first_sample_taken: Option<Sender<()>>,
    },
    SetPaused {
        group: GroupId,
        session: SessionId,
        paused: bool,
    },
    Stop {
        group: GroupId,
        session: SessionId,
        time: CrossProcessInstant,
        on_trace: OnTrace,
    },
    /// Takes a sample between ticks for every running session of a browsing context. The answer is how
    /// many of these sessions have none, because their thread could not be sampled.
    ForceSample {
        browsing_context: BrowsingContextId,
        taken: Sender<usize>,
    },
    /// Measures the memory of a group.
    Measure { group: GroupId, measure: Measure },
    /// Begins the recording of a group.
    Record {
        group: GroupId,
        recording: Box<SampledRecordingOptions>,
    },
    /// When the answer comes, all that the group's recording has is reported.
    EndRecording { group: GroupId, ended: Sender<()> },
    /// Asks how all groups are.
    Status(Sender<Vec<GroupStatus>>),
    /// Ends the session without a trace.
    Discard { group: GroupId, session: SessionId },
    /// Ends the thread: the last group has left.
    End,
}

/// How a group is.
pub struct GroupStatus {
    pub group: GroupId,
    pub sessions: Vec<SampledSessionStatus>,
    /// In bytes.
    pub memory: usize,
}

pub struct SampledSessionStatus {
    pub realm: RealmId,
    pub interval: Duration,
    pub counts: SampleCounts,
}

/// The sampling thread, as those have it who want something of it. It ends when the last of them lets go of it.
pub struct SamplingThread {
    sender: Sender<Message>,
    /// None when it has ended.
    handle: Option<JoinHandle<()>>,
}

/// The lock is held while the thread starts: whoever wants it waits for that in any case.
static SAMPLING_THREAD: Mutex<Weak<SamplingThread>> = Mutex::new(Weak::new());

fn sampling_thread() -> MutexGuard<'static, Weak<SamplingThread>> {
    SAMPLING_THREAD
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

impl SamplingThread {
    /// The one that runs, if any.
    pub fn current() -> Option<Arc<Self>> {
        sampling_thread().upgrade()
    }

    /// The one that runs, or a new one.
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
        // So that the first session's first tick is not late. An error means that it has panicked.
        when_ready
            .recv()
            .map_err(|_| io::Error::other("it panicked when it began"))?;
        Ok(Self {
            sender,
            handle: Some(handle),
        })
    }

    /// If the thread has ended the message is dropped, and with it what an answer would come by.
    pub fn send(&self, message: Message) {
        let _ = self.sender.send(message);
        if let Some(handle) = &self.handle {
            handle.thread().unpark();
        }
    }

    /// Asks for something, and waits for the answer. None if the thread has ended, or knows nothing of what is asked.
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
            // It reports its panics itself.
            let _ = handle.join();
        }
    }
}

/// Whether the browser ends, so that nobody waits for samples.
static HAS_ENDED: AtomicBool = AtomicBool::new(false);

/// No thread is stopped for samples from now on. Otherwise threads that end would have to wait for the samples of those
/// that are busy, each in its turn. Sessions and recordings keep what they have.
pub fn end_sampling() {
    HAS_ENDED.store(true, Ordering::Relaxed);
}

/// Takes a sample, at once and whatever their intervals say, for every running session that was started
/// for `browsing_context` in this process, and returns when it is taken. For the Force Sample command:
/// <https://wicg.github.io/js-self-profiling/#force-sample>.
///
/// It may be called from any thread. The thread that is sampled need not answer: it may be running
/// JavaScript, and that is what the sample shows. The error is the number of sessions that have no
/// sample: their thread did not stop, or its stack could not be walked.
pub fn force_sample(browsing_context: BrowsingContextId) -> Result<(), usize> {
    // Without a sampling thread there is no session, nor without an answer.
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

/// Asks how all groups are. Those that nobody samples are not among them.
pub fn status() -> Vec<GroupStatus> {
    let status = SamplingThread::current().and_then(|thread| thread.ask(Message::Status));
    status.unwrap_or_default()
}

/// What the thread itself has.
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

    /// Does what is asked and due, until the thread is to end.
    fn serve(&mut self) {
        loop {
            let wakes = self.groups.iter();
            let wakes = wakes.filter_map(|group| group.next_wake(&self.ticks));
            // An absolute deadline: a late sample does not delay the ones after it.
            let message = self.wait(wakes.min().filter(|_| !HAS_ENDED.load(Ordering::Relaxed)));
            match message {
                Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(message) => {
                    // What was asked for ahead was asked for as it was before.
                    self.groups.iter_mut().for_each(SampledLoop::collect);
                    self.handle(message);
                },
                Err(RecvTimeoutError::Timeout) => self.tick(),
            }
        }
    }

    /// The next message, or that the deadline has passed.
    ///
    /// As `Receiver::recv_deadline()` but at once asleep: that one looks again and again for a while first,
    /// which at every tick costs more than the sample.
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
                if let Some(group) = self.group(group) {
                    group.end_recording();
                }
                let _ = ended.send(());
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
