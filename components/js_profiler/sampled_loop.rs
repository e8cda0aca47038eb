/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! An event loop as the sampling thread has it, a profiler group: its thread and JavaScript context, its sessions and
//! its recording, and what is known of its stack.
//!
//! Whichever way a sample comes about, it is made once and given to all who are due.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::iter;
use std::sync::Arc;
use std::time::Instant;

use js_profiler_traits::activity::{Activity, SharedActivity};
use js_profiler_traits::{GroupId, SessionId};
use log::{debug, warn};
use malloc_size_of_derive::MallocSizeOf;
use servo_base::id::BrowsingContextId;
use smallvec::SmallVec;

use crate::ahead::{Ahead, HORIZON, MAX_AHEAD, WalkAhead};
use crate::comparison::Comparison;
use crate::description::SharedDescription;
use crate::failure::Failure;
use crate::function_table::Function;
use crate::last_stack::LastStack;
use crate::outcome::Outcome;
use crate::recording::SampledRecording;
use crate::sample::Found;
use crate::schedule::Schedule;
use crate::session::SampledSession;
use crate::spidermonkey::{KnownFunctions, NativeCode, SampledContext, StackBuffer, Walk};
use crate::stop::Thread;
use crate::stop_times::StopTimes;
use crate::ticks::{self, Ticks};
use crate::walked::{Audience, StackTaker, ToWalk, Walked};

/// After so many attempts in a row to stop the thread it is given up. One that is starved of its processor
/// or waits in the kernel stops sooner: the attempts take 10 seconds, unless the signal is refused.
const MAX_FAILED_STOPS: u32 = 200;

#[derive(MallocSizeOf)]
pub struct SampledLoop {
    pub id: GroupId,
    /// None if it cannot be stopped.
    #[ignore_malloc_size_of = "Holds nothing"]
    thread: Option<Thread>,
    #[ignore_malloc_size_of = "Holds nothing"]
    context: SampledContext,
    #[ignore_malloc_size_of = "One word"]
    activity: SharedActivity,
    #[ignore_malloc_size_of = "The event loop's"]
    description: Arc<SharedDescription>,
    sessions: Vec<SampledSession>,
    recording: Option<SampledRecording>,
    last: LastStack,
    /// How many attempts to stop the thread have failed since the last one that did not.
    failed_stops: u32,
    /// Whether the thread stopped when it last should.
    stops_in_time: bool,
    /// The next walks, which the thread does by itself.
    ahead: Option<Ahead>,
    /// Whether nothing can be asked for ahead.
    is_never_ahead: bool,
    /// How many walks were done by the thread itself. For the log.
    walks_ahead: u64,
    /// For how long the thread stood still for each sample.
    stops: StopTimes,
    /// If each stack is walked both ways.
    #[ignore_malloc_size_of = "For tests"]
    comparison: Option<Comparison>,
    /// Why stacks could not be walked, and how often. For the log.
    #[ignore_malloc_size_of = "A few numbers"]
    unwalkable: BTreeMap<&'static CStr, u64>,
}

impl SampledLoop {
    pub fn new(
        id: GroupId,
        thread: Option<Thread>,
        context: SampledContext,
        activity: SharedActivity,
        description: Arc<SharedDescription>,
    ) -> Self {
        Self {
            id,
            thread,
            activity,
            description,
            sessions: Vec::new(),
            recording: None,
            last: LastStack::default(),
            failed_stops: 0,
            stops_in_time: false,
            ahead: None,
            is_never_ahead: false,
            walks_ahead: 0,
            stops: StopTimes::new(),
            comparison: Comparison::wanted(&context),
            context,
            unwalkable: BTreeMap::new(),
        }
    }

    pub fn description(&self) -> &Arc<SharedDescription> {
        &self.description
    }

    pub fn add(&mut self, session: SampledSession) {
        NativeCode::with_new_libraries();
        self.sessions.push(session);
        self.log_interval();
    }

