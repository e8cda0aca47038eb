/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! An event loop as the sampling thread sees it, which is a profiler group: its thread and JavaScript context, its
//! sessions and its recording, and what is known about its stack.
//!
//! A sample is made once, and given to all sessions and recordings that are due.

use std::iter;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Instant;

use js_profiler_traits::activity::{Activity, SharedActivity};
use js_profiler_traits::recording::MissedReason;
use js_profiler_traits::{GroupId, SessionId};
use log::{debug, warn};
use malloc_size_of_derive::MallocSizeOf;
use servo_base::id::BrowsingContextId;
use smallvec::SmallVec;

use crate::description::SharedDescription;
use crate::failure::Failure;
use crate::function_table::Function;
use crate::last_stack::LastStack;
use crate::outcome::Outcome;
use crate::sample::Found;
use crate::sampled_recording::SampledRecording;
use crate::sampled_session::SampledSession;
use crate::schedule::Schedule;
use crate::spidermonkey::{NativeCode, SampledContext, StackBuffer};
use crate::stop::Thread;
use crate::ticks::{self, Ticks};
use crate::walks::{Audience, FinishedWalk, Look, MAX_TIMED_WALKS, StackTaker, ThreadWalks};

/// A profiler group. See the module's documentation.
#[derive(MallocSizeOf)]
pub struct SampledLoop {
    /// The id of the group.
    pub id: GroupId,
    walks: ThreadWalks,
    #[ignore_malloc_size_of = "The event loop's"]
    description: Arc<SharedDescription>,
    sessions: Vec<SampledSession>,
    recording: Option<SampledRecording>,
    last: LastStack,
}

impl SampledLoop {
    /// A group without sessions. `thread` is `None` if the event loop's thread cannot be stopped.
    pub fn new(
        id: GroupId,
        thread: Option<Thread>,
        context: SampledContext,
        activity: SharedActivity,
        description: Arc<SharedDescription>,
    ) -> Self {
        Self {
            id,
            walks: ThreadWalks::new(id, thread, context, activity),
            description,
            sessions: Vec::new(),
            recording: None,
            last: LastStack::default(),
        }
    }

    /// What the event loop has said about itself.
    pub fn description(&self) -> &Arc<SharedDescription> {
        &self.description
    }

    /// Adds a session.
    pub fn add(&mut self, session: SampledSession) {
        NativeCode::with_new_libraries();
        self.sessions.push(session);
        self.log_interval();
    }

    /// Removes a session, and returns it. `None` if there is none with this id.
    pub fn remove(&mut self, id: SessionId) -> Option<SampledSession> {
        let index = self.sessions.iter().position(|session| session.id == id)?;
        let session = self.sessions.swap_remove(index);
        self.rest();
        self.log_interval();
        Some(session)
    }

    /// Frees what is needed only while there is a session or a recording. Writes the statistics into the log.
    fn rest(&mut self) {
        if !self.sessions.is_empty() || self.recording.is_some() {
            return;
        }
        self.forget_stacks();
        self.walks.rest();
    }

    /// Starts a recording. A recording that is running is ended.
    pub fn record(&mut self, recording: SampledRecording) {
        self.end_recording();
        NativeCode::with_new_libraries();
        self.recording = Some(recording);
    }

    /// Ends the recording, if there is one, and reports its data. Returns the scripts whose texts are wanted,
    /// except for those that were returned before.
    pub fn end_recording(&mut self) -> Vec<u32> {
        let Some(recording) = self.recording.take() else {
            return Vec::new();
        };
        let new_sources = recording.finish(self.last.seen_functions());
        self.rest();
        new_sources
    }

    /// The scripts of the recording whose texts are wanted, except for those that were returned before.
    pub fn take_new_sources(&mut self) -> Vec<u32> {
        let recording = self.recording.as_mut();
        recording.map_or_else(Vec::new, SampledRecording::take_new_sources)
    }

    /// Ends all sessions and the recording, because they cannot go on. Sessions and recordings that are
    /// started later are not affected.
    pub fn fail(&mut self, failure: &Failure) {
        warn!("{:?} is not sampled any more: {failure}", self.id);
        self.walks.forget_failures();
        for session in &mut self.sessions {
            session.fail(failure);
        }
        if let Some(recording) = self.recording.take() {
            recording.fail(self.last.seen_functions(), failure);
        }
        // The sessions that are still listed have ended, so they need no functions any more.
        self.forget_stacks();
    }

    /// Must be called only when nothing refers to the functions any more.
    fn forget_stacks(&mut self) {
        self.last = LastStack::default();
    }

    /// The sessions that have not been stopped.
    pub fn sessions(&self) -> &[SampledSession] {
        &self.sessions
    }

    /// The session with this id.
    pub fn session(&mut self, id: SessionId) -> Option<&mut SampledSession> {
        self.sessions.iter_mut().find(|session| session.id == id)
    }

