/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The engine's side of an event loop: its context, on its own thread and as other threads see it.

use std::ffi::CStr;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use js_profiler_traits::RealmId;
use js_profiler_traits::recording::MissedReason;
use mozjs_sys::jsapi::JS::GetCurrentRealmOrNull;
use mozjs_sys::jsapi::JSContext;

use super::ffi::{
    CodeTables, GlueKnownFunctions, GlueStack, GlueWalk, strobe_is_idle,
    strobe_measure_code_tables, strobe_walk_table,
};
use super::known_functions::{ClaimedTables, KnownFunctions, WalkTables};
use super::stack_buffer::{StackBuffer, WalkNumber, WalkOutcome};
use super::unwinder::Unwinder;
use crate::stop::{StackBounds, Stopped, current_stack_bounds};

/// An event loop's JavaScript context, as other threads see it. They may have it for longer than the context lives: its gate
/// says whether it may be used.
#[derive(Clone)]
pub struct SampledContext {
    pub(super) cx: NonNull<JSContext>,
    gate: Arc<Gate>,
    /// The stack of the context's thread. `None` if the system does not tell; then nothing is walked.
    stack: Option<StackBounds>,
}

/// Whether a context may be used by other threads, and by the handler of a signal. The context's own thread closes it before the
/// context is destroyed, and waits for nobody's work.
#[derive(Default)]
struct Gate {
    is_closed: AtomicBool,
    /// Held by another thread while it reads one word of the context.
    reading: Mutex<()>,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, ()> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes no lock, so that a handler may call it.
    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// When this returns, no other thread uses the context.
    fn close(&self) {
        let _reading = self.lock();
        self.is_closed.store(true, Ordering::Release);
    }
}

// SAFETY: other threads only call `is_idle`, which reads one word, and functions that take a `Stopped`. These do nothing
// unless it is that of the context's own thread, which stands still then. All of them do nothing once the gate is closed, and
// `EngineContext` closes it while the context is alive.
unsafe impl Send for SampledContext {}
// SAFETY: as above. A walk borrows this value only while the sampling thread waits for the walk.
unsafe impl Sync for SampledContext {}

impl SampledContext {
    /// Whether the stopped thread is the context's own, and the context may be used. A signal may reach another thread that
    /// got the number of the context's thread after that had ended. The gate was closed before.
    fn is_of(&self, stopped: &Stopped) -> bool {
        !self.gate.is_closed() && self.stack.is_some_and(|stack| stopped.has_stack(&stack))
    }

    /// Whether no JavaScript is on the context's stack. True once the context is gone.
    pub fn is_idle(&self) -> bool {
        let _reading = self.gate.lock();
        // SAFETY: the context is alive, because its gate is open and cannot be closed meanwhile. The glue explains why the
        // race is harmless.
        self.gate.is_closed() || unsafe { strobe_is_idle(self.cx.as_ptr()) }
    }

    /// Walks the stack into `buffer`, without the text of the functions that are `known`. Frames that are as they were in
    /// the walk with the number `base`, for the same audience, are not looked up again. `stopped` must be the context's
    /// own thread.
    pub fn walk(
        &self,
        stopped: &Stopped,
        unwinder: &mut Unwinder,
        buffer: &mut StackBuffer,
        known: &KnownFunctions,
        base: Option<WalkNumber>,
    ) -> WalkOutcome {
        buffer.clear();
        if !self.is_of(stopped) {
            let why = c"the context is gone or belongs to another thread";
            return WalkOutcome::Unwalkable(why);
        }
        let mut claimed = known.tables.as_deref().and_then(WalkTables::claim);
        let call_sites = claimed.as_mut().map(ClaimedTables::call_sites);
        let (call_sites, call_sites_length) = call_sites.unwrap_or((ptr::null_mut(), 0));
        let blocks = claimed.as_mut().map(ClaimedTables::code_blocks);
        let (code_blocks, code_blocks_length) = blocks.unwrap_or((ptr::null_mut(), 0));
        let last_walk = claimed.as_mut().map(ClaimedTables::last_walk);
        let mut glue_stack = GlueStack {
            frames: buffer.frames.as_mut_ptr(),
            functions: buffer.functions.as_mut_ptr().cast(),
            frames_capacity: buffer.capacity(),
            max_frames: buffer.max_frames,
            realms: buffer.realms.as_ptr(),
            realms_length: buffer.realms.len(),
            realm_frames: buffer.realm_frames.as_mut_ptr(),
            everything: buffer.everything,
            known: GlueKnownFunctions {
                functions: known.keys.as_ptr(),
                functions_length: known.keys.len(),
                slots: known.slots.as_ptr(),
                slots_length: known.slots.len(),
                positions: known.positions.as_ptr(),
                positions_length: known.positions.len(),
                call_sites,
                call_sites_length,
                code_blocks,
                code_blocks_length,
                last_walk: last_walk.unwrap_or(ptr::null_mut()),
            },
            native_code: unwinder.glue(),
            work_left: buffer.most_work,
            base: base.map_or(0, WalkNumber::get),
            number: 0,
            frames_length: 0,
            frame_count: 0,
            complete_length: 0,
            text: buffer.text.as_mut_ptr(),
            text_capacity: buffer.text.len(),
            truncated: false,
            complete_truncated: false,
            contradiction: c"".as_ptr(),
        };
        // SAFETY: only `stop` lends a `Stopped`, and only while that thread stands still, which is the context's.
        // The buffers are as large as they say.
        let walk = unsafe { strobe_walk_table(self.cx.as_ptr(), stopped, &mut glue_stack) };
        #[cfg(test)]
        {
            buffer.work_left = glue_stack.work_left;
        }
        match walk {
            GlueWalk::Stack => {
                // SAFETY: the glue wrote that many frames, and no more than the capacity.
                unsafe {
                    buffer.frames.set_len(glue_stack.frames_length);
                    buffer.functions.set_len(glue_stack.frames_length);
                }
                buffer.base = base;
                buffer.number = WalkNumber::new(glue_stack.number);
                buffer.complete = glue_stack.complete_length;
                buffer.truncated = glue_stack.truncated;
                buffer.complete_truncated = glue_stack.complete_truncated;
                WalkOutcome::Stack
            },
            GlueWalk::Idle => WalkOutcome::Idle,
            GlueWalk::Collecting => WalkOutcome::Collecting,
            // SAFETY: the glue returns a string that lives as long as the process.
            GlueWalk::Inconsistent => WalkOutcome::Unwalkable(unsafe {
                CStr::from_ptr::<'static>(glue_stack.contradiction)
            }),
            GlueWalk::TooLong => WalkOutcome::Missed(MissedReason::TooDeep),
            GlueWalk::Elsewhere => WalkOutcome::Missed(MissedReason::OtherStack),
        }
    }
}

