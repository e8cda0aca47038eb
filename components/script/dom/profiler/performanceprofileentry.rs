/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A finished session in the performance timeline, and the trace as the page gets it.

use dom_struct::dom_struct;
use js::context::JSContext;
use js::jsapi::{Heap, JSObject};
use js::rust::MutableHandleObject;
use js::rust::wrappers2::JS_NewPlainObject;
use js_profiler_traits::Trace;
use script_bindings::cell::DomRefCell;
use script_bindings::reflector::reflect_dom_object;
use servo_base::cross_process_instant::CrossProcessInstant;
use time::Duration;

use super::profilertrace::{TraceObjects, add_member};
use super::tracebuffer::TraceBuffer;
use crate::dom::bindings::codegen::Bindings::PerformanceBinding::DOMHighResTimeStamp;
use crate::dom::bindings::codegen::Bindings::PerformanceEntryBinding::PerformanceEntryMethods;
use crate::dom::bindings::codegen::Bindings::PerformanceProfileEntryBinding::PerformanceProfileEntryMethods;
use crate::dom::bindings::error::{Error, Fallible};
use crate::dom::bindings::inheritance::Castable;
use crate::dom::bindings::num::Finite;
use crate::dom::bindings::reflector::DomGlobal;
use crate::dom::bindings::root::DomRoot;
use crate::dom::bindings::str::DOMString;
use crate::dom::globalscope::GlobalScope;
use crate::dom::performance::Performance;
use crate::dom::performance::performanceentry::{EntryType, PerformanceEntry};
use crate::realms::enter_auto_realm;

/// The trace of a finished session, in the format that the page asked for.
#[derive(MallocSizeOf)]
pub(super) enum CapturedTrace {
    Default(Trace),
    JsonGzip(Vec<u8>),
}

/// What an entry says about its session.
pub(super) struct FinishedSession {
    /// The name that the page gave to the session.
    pub(super) name: DOMString,
    /// When the session started.
    pub(super) start_time: CrossProcessInstant,
    /// When the session was stopped or its buffer was full, whichever came first.
    pub(super) end_time: CrossProcessInstant,
    /// In milliseconds.
    pub(super) sample_interval: f64,
    /// How many samples the trace has.
    pub(super) sample_count: u32,
    /// Whether the session ended because its buffer was full.
    pub(super) buffer_full: bool,
}

/// An entry of the type "profile" in the performance timeline.
#[dom_struct]
pub(crate) struct PerformanceProfileEntry {
    entry: PerformanceEntry,
    /// In milliseconds.
    sample_interval: f64,
    sample_count: u32,
    buffer_full: bool,
    /// The trace, until a script asks for it. An object takes several times as much memory.
    #[no_trace]
    captured: DomRefCell<Option<CapturedTrace>>,
    /// The parts of the object that have been made.
    objects: TraceObjects,
    /// The part of the text that has been copied.
    buffer: TraceBuffer,
    /// The object, once a script has asked for it.
    #[ignore_malloc_size_of = "Defined in rust-mozjs"]
    trace: Heap<*mut JSObject>,
}

impl PerformanceProfileEntry {
    pub(super) fn new(
        cx: &mut JSContext,
        global: &GlobalScope,
        session: FinishedSession,
        trace: CapturedTrace,
    ) -> DomRoot<PerformanceProfileEntry> {
        let performance = global.performance(cx);
        let start_time = coarsened(&performance, session.start_time);
        let end_time = coarsened(&performance, session.end_time);
        let entry = PerformanceProfileEntry {
            entry: PerformanceEntry::new_inherited(
                session.name,
                EntryType::Profile,
                Some(start_time),
                end_time - start_time,
            ),
            sample_interval: session.sample_interval,
            sample_count: session.sample_count,
            buffer_full: session.buffer_full,
            captured: DomRefCell::new(Some(trace)),
            objects: TraceObjects::default(),
            buffer: TraceBuffer::default(),
            trace: Heap::default(),
        };
        reflect_dom_object(cx, Box::new(entry), global)
    }

