/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A context of the engine for tests.

use std::cell::{Cell, RefCell};
use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::LazyLock;

use mozjs::conversions::jsstr_to_string;
use mozjs::jsapi::{CallArgs, InitSelfHostedCode, JSObject, OnNewGlobalHookOption};
use mozjs::jsval::{JSVal, ObjectValue, UndefinedValue};
use mozjs::realm::AutoRealm;
use mozjs::rooted;
use mozjs::rust::wrappers2::{
    GetTestingFunctions, JS_ClearPendingException, JS_DefineFunction, JS_DefineProperty,
    JS_GetPendingException, JS_NewGlobalObject, JS_NewPlainObject,
};
use mozjs::rust::{
    CompileOptionsWrapper, RealmOptions, SIMPLE_GLOBAL_CLASS, ToString, evaluate_script,
};
use mozjs_sys::jsapi::glue::JS_Init;
use mozjs_sys::jsapi::js::{RunJobs, UseInternalJobQueues};
use mozjs_sys::jsapi::{
    JS_DestroyContext, JS_NewContext, JS_SetGCParameter, JS_SetGlobalJitCompilerOption,
    JS_SetNativeStackQuota, JS_SetOffthreadIonCompilationEnabled, JS_ShutDown, JSContext,
    JSGCParamKey, JSJitCompilerOption,
};

use super::EngineContext;

/// A context of the thread that made it. It runs no script unless [`with_scripts`](Self::with_scripts) is
/// called.
pub struct TestContext {
    cx: NonNull<JSContext>,
    /// Where a cell of each part of the heap is, once there are scripts.
    cells: Cell<[usize; 2]>,
}

impl TestContext {
    /// A new context. Initialises the engine the first time.
    pub fn new() -> Self {
        // SAFETY: called once in the process, before any context is made. All contexts are destroyed before
        // the process exits.
        static ENGINE: LazyLock<bool> =
            LazyLock::new(|| unsafe { JS_Init() && libc::atexit(shut_down) == 0 });
        assert!(*ENGINE);
        const HEAP_SIZE: u32 = 32 * 1024 * 1024;
        // SAFETY: the engine is initialised.
        let cx = unsafe { JS_NewContext(HEAP_SIZE, std::ptr::null_mut()) };
        Self {
            cx: NonNull::new(cx).unwrap(),
            cells: Cell::default(),
        }
    }

    /// Addresses in memory that the engine has allocated: for the context, for old objects and for new ones.
    pub fn memory(&self) -> [usize; 3] {
        let [old, new] = self.cells.get();
        [self.cx.addr().get(), old, new]
    }

    /// Makes a realm, and calls `run` with a function that evaluates a script in it; the arguments of that
    /// function are the script's URL, its first line and its text. May be called once in a context. Scripts
    /// have the engine's functions for tests, as `engine`, `inNewRealm()`, `runJobs()`, which runs the reactions of promises, and
    /// `pause()`, which does what [`on_pause`] says.
    pub fn with_scripts(&self, run: impl FnOnce(&mut dyn FnMut(&CStr, u32, &str))) {
        const STACK_QUOTA: usize = 1 << 20;
        const NURSERY: u32 = 256 << 10;
        // SAFETY: the context is this thread's, and nothing has run in it yet.
        let mut cx = unsafe {
            JS_SetNativeStackQuota(self.cx.as_ptr(), STACK_QUOTA, STACK_QUOTA, STACK_QUOTA);
            // Small, so that a short program fills it.
            for key in [
                JSGCParamKey::JSGC_MIN_NURSERY_BYTES,
                JSGCParamKey::JSGC_MAX_NURSERY_BYTES,
            ] {
                JS_SetGCParameter(self.cx.as_ptr(), key, NURSERY);
            }
            assert!(UseInternalJobQueues(self.cx.as_ptr()));
            assert!(InitSelfHostedCode(
                self.cx.as_ptr(),
                Default::default(),
                None
            ));
            mozjs::context::JSContext::from_ptr(self.cx)
        };
        let cx = &mut cx;
        rooted!(&in(cx) let global = new_global(cx));
        let mut realm = AutoRealm::new_from_handle(cx, global.handle());
        let cx = &mut *realm;
        // SAFETY: all objects belong to this context, and are rooted.
        unsafe {
            rooted!(&in(cx) let engine = ObjectValue(GetTestingFunctions(cx)));
            let (global, engine) = (global.handle(), engine.handle());
            assert!(JS_DefineProperty(cx, global, c"engine".as_ptr(), engine, 0));
            let name = c"inNewRealm".as_ptr();
            let defined = JS_DefineFunction(cx, global, name, Some(in_new_realm), 1, 0);
            assert!(!defined.is_null());
            let name = c"runJobs".as_ptr();
            let defined = JS_DefineFunction(cx, global, name, Some(run_jobs), 0, 0);
            assert!(!defined.is_null());
            let defined = JS_DefineFunction(cx, global, c"pause".as_ptr(), Some(pause), 0, 0);
            assert!(!defined.is_null());
        }
        // SAFETY: we are in a realm. A collection may move the object. What counts is where it was made.
        let new = unsafe { JS_NewPlainObject(cx) };
        self.cells.set([global.get().addr(), new.addr()]);
        run(&mut |url, line, script| {
            rooted!(&in(cx) let mut value = UndefinedValue());
            let options = CompileOptionsWrapper::new(cx, url.to_owned(), line);
            let result = evaluate_script(cx, global.handle(), script, value.handle_mut(), options);
            result.unwrap_or_else(|()| panic!("{script:.200} threw {}", exception(cx)));
        });
    }

