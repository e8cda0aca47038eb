/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A profiler group as the sampling thread has it: an event loop's thread and JavaScript context, its
//! sessions and its recording, and the functions that were seen on its stacks.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::iter;
use std::time::Instant;

use js_profiler_traits::activity::{Activity, SharedActivity};
use js_profiler_traits::{GroupId, RealmId, SessionId};
use log::{debug, warn};
use malloc_size_of_derive::MallocSizeOf;
use servo_base::cross_process_instant::CrossProcessInstant;
use servo_base::id::BrowsingContextId;
use smallvec::SmallVec;

use crate::ahead::{Ahead, HORIZON, MAX_AHEAD, WalkAhead};
use crate::comparison::Comparison;
use crate::failure::Failure;
use crate::function_table::{Function, FunctionId, FunctionTable};
use crate::muted_scripts;
use crate::outcome::{Outcome, Stack};
use crate::recording::GroupRecording;
use crate::session::SampledSession;
use crate::spidermonkey::{
    FrameKind, FramePlace, KnownFunctions, NativeCode, SampledContext, StackBuffer, Walk,
};
use crate::stop::Thread;
use crate::stop_times::StopTimes;
use crate::ticks::{self, Ticks};
use crate::walked::{Audience, StackTaker, ToWalk, Walked};
use crate::work::Work;

/// After so many attempts in a row to stop the thread it is given up. One that is starved of its processor
/// or waits in the kernel stops sooner: the attempts take 10 seconds, unless the signal is refused.
const MAX_FAILED_STOPS: u32 = 200;

#[derive(MallocSizeOf)]
pub struct Group {
    pub id: GroupId,
    /// None if it cannot be stopped.
    #[ignore_malloc_size_of = "Holds nothing"]
    thread: Option<Thread>,
    #[ignore_malloc_size_of = "Holds nothing"]
    context: SampledContext,
    #[ignore_malloc_size_of = "One word"]
    activity: SharedActivity,
    sessions: Vec<SampledSession>,
    recording: Option<GroupRecording>,
    functions: FunctionTable,
    last: LastStack,
    /// How many attempts to stop the thread have failed since the last one that did not.
    failed_stops: u32,
    /// Whether the thread stopped when it last should.
    stops_in_time: bool,
    /// The next walks, which the thread does by itself.
    #[ignore_malloc_size_of = "Room for a few stacks"]
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

/// The last known stack, from the root to the leaf. While a stack cannot be walked, those of its
/// frames that are still there stand for it.
#[derive(Default, MallocSizeOf)]
struct LastStack {
    functions: Vec<FunctionId>,
    /// Of each function's frame.
    places: Vec<FramePlace>,
    /// So many of them, from the leaf, are without anything left out. What is older is there for pages alone.
    complete: usize,
    /// Whether there were more than these.
    complete_truncated: bool,
    /// Whether there were more than all.
    truncated: bool,
}

/// When a sample was taken, what it found, and what the event loop was doing.
type Found = (CrossProcessInstant, Outcome, Activity);

impl LastStack {
    fn truncate(&mut self, length: usize) {
        let cut = self.functions.len().saturating_sub(length);
        self.complete = self.complete.saturating_sub(cut);
        self.functions.truncate(length);
        self.places.truncate(length);
    }

    /// What pages may see of it is among this.
    fn for_pages(&self) -> Stack<'_> {
        Stack {
            functions: &self.functions,
            truncated: self.truncated,
        }
    }

    fn for_everything(&self) -> Stack<'_> {
        Stack {
            functions: &self.functions[self.functions.len() - self.complete..],
            truncated: self.complete_truncated,
        }
    }
}