    /// Makes as much of the trace as one task may make. True if little is missing then.
    pub(super) fn make_some(&self, cx: &mut JSContext) -> Fallible<bool> {
        let mut realm = enter_auto_realm(cx, self);
        let cx = &mut realm.current_realm();
        // No script runs here.
        match &*self.captured.borrow() {
            Some(CapturedTrace::Default(trace)) => {
                self.objects.make_some(cx, &self.global(), trace)
            },
            Some(CapturedTrace::JsonGzip(bytes)) => self.buffer.copy_some(cx, bytes),
            None => Ok(true),
        }
    }
}

/// The instant that pages see in place of this one. With it, the duration is the difference of the times that
/// pages see.
fn coarsened(performance: &Performance, instant: CrossProcessInstant) -> CrossProcessInstant {
    let milliseconds = *performance.to_dom_high_res_time_stamp(instant);
    performance.time_origin() + Duration::microseconds((milliseconds * 1000.).round() as i64)
}

impl PerformanceProfileEntryMethods<crate::DomTypeHolder> for PerformanceProfileEntry {
    /// The interval that the session had, in milliseconds.
    fn SampleInterval(&self) -> DOMHighResTimeStamp {
        Finite::wrap(self.sample_interval)
    }

    /// How many samples the trace has.
    fn SampleCount(&self) -> u32 {
        self.sample_count
    }

    /// Whether the session ended because its sample buffer was full.
    fn BufferFull(&self) -> bool {
        self.buffer_full
    }

    /// The trace. Returns the same object each time.
    fn GetTrace(&self, cx: &mut JSContext, mut retval: MutableHandleObject) -> Fallible<()> {
        let captured = self.captured.borrow_mut().take();
        if let Some(captured) = captured {
            // The object belongs to the entry's realm, whichever realm asks.
            let mut realm = enter_auto_realm(cx, self);
            let cx = &mut realm.current_realm();
            rooted!(&in(cx) let mut object = std::ptr::null_mut::<JSObject>());
            let made = match &captured {
                CapturedTrace::Default(trace) => {
                    self.objects
                        .make_trace(cx, &self.global(), trace, object.handle_mut())
                },
                CapturedTrace::JsonGzip(bytes) => self.buffer.make(cx, bytes, object.handle_mut()),
            };
            if made.is_err() {
                // A script may ask again, when there is memory.
                *self.captured.borrow_mut() = Some(captured);
                return made;
            }
            self.trace.set(object.get());
        }
        retval.set(self.trace.get());
        Ok(())
    }

    /// The default toJSON steps of <https://webidl.spec.whatwg.org/#default-tojson-steps>, but without the
    /// trace: pages make JSON of all their entries.
    fn ToJSON(&self, cx: &mut JSContext, mut retval: MutableHandleObject) -> Fallible<()> {
        let entry = self.upcast::<PerformanceEntry>();
        // SAFETY: the context is in the realm of the function that was called.
        #[expect(unsafe_code)]
        let object = unsafe { JS_NewPlainObject(cx) };
        rooted!(&in(cx) let object = object);
        if object.is_null() {
            return Err(Error::JSFailed);
        }
        let object_handle = object.handle();
        add_member(cx, object_handle, c"name", entry.Name())?;
        add_member(cx, object_handle, c"entryType", entry.EntryType())?;
        let start_time = entry.StartTime(cx);
        add_member(cx, object_handle, c"startTime", start_time)?;
        add_member(cx, object_handle, c"duration", entry.Duration())?;
        add_member(cx, object_handle, c"sampleInterval", self.SampleInterval())?;
        add_member(cx, object_handle, c"sampleCount", self.SampleCount())?;
        add_member(cx, object_handle, c"bufferFull", self.BufferFull())?;
        retval.set(object.get());
        Ok(())
    }
}
