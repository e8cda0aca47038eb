/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The trace: what a session hands over when it ends.
//!
//! Its shape is that of the `ProfilerTrace` dictionary of
//! <https://wicg.github.io/js-self-profiling/#the-profilertrace-dictionary>.

use malloc_size_of_derive::MallocSizeOf;
use serde::{Deserialize, Serialize};
use servo_base::cross_process_instant::CrossProcessInstant;

/// Interned tables and the samples that refer to them by index.
#[derive(Clone, Debug, Default, Deserialize, MallocSizeOf, PartialEq, Serialize)]
pub struct Trace {
    /// URLs of scripts, each once.
    pub resources: Vec<String>,
    /// Functions and top-level scripts, each once.
    pub frames: Vec<Frame>,
    /// A trie: a stack's parent stands before it.
    pub stacks: Vec<Stack>,
    /// In the order of time.
    pub samples: Vec<Sample>,
    pub counts: SampleCounts,
}

/// <https://wicg.github.io/js-self-profiling/#the-profilerframe-dictionary>
#[derive(Clone, Debug, Deserialize, Eq, Hash, MallocSizeOf, PartialEq, Serialize)]
pub struct Frame {
    /// The function's own name; empty for an anonymous function and for top-level script.
    pub name: String,
    /// Index into [`Trace::resources`]; absent for what is defined in no script with a URL.
    pub resource_id: Option<u32>,
    /// 1-based line of the definition.
    pub line: Option<u32>,
    /// 1-based column of the definition, in UTF-16 code units.
    pub column: Option<u32>,
}

/// <https://wicg.github.io/js-self-profiling/#the-profilerstack-dictionary>
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, MallocSizeOf, PartialEq, Serialize)]
pub struct Stack {
    /// Index of the caller's stack in [`Trace::stacks`]; absent at the root.
    pub parent_id: Option<u32>,
    /// Index into [`Trace::frames`].
    pub frame_id: u32,
}

/// <https://wicg.github.io/js-self-profiling/#the-profilersample-dictionary>
#[derive(Clone, Copy, Debug, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub struct Sample {
    /// When the thread was stopped, on the clock of `performance.now()` (not coarsened).
    pub time: CrossProcessInstant,
    /// Index of the leaf's stack in [`Trace::stacks`]; absent where none may be shown.
    pub stack_id: Option<u32>,
    /// What the thread was doing; absent if it was idle, and where it may not be shown.
    pub marker: Option<Marker>,
}

/// What the browser was doing when a sample was taken: `ProfilerMarker` of
/// <https://github.com/WICG/js-self-profiling/blob/main/markers.md>.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, MallocSizeOf, PartialEq, Serialize)]
pub enum Marker {
    /// Compiling or running script.
    Script,
    /// Collecting garbage. The stack is what is still there of the last one before.
    Gc,
    /// Matching selectors and computing style.
    Style,
    /// Building boxes and fragments.
    Layout,
    /// Building what is painted: stacking contexts and display lists.
    Paint,
    /// Anything else, such as parsing or handling a message.
    Other,
}

impl Marker {
    pub const ALL: [Self; 6] = [
        Self::Script,
        Self::Gc,
        Self::Style,
        Self::Layout,
        Self::Paint,
        Self::Other,
    ];

    /// The value of the enumeration that pages see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Script => "script",
            Self::Gc => "gc",
            Self::Style => "style",
            Self::Layout => "layout",
            Self::Paint => "paint",
            Self::Other => "other",
        }
    }
}

/// How a session's ticks went.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub struct SampleCounts {
    /// Samples in the trace.
    pub taken: u64,
    /// Ticks that passed without a sample: the sampling thread came too late, or the event loop's
    /// thread did not stop in time.
    pub missed: u64,
    /// Samples taken while garbage was collected: their stack is what was still there of the last
    /// one before.
    pub collecting: u64,
    /// Samples whose stack could not be walked, because the engine forbade it (it was changing its
    /// tables of code) or the walk found a contradiction. Their stack is what was still there of the
    /// last one before; where nothing was, there is no sample.
    pub unwalkable: u64,
    /// Samples whose stack was deeper than [`max_stack_depth`](crate::preferences::max_stack_depth).
    pub truncated: u64,
}
