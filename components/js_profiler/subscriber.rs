/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What a session and a recording have in common: when samples are due, what was missed, and the ids of what they see
//! of a stack.

use std::num::NonZeroU32;

use js_profiler_traits::{Marker, SampleCounts};
use malloc_size_of_derive::MallocSizeOf;
use rustc_hash::FxHashMap;

use crate::function_table::{Function, FunctionId};
use crate::outcome::Outcome;
use crate::sample::Sample;
use crate::schedule::Schedule;
use crate::visibility::Visibility;

#[derive(MallocSizeOf)]
pub struct Subscriber {
    schedule: Schedule,
    visibility: Visibility,
    counts: SampleCounts,
    /// The id of each function's frame; none for one that may not be seen.
    frames: FxHashMap<FunctionId, Option<u32>>,
    /// The functions of the last stack, from the root to the leaf.
    last_stack: Vec<Step>,
}

/// A function of a stack that has been looked up, and the stack up to there.
#[derive(MallocSizeOf)]
struct Step {
    function: FunctionId,
    stack_id: Option<u32>,
    is_seen_script: bool,
}

/// Where frames and stacks get their ids: those that are there are found, and new ones are added.
pub trait StackTables {
    fn frame(&mut self, function: &Function) -> u32;

    /// The id of the stack whose leaf is `frame_id`, called from the stack `parent_id`.
    fn stack(&mut self, parent_id: Option<u32>, frame_id: u32) -> u32;
}

impl Subscriber {
    pub fn new(visibility: Visibility, interval: NonZeroU32, current_tick: u64) -> Self {
        Self {
            schedule: Schedule::new(interval, current_tick),
            visibility,
            counts: SampleCounts::default(),
            frames: FxHashMap::default(),
            last_stack: Vec::new(),
        }
    }

    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    pub fn counts(&self) -> SampleCounts {
        self.counts
    }

    pub fn set_paused(&mut self, is_paused: bool, current_tick: u64) {
        self.schedule.set_paused(is_paused, current_tick);
    }

    /// It takes no more samples.
    pub fn end(&mut self) {
        self.schedule.end();
    }

    /// Moves on to a tick. What was due before it is missed.
    pub fn advance(&mut self, tick: u64) {
        self.counts.missed += self.schedule.advance(tick);
    }

    /// A sample that was due is missed.
    pub fn miss(&mut self) {
        self.counts.missed += 1;
    }

    /// A sample that was due would have shown nothing, because its stack is not known.
    pub fn leave_out_unwalkable(&mut self) {
        self.counts.unwalkable += 1;
    }

    /// Counts a sample, and gives what may be seen of it: the id of its stack and its marker.
    pub fn see(
        &mut self,
        sample: &Sample<'_>,
        tables: &mut impl StackTables,
    ) -> (Option<u32>, Option<Marker>) {
        let counts = &mut self.counts;
        counts.taken += 1;
        counts.unwalkable += u64::from(sample.outcome == Outcome::Unwalkable);
        counts.collecting += u64::from(sample.outcome == Outcome::Collecting);
        let stack_id = match sample.outcome {
            Outcome::Idle => None,
            _ => {
                let stack = self.visibility.stack(sample);
                counts.truncated += u64::from(stack.truncated);
                self.stack_id(stack.functions, sample.functions, tables)
            },
        };
        (stack_id, self.visibility.marker(sample))
    }

    /// <https://wicg.github.io/js-self-profiling/#dfn-get-a-stack-id>
    ///
    /// The recursion of the specification, from the root: an empty stack has no id, and a frame that has none is passed
    /// over.
    fn stack_id(
        &mut self,
        stack: &[FunctionId],
        functions: &[Function],
        tables: &mut impl StackTables,
    ) -> Option<u32> {
        // What the stack has in common with the last one has been looked up.
        let pairs = self.last_stack.iter().zip(stack);
        let common = pairs.take_while(|(step, id)| step.function == **id).count();
        self.last_stack.truncate(common);
        let (mut stack_id, mut called_by_seen_script) = match self.last_stack.last() {
            Some(step) => (step.stack_id, step.is_seen_script),
            None => (None, false),
        };
        for &id in &stack[common..] {
            let function = &functions[id.index()];
            let is_built_in = function.is_built_in();
            let frame_id =
                if !is_built_in || called_by_seen_script || self.visibility.sees_all_built_ins() {
                    self.frame_id(id, function, tables)
                } else {
                    None
                };
            if let Some(frame_id) = frame_id {
                stack_id = Some(tables.stack(stack_id, frame_id));
            }
            called_by_seen_script = !is_built_in && frame_id.is_some();
            self.last_stack.push(Step {
                function: id,
                stack_id,
                is_seen_script: called_by_seen_script,
            });
        }
        stack_id
    }

    fn frame_id(
        &mut self,
        id: FunctionId,
        function: &Function,
        tables: &mut impl StackTables,
    ) -> Option<u32> {
        let visibility = &self.visibility;
        let frame_id = || visibility.sees(function).then(|| tables.frame(function));
        *self.frames.entry(id).or_insert_with(frame_id)
    }

    /// The frames of these functions have to be made again.
    pub fn forget_frames(&mut self, is_stale: impl Fn(FunctionId) -> bool) {
        self.frames.retain(|&id, _| !is_stale(id));
        self.last_stack.clear();
    }

    /// The tables that gave the ids are gone.
    pub fn forget_ids(&mut self) {
        self.frames = FxHashMap::default();
        self.last_stack.clear();
    }
}