    pub fn remove(&mut self, id: SessionId) -> Option<SampledSession> {
        let index = self.sessions.iter().position(|session| session.id == id)?;
        let session = self.sessions.swap_remove(index);
        self.rest();
        self.log_interval();
        Some(session)
    }

    /// Forgets what is of no use until there is a session or a recording again.
    fn rest(&mut self) {
        if !self.sessions.is_empty() || self.recording.is_some() {
            return;
        }
        self.forget_stacks();
        self.ahead = None;
        self.is_never_ahead = false;
        if self.walks_ahead != 0 {
            debug!(
                "{:?}: {} walks were asked for ahead",
                self.id, self.walks_ahead
            );
            self.walks_ahead = 0;
        }
        if !self.unwalkable.is_empty() {
            debug!("{:?}: unwalkable: {:?}", self.id, self.unwalkable);
            self.unwalkable.clear();
        }
        self.stops.log_and_clear(self.id);
        if let Some(comparison) = &mut self.comparison {
            debug!("{:?}: compared: {:?}", self.id, comparison.take());
        }
    }

    /// Begins a recording. One that goes on ends.
    pub fn record(&mut self, recording: SampledRecording) {
        self.end_recording();
        NativeCode::with_new_libraries();
        self.recording = Some(recording);
    }

    /// What the recording has is reported.
    pub fn end_recording(&mut self) {
        if let Some(recording) = self.recording.take() {
            recording.finish(self.last.seen_functions());
            self.rest();
        }
    }

    /// Ends all sessions and the recording, because they cannot go on. Those that are started later begin
    /// with nothing of what there was.
    pub fn fail(&mut self, failure: &Failure) {
        warn!("{:?} is not sampled any more: {failure}", self.id);
        self.failed_stops = 0;
        self.stops_in_time = false;
        self.ahead = None;
        for session in &mut self.sessions {
            session.fail(failure);
        }
        if let Some(recording) = self.recording.take() {
            recording.fail(self.last.seen_functions(), failure);
        }
        // Sessions that are still here have ended.
        self.forget_stacks();
    }

    /// Must be called only when nobody refers to the functions any more.
    fn forget_stacks(&mut self) {
        self.last = LastStack::default();
    }

    pub fn sessions(&self) -> &[SampledSession] {
        &self.sessions
    }

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

    /// Of all who are to have samples.
    fn schedules(&self) -> impl Iterator<Item = &Schedule> {
        let sessions = self.sessions.iter().map(SampledSession::schedule);
        sessions.chain(self.recording.as_ref().map(SampledRecording::schedule))
    }

    /// The next tick at which anybody is due.
    fn next_tick(&self) -> Option<u64> {
        self.schedules().filter_map(Schedule::next_tick).min()
    }

    /// The first tick after another at which anybody is due.
    fn next_tick_after(&self, tick: u64) -> Option<u64> {
        let schedules = self.schedules();
        schedules
            .filter_map(|schedule| schedule.next_tick_after(tick))
            .min()
    }

    /// When the sampling thread is to see to this event loop.
    pub fn next_wake(&self, ticks: &Ticks) -> Option<Instant> {
        let next_tick = || {
            Some(
                ticks
                    .instant(self.next_tick()?)
                    .max(self.stops.runs_until()),
            )
        };
        self.asked_until().or_else(next_tick)
    }

    /// When the walks that are asked for ahead are to be collected; none if there are none.
    fn asked_until(&self) -> Option<Instant> {
        self.ahead.as_ref().and_then(Ahead::until)
    }

    /// Takes the samples that are due, and asks for the next ones if that can be done ahead.
    pub fn wake(&mut self, ticks: &Ticks, taker: &mut StackTaker) {
        let now = Instant::now();
        if self.next_wake(ticks).is_none_or(|wake| wake > now) {
            return;
        }
        match self.asked_until() {
            Some(_) => self.collect(),
            None => self.tick(ticks.at(now), taker),
        }
        self.ask_ahead(ticks);
    }

