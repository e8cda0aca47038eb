/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! <https://wicg.github.io/js-self-profiling/#the-profiler-interface>

use std::cell::{Cell, RefCell};
use std::ffi::CString;
use std::ptr;
use std::rc::Rc;
use std::time::Instant;

use crossbeam_channel::Receiver;
use dom_struct::dom_struct;
use js::context::JSContext;
use js::jsapi::JSObject;
use js::realm::CurrentRealm;
use js::rust::{HandleObject, HandleValue};
use js_profiler::{Ended, Failure, Session, SessionOptions, StartError, compress};
use js_profiler_traits::{preferences, supported_interval};
use script_bindings::cell::DomRefCell;
use script_bindings::reflector::reflect_weak_referenceable_dom_object_with_proto;
use servo_base::cross_process_instant::CrossProcessInstant;
use stylo_atoms::Atom;

use super::event_loop;
use super::markers::marker_filter;
use super::performanceprofileentry::{CapturedTrace, FinishedSession, PerformanceProfileEntry};
use crate::dom::bindings::codegen::Bindings::PerformanceBinding::DOMHighResTimeStamp;
use crate::dom::bindings::codegen::Bindings::PerformanceProfileEntryBinding::PerformanceProfileEntryMethods;
use crate::dom::bindings::codegen::Bindings::ProfilerBinding::{
    ProfilerInitOptions, ProfilerMethods, ProfilerTraceFormat,
};
use crate::dom::bindings::codegen::Bindings::WindowBinding::WindowMethods;
use crate::dom::bindings::error::{Error, Fallible};
use crate::dom::bindings::inheritance::Castable;
use crate::dom::bindings::num::Finite;
use crate::dom::bindings::refcounted::Trusted;
use crate::dom::bindings::reflector::DomGlobal;
use crate::dom::bindings::root::{Dom, DomRoot, MutNullableDom};
use crate::dom::bindings::str::DOMString;
use crate::dom::errorevent::ErrorEvent;
use crate::dom::event::{Event, EventBubbles, EventCancelable};
use crate::dom::eventtarget::EventTarget;
use crate::dom::globalscope::GlobalScope;
use crate::dom::performance::performance::{Performance, ToDOMHighResTimeStamp};
use crate::dom::performance::performanceentry::PerformanceEntry;
use crate::dom::promise::{Promise, RootedPromise, TracedPromise};
use crate::dom::window::Window;
use crate::realms::enter_auto_realm;
use crate::tasks::task_source::SendableTaskSource;

/// Some pages recognise a refusal by its message, so it is the same as Chromium's.
const NOT_ALLOWED: &str = "JS profiling is disabled by Document Policy.";

/// Identifies a profiler among those of its global.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct ProfilerId(pub(super) u64);

/// <https://wicg.github.io/js-self-profiling/#profiler>
#[dom_struct]
pub(crate) struct Profiler {
    eventtarget: EventTarget,
    /// Tasks find the profiler by its id, because they must not keep it alive.
    #[no_trace]
    #[ignore_malloc_size_of = "Holds nothing"]
    id: ProfilerId,
    /// The timeline that gets the session's entry.
    performance: Dom<Performance>,
    #[no_trace]
    #[ignore_malloc_size_of = "Holds nothing"]
    way_in: WayIn,
    /// In milliseconds.
    sample_interval: f64,
    /// The name of the session's entry in the performance timeline.
    name: DOMString,
    format: ProfilerTraceFormat,
    #[no_trace]
    start_time: CrossProcessInstant,
    /// When the session was stopped or its buffer was full, whichever came first.
    #[no_trace]
    end_time: Cell<Option<CrossProcessInstant>>,
    stopped: Cell<bool>,
    /// Whether `samplebufferfull` has been fired.
    buffer_full: Cell<bool>,
    #[no_trace]
    #[ignore_malloc_size_of = "A few ids; the sampling thread has the rest"]
    session: RefCell<SessionState>,
    /// What `stop()` returned the first time it was called.
    promise: DomRefCell<Option<TracedPromise>>,
    /// Set when the trace has arrived, which it holds.
    entry: MutNullableDom<PerformanceProfileEntry>,
}

