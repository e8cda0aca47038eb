/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The realm of each WebAssembly frame, which is that of its instance.

use std::collections::BTreeMap;

use browser_tests::{Site, Trace, report, visit_allowed};
use serde_json::Value;

/// The share of a function's time, in percent, in which its samples may lack it: a moment at the call may be unwalkable.
const MOST_LACKING: f64 = 5.;

/// The least number of samples of a case, on a busy machine.
const ENOUGH: usize = 5;

/// The functions of the module that the page's own instances may show in a case, if it is `caller`'s turn and the function on
/// top is the caller's or the callee's.
fn expected(caller: &str, way: &str, leaf: &str) -> Option<String> {
    let is_tail = way.starts_with("tail");
    match (caller, leaf) {
        // The page's function waits for the other realm's, unless this has taken its place.
        ("page", "callee") if is_tail => None,
        ("page", _) => Some(way.to_owned()),
        ("frame", "callee") => Some("leaf".to_owned()),
        _ => None,
    }
}

fn check(result: &Value) {
    let mut failures = Vec::new();
    let (mut all, mut all_wrong) = (0, 0);
    for case in result.as_array().expect("a list") {
        let text = |key: &str| case[key].as_str().expect("a text");
        let time = |key: &str| case[key].as_f64().expect("a time");
        let (caller, way, leaf) = (text("caller"), text("way"), text("leaf"));
        let trace = Trace::read(&case["trace"]);
        let samples: Vec<_> = trace
            .samples_between(time("start") + 1., time("end") - 1.)
            .collect();
        let expected = expected(caller, way, leaf);
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for sample in &samples {
            let labels = trace.labels(sample);
            let of_module = labels.iter().filter(|label| {
                label.starts_with("by") || label.starts_with("tail") || **label == "leaf"
            });
            let of_module: Vec<_> = of_module.copied().collect();
            *seen.entry(of_module.join(" > ")).or_default() += 1;
        }
        let count = |stack: &str| seen.get(stack).copied().unwrap_or(0);
        let right = count(expected.as_deref().unwrap_or_default());
        // A sample of the time at the call has none.
        let lacking = match expected {
            Some(_) => count(""),
            None => 0,
        };
        let wrong = samples.len() - right - lacking;
        all += samples.len();
        all_wrong += wrong;
        let case = format!("{way} from the {caller}, on top the {leaf}");
        let share = 100. * lacking as f64 / samples.len().max(1) as f64;
        if samples.len() < ENOUGH || wrong > 0 || (lacking > 3 && share > MOST_LACKING) {
            failures.push(format!(
                "{case}: {right} of {} samples are right, {lacking} have none: {seen:?}",
                samples.len()
            ));
        }
    }
    report(&format!(
        "realms of WebAssembly: {all_wrong} of {all} samples show another realm's function"
    ));
    for failure in &failures {
        report(failure);
    }
    assert!(failures.is_empty(), "{} failures", failures.len());
}

#[test]
fn a_realm_sees_its_own_instances_of_a_module_alone() {
    check(&visit_allowed("/wasm-realms.html"));
}

#[test]
fn a_realm_sees_its_own_instances_of_a_module_alone_in_baseline() {
    let site = Site::allowing().serve();
    let visit = site.visit("/wasm-realms.html");
    check(&visit.preference("js_wasm_ion_enabled=false").run());
}

/// The walk takes no register for an address: a page chooses what is in it.
#[test]
fn numbers_in_all_registers_are_no_addresses() {
    let result = visit_allowed("/wasm-registers.html");
    let trace = Trace::read(&result["trace"]);
    let time = |name: &str| result[name].as_f64().expect("a time");
    let samples: Vec<_> = trace.samples_between(time("start"), time("end")).collect();
    let inside = samples
        .iter()
        .filter(|sample| trace.leaf(sample) == Some("crowded"))
        .count();
    report(&format!(
        "numbers in all registers: {inside} of {} samples",
        samples.len()
    ));
    assert!(samples.len() >= 50, "{} samples", samples.len());
    assert!(inside * 100 >= samples.len() * 95, "{inside}");
}
