/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The next walks of a thread, which the thread does by itself at set times. So the sampling thread need not
//! wake at every tick: it collects several walks at once, and asks for the next ones.
//!
//! This is for threads that are busy and stop when they should. Nobody stops a thread that is idle, and the
//! sampling thread waits for one that does not stop: see `mod.rs`.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use js_profiler_traits::activity::SharedActivity;
use malloc_size_of::{MallocSizeOf, MallocSizeOfOps};
use servo_base::cross_process_instant::CrossProcessInstant;

use super::durations::run_after;
use super::walk::{Audience, FinishedWalk, WalkRequest};
use crate::spidermonkey::{
    KnownFunctions, NativeCode, NeededLines, SampledContext, StackBuffer, Unwinder, WalkNumber,
};
use crate::stop::{StopError, StopTimers, Stopped, Task, Thread};

/// The greatest number of walks that are asked for at once.
pub const MAX_TIMED_WALKS: usize = 4;

/// No walk is requested that is due later than this, because a thread that becomes idle is disturbed until then. Two ticks
/// of an interval of 10 ms come before it, but for one in fifty. Without timers such a sample is late whenever the sampling
/// thread gets no processor at once.
pub const HORIZON: Duration = Duration::from_millis(40);

/// Walks that are at least this far apart find the processor's caches cold. For others, a prefetch takes longer than what
/// it saves.
const COLD_AFTER: Duration = Duration::from_millis(4);

/// The timed walks of one thread.
pub struct TimedWalks {
    stops: StopTimers<ThreadSide>,
    /// When the walks are to be collected.
    until: Instant,
    /// What the buffers have allocated, in bytes.
    memory: usize,
}

impl MallocSizeOf for TimedWalks {
    fn size_of(&self, _: &mut MallocSizeOfOps) -> usize {
        self.memory
    }
}

/// A walk that was asked for.
pub struct TimedWalk {
    /// The time at which it was to be done.
    pub due: Instant,
    /// The frames, once it is done.
    pub buffer: StackBuffer,
    /// The time before the walk, which may be much later than that for which it was asked, and its result. `None` until the
    /// thread has done it.
    pub finished: Option<(Instant, FinishedWalk)>,
    /// Whether the thread has left it out, because it had not run for as long as it stood still.
    pub is_skipped: bool,
}

/// The times at which walks are asked for.
pub struct Asked<'a> {
    /// At least two, and no more than [`MAX_TIMED_WALKS`].
    pub due: &'a [Instant],
    /// Their mean distance.
    pub interval: Duration,
    /// The thread must not stand still before this.
    pub runs_until: Instant,
}

impl TimedWalk {
    fn new() -> Self {
        Self {
            due: Instant::now(),
            buffer: StackBuffer::new(),
            finished: None,
            is_skipped: false,
        }
    }

    /// Whether it is due and has not been done.
    pub fn is_late(&self) -> bool {
        self.finished.is_none() && !self.is_skipped && self.due <= Instant::now()
    }
}

/// What the stopped thread uses.
struct ThreadSide {
    context: SampledContext,
    activity: SharedActivity,
    /// `None` while no walk is asked for.
    known: Option<Arc<KnownFunctions>>,
    /// The walk that has found the last stack.
    base: Option<WalkNumber>,
    unwinder: Unwinder,
    /// Whether the processor's caches have little of the last walk when the next one begins.
    is_cold: bool,
    /// What each of the walks needs, if the caches are cold.
    lines: NeededLines,
    walks: Vec<TimedWalk>,
    /// The number of walks that are asked for, which are the first ones.
    count: usize,
    /// The thread must not stand still before this.
    runs_until: Instant,
}

impl ThreadSide {
    /// Finds out what each of the walks needs.
    fn gather_lines(&mut self) {
        self.lines.clear();
        if let Some(known) = self.known.as_deref() {
            known.add_to(&mut self.lines);
        }
        for walk in &self.walks[..self.count] {
            self.lines.add(walk);
        }
        self.unwinder.add_to(&mut self.lines);
    }