/// How a page has made a profiler.
#[derive(Clone, Copy, PartialEq)]
enum WayIn {
    /// `new Profiler()`. A second `stop()` is an error.
    Constructor,
    /// `performance.profile()` of the 2018 draft, where every `stop()` has the same promise.
    Draft,
}

/// A trace on its way from the sampling thread, or why there is none.
type Captured = Result<(usize, CapturedTrace), Failure>;

/// The session, as its profiler sees it.
#[derive(Default)]
enum SessionState {
    /// It did not start, or its global has gone away. There is no trace.
    #[default]
    Gone,
    /// It has not been stopped. Its buffer may be full.
    Started(Started),
    /// Its trace is on the way.
    Finished(Receiver<Captured>),
    /// Its trace is in the entry, and a part of the objects that the page waits for has been made.
    Making,
    /// Its trace is in the entry.
    Done,
    /// It has no trace, for this reason.
    Failed(String),
}

impl SessionState {
    fn started(&self) -> Option<&Session> {
        match self {
            Self::Started(started) => Some(&started.session),
            Self::Gone | Self::Finished(_) | Self::Making | Self::Done | Self::Failed(_) => None,
        }
    }
}

/// A session that has not been stopped. It ends when its profiler is collected.
struct Started {
    session: Session,
    task_source: SendableTaskSource,
}

/// The options that a profiler is started with.
struct StartOptions {
    session: SessionOptions,
    name: DOMString,
    format: ProfilerTraceFormat,
}

impl Profiler {
    fn new_inherited(
        id: ProfilerId,
        performance: &Performance,
        way_in: WayIn,
        options: StartOptions,
    ) -> Profiler {
        Profiler {
            eventtarget: EventTarget::new_inherited(),
            id,
            performance: Dom::from_ref(performance),
            way_in,
            sample_interval: options.session.sample_interval.as_secs_f64() * 1000.,
            name: options.name,
            format: options.format,
            start_time: CrossProcessInstant::now(),
            end_time: Cell::new(None),
            stopped: Cell::new(false),
            buffer_full: Cell::new(false),
            session: RefCell::default(),
            promise: DomRefCell::new(None),
            entry: MutNullableDom::default(),
        }
    }

    /// Makes a profiler in the global's realm, and starts its session.
    fn start(
        cx: &mut JSContext,
        global: &GlobalScope,
        proto: Option<HandleObject>,
        way_in: WayIn,
        options: StartOptions,
    ) -> Fallible<DomRoot<Profiler>> {
        // A script of the page can remove the frame of this global before it calls, and while its options are
        // read. Nothing would end the session then.
        if is_document_gone(global) {
            return Err(document_is_gone());
        }
        // The session samples the realm that the context is in.
        let mut realm = enter_auto_realm(cx, global);
        let cx = &mut realm.current_realm();
        let session_options = options.session;
        let id = global.profiling().next_id();
        let task_source = global
            .task_manager()
            .performance_timeline_task_source()
            .to_sendable();
        let sampled_task_source = task_source.clone();
        let performance = global.performance(cx);
        let profiler = Profiler::new_inherited(id, &performance, way_in, options);
        let profiler =
            reflect_weak_referenceable_dom_object_with_proto(cx, Rc::new(profiler), global, proto);
        // Tasks find the profiler by its id, so that a profiler which nobody can observe is collected.
        let trusted_global = Trusted::new(global);
        let browsing_context = global
            .downcast::<Window>()
            .and_then(Window::undiscarded_window_proxy)
            .map(|proxy| proxy.browsing_context_id());
        let on_end = move |ended| match ended {
            Ended::BufferFull => {
                let time = CrossProcessInstant::now();
                task_source.queue(task!(fire_samplebufferfull: move |cx| {
                    if let Some(profiler) = trusted_global.root().profiling().find(id) {
                        profiler.sample_buffer_full(cx, time);
                    }
                }));
            },
            Ended::Failed(failure) => {
                task_source.queue(task!(fire_error: move |cx| {
                    if let Some(profiler) = trusted_global.root().profiling().find(id) {
                        profiler.fail(cx, &failure);
                    }
                }));
            },
        };
        // The specification does not say when the first sample is taken. Chromium takes one that shows the
        // function which started the profiler, however short the session is, and pages rely on that.
        let session =
            event_loop::start(session_options, browsing_context, on_end).map_err(|error| {
                match error {
                    // SDKs in use look for this message.
                    StartError::TooManySessions => {
                        Error::Type(c"Reached maximum concurrent amount of profilers".to_owned())
                    },
                    error => Error::Operation(Some(format!(
                        "The profiler could not be started: {error}"
                    ))),
                }
            })?;
        profiler.session.replace(SessionState::Started(Started {
            session,
            task_source: sampled_task_source,
        }));
        global.profiling().add(&profiler);
        Ok(profiler)
    }

