/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What a recording contains of a page, and that it does not affect the page.

use std::collections::HashSet;

use browser_tests::{Driver, Output, Site, Trace, alone};
use profile_formats::{Activity, EventLoop, EventLoopKind, Function, Place, Recording};

/// Records a page with a script and a frame of another origin until `until` is true in it.
fn record(site: &Site, other: &Site, query: &str, until: &str) -> (Recording, Output) {
    let url = site.url(&format!("/recorded.html?other={}{query}", other.origin()));
    browser_tests::record(&["--sources", "--until-js", until, &url])
}

/// The event loop with a function of this name, and the function.
fn with_function<'a>(recording: &'a Recording, name: &str) -> (&'a EventLoop, &'a Function) {
    let mut found = recording.event_loops().filter_map(|event_loop| {
        let mut functions = event_loop.functions();
        let function = functions.find(|function| function.name == name)?;
        Some((event_loop, function))
    });
    let first = found
        .next()
        .unwrap_or_else(|| panic!("{name} was not recorded"));
    assert!(found.next().is_none(), "{name} is on one event loop");
    first
}

/// For each sample, the names of the functions from the root to the leaf.
fn stacks(event_loop: &EventLoop) -> impl Iterator<Item = Vec<&str>> {
    event_loop.samples().iter().map(|sample| {
        let frames = event_loop.frames_of(sample.stack);
        frames
            .into_iter()
            .map(|frame| &*event_loop.function_of(frame).name)
            .collect()
    })
}

fn activities(event_loop: &EventLoop) -> HashSet<Activity> {
    let activities = event_loop.samples().iter();
    activities.filter_map(|sample| sample.activity).collect()
}

#[test]
fn a_native_that_another_native_calls_is_recorded() {
    let _alone = alone();
    let site = Site::plain().serve();
    let url = site.url("/natives.html");
    let (recording, _) = browser_tests::record(&["--until-js", "rounds >= 300", &url]);
    let (page, _) = with_function(&recording, "setByNative");
    let mut setters = 0;
    for stack in stacks(page) {
        if let Some(at) = stack.iter().position(|name| *name == "set innerHTML") {
            assert_eq!(stack[..at].last(), Some(&"set"), "{stack:?}");
            setters += 1;
        }
    }
    assert!(setters > 100, "{setters}");
}

const UNTIL: &str = "rounds >= 40 && frameRounds >= 20 && workerRounds >= 20";

#[test]
fn all_realms_scripts_and_workers_are_recorded_with_what_their_event_loops_do() {
    // The page may not profile at all.
    let (site, other) = (Site::plain().serve(), Site::plain().serve());
    let (recording, _) = record(&site, &other, "", UNTIL);
    let origin_of = |event_loop: &EventLoop, function: &Function| {
        let realm = event_loop.realm(function.realm.expect("its realm is known"));
        realm.origin.clone().expect("it is not opaque")
    };

    let (page, ours) = with_function(&recording, "ourWork");
    assert_eq!(origin_of(page, ours), site.origin());
    assert_eq!(page.resource_of(ours), Some(&*site.url("/recorded.js")));
    let (event_loop, muted) = with_function(&recording, "mutedWork");
    assert_eq!(origin_of(event_loop, muted), site.origin());
    let expected = other.url("/recorded-muted.js");
    assert_eq!(event_loop.resource_of(muted), Some(&*expected));
    let (event_loop, in_frame) = with_function(&recording, "frameWork");
    assert_eq!(origin_of(event_loop, in_frame), other.origin());
    // The two have the same site, but not the same origin.
    assert_eq!(event_loop, page);
    let EventLoopKind::Page { documents } = &page.kind else {
        panic!("{:?}", page.kind);
    };
    assert!(
        documents[0].starts_with(&site.url("/recorded.html")),
        "{documents:?}"
    );
    assert_eq!(documents[1..], [other.url("/recorded-frame.html")]);
    assert_eq!(page.name, format!("Page {} (+1)", documents[0]));

    let (worker, in_worker) = with_function(&recording, "workerWork");
    assert_eq!(origin_of(worker, in_worker), site.origin());
    assert_eq!(
        (&*worker.name, &worker.kind),
        ("Worker sums", &EventLoopKind::Worker)
    );

    use Activity::{Idle, Layout, Script, Style};
    let of_page = activities(page);
    for expected in [Idle, Script, Style, Layout] {
        assert!(of_page.contains(&expected), "{expected:?}: {of_page:?}");
    }
    let of_worker = activities(worker);
    assert!(
        of_worker.contains(&Idle) && of_worker.contains(&Script),
        "{of_worker:?}"
    );
    assert!(!of_worker.contains(&Layout), "{of_worker:?}");
    for event_loop in [page, worker] {
        for sample in event_loop.samples() {
            let is_idle = sample.activity == Some(Idle);
            assert!(!is_idle || sample.stack.is_none(), "{sample:?}");
        }
    }
    // A script that forces layout is on the stack during the layout.
    let mut laid_out = stacks(page).zip(page.samples());
    assert!(
        laid_out.any(|(stack, sample)| {
            sample.activity == Some(Layout) && stack.contains(&"layOut")
        })
    );
}