impl Group {
    pub fn new(
        id: GroupId,
        thread: Option<Thread>,
        context: SampledContext,
        activity: SharedActivity,
    ) -> Self {
        Self {
            id,
            thread,
            activity,
            sessions: Vec::new(),
            recording: None,
            functions: FunctionTable::default(),
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
    pub fn record(&mut self, recording: GroupRecording) {
        self.end_recording();
        NativeCode::with_new_libraries();
        self.recording = Some(recording);
    }

    /// What the recording has is reported.
    pub fn end_recording(&mut self) {
        if let Some(recording) = self.recording.take() {
            recording.finish(self.functions.functions());
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
            recording.fail(self.functions.functions(), failure);
        }
        // Sessions that are still here have ended.
        self.forget_stacks();
    }

    /// Must be called only when nobody refers to the functions any more.
    fn forget_stacks(&mut self) {
        self.functions = FunctionTable::default();
        self.last = LastStack::default();
    }

    pub fn sessions(&self) -> &[SampledSession] {
        &self.sessions
    }

    pub fn session(&mut self, id: SessionId) -> Option<&mut SampledSession> {
        self.sessions.iter_mut().find(|session| session.id == id)
    }

    fn log_interval(&self) {
        let intervals = self.sessions.iter().filter_map(SampledSession::interval);
        debug!(
            "{:?}: {} sessions, interval {:?} ticks",
            self.id,
            self.sessions.len(),
            ticks::group_interval(intervals)
        );
    }

    /// The next tick at which any session or the recording takes a sample.
    pub fn next_tick(&self) -> Option<u64> {
        self.sessions
            .iter()
            .filter_map(SampledSession::next_tick)
            .chain(self.recording.as_ref().map(GroupRecording::next_tick))
            .min()
    }

    /// When the sampling thread is to see to this group.
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
        let (any_session_due, recording_due) = self.advance(tick);
        if any_session_due {
            self.sample(taker, SampledSession::is_due, recording_due);
        } else if recording_due {
            self.sample_for_recording(taker);
        }
    }

    /// Moves on to `tick`. Whether any session, and whether the recording, is due there.
    fn advance(&mut self, tick: u64) -> (bool, bool) {
        let mut any_session_due = false;
        for session in &mut self.sessions {
            any_session_due |= session.advance(tick);
        }
        let recording = self.recording.as_mut();
        let recording_due = recording.is_some_and(|recording| recording.advance(tick));
        (any_session_due, recording_due)
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
        let known = self.functions.known().clone();
        if let Err(error) = ahead.ask(&due, known, &self.last.places, &self.audience()) {
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
            .is_none_or(GroupRecording::has_stacks);
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

    /// The first tick after another at which any session or the recording takes a sample.
    fn next_tick_after(&self, tick: u64) -> Option<u64> {
        let sessions = self.sessions.iter();
        let of_sessions = sessions.filter_map(|session| session.next_tick_after(tick));
        let recording = self.recording.as_ref();
        let of_recording = recording.map(|recording| recording.next_tick_after(tick));
        of_sessions.chain(of_recording).min()
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
                    let (any_session_due, recording_due) = self.advance(walk.tick);
                    let found = self.found(walked, &mut walk.buffer);
                    // A session may have ended since it was asked for.
                    if any_session_due || recording_due {
                        self.hand_out(found, SampledSession::is_due, recording_due);
                    }
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
        let is_wanted = |session: &SampledSession| session.is_running_in(browsing_context);
        if !self.sessions.iter().any(is_wanted) {
            return 0;
        }
        self.sample(taker, is_wanted, false)
    }

    /// Takes the first sample of a session, between ticks. None if the session is paused, or if a tick since its
    /// start has brought the first sample already.
    pub fn take_first_sample(&mut self, session: SessionId, taker: &mut StackTaker) {
        let is_wanted = |known: &SampledSession| known.id == session && known.wants_first_sample();
        if self.sessions.iter().any(is_wanted) {
            self.sample(taker, is_wanted, false);
        }
    }

    /// Takes one sample for the recording alone.
    fn sample_for_recording(&mut self, taker: &mut StackTaker) {
        let has_stacks = self.recording.as_ref().map(GroupRecording::has_stacks);
        if has_stacks == Some(true) {
            self.sample(taker, |_| false, true);
            return;
        }
        let outcome = match self.context.is_idle() {
            true => Outcome::Idle,
            // JavaScript is running; nothing is known of its stack.
            false => Outcome::Unwalkable,
        };
        let (time, activity) = (CrossProcessInstant::now(), self.activity.get());
        let work = Work::of_sample(outcome, activity, None);
        if let Some(recording) = &mut self.recording {
            recording.take_sample(time, outcome, work, Stack::default(), &[]);
        }
    }

    /// Takes one sample for all sessions that are wanted, and for the recording if it is due. Returns how
    /// many of the sessions have none.
    fn sample(
        &mut self,
        taker: &mut StackTaker,
        is_wanted: impl Fn(&SampledSession) -> bool,
        recording_due: bool,
    ) -> usize {
        // The engine is in its stock mode for sessions alone.
        let is_compared = self.sessions.iter().any(&is_wanted);
        match self.walk(taker, is_compared) {
            Ok(found) => self.hand_out(found, is_wanted, recording_due),
            Err(failure) => {
                let failed = self.sessions.iter().filter(|session| is_wanted(session));
                let failed = failed.count();
                self.fail(&failure);
                failed
            },
        }
    }

    /// A sample for all sessions that are wanted, and for the recording if it is due. Returns how many of the
    /// sessions have none.
    fn hand_out(
        &mut self,
        (time, outcome, activity): Found,
        is_wanted: impl Fn(&SampledSession) -> bool,
        recording_due: bool,
    ) -> usize {
        let functions = self.functions.functions();
        let stack = self.last.for_pages();
        // A native function is of no realm: it is whose code calls it that does the work.
        let mut of_functions = stack
            .functions
            .iter()
            .rev()
            .map(|id| &functions[id.index()]);
        let leaf = of_functions.find(|function| function.kind != FrameKind::Native);
        let leaf_realm = leaf.map(|function| function.realm);
        let work = Work::of_sample(outcome, activity, leaf_realm);
        let mut failed = 0;
        for session in &mut self.sessions {
            if is_wanted(session) && !session.take_sample(time, outcome, work, stack, functions) {
                failed += 1;
            }
        }
        if let Some(recording) = self.recording.as_mut().filter(|_| recording_due) {
            recording.take_sample(time, outcome, work, self.last.for_everything(), functions);
        }
        failed
    }

    /// Stops the thread and walks its stack; the last stack is then what is known of it. The error is that
    /// the thread is given up.
    fn walk(&mut self, taker: &mut StackTaker, is_compared: bool) -> Result<Found, Failure> {
        // A thread that runs no JavaScript need not be stopped to know that.
        if self.context.is_idle() {
            self.last.truncate(0);
            return Ok((
                CrossProcessInstant::now(),
                Outcome::Idle,
                self.activity.get(),
            ));
        }
        let missed = || {
            (
                CrossProcessInstant::now(),
                Outcome::Missed,
                Activity::default(),
            )
        };
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
            None => self.functions.known(),
        };
        let to_walk = ToWalk {
            context: &self.context,
            activity: &self.activity,
            known,
            places: &self.last.places,
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
        // What is left of a stack whose root is missing does not say how it goes on there.
        let is_cut = self.last.truncated && walked.kept < self.last.functions.len();
        self.last.truncate(if is_cut { 0 } else { walked.kept });
        let outcome = match walked.walk {
            Walk::Idle => Outcome::Idle,
            Walk::Collecting if is_cut => Outcome::Unwalkable,
            Walk::Collecting => Outcome::Collecting,
            Walk::Unwalkable(why) => {
                *self.unwalkable.entry(why).or_default() += 1;
                Outcome::Unwalkable
            },
            Walk::Stack => {
                let outcome = match self.intern(buffer) {
                    true => Outcome::Stack,
                    false => {
                        self.last.truncate(0);
                        Outcome::Unwalkable
                    },
                };
                buffer.grow_text();
                outcome
            },
        };
        (walked.time, outcome, walked.activity)
    }

    fn audience(&self) -> Audience {
        // A comparison is for who looks at the browser itself, and compares all functions.
        let is_for_pages = self.comparison.is_none();
        let sessions = self.sessions.iter().filter(|_| is_for_pages);
        let realms: SmallVec<[RealmId; 4]> = sessions.map(SampledSession::realm).collect();
        Audience {
            everything: self.recording.is_some() || realms.is_empty(),
            realms,
        }
    }

    /// Makes what is in `buffer` the last stack. False if the text of a new function did not fit.
    fn intern(&mut self, buffer: &StackBuffer) -> bool {
        for frame in buffer.frames() {
            let made_by_muted = |function: &Function| {
                muted_scripts::contains(self.id, function.realm, &function.resource)
            };
            let Some(id) = self.functions.get_or_insert(&frame, made_by_muted) else {
                return false;
            };
            self.last.functions.push(id);
            self.last.places.push(frame.place());
        }
        self.last.complete = buffer.complete();
        self.last.complete_truncated = buffer.complete_truncated();
        self.last.truncated = buffer.truncated();
        true
    }
}
