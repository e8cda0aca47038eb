/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The walks of one event loop's thread: at once, when the sampling thread stops it, or at set times, when the thread
//! stops by itself (`timed.rs`).

mod durations;
mod timed;
mod walk;

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use js_profiler_traits::GroupId;
use js_profiler_traits::activity::{Activity, SharedActivity};
use js_profiler_traits::recording::MissedReason;
use log::debug;
use malloc_size_of_derive::MallocSizeOf;

use self::durations::StopDurations;
use self::timed::{HORIZON, TimedWalk};
pub use self::timed::{MAX_TIMED_WALKS, TimedWalks};
use self::walk::WalkRequest;
pub use self::walk::{Audience, FinishedWalk, StackTaker};
use crate::comparison::Comparison;
use crate::failure::Failure;
use crate::spidermonkey::{FramePlace, KnownFunctions, NativeCode, SampledContext, WalkOutcome};
use crate::stop::Thread;

/// After this many failed attempts in a row to stop the thread, it is given up. A thread that gets no
/// processor or waits in the kernel stops in less time: the attempts take 10 seconds, unless the signal is
/// refused.
const MAX_FAILED_STOPS: u32 = 200;

/// Stops one event loop's thread and walks its stack.
#[derive(MallocSizeOf)]
pub struct ThreadWalks {
    /// For the log.
    group: GroupId,
    /// `None` if the thread cannot be stopped.
    #[ignore_malloc_size_of = "Holds nothing"]
    thread: Option<Thread>,
    #[ignore_malloc_size_of = "Holds nothing"]
    context: SampledContext,
    #[ignore_malloc_size_of = "One word"]
    activity: SharedActivity,
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
    /// Set if each stack is walked both ways.
    #[ignore_malloc_size_of = "For tests"]
    comparison: Option<Comparison>,
    /// The reasons why stacks could not be walked, and how often each was given. For the log.
    #[ignore_malloc_size_of = "A few numbers"]
    unwalkable: BTreeMap<&'static CStr, u64>,
}

/// What was found when the thread was looked at.
pub enum Look {
    /// It runs no JavaScript. It was not stopped.
    Idle,
    /// It did not stop.
    Missed,
    /// The frames are in the buffer of the [`StackTaker`].
    Walked(FinishedWalk),
}

/// What is known of the stack before a walk.
pub struct Known<'a> {
    /// The functions whose text the walk need not write.
    pub functions: &'a Arc<KnownFunctions>,
    /// The frames of the last known stack, from the root to the leaf.
    pub places: &'a [FramePlace],
}

impl ThreadWalks {
    /// `thread` is `None` if the thread cannot be stopped.
    pub fn new(
        group: GroupId,
        thread: Option<Thread>,
        context: SampledContext,
        activity: SharedActivity,
    ) -> Self {
        Self {
            group,
            thread,
            activity,
            failed_stops: 0,
            stops_in_time: false,
            timed: None,
            is_never_timed: false,
            timed_count: 0,
            durations: StopDurations::new(),
            comparison: Comparison::wanted(&context),
            context,
            unwalkable: BTreeMap::new(),
        }
    }

    /// Whether the thread runs no JavaScript.
    pub fn is_idle(&self) -> bool {
        self.context.is_idle()
    }

    /// What the thread is doing besides running JavaScript.
    pub fn activity(&self) -> Activity {
        self.activity.get()
    }

    /// Whether each stack is walked both ways, and the two are compared.
    pub fn compares(&self) -> bool {
        self.comparison.is_some()
    }

    /// The thread may not be stopped again before this.
    pub fn runs_until(&self) -> Instant {
        self.durations.runs_until()
    }

    /// For how long the thread had to run after it last stood still.
    pub fn must_run(&self) -> Duration {
        self.durations.must_run()
    }

    /// When the timed walks are to be collected. `None` if none are asked for.
    pub fn timed_until(&self) -> Option<Instant> {
        self.timed.as_ref().and_then(TimedWalks::until)
    }

    /// Frees what is needed only while there are samples to take. Writes the statistics into the log.
    pub fn rest(&mut self) {
        let group = self.group;
        self.timed = None;
        self.is_never_timed = false;
        if self.timed_count != 0 {
            debug!("{group:?}: {} timed walks", self.timed_count);
            self.timed_count = 0;
        }
        if !self.unwalkable.is_empty() {
            debug!("{group:?}: unwalkable: {:?}", self.unwalkable);
            self.unwalkable.clear();
        }
        self.durations.log_and_clear(group);
        if let Some(comparison) = &mut self.comparison {
            debug!("{group:?}: compared: {:?}", comparison.take());
        }
    }

