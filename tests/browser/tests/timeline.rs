/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Finished sessions in the performance timeline.

use browser_tests::{Site, Trace, visit_allowed};
use serde_json::{Value, json};

/// Timestamps are sums of multiples of 10 µs, as floating-point numbers.
const EPSILON: f64 = 1e-6;

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("no number: {value}"))
}

/// Checks what must hold for every entry, and gives its trace.
fn check_entry(entry: &Value, name: &str, sample_interval: u32, full: bool) -> Trace {
    let expected = json!({
        "isProfile": true,
        "isEntry": true,
        "name": name,
        "entryType": "profile",
        "bufferFull": full,
        "traceIsSame": true,
        "jsonMembers": [
            "name", "entryType", "startTime", "duration", "sampleInterval", "sampleCount", "bufferFull",
        ],
    });
    for (member, value) in expected.as_object().unwrap() {
        assert_eq!(entry[member], *value, "{name}: {member}");
    }
    for (member, value) in entry["json"].as_object().unwrap() {
        assert_eq!(entry[member], *value, "{name}: {member} in JSON");
    }
    assert_eq!(number(&entry["sampleInterval"]), f64::from(sample_interval));
    let trace = Trace::read(&entry["trace"]);
    assert_eq!(entry["sampleCount"], trace.samples.len(), "{name}");
    let start = number(&entry["startTime"]);
    let end = start + number(&entry["duration"]);
    for sample in &trace.samples {
        assert!(
            (start..=end + EPSILON).contains(&sample.timestamp),
            "{name}: {sample:?} is not from {start} to {end}"
        );
    }
    for time in [start, number(&entry["duration"])] {
        // The resolution is that of performance.now(): 10 µs.
        let steps = time * 100.;
        assert!((steps - steps.round()).abs() < 1e-4, "{name}: {time}");
    }
    trace
}

#[test]
fn a_finished_session_is_observed_once_with_its_trace() {
    let result = visit_allowed("/timeline.html");
    assert_eq!(result["before"], 0);
    assert_eq!(result["constructible"], "TypeError");
    let supported = result["supported"].as_array().unwrap();
    assert!(
        supported.is_sorted_by_key(|name| name.as_str()),
        "{supported:?}"
    );
    assert!(supported.contains(&json!("profile")));

    let outcomes = &result["outcomes"];
    let only_entry = |session: &str| {
        let outcome = &outcomes[session];
        // It was the first callback.
        assert_eq!(outcome["droppedEntriesCounts"], json!([0]), "{session}");
        match outcome["entries"].as_array().map(Vec::as_slice) {
            Some([entry]) => entry.clone(),
            _ => panic!("not one entry: {outcome}"),
        }
    };

    let entry = only_entry("stopped");
    let trace = check_entry(&entry, "stopped", 2, false);
    trace.assert_sampled(&["work"]);
    let stopped = &outcomes["stopped"]["result"];
    assert_eq!(Trace::read(&stopped["trace"]), trace);
    assert_eq!(stopped["isInBuffer"], true);
    let time = |name: &str| number(&stopped["times"][name]);
    let start = number(&entry["startTime"]);
    let end = start + number(&entry["duration"]);
    assert!(
        (time("before")..=time("after")).contains(&start),
        "{start}: {stopped}"
    );
    assert!(
        (time("stopping") - EPSILON..=time("stop") + EPSILON).contains(&end),
        "{end}: {stopped}"
    );
    assert_eq!(
        outcomes["stopped"]["log"],
        json!(["resolved", "observed stopped"])
    );

    let full = check_entry(&only_entry("fullAlone"), "full", 1, true);
    assert_eq!(full.samples.len(), 3);
    assert_eq!(
        outcomes["fullAlone"]["log"],
        json!(["event", "observed full"])
    );
    assert_eq!(
        outcomes["fullAlone"]["result"],
        json!({ "stopGivesSame": true })
    );

    check_entry(&only_entry("fullStopped"), "full and stopped", 1, true);
    assert_eq!(
        outcomes["fullStopped"]["log"],
        json!(["event", "resolved", "observed full and stopped"])
    );
    assert_eq!(
        outcomes["fullStopped"]["result"],
        json!({ "entries": 1, "isSame": true })
    );

    let raced = only_entry("race");
    check_entry(&raced, "race", 1, raced["bufferFull"] == true);
    let race = &outcomes["race"];
    assert_eq!(
        [&race["result"]["entries"], &race["result"]["isSame"]],
        [&json!(1), &json!(true)]
    );
    // No event said that the buffer was full.
    assert_eq!(race["result"]["full"], false);
    assert_eq!(race["log"], json!(["resolved", "observed race"]));
}