    /// Takes one sample for all who are due at `tick`.
    fn tick(&mut self, tick: u64, taker: &mut StackTaker) {
        let mut sessions = self.sessions.iter();
        let any_session_due = sessions.any(|session| session.schedule().is_due_by(tick));
        let stacks_of_recording = self.recording.as_ref().map(SampledRecording::has_stacks);
        if !any_session_due && stacks_of_recording == Some(false) {
            self.take_without_stack(tick);
            return;
        }
        // The engine is in its stock mode for sessions alone.
        match self.look(taker, any_session_due) {
            Ok(found) => self.take_at(tick, found),
            Err(failure) => self.fail(&failure),
        }
    }

    /// Gives what was found at a tick to all who are due there.
    fn take_at(&mut self, tick: u64, found: Found) {
        self.advance(tick);
        self.hand_out(found, |session| session.schedule().is_due());
        let recording = self.recording.as_mut();
        if let Some(recording) = recording.filter(|recording| recording.schedule().is_due()) {
            recording.take_sample(&self.last.sample(found));
        }
    }

    /// For a recording without stacks nobody is stopped.
    fn take_without_stack(&mut self, tick: u64) {
        self.advance(tick);
        let outcome = match self.context.is_idle() {
            true => Outcome::Idle,
            // JavaScript is running; nothing is known of its stack.
            false => Outcome::Unwalkable,
        };
        let sample = self.last.sample_without_stack(outcome, self.activity.get());
        if let Some(recording) = &mut self.recording {
            recording.take_sample(&sample);
        }
    }

    /// Moves on to a tick. What was due before it is missed.
    fn advance(&mut self, tick: u64) {
        for session in &mut self.sessions {
            session.advance(tick);
        }
        if let Some(recording) = &mut self.recording {
            recording.advance(tick);
        }
    }

    /// Has the thread do the next walks by itself, if it is busy and will stop for them.
    fn ask_ahead(&mut self, ticks: &Ticks) {
        let Some(thread) = self.thread.filter(|_| {
            self.stops_in_time
                && !self.is_never_ahead
                && self.comparison.is_none()
                && !self.context.is_idle()
        }) else {
            return;
        };
        let due = self.next_due(ticks);
        // Walks that are asked for ahead know no natives that are defined meanwhile.
        if due.len() < 2 || NativeCode::current().is_new() {
            return;
        }
        let ahead = match self.ahead.take() {
            Some(ahead) => Ok(ahead),
            None => Ahead::new(thread, self.context.clone(), self.activity.clone()),
        };
        let mut ahead = match ahead {
            Ok(ahead) => ahead,
            Err(error) => {
                debug!("{:?}: nothing is asked for ahead: {error}", self.id);
                self.is_never_ahead = true;
                return;
            },
        };
        let known = self.last.known().clone();
        if let Err(error) = ahead.ask(&due, known, self.last.places(), &self.audience()) {
            // Whatever is wrong, who stops the thread at the next tick finds out.
            debug!("{:?}: nothing is asked for ahead: {error}", self.id);
            self.stops_in_time = false;
        }
        self.ahead = Some(ahead);
    }

    /// The next ticks, and when they are due, as far as walks can be asked for ahead.
    fn next_due(&self, ticks: &Ticks) -> SmallVec<[(u64, Instant); MAX_AHEAD]> {
        let now = Instant::now();
        let current = ticks.at(now);
        // What is due already, or before the thread may be stopped again, is for the next wake.
        let is_late = self
            .next_tick()
            .is_none_or(|tick| tick <= current || ticks.instant(tick) < self.stops.runs_until());
        // For the samples of a recording without stacks nobody is stopped.
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
        .take(MAX_AHEAD)
        .take_while(|(_, due)| *due <= now + HORIZON)
        .collect()
    }

