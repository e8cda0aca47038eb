/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The engine's side of an event loop: its context, as other threads see it, and what the engine does for a walker.

use std::ffi::CStr;
#[cfg(feature = "stock_walk")]
use std::ffi::c_void;
use std::ptr::NonNull;

use js_profiler_traits::RealmId;
#[cfg(feature = "stock_walk")]
use js_profiler_traits::preferences;
use mozjs_sys::jsapi::JSContext;

use super::ffi::{
    FramePlace, GlueKnownFunctions, GlueStack, GlueWalk, strobe_count_kept, strobe_current_realm,
    strobe_is_idle, strobe_walk_table,
};
#[cfg(feature = "stock_walk")]
use super::ffi::{
    strobe_install_stock, strobe_set_stock_enabled, strobe_uninstall_stock, strobe_walk_stock,
};
use super::known_functions::KnownFunctions;
use super::stack_buffer::{StackBuffer, WalkOutcome};
use crate::stop::Stopped;

/// How a stack is walked, and what the engine must do for it while there are sessions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Walker {
    /// From the registers, with tables of what is inlined where, with which all code is compiled.
    Table,
    /// As `Table`, and each stack is also walked by `Stock`, to compare the two.
    #[cfg(feature = "stock_walk")]
    Both,
    /// By the engine's stock profiling mode, which instruments the code: it costs speed while it is
    /// on, and switching it discards all JIT code.
    #[cfg(feature = "stock_walk")]
    Stock,
}

impl Walker {
    /// The one that the preferences ask for.
    pub fn preferred() -> Self {
        #[cfg(feature = "stock_walk")]
        {
            if preferences::compare_walkers() {
                return Self::Both;
            }
            if preferences::stock_walker() {
                return Self::Stock;
            }
        }
        Self::Table
    }
}

/// An event loop's JavaScript context, as other threads see it.
#[derive(Clone)]
pub struct SampledContext {
    cx: NonNull<JSContext>,
    walker: Walker,
}

// SAFETY: other threads only ask `is_idle`, which reads one word, and what takes a `Stopped`, which
// says that the context's own thread stands still. Who has made it says that the context outlives it.
unsafe impl Send for SampledContext {}
// SAFETY: as above; and a walk is lent it while the sampling thread waits for that.
unsafe impl Sync for SampledContext {}

impl SampledContext {
    /// Why a recording, which begins without the context's thread, has no stacks of it, in one sentence.
    pub fn why_without_stacks(&self) -> Option<&'static str> {
        match self.walker {
            #[cfg(feature = "stock_walk")]
            Walker::Stock => Some(
                "Stacks are walked by the engine's stock profiling mode, which only the event loop itself \
                 can switch on.",
            ),
            _ => None,
        }
    }

    /// Whether no JavaScript is on the context's stack.
    pub fn is_idle(&self) -> bool {
        // SAFETY: the context is alive: see `EngineMode::context`; the glue says what of the race.
        unsafe { strobe_is_idle(self.cx.as_ptr()) }
    }

    /// Whether both [`SampledContext::walk`] and [`SampledContext::walk_stock`] may be used.
    #[cfg(feature = "stock_walk")]
    pub fn walks_both_ways(&self) -> bool {
        self.walker == Walker::Both
    }

    /// Walks the stack into `buffer`, without the text of the functions that are `known`. `stopped` must be
    /// the context's own thread.
    pub fn walk(
        &self,
        stopped: &Stopped,
        buffer: &mut StackBuffer,
        known: &KnownFunctions,
    ) -> WalkOutcome {
        let walk = match self.walker {
            #[cfg(feature = "stock_walk")]
            Walker::Stock => strobe_walk_stock,
            _ => strobe_walk_table,
        };
        self.walk_with(walk, stopped, buffer, known)
    }

    /// Walks the stack by the stock walker, where the engine is in both modes.
    #[cfg(feature = "stock_walk")]
    pub fn walk_stock(&self, stopped: &Stopped, buffer: &mut StackBuffer) -> WalkOutcome {
        self.walk_with(
            strobe_walk_stock,
            stopped,
            buffer,
            const { &KnownFunctions::new() },
        )
    }

    fn walk_with(
        &self,
        walk: unsafe extern "C" fn(*mut JSContext, *const Stopped, *mut GlueStack) -> GlueWalk,
        stopped: &Stopped,
        buffer: &mut StackBuffer,
        known: &KnownFunctions,
    ) -> WalkOutcome {
        let native_code = buffer.native_code();
        let mut glue_stack = GlueStack {
            frames: buffer.frames.as_mut_ptr(),
            frames_capacity: buffer.frames.capacity(),
            max_frames: buffer.max_frames,
            realms: buffer.realms.as_ptr(),
            realms_length: buffer.realms.len(),
            realm_frames: buffer.realm_frames.as_mut_ptr(),
            everything: buffer.everything,
            known: GlueKnownFunctions {
                functions: known.keys.as_ptr(),
                slots: known.slots.as_ptr(),
                slots_length: known.slots.len(),
                positions: known.positions.as_ptr(),
                positions_length: known.positions.len(),
            },
            native_code,
            frames_length: 0,
            complete_length: 0,
            text: buffer.text.as_mut_ptr(),
            text_capacity: buffer.text.len(),
            truncated: false,
            complete_truncated: false,
            text_lost: false,
            contradiction: c"".as_ptr(),
        };
        // SAFETY: a `Stopped` is lent by `stop` alone, and only while the thread
        // stands still; a group has one thread and its context. The buffers are as large as they say.
        let walk = unsafe { walk(self.cx.as_ptr(), stopped, &mut glue_stack) };
        match walk {
            GlueWalk::Stack => {
                // SAFETY: the glue wrote that many elements, and no more than the capacity.
                unsafe { buffer.frames.set_len(glue_stack.frames_length) };
                buffer.complete = glue_stack.complete_length;
                buffer.truncated = glue_stack.truncated;
                buffer.complete_truncated = glue_stack.complete_truncated;
                buffer.text_lost = glue_stack.text_lost;
                WalkOutcome::Stack
            },
            GlueWalk::Idle => WalkOutcome::Idle,
            GlueWalk::Collecting => WalkOutcome::Collecting,
            // SAFETY: the glue gives a string that lives as long as the process.
            GlueWalk::Inconsistent => WalkOutcome::Unwalkable(unsafe {
                CStr::from_ptr::<'static>(glue_stack.contradiction)
            }),
        }
    }

    /// How many of the frames at `places`, which are from the root to the leaf, are still on the stack,
    /// counted from the root. `stopped` must be the context's own thread. The buffer's frames stay as they are.
    pub fn count_kept(
        &self,
        stopped: &Stopped,
        buffer: &mut StackBuffer,
        places: &[FramePlace],
    ) -> usize {
        let code = buffer.native_code();
        // SAFETY: as for `walk`.
        unsafe {
            strobe_count_kept(
                self.cx.as_ptr(),
                stopped,
                &code,
                places.as_ptr(),
                places.len(),
            )
        }
    }
}

