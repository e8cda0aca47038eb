/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The event loop's side: what a script thread or a worker holds, on its own thread.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use js_profiler_traits::recording::{Description, Realm};
use js_profiler_traits::{GroupId, RealmId, SessionId, Trace};
use log::warn;
use malloc_size_of::MallocSizeOf;
use servo_base::cross_process_instant::CrossProcessInstant;
use servo_base::id::BrowsingContextId;

use crate::description::SharedDescription;
use crate::failure::{Failure, OnTrace};
use crate::options::SessionOptions;
use crate::registry;
use crate::sampling_thread::{Message, SamplingThread};
use crate::session::Ended;
use crate::spidermonkey::EngineMode;
use crate::stop::Thread;

/// At most this many sessions run at once on one event loop.
const MAX_SESSIONS: usize = 100;

/// Why a session could not start.
#[derive(Debug)]
pub enum StartError {
    /// As many sessions as may run at once are running.
    TooManySessions,
    /// The event loop is in no realm.
    NoRealm,
    /// The engine has no memory for its profiling mode.
    OutOfMemory,
    /// The sampling thread could not be started, or this thread not be made ready for it.
    SamplingThread(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManySessions => {
                write!(
                    formatter,
                    "{MAX_SESSIONS} sessions are running on this event loop"
                )
            },
            Self::NoRealm => write!(formatter, "the event loop is in no realm"),
            Self::OutOfMemory => write!(formatter, "out of memory"),
            Self::SamplingThread(error) => {
                write!(formatter, "the sampling thread cannot be used: {error}")
            },
        }
    }
}

impl std::error::Error for StartError {}

/// An event loop that can be sampled. It must be dropped before its JavaScript context is destroyed,
/// and after the last script has returned.
///
/// Until the first session or a recording nothing is done but to remember context and thread: an event loop
/// that is never sampled costs nothing.
pub struct EventLoop {
    state: Rc<State>,
    description: Arc<SharedDescription>,
}

struct State {
    group: GroupId,
    /// From the first session on.
    sampling_thread: RefCell<Option<Arc<SamplingThread>>>,
    /// Until the event loop ends: what remains of its sessions then finds nobody.
    mode: RefCell<Option<EngineMode>>,
    /// Sessions that have not ended.
    sessions: Cell<usize>,
    /// Those of them that are not paused: with the last one the engine's profiling mode goes off.
    running: Cell<usize>,
}

impl EventLoop {
    /// The event loop of the calling thread.
    pub fn new(mode: EngineMode) -> Self {
        let (group, description) = registry::register(mode.context());
        Self {
            description,
            state: Rc::new(State {
                group,
                sampling_thread: RefCell::new(None),
                mode: RefCell::new(Some(mode)),
                sessions: Cell::new(0),
                running: Cell::new(0),
            }),
        }
    }

    #[cfg(test)]
    pub fn group(&self) -> GroupId {
        self.state.group
    }

    /// Starts a session that samples the realm which the context is in. Unless it is paused, its first sample is taken
    /// when this returns, and shows whoever has started the session. A thread that cannot be stopped in time misses
    /// that sample.
    ///
    /// [`crate::force_sample`] finds the session by `browsing_context`, the one whose document has the
    /// realm. `on_end` is called, on the sampling thread, when a sample finds the buffer full, and when
    /// the session fails: it takes no more samples then, and waits to be stopped.
    pub fn start(
        &self,
        options: SessionOptions,
        browsing_context: Option<BrowsingContextId>,
        on_end: impl FnOnce(Ended) + Send + 'static,
    ) -> Result<Session, StartError> {
        static NEXT_SESSION: AtomicU64 = AtomicU64::new(1);

        let state = &self.state;
        if state.sessions.get() >= MAX_SESSIONS {
            return Err(StartError::TooManySessions);
        }
        let mut mode = state.mode.borrow_mut();
        let mode = mode.as_mut().ok_or(StartError::NoRealm)?;
        let realm = mode.current_realm().ok_or(StartError::NoRealm)?;
        // Also for a later session: it is the process', and others may have changed it.
        Thread::prepare().map_err(StartError::SamplingThread)?;
        if state.sampling_thread.borrow().is_none() {
            let joined = registry::join_for_sessions(state.group);
            let sampling_thread = joined.map_err(StartError::SamplingThread)?;
            state.sampling_thread.replace(Some(sampling_thread));
        }
        if !options.is_paused {
            if !mode.set_enabled(true) {
                return Err(StartError::OutOfMemory);
            }
            state.running.set(state.running.get() + 1);
        }
        state.sessions.set(state.sessions.get() + 1);
        let id = SessionId(NEXT_SESSION.fetch_add(1, Ordering::Relaxed));
        let (taken, when_taken) = crossbeam_channel::bounded(1);
        state.send(|group| Message::Start {
            group,
            session: id,
            realm,
            browsing_context,
            options,
            on_end: Box::new(on_end),
            first_sample_taken: Some(taken),
        });
        // An error means that nobody samples, which the session hears of elsewhere.
        let _ = when_taken.recv();
        Ok(Session {
            id,
            state: state.clone(),
            ended: Cell::new(false),
            paused: Cell::new(options.is_paused),
        })
    }
}