    /// Takes the samples of the walks that the thread has done by itself. It does no more of them.
    pub fn collect(&mut self) {
        let Some(mut ahead) = self.ahead.take() else {
            return;
        };
        if ahead.until().is_some() {
            let walks = ahead.collect();
            // The others come late. What is due for them is taken or missed at the next tick.
            self.stops_in_time = !walks.iter().any(WalkAhead::is_late);
            for walk in walks {
                if let Some(walked) = &walk.walked {
                    self.walks_ahead += 1;
                    let found = self.found(walked, &mut walk.buffer);
                    self.take_at(walk.tick, found);
                }
            }
        }
        self.ahead = Some(ahead);
    }

    /// Takes one sample, between ticks, for all running sessions of a browsing context. Returns how many
    /// of them have none.
    pub fn force_sample(
        &mut self,
        browsing_context: BrowsingContextId,
        taker: &mut StackTaker,
    ) -> usize {
        self.sample_now(taker, |session| session.is_running_in(browsing_context))
    }

    /// Takes the first sample of a session, between ticks, unless it is paused.
    pub fn take_first_sample(&mut self, session: SessionId, taker: &mut StackTaker) {
        self.sample_now(taker, |known| {
            known.id == session && known.schedule().is_running()
        });
    }

    /// Takes one sample, between ticks, for all sessions that are wanted. Returns how many of them have none.
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

    /// Gives a sample to all sessions that are wanted. Returns how many of them have none.
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

    /// Stops the thread and walks its stack; the last stack is then what is known of it. The error is that
    /// the thread is given up.
    fn look(&mut self, taker: &mut StackTaker, is_compared: bool) -> Result<Found, Failure> {
        // A thread that runs no JavaScript need not be stopped to know that.
        if self.context.is_idle() {
            self.last.clear();
            return Ok(Found::now(Outcome::Idle, self.activity.get()));
        }
        let missed = || Found::now(Outcome::Missed, Activity::default());
        let Some(thread) = &self.thread else {
            return Ok(missed());
        };
        let StackTaker { buffer, stopping } = taker;
        buffer.clear();
        self.audience().apply(buffer);
        let mut comparison = self.comparison.as_mut().filter(|_| is_compared);
        // The comparison needs the text of every function.
        let known = match comparison {
            Some(_) => const { &KnownFunctions::new() },
            None => self.last.known(),
        };
        let to_walk = ToWalk {
            context: &self.context,
            activity: &self.activity,
            known,
            places: self.last.places(),
        };
        let stopped = thread.while_stopped(stopping, |stopped| {
            to_walk.walk(stopped, buffer, || {
                if let Some(comparison) = &mut comparison {
                    comparison.walk(&self.context, stopped);
                }
            })
        });
        let walked = match stopped {
            Ok(stopped) => stopped,
            Err(error) => {
                self.stops_in_time = false;
                self.failed_stops += 1;
                return match self.failed_stops < MAX_FAILED_STOPS {
                    true => Ok(missed()),
                    false => Err(Failure::CannotStop(error.to_string())),
                };
            },
        };
        self.stops_in_time = true;
        if let Some(comparison) = comparison {
            comparison.compare(walked.walk, buffer);
        }
        Ok(self.found(&walked, buffer))
    }

    /// The last stack is then what is known of this one.
    fn found(&mut self, walked: &Walked, buffer: &mut StackBuffer) -> Found {
        self.failed_stops = 0;
        self.stops.record(walked.duration);
        if let Walk::Unwalkable(why) = walked.walk {
            *self.unwalkable.entry(why).or_default() += 1;
        }
        let made_by_muted = |function: &Function| {
            let muted = self.description.muted_scripts();
            muted.contains(function.realm, &function.resource)
        };
        Found {
            time: walked.time,
            outcome: self.last.take(walked, buffer, made_by_muted),
            activity: walked.activity,
        }
    }

    fn audience(&self) -> Audience {
        // A comparison is for who looks at the browser itself, and compares all functions.
        let is_for_pages = self.comparison.is_none();
        let sessions = self.sessions.iter().filter(|_| is_for_pages);
        let realms: SmallVec<_> = sessions.map(SampledSession::realm).collect();
        Audience {
            everything: self.recording.is_some() || realms.is_empty(),
            realms,
        }
    }
}
