/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Who has scheduled what the engine calls: see `vm/HiddenCode.h` of the hooked engine.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// As `js::ScheduledBy`.
const NOBODY: u8 = 0;
const SHOWN: u8 = 1;
const HIDDEN: u8 = 2;

/// Memory for a `js::AutoScheduledBy`.
#[repr(C)]
struct Memory([usize; 4]);

unsafe extern "C" {
    fn strobe_is_hidden_code_made_now() -> bool;
    fn strobe_begin_scheduled(memory: *mut Memory, who: u8) -> bool;
    fn strobe_end_scheduled(memory: *mut Memory);
}

/// Whether code that is made now is hidden from profiles, and so a callback that is taken from a script now.
pub fn is_hidden_code_made_now() -> bool {
    // SAFETY: the function looks at the stack of this thread's context, if there is one.
    unsafe { strobe_is_hidden_code_made_now() }
}

/// Runs `call` on behalf of whoever has given the callback that it calls.
pub(crate) fn on_behalf_of<R>(is_hidden: bool, call: impl FnOnce() -> R) -> R {
    run(if is_hidden { HIDDEN } else { SHOWN }, call)
}

/// Runs `call` on behalf of nobody. What is called there was not scheduled by what is on the stack.
pub fn on_behalf_of_nobody<R>(call: impl FnOnce() -> R) -> R {
    run(NOBODY, call)
}

fn run<R>(who: u8, call: impl FnOnce() -> R) -> R {
    /// Ends it also when `call` panics.
    struct End<'a>(*mut Memory, PhantomData<&'a mut Memory>);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            // SAFETY: it has begun in this memory, which is still there.
            unsafe { strobe_end_scheduled(self.0) };
        }
    }
    let mut memory = MaybeUninit::uninit();
    // SAFETY: the memory is large enough, and stays where it is until the guard is dropped.
    let has_begun = unsafe { strobe_begin_scheduled(memory.as_mut_ptr(), who) };
    let _end = has_begun.then(|| End(memory.as_mut_ptr(), PhantomData));
    call()
}
