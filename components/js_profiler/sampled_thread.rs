/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! An event loop's thread as the sampling thread sees it. Looking at the thread makes a sample.

use std::sync::Arc;
use std::time::Instant;

use js_profiler_traits::GroupId;
use js_profiler_traits::activity::{Activity, SharedActivity};
use js_profiler_traits::recording::MissedReason;
use malloc_size_of_derive::MallocSizeOf;

use crate::description::SharedDescription;
use crate::failure::Failure;
use crate::function_table::Function;
use crate::last_stack::LastStack;
use crate::outcome::Outcome;
use crate::sample::Sample;
use crate::spidermonkey::{SampledContext, StackBuffer};
use crate::stop::Thread;
use crate::walks::{Audience, FinishedWalk, Look, StackTaker, ThreadWalks};

/// The walks of one event loop's thread, and what is known about its stack.
#[derive(MallocSizeOf)]
pub struct SampledThread {
    walks: ThreadWalks,
    #[ignore_malloc_size_of = "The event loop's"]
    description: Arc<SharedDescription>,
    last: LastStack,
}

impl SampledThread {
    /// `thread` is `None` if the thread cannot be stopped.
    pub fn new(
        group: GroupId,
        thread: Option<Thread>,
        context: SampledContext,
        activity: SharedActivity,
        description: Arc<SharedDescription>,
    ) -> Self {
        Self {
            walks: ThreadWalks::new(group, thread, context, activity),
            description,
            last: LastStack::default(),
        }
    }

    /// What the event loop has said about itself.
    pub fn description(&self) -> &Arc<SharedDescription> {
        &self.description
    }

    /// When and how the thread can be walked.
    pub fn walks(&self) -> &ThreadWalks {
        &self.walks
    }

    /// All functions that have been on a stack of the thread, in the order of their ids.
    pub fn seen_functions(&self) -> &[Function] {
        self.last.seen_functions()
    }

    /// Takes a sample: stops the thread and walks its stack, unless it runs no JavaScript. If `is_compared` is true
    /// and the two walkers are compared, both walk the stack.
    ///
    /// # Errors
    ///
    /// The thread is given up: too many attempts in a row to stop it have failed.
    pub fn look(
        &mut self,
        taker: &mut StackTaker,
        audience: &Audience,
        is_compared: bool,
    ) -> Result<Sample<'_>, Failure> {
        let known = self.last.known();
        match self.walks.look(taker, &known, audience, is_compared)? {
            Look::Idle => {
                self.last.clear();
                let activity = self.walks.activity();
                Ok(self.last.without_stack(Outcome::Idle, activity))
            },
            Look::Missed => {
                let missed = Outcome::Missed(self.walks.why_not_stopped());
                Ok(self.last.without_stack(missed, Activity::default()))
            },
            Look::Walked(walk) => Ok(self.sample(&walk, &mut taker.buffer)),
        }
    }

    /// Takes a sample that says only what the thread is doing. The thread is not stopped for it.
    pub fn look_without_stopping(&self) -> Sample<'_> {
        let outcome = match self.walks.is_idle() {
            true => Outcome::Idle,
            // JavaScript is running, and its stack is not known.
            false => Outcome::Unwalkable,
        };
        self.last.without_stack(outcome, self.walks.activity())
    }

    /// Asks the thread to walk its stack by itself: see [`ThreadWalks::ask`].
    pub fn ask(&mut self, due: &[(u64, Instant)], audience: &Audience) {
        self.walks.ask(due, &self.last.known(), audience);
    }

    /// Calls `take` for each walk that the thread has done by itself: with the tick, the sample, and the reason why
    /// other walks have not been done. The thread does none of these later.
    pub fn collect(&mut self, mut take: impl FnMut(u64, &Sample<'_>, MissedReason)) {
        let Some(mut timed) = self.walks.collect() else {
            return;
        };
        let why_late = self.walks.why_not_stopped();
        for walk in timed.walks() {
            if let Some(finished) = walk.finished {
                let sample = self.sample(&finished, &mut walk.buffer);
                take(walk.tick, &sample, why_late);
            }
        }
        self.walks.put_back(timed);
    }

    /// The sample of a walk, whose frames are in `buffer`.
    fn sample(&mut self, walk: &FinishedWalk, buffer: &mut StackBuffer) -> Sample<'_> {
        let made_by_muted = |function: &Function| {
            let muted = self.description.muted_scripts();
            muted.contains(function.realm, &function.resource)
        };
        self.last.take(walk, buffer, made_by_muted)
    }

    /// The thread could not be sampled. Later attempts begin anew.
    pub fn forget_failures(&mut self) {
        self.walks.forget_failures();
    }

    /// Must be called only when nothing refers to the functions any more.
    pub fn forget_stacks(&mut self) {
        self.last = LastStack::default();
    }

    /// Frees what is needed only while there are samples to take. Writes the statistics into the log.
    pub fn rest(&mut self) {
        self.forget_stacks();
        self.walks.rest();
    }
}