#[test]
fn a_pages_own_trace_is_what_it_would_be_and_neither_ends_the_other() {
    let _alone = alone();
    let (site, other) = (Site::allowing().serve(), Site::plain().serve());
    // The condition writes the trace to the console once.
    let until = "(() => {
        if (trace === null || roundsAfterTrace < 40) {
            return false;
        }
        if (window.isTold === undefined) {
            window.isTold = true;
            console.log(`TRACE${JSON.stringify(trace)}ECART`);
        }
        return true;
    })()";
    let (recording, output) = record(&site, &other, "&profile", until);

    let (_, behind) = output
        .stderr
        .split_once("TRACE")
        .expect("the trace is on the console");
    let (trace, _) = behind.split_once("ECART").expect("the trace is whole");
    let trace = Trace::read(&serde_json::from_str(trace).unwrap());
    trace.assert_sampled(&["spin"]);
    for frame in &trace.frames {
        let is_hidden = ["mutedWork", "frameWork", "workerWork"].contains(&&*frame.name);
        assert!(!is_hidden, "{frame:?}");
    }
    assert!(
        trace
            .resources
            .iter()
            .all(|one| one.starts_with(site.origin()))
    );
    let (page, _) = with_function(&recording, "mutedWork");
    // The trace and the recording have separate intervals.
    assert!(
        page.samples().len() > 3 * trace.samples.len(),
        "{} and {}",
        page.samples().len(),
        trace.samples.len()
    );

    // The session has ended, but the recording goes on, and still shows the DOM functions that are called.
    let in_calls = stacks(page).filter(|stack| stack.contains(&"callDom"));
    let (mut all, mut of_dom) = (0, 0);
    for stack in in_calls {
        all += 1;
        of_dom += u32::from(stack.last() == Some(&"getAttribute"));
    }
    assert!(all > 200 && of_dom * 2 > all, "{of_dom} of {all}");
}

/// A page that profiles itself, with a function for which the engine guesses a name.
const NAMELESS: &str = "<!DOCTYPE html>
    <meta charset='utf-8'>
    <script>
        var isDone = false;
        const holder = {};
        holder.spin = function () {
            const end = performance.now() + 200;
            while (performance.now() < end);
        };
        const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 1000 });
        holder.spin();
        profiler.stop().then(trace => {
            console.log(`TRACE${JSON.stringify(trace)}ECART`);
            isDone = true;
        });
    </script>";

#[test]
fn a_guessed_name_is_for_recordings_alone() {
    let site = Site::allowing()
        .generated("/nameless.html", NAMELESS.to_owned())
        .serve();
    let url = site.url("/nameless.html");
    let (recording, output) = browser_tests::record(&["--until-js", "isDone", &url]);
    let (page, function) = with_function(&recording, "holder.spin");
    assert_eq!(page.resource_of(function), Some(&*url));

    let (_, behind) = output
        .stderr
        .split_once("TRACE")
        .expect("the trace is told");
    let (trace, _) = behind.split_once("ECART").expect("the trace is told whole");
    let trace = Trace::read(&serde_json::from_str(trace).unwrap());
    let names: HashSet<_> = trace.frames.iter().map(|frame| &*frame.name).collect();
    assert!(
        names.contains("") && !names.contains("holder.spin"),
        "{names:?}"
    );
}

#[test]
fn webassembly_that_has_called_is_at_the_offset_of_the_call() {
    let _alone = alone();
    /// Of the only call in the module of wasm-module.js.
    const CALL: Place = Place::WasmOffset(0x46);
    let site = Site::allowing().serve();
    let url = site.url("/wasm.html");
    // The page closes itself.
    let (recording, _) = browser_tests::record(&["--duration=60", &url]);
    let (mut all, mut at_call) = (0, 0);
    for event_loop in recording.event_loops() {
        for sample in event_loop.samples() {
            let frames = event_loop.frames_of(sample.stack);
            for id in frames.into_iter().rev().skip(1) {
                let frame = event_loop.frame(id);
                if event_loop.function(frame.function).name == "wasm-function[1]" {
                    all += 1;
                    at_call += u32::from(frame.place == Some(CALL));
                }
            }
        }
    }
    assert!(all > 200 && at_call * 100 >= all * 98, "{at_call} of {all}");
}

#[test]
fn without_a_recording_there_is_no_sampling_thread() {
    let site = Site::plain().serve();
    let driver = Driver::start(&[]);
    driver.open(&site.url("/busy.html"));
    let sampling_threads = || driver.process().threads_named("JsSampler");
    assert_eq!(sampling_threads(), 0);
    driver.open("about:profiling");
    let ask = |requests: &str| {
        driver.execute(&format!(
            "const token = document.querySelector('meta[name=profiling-token]').content;
            async function ask(request) {{
                const response = await fetch(`profiling:${{request}}token=${{token}}`);
                return response.json();
            }}
            {requests}"
        ))
    };
    ask("return ask('start?interval=1&');");
    assert_eq!(sampling_threads(), 1);
    ask("return ask('stop?');");
    assert_eq!(sampling_threads(), 0);
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}
