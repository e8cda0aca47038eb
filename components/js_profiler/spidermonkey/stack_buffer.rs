/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Storage for a walked stack, and access to what the walk has found.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::num::NonZeroU64;

use js_profiler_traits::recording::MissedReason;
use js_profiler_traits::{RealmId, preferences};

use super::ffi::{
    FRAME_GUESSED_NAME, FRAME_MUTED, FRAME_NO_TEXT, FrameKind, FunctionKey, GlueFrame,
    GlueNewFunction, MOST_WORK, Position, SAME, Text,
};
#[cfg(test)]
use super::known_functions::KnownFunctions;

/// Bytes for the names of functions that a walk does not know. What does not fit is left for the next walk, which knows
/// those that did.
const TEXT_CAPACITY: usize = 256 * 1024;

/// A part of a walked stack.
pub enum WalkedPart<'a> {
    /// A frame.
    Frame(WalkedFrame<'a>),
    /// Frames of the stack that the walk was based on.
    Same {
        /// The youngest of them, counted from the leaf of that stack.
        first: usize,
        /// How many there are.
        count: usize,
    },
}

/// A frame of a walked stack.
pub struct WalkedFrame<'a> {
    frame: &'a GlueFrame,
    /// Written if the function is not known.
    function: &'a MaybeUninit<GlueNewFunction>,
    text: &'a [u8],
}

impl<'a> WalkedFrame<'a> {
    /// The function of the frame.
    pub fn function(&self) -> WalkedFunction<'a> {
        match (self.frame.known as usize).checked_sub(1) {
            Some(index) => WalkedFunction::Known(index),
            None => WalkedFunction::New(NewFunction {
                flags: self.frame.flags,
                // SAFETY: the glue has written the function, because it is not known.
                function: unsafe { self.function.assume_init_ref() },
                text: self.text,
            }),
        }
    }

    /// Identifies the function. `known` is what the walk knew.
    #[cfg(test)]
    pub fn key(&self, known: &KnownFunctions) -> FunctionKey {
        match self.function() {
            WalkedFunction::Known(index) => known.keys[index],
            WalkedFunction::New(function) => function.key(),
        }
    }

    /// Whether the script was fetched from another origin without CORS, so that nothing of it may be shown.
    #[cfg(test)]
    pub fn muted(&self) -> bool {
        self.frame.flags & FRAME_MUTED != 0
    }

    /// The position that was executing, in the leaf, or calling. Unknown unless the audience may see
    /// everything.
    pub fn executing(&self) -> Position {
        self.frame.position
    }

    /// Where in the function's bytecode [`executing`](Self::executing) is.
    pub fn code_offset(&self) -> u32 {
        self.frame.code_offset
    }
}

/// The function of a frame.
pub enum WalkedFunction<'a> {
    /// The index of the function among those that the walk knew.
    Known(usize),
    /// The walk did not know the function.
    New(NewFunction<'a>),
}

/// A function that a walk did not know, with its text.
pub struct NewFunction<'a> {
    flags: u8,
    function: &'a GlueNewFunction,
    text: &'a [u8],
}

impl NewFunction<'_> {
    /// Identifies the function.
    pub fn key(&self) -> FunctionKey {
        self.function.key
    }

    /// The realm that the function belongs to; 0 if that is not known, which happens for native functions.
    pub fn realm(&self) -> RealmId {
        RealmId(self.function.key.realm)
    }

    /// What kind of code the function is.
    pub fn kind(&self) -> FrameKind {
        self.function.key.kind
    }

    /// Whether the code is a script that was fetched from another origin without CORS, or was made by one, so that nothing of
    /// it may be shown.
    pub fn muted(&self) -> bool {
        self.flags & FRAME_MUTED != 0
    }

    /// False if there was no room for the name.
    pub fn has_text(&self) -> bool {
        self.flags & FRAME_NO_TEXT == 0
    }

    /// Whether the name was made up from where the function stands, such as `object.method`.
    pub fn has_guessed_name(&self) -> bool {
        self.flags & FRAME_GUESSED_NAME != 0
    }

    /// The function's name; empty if it has none. A long one is cut, and ends with a mark.
    pub fn name(&self) -> String {
        let text: Text = self.function.name;
        let bytes = &self.text[text.offset as usize..][..text.length as usize];
        match text.is_cut {
            true => text.encoding.decode_cut(bytes),
            false => text.encoding.decode(bytes),
        }
    }

    /// 1-based line and column (in UTF-16 code units) of the definition; `None` if it is in no script.
    pub fn position(&self) -> Option<(u32, u32)> {
        let key = &self.function.key;
        (key.line != 0).then_some((key.line, key.column))
    }
}

/// How a walk went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WalkOutcome {
    /// The frames are in the [`StackBuffer`].
    Stack,
    /// No JavaScript is running.
    Idle,
    /// The engine is collecting garbage, and changes what the walk needs.
    Collecting,
    /// The stack contradicts itself, or the engine does not allow a walk at this moment. The text says what
    /// is wrong.
    Unwalkable(&'static CStr),
    /// Nothing is known of what the thread runs, not even a part of it, for this reason.
    Missed(MissedReason),
}

