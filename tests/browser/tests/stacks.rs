/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The functions of a stack.

use browser_tests::{Edges, Frame, Trace, visit_allowed};

#[test]
fn the_functions_that_run_when_a_profiler_starts_are_on_its_stacks() {
    let result = visit_allowed("/starter.html");
    let edges = Edges::parse(
        "(root) > (anonymous)
        (anonymous) > aboveStarter, aboveHotStarter
        aboveStarter > starter, inner
        starter > construct, inner
        aboveHotStarter > hotStarter
        hotStarter > hotInner, construct, inner
        inner > work",
    );
    let cold = Trace::read(&result["cold"]);
    edges.assert_hold(&cold);
    assert_eq!(
        cold.paths_to("inner"),
        [
            vec!["(anonymous)", "aboveStarter", "starter", "inner"],
            vec!["(anonymous)", "aboveStarter", "inner"],
        ]
        .into()
    );
    for name in ["hot", "again"] {
        let trace = Trace::read(&result[name]);
        edges.assert_hold(&trace);
        assert_eq!(
            trace.paths_to("inner"),
            [vec![
                "(anonymous)",
                "aboveHotStarter",
                "hotStarter",
                "inner"
            ]]
            .into(),
            "{name}"
        );
    }
}

const MAX_FRAMES_PER_STACK: usize = 512;

#[test]
fn recursion_two_thousand_deep_is_cut_at_its_root() {
    let trace = Trace::read(&visit_allowed("/recursion.html"));
    Edges::parse(
        "(root) > (anonymous)
        (anonymous) > onePlace, twoPlaces
        onePlace > descend
        descend > descend, deepest
        twoPlaces > even
        even > odd, deepest
        odd > even, deepest
        deepest > work",
    )
    .assert_hold(&trace);
    let mut deep = 0;
    let mut deep_in_two_places = 0;
    for stack in trace.stacks_of_samples() {
        let Some(end) = stack.iter().position(|&label| label == "deepest") else {
            continue;
        };
        // The stack has as many frames as fit, counted from the leaf.
        assert_eq!(stack.len(), MAX_FRAMES_PER_STACK, "{:?}", &stack[..3]);
        // Only its callees are nearer to the leaf: work, and a built-in.
        assert!(end >= MAX_FRAMES_PER_STACK - 3);
        deep += 1;
        deep_in_two_places += usize::from(stack[0] != "descend");
    }
    assert!(deep_in_two_places > 0 && deep > deep_in_two_places);
    // The deepest function takes most of the time.
    assert!(
        deep * 2 > trace.samples.len(),
        "{deep} of {}",
        trace.samples.len()
    );
}

#[test]
fn exceptions_leave_no_function_on_the_stack_that_was_left() {
    let result = visit_allowed("/exceptions.html");
    let trace = Trace::read(&result["trace"]);
    Edges::parse(
        "(root) > (anonymous)
        (anonymous) > rounds
        rounds > catching, bystander, throwInto, throwingGenerator
        catching > rethrowing, recover
        rethrowing > finishing, note
        finishing > passing, finish
        passing > thrower
        thrower > spin
        finish > spin
        note > spin
        recover > spin
        throwInto > throwingGenerator
        throwingGenerator > spin, recover",
    )
    .assert_hold(&trace);
    trace.assert_sampled(&["spin", "bystander"]);
    assert!(result["caught"].as_u64().unwrap() > 100, "{result}");
    let with_stack = trace.stacks_of_samples().count();
    assert!(
        with_stack * 2 > trace.samples.len(),
        "{with_stack} of {} samples have a stack",
        trace.samples.len()
    );
}

#[test]
fn javascript_that_wasm_calls_is_under_the_javascript_that_calls_wasm() {
    let result = visit_allowed("/wasm.html");
    assert_eq!(result["isRight"], true);
    let trace = Trace::read(&result["trace"]);
    Edges::parse(
        "(root) > (anonymous)
        (anonymous) > rounds, instantiateWasm
        rounds > callBack, callOuter, spinInWasm
        callBack > wasm-function[1]
        wasm-function[1] > calledByWasm, calledByOuterWasm
        spinInWasm > wasm-function[2]
        calledByWasm > leafBelowWasm
        callOuter > wasm-function[1]
        calledByOuterWasm > callBack",
    )
    .assert_hold(&trace);
    trace.assert_sampled(&["leafBelowWasm"]);
    assert!(trace.has_frame("spinInWasm"));
    let mut once = 0;
    let mut twice = 0;
    for sample in &trace.samples {
        let Some(id) = sample.stack_id else {
            continue;
        };
        let stack: Vec<_> = trace.stack(id).into_iter().map(Frame::label).collect();
        match stack[..] {
            [
                "(anonymous)",
                "rounds",
                "callBack",
                "wasm-function[1]",
                "calledByWasm",
                "leafBelowWasm",
            ] => once += 1,
            [
                "(anonymous)",
                "rounds",
                "callOuter",
                "wasm-function[1]",
                "calledByOuterWasm",
                "callBack",
                "wasm-function[1]",
                "calledByWasm",
                "leafBelowWasm",
            ] => twice += 1,
            _ => {},
        }
    }
    assert!(once > 0 && twice > 0, "{once} and {twice} samples");
}
