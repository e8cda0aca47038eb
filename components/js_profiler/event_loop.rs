/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The event loop's side of sampling: what a script thread or a worker holds, on its own thread.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use js_profiler_traits::recording::{Description, PageAnswer, Realm};
use js_profiler_traits::{EventLoopId, RealmId, SessionId, Trace};
use log::debug;
use servo_base::cross_process_instant::CrossProcessInstant;
use servo_base::id::BrowsingContextId;

use crate::description::SharedDescription;
use crate::failure::Failure;
use crate::linked_maps::{FetchMap, MapHeaders};
use crate::on_trace::OnTrace;
use crate::options::SessionOptions;
use crate::registry;
use crate::sampled_session::{Ended, SampledSession};
use crate::sampling_thread::Sampler;
use crate::script_sources::{MapLinks, SourceRequest, SourceRequests};
use crate::spidermonkey::EngineContext;

/// The greatest number of sessions that run at once on one event loop.
const MAX_SESSIONS: usize = 100;

/// How long a stopped session waits for its trace.
const LONGEST_WAIT_FOR_TRACE: Duration = Duration::from_secs(10);

/// Why a session could not start.
#[derive(Debug)]
pub enum StartError {
    /// The event loop has as many sessions as may run at once.
    TooManySessions,
    /// The event loop has not entered a realm, or it has ended.
    NoRealm,
    /// The sampling thread could not be started, or this thread could not be prepared for being sampled.
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
            Self::SamplingThread(error) => {
                write!(formatter, "the sampling thread cannot be used: {error}")
            },
        }
    }
}

impl std::error::Error for StartError {}

/// An event loop that can be sampled. It must be dropped after the last script has returned and before its
/// JavaScript context is destroyed.
///
/// An event loop that is never sampled costs nothing: until the first session or recording, only its context
/// and its thread are remembered.
pub struct EventLoop {
    id: EventLoopId,
    engine: EngineContext,
    description: Arc<SharedDescription>,
    map_headers: RefCell<MapHeaders>,
    /// `None` until the event loop can fetch source maps.
    fetch_map: RefCell<Option<Box<FetchMap>>>,
    /// How many sessions have not ended.
    sessions: Rc<Cell<usize>>,
    source_requests: Arc<SourceRequests>,
}

impl EventLoop {
    /// Registers the event loop of the calling thread, to which the context must belong.
    pub fn new(engine: EngineContext) -> Self {
        let source_requests = Arc::new(SourceRequests::default());
        let (id, description) = registry::register(engine.sampled(), source_requests.clone());
        Self {
            id,
            engine,
            description,
            map_headers: RefCell::default(),
            fetch_map: RefCell::new(None),
            sessions: Rc::default(),
            source_requests,
        }
    }

    /// The id of the event loop.
    #[cfg(test)]
    pub fn id(&self) -> EventLoopId {
        self.id
    }

    /// Starts a session that samples the realm which the context is in. Unless the session is paused, its
    /// first sample has been taken when this returns; the function that starts the session is on the stack of
    /// that sample. If the thread cannot be stopped in time, that sample is missed, and if the sampling thread does not answer
    /// in time, the session begins later.
    ///
    /// `browsing_context` is that of the realm's document; [`crate::force_sample`] finds the session by it.
    /// `on_end` is called on the sampling thread when a sample finds the buffer full, or when the session
    /// fails. The session takes no more samples then, and waits to be stopped.
    ///
    /// # Errors
    ///
    /// A [`StartError`] says why no session was started.
    pub fn start(
        &self,
        options: SessionOptions,
        browsing_context: Option<BrowsingContextId>,
        on_end: impl FnOnce(Ended) + Send + 'static,
    ) -> Result<Session, StartError> {
        static NEXT_SESSION: AtomicU64 = AtomicU64::new(1);

        if self.sessions.get() >= MAX_SESSIONS {
            return Err(StartError::TooManySessions);
        }
        let realm = self.engine.current_realm().ok_or(StartError::NoRealm)?;
        let joined = registry::join_for_sessions(self.id);
        let sampling_thread = joined.map_err(StartError::SamplingThread)?;
        self.sessions.set(self.sessions.get() + 1);
        let id = SessionId(NEXT_SESSION.fetch_add(1, Ordering::Relaxed));
        let (event_loop, on_end) = (self.id, Box::new(on_end));
        // Without an answer the sampling thread has ended, of which the session is told in other ways, or it is late. The
        // session begins later then.
        let _ = sampling_thread.ask_briefly(move |sampler| {
            let schedule = sampler.schedule(options.sample_interval, options.is_paused);
            let session =
                SampledSession::new(id, realm, browsing_context, schedule, options, on_end);
            sampler.start(event_loop, session);
        });
        Ok(Session {
            id,
            event_loop,
            sessions: self.sessions.clone(),
            ended: Cell::new(false),
        })
    }

