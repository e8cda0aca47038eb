/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! An event loop's thread as the sampling thread sees it. Looking at the thread makes a sample. The thread walks its
//! stack at once, when the sampling thread stops it, or at set times, when it stops by itself (`timed.rs`).

mod durations;
mod last_stack;
mod timed;
mod walk;

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use js_profiler_traits::EventLoopId;
use js_profiler_traits::activity::{Activity, SharedActivity};
use js_profiler_traits::recording::MissedReason;
use log::debug;
use malloc_size_of_derive::MallocSizeOf;
use servo_base::cross_process_instant::CrossProcessInstant;

use self::durations::{LONGEST_RUN, StopDurations};
use self::last_stack::LastStack;
pub use self::timed::MAX_TIMED_WALKS;
use self::timed::{Asked, HORIZON, TimedWalk, TimedWalks};
pub use self::walk::{Audience, StackTaker};
use self::walk::{FinishedWalk, WalkRequest};
use crate::description::SharedDescription;
use crate::failure::Failure;
use crate::function_table::Function;
use crate::outcome::Outcome;
use crate::sample::Sample;
use crate::spidermonkey::{
    NativeCode, Remembering, SampledContext, StackBuffer, WalkNumber, WalkOutcome,
};
use crate::stop::{STOP_TIMEOUT, Thread};

/// After this many failed attempts in a row to stop the thread, it is given up. A thread that gets no
/// processor or waits in the kernel stops in less time: the attempts take 10 seconds, unless the signal is
/// refused.
const MAX_FAILED_STOPS: u32 = 200;

/// How long a thread is waited for, and its walk. What takes longer than this has kept the sampling thread itself.
pub const LONGEST_LOOK: Duration = STOP_TIMEOUT.saturating_add(LONGEST_RUN);

/// For how long functions and tables are kept when nobody wants samples any more. Pages profile in short sessions, one
/// after the other. The first walks of a session that has to find everything anew take several times as long.
const KEPT_FOR: Duration = Duration::from_secs(10);

/// Stops one event loop's thread and makes samples of it.
#[derive(MallocSizeOf)]
pub struct SampledThread {
    /// For the log.
    event_loop: EventLoopId,
    /// `None` if the thread cannot be stopped.
    #[ignore_malloc_size_of = "Holds nothing"]
    thread: Option<Thread>,
    #[ignore_malloc_size_of = "Holds nothing"]
    context: SampledContext,
    #[ignore_malloc_size_of = "One word"]
    activity: SharedActivity,
    #[ignore_malloc_size_of = "The event loop's"]
    description: Arc<SharedDescription>,
    last: LastStack,
    /// Whom that stack was walked for.
    #[ignore_malloc_size_of = "A few numbers"]
    audience: Option<Audience>,
    /// How many attempts to stop the thread have failed since the last successful one.
    failed_stops: u32,
    /// Whether the last attempt to stop the thread was successful, and in time.
    stops_in_time: bool,
    timed: Option<TimedWalks>,
    /// Whether the system has no timers for this thread.
    is_never_timed: bool,
    /// How many timed walks there were. For the log.
    timed_count: u64,
    durations: StopDurations,
    /// While somebody wants samples.
    #[ignore_malloc_size_of = "Holds nothing"]
    remembering: Option<Remembering>,
    /// When functions and tables are to be freed. `None` while somebody wants samples, or if there is nothing to free.
    kept_until: Option<Instant>,
    /// The reasons why stacks could not be walked, and how often each was given. For the log.
    #[ignore_malloc_size_of = "A few numbers"]
    unwalkable: BTreeMap<&'static CStr, u64>,
}

impl SampledThread {
    /// `thread` is `None` if the thread cannot be stopped.
    pub fn new(
        event_loop: EventLoopId,
        thread: Option<Thread>,
        context: SampledContext,
        activity: SharedActivity,
        description: Arc<SharedDescription>,
    ) -> Self {
        Self {
            event_loop,
            thread,
            activity,
            description,
            last: LastStack::default(),
            audience: None,
            failed_stops: 0,
            stops_in_time: false,
            timed: None,
            is_never_timed: false,
            timed_count: 0,
            durations: StopDurations::new(),
            remembering: None,
            kept_until: None,
            context,
            unwalkable: BTreeMap::new(),
        }
    }

    /// What the event loop has said about itself.
    pub fn description(&self) -> &Arc<SharedDescription> {
        &self.description
    }

