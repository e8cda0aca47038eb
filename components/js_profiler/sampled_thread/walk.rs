/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What a stopped thread has found out about itself.

use std::time::{Duration, Instant};

use js_profiler_traits::RealmId;
use js_profiler_traits::activity::{Activity, SharedActivity};
use servo_base::cross_process_instant::CrossProcessInstant;
use smallvec::SmallVec;

use crate::spidermonkey::{
    KnownFunctions, SampledContext, StackBuffer, Unwinder, WalkNumber, WalkOutcome,
};
use crate::stop::Stopped;

/// The result of a walk. Its frames are in a [`StackBuffer`].
#[derive(Clone, Copy)]
pub struct FinishedWalk {
    /// The time before the walk. The time after it would depend on code that a page may not see.
    pub time: CrossProcessInstant,
    /// How the walk went.
    pub outcome: WalkOutcome,
    /// What the thread was doing besides running JavaScript.
    pub activity: Activity,
    /// How long everything took on that thread.
    pub duration: Duration,
}

impl FinishedWalk {
    /// When the thread ran again.
    pub fn end(&self) -> Instant {
        let since_begin = (CrossProcessInstant::now() - self.time).unsigned_abs();
        Instant::now() - since_begin.saturating_sub(self.duration)
    }
}

/// What the sampling thread needs for taking stacks.
pub struct StackTaker {
    /// The frames of the last walk.
    pub buffer: StackBuffer,
    /// For walks of all threads, one after the other.
    pub unwinder: Unwinder,
}

impl StackTaker {
    /// For a sampling thread.
    pub fn new() -> Self {
        Self {
            buffer: StackBuffer::new(),
            unwinder: Unwinder::new(),
        }
    }
}

/// The readers that stacks are walked for.
#[derive(Clone, Eq, PartialEq)]
pub struct Audience {
    /// The realms of pages that have sessions.
    pub realms: SmallVec<[RealmId; 4]>,
    /// Whether there are also readers who may see everything.
    pub everything: bool,
}

impl Audience {
    /// Sets this audience for the next walks into `buffer`.
    pub fn apply(&self, buffer: &mut StackBuffer) {
        buffer.set_audience(self.realms.iter().copied(), self.everything);
    }
}

/// What a walk needs.
pub struct WalkRequest<'a> {
    /// The context of the stopped thread.
    pub context: &'a SampledContext,
    /// What that thread is doing.
    pub activity: &'a SharedActivity,
    /// The functions whose text the walk need not write.
    pub known: &'a KnownFunctions,
    /// The walk that has found the previous stack, for the same audience.
    pub base: Option<WalkNumber>,
}

impl WalkRequest<'_> {
    /// Walks the stack of `stopped`, which stopped at `time`. Runs on the stopped thread, so it must not allocate or take
    /// a lock.
    pub fn walk(
        &self,
        time: CrossProcessInstant,
        stopped: &Stopped,
        unwinder: &mut Unwinder,
        buffer: &mut StackBuffer,
    ) -> FinishedWalk {
        let outcome = self
            .context
            .walk(stopped, unwinder, buffer, self.known, self.base);
        FinishedWalk {
            time,
            outcome,
            activity: self.activity.get(),
            duration: (CrossProcessInstant::now() - time).unsigned_abs(),
        }
    }
}
