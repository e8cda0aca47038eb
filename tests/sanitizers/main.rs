/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! An embedding of SpiderMonkey without Servo. Event loops, each on a thread of its own, run scripts of all
//! kinds, and the sampling component samples them. `./mach check sanitizers` builds it with sanitizers, which
//! find mistakes of the component with memory and between threads; see `python/strobe/checks/sanitizers.py`.
//!
//! `sanitizer_embedding SECONDS` runs for that long and prints what it did. It fails if a trace is malformed,
//! if a trace shows a function that it must not show, or if there were no stacks.

// The engine's own interface is unsafe.
#![allow(unsafe_code)]

// Reading the variable makes Cargo rebuild the crate in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

use std::env;
use std::process::ExitCode;
use std::ptr::{self, NonNull};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use js_profiler::{EngineContext, EventLoop, MarkerFilter, SessionOptions};
use js_profiler_traits::recording::{RecordingId, RecordingOptions, Report, Request, Selection};
use js_profiler_traits::{Trace, preferences};
use mozjs::jsapi::{GCReason, JS_GC, OnNewGlobalHookOption};
use mozjs::jsval::UndefinedValue;
use mozjs::realm::AutoRealm;
use mozjs::rooted;
use mozjs::rust::wrappers2::JS_NewGlobalObject;
use mozjs::rust::{
    CompileOptionsWrapper, HandleObject, JSEngine, JSEngineHandle, RealmOptions, Runtime,
    SIMPLE_GLOBAL_CLASS, evaluate_script,
};
use servo_base::cross_process_instant::CrossProcessInstant;

const KINDS: &str = include_str!("kinds.js");

/// A script that no page may see. Its functions must not be in any trace.
const MUTED: &str = "
function hiddenOuter() {
    let sum = 0;
    for (let i = 0; i < 100; i++) {
        sum += [3, 1, 2].map(function hiddenInner(x) { return kinds.inlining() + x; })[0];
        if (i > 1) { return sum; }
    }
}";

/// Ten times the rate that a page can ask for.
const BASE_INTERVAL_US: u32 = 100;

/// The same as that of Servo's script threads.
const STACK_SIZE: usize = 8 << 20;

const EVENT_LOOPS: usize = 3;