    fn log_interval(&self) {
        let schedules = self.sessions.iter().map(SampledSession::schedule);
        let intervals = schedules
            .filter(|schedule| schedule.is_running())
            .map(Schedule::interval);
        debug!(
            "{:?}: {} sessions, interval {:?} ticks",
            self.id,
            self.sessions.len(),
            ticks::group_interval(intervals)
        );
    }

    /// The schedules of the sessions and of the recording.
    fn schedules(&self) -> impl Iterator<Item = &Schedule> {
        let sessions = self.sessions.iter().map(SampledSession::schedule);
        sessions.chain(self.recording.as_ref().map(SampledRecording::schedule))
    }

    /// The next tick at which a sample is due.
    fn next_tick(&self) -> Option<u64> {
        self.schedules().filter_map(Schedule::next_tick).min()
    }

    /// The first tick after `tick` at which a sample is due.
    fn next_tick_after(&self, tick: u64) -> Option<u64> {
        let schedules = self.schedules();
        schedules
            .filter_map(|schedule| schedule.next_tick_after(tick))
            .min()
    }

    /// When the sampling thread has to attend to this event loop; `None` if no sample is due.
    pub fn next_wake(&self, ticks: &Ticks) -> Option<Instant> {
        let next_tick = || {
            Some(
                ticks
                    .instant(self.next_tick()?)
                    .max(self.walks.runs_until()),
            )
        };
        self.walks.timed_until().or_else(next_tick)
    }

    /// Takes the samples that are due. Asks for the next ones ahead of time if possible.
    pub fn wake(&mut self, ticks: &Ticks, taker: &mut StackTaker) {
        let now = Instant::now();
        if self.next_wake(ticks).is_none_or(|wake| wake > now) {
            return;
        }
        match self.walks.timed_until() {
            Some(_) => self.collect(),
            None => {
                let why = self.why_late(ticks);
                self.tick(ticks.at(now), taker, why);
            },
        }
        self.ask_for_timed_walks(ticks);
    }

    /// Why samples that were due before now have not been taken, if there are any.
    fn why_late(&self, ticks: &Ticks) -> MissedReason {
        // A shorter time makes no sample miss its tick.
        match self.walks.must_run() >= ticks.duration(NonZeroU32::MIN) {
            true => MissedReason::LongWalks,
            false => MissedReason::SamplerLate,
        }
    }

    /// Takes one sample for all sessions and recordings that are due at `tick`. Samples that were due before it are
    /// missed, for the reason `why_late`.
    fn tick(&mut self, tick: u64, taker: &mut StackTaker, why_late: MissedReason) {
        let mut sessions = self.sessions.iter();
        let any_session_due = sessions.any(|session| session.schedule().is_due_by(tick));
        let stacks_of_recording = self.recording.as_ref().map(SampledRecording::has_stacks);
        if !any_session_due && stacks_of_recording == Some(false) {
            self.take_without_stack(tick, why_late);
            return;
        }
        // The engine's stock mode is on for sessions only, so only then is there anything to compare.
        match self.look(taker, any_session_due) {
            Ok(found) => self.take_at(tick, found, why_late),
            Err(failure) => self.fail(&failure),
        }
    }

    /// Gives what was found at a tick to all sessions and recordings that are due at it.
    fn take_at(&mut self, tick: u64, found: Found, why_late: MissedReason) {
        self.advance(tick, why_late);
        self.hand_out(found, |session| session.schedule().is_due());
        let recording = self.recording.as_mut();
        if let Some(recording) = recording.filter(|recording| recording.schedule().is_due()) {
            let why_missed = match found.outcome {
                Outcome::Missed => self.walks.why_not_stopped(),
                _ => why_late,
            };
            recording.take_sample(&self.last.sample(found), why_missed);
        }
    }

    /// Takes a sample for a recording without stacks. The thread is not stopped for it.
    fn take_without_stack(&mut self, tick: u64, why_late: MissedReason) {
        self.advance(tick, why_late);
        let outcome = match self.walks.is_idle() {
            true => Outcome::Idle,
            // JavaScript is running, and its stack is not known.
            false => Outcome::Unwalkable,
        };
        let sample = self
            .last
            .sample_without_stack(outcome, self.walks.activity());
        if let Some(recording) = &mut self.recording {
            recording.take_sample(&sample, why_late);
        }
    }

    /// Moves on to `tick`. Samples that were due before it are counted as missed.
    fn advance(&mut self, tick: u64, why_late: MissedReason) {
        for session in &mut self.sessions {
            session.advance(tick);
        }
        if let Some(recording) = &mut self.recording {
            recording.advance(tick, why_late);
        }
    }

    /// Asks the thread to do the next walks by itself, if it is busy and likely to stop for them.
    fn ask_for_timed_walks(&mut self, ticks: &Ticks) {
        let due = self.next_due(ticks);
        if due.len() < 2 {
            return;
        }
        let audience = self.audience();
        self.walks.ask(&due, &self.last.known(), &audience);
    }

