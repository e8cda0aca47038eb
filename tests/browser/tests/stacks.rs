/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The functions of a stack.

use browser_tests::{Edges, Frame, Site, Source, Trace, alone, record, visit_allowed};
use profile_formats::Place;

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
    let _alone = alone();
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
fn a_stack_that_is_cut_within_inlined_calls_changes_no_later_stack() {
    const MAX_DEPTH: usize = 20;
    let preference = format!("js_profiling_max_stack_depth={MAX_DEPTH}");
    let site = Site::allowing().serve();
    let visit = site.visit("/recursion-cut.html").preference(&preference);
    let trace = Trace::read(&visit.run());
    Edges::parse(
        "(root) > (anonymous), inTurns, outer, inner, descend
        (anonymous) > inTurns
        inTurns > outer, [Uint8Array]
        outer > inner
        inner > descend
        descend > descend, deepest
        deepest > work",
    )
    .assert_hold(&trace);
    let stacks: Vec<_> = trace.stacks_of_samples().collect();
    let begin_with = |label| stacks.iter().filter(|stack| stack[0] == label).count();
    let counts = ["(anonymous)", "outer", "inner", "descend"].map(begin_with);
    assert!(counts.iter().all(|&count| count > 10), "{counts:?}");
}

/// The functions that repeated.js has on the stack when it spins, from the first `next` on. Where `calls` calls, its
/// depth follows.
fn functions_of_recursion() -> Vec<(&'static str, Option<usize>)> {
    const DEPTH: usize = 120;
    let mut functions = vec![];
    for depth in (1..=DEPTH).rev() {
        functions.push(("next", None));
        match depth % 5 {
            0 | 3 => functions.push(("calls", Some(depth - 1))),
            1 | 4 => functions.extend([("passes", None), ("forward", None)]),
            _ => functions.extend([("iterates", None), ("forEach", None), ("iterated", None)]),
        }
    }
    functions.extend([("next", None), ("spin", None)]);
    functions
}

#[test]
fn a_recursion_through_several_functions_has_each_of_its_frames() {
    let _alone = alone();
    let trace = Trace::read(&visit_allowed("/repeated.html"));
    let functions = functions_of_recursion();
    let expected: Vec<_> = functions.into_iter().map(|(name, _)| name).collect();
    let mut spinning = 0;
    let mut with_stack = 0;
    for stack in trace.stacks_of_samples() {
        with_stack += 1;
        if stack.last() == Some(&"spin") {
            let begin = stack.iter().position(|&name| name == "next").unwrap();
            assert_eq!(stack[begin..], expected);
            spinning += 1;
        }
    }
    // On a busy machine the page often waits for its next task.
    assert!(
        spinning * 2 > with_stack && spinning > 200,
        "{spinning} of {with_stack}"
    );
}

/// Frames of a function that calls itself from different lines have their own lines each.
fn check_lines_of_recursion(preferences: &[&str]) {
    let site = Site::plain().serve();
    let url = site.url("/repeated.html?recorded");
    let mut arguments = vec!["--until-js", "rounds > 20 && busy > 4000", &url];
    for preference in preferences {
        arguments.extend(["--pref", preference]);
    }
    let (recording, _) = record(&arguments);

    let source = Source::of_page("repeated.js");
    let [even, odd] = ["// even", "// odd"].map(|mark| source.place_of(mark).line);
    let expected: Vec<_> = functions_of_recursion()
        .into_iter()
        .map(|(name, depth)| (name, depth.map(|depth| [even, odd][depth % 2])))
        .collect();
    let mut spinning = 0;
    for event_loop in recording.event_loops() {
        for sample in event_loop.samples() {
            let frames = event_loop.frames_of(sample.stack).into_iter();
            let stack: Vec<_> = frames
                .map(|id| {
                    let frame = event_loop.frame(id);
                    let name = &*event_loop.function_of(id).name;
                    match frame.place {
                        Some(Place::Source { line, .. }) if name == "calls" => {
                            (name, Some(line.get()))
                        },
                        _ => (name, None),
                    }
                })
                .collect();
            if stack.last().is_some_and(|(name, _)| *name == "spin") {
                let begin = stack.iter().position(|(name, _)| *name == "next").unwrap();
                assert_eq!(stack[begin..], expected);
                spinning += 1;
            }
        }
    }
    assert!(spinning > 200, "{spinning}");
}

#[test]
fn a_recursion_from_two_lines_has_the_line_of_each_frame_in_the_baseline_interpreter() {
    check_lines_of_recursion(&["js_baseline_jit_enabled=false"]);
}

#[test]
fn a_recursion_from_two_lines_has_the_line_of_each_frame_in_baseline() {
    check_lines_of_recursion(&["js_ion_enabled=false"]);
}

#[test]
fn a_recursion_from_two_lines_has_the_line_of_each_frame_in_ion() {
    check_lines_of_recursion(&[]);
}

#[test]
fn exceptions_leave_no_function_on_the_stack_that_was_left() {
    let _alone = alone();
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
