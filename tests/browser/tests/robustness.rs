/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Everything at once, for long.

use std::time::Duration;

use browser_tests::{Edges, Site, Trace, report};
use serde_json::json;

#[test]
fn a_minute_of_garbage_compiling_throwing_and_wasm_ends_well() {
    let site = Site::allowing().serve();
    let result = site
        .visit("/soak.html")
        .time_bound(Duration::from_secs(240))
        .at_checkpoints(|_, browser| browser.threads_named("JsSampler").into())
        .run();
    assert_eq!(result["threads"], json!([1, 1]));

    let trace = Trace::read(&result["trace"]);
    let with_stack = trace.stacks_of_samples().count();
    let all = trace.samples.len();
    report(&format!(
        "a minute: {} rounds, {all} samples, {with_stack} with a stack, {} without",
        result["slices"],
        all - with_stack
    ));
    let edges = Edges::parse(
        "(root) > (anonymous), slices, checkpoint
        (anonymous) > slices, checkpoint
        slices > slice, task
        task > (anonymous)
        slice > churnGarbage, compile, throwAndCatch, runWasm, runGenerators, matchText
        slice > overflow, sortNumbers, runJSON
        churnGarbage > check
        compile > anonymous, reference, check
        throwAndCatch > throwDeep, check
        throwDeep > throwDeep
        runWasm > wasm-function[1], wasm-function[2], check
        wasm-function[1] > calledByWasm
        calledByWasm > reference
        runGenerators > countTwice, check
        countTwice > count
        matchText > replaceWord, check
        overflow > endlessly, check
        endlessly > endlessly
        sortNumbers > (anonymous), compareNumbers, isNotBefore, check
        runJSON > reviveDate, check",
    );
    edges.assert_hold_between(&trace, |frame| {
        // The frames of wasm itself may be there or not; they have no script file.
        frame.name == "anonymous" || frame.resource_id.is_some()
    });
    trace.assert_sampled(&[
        "churnGarbage",
        "compile",
        "anonymous",
        "reference",
        "matchText",
    ]);
    for label in [
        "throwDeep",
        "runWasm",
        "count",
        "replaceWord",
        "endlessly",
        "compareNumbers",
        "runJSON",
    ] {
        assert!(trace.has_frame(label), "{label}");
    }
    let other = Trace::read(&result["otherTrace"]);
    assert_eq!(other.samples.len(), 100);
    edges.assert_hold_between(&other, |frame| {
        frame.name == "anonymous" || frame.resource_id.is_some()
    });
}

/// A browser whose walk takes them for frames crashes.
#[test]
fn frames_that_calls_of_wasm_left_behind_are_none() {
    let site = Site::allowing().serve();
    let result = site
        .visit("/wasm-remains.html")
        .preference("js_profiling_base_interval_us=100")
        .run();
    let trace = Trace::read(&result["trace"]);
    Edges::parse(
        "(root) > (anonymous)
        (anonymous) > descend, callAt
        descend > wasm-function[1]
        wasm-function[1] > descend
        callAt > callAt, evaluate
        evaluate > (eval)",
    )
    .assert_hold(&trace);
    trace.assert_sampled(&["evaluate", "wasm-function[1]"]);
}