    /// The next ticks for which timed walks can be asked, and when they are due.
    fn next_due(&self, ticks: &Ticks) -> SmallVec<[(u64, Instant); MAX_TIMED_WALKS]> {
        let Some(horizon) = self.walks.timed_horizon() else {
            return SmallVec::new();
        };
        let now = Instant::now();
        let current = ticks.at(now);
        // A tick that is due already, or before the thread may be stopped again, is for the next wake.
        let is_late = self
            .next_tick()
            .is_none_or(|tick| tick <= current || ticks.instant(tick) < self.walks.runs_until());
        // The samples of a recording without stacks do not need the thread to stop.
        let is_stopped = self
            .recording
            .as_ref()
            .is_none_or(SampledRecording::has_stacks);
        if is_late || !is_stopped {
            return SmallVec::new();
        }
        iter::successors(self.next_tick_after(current), |&tick| {
            self.next_tick_after(tick)
        })
        .map(|tick| (tick, ticks.instant(tick)))
        .take(MAX_TIMED_WALKS)
        .take_while(|(_, due)| *due <= now + horizon)
        .collect()
    }

    /// Takes the samples of the walks that the thread has done by itself. The thread does none of the other walks.
    pub fn collect(&mut self) {
        let Some(mut timed) = self.walks.collect() else {
            return;
        };
        // This is the reason for the walks that have not been done.
        let why_late = self.walks.why_not_stopped();
        for walk in timed.walks() {
            if let Some(finished) = walk.finished {
                let found = self.found(&finished, &mut walk.buffer);
                self.take_at(walk.tick, found, why_late);
            }
        }
        self.walks.put_back(timed);
    }

    /// Takes one sample, independently of ticks, for all running sessions of a browsing context. Returns how
    /// many of these sessions did not get one.
    pub fn force_sample(
        &mut self,
        browsing_context: BrowsingContextId,
        taker: &mut StackTaker,
    ) -> usize {
        self.sample_now(taker, |session| session.is_running_in(browsing_context))
    }

    /// Takes the first sample of a session, independently of ticks. A paused session gets none.
    pub fn take_first_sample(&mut self, session: SessionId, taker: &mut StackTaker) {
        self.sample_now(taker, |known| {
            known.id == session && known.schedule().is_running()
        });
    }

    /// Takes one sample, independently of ticks, for all wanted sessions. Returns how many of these did not
    /// get one.
    fn sample_now(
        &mut self,
        taker: &mut StackTaker,
        is_wanted: impl Fn(&SampledSession) -> bool,
    ) -> usize {
        let wanted = self.sessions.iter().filter(|session| is_wanted(session));
        let wanted = wanted.count();
        if wanted == 0 {
            return 0;
        }
        match self.look(taker, true) {
            Ok(found) => self.hand_out(found, is_wanted),
            Err(failure) => {
                self.fail(&failure);
                wanted
            },
        }
    }

    /// Gives a sample to all wanted sessions. Returns how many of these did not take it.
    fn hand_out(&mut self, found: Found, is_wanted: impl Fn(&SampledSession) -> bool) -> usize {
        let sample = self.last.sample(found);
        let mut without = 0;
        for session in &mut self.sessions {
            if is_wanted(session) && !session.take_sample(&sample) {
                without += 1;
            }
        }
        without
    }

    /// Stops the thread and walks its stack, which becomes the last known stack.
    ///
    /// # Errors
    ///
    /// The thread is given up: too many attempts in a row to stop it have failed.
    fn look(&mut self, taker: &mut StackTaker, is_compared: bool) -> Result<Found, Failure> {
        let audience = self.audience();
        let known = self.last.known();
        match self.walks.look(taker, &known, &audience, is_compared)? {
            Look::Idle => {
                self.last.clear();
                Ok(Found::now(Outcome::Idle, self.walks.activity()))
            },
            Look::Missed => Ok(Found::now(Outcome::Missed, Activity::default())),
            Look::Walked(finished) => Ok(self.found(&finished, &mut taker.buffer)),
        }
    }

    /// Makes the result of a walk the last known stack.
    fn found(&mut self, walk: &FinishedWalk, buffer: &mut StackBuffer) -> Found {
        let made_by_muted = |function: &Function| {
            let muted = self.description.muted_scripts();
            muted.contains(function.realm, &function.resource)
        };
        Found {
            time: walk.time,
            outcome: self.last.take(walk, buffer, made_by_muted),
            activity: walk.activity,
        }
    }

    /// The realms that walks are for.
    fn audience(&self) -> Audience {
        // A comparison is for people who look at the browser itself. It compares all functions.
        let is_for_pages = !self.walks.compares();
        let sessions = self.sessions.iter().filter(|_| is_for_pages);
        let realms: SmallVec<_> = sessions.map(SampledSession::realm).collect();
        Audience {
            everything: self.recording.is_some() || realms.is_empty(),
            realms,
        }
    }
}
