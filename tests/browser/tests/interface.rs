/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The interface, and the shape of a trace.

use browser_tests::{Edges, Site, Trace, visit_allowed};
use serde_json::json;

#[test]
fn the_interface_is_exposed_whether_or_not_the_page_may_profile() {
    let attribute = |set: &str| json!({ "get": "function", "set": set, "value": "undefined", "enumerable": true, "length": null });
    let expected = json!({
        "constructor": {
            "type": "function",
            "name": "Profiler",
            "length": 1,
            "isEventTarget": true,
            "tag": "Profiler",
        },
        "members": ["constructor", "onsamplebufferfull", "sampleInterval", "stop", "stopped"],
        "sampleInterval": attribute("undefined"),
        "stopped": attribute("undefined"),
        "onsamplebufferfull": attribute("function"),
        "stop": {
            "get": "undefined", "set": "undefined", "value": "function", "enumerable": true, "length": 0,
        },
        "profile": { "type": "function", "length": 1 },
    });
    assert_eq!(visit_allowed("/exposure.html"), expected);
    let plain = Site::plain().serve();
    assert_eq!(plain.visit("/exposure.html").run(), expected);
}

#[test]
fn the_interval_is_rounded_down_and_the_attribute_says_so() {
    let intervals = visit_allowed("/intervals.html");
    // As the page asks for them.
    let expected = [1, 1, 1, 1, 1, 2, 9, 10, 10, 20, 15, 1_000_000_000];
    let expected: Vec<_> = expected.into_iter().map(|ms| json!([ms, ms, ms])).collect();
    assert_eq!(intervals, json!(expected));
}

#[test]
fn stop_called_again_gives_the_trace_again() {
    let result = visit_allowed("/stop.html");
    assert_eq!(result["states"], json!([false, false, true, true]));
    assert_eq!(result["arePromises"], true);
    let traces = &result["traces"];
    assert!(!Trace::read(&traces[0]).samples.is_empty());
    assert_eq!(traces[0], traces[1]);
    assert_eq!(traces[0], traces[2]);
}

#[test]
fn a_trace_is_plain_objects_without_null() {
    let result = visit_allowed("/trace.html");
    assert_eq!(result["oddities"], json!([]));
    assert_eq!(
        result["members"],
        json!(["frames", "resources", "samples", "stacks"])
    );
    let text = result["text"].as_str().unwrap();
    assert!(!text.contains("null"), "{text}");
    let trace = Trace::read(&result["trace"]);
    assert_eq!(Trace::read(&serde_json::from_str(text).unwrap()), trace);
    Edges::parse(
        "(root) > (anonymous)
        (anonymous) > outer, task, work
        outer > inner, work
        inner > work
        task > (anonymous)",
    )
    .assert_hold(&trace);
    trace.assert_sampled(&["work"]);
    assert!(trace.has_frame("inner") && trace.has_frame("outer"));
}

#[test]
fn timestamps_are_those_of_performance_now() {
    let result = visit_allowed("/trace.html");
    let trace = Trace::read(&result["trace"]);
    let start = result["start"].as_f64().unwrap();
    let stop = result["stop"].as_f64().unwrap();
    let within = trace.samples_between(start, stop).count();
    assert_eq!(within, trace.samples.len(), "{start} to {stop}: {trace:?}");
    assert!(within > 10);
    for sample in &trace.samples {
        // As coarse as performance.now() is: 10 µs.
        let steps = sample.timestamp * 100.;
        assert!((steps - steps.round()).abs() < 1e-4, "{sample:?}");
    }
    // Not all on one coarser grid.
    assert!(
        trace
            .samples
            .iter()
            .any(|sample| sample.timestamp.fract() != 0.)
    );
}