    /// The memory that the sampling thread has allocated for this event loop, in bytes: tables of functions,
    /// sessions with their traces, and a recording. 0 if the sampling thread does not answer in time.
    pub fn memory(&self) -> usize {
        let id = self.id;
        // The event loop may be recorded without having sessions. Nothing is allocated for it unless it has joined
        // the sampling thread.
        let memory = registry::sampling_thread_of(id).and_then(|sampling_thread| {
            sampling_thread
                .ask_briefly(move |sampler| sampler.event_loop(id).map(|one| one.memory()))
        });
        memory.flatten().unwrap_or(0)
    }

    /// The memory of the tables that say which functions are where in this event loop's JIT code, in bytes. The
    /// engine has them whether anybody profiles or not.
    pub fn memory_of_code_tables(&self) -> usize {
        let tables = self.engine.code_tables();
        debug!("{:?}: {tables:?}", self.id);
        tables.ion_size + tables.other_size
    }

    /// Says what the event loop is for. Recordings show it to people.
    pub fn describe(&self, description: Description) {
        self.description
            .change(|described| described.describe(description));
        // It may now be known to be a page's or a worker's event loop. Then the recording may include it.
        registry::record_wanted();
    }

    /// Says which document or worker a realm belongs to. It replaces what was known of this realm, or of an
    /// earlier realm at the same address. Of very many realms the last ones are left out, and of long URLs the ends.
    pub fn describe_realm(&self, id: RealmId, realm: Realm) {
        self.description
            .change(|described| described.describe_realm(id, realm));
    }

    /// Notes how a page was answered. Only the first page of the event loop counts.
    pub fn note_answer(&self, answer: PageAnswer) {
        registry::note_answer(self.id, answer);
    }

    /// Says how another thread wakes this one, so that it calls [`EventLoop::serve_requests`].
    pub fn wake_by(&self, wake: impl Fn() + Send + 'static) {
        self.source_requests.wake_by(wake);
    }

    /// Sets how to fetch the source maps that scripts of this event loop link to. Only recordings need them.
    pub fn fetch_maps_by(&self, fetch: Box<FetchMap>) {
        self.fetch_map.replace(Some(fetch));
    }

    /// Notes the source map that the header of a response links to. The response may be that of a script.
    pub fn note_map_header(&self, url: &str, link: Option<&str>) {
        self.map_headers.borrow_mut().note(url, link);
    }

    /// Does what other threads have asked for. To be called in each iteration of the event loop, while no script
    /// is on the stack. Garbage may be collected.
    pub fn serve_requests(&self) {
        while let Some(request) = self.source_requests.next() {
            self.read_sources(request);
        }
    }

    /// Notes that the realm goes away. Garbage may be collected.
    pub fn forget_realm(&self, id: RealmId) {
        // While the realm's scripts are still there.
        self.report_sources();
        self.description.change(|described| {
            described.realms.remove(&id);
        });
    }

    /// Reports what the recording wants of scripts, except for what was reported before.
    fn report_sources(&self) {
        if let Some(request) = registry::sources_to_read(self.id) {
            self.read_sources(request);
        }
    }

    fn read_sources(&self, request: SourceRequest) {
        let fetch = self.fetch_map.borrow();
        let links = MapLinks {
            headers: &self.map_headers.borrow(),
            description: &self.description,
            fetch: fetch.as_deref(),
        };
        request.answer(&self.engine, &links);
    }
}