/// The number of a walk that has found a stack, among those of a thread.
pub type WalkNumber = NonZeroU64;

/// Storage for one walked stack. It is allocated before the walk, which must not allocate.
pub struct StackBuffer {
    pub(super) base: Option<WalkNumber>,
    pub(super) number: Option<WalkNumber>,
    /// From the leaf. An element may stand for several frames.
    pub(super) frames: Vec<GlueFrame>,
    /// As long as `frames`. The functions of frames that have no known function are written.
    pub(super) functions: Vec<MaybeUninit<GlueNewFunction>>,
    pub(super) text: Vec<u8>,
    pub(super) truncated: bool,
    pub(super) complete_truncated: bool,
    /// How many of the frames, counted from the leaf, have nothing left out between them.
    pub(super) complete: usize,
    pub(super) max_frames: usize,
    /// How much a walk may do.
    pub(crate) most_work: u32,
    /// How much the last walk could still have done.
    #[cfg(test)]
    pub(crate) work_left: u32,
    /// For whom the stack is: see [`StackBuffer::set_audience`].
    pub(super) realms: Vec<u64>,
    pub(super) realm_frames: Vec<usize>,
    pub(super) everything: bool,
}

impl StackBuffer {
    /// A buffer for readers who may see everything.
    pub fn new() -> Self {
        let mut buffer = Self {
            base: None,
            number: None,
            frames: Vec::new(),
            functions: Vec::new(),
            text: vec![0; TEXT_CAPACITY],
            truncated: false,
            complete_truncated: false,
            complete: 0,
            max_frames: preferences::max_stack_depth(),
            most_work: MOST_WORK,
            #[cfg(test)]
            work_left: 0,
            realms: Vec::new(),
            realm_frames: Vec::new(),
            everything: true,
        };
        buffer.set_audience([], true);
        buffer
    }

    /// Chooses for whom the next walks are: for pages in `realms`, and if `everything` is true also for
    /// readers who may see everything. Frames that no page may see are left out for pages, and do not count
    /// towards the depth: one frame without text stands for several of them.
    pub fn set_audience(&mut self, realms: impl IntoIterator<Item = RealmId>, everything: bool) {
        self.realms.clear();
        self.realms.extend(realms.into_iter().map(|realm| realm.0));
        self.realms.sort_unstable();
        self.realms.dedup();
        self.realm_frames.clear();
        self.realm_frames.resize(self.realms.len(), 0);
        self.everything = everything;
        // There may be a hidden frame between any two frames that a page may see, and as many built-ins as
        // frames before their caller is known.
        let for_pages = self.realms.len() * (2 * self.max_frames + 1) + self.max_frames;
        let room = self.max_frames + for_pages;
        self.clear();
        self.frames.reserve(room);
        self.functions.reserve(room);
        self.complete = 0;
    }

    /// Removes the frames.
    pub(super) fn clear(&mut self) {
        self.base = None;
        self.number = None;
        self.frames.clear();
        self.functions.clear();
    }

    /// How many frames there is room for.
    pub fn capacity(&self) -> usize {
        self.frames.capacity().min(self.functions.capacity())
    }

    /// The memory that it has allocated, in bytes.
    pub fn memory(&self) -> usize {
        self.frames.capacity() * size_of::<GlueFrame>()
            + self.functions.capacity() * size_of::<GlueNewFunction>()
            + self.text.capacity()
            + self.realms.capacity() * size_of::<u64>()
            + self.realm_frames.capacity() * size_of::<usize>()
    }

    /// Whether older frames were left out, because there was no room for them.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// Whether there were more frames than [`complete`](Self::complete).
    pub fn complete_truncated(&self) -> bool {
        self.complete_truncated
    }

    /// How many of the frames, counted from the leaf, have nothing left out between them. These are for
    /// readers who may see everything.
    pub fn complete(&self) -> usize {
        self.complete
    }

    /// The walk that this one was based on.
    pub fn base(&self) -> Option<WalkNumber> {
        self.base
    }

    /// The number of the walk; `None` if no walk can be based on it.
    pub fn number(&self) -> Option<WalkNumber> {
        self.number
    }

    /// The frames, from the root to the leaf.
    pub fn parts(&self) -> impl Iterator<Item = WalkedPart<'_>> {
        let both = self.frames.iter().zip(&self.functions).rev();
        both.map(|(frame, function)| match frame.known {
            SAME => WalkedPart::Same {
                first: frame.code_offset as usize,
                count: frame.position.line as usize,
            },
            _ => WalkedPart::Frame(WalkedFrame {
                frame,
                function,
                text: &self.text,
            }),
        })
    }

    /// The same, of a walk that was based on no other.
    #[cfg(test)]
    pub fn frames(&self) -> impl Iterator<Item = WalkedFrame<'_>> {
        self.parts().map(|part| match part {
            WalkedPart::Frame(frame) => frame,
            WalkedPart::Same { .. } => panic!("the walk was based on another"),
        })
    }
}
