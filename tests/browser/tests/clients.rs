/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The API as production pages use it. They were written for another browser.

use browser_tests::{Site, Trace, alone, visit_allowed};
use serde_json::json;

#[test]
fn a_client_collects_section_after_section() {
    let _alone = alone();
    let result = visit_allowed("/client.html");
    assert_eq!(result["unsupportedFor"], "");
    let sections = result["sections"].as_array().expect("a list");
    assert_eq!(sections.len(), 3);
    let mut last_started = 0.;
    for (section, stacks) in sections.iter().zip(result["stacks"].as_array().unwrap()) {
        assert_eq!(section["interval"], 10);
        let time = |name: &str| section[name].as_f64().expect("a time");
        let (started, ended) = (time("started"), time("ended"));
        assert!(last_started < started && started < ended, "{section}");
        last_started = started;
        let trace = Trace::read(&section["trace"]);
        assert_eq!(trace.samples.len(), 20);
        for sample in &trace.samples {
            assert!(
                started <= sample.timestamp && sample.timestamp <= ended,
                "{sample:?}"
            );
        }
        // On a busy machine the page waits for its next task for long, without a stack, and samples of its work are missed.
        let stacks: Vec<Vec<String>> = serde_json::from_value(stacks.clone()).expect("names");
        let with_stack = stacks.iter().filter(|stack| !stack.is_empty()).count();
        let is_busy = |stack: &&Vec<String>| stack.iter().any(|name| name == "busy");
        let in_busy = stacks.iter().filter(is_busy).count();
        assert!(in_busy > 0 && 2 * in_busy > with_stack, "{stacks:?}");
    }
    let manual = &result["manual"];
    assert_eq!(manual["again"], "InvalidStateError");
    assert_eq!(manual["stopped"], true);
    assert!(Trace::read(&manual["clone"]).has_frame("busy"));
}

#[test]
fn a_client_that_is_refused_goes_on_without_profiling() {
    let result = Site::plain().serve().visit("/client.html").run();
    assert_eq!(
        result,
        json!({ "unsupportedFor": "policy", "sections": [], "stacks": [] })
    );
}
