/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The interface, and the shape of a trace.

use browser_tests::{Edges, Site, Trace, visit_allowed};
use serde_json::json;

#[test]
fn the_interface_is_exposed_whether_or_not_the_page_may_profile() {
    let attribute = |set: &str| json!({ "get": "function", "set": set, "value": "undefined", "enumerable": true, "length": null });
    let method = json!({ "get": "undefined", "set": "undefined", "value": "function", "enumerable": true, "length": 0 });
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
        "stop": method,
        "profile": { "type": "function", "length": 1, "isOnGlobal": true },
        "entry": {
            "isPerformanceEntry": true,
            "members": ["bufferFull", "constructor", "sampleCount", "sampleInterval", "toJSON", "trace"],
            "trace": attribute("undefined"),
            "toJSON": method,
            "isSupported": true,
        },
    });
    let expected = json!({ "window": expected, "worker": expected });
    assert_eq!(visit_allowed("/exposure.html"), expected);
    let plain = Site::plain().serve();
    assert_eq!(plain.visit("/exposure.html").run(), expected);
}

#[test]
fn the_interval_is_rounded_down_and_the_attribute_says_so() {
    let intervals = visit_allowed("/intervals.html");
    // In the order in which the page asks for them.
    let expected = [1, 1, 1, 1, 1, 2, 9, 10, 10, 20, 15, 1_000_000_000];
    let expected: Vec<_> = expected.into_iter().map(|ms| json!([ms, ms, ms])).collect();
    assert_eq!(intervals, json!(expected));
}

#[test]
fn options_are_converted_as_web_idl_says() {
    let result = visit_allowed("/conversions.html");
    // Converted modulo 2³², without the fraction.
    let counts = &result["counts"];
    for (name, expected) in [("two", 2), ("one", 1), ("none", 0)] {
        let counts = counts[name].as_array().unwrap();
        assert!(
            counts.iter().all(|count| *count == expected),
            "{name}: {counts:?}"
        );
    }
    let large = result["large"].as_array().unwrap();
    assert!(
        large.iter().all(|outcome| *outcome == json!([false, true])),
        "{large:?}"
    );

    // Each member is read once, in the order of names, and converted immediately.
    let read = |names: &[&str]| -> Vec<String> {
        let steps = names
            .iter()
            .flat_map(|name| [format!("get {name}"), format!("convert {name}")]);
        steps.collect()
    };
    let all = ["format", "maxBufferSize", "name", "sampleInterval"];
    let logs = &result["logs"];
    let assert_log = |members: &str, steps: Vec<String>, end: &[&str]| {
        let steps: Vec<_> = steps
            .iter()
            .map(|step| &**step)
            .chain(end.iter().copied())
            .collect();
        for way in ["constructor", "profile"] {
            assert_eq!(logs[members][way], json!(steps), "{members}, {way}");
        }
    };
    assert_log("all", read(&all), &["started"]);
    assert_log("negative", read(&all), &["RangeError"]);
    assert_log("NaN and negative", read(&all), &["RangeError"]);
    assert_log(
        "no maxBufferSize",
        read(&all[..1]),
        &["get maxBufferSize", "TypeError"],
    );
    assert_log(
        "no sampleInterval",
        read(&all[..3]),
        &["get sampleInterval", "TypeError"],
    );
    assert_log(
        "unknown format, no sampleInterval",
        read(&all[..1]),
        &["TypeError"],
    );
}

#[test]
fn setters_of_the_page_do_not_see_or_change_a_trace() {
    let result = visit_allowed("/setters.html");
    assert_eq!(result["seen"], json!([]));
    let trace = Trace::read(&result["trace"]);
    trace.assert_sampled(&["work"]);
    assert!(trace.has_frame("inner"));
}

#[test]
fn stop_called_again_is_refused_or_has_the_same_promise() {
    let result = visit_allowed("/stop.html");
    for (way, outcome) in result.as_object().unwrap() {
        assert_eq!(
            outcome["states"],
            json!([false, false, true, true]),
            "{way}"
        );
        assert_eq!(outcome["arePromises"], true, "{way}");
        assert!(!Trace::read(&outcome["trace"]).samples.is_empty(), "{way}");
    }
    let constructed = &result["constructed"];
    assert_eq!(constructed["areSame"], json!([false, false]));
    assert_eq!(
        constructed["later"],
        json!(["InvalidStateError", "InvalidStateError"])
    );
    let profiled = &result["profiled"];
    assert_eq!(profiled["areSame"], json!([true, true]));
    assert_eq!(
        profiled["later"],
        json!([profiled["trace"], profiled["trace"]])
    );
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
    assert_eq!(result["clone"], text);
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
        // The resolution is that of performance.now(): 10 µs.
        let steps = sample.timestamp * 100.;
        assert!((steps - steps.round()).abs() < 1e-4, "{sample:?}");
    }
    // The resolution is not coarser.
    assert!(
        trace
            .samples
            .iter()
            .any(|sample| sample.timestamp.fract() != 0.)
    );
}