/// An event loop's JavaScript context, on its own thread.
pub struct EngineContext {
    pub(super) sampled: SampledContext,
    /// Other threads must not use this value.
    of_this_thread: PhantomData<NonNull<JSContext>>,
}

impl EngineContext {
    /// The context of the calling thread.
    ///
    /// # Safety
    ///
    /// `cx` must be the context of this thread. It must stay alive until this value is dropped, or, once it was given to an
    /// [`EventLoop`](crate::EventLoop), until that is dropped.
    pub unsafe fn new(cx: NonNull<JSContext>) -> Self {
        Self {
            sampled: SampledContext {
                cx,
                gate: Arc::default(),
                stack: current_stack_bounds().ok(),
            },
            of_this_thread: PhantomData,
        }
    }

    /// The context, for the sampling thread. It is not used any more once this value is dropped.
    pub(crate) fn sampled(&self) -> SampledContext {
        self.sampled.clone()
    }

    /// The realm that the context is in; `None` if it is in no realm.
    pub fn current_realm(&self) -> Option<RealmId> {
        // SAFETY: we are on the context's thread.
        let realm = unsafe { GetCurrentRealmOrNull(self.sampled.cx.as_ptr()) };
        NonNull::new(realm).map(|realm| RealmId(realm.addr().get() as u64))
    }

    /// The engine's tables of the context's JIT code.
    pub(crate) fn code_tables(&self) -> CodeTables {
        // SAFETY: we are on the context's thread, outside of a walk.
        unsafe { strobe_measure_code_tables(self.sampled.cx.as_ptr()) }
    }
}

impl Drop for EngineContext {
    fn drop(&mut self) {
        self.sampled.gate.close();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{PoisonError, mpsc};
    use std::thread;

    use super::*;
    use crate::spidermonkey::test_context::TestContext;
    use crate::stop::Thread;
    use crate::stop::tests::EVENT_LOOPS;

    #[test]
    fn a_context_that_is_gone_is_neither_read_nor_walked() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let (sender, contexts) = mpsc::channel();
        let (destroy, when_to_destroy) = mpsc::channel::<()>();
        let (destroyed, when_destroyed) = mpsc::channel();
        let (end, when_to_end) = mpsc::channel::<()>();
        let event_loop = thread::spawn(move || {
            let context = TestContext::new();
            let engine = context.engine();
            let thread = Thread::current().unwrap();
            sender.send((thread, engine.sampled())).unwrap();
            let _ = when_to_destroy.recv();
            drop(engine);
            drop(context);
            destroyed.send(()).unwrap();
            // The thread still stops for a walk.
            let _ = when_to_end.recv();
        });
        let (thread, mut sampled) = contexts.recv().unwrap();
        let mut unwinder = Unwinder::new();
        let mut buffer = StackBuffer::new();
        let known = KnownFunctions::default();
        let mut walk = |context: &SampledContext| {
            let walked = thread.while_stopped(|stopped| {
                context.walk(stopped, &mut unwinder, &mut buffer, &known, None)
            });
            walked.unwrap()
        };
        assert_eq!(walk(&sampled), WalkOutcome::Idle);
        drop(destroy);
        when_destroyed.recv().unwrap();
        // Whoever reads this crashes.
        sampled.cx = NonNull::dangling();
        assert!(sampled.is_idle());
        assert!(matches!(walk(&sampled), WalkOutcome::Unwalkable(_)));
        drop(end);
        event_loop.join().unwrap();
    }
}