impl Drop for EventLoop {
    fn drop(&mut self) {
        self.report_sources();
        registry::unregister(self.id);
        // No new requests come after this.
        self.serve_requests();
        // When `engine` is dropped, nobody uses the context any more.
    }
}

/// A session that a page has started, for one `Profiler` object:
/// <https://wicg.github.io/js-self-profiling/#the-profiler-interface>. Dropping it without calling
/// [`Session::stop`] ends it without a trace.
pub struct Session {
    id: SessionId,
    event_loop: EventLoopId,
    /// How many sessions of the event loop have not ended.
    sessions: Rc<Cell<usize>>,
    ended: Cell<bool>,
}

impl Session {
    /// Sends a request about this session. It is dropped if the event loop has ended.
    fn send(&self, request: impl FnOnce(&mut Sampler) + Send + 'static) {
        if let Some(sampling_thread) = registry::sampling_thread_of(self.event_loop) {
            sampling_thread.send(request);
        }
    }

    /// Pauses the session or lets it go on. A paused session takes no samples, and misses none.
    pub fn set_paused(&self, paused: bool) {
        if self.ended.get() {
            return;
        }
        let (event_loop, id) = (self.event_loop, self.id);
        self.send(move |sampler| sampler.set_paused(event_loop, id, paused));
    }

    /// Notes that the session takes no more samples. Called on the event loop's thread.
    pub fn note_ended(&self) {
        if self.ended.replace(true) {
            return;
        }
        self.sessions.set(self.sessions.get() - 1);
    }

    /// Ends the session. `on_trace` is called exactly once, with the session's trace or with the reason why
    /// there is none: [`Failure::TimedOut`] if it does not come within 10 s. The trace has no sample later than `time`. The
    /// call is made on the sampling thread, unless that is gone or late.
    pub fn stop(
        self,
        time: CrossProcessInstant,
        on_trace: impl FnOnce(Result<Trace, Failure>) + Send + 'static,
    ) {
        let on_trace = OnTrace::within(LONGEST_WAIT_FOR_TRACE, on_trace);
        let (event_loop, id) = (self.event_loop, self.id);
        self.send(move |sampler| sampler.stop(event_loop, id, time, on_trace));
        self.note_ended();
    }

    /// Ends the session, and waits for its trace, as [`Session::stop`] does.
    ///
    /// # Errors
    ///
    /// The reason why there is none.
    pub fn finish(self) -> Result<Trace, Failure> {
        let (sender, trace) = crossbeam_channel::bounded(1);
        self.stop(CrossProcessInstant::now(), move |stopped| {
            // The receiver is here.
            let _ = sender.send(stopped);
        });
        trace.recv().unwrap_or(Err(Failure::Lost))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let (event_loop, id) = (self.event_loop, self.id);
        self.send(move |sampler| sampler.discard(event_loop, id));
        self.note_ended();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::PoisonError;

    use super::*;
    use crate::sampling_thread::tests::Held;
    use crate::spidermonkey::test_context::TestContext;
    use crate::stop::tests::EVENT_LOOPS;

    #[test]
    fn a_page_does_not_wait_for_long_for_a_sampling_thread_that_does_not_answer() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let context = TestContext::new();
        let event_loop = EventLoop::new(context.engine());
        context.with_scripts(|_| {
            let start = || {
                let options = SessionOptions::every(Duration::from_millis(1));
                event_loop.start(options, None, |_| {}).unwrap()
            };
            let first = start();
            let sampling_thread = registry::sampling_thread_of(event_loop.id).unwrap();
            assert_ne!(event_loop.memory(), 0);
            let held = Held::sampling_thread(&sampling_thread);
            let late = start();
            assert_eq!(event_loop.memory(), 0);
            assert_eq!(first.finish(), Err(Failure::TimedOut));
            held.let_go_on();
            // The session that began late is there, and has its first sample.
            sampling_thread.ask(|_| ());
            let trace = late.finish().unwrap();
            assert!(!trace.samples.is_empty());
            assert_ne!(event_loop.memory(), 0);
        });
    }
}
