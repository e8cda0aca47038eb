/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Runs a script in SpiderMonkey, without a browser, and lists the functions that its time went to:
//!
//!     cargo run --example profile_a_script -- script.js
//!
//! This uses the SpiderMonkey of `./mach build`. With `-p js_profiler`, Cargo would build another one.

use std::ffi::CString;
use std::sync::mpsc;
use std::time::Duration;
use std::{env, fs, ptr};

use js_profiler::{RuntimeEventLoop, SessionOptions, compress};
use js_profiler_traits::Trace;
use mozjs::jsapi::OnNewGlobalHookOption;
use mozjs::jsval::UndefinedValue;
use mozjs::realm::AutoRealm;
use mozjs::rooted;
use mozjs::rust::wrappers2::JS_NewGlobalObject;
use mozjs::rust::{
    CompileOptionsWrapper, JSEngine, RealmOptions, Runtime, SIMPLE_GLOBAL_CLASS, evaluate_script,
};
use servo_base::cross_process_instant::CrossProcessInstant;

fn main() {
    let path = env::args().nth(1).expect("profile_a_script SCRIPT");
    let script = fs::read_to_string(&path).expect("the script can be read");
    print!("{}", report(profile(&path, &script)));
}

/// Runs the script, and takes a sample for each millisecond that it runs.
fn profile(path: &str, script: &str) -> Trace {
    let engine = JSEngine::init().expect("SpiderMonkey starts");
    let mut runtime = Runtime::new(engine.handle());
    RuntimeEventLoop::with(&mut runtime, |event_loop, cx| {
        let hook = OnNewGlobalHookOption::FireOnNewGlobalHook;
        let options = RealmOptions::default();
        // SAFETY: the class and the options live as long as they are used. mozjs has no safe function for this.
        #[expect(unsafe_code)]
        let new_global = |cx| unsafe {
            JS_NewGlobalObject(cx, &SIMPLE_GLOBAL_CLASS, ptr::null_mut(), hook, &*options)
        };
        rooted!(&in(cx) let global = new_global(cx));
        let mut realm = AutoRealm::new_from_handle(cx, global.handle());
        let cx = &mut *realm;

        let session = event_loop.start(SessionOptions::every(Duration::from_millis(1)));
        let session = session.expect("the context is in a realm, and its thread can be stopped");

        rooted!(&in(cx) let mut value = UndefinedValue());
        let url = CString::new(path).expect("a path has no NUL");
        let options = CompileOptionsWrapper::new(cx, url, 1);
        if evaluate_script(cx, global.handle(), script, value.handle_mut(), options).is_err() {
            eprintln!("{path} threw");
        }

        session.finish().expect("nothing has failed")
    })
}

/// What `strobe report` would print.
fn report(trace: Trace) -> String {
    let start = CrossProcessInstant::epoch();
    let milliseconds = move |time: CrossProcessInstant| (time - start).whole_milliseconds() as f64;
    let (sender, compressed) = mpsc::channel();
    compress(trace, milliseconds, move |file| sender.send(file).unwrap());
    let file = compressed.recv().expect("the trace is compressed");
    let (recording, _) = profile_formats::read(&file, None, None).expect("the trace is sound");
    profile_formats::report(&recording, None, 10)
}

#[test]
fn the_function_that_did_the_work_is_first() {
    let script = "function idle() {}
        function busy() { let sum = 0; for (let i = 0; i < 1e5; i++) { sum += Math.sqrt(i); } return sum; }
        function caller() { idle(); return busy(); }
        for (let i = 0; i < 1000; i++) { caller(); }";
    let report = report(profile("test.js", script));
    let mut rows = report
        .lines()
        .skip_while(|line| !line.starts_with("self %"));
    let first = rows.nth(1).expect("there is a function");
    let is = |row: &str, name: &str, place: &str| row.contains(name) && row.contains(place);
    assert!(is(first, " busy ", " test.js:2:"), "{report}");
    assert!(
        rows.any(|row| is(row, " caller ", " test.js:3:")),
        "{report}"
    );
}