    pub(super) fn id(&self) -> ProfilerId {
        self.id
    }

    /// Whether somebody could notice that this profiler is gone, although nobody refers to it.
    pub(super) fn is_observable(&self) -> bool {
        // Garbage may be collected while the promise is being changed.
        let waits_for_trace = self
            .promise
            .try_borrow()
            .map_or(true, |promise| promise.is_some());
        waits_for_trace
            || self.upcast::<EventTarget>().may_have_listeners()
            || self.performance.is_observed_for_profiles()
    }

    /// Step 1 of <https://wicg.github.io/js-self-profiling/#dfn-take-a-sample>. Finishes the session unless a
    /// listener has done so, so that those who only observe the timeline get its entry.
    fn sample_buffer_full(&self, cx: &mut JSContext, time: CrossProcessInstant) {
        match &*self.session.borrow() {
            SessionState::Started(started) => started.session.note_ended(),
            // stop() was called while this task was queued.
            _ => return,
        }
        self.buffer_full.set(true);
        self.end_at(time);
        // Step 1.1. Fire an event named samplebufferfull.
        self.upcast::<EventTarget>()
            .fire_event(cx, Atom::from("samplebufferfull"));
        // Step 1.2. Set the session's state to stopped.
        self.stopped.set(true);
        self.finish();
    }

    /// What the first call of `stop()` returned.
    fn promise(&self, cx: &JSContext) -> Option<RootedPromise> {
        let promise = self.promise.borrow();
        promise.as_ref().map(|promise| promise.root(cx))
    }

    /// Ends the session, which has failed: there is no trace, and there will be none. The specification has
    /// no such end. The page learns of it by an `error` event and from the promise of `stop()`.
    fn fail(&self, cx: &mut JSContext, failure: &Failure) {
        // The end of the session and the missing trace may both report the failure.
        match &*self.session.borrow() {
            SessionState::Gone
            | SessionState::Making
            | SessionState::Done
            | SessionState::Failed(_) => return,
            SessionState::Started(started) => started.session.note_ended(),
            SessionState::Finished(_) => {},
        }
        let message = format!("The profiler failed: {failure}");
        self.session.replace(SessionState::Failed(message.clone()));
        self.stopped.set(true);
        self.end_at(CrossProcessInstant::now());
        let global = self.global();
        global.profiling().remove(self);
        if let Some(promise) = self.promise(cx) {
            let error = match failure {
                Failure::TimedOut => Error::Timeout,
                Failure::Panicked | Failure::CannotStop(_) | Failure::Lost => Error::Operation,
            };
            promise.reject_error(cx, error(Some(message.clone())));
        }
        let event = ErrorEvent::new(
            cx,
            &global,
            Atom::from("error"),
            EventBubbles::DoesNotBubble,
            EventCancelable::NotCancelable,
            DOMString::from(message),
            DOMString::new(),
            0,
            0,
            HandleValue::null(),
        );
        event
            .upcast::<Event>()
            .fire(cx, self.upcast::<EventTarget>());
    }

