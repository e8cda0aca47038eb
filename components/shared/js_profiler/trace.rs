/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The trace: what a session hands over when it ends.
//!
//! It has the shape of the `ProfilerTrace` dictionary:
//! <https://wicg.github.io/js-self-profiling/#the-profilertrace-dictionary>.

use std::num::NonZeroU32;

use malloc_size_of_derive::MallocSizeOf;
use serde::{Deserialize, Serialize};
use servo_base::cross_process_instant::CrossProcessInstant;

/// Interned tables and the samples that refer to them by index.
#[derive(Clone, Debug, Default, MallocSizeOf, PartialEq)]
pub struct Trace {
    /// URLs of scripts, without duplicates.
    pub resources: Vec<String>,
    /// Functions and top-level scripts, without duplicates.
    pub frames: Vec<Frame>,
    /// The stacks, as a trie: each stack comes after its parent.
    pub stacks: Vec<Stack>,
    /// The samples, in the order of time.
    pub samples: Vec<Sample>,
    /// How the samples went. Pages do not see this.
    pub counts: SampleCounts,
}

/// A function or top-level script: <https://wicg.github.io/js-self-profiling/#the-profilerframe-dictionary>. It is
/// serialised as that dictionary, with the members in the order in which Web IDL converts them.
#[derive(Clone, Debug, Eq, Hash, MallocSizeOf, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Frame {
    /// 1-based column of the definition, in UTF-16 code units; `None` if it is in no script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// 1-based line of the definition; `None` if it is in no script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The function's own name; empty for an anonymous function and for top-level script.
    pub name: String,
    /// Index into [`Trace::resources`]; `None` if no script with a URL defines the function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_id: Option<u32>,
}

/// A stack, as its leaf and the stack of the leaf's caller:
/// <https://wicg.github.io/js-self-profiling/#the-profilerstack-dictionary>
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, MallocSizeOf, PartialEq, Serialize)]
pub struct Stack {
    /// Index of the caller's stack in [`Trace::stacks`]; `None` at the root.
    pub parent_id: Option<u32>,
    /// Index of the leaf in [`Trace::frames`].
    pub frame_id: u32,
}

/// What was found at one moment: <https://wicg.github.io/js-self-profiling/#the-profilersample-dictionary>. A trace may
/// have millions of samples, so each is small.
#[derive(Clone, Copy, Debug, Eq, MallocSizeOf, PartialEq)]
pub struct Sample {
    /// When the thread was stopped, on the clock of `performance.now()`. It is not coarsened yet.
    pub time: CrossProcessInstant,
    /// The id of the stack plus one; `None` if it has no stack.
    stack_number: Option<NonZeroU32>,
    /// What the thread was doing; `None` if it was idle, or if the page may not know.
    pub marker: Option<Marker>,
}

const _: () = assert!(size_of::<Sample>() == 16);

impl Sample {
    /// A sample with the members of the dictionary. `stack_id` must be below 2³² - 1.
    pub fn new(time: CrossProcessInstant, stack_id: Option<u32>, marker: Option<Marker>) -> Self {
        let number_of = |id: u32| id.checked_add(1).and_then(NonZeroU32::new);
        Self {
            time,
            stack_number: stack_id.map(|id| number_of(id).expect("stacks fit into memory")),
            marker,
        }
    }

    /// Index of the leaf's stack in [`Trace::stacks`]; `None` if no script was running, or none that may be shown.
    pub fn stack_id(&self) -> Option<u32> {
        self.stack_number.map(|number| number.get() - 1)
    }
}

/// What the browser was doing when a sample was taken: `ProfilerMarker` of
/// <https://github.com/WICG/js-self-profiling/blob/main/markers.md>.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, MallocSizeOf, PartialEq, Serialize)]
pub enum Marker {
    /// Compiling or running script.
    Script,
    /// Collecting garbage. The sample's stack is that of the code that the collection has interrupted.
    Gc,
    /// Matching selectors and computing style.
    Style,
    /// Building boxes and fragments.
    Layout,
    /// Building what is to be painted: stacking contexts and display lists.
    Paint,
    /// Anything else, such as parsing or handling a message.
    Other,
}

impl Marker {
    /// All markers, in the order of their declaration.
    pub const ALL: [Self; 6] = [
        Self::Script,
        Self::Gc,
        Self::Style,
        Self::Layout,
        Self::Paint,
        Self::Other,
    ];

    /// The value of the enumeration `ProfilerMarker`, as pages see it.
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

/// The name of a frame that stands for functions for which there was no room.
pub const OTHER_FUNCTIONS: &str = "(other functions)";

/// How the ticks of a session or a recording went.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub struct SampleCounts {
    /// Samples that were taken.
    pub taken: u64,
    /// Ticks that passed without a sample, because the sampling thread was too late or the event loop's
    /// thread did not stop in time.
    pub missed: u64,
    /// Samples without a stack because a collection of garbage was changing what a walk needs: it was sweeping the engine's
    /// tables of code, or moving cells. A page does not get them.
    pub collecting: u64,
    /// Samples whose stack could not be walked: the engine did not allow it (it was changing its tables of
    /// code), or the walk found a contradiction. They have no stack. A page does not get them.
    pub unwalkable: u64,
    /// Samples whose stack was deeper than [`max_stack_depth`](crate::preferences::max_stack_depth).
    pub truncated: u64,
    /// Samples in which a frame stands for functions for which there was no room.
    pub other: u64,
}
