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
use std::sync::{Mutex, MutexGuard, PoisonError};
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

use crate::failure::{Failure, OnTrace};
use crate::group::Group;
use crate::options::SessionOptions;
use crate::recording::{GroupRecording, GroupRecordingOptions};
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
    },
    /// When the answer comes, the group's thread is never stopped again.
    Leave { group: GroupId, left: Sender<()> },
    Start {
        group: GroupId,
        session: SessionId,
        realm: RealmId,
        browsing_context: Option<BrowsingContextId>,
        /// The interval is a multiple of the base interval.
        options: SessionOptions,
        on_end: OnEnd,
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
    /// A sample of a session that has just begun, while its thread waits for `taken`.
    FirstSample {
        group: GroupId,
        session: SessionId,
        taken: Sender<()>,
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
        recording: Box<GroupRecordingOptions>,
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

/// Sends to the sampling thread, and wakes it.
#[derive(Clone)]
pub struct MessageSender {
    sender: Sender<Message>,
    thread: thread::Thread,
}

impl MessageSender {
    /// If the thread has ended the message is dropped, and with it what an answer would come by.
    pub fn send(&self, message: Message) {
        let _ = self.sender.send(message);
        self.thread.unpark();
    }
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

/// The sampling thread, while there are groups.
struct Running {
    sender: MessageSender,
    handle: JoinHandle<()>,
    groups: usize,
}

static RUNNING: Mutex<Option<Running>> = Mutex::new(None);

fn running() -> MutexGuard<'static, Option<Running>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
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
    let Some(sender) = running().as_ref().map(|thread| thread.sender.clone()) else {
        // Without a sampling thread there is no session.
        return Ok(());
    };
    let (taken, when_taken) = crossbeam_channel::bounded(1);
    sender.send(Message::ForceSample {
        browsing_context,
        taken,
    });
    // An error means that the thread has ended, and with it the last session.
    match when_taken.recv() {
        Ok(0) | Err(_) => Ok(()),
        Ok(failed) => Err(failed),
    }
}

/// Asks how all groups are. Those that nobody samples are not among them.
pub fn status() -> Vec<GroupStatus> {
    let Some(sender) = running().as_ref().map(|thread| thread.sender.clone()) else {
        return Vec::new();
    };
    let (answer, when_answered) = crossbeam_channel::bounded(1);
    sender.send(Message::Status(answer));
    // An error means that the thread has ended, and with it the last group.
    when_answered.recv().unwrap_or_default()
}

#[cfg(test)]
pub fn is_running() -> bool {
    running().is_some()
}

/// A group's place at the sampling thread. With the last group the sampling thread ends.
pub struct Membership {
    pub group: GroupId,
    sender: MessageSender,
}

/// Waits, when it is dropped, until the group's thread is not stopped any more.
#[must_use = "leaving is waited for when this is dropped"]
pub struct Leaving {
    sender: MessageSender,
    when_left: Receiver<()>,
    is_member: bool,
}

impl Membership {
    /// Joins as a new group; the first one starts the sampling thread.
    pub fn join(
        group: GroupId,
        thread: Option<Thread>,
        context: SampledContext,
        activity: SharedActivity,
    ) -> io::Result<Self> {
        Thread::prepare()?;
        let mut running = running();
        if running.is_none() {
            let (sender, receiver) = crossbeam_channel::unbounded();
            let (ready, when_ready) = crossbeam_channel::bounded(1);
            let handle = thread::Builder::new()
                .name("JsSampler".to_owned())
                .spawn(move || {
                    let sampling_thread = SamplingThread::new(receiver);
                    let _ = ready.send(());
                    sampling_thread.run();
                })?;
            // So that the first session's first tick is not late. An error means that it has panicked.
            if when_ready.recv().is_err() {
                return Err(io::Error::other("it panicked when it began"));
            }
            let thread = handle.thread().clone();
            *running = Some(Running {
                sender: MessageSender { sender, thread },
                handle,
                groups: 0,
            });
        }
        let running = running.as_mut().expect("was just made");
        running.groups += 1;
        let membership = Self {
            group,
            sender: running.sender.clone(),
        };
        membership.send(Message::Join {
            group,
            thread,
            context,
            activity,
        });
        Ok(membership)
    }

    pub fn sender(&self) -> &MessageSender {
        &self.sender
    }

    pub fn send(&self, message: Message) {
        // While there are members the thread is there.
        self.sender.send(message);
    }

    /// What is sent after this finds the group gone.
    pub fn leave(self) -> Leaving {
        Leaving {
            when_left: leave(self.group, &self.sender),
            sender: self.sender,
            is_member: true,
        }
    }
}

/// Waits until a group is gone that is on its way out, if it still is.
pub fn leave_again(group: GroupId) -> Option<Leaving> {
    let sender = running().as_ref().map(|thread| thread.sender.clone())?;
    Some(Leaving {
        when_left: leave(group, &sender),
        sender,
        is_member: false,
    })
}

fn leave(group: GroupId, sender: &MessageSender) -> Receiver<()> {
    let (left, when_left) = crossbeam_channel::bounded(1);
    sender.send(Message::Leave { group, left });
    when_left
}

impl Drop for Leaving {
    fn drop(&mut self) {
        // An error means that the thread is gone, and so stops nobody.
        let _ = self.when_left.recv();
        if !self.is_member {
            return;
        }
        let mut running = running();
        let Some(thread) = running.as_mut() else {
            return;
        };
        thread.groups -= 1;
        if thread.groups == 0
            && let Some(thread) = running.take()
        {
            self.sender.send(Message::End);
            let _ = thread.handle.join();
        }
    }
}

struct SamplingThread {
    receiver: Receiver<Message>,
    groups: Vec<Group>,
    ticks: Ticks,
    stacks: StackTaker,
}

impl SamplingThread {
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
                    self.groups.iter_mut().for_each(Group::collect);
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

    fn group(&mut self, id: GroupId) -> Option<&mut Group> {
        self.groups.iter_mut().find(|group| group.id == id)
    }

    fn status_of(&self, group: &Group) -> GroupStatus {
        let mut memory = 0;
        perform_memory_report(|ops| memory = group.size_of(ops));
        let sessions = group.sessions().iter().map(|session| SampledSessionStatus {
            realm: session.realm(),
            interval: self.ticks.duration(session.sample_interval()),
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
            } => self
                .groups
                .push(Group::new(group, thread, context, activity)),
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
            } => {
                let current_tick = self.ticks.at(Instant::now());
                let interval = self.ticks.in_base_intervals(options.sample_interval);
                if let Some(group) = self.group(group) {
                    group.add(SampledSession::new(
                        session,
                        realm,
                        browsing_context,
                        interval,
                        options,
                        on_end,
                        current_tick,
                    ));
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
            Message::FirstSample {
                group,
                session,
                taken,
            } => {
                let mut groups = self.groups.iter_mut();
                if let Some(group) = groups.find(|known| known.id == group) {
                    group.take_first_sample(session, &mut self.stacks);
                }
                let _ = taken.send(());
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
                    group.record(GroupRecording::new(
                        group.id,
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