impl EventLoop {
    /// Measures what the sampling thread has allocated for this event loop: tables of functions, and
    /// sessions with their traces, and a recording. `measure` is called on the sampling thread. In bytes.
    pub fn measure(
        &self,
        measure: impl FnOnce(&dyn MallocSizeOf) -> usize + Send + 'static,
    ) -> usize {
        let group = self.state.group;
        // It may be recorded and have no sessions. If it is no group nothing is allocated.
        let measured = registry::sampling_thread_of(group).and_then(|sampling_thread| {
            sampling_thread.ask(|measured| Message::Measure {
                group,
                measure: Box::new(move |group| {
                    let _ = measured.send(measure(group));
                }),
            })
        });
        measured.unwrap_or(0)
    }
}

impl EventLoop {
    /// Says what the event loop is there for.
    pub fn describe(&self, description: Description) {
        registry::describe(&self.description, |described| {
            described.event_loop = description;
        });
    }

    /// Says whose a realm is. What was said of it before, or of one that was at its place, is forgotten.
    pub fn describe_realm(&self, id: RealmId, realm: Realm) {
        self.description.change(|described| {
            described.realms.insert(id, realm);
        });
    }

    /// A script whose errors are muted is about to run in a realm.
    pub fn add_muted_script(&self, realm: RealmId, url: &str) {
        self.description.muted_scripts().add(realm, url);
    }

    /// The realm goes away.
    pub fn forget_realm(&self, id: RealmId) {
        self.description.muted_scripts().forget_realm(id);
        self.description.change(|described| {
            described.realms.remove(&id);
        });
    }
}

impl Drop for EventLoop {
    fn drop(&mut self) {
        // In this order: the thread is not sampled any more when the engine's mode goes.
        registry::unregister(self.state.group);
        self.state.sampling_thread.take();
        self.state.mode.take();
    }
}

impl State {
    fn send(&self, message: impl FnOnce(GroupId) -> Message) {
        if let Some(sampling_thread) = &*self.sampling_thread.borrow() {
            sampling_thread.send(message(self.group));
        }
    }

    fn add_running(&self) {
        let running = self.running.get() + 1;
        self.running.set(running);
        if running == 1 {
            self.set_mode_enabled(true);
        }
    }

    fn remove_running(&self) {
        let running = self.running.get() - 1;
        self.running.set(running);
        if running == 0 {
            self.set_mode_enabled(false);
        }
    }

    fn set_mode_enabled(&self, enabled: bool) {
        if let Some(mode) = &mut *self.mode.borrow_mut()
            && !mode.set_enabled(enabled)
        {
            warn!("The engine has no memory for its profiling mode; samples will have no stacks.");
        }
    }
}

/// A session. Dropping it without [`Session::stop`] ends it without a trace.
pub struct Session {
    id: SessionId,
    state: Rc<State>,
    ended: Cell<bool>,
    paused: Cell<bool>,
}

impl Session {
    /// A paused session takes no samples, and misses none.
    pub fn set_paused(&self, paused: bool) {
        if self.ended.get() || self.paused.replace(paused) == paused {
            return;
        }
        if paused {
            self.state.remove_running();
        } else {
            self.state.add_running();
        }
        self.state.send(|group| Message::SetPaused {
            group,
            session: self.id,
            paused,
        });
    }

    /// Takes note, on the event loop's thread, that the session takes no more samples.
    pub fn note_ended(&self) {
        if self.ended.replace(true) {
            return;
        }
        let state = &self.state;
        state.sessions.set(state.sessions.get() - 1);
        if !self.paused.get() {
            state.remove_running();
        }
    }

    /// Ends the session. Its trace, with no sample later than `time`, or why there is none is given to
    /// `on_trace`, which is called in any case; on the sampling thread, as far as that is there.
    pub fn stop(
        self,
        time: CrossProcessInstant,
        on_trace: impl FnOnce(Result<Trace, Failure>) + Send + 'static,
    ) {
        let on_trace = OnTrace::new(on_trace);
        self.state.send(|group| Message::Stop {
            group,
            session: self.id,
            time,
            on_trace,
        });
        self.note_ended();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.state.send(|group| Message::Discard {
            group,
            session: self.id,
        });
        self.note_ended();
    }
}
