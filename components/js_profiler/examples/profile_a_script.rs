/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Runs a script in SpiderMonkey, without a browser, and prints where its time went:
//!
//!     cargo run --example profile_a_script -- script.js
//!
//! This uses the SpiderMonkey of `./mach build`. With `-p js_profiler`, Cargo would build another one.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ffi::CString;
use std::iter;
use std::ptr::{self, NonNull};
use std::time::Duration;
use std::{env, fs};

use js_profiler::{EngineMode, EventLoop, SessionOptions, Walker};
use js_profiler_traits::Trace;
use mozjs::jsapi::OnNewGlobalHookOption;
use mozjs::jsval::UndefinedValue;
use mozjs::realm::AutoRealm;
use mozjs::rooted;
use mozjs::rust::wrappers2::JS_NewGlobalObject;
use mozjs::rust::{
    CompileOptionsWrapper, JSEngine, RealmOptions, Runtime, SIMPLE_GLOBAL_CLASS, evaluate_script,
};

fn main() {
    let path = env::args().nth(1).expect("profile_a_script SCRIPT");
    let script = fs::read_to_string(&path).expect("the script can be read");
    print!("{}", table(&profile(&path, &script)));
}

/// Runs the script, and takes a sample for each millisecond that it runs.
fn profile(path: &str, script: &str) -> Trace {
    let engine = JSEngine::init().expect("SpiderMonkey starts");
    let mut runtime = Runtime::new(engine.handle());
    // SAFETY: the event loop is dropped before the runtime, and on its thread.
    #[expect(unsafe_code)]
    let event_loop = unsafe {
        let context = NonNull::new(runtime.cx().raw_cx()).expect("a runtime has a context");
        EventLoop::new(EngineMode::new(context, Walker::preferred()))
    };

    let cx = runtime.cx();
    let hook = OnNewGlobalHookOption::FireOnNewGlobalHook;
    let options = RealmOptions::default();
    // SAFETY: the class and the options live as long as they are used.
    #[expect(unsafe_code)]
    let new_global = |cx| unsafe {
        JS_NewGlobalObject(cx, &SIMPLE_GLOBAL_CLASS, ptr::null_mut(), hook, &*options)
    };
    rooted!(&in(cx) let global = new_global(cx));
    let mut realm = AutoRealm::new_from_handle(cx, global.handle());
    let cx = &mut *realm;

    let options = SessionOptions::every(Duration::from_millis(1));
    let session = event_loop.start(options, None, |ended| eprintln!("{ended:?}"));
    let session = session.expect("the context is in a realm, and its thread can be stopped");

    rooted!(&in(cx) let mut value = UndefinedValue());
    let url = CString::new(path).expect("a path has no NUL");
    let options = CompileOptionsWrapper::new(cx, url, 1);
    if evaluate_script(cx, global.handle(), script, value.handle_mut(), options).is_err() {
        eprintln!("{path} threw");
    }

    session.finish().expect("nothing has failed")
}

/// How many samples have each function as their leaf, and how many have it anywhere on the stack.
fn table(trace: &Trace) -> String {
    let mut rows: Vec<_> = trace.frames.iter().map(|frame| (0, 0, frame)).collect();
    for sample in &trace.samples {
        let stack = |id: u32| trace.stacks[id as usize];
        let ids = iter::successors(sample.stack_id, |&id| stack(id).parent_id);
        let frames: Vec<_> = ids.map(|id| stack(id).frame_id as usize).collect();
        if let Some(&leaf) = frames.first() {
            rows[leaf].0 += 1;
        }
        // A function that is there several times counts once.
        for frame in BTreeSet::from_iter(frames) {
            rows[frame].1 += 1;
        }
    }
    rows.sort_by_key(|&(own, total, _)| Reverse((own, total)));
    let mut table = "    self    total  function:line\n".to_owned();
    for (own, total, frame) in rows {
        let function = match frame.line {
            Some(line) => format!("{}:{line}", frame.name),
            None => frame.name.clone(),
        };
        table += &format!("{own:8} {total:8}  {function}\n");
    }
    table
}

#[test]
fn the_function_that_did_the_work_is_first() {
    let script = "function idle() {}
        function busy() { let sum = 0; for (let i = 0; i < 1e5; i++) { sum += Math.sqrt(i); } return sum; }
        function caller() { idle(); return busy(); }
        for (let i = 0; i < 1000; i++) { caller(); }";
    let trace = profile("test.js", script);
    let table = table(&trace);
    let first = table.lines().nth(1).unwrap();
    assert!(first.ends_with(" busy:2"), "{table}");
    assert!(table.contains(" caller:3"), "{table}");
}
