/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What is known about an event loop's stack: the last stack that was walked, and the functions that have
//! been seen.

use std::mem::swap;
use std::sync::Arc;

use js_profiler_traits::RealmId;
use js_profiler_traits::activity::Activity;
use malloc_size_of_derive::MallocSizeOf;
use servo_base::cross_process_instant::CrossProcessInstant;

use super::walk::FinishedWalk;
use crate::function_table::{Function, FunctionTable};
use crate::outcome::Outcome;
use crate::sample::{FunctionStack, Sample, StackFrame};
use crate::sampled_activity::SampledActivity;
use crate::spidermonkey::{
    FrameKind, KnownFunctions, StackBuffer, WalkNumber, WalkOutcome, WalkedPart,
};

/// The last stack, from the root to the leaf, if it was walked. The next walk only says which of its frames are still there.
#[derive(Default, MallocSizeOf)]
pub struct LastStack {
    seen: FunctionTable,
    frames: Vec<StackFrame>,
    /// The walk that has found exactly these frames.
    number: Option<WalkNumber>,
    /// The frames before them, while they are needed.
    before: Vec<StackFrame>,
    /// The number of functions, counted from the leaf, between which nothing was left out. The functions
    /// before them are only for pages.
    complete: usize,
    /// Whether the stack had more frames than the `complete` ones.
    complete_truncated: bool,
    /// Whether the stack had more frames than all that are here.
    truncated: bool,
}

impl LastStack {
    /// All functions that have been on a stack of this event loop, in the order of their ids.
    pub fn seen_functions(&self) -> &[Function] {
        self.seen.functions()
    }

    /// The functions whose text the next walk need not write.
    pub fn known_functions(&self) -> &Arc<KnownFunctions> {
        self.seen.known()
    }

    /// The walk that has found this stack; `None` if none has, or if the frames are not all that it has found.
    pub fn number(&self) -> Option<WalkNumber> {
        self.number
    }

    /// Forgets the stack: no JavaScript is running, or it is not known which.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.number = None;
        self.complete = 0;
        self.complete_truncated = false;
        self.truncated = false;
    }

    /// Makes the result of a walk, whose frames are in `buffer`, the last known stack, and returns the sample
    /// that shows it. `realms` are those of the pages that have sessions.
    pub fn take(
        &mut self,
        walk: &FinishedWalk,
        buffer: &StackBuffer,
        realms: &[RealmId],
    ) -> Sample<'_> {
        if walk.outcome != WalkOutcome::Stack {
            self.clear();
        }
        let outcome = match walk.outcome {
            WalkOutcome::Idle => Outcome::Idle,
            WalkOutcome::Collecting => Outcome::Collecting,
            WalkOutcome::Unwalkable(_) => Outcome::Unwalkable,
            WalkOutcome::Missed(why) => Outcome::Missed(why),
            WalkOutcome::Stack => match self.intern(buffer, realms) {
                true => Outcome::Stack,
                false => {
                    self.clear();
                    Outcome::Unwalkable
                },
            },
        };
        self.sample(walk, outcome)
    }

    /// Makes the frames in `buffer` the last stack. False if the text of a new function did not fit, or if the walk was
    /// based on a stack that is not here, because that was so of an earlier walk. The functions whose text did fit are known
    /// nevertheless, so that the next walk has room for others.
    fn intern(&mut self, buffer: &StackBuffer, realms: &[RealmId]) -> bool {
        swap(&mut self.frames, &mut self.before);
        self.frames.clear();
        let is_based = self.number.is_some() && self.number == buffer.base();
        let mut has_all = true;
        for part in buffer.parts() {
            match part {
                WalkedPart::Frame(frame) => {
                    let frame = self.seen.get_or_insert(&frame, realms);
                    has_all &= frame.is_some();
                    self.frames.extend(
                        frame.map(|(function, position)| StackFrame { function, position }),
                    );
                },
                WalkedPart::Same { .. } if !is_based => has_all = false,
                WalkedPart::Same { first, count } => {
                    let end = self.before.len() - first;
                    self.frames
                        .extend_from_slice(&self.before[end - count..end]);
                },
            }
        }
        if !has_all {
            return false;
        }
        self.number = buffer.number();
        self.complete = buffer.complete();
        self.complete_truncated = buffer.complete_truncated();
        self.truncated = buffer.truncated();
        true
    }

    /// The sample of a walk, after which this is the last stack.
    fn sample(&self, walk: &FinishedWalk, outcome: Outcome) -> Sample<'_> {
        let functions = self.seen.functions();
        // A native function belongs to no realm. It runs for the code that has called it.
        let innermost = self.frames.iter().rev();
        let leaf = innermost
            .map(|frame| &functions[frame.function.index()])
            .find(|function| function.kind != FrameKind::Native);
        Sample {
            time: walk.time,
            outcome,
            activity: SampledActivity::of_sample(
                outcome,
                walk.activity,
                leaf.map(|function| function.realm),
            ),
            for_pages: FunctionStack {
                frames: &self.frames,
                truncated: self.truncated,
            },
            everything: FunctionStack {
                frames: &self.frames[self.frames.len() - self.complete..],
                truncated: self.complete_truncated,
            },
            functions,
        }
    }

    /// A sample without a stack, taken now.
    pub fn without_stack(&self, outcome: Outcome, activity: Activity) -> Sample<'_> {
        Sample {
            time: CrossProcessInstant::now(),
            outcome,
            activity: SampledActivity::of_sample(outcome, activity, None),
            for_pages: FunctionStack::default(),
            everything: FunctionStack::default(),
            functions: self.seen.functions(),
        }
    }
}
