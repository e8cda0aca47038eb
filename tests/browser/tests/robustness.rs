/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Everything at once for a long time, and stacks that are hard to walk.

use std::time::Duration;

use browser_tests::{Edges, Site, Trace, alone, report, visit_allowed};
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
        // Frames of wasm itself are not checked. They have no script file.
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

/// A walk that takes them for frames crashes the browser.
#[test]
fn remains_of_wasm_calls_are_not_taken_for_frames() {
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

/// The default maximum depth of a stack.
const MOST_FRAMES: usize = 512;

/// Visits wasm-deep.html, whose deepest stacks have this depth. Gives the depth and the leaf of each sample's
/// stack.
fn deep_stacks_of_wasm(kind: &str, depth: usize) -> Vec<(usize, String)> {
    let site = Site::allowing().serve();
    let result = site
        .visit(&format!("/wasm-deep.html?kind={kind}&depth={depth}"))
        .preference("js_profiling_base_interval_us=100")
        .run();
    let trace = Trace::read(&result["trace"]);
    let [start, end] = ["start", "end"].map(|time| result[time].as_f64().unwrap());
    let samples = trace.samples_between(start, end);
    samples
        .map(|sample| {
            let labels = trace.labels(sample);
            (labels.len(), trace.leaf(sample).unwrap_or("").to_owned())
        })
        .collect()
}

/// A walk that recurses for each change between script and wasm would overflow its stack where it interrupts the
/// handler of a trap.
#[test]
fn scripts_and_wasm_may_take_turns_on_a_stack_as_often_as_they_like() {
    let _alone = alone();
    let stacks = deep_stacks_of_wasm("alternation", 300);
    let deep = stacks.iter().filter(|(depth, _)| *depth == MOST_FRAMES);
    let (deep, all) = (deep.count(), stacks.len());
    assert!(all > 100 && deep >= all * 8 / 10, "{deep} of {all}");
}

/// The instance of the functions is found at the first call, thousands of frames away.
#[test]
fn deep_recursions_of_wasm_have_their_stacks() {
    let _alone = alone();
    let stacks = deep_stacks_of_wasm("recursion", 5000);
    for leaf in ["wasm-function[1]", "work"] {
        let at_leaf = stacks.iter().filter(|(_, label)| label == leaf);
        let (deep, all) = at_leaf.fold((0, 0), |(deep, all), (depth, _)| {
            (deep + usize::from(*depth == MOST_FRAMES), all + 1)
        });
        assert!(all > 10 && deep >= all * 8 / 10, "{leaf}: {deep} of {all}");
    }
    let known = stacks.iter().filter(|(depth, _)| *depth > 0).count();
    assert!(
        known >= stacks.len() * 9 / 10,
        "{known} of {}",
        stacks.len()
    );
}

/// The frame of the stub has a number in the place where the frame of a function has its callee.
#[test]
fn built_ins_that_optimised_code_calls_by_one_stub_are_under_their_caller() {
    let trace = Trace::read(&visit_allowed("/generic-calls.html"));
    Edges::parse(
        "(root) > (anonymous)
        (anonymous) > callEach, now
        callEach > first, second, third, max, min, hypot, of, UTC, next, values",
    )
    .assert_hold(&trace);
    trace.assert_sampled(&["hypot", "max"]);
}