    fn end_at(&self, time: CrossProcessInstant) {
        let first = self.end_time.get().map_or(time, |other| other.min(time));
        self.end_time.set(Some(first));
    }

    /// Asks a session that has not finished for its trace, which comes in a task on the performance timeline
    /// task source. If there is a task for the event, the trace comes after that.
    fn finish(&self) {
        if self.session.borrow().started().is_none() {
            return;
        }
        let end_time = self.end_time.get().unwrap_or_else(CrossProcessInstant::now);
        let (sender, receiver) = crossbeam_channel::bounded(1);
        let SessionState::Started(Started {
            session,
            task_source,
        }) = self.session.replace(SessionState::Finished(receiver))
        else {
            return;
        };
        let trusted_profiler = Trusted::new(self);
        let take_trace = move |captured: Captured| {
            // Code that unloads the document may wait for the trace, and take it before the task does.
            let _ = sender.send(captured);
            task_source.queue(task!(take_trace: move |cx| {
                trusted_profiler.root().take_arrived_trace(cx);
            }));
        };
        match self.format {
            ProfilerTraceFormat::Default => session.stop(end_time, |trace| {
                take_trace(trace.map(|trace| (trace.samples.len(), CapturedTrace::Default(trace))));
            }),
            ProfilerTraceFormat::Json_gzip => {
                let time_origin = self.performance.time_origin();
                let timestamp = move |time: CrossProcessInstant| {
                    *(time - time_origin).to_dom_high_res_time_stamp()
                };
                session.stop(end_time, move |trace| match trace {
                    Ok(trace) => {
                        let sample_count = trace.samples.len();
                        compress(trace, timestamp, move |bytes| {
                            take_trace(Ok((sample_count, CapturedTrace::JsonGzip(bytes))));
                        });
                    },
                    Err(failure) => take_trace(Err(failure)),
                });
            },
        }
    }

    /// Takes the trace if it has arrived and has not been taken yet.
    fn take_arrived_trace(&self, cx: &mut JSContext) {
        let captured = match &*self.session.borrow() {
            SessionState::Finished(receiver) => receiver.try_recv().ok(),
            _ => None,
        };
        if let Some(captured) = captured {
            self.take_captured(cx, captured);
        }
    }

    /// Waits for the trace if one is expected. If it does not arrive before the deadline, there will be none.
    pub(super) fn wait_for_trace(&self, cx: &mut JSContext, deadline: Instant) {
        if self.is_making_trace() {
            return self.give_trace(cx);
        }
        let captured = match &*self.session.borrow() {
            SessionState::Finished(receiver) => receiver.recv_deadline(deadline).ok(),
            _ => return,
        };
        if let Some(captured) = captured {
            self.take_captured(cx, captured);
            if self.is_making_trace() {
                self.give_trace(cx);
            }
            return;
        }
        let message = "The trace did not arrive in time, and the document or worker is ending.";
        self.session
            .replace(SessionState::Failed(message.to_owned()));
        self.global().profiling().remove(self);
        if let Some(promise) = self.promise(cx) {
            promise.reject_error(cx, Error::Timeout(Some(message.to_owned())));
        }
    }

    /// Whether the page waits for a trace.
    pub(super) fn is_waited_for(&self) -> bool {
        let is_on_the_way = matches!(
            &*self.session.borrow(),
            SessionState::Finished(_) | SessionState::Making
        );
        is_on_the_way && self.promise.borrow().is_some()
    }

    fn take_captured(&self, cx: &mut JSContext, captured: Captured) {
        match captured {
            Ok((sample_count, trace)) => self.take_trace(cx, sample_count, trace),
            Err(failure) => self.fail(cx, &failure),
        }
    }

