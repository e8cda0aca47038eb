/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What is known of the stack of an event loop: the last one that was walked, and the functions that were seen.

use std::sync::Arc;

use js_profiler_traits::activity::Activity;
use malloc_size_of_derive::MallocSizeOf;
use servo_base::cross_process_instant::CrossProcessInstant;

use crate::function_table::{Function, FunctionId, FunctionTable};
use crate::outcome::Outcome;
use crate::sample::{Found, FunctionStack, Sample};
use crate::spidermonkey::{FrameKind, FramePlace, KnownFunctions, StackBuffer, Walk};
use crate::walked::Walked;
use crate::work::Work;

/// The last known stack, from the root to the leaf. While a stack cannot be walked, those of its
/// frames that are still there stand for it.
#[derive(Default, MallocSizeOf)]
pub struct LastStack {
    seen: FunctionTable,
    functions: Vec<FunctionId>,
    /// Of each function's frame.
    places: Vec<FramePlace>,
    /// So many of them, from the leaf, are without anything left out. What is older is there for pages alone.
    complete: usize,
    /// Whether there were more than these.
    complete_truncated: bool,
    /// Whether there were more than all.
    truncated: bool,
}

impl LastStack {
    /// Of all stacks so far.
    pub fn seen_functions(&self) -> &[Function] {
        self.seen.functions()
    }

    pub fn known(&self) -> &Arc<KnownFunctions> {
        self.seen.known()
    }

    pub fn places(&self) -> &[FramePlace] {
        &self.places
    }

    /// No JavaScript is running.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    fn truncate(&mut self, length: usize) {
        let cut = self.functions.len().saturating_sub(length);
        self.complete = self.complete.saturating_sub(cut);
        self.functions.truncate(length);
        self.places.truncate(length);
    }

    /// Takes note of a walk, whose frames are in `buffer`. `made_by_muted` says of a function of WebAssembly whether a
    /// script whose errors are muted has made it.
    pub fn take(
        &mut self,
        walked: &Walked,
        buffer: &mut StackBuffer,
        made_by_muted: impl Fn(&Function) -> bool,
    ) -> Outcome {
        // What is left of a stack whose root is missing does not say how it goes on there.
        let is_cut = self.truncated && walked.kept < self.functions.len();
        self.truncate(if is_cut { 0 } else { walked.kept });
        match walked.walk {
            Walk::Idle => Outcome::Idle,
            Walk::Collecting if is_cut => Outcome::Unwalkable,
            Walk::Collecting => Outcome::Collecting,
            Walk::Unwalkable(_) => Outcome::Unwalkable,
            Walk::Stack => {
                let is_known = self.intern(buffer, made_by_muted);
                buffer.grow_text();
                match is_known {
                    true => Outcome::Stack,
                    false => {
                        self.clear();
                        Outcome::Unwalkable
                    },
                }
            },
        }
    }

    /// Makes what is in `buffer` the last stack. False if the text of a new function did not fit.
    fn intern(&mut self, buffer: &StackBuffer, made_by_muted: impl Fn(&Function) -> bool) -> bool {
        for frame in buffer.frames() {
            let Some(id) = self.seen.get_or_insert(&frame, &made_by_muted) else {
                return false;
            };
            self.functions.push(id);
            self.places.push(frame.place());
        }
        self.complete = buffer.complete();
        self.complete_truncated = buffer.complete_truncated();
        self.truncated = buffer.truncated();
        true
    }

    /// A sample with this stack.
    pub fn sample(&self, found: Found) -> Sample<'_> {
        let functions = self.seen.functions();
        // A native function is of no realm: it is whose code calls it that does the work.
        let innermost = self.functions.iter().rev();
        let leaf = innermost
            .map(|id| &functions[id.index()])
            .find(|function| function.kind != FrameKind::Native);
        Sample {
            time: found.time,
            outcome: found.outcome,
            work: Work::of_sample(
                found.outcome,
                found.activity,
                leaf.map(|function| function.realm),
            ),
            for_pages: FunctionStack {
                functions: &self.functions,
                truncated: self.truncated,
            },
            everything: FunctionStack {
                functions: &self.functions[self.functions.len() - self.complete..],
                truncated: self.complete_truncated,
            },
            functions,
        }
    }

    /// A sample of which no stack is to be known.
    pub fn sample_without_stack(&self, outcome: Outcome, activity: Activity) -> Sample<'_> {
        Sample {
            time: CrossProcessInstant::now(),
            outcome,
            work: Work::of_sample(outcome, activity, None),
            for_pages: FunctionStack::default(),
            everything: FunctionStack::default(),
            functions: self.seen.functions(),
        }
    }
}
