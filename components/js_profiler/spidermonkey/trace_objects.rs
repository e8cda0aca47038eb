/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The long tables of a trace, as arrays of plain objects.

use std::ffi::{CString, c_char};
use std::ptr::NonNull;

use js_profiler_traits::{Marker, Sample, Stack};
use mozjs_sys::jsapi::{JSContext, JSObject};
use servo_base::cross_process_instant::CrossProcessInstant;

use super::ffi::{
    ABSENT, SampleRow, StackRow, strobe_add_samples, strobe_add_stacks, strobe_new_table,
    strobe_table_length,
};

/// A new array of the current realm, with room for `length` objects. No script may see it before it has all of them.
/// `None`, with a pending exception, if there is no memory.
///
/// # Safety
///
/// `cx` is this thread's context, and in a realm. Garbage may be collected. The caller roots the array before anything
/// else is allocated.
pub unsafe fn new_object_table(cx: NonNull<JSContext>, length: usize) -> Option<NonNull<JSObject>> {
    // SAFETY: the caller promises what the glue needs.
    NonNull::new(unsafe { strobe_new_table(cx.as_ptr(), length) })
}

/// How many objects such an array has.
///
/// # Safety
///
/// `table` is an array of [`new_object_table`].
pub unsafe fn object_count(table: NonNull<JSObject>) -> usize {
    // SAFETY: the caller promises what the glue needs.
    unsafe { strobe_table_length(table.as_ptr()) }
}

/// Adds a plain object for each sample to an array:
/// <https://wicg.github.io/js-self-profiling/#the-profilersample-dictionary>. `timestamp` gives a time in milliseconds
/// as the page may know it. False, with a pending exception, if there is no memory. The array has the objects that
/// were made then.
///
/// # Safety
///
/// `cx` is this thread's context, and in the realm of `table`. That is an array of [`new_object_table`] which the
/// caller has rooted, and has room for the samples. Garbage may be collected.
pub unsafe fn add_sample_objects(
    cx: NonNull<JSContext>,
    table: NonNull<JSObject>,
    samples: &[Sample],
    timestamp: impl Fn(CrossProcessInstant) -> f64,
) -> bool {
    let texts = Marker::ALL.map(|marker| CString::new(marker.as_str()).expect("it has no NUL"));
    let names: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
    let row = |sample: &Sample| SampleRow {
        timestamp: timestamp(sample.time),
        stack_id: sample.stack_id().unwrap_or(ABSENT),
        // The number of a marker is its place in `ALL`.
        marker: sample.marker.map_or(ABSENT, |marker| marker as u32),
    };
    let rows: Vec<SampleRow> = samples.iter().map(row).collect();
    // SAFETY: the caller promises what the glue needs, and the tables live until it returns.
    unsafe {
        strobe_add_samples(
            cx.as_ptr(),
            table.as_ptr(),
            rows.as_ptr(),
            rows.len(),
            names.as_ptr(),
            names.len(),
        )
    }
}

/// Adds a plain object for each stack to an array:
/// <https://wicg.github.io/js-self-profiling/#the-profilerstack-dictionary>. False, with a pending exception, if there
/// is no memory.
///
/// # Safety
///
/// As for [`add_sample_objects`].
pub unsafe fn add_stack_objects(
    cx: NonNull<JSContext>,
    table: NonNull<JSObject>,
    stacks: &[Stack],
) -> bool {
    let row = |stack: &Stack| StackRow {
        frame_id: stack.frame_id,
        parent_id: stack.parent_id.unwrap_or(ABSENT),
    };
    let rows: Vec<StackRow> = stacks.iter().map(row).collect();
    // SAFETY: as above.
    unsafe { strobe_add_stacks(cx.as_ptr(), table.as_ptr(), rows.as_ptr(), rows.len()) }
}