    /// All functions that have been on a stack of the thread, in the order of their ids.
    pub fn seen_functions(&self) -> &[Function] {
        self.last.seen_functions()
    }

    /// When the thread stood still for long walks, and had to run afterwards.
    pub fn rest_after_walks(&self) -> Range<Instant> {
        self.durations.walks_and_rest()
    }

    /// The thread may not be stopped again before this.
    pub fn runs_until(&self) -> Instant {
        self.durations.runs_until()
    }

    /// When the timed walks are to be collected. `None` if none are asked for.
    pub fn timed_until(&self) -> Option<Instant> {
        self.timed.as_ref().and_then(TimedWalks::until)
    }

    /// Takes a sample: stops the thread and walks its stack, unless it runs no JavaScript.
    ///
    /// # Errors
    ///
    /// The thread is given up: too many attempts in a row to stop it have failed.
    pub fn look(
        &mut self,
        taker: &mut StackTaker,
        audience: &Audience,
    ) -> Result<Sample<'_>, Failure> {
        if self.context.is_idle() {
            self.last.clear();
            let activity = self.activity.get();
            return Ok(self.last.without_stack(Outcome::Idle, activity));
        }
        let base = self.base_for(audience);
        let Some(thread) = &self.thread else {
            return Ok(self.missed());
        };
        let StackTaker { buffer, unwinder } = taker;
        audience.apply(buffer);
        unwinder.prepare(NativeCode::current());
        let request = WalkRequest {
            context: &self.context,
            activity: &self.activity,
            known: self.last.known_functions(),
            base,
        };
        let stopped = thread.while_stopped(|stopped| {
            let time = CrossProcessInstant::now();
            request.walk(time, stopped, unwinder, buffer)
        });
        let walk = match stopped {
            Ok(walk) => walk,
            Err(error) => {
                self.stops_in_time = false;
                self.failed_stops += 1;
                return match self.failed_stops < MAX_FAILED_STOPS {
                    true => Ok(self.missed()),
                    false => Err(Failure::CannotStop(error.to_string())),
                };
            },
        };
        self.stops_in_time = true;
        self.note(&walk);
        Ok(self.sample(&walk, buffer))
    }

    /// Takes a sample that says only what the thread is doing. The thread is not stopped for it.
    pub fn look_without_stopping(&self) -> Sample<'_> {
        let outcome = match self.context.is_idle() {
            true => Outcome::Idle,
            // JavaScript is running, and its stack is not known.
            false => Outcome::Unwalkable,
        };
        self.last.without_stack(outcome, self.activity.get())
    }

    /// The walk that the next one, for this audience, can be based on.
    fn base_for(&mut self, audience: &Audience) -> Option<WalkNumber> {
        if self.audience.as_ref() == Some(audience) {
            return self.last.number();
        }
        self.audience = Some(audience.clone());
        None
    }

    fn missed(&self) -> Sample<'_> {
        let missed = Outcome::Missed(self.why_not_stopped());
        self.last.without_stack(missed, Activity::default())
    }

    /// Why the thread did not stop, or did not stop in time, when it was last asked to.
    fn why_not_stopped(&self) -> MissedReason {
        // This assumes that the thread is doing now what it did then.
        match self.stops_in_time || self.thread.is_none_or(|thread| !thread.is_runnable()) {
            true => MissedReason::NotStopped,
            false => MissedReason::NoProcessor,
        }
    }

    fn note(&mut self, walk: &FinishedWalk) {
        self.failed_stops = 0;
        self.durations.record(walk.end(), walk.duration);
        if let WalkOutcome::Unwalkable(why) = walk.outcome {
            *self.unwalkable.entry(why).or_default() += 1;
        }
    }

    /// The sample of a walk, whose frames are in `buffer`.
    fn sample(&mut self, walk: &FinishedWalk, buffer: &StackBuffer) -> Sample<'_> {
        let realms = self
            .audience
            .as_ref()
            .map_or(&[][..], |audience| &audience.realms);
        self.last.take(walk, buffer, realms)
    }

    /// How far ahead walks may be requested now; `None` if the thread is not busy or is unlikely to stop.
    pub fn timed_horizon(&self) -> Option<Duration> {
        // A walk finds natives that are defined after it was asked for, but that takes longer.
        let may_be_timed = self.thread.is_some()
            && self.stops_in_time
            && !self.is_never_timed
            && !self.context.is_idle()
            && !NativeCode::current().is_new();
        may_be_timed.then_some(HORIZON)
    }

    /// Asks the thread to walk its stack by itself at these times: at least two, and no more than
    /// [`MAX_TIMED_WALKS`]. Their mean distance is `interval`. The thread does not walk at a time before which it has not
    /// run for as long as it stood still.
    pub fn ask(&mut self, due: &[Instant], interval: Duration, audience: &Audience) {
        let Some(thread) = self.thread else {
            return;
        };
        let timed = match self.timed.take() {
            Some(timed) => Ok(timed),
            None => TimedWalks::new(thread, self.context.clone(), self.activity.clone()),
        };
        let mut timed = match timed {
            Ok(timed) => timed,
            Err(error) => {
                debug!("{:?}: no timed walks: {error}", self.event_loop);
                self.is_never_timed = true;
                return;
            },
        };
        let base = self.base_for(audience);
        let known = self.last.known_functions().clone();
        let asked = Asked {
            due,
            interval,
            runs_until: self.durations.runs_until(),
        };
        if let Err(error) = timed.ask(asked, known, base, audience) {
            // The next attempt to stop the thread finds out what is wrong.
            debug!("{:?}: no timed walks: {error}", self.event_loop);
            self.stops_in_time = false;
        }
        self.timed = Some(timed);
    }

    /// Calls `take` for each walk that the thread has done by itself: with the time for which it was asked and that before
    /// it, the sample, and the reason why other walks have not been done. For a walk that the thread has skipped, because it
    /// had not run for as long as it stood still, there is only the time for which it was asked. The thread does none of
    /// these walks later. Returns when the last of them was to be done, and that reason; `None` if no walks were asked for.
    pub fn collect(
        &mut self,
        mut take: impl FnMut(Instant, Option<(Instant, &Sample<'_>, MissedReason)>),
    ) -> Option<(Instant, MissedReason)> {
        let mut timed = self.timed.take_if(|timed| timed.until().is_some())?;
        // The walks that come late are left out. The samples for them are taken or missed at the next tick.
        let walks = timed.finish();
        self.stops_in_time = !walks.iter().any(TimedWalk::is_late);
        let last_due = walks.last().map(|walk| walk.due);
        for (_, finished) in walks.iter().filter_map(|walk| walk.finished) {
            self.timed_count += 1;
            self.note(&finished);
        }
        let why_not_done = self.why_not_stopped();
        for walk in walks {
            if let Some((done, finished)) = walk.finished {
                let sample = self.sample(&finished, &walk.buffer);
                take(walk.due, Some((done, &sample, why_not_done)));
            } else if walk.is_skipped {
                take(walk.due, None);
            }
        }
        self.timed = Some(timed);
        Some((last_due?, why_not_done))
    }

    /// The thread could not be sampled. Later attempts begin anew.
    pub fn forget_failures(&mut self) {
        self.failed_stops = 0;
        self.stops_in_time = false;
        self.timed = None;
    }

    /// Must be called only when nothing refers to the functions any more.
    pub fn forget_stacks(&mut self) {
        self.last = LastStack::default();
    }

    /// When [`free_kept`](Self::free_kept) is to be called. `None` if there is nothing to free.
    pub fn kept_until(&self) -> Option<Instant> {
        self.kept_until
    }

    /// Frees what was kept for samples that nobody has wanted.
    pub fn free_kept(&mut self) {
        self.kept_until = None;
        self.timed = None;
        self.forget_stacks();
    }

    /// Somebody wants samples now.
    pub fn begin(&mut self) {
        self.remembering.get_or_insert_with(Remembering::begin);
        self.kept_until = None;
    }

    /// Nobody wants samples any more. What was found out about functions is kept for a while. Writes the statistics into
    /// the log.
    pub fn rest(&mut self) {
        let event_loop = self.event_loop;
        self.last.clear();
        self.remembering = None;
        self.kept_until = Some(Instant::now() + KEPT_FOR);
        self.is_never_timed = false;
        if self.timed_count != 0 {
            debug!("{event_loop:?}: {} timed walks", self.timed_count);
            self.timed_count = 0;
        }
        if !self.unwalkable.is_empty() {
            debug!("{event_loop:?}: unwalkable: {:?}", self.unwalkable);
            self.unwalkable.clear();
        }
        self.durations.log_and_clear(event_loop);
    }
}