fn main() -> ExitCode {
    let seconds = env::args().nth(1).and_then(|text| text.parse().ok());
    let Some(seconds) = seconds else {
        eprintln!("sanitizer_embedding SECONDS");
        return ExitCode::from(2);
    };
    preferences::set(
        "js_profiling_base_interval_us",
        &BASE_INTERVAL_US.to_string(),
    )
    .expect("it is in the range");
    let engine = JSEngine::init().expect("nothing has used the engine before");
    let end = Instant::now() + Duration::from_secs(seconds);
    let event_loops: Vec<_> = (0..EVENT_LOOPS)
        .map(|_| {
            let engine = engine.handle();
            thread::Builder::new()
                .stack_size(STACK_SIZE)
                .spawn(move || run_until(end, engine))
                .expect("there is room for a thread")
        })
        .collect();
    let chunks = record_until(end);
    let mut done = Done::default();
    for event_loop in event_loops {
        done.add(&event_loop.join().expect("it says what went wrong"));
    }
    println!(
        "{} contexts, {} scripts, {} sessions, {} samples, {} with a stack, {} unwalkable, {} recorded chunks",
        done.contexts,
        done.scripts,
        done.sessions,
        done.samples,
        done.with_stack,
        done.unwalkable,
        chunks
    );
    match done.with_stack > 0 && chunks > 0 {
        true => ExitCode::SUCCESS,
        false => {
            eprintln!("nothing was sampled");
            ExitCode::FAILURE
        },
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Done {
    contexts: u64,
    scripts: u64,
    sessions: u64,
    samples: u64,
    with_stack: u64,
    unwalkable: u64,
}

impl Done {
    fn add(&mut self, other: &Self) {
        self.contexts += other.contexts;
        self.scripts += other.scripts;
        self.sessions += other.sessions;
        self.samples += other.samples;
        self.with_stack += other.with_stack;
        self.unwalkable += other.unwalkable;
    }
}

/// Makes recordings of all event loops, one after another. Returns how many chunks there were.
fn record_until(end: Instant) -> u64 {
    const LENGTH: Duration = Duration::from_millis(700);
    let (reports, received) = crossbeam_channel::unbounded();
    let mut chunks = 0;
    for number in 0.. {
        if Instant::now() >= end {
            break;
        }
        let id = RecordingId(number);
        js_profiler::serve(
            Request::Start(RecordingOptions {
                id,
                interval: Duration::from_millis(1),
                event_loops: Selection::All,
                sources: true,
                linked_maps: true,
            }),
            &reports,
        );
        thread::sleep(LENGTH);
        js_profiler::serve(Request::Status { number }, &reports);
        js_profiler::serve(Request::Stop(id), &reports);
        loop {
            match received.recv().expect("the sender is here") {
                Report::Chunk(_) => chunks += 1,
                Report::Failed { why, .. } => panic!("the recording failed: {why}"),
                Report::Status { .. }
                | Report::Source { .. }
                | Report::SourcesLeftOut { .. }
                | Report::Map { .. }
                | Report::PageAnswer { .. } => {},
                Report::Stopped(stopped) => {
                    assert_eq!(stopped, id);
                    break;
                },
            }
        }
    }
    chunks
}

/// Runs contexts one after another, each with an event loop and a realm of its own.
fn run_until(end: Instant, engine: JSEngineHandle) -> Done {
    let mut done = Done::default();
    while Instant::now() < end {
        run_context(end, &engine, &mut done);
        done.contexts += 1;
    }
    done
}

fn run_context(end: Instant, engine: &JSEngineHandle, done: &mut Done) {
    let mut runtime = Runtime::new(engine.clone());
    // SAFETY: the context is this thread's, and outlives the event loop, which is dropped at the end.
    let raw = unsafe { runtime.cx().raw_cx() };
    let context = NonNull::new(raw).expect("there is a context");
    // SAFETY: as above.
    let event_loop = EventLoop::new(unsafe { EngineContext::new(context) });
    let cx = runtime.cx();
    rooted!(&in(cx) let global = unsafe {
        // SAFETY: the class and the options live as long as they are used.
        JS_NewGlobalObject(
            cx,
            &SIMPLE_GLOBAL_CLASS,
            ptr::null_mut(),
            OnNewGlobalHookOption::FireOnNewGlobalHook,
            &*RealmOptions::default(),
        )
    });
    let mut realm = AutoRealm::new_from_handle(cx, global.handle());
    let cx = &mut *realm;
    evaluate(
        cx,
        global.handle(),
        c"https://a.test/kinds.js",
        KINDS,
        false,
    );
    evaluate(
        cx,
        global.handle(),
        c"https://b.test/hidden.js",
        MUTED,
        true,
    );
    let kinds = names(KINDS);
    for (number, kind) in kinds.iter().enumerate() {
        if Instant::now() >= end {
            break;
        }
        run_script(cx, global.handle(), &event_loop, number, kind, done);
        // SAFETY: no script is running, and everything that is used later is rooted.
        unsafe { JS_GC(raw, GCReason::API) };
    }
    drop(event_loop);
}

/// Runs a script under a few sessions, each of which ends in a different way.
fn run_script(
    cx: &mut mozjs::context::JSContext,
    global: HandleObject,
    event_loop: &EventLoop,
    number: usize,
    kind: &str,
    done: &mut Done,
) {
    let start = |interval: u32, max_buffer_size: u32| {
        let options = SessionOptions {
            sample_interval: Duration::from_micros((interval * BASE_INTERVAL_US).into()),
            max_buffer_size,
            markers: MarkerFilter {
                document: None,
                isolated: false,
            },
            is_paused: false,
        };
        event_loop
            .start(options, None, |_| {})
            .expect("there is room for a session")
    };
    let stopped = start(1, u32::MAX);
    let soon_full = start(3, 5);
    let dropped = start(7, u32::MAX);
    let paused = start(2, u32::MAX);
    done.sessions += 4;
    paused.set_paused(true);
    let call = match number % 4 {
        3 => "hiddenOuter(); undefined".to_owned(),
        _ => format!("kinds.{kind}(); kinds.{kind}()"),
    };
    evaluate(cx, global, c"https://a.test/main.js", &call, false);
    paused.set_paused(false);
    drop(dropped);
    evaluate(cx, global, c"https://a.test/main.js", &call, false);
    done.scripts += 2;
    let (sender, traces) = mpsc::channel();
    for session in [stopped, soon_full, paused] {
        let sender = sender.clone();
        session.stop(CrossProcessInstant::now(), move |trace| {
            let _ = sender.send(trace);
        });
    }
    drop(sender);
    for trace in traces {
        let trace = trace.unwrap_or_else(|failure| panic!("{kind}: {failure}"));
        check(&trace);
        done.samples += trace.samples.len() as u64;
        let with_stack = trace
            .samples
            .iter()
            .filter(|sample| sample.stack_id().is_some());
        done.with_stack += with_stack.count() as u64;
        done.unwalkable += trace.counts.unwalkable;
    }
}

fn check(trace: &Trace) {
    for (index, stack) in trace.stacks.iter().enumerate() {
        assert!(
            stack
                .parent_id
                .is_none_or(|parent| (parent as usize) < index)
        );
        assert!((stack.frame_id as usize) < trace.frames.len());
    }
    for sample in &trace.samples {
        assert!(
            sample
                .stack_id()
                .is_none_or(|id| (id as usize) < trace.stacks.len())
        );
    }
    for frame in &trace.frames {
        assert!(
            frame
                .resource_id
                .is_none_or(|id| (id as usize) < trace.resources.len())
        );
        assert!(
            !frame.name.starts_with("hidden"),
            "a muted script's {frame:?}"
        );
    }
    assert!(trace.resources.iter().all(|url| !url.contains("b.test")));
}

fn evaluate(
    cx: &mut mozjs::context::JSContext,
    global: HandleObject,
    url: &std::ffi::CStr,
    script: &str,
    muted: bool,
) {
    rooted!(&in(cx) let mut value = UndefinedValue());
    let mut options = CompileOptionsWrapper::new(cx, url.to_owned(), 1);
    options.set_muted_errors(muted);
    evaluate_script(cx, global, script, value.handle_mut(), options)
        .unwrap_or_else(|()| panic!("{script:.200} threw"));
}

/// The names of the functions that the script defines.
fn names(script: &str) -> Vec<&str> {
    let lines = script
        .lines()
        .filter_map(|line| line.strip_prefix("kinds."));
    lines
        .filter_map(|line| line.split_once(" = ").map(|(name, _)| name))
        .collect()
}
