/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! <https://wicg.github.io/js-self-profiling/#the-profiler-interface>

use std::cell::{Cell, RefCell};
use std::ffi::CString;
use std::time::Duration;

use dom_struct::dom_struct;
use js::context::JSContext;
use js::realm::CurrentRealm;
use js::rust::HandleObject;
use js_profiler::{Session, SessionOptions, StartError};
use js_profiler_traits::{preferences, supported_interval};
use script_bindings::cell::DomRefCell;
use script_bindings::reflector::reflect_dom_object_with_proto;
use stylo_atoms::Atom;

use super::event_loop;
use super::profilertrace::profiler_trace;
use crate::dom::bindings::codegen::Bindings::PerformanceBinding::DOMHighResTimeStamp;
use crate::dom::bindings::codegen::Bindings::ProfilerBinding::{
    ProfilerInitOptions, ProfilerMethods,
};
use crate::dom::bindings::error::{Error, Fallible};
use crate::dom::bindings::inheritance::Castable;
use crate::dom::bindings::num::Finite;
use crate::dom::bindings::refcounted::{Trusted, TrustedPromise};
use crate::dom::bindings::reflector::DomGlobal;
use crate::dom::bindings::root::DomRoot;
use crate::dom::eventtarget::EventTarget;
use crate::dom::globalscope::GlobalScope;
use crate::dom::promise::{Promise, RootedPromise, TracedPromise};

/// Told to pages that recognise a refusal by its message, as Chromium's.
const NOT_ALLOWED: &str = "JS profiling is disabled by Document Policy.";

/// <https://wicg.github.io/js-self-profiling/#profiler>
#[dom_struct]
pub(crate) struct Profiler {
    eventtarget: EventTarget,
    /// Milliseconds.
    sample_interval: f64,
    stopped: Cell<bool>,
    /// Until it is stopped, or its global goes away.
    #[no_trace]
    #[ignore_malloc_size_of = "A few ids; the sampling thread has the rest"]
    session: RefCell<Option<Session>>,
    /// What `stop()` gave the first time it was called.
    trace: DomRefCell<Option<TracedPromise>>,
}

impl Profiler {
    fn new_inherited(sample_interval: Duration) -> Profiler {
        Profiler {
            eventtarget: EventTarget::new_inherited(),
            sample_interval: sample_interval.as_secs_f64() * 1000.,
            stopped: Cell::new(false),
            session: RefCell::new(None),
            trace: DomRefCell::new(None),
        }
    }

    /// A profiler of the current realm, with a running session.
    fn start(
        cx: &mut JSContext,
        global: &GlobalScope,
        proto: Option<HandleObject>,
        options: SessionOptions,
    ) -> Fallible<DomRoot<Profiler>> {
        let profiler = Box::new(Profiler::new_inherited(options.sample_interval));
        let profiler = reflect_dom_object_with_proto(cx, profiler, global, proto);
        // The sampling thread holds the profiler until the session ends: a page may drop its own
        // reference and wait for the event.
        let trusted_profiler = Trusted::new(&*profiler);
        let task_source = global
            .task_manager()
            .performance_timeline_task_source()
            .to_sendable();
        let session = event_loop::start(options, move || {
            task_source.queue(task!(fire_samplebufferfull: move |cx| {
                trusted_profiler.root().sample_buffer_full(cx);
            }));
        })
        .map_err(|error| match error {
            // The message that SDKs in use look for.
            StartError::TooManySessions => {
                Error::Type(c"Reached maximum concurrent amount of profilers".to_owned())
            },
            error => Error::Operation(Some(format!("The profiler could not be started: {error}"))),
        })?;
        profiler.session.replace(Some(session));
        global.profiling().add_running(&profiler);
        Ok(profiler)
    }

    /// Fires the event of step 1 of <https://wicg.github.io/js-self-profiling/#dfn-take-a-sample>.
    fn sample_buffer_full(&self, cx: &mut JSContext) {
        // stop() may have been called while this task was on its way.
        if let Some(session) = &*self.session.borrow() {
            session.note_ended();
        }
        self.stopped.set(true);
        self.global().profiling().remove_running(self);
        self.upcast::<EventTarget>()
            .fire_event(cx, Atom::from("samplebufferfull"));
    }

