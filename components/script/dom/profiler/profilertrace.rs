/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The trace as the page sees it.

use std::ffi::CStr;
use std::ptr::NonNull;

use js::context::JSContext;
use js::conversions::ToJSValConvertible;
use js::jsval::UndefinedValue;
use js::rust::wrappers2::JS_NewPlainObject;
use js::rust::{HandleObject, MutableHandleObject};
use js_profiler::{new_sample_objects, new_stack_objects};
use js_profiler_traits::{Frame, Trace};
use script_bindings::utils::define_dictionary_property;

use crate::dom::bindings::codegen::Bindings::ProfilerBinding::ProfilerFrame;
use crate::dom::bindings::error::{Error, Fallible};
use crate::dom::bindings::str::DOMString;
use crate::dom::globalscope::GlobalScope;

/// Makes the trace as a plain object of plain objects: a `ProfilerTrace`, whose members are in the order in which
/// Web IDL converts those of a dictionary. Times are relative to the time origin of `global`, and as coarse as those of
/// `performance.now()`. `cx` must be in the realm of `global`.
pub(super) fn make_profiler_trace(
    cx: &mut JSContext,
    global: &GlobalScope,
    trace: &Trace,
    mut retval: MutableHandleObject,
) -> Fallible<()> {
    let performance = global.performance(cx);
    // SAFETY: the context is in a realm.
    #[expect(unsafe_code)]
    let object = unsafe { JS_NewPlainObject(cx) };
    rooted!(&in(cx) let object = object);
    if object.is_null() {
        return Err(Error::JSFailed);
    }
    let frames: Vec<ProfilerFrame> = trace.frames.iter().map(profiler_frame).collect();
    add_member(cx, object.handle(), c"frames", frames)?;
    let resources = trace.resources.iter().map(|url| DOMString::from(&**url));
    let resources: Vec<DOMString> = resources.collect();
    add_member(cx, object.handle(), c"resources", resources)?;
    let timestamp = |time| *performance.to_dom_high_res_time_stamp(time);
    // SAFETY: the context is this thread's, in the realm of `global`, and `add_member` roots the array first.
    #[expect(unsafe_code)]
    let samples = unsafe { new_sample_objects(raw(cx), &trace.samples, timestamp) };
    add_member(
        cx,
        object.handle(),
        c"samples",
        samples.ok_or(Error::JSFailed)?,
    )?;
    // SAFETY: as above.
    #[expect(unsafe_code)]
    let stacks = unsafe { new_stack_objects(raw(cx), &trace.stacks) };
    add_member(
        cx,
        object.handle(),
        c"stacks",
        stacks.ok_or(Error::JSFailed)?,
    )?;
    retval.set(object.get());
    Ok(())
}

fn profiler_frame(frame: &Frame) -> ProfilerFrame {
    let id = |id: Option<u32>| id.map(u64::from);
    ProfilerFrame {
        name: DOMString::from(&*frame.name),
        resourceId: id(frame.resource_id),
        line: id(frame.line),
        column: id(frame.column),
    }
}

#[expect(unsafe_code)]
fn raw(cx: &mut JSContext) -> NonNull<js::jsapi::JSContext> {
    // SAFETY: the pointer is used while `cx` is borrowed by its user.
    NonNull::new(unsafe { cx.raw_cx() }).expect("there is a context")
}

/// Adds a plain property to a plain object.
pub(super) fn add_member(
    cx: &mut JSContext,
    object: HandleObject,
    name: &CStr,
    member: impl ToJSValConvertible,
) -> Fallible<()> {
    rooted!(&in(cx) let mut value = UndefinedValue());
    member.to_jsval(cx, value.handle_mut());
    define_dictionary_property(cx, object, name, value.handle()).map_err(|()| Error::JSFailed)
}
