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
    /// The youngest frame that is seen so far, if it stands for functions for which there is no room.
    other: Option<u32>,
    /// Whether any frame so far does.
    has_other: bool,
}

/// Tables that give ids to frames and stacks. An equal entry is found again, and a new one is added.
pub trait StackTables {
    /// The id of `frame`, which is a frame of `function`.
    fn frame(&mut self, frame: StackFrame, function: &Function) -> u32;

    /// The id of the stack whose leaf is `frame_id`, called from the stack `parent_id`. `None` if there is no room for it.
    fn stack(&mut self, parent_id: Option<u32>, frame_id: u32) -> Option<u32>;

    /// The id of the stack that stands for those for which there is no room. It has one frame, which stands for functions.
    fn other_stack(&mut self) -> u32;

    /// Whether a frame stands for functions for which there is no room.
    fn is_other(&self, frame_id: u32) -> bool;

    /// Takes bytes for what the subscriber keeps. False if there are not so many left.
    fn take(&mut self, bytes: usize) -> bool;
}

/// What a row of [`Subscriber::frames`] takes: a hash table is half full at least.
const BYTES_OF_FRAME: usize = 2 * size_of::<(StackFrame, Option<u32>)>();

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

    /// Counts all samples that were due by `tick` as missed, except for the last one, which stays due.
    pub fn miss_before(&mut self, tick: u64, why: MissedReason) {
        let missed = self.schedule.miss_before(tick);
        self.miss(why, missed);
    }

    /// Moves on to `tick`, unless it is there. All samples that were due by then are missed, because walks took so long.
    pub fn skip(&mut self, tick: u64) {
        let missed = self.schedule.skip(tick);
        self.miss(MissedReason::LongWalks, missed);
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
                let (stack_id, has_other) = self.stack_id(stack.frames, sample.functions, tables);
                self.counts.other += u64::from(has_other);
                stack_id
            },
        };
        (stack_id, self.visibility.marker(sample))
    }

    /// The id of a stack: <https://wicg.github.io/js-self-profiling/#dfn-get-a-stack-id>
    ///
    /// Does the recursion of the specification from the root. An empty stack has no id, and a frame without
    /// an id is skipped. Also returns whether a frame stands for functions for which there is no room.
    fn stack_id(
        &mut self,
        stack: &[StackFrame],
        functions: &[Function],
        tables: &mut impl StackTables,
    ) -> (Option<u32>, bool) {
        // The part that this stack has in common with the last one has been looked up.
        let pairs = self.last_stack.iter().zip(stack);
        let is_same = |step: &Step, frame| step.frame == self.visibility.frame(frame);
        let common = pairs
            .take_while(|(step, frame)| is_same(step, **frame))
            .count();
        self.last_stack.truncate(common);
        let mut stack_id = None;
        let mut called_by_seen_script = false;
        let (mut last_other, mut has_other) = (None, false);
        if let Some(step) = self.last_stack.last() {
            (stack_id, called_by_seen_script) = (step.stack_id, step.is_seen_script);
            (last_other, has_other) = (step.other, step.has_other);
        }
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
            if let Some(frame_id) = frame_id {
                let is_other = function.is_other() || tables.is_other(frame_id);
                let other = is_other.then_some(frame_id);
                // Functions that call each other and for which there is no room are one frame.
                if other.is_none() || other != last_other {
                    stack_id = tables.stack(stack_id, frame_id);
                    if stack_id.is_none() {
                        // What is there of the stack would make its youngest function look busy.
                        self.last_stack.clear();
                        return (Some(tables.other_stack()), true);
                    }
                }
                last_other = other;
                has_other |= is_other;
            }
            called_by_seen_script = !is_built_in && frame_id.is_some();
            self.last_stack.push(Step {
                frame,
                stack_id,
                is_seen_script: called_by_seen_script,
                other: last_other,
                has_other,
            });
        }
        (stack_id, has_other)
    }

    fn frame_id(
        &mut self,
        frame: StackFrame,
        function: &Function,
        tables: &mut impl StackTables,
    ) -> Option<u32> {
        if let Some(&frame_id) = self.frames.get(&frame) {
            return frame_id;
        }
        let is_seen = self.visibility.sees(function);
        let frame_id = is_seen.then(|| tables.frame(frame, function));
        // Without room for it, the tables find it again.
        if tables.take(BYTES_OF_FRAME) {
            self.frames.insert(frame, frame_id);
        }
        frame_id
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
