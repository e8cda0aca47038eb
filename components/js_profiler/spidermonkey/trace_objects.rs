/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The long tables of a trace, as objects of JavaScript.

use std::ffi::{CString, c_char};
use std::ptr::NonNull;

use js_profiler_traits::{Marker, Sample, Stack};
use mozjs_sys::jsapi::{JSContext, JSObject};
use servo_base::cross_process_instant::CrossProcessInstant;

use super::ffi::{ABSENT, SampleRow, StackRow, strobe_new_samples, strobe_new_stacks};

/// A new array of the current realm, with a plain object for each sample:
/// <https://wicg.github.io/js-self-profiling/#the-profilersample-dictionary>. `timestamp` gives a time in
/// milliseconds as the page may know it. `None`, with a pending exception, if there is no memory.
///
/// # Safety
///
/// `cx` is this thread's context, and in a realm. Garbage may be collected. The caller roots the array before
/// anything else is allocated.
pub unsafe fn new_sample_objects(
    cx: NonNull<JSContext>,
    samples: &[Sample],
    timestamp: impl Fn(CrossProcessInstant) -> f64,
) -> Option<NonNull<JSObject>> {
    let texts = Marker::ALL.map(|marker| CString::new(marker.as_str()).expect("it has no NUL"));
    let names: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
    let row = |sample: &Sample| SampleRow {
        timestamp: timestamp(sample.time),
        stack_id: sample.stack_id.unwrap_or(ABSENT),
        // The number of a marker is its place in `ALL`.
        marker: sample.marker.map_or(ABSENT, |marker| marker as u32),
    };
    let rows: Vec<SampleRow> = samples.iter().map(row).collect();
    // SAFETY: the caller promises what the glue needs, and the tables live until it returns.
    NonNull::new(unsafe {
        strobe_new_samples(
            cx.as_ptr(),
            rows.as_ptr(),
            rows.len(),
            names.as_ptr(),
            names.len(),
        )
    })
}

/// A new array of the current realm, with a plain object for each stack:
/// <https://wicg.github.io/js-self-profiling/#the-profilerstack-dictionary>. `None`, with a pending exception,
/// if there is no memory.
///
/// # Safety
///
/// As for [`new_sample_objects`].
pub unsafe fn new_stack_objects(
    cx: NonNull<JSContext>,
    stacks: &[Stack],
) -> Option<NonNull<JSObject>> {
    let row = |stack: &Stack| StackRow {
        frame_id: stack.frame_id,
        parent_id: stack.parent_id.unwrap_or(ABSENT),
    };
    let rows: Vec<StackRow> = stacks.iter().map(row).collect();
    // SAFETY: as above.
    NonNull::new(unsafe { strobe_new_stacks(cx.as_ptr(), rows.as_ptr(), rows.len()) })
}
