/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The sampling thread: one per process, which all groups share. It sleeps until the next tick of any
//! session, and while there is no session, until there is one.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use js_profiler_traits::activity::SharedActivity;
use js_profiler_traits::{GroupId, RealmId, SessionId, Trace, preferences};
use log::debug;
use malloc_size_of::MallocSizeOf;
use servo_base::cross_process_instant::CrossProcessInstant;
use servo_base::id::BrowsingContextId;

use crate::event_loop::SessionOptions;
use crate::group::Group;
use crate::session::{OnFull, SampledSession};
use crate::spidermonkey::{SampledContext, StackBuffer};
use crate::suspend::{self, Thread};
use crate::ticks::Ticks;

/// Called with the trace of a stopped session, on the sampling thread.
pub type OnTrace = Box<dyn FnOnce(Trace) + Send>;

/// Called with a group, on the sampling thread.
pub type Measure = Box<dyn FnOnce(&dyn MallocSizeOf) + Send>;

/// What event loops ask of the sampling thread.
pub enum Message {
    Join {
        group: GroupId,
        thread: Thread,
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
        on_full: OnFull,
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
    /// Ends the session without a trace.
    Discard { group: GroupId, session: SessionId },
    /// Ends the thread: the last group has left.
    End,
}

/// The sampling thread, while there are groups.
struct Running {
    sender: Sender<Message>,
    handle: JoinHandle<()>,
    groups: usize,
}

static RUNNING: Mutex<Option<Running>> = Mutex::new(None);

fn running() -> MutexGuard<'static, Option<Running>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
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
    let _ = sender.send(Message::ForceSample {
        browsing_context,
        taken,
    });
    // An error means that the thread has ended, and with it the last session.
    match when_taken.recv() {
        Ok(0) | Err(_) => Ok(()),
        Ok(failed) => Err(failed),
    }
}

/// A group's place at the sampling thread. Leaving, by dropping it, waits until the group's thread is
/// not stopped any more; with the last group the sampling thread ends.
pub struct Membership {
    pub group: GroupId,
    sender: Sender<Message>,
}

impl Membership {
    /// Joins as a new group, with the calling thread; the first one starts the sampling thread.
    pub fn join(context: SampledContext) -> io::Result<Self> {
        static NEXT_GROUP: AtomicU64 = AtomicU64::new(1);
        let thread = Thread::current()?;
        let group = GroupId(NEXT_GROUP.fetch_add(1, Ordering::Relaxed));
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
            // So that the first session's first tick is not late. An error means that the thread
            // has panicked, as every later message will find.
            let _ = when_ready.recv();
            *running = Some(Running {
                sender,
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
            activity: SharedActivity::of_this_thread(),
        });
        Ok(membership)
    }

    pub fn send(&self, message: Message) {
        // If the thread has panicked, its message is in the log, and there is nothing to sample with.
        let _ = self.sender.send(message);
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        let (left, when_left) = crossbeam_channel::bounded(1);
        self.send(Message::Leave {
            group: self.group,
            left,
        });
        // An error means that the thread is gone, and so stops nobody.
        let _ = when_left.recv();
        let mut running = running();
        let Some(thread) = running.as_mut() else {
            return;
        };
        thread.groups -= 1;
        if thread.groups == 0
            && let Some(thread) = running.take()
        {
            self.send(Message::End);
            let _ = thread.handle.join();
        }
    }
}

struct SamplingThread {
    receiver: Receiver<Message>,
    groups: Vec<Group>,
    ticks: Ticks,
    buffer: StackBuffer,
}

impl SamplingThread {
    fn new(receiver: Receiver<Message>) -> Self {
        suspend::wake_promptly();
        Self {
            receiver,
            groups: Vec::new(),
            ticks: Ticks::new(Instant::now(), preferences::base_interval()),
            buffer: StackBuffer::new(),
        }
    }

    fn run(mut self) {
        loop {
            let next_tick = self.groups.iter().filter_map(Group::next_tick).min();
            let message = match next_tick {
                // An absolute deadline: a late sample does not delay the ones after it.
                Some(tick) => self.receiver.recv_deadline(self.ticks.instant(tick)),
                None => self
                    .receiver
                    .recv()
                    .map_err(|_| RecvTimeoutError::Disconnected),
            };
            match message {
                Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(message) => self.handle(message),
                Err(RecvTimeoutError::Timeout) => self.tick(),
            }
        }
    }

    fn tick(&mut self) {
        for group in &mut self.groups {
            let tick = self.ticks.at(Instant::now());
            group.tick(tick, &mut self.buffer);
        }
    }

    fn group(&mut self, id: GroupId) -> Option<&mut Group> {
        self.groups.iter_mut().find(|group| group.id == id)
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
                self.groups.retain(|other| other.id != group);
                let _ = left.send(());
            },
            Message::Start {
                group,
                session,
                realm,
                browsing_context,
                options,
                on_full,
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
                        on_full,
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
                    let trace = session.finish(time);
                    debug!("{:?}: {:?}", id, trace.counts);
                    on_trace(trace);
                }
            },
            Message::ForceSample {
                browsing_context,
                taken,
            } => {
                let groups = self.groups.iter_mut();
                let failed =
                    groups.map(|group| group.force_sample(browsing_context, &mut self.buffer));
                let _ = taken.send(failed.sum());
            },
            Message::Measure { group, measure } => {
                if let Some(group) = self.group(group) {
                    measure(group);
                }
            },
            Message::Discard { group, session } => {
                if let Some(group) = self.group(group) {
                    group.remove(session);
                }
            },
        }
    }
}