#[test]
fn the_timeline_keeps_finished_sessions_in_the_order_of_their_start() {
    let result = visit_allowed("/timeline.html");
    // Of the last two, the outer one started first and ended last. The inner one has an empty name.
    assert_eq!(
        result["names"],
        json!([
            "stopped",
            "full",
            "full and stopped",
            "race",
            "profiler",
            ""
        ])
    );
    assert_eq!(result["isBuffer"], true);
    assert_eq!(result["isSorted"], true);
}

#[test]
fn observers_are_told_how_many_entries_the_timeline_dropped() {
    let result = visit_allowed("/timeline-bound.html");
    let names = |count: usize| -> Vec<String> { (0..count).map(|name| name.to_string()).collect() };
    assert_eq!(result["observed"], json!(names(12)));
    assert_eq!(result["droppedAtFirst"], 0);
    assert_eq!(result["buffer"], json!(names(10)));
    assert_eq!(
        [&result["traces"], &result["isTrace"]],
        [&json!(12), &json!(true)]
    );
    let calls = &result["calls"];
    assert_eq!(
        calls["profile"],
        json!({ "count": 10, "droppedEntriesCount": 2 })
    );
    // The count is only in the first callback, and only for the observed types.
    let told = |name: &str, dropped: u64| {
        json!([
            { "names": [format!("{name} first")], "hasCount": true, "droppedEntriesCount": dropped },
            { "names": [format!("{name} second")], "hasCount": false },
        ])
    };
    assert_eq!(calls["mark"], told("a", 0));
    assert_eq!(calls["both"], told("b", 2));
    assert_eq!(result["droppedResources"], 1);
}

#[test]
fn the_timeline_keeps_traces_and_frees_those_that_it_drops() {
    let site = Site::allowing().serve();
    let result = site
        .visit("/timeline-collected.html")
        .preference("expose_servointernals_globally=true")
        .run();
    assert_eq!(result["before"], 12);
    assert_eq!([&result["entries"], &result["profilers"]], [10, 0]);
    assert_eq!(result["same"], json!(vec![true; 10]));
}

#[test]
fn a_trace_is_of_its_own_realm_whoever_asks_for_it() {
    let result = visit_allowed("/timeline-realm.html");
    assert_eq!(
        result,
        json!({ "isOurs": true, "isSame": true, "isBufferOurs": true })
    );
}

#[test]
fn a_worker_has_a_timeline_of_its_own() {
    let result = visit_allowed("/timeline-worker.html");
    let worker = &result["worker"];
    assert!(worker.is_object(), "{worker}");
    assert!(
        worker["supported"]
            .as_array()
            .unwrap()
            .contains(&json!("profile"))
    );
    assert_eq!(worker["name"], "in a worker");
    assert_eq!(worker["isSame"], true);
    assert_eq!(worker["samples"][0], worker["samples"][1]);
    assert_eq!(worker["bytes"], json!([true, 0x1f, 0x8b]));
    assert_eq!(worker["inBuffer"], json!(["in a worker", "profiler"]));
    assert_eq!(result["page"], 0);
}

#[test]
fn get_entries_takes_a_filter_or_nothing() {
    let result = visit_allowed("/filters.html");
    let results = &result["results"];
    let marks = ["mark past", "mark b", "mark a"];
    let user = ["mark past", "measure a", "mark b", "mark a"];
    let in_list = |name: &str| {
        let mut entries: Vec<String> =
            serde_json::from_value(results[name]["list"].clone()).unwrap();
        entries.sort();
        entries
    };
    let sorted = |names: &[&str]| {
        let mut names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        names.sort();
        names
    };
    let all: Vec<_> = user.iter().copied().chain(["profile profiler"]).collect();
    for no_filter in ["nothing", "undefined", "null", "empty", "unknown member"] {
        assert_eq!(in_list(no_filter), sorted(&all), "{no_filter}");
        assert_eq!(results[no_filter], results["nothing"], "{no_filter}");
    }
    for (filter, expected) in [
        ("name", &["measure a", "mark a"][..]),
        ("converted", &["measure a", "mark a"]),
        ("other name", &[]),
        ("type", &marks),
        ("other type", &[]),
        ("both", &["measure a"]),
        ("initiator and type", &[]),
        ("other initiator", &[]),
        ("profile", &["profile profiler"]),
    ] {
        assert_eq!(in_list(filter), sorted(expected), "{filter}");
        assert_eq!(
            results[filter]["performance"], results[filter]["list"],
            "{filter}"
        );
    }
    // The list has no resources; the timeline has the two scripts of the page.
    assert_eq!(
        results["initiator"],
        json!({ "performance": ["resource harness.js", "resource filters.js"], "list": [] })
    );
    // A value that is not a dictionary is ignored.
    assert_eq!(result["errors"], json!(vec![["none", "none"]; 3]));
    assert_eq!(result["lengths"], json!([0, 0]));
    assert_eq!(result["isSorted"], true);
}