    /// Queues the entry of the finished session, and then resolves the promise that `stop()` returned. The
    /// order lets the page's reaction find the entry.
    fn take_trace(&self, cx: &mut JSContext, sample_count: usize, trace: CapturedTrace) {
        self.session.replace(SessionState::Done);
        let global = self.global();
        let session = FinishedSession {
            name: self.name.clone(),
            start_time: self.start_time,
            end_time: self.end_time.get().unwrap_or(self.start_time),
            sample_interval: self.sample_interval,
            sample_count: sample_count as u32,
            buffer_full: self.buffer_full.get(),
        };
        let entry = PerformanceProfileEntry::new(cx, &global, session, trace);
        self.entry.set(Some(&entry));
        self.performance
            .queue_entry(entry.upcast::<PerformanceEntry>());
        if self.promise.borrow().is_some() {
            self.make_trace(cx);
        } else {
            global.profiling().remove(self);
        }
    }

    /// Makes a part of the trace that the page waits for, and queues a task for the next part.
    fn make_trace(&self, cx: &mut JSContext) {
        let Some(entry) = self.entry.get() else {
            return;
        };
        match entry.make_some(cx) {
            Ok(false) => {},
            Ok(true) => return self.give_trace(cx),
            Err(error) => return self.refuse_trace(cx, error),
        }
        self.session.replace(SessionState::Making);
        let trusted_profiler = Trusted::new(self);
        self.global()
            .task_manager()
            .performance_timeline_task_source()
            .queue(task!(make_trace: move |cx| {
                let profiler = trusted_profiler.root();
                // Code that unloads the document may have given the trace, or ended the session.
                if profiler.is_making_trace() {
                    profiler.make_trace(cx);
                }
            }));
    }

    fn is_making_trace(&self) -> bool {
        matches!(&*self.session.borrow(), SessionState::Making)
    }

    /// Resolves the promise that `stop()` returned with the whole trace.
    fn give_trace(&self, cx: &mut JSContext) {
        let Some(entry) = self.entry.get() else {
            return;
        };
        rooted!(&in(cx) let mut trace = ptr::null_mut::<JSObject>());
        if let Err(error) = entry.GetTrace(cx, trace.handle_mut()) {
            return self.refuse_trace(cx, error);
        }
        self.stop_waiting();
        if let Some(promise) = self.promise(cx) {
            promise.resolve_native(cx, &trace.get());
        }
    }

    /// Rejects that promise, because the trace cannot be made. The entry still has it.
    fn refuse_trace(&self, cx: &mut JSContext, error: Error) {
        self.stop_waiting();
        if let Some(promise) = self.promise(cx) {
            promise.reject_error(cx, error);
        }
    }

    /// The page waits for the trace no more.
    fn stop_waiting(&self) {
        self.session.replace(SessionState::Done);
        self.global().profiling().remove(self);
    }

    pub(super) fn set_paused(&self, paused: bool) {
        if let Some(session) = self.session.borrow().started() {
            session.set_paused(paused);
        }
    }

    /// Ends the session without a trace, because the global goes away.
    pub(super) fn abandon(&self, cx: &mut JSContext) {
        self.stopped.set(true);
        self.session.take();
        if let Some(promise) = self.promise(cx) {
            promise.reject_error(cx, document_is_gone());
        }
    }
}

/// Whether the global has a document, for which no tasks run any more.
fn is_document_gone(global: &GlobalScope) -> bool {
    let window = global.downcast::<Window>();
    window.is_some_and(|window| !window.Document().is_fully_active())
}

/// The error for a profiler whose document is gone.
fn document_is_gone() -> Error {
    Error::InvalidState(Some("The profiler's document is gone.".to_owned()))
}

