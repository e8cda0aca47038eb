/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A sample of an event loop, before anybody's view of it: what was found on its thread.

use js_profiler_traits::activity::Activity;
use servo_base::cross_process_instant::CrossProcessInstant;

use crate::function_table::{Function, FunctionId};
use crate::outcome::Outcome;
use crate::work::Work;

/// What was found, but for the stack.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub time: CrossProcessInstant,
    pub outcome: Outcome,
    pub activity: Activity,
}

impl Found {
    /// Of now, with an outcome that needs no stopped thread.
    pub fn now(outcome: Outcome, activity: Activity) -> Self {
        Self {
            time: CrossProcessInstant::now(),
            outcome,
            activity,
        }
    }
}

/// The functions on a stack, from the root to the leaf.
#[derive(Clone, Copy, Debug, Default)]
pub struct FunctionStack<'a> {
    pub functions: &'a [FunctionId],
    /// Whether frames at the root end are missing.
    pub truncated: bool,
}

impl FunctionStack<'_> {
    /// Without what is beyond so many frames from the leaf.
    pub fn innermost(self, most_frames: usize) -> Self {
        let left_out = self.functions.len().saturating_sub(most_frames);
        Self {
            functions: &self.functions[left_out..],
            truncated: self.truncated || left_out > 0,
        }
    }
}

#[derive(Clone, Copy)]
pub struct Sample<'a> {
    pub time: CrossProcessInstant,
    pub outcome: Outcome,
    pub work: Option<Work>,
    /// What pages may see of the stack is among this.
    pub for_pages: FunctionStack<'a>,
    /// The innermost frames of all realms, none left out.
    pub everything: FunctionStack<'a>,
    /// All functions that are known, to be indexed by [`FunctionId::index`].
    pub functions: &'a [Function],
}
