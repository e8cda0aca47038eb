/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The event loop of this thread, as the sampling component knows it. It is made with the thread's JavaScript
//! runtime, and dropped before the runtime.

use std::cell::RefCell;
use std::ptr::NonNull;

use js::jsapi::JSContext as RawJSContext;
use js_profiler::{Ended, EngineContext, EventLoop, Session, SessionOptions, StartError};
use profile_traits::mem::{Report, ReportKind};
use profile_traits::path;
use servo_base::id::BrowsingContextId;

use super::{collections, map_fetch};
use crate::dom::dedicatedworkerglobalscope::DedicatedWorkerScriptMsg;
use crate::dom::globalscope::GlobalScope;
use crate::dom::serviceworkerglobalscope::ServiceWorkerScriptMsg;
use crate::dom::sharedworkerglobalscope::SharedWorkerScriptMsg;
use crate::messaging::{MainThreadScriptMsg, ScriptEventLoopSender};

thread_local! {
    static EVENT_LOOP: RefCell<Option<EventLoop>> = const { RefCell::new(None) };
}

/// Called when the thread's runtime has been made.
#[expect(unsafe_code)]
pub(crate) fn enter(cx: *mut RawJSContext) {
    let Some(cx) = NonNull::new(cx) else {
        return;
    };
    // SAFETY: this is the thread's context. `leave` is called before it is destroyed.
    let engine = unsafe { EngineContext::new(cx) };
    let event_loop = EventLoop::new(engine);
    event_loop.fetch_maps_by(Box::new(map_fetch::fetch));
    EVENT_LOOP.with(|this| this.replace(Some(event_loop)));
    // SAFETY: this is the thread's context.
    unsafe { collections::follow(cx.as_ptr()) };
}

/// Called when the thread's last script has returned, before its runtime is destroyed.
pub(crate) fn leave() {
    EVENT_LOOP.with(|event_loop| event_loop.take());
}

/// Starts a session of the realm that the thread's context is in.
pub(super) fn start(
    options: SessionOptions,
    browsing_context: Option<BrowsingContextId>,
    on_end: impl FnOnce(Ended) + Send + 'static,
) -> Result<Session, StartError> {
    EVENT_LOOP.with(|event_loop| match &*event_loop.borrow() {
        Some(event_loop) => event_loop.start(options, browsing_context, on_end),
        None => Err(StartError::NoRealm),
    })
}

/// Called in each iteration of the thread's event loop, before it runs script.
pub(crate) fn serve_requests() {
    with(EventLoop::serve_requests);
}

/// Lets other threads wake this one, by a message that does nothing. `global` is a global of this thread, which need
/// not live as long.
pub(super) fn wake_by_messages_to(global: &GlobalScope) {
    let Some(sender) = global.event_loop_sender() else {
        return;
    };
    with(|event_loop| match sender {
        // An event loop that has ended needs no message.
        ScriptEventLoopSender::MainThread(sender) => event_loop.wake_by(move || {
            let _ = sender.send(MainThreadScriptMsg::Inactive);
        }),
        ScriptEventLoopSender::SharedWorker(sender) => event_loop.wake_by(move || {
            let _ = sender.send(SharedWorkerScriptMsg::WakeUp);
        }),
        ScriptEventLoopSender::ServiceWorker(sender) => event_loop.wake_by(move || {
            let _ = sender.send(ServiceWorkerScriptMsg::WakeUp);
        }),
        // Without the worker's object, which would be kept alive.
        ScriptEventLoopSender::DedicatedWorker { sender, .. } => event_loop.wake_by(move || {
            let _ = sender.send(DedicatedWorkerScriptMsg::WakeUp);
        }),
        ScriptEventLoopSender::Worklet(_) => {},
    });
}

/// Calls `call` with the thread's event loop. Does nothing once that is gone.
pub(super) fn with(call: impl FnOnce(&EventLoop)) {
    EVENT_LOOP.with(|event_loop| {
        if let Some(event_loop) = &*event_loop.borrow() {
            call(event_loop);
        }
    });
}

/// What the profiler has allocated for this thread, and the engine's tables for it, for about:memory.
pub(crate) fn memory_reports(path_prefix: &str) -> Vec<Report> {
    let mut reports = Vec::new();
    with(|event_loop| {
        let mut report = |name: &str, kind, size| {
            let path = path![path_prefix.to_owned(), name];
            reports.push(Report { path, kind, size });
        };
        report(
            "js-profiler",
            ReportKind::ExplicitJemallocHeapSize,
            event_loop.memory(),
        );
        // SpiderMonkey uses the system's heap.
        report(
            "js-code-tables",
            ReportKind::ExplicitSystemHeapSize,
            event_loop.memory_of_code_tables(),
        );
    });
    reports
}
