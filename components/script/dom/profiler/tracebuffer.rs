/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The text of a trace as the page sees it.

use std::cell::Cell;
use std::ptr;

use js::context::JSContext;
use js::jsapi::{Heap, JSObject};
use js::rust::MutableHandleObject;
use js::typedarray;
use js::typedarray::{ArrayBuffer, CreateWith};

use crate::dom::bindings::error::{Error, Fallible};

/// How many bytes a task copies. The kernel clears each page of the new memory first.
const BYTES_PER_TASK: usize = 1 << 16;

/// The buffer with a compressed trace, as far as it has been copied. A long one is copied in several tasks, so that none
/// of them is long.
#[derive(Default, JSTraceable, MallocSizeOf)]
pub(super) struct TraceBuffer {
    /// Null until the first bytes are copied. No script has seen it.
    #[ignore_malloc_size_of = "Defined in rust-mozjs"]
    buffer: Heap<*mut JSObject>,
    /// How many bytes it has.
    copied: Cell<usize>,
}

impl TraceBuffer {
    /// Copies what one task may copy. True if all of `bytes` have been copied. `cx` must be in the realm of the page.
    pub(super) fn copy_some(&self, cx: &mut JSContext, bytes: &[u8]) -> Fallible<bool> {
        self.copy(cx, bytes, BYTES_PER_TASK)
    }

    /// Copies what is missing, and sets `retval` to the buffer.
    pub(super) fn make(
        &self,
        cx: &mut JSContext,
        bytes: &[u8],
        mut retval: MutableHandleObject,
    ) -> Fallible<()> {
        self.copy(cx, bytes, usize::MAX)?;
        retval.set(self.buffer.get());
        self.buffer.set(ptr::null_mut());
        self.copied.set(0);
        Ok(())
    }

    fn copy(&self, cx: &mut JSContext, bytes: &[u8], most: usize) -> Fallible<bool> {
        if self.buffer.get().is_null() {
            rooted!(&in(cx) let mut buffer = ptr::null_mut::<JSObject>());
            let length = CreateWith::Length(bytes.len());
            // SAFETY: the context is this thread's.
            #[expect(unsafe_code)]
            unsafe { ArrayBuffer::create(cx, length, buffer.handle_mut()) }
                .map_err(|()| Error::JSFailed)?;
            self.buffer.set(buffer.get());
        }
        typedarray!(&in(cx) let mut buffer: ArrayBuffer = self.buffer.get());
        let buffer = buffer.as_mut().expect("it was made");
        let data = buffer.as_mut_slice_safe(cx.no_gc());
        let data = data.expect("no script could detach it");
        let copied = self.copied.get();
        let end = bytes.len().min(copied.saturating_add(most));
        data[copied..end].copy_from_slice(&bytes[copied..end]);
        self.copied.set(end);
        Ok(end == bytes.len())
    }
}
