/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What a session or a recording may see of a sample.

use js_profiler_traits::{Marker, RealmId};
use malloc_size_of_derive::MallocSizeOf;

use crate::function_table::Function;
use crate::sample::{FunctionStack, Sample, StackFrame};
use crate::sampled_activity::MarkerFilter;
use crate::spidermonkey::{FrameKind, Position};

/// The greatest number of frames that a recording shows of a stack, because readers of profiles have a limit. A
/// deeper stack loses frames at its root end.
pub const MOST_FRAMES: usize = 8_192;

/// What a session or a recording may see.
#[derive(MallocSizeOf)]
pub enum Visibility {
    /// What a page may see.
    Page {
        /// The realm in which the page has started its session.
        realm: RealmId,
        /// The markers that it may see.
        markers: MarkerFilter,
    },
    /// Everything. For people who work on the engine.
    Everything,
}

impl Visibility {
    /// The stack of a sample, with all functions that may be seen and perhaps with others.
    pub fn stack<'a>(&self, sample: &Sample<'a>) -> FunctionStack<'a> {
        match self {
            Self::Page { .. } => sample.for_pages,
            Self::Everything => sample.everything.innermost(MOST_FRAMES),
        }
    }

    /// The frame as the session or recording sees it. A page does not see what a function was executing.
    pub fn frame(&self, frame: StackFrame) -> StackFrame {
        match self {
            Self::Page { .. } => StackFrame {
                position: Position::UNKNOWN,
                ..frame
            },
            Self::Everything => frame,
        }
    }

    /// The marker of a sample; `None` if the event loop was idle, or if it may not see the marker.
    pub fn marker(&self, sample: &Sample<'_>) -> Option<Marker> {
        match self {
            Self::Page { realm, markers } => markers.marker(sample.activity, *realm),
            Self::Everything => sample.activity.map(|activity| activity.marker),
        }
    }

    /// Whether it sees a built-in wherever that is called. Otherwise it sees a built-in only if a script that
    /// it sees has called it: a call by hidden code would tell what that code does, and what a built-in calls
    /// is an implementation detail.
    pub fn sees_all_built_ins(&self) -> bool {
        matches!(self, Self::Everything)
    }

    /// Whether it may see a function. For a built-in that depends on the caller, too: see
    /// [`sees_all_built_ins`](Self::sees_all_built_ins).
    /// <https://wicg.github.io/js-self-profiling/#dfn-get-a-frame-id>
    pub fn sees(&self, function: &Function) -> bool {
        // The helpers of built-ins do not belong to the page, and do not interest others.
        let is_helper = function.kind == FrameKind::SelfHosted && !function.is_built_in();
        match self {
            _ if is_helper => false,
            Self::Everything => true,
            // Step 1. If the realm associated with context does not match the realm that created the
            // profiling session, return undefined.
            // A native has no realm if it belongs to its caller's realm. Nor has a native that has called
            // something, for its realm cannot be found then. The natives of all realms are alike, so both may
            // be seen.
            // Step 6. If script is a classic script and its muted errors boolean is equal to true,
            // return null.
            Self::Page { realm, .. } => {
                let is_native_of_callers =
                    function.kind == FrameKind::Native && function.realm == RealmId(0);
                (function.realm == *realm || is_native_of_callers) && !function.muted
            },
        }
    }
}