    /// In bytes.
    fn memory(&self) -> usize {
        let buffers = self.walks.iter().map(|walk| walk.buffer.memory());
        self.unwinder.memory() + self.lines.memory() + buffers.sum::<usize>()
    }
}

impl Task for ThreadSide {
    fn run(&mut self, stopped: &Stopped) {
        let time = CrossProcessInstant::now();
        if self.is_cold {
            self.lines.prefetch();
        }
        let now = Instant::now();
        let asked = &mut self.walks[..self.count];
        // Earlier walks that were not done are missed.
        let Some(walk) = asked.iter_mut().rfind(|walk| walk.due <= now) else {
            return;
        };
        if walk.due < self.runs_until {
            walk.is_skipped |= walk.finished.is_none();
            return;
        }
        let Some(known) = self.known.as_deref().filter(|_| walk.finished.is_none()) else {
            return;
        };
        let request = WalkRequest {
            context: &self.context,
            activity: &self.activity,
            known,
            base: self.base,
        };
        let finished = request.walk(time, stopped, &mut self.unwinder, &mut walk.buffer);
        self.base = walk.buffer.number();
        walk.finished = Some((now, finished));
        self.runs_until = Instant::now() + run_after(finished.duration);
    }
}

impl TimedWalks {
    /// Walks of this thread, which runs the JavaScript of `context`. None are asked for yet.
    ///
    /// # Errors
    ///
    /// As for [`StopTimers::new`].
    pub fn new(
        thread: Thread,
        context: SampledContext,
        activity: SharedActivity,
    ) -> io::Result<Self> {
        let walks: Vec<_> = (0..MAX_TIMED_WALKS).map(|_| TimedWalk::new()).collect();
        let side = ThreadSide {
            context,
            activity,
            known: None,
            base: None,
            unwinder: Unwinder::new(),
            is_cold: false,
            lines: NeededLines::default(),
            walks,
            count: 0,
            runs_until: Instant::now(),
        };
        Ok(Self {
            memory: side.memory(),
            stops: StopTimers::new(thread, MAX_TIMED_WALKS, side)?,
            until: Instant::now(),
        })
    }

    /// When the walks that are asked for are to be collected. `None` if none are.
    pub fn until(&self) -> Option<Instant> {
        self.stops.is_armed().then_some(self.until)
    }

    /// Asks the thread to walk its stack at these times.
    /// `base` is the walk that has found the last stack, if it was for the same audience.
    ///
    /// # Errors
    ///
    /// If the thread cannot be told, because the signal's handler was replaced or a timer cannot be set.
    pub fn ask(
        &mut self,
        asked: Asked<'_>,
        known: Arc<KnownFunctions>,
        base: Option<WalkNumber>,
        audience: &Audience,
    ) -> Result<(), StopError> {
        let Asked {
            due,
            interval,
            runs_until,
        } = asked;
        let last = due.last().expect("there are at least two times");
        // The last walk may be this late.
        self.until = *last + interval / 2;
        let side = self.stops.disarm();
        side.is_cold = interval >= COLD_AFTER;
        side.known = Some(known);
        side.base = base;
        side.count = due.len();
        side.runs_until = runs_until;
        side.unwinder.prepare(NativeCode::current());
        for (walk, &due) in side.walks.iter_mut().zip(due) {
            walk.due = due;
            walk.finished = None;
            walk.is_skipped = false;
            audience.apply(&mut walk.buffer);
        }
        if side.is_cold {
            side.gather_lines();
        }
        self.memory = side.memory();
        self.stops.arm(due.iter().copied())
    }

    /// The walks that were asked for last, in their order. The thread does no more of them.
    pub fn finish(&mut self) -> &mut [TimedWalk] {
        let side = self.stops.disarm();
        side.known = None;
        &mut side.walks[..side.count]
    }
}
