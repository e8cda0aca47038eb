/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What a thread that was stopped has found out about itself.

use std::time::Duration;

use js_profiler_traits::RealmId;
use js_profiler_traits::activity::{Activity, SharedActivity};
use servo_base::cross_process_instant::CrossProcessInstant;
use smallvec::SmallVec;

use crate::spidermonkey::{
    FramePlace, KnownFunctions, NativeCode, SampledContext, StackBuffer, Walk,
};
use crate::stop::{Stopped, Stopping};

/// A walk, whose frames are in a [`StackBuffer`].
#[derive(Clone, Copy)]
pub struct Walked {
    /// Before the walk, whose length depends on code that a page may not see.
    pub time: CrossProcessInstant,
    pub walk: Walk,
    /// Of the stack before, how many frames from the root are still there. Only asked if this one is not known.
    pub kept: usize,
    pub activity: Activity,
    /// How long all of this took.
    pub duration: Duration,
}

/// What the sampling thread takes stacks with.
pub struct StackTaker {
    pub buffer: StackBuffer,
    pub stopping: Stopping,
}

impl StackTaker {
    /// Waits until another sampling thread of the process, which is ending, has let go of its own.
    pub fn new() -> Self {
        Self {
            buffer: StackBuffer::new(),
            stopping: Stopping::claim(),
        }
    }
}

/// Whom stacks are walked for.
pub struct Audience {
    /// Of pages in these realms.
    pub realms: SmallVec<[RealmId; 4]>,
    /// Also for who may see everything.
    pub everything: bool,
}

impl Audience {
    /// Has the next walks into a buffer be for it, with what is known of native code now.
    pub fn apply(&self, buffer: &mut StackBuffer) {
        buffer.set_audience(self.realms.iter().copied(), self.everything);
        buffer.set_native_code(NativeCode::current());
    }
}

/// What is needed for a walk.
pub struct ToWalk<'a> {
    pub context: &'a SampledContext,
    pub activity: &'a SharedActivity,
    pub known: &'a KnownFunctions,
    /// The frames of the stack before.
    pub places: &'a [FramePlace],
}

impl ToWalk<'_> {
    /// Runs on the thread that is stopped: allocates nothing, and takes no lock. `more` is what else is to be done.
    pub fn walk(&self, stopped: &Stopped, buffer: &mut StackBuffer, more: impl FnOnce()) -> Walked {
        let time = CrossProcessInstant::now();
        let walk = self.context.walk(stopped, buffer, self.known);
        more();
        let kept = match walk {
            Walk::Stack | Walk::Idle => 0,
            Walk::Collecting | Walk::Unwalkable(_) => {
                self.context.count_kept(stopped, buffer, self.places)
            },
        };
        Walked {
            time,
            walk,
            kept,
            activity: self.activity.get(),
            duration: (CrossProcessInstant::now() - time).unsigned_abs(),
        }
    }
}
