/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The next walks of a thread, which it does by itself when their time has come, so that the sampling thread
//! need not be awake at every tick: it collects several walks at once, and asks for the next ones.
//!
//! That is for threads that are busy and stop when they should. What is known of a thread that is idle needs no
//! stop, and one that does not stop is waited for: see `sampled_loop.rs`.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use js_profiler_traits::activity::SharedActivity;
use malloc_size_of::{MallocSizeOf, MallocSizeOfOps};

use crate::spidermonkey::{FramePlace, KnownFunctions, SampledContext, StackBuffer, Walk};
use crate::stop::{StopError, Stopped, Thread, TimedStops, TimedWork};
use crate::walked::{Audience, ToWalk, Walked};

/// So many walks are asked for at once, at most.
pub const MAX_AHEAD: usize = 4;

/// None is asked for that is later than this: a thread that has become idle is disturbed for so long.
pub const HORIZON: Duration = Duration::from_millis(5);

pub struct Ahead {
    stops: TimedStops<Walks>,
    /// When the walks are to be collected.
    until: Instant,
    /// What the buffers have allocated, in bytes.
    memory: usize,
}

impl MallocSizeOf for Ahead {
    fn size_of(&self, _: &mut MallocSizeOfOps) -> usize {
        self.memory
    }
}

/// A walk that is asked for.
pub struct WalkAhead {
    pub tick: u64,
    due: Instant,
    pub buffer: StackBuffer,
    /// None while it has not been done.
    pub walked: Option<Walked>,
}

impl WalkAhead {
    fn new() -> Self {
        Self {
            tick: 0,
            due: Instant::now(),
            buffer: StackBuffer::new(),
            walked: None,
        }
    }

    /// Whether it should have been done, and was not.
    pub fn is_late(&self) -> bool {
        self.walked.is_none() && self.due <= Instant::now()
    }
}

/// What the thread has.
struct Walks {
    context: SampledContext,
    activity: SharedActivity,
    /// None while nothing is asked for.
    known: Option<Arc<KnownFunctions>>,
    /// Of the last stack that is known.
    places: Vec<FramePlace>,
    walks: Vec<WalkAhead>,
    /// Of the walks, so many are asked for.
    count: usize,
}

impl Walks {
    /// In bytes.
    fn memory(&self) -> usize {
        let buffers = self.walks.iter().map(|walk| walk.buffer.memory());
        self.places.capacity() * size_of::<FramePlace>() + buffers.sum::<usize>()
    }
}

impl TimedWork for Walks {
    fn run(&mut self, stopped: &Stopped) {
        let now = Instant::now();
        let asked = &mut self.walks[..self.count];
        // Those before it, if they have not been done, are missed.
        let Some(walk) = asked.iter_mut().rfind(|walk| walk.due <= now) else {
            return;
        };
        let Some(known) = self.known.as_deref().filter(|_| walk.walked.is_none()) else {
            return;
        };
        let to_walk = ToWalk {
            context: &self.context,
            activity: &self.activity,
            known,
            places: &self.places,
        };
        let walked = to_walk.walk(stopped, &mut walk.buffer, || {});
        match walked.walk {
            Walk::Stack => {
                self.places.clear();
                // There is room for as many as a buffer has.
                let room = self.places.capacity();
                let places = walk.buffer.frames().map(|frame| frame.place());
                self.places.extend(places.take(room));
            },
            _ => self.places.truncate(walked.kept),
        }
        walk.walked = Some(walked);
    }
}

impl Ahead {
    pub fn new(
        thread: Thread,
        context: SampledContext,
        activity: SharedActivity,
    ) -> io::Result<Self> {
        let walks: Vec<_> = (0..MAX_AHEAD).map(|_| WalkAhead::new()).collect();
        let walks = Walks {
            context,
            activity,
            known: None,
            places: Vec::with_capacity(walks[0].buffer.capacity()),
            walks,
            count: 0,
        };
        Ok(Self {
            memory: walks.memory(),
            stops: TimedStops::new(thread, MAX_AHEAD, walks)?,
            until: Instant::now(),
        })
    }

    /// When the walks that are asked for are to be collected.
    pub fn until(&self) -> Option<Instant> {
        self.stops.is_armed().then_some(self.until)
    }

    /// Has the thread walk its stack at these ticks, which are due at these times: at least two, and no more
    /// than [`MAX_AHEAD`]. `places` are of the last stack that is known.
    pub fn ask(
        &mut self,
        due: &[(u64, Instant)],
        known: Arc<KnownFunctions>,
        places: &[FramePlace],
        audience: &Audience,
    ) -> Result<(), StopError> {
        let [.., (_, last_but_one), (_, last)] = due else {
            panic!("fewer than two ticks");
        };
        // The last one may be as late as that.
        self.until = *last + (*last - *last_but_one) / 2;
        let walks = self.stops.disarm();
        walks.known = Some(known);
        walks.places.clear();
        walks.places.extend_from_slice(places);
        walks.count = due.len();
        for (walk, &(tick, due)) in walks.walks.iter_mut().zip(due) {
            walk.tick = tick;
            walk.due = due;
            walk.walked = None;
            walk.buffer.clear();
            audience.apply(&mut walk.buffer);
        }
        let capacities = walks.walks.iter().map(|walk| walk.buffer.capacity());
        let room = capacities.max().unwrap_or_default();
        walks
            .places
            .reserve(room.saturating_sub(walks.places.len()));
        self.memory = walks.memory();
        self.stops.arm(due.iter().map(|(_, time)| *time))
    }

    /// The walks that were asked for, in their order. The thread does no more of them.
    pub fn collect(&mut self) -> &mut [WalkAhead] {
        let walks = self.stops.disarm();
        walks.known = None;
        &mut walks.walks[..walks.count]
    }
}