    /// The thread could not be sampled. Later attempts begin anew.
    pub fn forget_failures(&mut self) {
        self.failed_stops = 0;
        self.stops_in_time = false;
        self.timed = None;
    }

    /// Stops the thread and walks its stack, unless the thread runs no JavaScript. It is an error if the thread is
    /// given up.
    pub fn look(
        &mut self,
        taker: &mut StackTaker,
        known: &Known<'_>,
        audience: &Audience,
        is_compared: bool,
    ) -> Result<Look, Failure> {
        if self.is_idle() {
            return Ok(Look::Idle);
        }
        let Some(thread) = &self.thread else {
            return Ok(Look::Missed);
        };
        let StackTaker {
            buffer,
            unwinder,
            stopping,
        } = taker;
        buffer.clear();
        audience.apply(buffer);
        unwinder.set_code(NativeCode::current());
        let mut comparison = self.comparison.as_mut().filter(|_| is_compared);
        let request = WalkRequest {
            context: &self.context,
            activity: &self.activity,
            // The comparison needs the text of every function.
            known: match comparison {
                Some(_) => const { &KnownFunctions::new() },
                None => known.functions,
            },
            places: known.places,
        };
        let stopped = thread.while_stopped(stopping, |stopped| {
            request.walk(stopped, unwinder, buffer, |unwinder| {
                if let Some(comparison) = &mut comparison {
                    comparison.walk(&self.context, stopped, unwinder);
                }
            })
        });
        let finished = match stopped {
            Ok(finished) => finished,
            Err(error) => {
                self.stops_in_time = false;
                self.failed_stops += 1;
                return match self.failed_stops < MAX_FAILED_STOPS {
                    true => Ok(Look::Missed),
                    false => Err(Failure::CannotStop(error.to_string())),
                };
            },
        };
        self.stops_in_time = true;
        if let Some(comparison) = comparison {
            comparison.compare(finished.outcome, buffer);
        }
        self.note(&finished);
        Ok(Look::Walked(finished))
    }

    fn note(&mut self, finished: &FinishedWalk) {
        self.failed_stops = 0;
        self.durations.record(finished.duration);
        if let WalkOutcome::Unwalkable(why) = finished.outcome {
            *self.unwalkable.entry(why).or_default() += 1;
        }
    }

    /// Why the thread did not stop, or did not stop in time, when it was last asked to.
    pub fn why_not_stopped(&self) -> MissedReason {
        // This assumes that the thread is doing now what it did then.
        match self.stops_in_time || self.thread.is_none_or(|thread| !thread.is_runnable()) {
            true => MissedReason::NotStopped,
            false => MissedReason::NoProcessor,
        }
    }

    /// How far ahead walks may be requested now; `None` if the thread is not busy or is unlikely to stop.
    pub fn timed_horizon(&self) -> Option<Duration> {
        // A walk finds natives that are defined after it was asked for, but that takes longer.
        let may_be_timed = self.thread.is_some()
            && self.stops_in_time
            && !self.is_never_timed
            && !self.compares()
            && !self.is_idle()
            && !NativeCode::current().is_new();
        may_be_timed.then_some(HORIZON)
    }

    /// Asks the thread to walk its stack by itself at these ticks, which are due at these times: at least two, and
    /// no more than [`MAX_TIMED_WALKS`].
    pub fn ask(&mut self, due: &[(u64, Instant)], known: &Known<'_>, audience: &Audience) {
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
                debug!("{:?}: no timed walks: {error}", self.group);
                self.is_never_timed = true;
                return;
            },
        };
        if let Err(error) = timed.ask(due, known.functions.clone(), known.places, audience) {
            // The next attempt to stop the thread finds out what is wrong.
            debug!("{:?}: no timed walks: {error}", self.group);
            self.stops_in_time = false;
        }
        self.timed = Some(timed);
    }

    /// Takes the timed walks out, and the thread does no more of them. [`put_back`](Self::put_back) must be called
    /// afterwards. `None` if none were requested.
    pub fn collect(&mut self) -> Option<TimedWalks> {
        self.timed_until()?;
        let mut timed = self.timed.take()?;
        // The walks that come late are left out. The samples for them are taken or missed at the next tick.
        self.stops_in_time = !timed.walks().iter().any(TimedWalk::is_late);
        for finished in timed.walks().iter().filter_map(|walk| walk.finished) {
            self.timed_count += 1;
            self.note(&finished);
        }
        Some(timed)
    }

    /// Puts back the walks that [`collect`](Self::collect) has taken out.
    pub fn put_back(&mut self, timed: TimedWalks) {
        self.timed = Some(timed);
    }
}