    /// Sets whether other threads may compile scripts. Otherwise a script waits until it is compiled.
    pub fn let_other_threads_compile(&self, may: bool) {
        // SAFETY: the context is this thread's.
        unsafe { JS_SetOffthreadIonCompilationEnabled(self.cx.as_ptr(), may) };
    }

    /// Switches tiers of the engine off, in all contexts of the process, until the result is dropped.
    pub fn without_tiers(&self, tiers: &'static [JSJitCompilerOption]) -> impl Drop {
        struct SwitchedOff(NonNull<JSContext>, &'static [JSJitCompilerOption]);

        impl SwitchedOff {
            fn set(&self, value: u32) {
                for tier in self.1 {
                    // SAFETY: the context is this thread's, and runs no script.
                    unsafe { JS_SetGlobalJitCompilerOption(self.0.as_ptr(), *tier, value) };
                }
            }
        }

        impl Drop for SwitchedOff {
            fn drop(&mut self) {
                self.set(1);
            }
        }

        let switched_off = SwitchedOff(self.cx, tiers);
        switched_off.set(0);
        switched_off
    }

    /// This context, for an event loop. The result must be dropped before this value.
    pub fn engine(&self) -> EngineContext {
        // SAFETY: the context is this thread's, and the value stays on this thread.
        unsafe { EngineContext::new(self.cx) }
    }
}

/// The text of the exception that a script has thrown.
fn exception(cx: &mut mozjs::context::JSContext) -> String {
    rooted!(&in(cx) let mut thrown = UndefinedValue());
    // SAFETY: the value is rooted, and the text is alive until it is copied.
    unsafe {
        if !JS_GetPendingException(cx, thrown.handle_mut()) {
            return "nothing".to_owned();
        }
        JS_ClearPendingException(cx);
        match NonNull::new(ToString(cx, thrown.handle())) {
            Some(text) => jsstr_to_string(cx, text),
            None => "what has no text".to_owned(),
        }
    }
}

fn new_global(cx: &mut mozjs::context::JSContext) -> *mut JSObject {
    // SAFETY: the class and the options live as long as they are used.
    unsafe {
        JS_NewGlobalObject(
            cx,
            &SIMPLE_GLOBAL_CLASS,
            std::ptr::null_mut(),
            OnNewGlobalHookOption::FireOnNewGlobalHook,
            &*RealmOptions::default(),
        )
    }
}

/// Evaluates a text, which must give a number, in a realm that nothing uses any more when this returns.
unsafe extern "C" fn in_new_realm(cx: *mut JSContext, argc: u32, arguments: *mut JSVal) -> bool {
    // SAFETY: the engine passes valid arguments.
    let (mut cx, arguments) = unsafe {
        let cx = NonNull::new(cx).expect("there is a context");
        (
            mozjs::context::JSContext::from_ptr(cx),
            CallArgs::from_vp(arguments, argc),
        )
    };
    let cx = &mut cx;
    let text = NonNull::new(arguments.get(0).to_string()).expect("it is a text");
    // SAFETY: the string is alive.
    let text = unsafe { jsstr_to_string(cx, text) };
    rooted!(&in(cx) let global = new_global(cx));
    rooted!(&in(cx) let mut value = UndefinedValue());
    let options = CompileOptionsWrapper::new(cx, c"https://a.test/realm.js".to_owned(), 1);
    let result = evaluate_script(cx, global.handle(), &text, value.handle_mut(), options);
    assert!(value.is_number());
    arguments.rval().set(value.get());
    result.is_ok()
}

/// Runs the jobs of the context, of which promises make one for each reaction.
unsafe extern "C" fn run_jobs(cx: *mut JSContext, argc: u32, arguments: *mut JSVal) -> bool {
    // SAFETY: the engine passes a valid context and valid arguments.
    unsafe {
        RunJobs(cx);
        CallArgs::from_vp(arguments, argc)
            .rval()
            .set(UndefinedValue());
    }
    true
}

thread_local! {
    static ON_PAUSE: RefCell<Option<Box<dyn FnMut()>>> = const { RefCell::new(None) };
}

/// Sets what this thread does when a script calls `pause()`.
pub fn on_pause(run: Option<Box<dyn FnMut()>>) {
    ON_PAUSE.set(run);
}

unsafe extern "C" fn pause(_: *mut JSContext, argc: u32, arguments: *mut JSVal) -> bool {
    ON_PAUSE.with_borrow_mut(|run| run.as_mut().expect("pause() has something to do")());
    // SAFETY: the engine passes valid arguments.
    unsafe { CallArgs::from_vp(arguments, argc) }
        .rval()
        .set(UndefinedValue());
    true
}

extern "C" fn shut_down() {
    // SAFETY: see above.
    unsafe { JS_ShutDown() };
}

impl Drop for TestContext {
    fn drop(&mut self) {
        // SAFETY: the context is this thread's.
        unsafe { JS_DestroyContext(self.cx.as_ptr()) };
    }
}
