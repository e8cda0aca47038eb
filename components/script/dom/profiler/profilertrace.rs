/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The trace as the page sees it.

use std::ffi::CStr;
use std::ptr::{self, NonNull};

use js::context::JSContext;
use js::conversions::ToJSValConvertible;
use js::jsapi::{Heap, JSObject};
use js::jsval::UndefinedValue;
use js::rust::wrappers2::JS_NewPlainObject;
use js::rust::{HandleObject, MutableHandleObject};
use js_profiler::{add_sample_objects, add_stack_objects, new_object_table, object_count};
use js_profiler_traits::{Frame, Trace};
use script_bindings::utils::define_dictionary_property;

use crate::dom::bindings::codegen::Bindings::ProfilerBinding::ProfilerFrame;
use crate::dom::bindings::error::{Error, Fallible};
use crate::dom::bindings::str::DOMString;
use crate::dom::globalscope::GlobalScope;

/// For how many samples a task makes objects, at 0.1 to 0.3 µs each. The page can do other things between two tasks.
const SAMPLES_PER_TASK: usize = 1 << 14;

/// The objects of a trace that have been made so far. A long trace is made in several tasks, so that none of them is
/// long.
#[derive(Default, JSTraceable, MallocSizeOf)]
pub(super) struct TraceObjects {
    /// The array of samples, which no script has seen. Null until the first one is made.
    #[ignore_malloc_size_of = "Defined in rust-mozjs"]
    samples: Heap<*mut JSObject>,
}

impl TraceObjects {
    /// Makes the objects of as many further samples as one task may make. True if all samples have objects. Times are
    /// relative to the time origin of `global`, and as coarse as those of `performance.now()`. `cx` must be in the realm
    /// of `global`.
    pub(super) fn make_some(
        &self,
        cx: &mut JSContext,
        global: &GlobalScope,
        trace: &Trace,
    ) -> Fallible<bool> {
        self.make_samples(cx, global, trace, SAMPLES_PER_TASK)
    }

    /// Makes the objects of up to `most` further samples, otherwise as [`make_some`](Self::make_some).
    fn make_samples(
        &self,
        cx: &mut JSContext,
        global: &GlobalScope,
        trace: &Trace,
        most: usize,
    ) -> Fallible<bool> {
        let performance = global.performance(cx);
        let timestamp = |time| *performance.to_dom_high_res_time_stamp(time);
        if self.samples.get().is_null() {
            // SAFETY: the context is this thread's, in the realm of `global`. The array is rooted at once.
            #[expect(unsafe_code)]
            let table = unsafe { new_object_table(raw(cx), trace.samples.len()) };
            self.samples.set(table.ok_or(Error::JSFailed)?.as_ptr());
        }
        let table = NonNull::new(self.samples.get()).expect("it was made");
        // SAFETY: it is such an array.
        #[expect(unsafe_code)]
        let made = unsafe { object_count(table) };
        let rest = &trace.samples[made..];
        let now = &rest[..most.min(rest.len())];
        // SAFETY: as above, `self` roots the array, and it has room for all samples.
        #[expect(unsafe_code)]
        if !unsafe { add_sample_objects(raw(cx), table, now, timestamp) } {
            return Err(Error::JSFailed);
        }
        Ok(now.len() == rest.len())
    }

    /// Makes what is missing, and sets `retval` to the trace as a plain object of plain objects: a `ProfilerTrace`, whose
    /// members are in the order in which Web IDL converts those of a dictionary. Otherwise as
    /// [`make_some`](Self::make_some).
    pub(super) fn make_trace(
        &self,
        cx: &mut JSContext,
        global: &GlobalScope,
        trace: &Trace,
        mut retval: MutableHandleObject,
    ) -> Fallible<()> {
        self.make_samples(cx, global, trace, usize::MAX)?;
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
        add_member(cx, object.handle(), c"samples", self.samples.get())?;
        // SAFETY: as in `make_samples`.
        #[expect(unsafe_code)]
        let table = unsafe { new_object_table(raw(cx), trace.stacks.len()) };
        let table = table.ok_or(Error::JSFailed)?;
        rooted!(&in(cx) let stacks = table.as_ptr());
        // SAFETY: as in `make_samples`.
        #[expect(unsafe_code)]
        if !unsafe { add_stack_objects(raw(cx), table, &trace.stacks) } {
            return Err(Error::JSFailed);
        }
        add_member(cx, object.handle(), c"stacks", stacks.get())?;
        self.samples.set(ptr::null_mut());
        retval.set(object.get());
        Ok(())
    }
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