    pub(super) fn set_paused(&self, paused: bool) {
        if let Some(session) = &*self.session.borrow() {
            session.set_paused(paused);
        }
    }

    /// Ends the session without a trace, because the global goes away.
    pub(super) fn end_session(&self) {
        self.stopped.set(true);
        self.session.take();
    }
}

/// The options with a supported interval, or the RangeError for a negative one.
fn session_options(options: &ProfilerInitOptions) -> Fallible<SessionOptions> {
    match supported_interval(*options.sampleInterval, preferences::base_interval()) {
        Ok(sample_interval) => Ok(SessionOptions {
            sample_interval,
            max_buffer_size: options.maxBufferSize,
        }),
        Err(error) => Err(Error::Range(
            CString::new(error.to_string()).expect("the message has no NUL"),
        )),
    }
}

/// The `profile()` method of the 2018 draft: like the constructor, but refuses by a rejection.
pub(crate) fn profile(
    cx: &mut CurrentRealm,
    global: &GlobalScope,
    options: &ProfilerInitOptions,
) -> RootedPromise {
    let promise = Promise::new_in_realm(cx);
    let started = session_options(options).and_then(|options| {
        if !global.profiling().may_profile(global) {
            return Err(Error::Security(Some(NOT_ALLOWED.to_owned())));
        }
        Profiler::start(cx, global, None, options)
    });
    match started {
        Ok(profiler) => promise.resolve_native(cx, &profiler),
        Err(error) => promise.reject_error(cx, error),
    }
    promise
}

impl ProfilerMethods<crate::DomTypeHolder> for Profiler {
    /// <https://wicg.github.io/js-self-profiling/#dom-profiler-profiler>
    fn Constructor(
        cx: &mut JSContext,
        global: &GlobalScope,
        proto: Option<HandleObject>,
        options: &ProfilerInitOptions,
    ) -> Fallible<DomRoot<Profiler>> {
        // Step 1. If options' sampleInterval is less than 0, throw a RangeError.
        let options = session_options(options)?;
        // Step 2. Get the policy value for "js-profiling" in the Document. If the result is false,
        // throw a "NotAllowedError" DOMException.
        if !global.profiling().may_profile(global) {
            return Err(Error::NotAllowed(Some(NOT_ALLOWED.to_owned())));
        }
        // Step 3. Create a new profiling session.
        // Step 4. Return a new Profiler associated with the newly created profiling session.
        Profiler::start(cx, global, proto, options)
    }

    /// <https://wicg.github.io/js-self-profiling/#dom-profiler-sampleinterval>
    fn SampleInterval(&self) -> DOMHighResTimeStamp {
        Finite::wrap(self.sample_interval)
    }

    /// <https://wicg.github.io/js-self-profiling/#dom-profiler-stopped>
    fn Stopped(&self) -> bool {
        self.stopped.get()
    }

    /// <https://wicg.github.io/js-self-profiling/#dom-profiler-stop>
    fn Stop(&self, cx: &mut CurrentRealm) -> RootedPromise {
        // Step 1. If the associated profiling session's state is stopped, return the ProfilerTrace
        // captured by the session.
        if let Some(trace) = &*self.trace.borrow() {
            return trace.root(cx);
        }
        // Step 2. Set the profiling session's state to stopped.
        self.stopped.set(true);
        let global = self.global();
        global.profiling().remove_running(self);
        let promise = Promise::new_in_realm(cx);
        *self.trace.borrow_mut() = Some(promise.to_traced());
        let Some(session) = self.session.take() else {
            promise.reject_error(
                cx,
                Error::InvalidState(Some("The profiler's document is gone.".to_owned())),
            );
            return promise;
        };
        // Step 3. Return a ProfilerTrace from the profiling session.
        let trusted_promise = TrustedPromise::from(&promise);
        let task_source = global
            .task_manager()
            .performance_timeline_task_source()
            .to_sendable();
        session.stop(move |trace| {
            task_source.queue(task!(resolve_with_trace: move |cx| {
                let promise = trusted_promise.root(cx);
                let trace = profiler_trace(cx, &promise.global(), trace);
                promise.resolve_native(cx, &trace);
            }));
        });
        promise
    }

    // https://wicg.github.io/js-self-profiling/#the-profiler-interface
    event_handler!(
        samplebufferfull,
        GetOnsamplebufferfull,
        SetOnsamplebufferfull
    );
}