/// The options, with a supported interval. A RangeError if the interval is negative.
fn start_options(global: &GlobalScope, options: &ProfilerInitOptions) -> Fallible<StartOptions> {
    match supported_interval(*options.sampleInterval, preferences::base_interval()) {
        Ok(sample_interval) => Ok(StartOptions {
            session: SessionOptions {
                sample_interval,
                max_buffer_size: options.maxBufferSize,
                markers: marker_filter(global),
                is_paused: global.profiling().is_paused(),
            },
            name: options
                .name
                .clone()
                .unwrap_or_else(|| DOMString::from_static("profiler")),
            format: options.format,
        }),
        Err(error) => Err(Error::Range(
            CString::new(error).expect("the message has no NUL"),
        )),
    }
}

/// The method `profile()` of the 2018 draft. It is like the constructor, but refuses by rejecting the
/// promise.
pub(crate) fn profile(
    cx: &mut CurrentRealm,
    global: &GlobalScope,
    options: &ProfilerInitOptions,
) -> RootedPromise {
    // The promise belongs to the realm of `this`, not to that of the function.
    let mut realm = enter_auto_realm(cx, global);
    let cx = &mut realm.current_realm();
    let promise = Promise::new_in_realm(cx);
    let started = start_options(global, options).and_then(|options| {
        if !global.profiling().may_profile(cx, global) {
            return Err(Error::Security(Some(NOT_ALLOWED.to_owned())));
        }
        Profiler::start(cx, global, None, WayIn::Draft, options)
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
        let options = start_options(global, options)?;
        // Step 2. Get the policy value for "js-profiling" in the Document. If the result is false,
        // throw a "NotAllowedError" DOMException.
        if !global.profiling().may_profile(cx, global) {
            return Err(Error::NotAllowed(Some(NOT_ALLOWED.to_owned())));
        }
        // Step 3. Create a new profiling session.
        // Step 4. Return a new Profiler associated with the newly created profiling session.
        Profiler::start(cx, global, proto, WayIn::Constructor, options)
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
        // The promise belongs to the realm of `this`, not to that of the function.
        let mut realm = enter_auto_realm(cx, self);
        let cx = &mut realm.current_realm();
        // Step 1. If the session's state is stopped, return a promise rejected with an InvalidStateError.
        // This is done only if stop() was called before: a session that was stopped by its full buffer has a
        // trace, which nobody could get otherwise.
        if let Some(promise) = self.promise(cx) {
            let has_failed = matches!(&*self.session.borrow(), SessionState::Failed(_));
            if self.way_in == WayIn::Draft || has_failed {
                return promise;
            }
            let promise = Promise::new_in_realm(cx);
            let message = "The profiler was stopped already.".to_owned();
            promise.reject_error(cx, Error::InvalidState(Some(message)));
            return promise;
        }
        let promise = Promise::new_in_realm(cx);
        *self.promise.borrow_mut() = Some(promise.to_traced());
        if self.entry.get().is_some() {
            // The buffer was full.
            let global = self.global();
            if is_document_gone(&global) {
                self.give_trace(cx);
            } else {
                global.profiling().add(self);
                self.make_trace(cx);
            }
            return promise;
        }
        let error = match &*self.session.borrow() {
            SessionState::Gone => Some(document_is_gone()),
            SessionState::Failed(message) => Some(Error::Operation(Some(message.clone()))),
            SessionState::Started(_)
            | SessionState::Finished(_)
            | SessionState::Making
            | SessionState::Done => None,
        };
        if let Some(error) = error {
            promise.reject_error(cx, error);
            return promise;
        }
        // Step 2. Set the profiling session's state to stopped.
        self.stopped.set(true);
        self.end_at(CrossProcessInstant::now());
        // Step 3. Return a ProfilerTrace from the profiling session.
        self.finish();
        promise
    }

    // https://wicg.github.io/js-self-profiling/#the-profiler-interface
    event_handler!(
        samplebufferfull,
        GetOnsamplebufferfull,
        SetOnsamplebufferfull
    );
}
