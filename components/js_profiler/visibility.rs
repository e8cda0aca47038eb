/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What a session or a recording may see of a sample.

use js_profiler_traits::{Marker, RealmId};
use malloc_size_of_derive::MallocSizeOf;

use crate::function_table::Function;
use crate::sample::{FunctionStack, Sample};
use crate::spidermonkey::FrameKind;
use crate::work::MarkerFilter;

/// Readers of profiles have a bound: deeper stacks lose their frames at the root end.
pub const MOST_FRAMES: usize = 8_192;

#[derive(MallocSizeOf)]
pub enum Visibility {
    /// What a page may see that started its session in this realm.
    Page {
        realm: RealmId,
        markers: MarkerFilter,
    },
    /// Everything, for people who work on the engine.
    Everything,
}

impl Visibility {
    /// The functions among which those are that it may see.
    pub fn stack<'a>(&self, sample: &Sample<'a>) -> FunctionStack<'a> {
        match self {
            Self::Page { .. } => sample.for_pages,
            Self::Everything => sample.everything.innermost(MOST_FRAMES),
        }
    }

    pub fn marker(&self, sample: &Sample<'_>) -> Option<Marker> {
        match self {
            Self::Page { realm, markers } => markers.marker(sample.work, *realm),
            Self::Everything => sample.work.map(|work| work.marker),
        }
    }

    /// Whether a built-in is seen wherever it is called. Otherwise it is seen only where a script has called it that is
    /// seen: what hidden code calls says what it does, and what a built-in calls is its own affair.
    pub fn sees_all_built_ins(&self) -> bool {
        matches!(self, Self::Everything)
    }

    /// Whether a function may be seen, a built-in as far as its caller is.
    /// <https://wicg.github.io/js-self-profiling/#dfn-get-a-frame-id>
    pub fn sees(&self, function: &Function) -> bool {
        // The helpers of built-ins are not the page's, nor of interest to others.
        let is_helper = function.kind == FrameKind::SelfHosted && !function.is_built_in();
        match self {
            _ if is_helper => false,
            Self::Everything => true,
            // Step 1. If the realm associated with context does not match the realm that created the
            // profiling session, return undefined.
            // A native of the caller's realm has no realm of its own, nor has one that has called something, for it
            // cannot be told any more. Natives of all realms are alike.
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