/// What the engine does for a walker on one context: nothing until there is a session or a recording.
///
/// Stays on the context's thread.
pub struct EngineMode {
    cx: NonNull<JSContext>,
    walker: Walker,
    #[cfg(feature = "stock_walk")]
    profiling_stack: Option<NonNull<c_void>>,
    enabled: bool,
}

impl EngineMode {
    /// # Safety
    ///
    /// `cx` must be this thread's context. It must be alive until this value is dropped, and with it the
    /// [`EventLoop`](crate::EventLoop) that it was given to, which has the sampling thread let go of the context.
    pub unsafe fn new(cx: NonNull<JSContext>, walker: Walker) -> Self {
        Self {
            cx,
            walker,
            #[cfg(feature = "stock_walk")]
            profiling_stack: None,
            enabled: false,
        }
    }

    /// The context, for the sampling thread. See [`EngineMode::new`].
    pub(crate) fn context(&self) -> SampledContext {
        SampledContext {
            cx: self.cx,
            walker: self.walker,
        }
    }

    /// The realm that the context is in.
    pub fn current_realm(&self) -> Option<RealmId> {
        // SAFETY: we are on the context's thread.
        let realm = unsafe { strobe_current_realm(self.cx.as_ptr()) };
        (realm != 0).then_some(RealmId(realm))
    }

    /// Switches the mode. False if there is no memory for it.
    pub fn set_enabled(&mut self, enabled: bool) -> bool {
        if enabled == self.enabled {
            return true;
        }
        #[cfg(feature = "stock_walk")]
        if self.walker != Walker::Table && !self.set_stock_enabled(enabled) {
            return false;
        }
        self.enabled = enabled;
        true
    }

    #[cfg(feature = "stock_walk")]
    fn set_stock_enabled(&mut self, enabled: bool) -> bool {
        if self.profiling_stack.is_none() {
            // SAFETY: we are on the context's thread.
            self.profiling_stack = NonNull::new(unsafe { strobe_install_stock(self.cx.as_ptr()) });
            if self.profiling_stack.is_none() {
                return false;
            }
        }
        // SAFETY: we are on the context's thread, and a profiling stack is installed.
        unsafe { strobe_set_stock_enabled(self.cx.as_ptr(), enabled) };
        true
    }
}

#[cfg(feature = "stock_walk")]
impl Drop for EngineMode {
    fn drop(&mut self) {
        if let Some(profiling_stack) = self.profiling_stack {
            // SAFETY: we are on the context's thread; an event loop drops this when it has left its
            // last script.
            unsafe { strobe_uninstall_stock(self.cx.as_ptr(), profiling_stack.as_ptr()) };
        }
    }
}
