/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The sample buffer and its event.

use browser_tests::{Site, Trace, visit_allowed};
use serde_json::json;

#[test]
fn only_its_profiler_is_told_of_a_full_buffer_which_keeps_its_samples() {
    let result = visit_allowed("/buffer.html");
    let event = json!([{
        "type": "samplebufferfull",
        "isTrusted": true,
        "bubbles": false,
        "cancelable": false,
        "isPlain": true,
        "isAtTarget": true,
        // The profiler is stopped only after the event.
        "stopped": false,
    }]);
    let events = &result["events"];
    assert_eq!(events["full"], event);
    assert_eq!(events["profiled"], event);
    assert_eq!(events["empty"], event);
    assert_eq!(events["other"], json!([]));
    assert_eq!(result["handler"], "function");
    assert_eq!(
        events["attribute"],
        json!([{ "isThis": true, "type": "samplebufferfull" }])
    );
    assert_eq!(result["stopped"], json!({ "full": true, "other": false }));
    assert_eq!(result["otherStopped"], true);

    let traces = &result["traces"];
    let count = |name: &str| Trace::read(&traces[name]).samples.len();
    assert_eq!(count("full"), 3);
    assert_eq!(count("profiled"), 3);
    assert_eq!(count("empty"), 0);
    assert_eq!(result["again"], "InvalidStateError");
    assert_eq!(result["profiledAgain"], traces["profiled"]);
    // Number.MAX_SAFE_INTEGER leaves room for all samples, so this profiler goes on when the first is full.
    let other = Trace::read(&traces["other"]);
    assert!(other.samples.len() > 10, "{other:?}");
    let last_of_full = Trace::read(&traces["full"]).samples[2];
    assert!(other.samples.last().unwrap().timestamp > last_of_full.timestamp);
    other.assert_sampled(&["work"]);
}

#[test]
fn a_handler_of_the_event_may_start_and_stop_profilers() {
    let result = visit_allowed("/buffer-handler.html");
    assert_eq!(result["handler"], json!(null));
    assert_eq!(Trace::read(&result["fullTrace"]).samples.len(), 3);
    let next = Trace::read(&result["nextTrace"]);
    assert!(next.has_frame("workAfter"), "{next:?}");
}

#[test]
fn stopping_while_the_event_is_on_its_way_gives_the_trace() {
    let outcomes = visit_allowed("/buffer-race.html");
    for outcome in outcomes.as_array().unwrap() {
        assert_eq!(Trace::read(&outcome["trace"]).samples.len(), 3);
        assert_eq!(outcome["stopped"], true);
        assert_eq!(outcome["events"], 0, "after stop(): {outcome}");
    }
}

/// The objects of 40,000 samples are made in three tasks, and their compressed text is copied in two.
#[test]
fn a_long_trace_is_made_in_several_tasks() {
    let site = Site::allowing().serve();
    let result = site
        .visit("/long-trace.html")
        .preference("js_profiling_base_interval_us=100")
        .run();
    let text_bytes = result["textBytes"].as_u64();
    assert!(text_bytes > Some(1 << 16), "{text_bytes:?}");
    assert_eq!(result["atOnce"], json!([false, false]));
    let whole = json!({
        "members": ["frames", "resources", "samples", "stacks"],
        "samples": 40_000,
        "holes": 0,
        "areInOrder": true,
        "unknownStacks": 0,
    });
    assert_eq!(result["objects"], json!(vec![&whole; 4]));
    assert_eq!(result["texts"], json!(vec![&whole; 3]));
    assert_eq!(result["areOfEntries"], true);
    assert_eq!(result["removed"], "InvalidStateError");
    assert_eq!(result["removedBefore"], "resolved");
}
