/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What sessions and recordings have in common: when samples are due, how many were missed, and the ids of
//! what they may see of a stack.

use js_profiler_traits::recording::{MissedReason, RecordedMissed};
use js_profiler_traits::{Marker, SampleCounts};
use malloc_size_of_derive::MallocSizeOf;
use rustc_hash::FxHashMap;
use servo_base::cross_process_instant::CrossProcessInstant;

use crate::function_table::{Function, FunctionId};
use crate::missed_stretch::MissedStretch;
use crate::outcome::Outcome;
use crate::sample::{Sample, StackFrame};
use crate::schedule::Schedule;
use crate::visibility::Visibility;

/// The part of a session or recording that gets samples.
#[derive(MallocSizeOf)]
pub struct Subscriber {
    /// When samples are due.
    pub schedule: Schedule,
    /// How the samples have gone so far.
    pub counts: SampleCounts,
    visibility: Visibility,
    missed: MissedStretch,
    /// The id of each frame; `None` if the function may not be seen.
    frames: FxHashMap<StackFrame, Option<u32>>,
    /// The functions of the last stack, from the root to the leaf.
    last_stack: Vec<Step>,
}

/// A function of a stack that has been looked up, with the id of the stack that ends with it.
#[derive(MallocSizeOf)]
struct Step {
    frame: StackFrame,
    stack_id: Option<u32>,
    is_seen_script: bool,
    /// The youngest function that is seen so far, if it stands for functions for which there is no room.
    other: Option<FunctionId>,
}

/// Tables that give ids to frames and stacks. An equal entry is found again, and a new one is added.
pub trait StackTables {
    /// The id of `frame`, which is a frame of `function`.
    fn frame(&mut self, frame: StackFrame, function: &Function) -> u32;

    /// The id of the stack whose leaf is `frame_id`, called from the stack `parent_id`. `None` if there is no room for it.
    fn stack(&mut self, parent_id: Option<u32>, frame_id: u32) -> Option<u32>;

    /// The id of the stack that stands for those for which there is no room. It has one frame, which stands for functions.
    fn other_stack(&mut self) -> u32;
}

impl Subscriber {
    /// A subscriber that has not seen anything yet.
    pub fn new(visibility: Visibility, schedule: Schedule) -> Self {
        Self {
            schedule,
            counts: SampleCounts::default(),
            visibility,
            missed: MissedStretch::new(),
            frames: FxHashMap::default(),
            last_stack: Vec::new(),
        }
    }

    /// Moves on to `tick`. Samples that were due before it are counted as missed, for the reason `why_late`.
    pub fn advance(&mut self, tick: u64, why_late: MissedReason) {
        let missed = self.schedule.advance(tick);
        self.miss(why_late, missed);
    }

    /// Whether a sample is missed. If it is, it is counted.
    pub fn misses(&mut self, sample: &Sample<'_>) -> bool {
        let Outcome::Missed(why) = sample.outcome else {
            return false;
        };
        self.miss(why, 1);
        true
    }

    fn miss(&mut self, why: MissedReason, samples: u64) {
        self.counts.missed += samples;
        self.missed.add(why, samples);
    }

    /// What was missed until `end`, since the `end` of the last call.
    pub fn missed_until(
        &mut self,
        end: CrossProcessInstant,
    ) -> impl Iterator<Item = RecordedMissed> + use<> {
        self.missed.end(end)
    }

    /// Counts a sample, and returns what may be seen of it: the id of its stack and its marker.
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
                self.stack_id(stack.frames, sample.functions, tables)
            },
        };
        (stack_id, self.visibility.marker(sample))
    }

    /// The id of a stack: <https://wicg.github.io/js-self-profiling/#dfn-get-a-stack-id>
    ///
    /// Does the recursion of the specification from the root. An empty stack has no id, and a frame without
    /// an id is skipped.
    fn stack_id(
        &mut self,
        stack: &[StackFrame],
        functions: &[Function],
        tables: &mut impl StackTables,
    ) -> Option<u32> {
        // The part that this stack has in common with the last one has been looked up.
        let pairs = self.last_stack.iter().zip(stack);
        let is_same = |step: &Step, frame| step.frame == self.visibility.frame(frame);
        let common = pairs
            .take_while(|(step, frame)| is_same(step, **frame))
            .count();
        self.last_stack.truncate(common);
        let (mut stack_id, mut called_by_seen_script, mut last_other) = match self.last_stack.last()
        {
            Some(step) => (step.stack_id, step.is_seen_script, step.other),
            None => (None, false, None),
        };
        for &frame in &stack[common..] {
            let frame = self.visibility.frame(frame);
            let function = &functions[frame.function.index()];
            let is_built_in = function.is_built_in();
            let frame_id =
                if !is_built_in || called_by_seen_script || self.visibility.sees_all_built_ins() {
                    self.frame_id(frame, function, tables)
                } else {
                    None
                };
            // Functions that call each other and for which there is no room are one frame.
            let other = (frame_id.is_some() && function.is_other()).then_some(frame.function);
            let is_repeated = other.is_some() && other == last_other;
            if let Some(frame_id) = frame_id.filter(|_| !is_repeated) {
                stack_id = tables.stack(stack_id, frame_id);
                if stack_id.is_none() {
                    // What is there of the stack would make its youngest function look busy.
                    self.last_stack.clear();
                    return Some(tables.other_stack());
                }
            }
            called_by_seen_script = !is_built_in && frame_id.is_some();
            if frame_id.is_some() {
                last_other = other;
            }
            self.last_stack.push(Step {
                frame,
                stack_id,
                is_seen_script: called_by_seen_script,
                other: last_other,
            });
        }
        stack_id
    }

    fn frame_id(
        &mut self,
        frame: StackFrame,
        function: &Function,
        tables: &mut impl StackTables,
    ) -> Option<u32> {
        let visibility = &self.visibility;
        let frame_id = || {
            visibility
                .sees(function)
                .then(|| tables.frame(frame, function))
        };
        *self.frames.entry(frame).or_insert_with(frame_id)
    }

    /// Forgets the ids of these functions' frames, which have to be made again.
    pub fn forget_frames(&mut self, is_stale: impl Fn(FunctionId) -> bool) {
        self.frames.retain(|frame, _| !is_stale(frame.function));
        self.last_stack.clear();
    }

    /// Forgets all ids, because the tables that they refer to are gone.
    pub fn forget_ids(&mut self) {
        self.frames = FxHashMap::default();
        self.last_stack.clear();
    }
}
