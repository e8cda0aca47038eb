/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Collections of garbage, as SpiderMonkey reports them. They are for samples of an event loop that collects
//! garbage while it runs no script. If a script is on the stack, the walk of the stack notices by itself.

#![expect(unsafe_code)]

use std::cell::Cell;
use std::os::raw::c_void;
use std::ptr;

use js::jsapi::JS::{
    AddGCNurseryCollectionCallback, GCDescription, GCNurseryProgress, GCProgress, GCReason,
    GCSliceCallback, SetGCSliceCallback,
};
use js::jsapi::JSContext;
use js_profiler_traits::activity::{Collection, set_collecting};

thread_local!(static NEXT_CALLBACK: Cell<GCSliceCallback> = const { Cell::new(None) });

/// Follows the collections of the thread's context from now on.
///
/// # Safety
///
/// `cx` must be this thread's context.
pub(super) unsafe fn follow(cx: *mut JSContext) {
    // SAFETY: this is the thread's context, and the callbacks are functions, which outlive it.
    unsafe {
        // An engine has only one such callback. Servo's own, which is for its log, is called from ours.
        NEXT_CALLBACK.set(SetGCSliceCallback(cx, Some(slice)));
        // An error means that there is no memory. Collections of the nursery are not seen then.
        AddGCNurseryCollectionCallback(cx, Some(nursery_collection), ptr::null_mut());
    }
}

unsafe extern "C" fn slice(
    cx: *mut JSContext,
    progress: GCProgress,
    description: *const GCDescription,
) {
    match progress {
        GCProgress::GC_SLICE_BEGIN => set_collecting(Collection::Heap, true),
        GCProgress::GC_SLICE_END => set_collecting(Collection::Heap, false),
        GCProgress::GC_CYCLE_BEGIN | GCProgress::GC_CYCLE_END => {},
    }
    if let Some(next_callback) = NEXT_CALLBACK.get() {
        // SAFETY: the arguments are the engine's own.
        unsafe { next_callback(cx, progress, description) };
    }
}

unsafe extern "C" fn nursery_collection(
    _cx: *mut JSContext,
    progress: GCNurseryProgress,
    _reason: GCReason,
    _data: *mut c_void,
) {
    let collecting = progress == GCNurseryProgress::GC_NURSERY_COLLECTION_START;
    set_collecting(Collection::Nursery, collecting);
}
