/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What a stopped thread has found out about itself.

use std::time::{Duration, Instant};

use js_profiler_traits::RealmId;
use js_profiler_traits::activity::{Activity, SharedActivity};
use malloc_size_of_derive::MallocSizeOf;
use servo_base::cross_process_instant::CrossProcessInstant;
use smallvec::SmallVec;

use crate::spidermonkey::{
    FramePlace, KnownFunctions, SampledContext, StackBuffer, Unwinder, WalkNumber, WalkOutcome,
};
use crate::stop::Stopped;

/// The result of a walk. Its frames are in a [`StackBuffer`].
#[derive(Clone, Copy)]
pub struct FinishedWalk {
    /// The time before the walk. The time after it would depend on code that a page may not see.
    pub time: CrossProcessInstant,
    /// How the walk went.
    pub outcome: WalkOutcome,
    /// How many frames of the previous stack are still there, counted from the root. 0 if this stack was
    /// walked, because then nobody needs the number.
    pub kept: usize,
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

/// Where the frames of the last known stack are, from the root to the leaf.
#[derive(Default, MallocSizeOf)]
pub struct LastPlaces(Vec<FramePlace>);

impl LastPlaces {
    /// The places of all frames.
    pub fn all(&self) -> &[FramePlace] {
        &self.0
    }

    /// The places of this many frames, counted from the root; of all frames if there are fewer.
    pub fn of(&self, length: usize) -> &[FramePlace] {
        self.0.get(..length).unwrap_or(&self.0)
    }

    /// In bytes.
    pub fn memory(&self) -> usize {
        self.0.capacity() * size_of::<FramePlace>()
    }

    /// Sets the places.
    pub fn set(&mut self, places: &[FramePlace]) {
        self.0.clear();
        self.0.extend_from_slice(places);
    }

    /// Makes room for the frames of any walk into a buffer.
    pub fn make_room(&mut self, buffer: &StackBuffer) {
        let more = buffer.capacity().saturating_sub(self.0.len());
        self.0.reserve(more);
    }

    /// Keeps the frames that are on the stack after a walk into `buffer`. Does not allocate: frames that there is no
    /// room for are left out.
    pub fn follow(&mut self, walk: &FinishedWalk, buffer: &StackBuffer) {
        match walk.outcome {
            WalkOutcome::Stack => {
                self.0.clear();
                let room = self.0.capacity();
                self.0.extend(buffer.places().take(room));
            },
            _ => self.0.truncate(walk.kept),
        }
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
    /// The frames of the previous stack, from the root to the leaf.
    pub places: &'a [FramePlace],
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
        let context = self.context;
        let (mut outcome, work_left) =
            context.walk(stopped, unwinder, buffer, self.known, self.base);
        let kept = match outcome {
            WalkOutcome::Stack | WalkOutcome::Idle | WalkOutcome::Missed(_) => 0,
            WalkOutcome::Collecting | WalkOutcome::Unwalkable(_) => {
                let kept = context.count_kept(stopped, unwinder, self.places, work_left);
                kept.unwrap_or_else(|why| {
                    outcome = WalkOutcome::Missed(why);
                    0
                })
            },
        };
        FinishedWalk {
            time,
            outcome,
            kept,
            activity: self.activity.get(),
            duration: (CrossProcessInstant::now() - time).unsigned_abs(),
        }
    }
}
