/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Sessions for a program that embeds SpiderMonkey by mozjs' own types. Such a program needs no unsafe code for them.

#![allow(unsafe_code)]

use std::ptr::NonNull;

use mozjs::context::JSContext;
use mozjs::rust::Runtime;

use crate::event_loop::{EventLoop, Session, StartError};
use crate::options::SessionOptions;
use crate::spidermonkey::EngineContext;

/// The event loop of a [`Runtime`].
///
/// It has no function that may collect garbage. In mozjs, such a function has to borrow the context.
pub struct RuntimeEventLoop(EventLoop);

impl RuntimeEventLoop {
    /// Calls `run` with an event loop for the runtime, and with the runtime's context. The event loop ends when
    /// `run` returns.
    pub fn with<R>(runtime: &mut Runtime, run: impl FnOnce(&Self, &mut JSContext) -> R) -> R {
        // SAFETY: A runtime never leaves the thread that has made it, so the context is this thread's. The runtime
        // stays borrowed until this function ends. The event loop is dropped before that, also if `run` panics, because
        // `run` gets only a reference.
        let engine = unsafe {
            let context = NonNull::new(runtime.cx().raw_cx()).expect("a runtime has a context");
            EngineContext::new(context)
        };
        let event_loop = Self(EventLoop::new(engine));
        run(&event_loop, runtime.cx())
    }

    /// Starts a session, as [`EventLoop::start`] does. [`Session::finish`] gives its trace, or says why it failed.
    ///
    /// # Errors
    ///
    /// A [`StartError`] says why no session was started.
    pub fn start(&self, options: SessionOptions) -> Result<Session, StartError> {
        self.0.start(options, None, |_| {})
    }
}
