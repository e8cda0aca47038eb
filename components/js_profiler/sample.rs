/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A sample of an event loop: what was found on its thread, before it is filtered for a session or recording.

use malloc_size_of_derive::MallocSizeOf;
use servo_base::cross_process_instant::CrossProcessInstant;

use crate::function_table::{Function, FunctionId};
use crate::outcome::Outcome;
use crate::sampled_activity::SampledActivity;
use crate::spidermonkey::Position;

/// A function on a stack.
#[derive(Clone, Copy, Debug, Eq, Hash, MallocSizeOf, PartialEq)]
pub struct StackFrame {
    /// Index into the table of functions.
    pub function: FunctionId,
    /// What it was executing, at the leaf, or calling.
    pub position: Position,
}

/// The functions on a stack, from the root to the leaf.
#[derive(Clone, Copy, Debug, Default)]
pub struct FunctionStack<'a> {
    /// The frames. A frame is called by the one before it, unless frames between them were left out.
    pub frames: &'a [StackFrame],
    /// Whether frames at the root end are missing.
    pub truncated: bool,
}

impl FunctionStack<'_> {
    /// The same stack, cut to `most_frames` frames from the leaf.
    pub fn innermost(self, most_frames: usize) -> Self {
        let left_out = self.frames.len().saturating_sub(most_frames);
        Self {
            frames: &self.frames[left_out..],
            truncated: self.truncated || left_out > 0,
        }
    }
}

/// A sample of an event loop, which its sessions and its recording share.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    /// When the thread was stopped or found idle.
    pub time: CrossProcessInstant,
    /// How the sample went.
    pub outcome: Outcome,
    /// What the event loop was doing; `None` if it was idle.
    pub activity: Option<SampledActivity>,
    /// The frames that pages may see are among these. Others may have been left out.
    pub for_pages: FunctionStack<'a>,
    /// The innermost frames of all realms, with nothing left out between them.
    pub everything: FunctionStack<'a>,
    /// All functions that are known, to be indexed by [`FunctionId::index`].
    pub functions: &'a [Function],
}
