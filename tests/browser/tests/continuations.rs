/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The stacks of WebAssembly that runs on a stack of its own, because it may be suspended.

use std::collections::BTreeMap;

use browser_tests::{Site, Trace, alone, report, visit_allowed};

/// Each shape, and its stacks from the root to the leaf, without the functions of the test below `drive`. What is resumed has
/// no caller.
const SHAPES: &[(&str, &[&str])] = &[
    ("resumedAtOnce", &["resumedAtOnce"]),
    ("resumedAfterJobs", &["resumedAfterJobs"]),
    (
        "beforeItIsSuspended",
        &["drive > (anonymous) > beforeItIsSuspended"],
    ),
    ("resumedByRejection", &["resumedByRejection"]),
    ("afterCollections", &["afterCollections"]),
    (
        "nested",
        &["drive > (anonymous) > nested > callsInner > spin"],
    ),
    ("callsScript", &["callsScript > busy"]),
    ("tailCall", &["spin"]),
    ("inTurn", &["oneInTurn", "otherInTurn"]),
    ("recursion", &["recursion*21"]),
];

/// The functions of WebAssembly, apart from the one that many of them call.
const NAMES: &[&str] = &[
    "resumedAtOnce",
    "resumedAfterJobs",
    "beforeItIsSuspended",
    "resumedByRejection",
    "afterCollections",
    "nested",
    "callsScript",
    "tailCall",
    "oneInTurn",
    "otherInTurn",
    "recursion",
];

/// The least share of a shape's samples with a stack that have one of its stacks, in percent. The rest is the test's own functions.
const LEAST_RIGHT: usize = 85;

/// The largest share of all samples without a stack, in percent. No JavaScript runs between two jobs, and an unoptimised browser
/// takes long there. What is not walked is missed, and is counted below.
const MOST_WITHOUT: usize = 10;

/// The same of one shape. It has some 80 samples on a busy machine, and `inTurn` does little between two jobs.
const MOST_WITHOUT_OF_SHAPE: usize = 40;

/// The largest share of the samples that may be missed because a stack was being switched, in percent.
const MOST_MISSED: usize = 2;

/// A shape whose time is also spent in other functions.
const MIXED: &[&str] = &["afterCollections"];

fn shown(labels: &[&str]) -> String {
    let from = labels.iter().position(|label| *label == "drive");
    let mut runs: Vec<(&str, usize)> = Vec::new();
    for label in &labels[from.unwrap_or(0)..] {
        match runs.last_mut() {
            Some((last, count)) if last == label => *count += 1,
            _ => runs.push((label, 1)),
        }
    }
    let runs: Vec<_> = runs
        .into_iter()
        .map(|(label, count)| match count {
            1 => label.to_owned(),
            _ => format!("{label}*{count}"),
        })
        .collect();
    runs.join(" > ")
}

/// Whether there can be such a stack at all. The functions of WebAssembly are called by the test until they are suspended, and by
/// nobody once they are resumed. A stack that was kept from before would have them elsewhere.
fn may_be(stack: &str) -> bool {
    let functions: Vec<_> = stack.split(" > ").collect();
    let is_wasm = |function: &&str| {
        let name = function.split('*').next().unwrap_or_default();
        name == "spin" || NAMES.contains(&name)
    };
    match functions.iter().position(is_wasm) {
        None | Some(0) => true,
        Some(first) => functions[..first] == ["drive", "(anonymous)"] && functions[first] != "spin",
    }
}

#[test]
fn every_shape_of_a_continuation_has_its_stacks() {
    let _alone = alone();
    let results = visit_allowed("/continuations.html");
    assert_eq!(results.as_object().expect("an object").len(), SHAPES.len());
    let mut failures = Vec::new();
    let (mut all, mut all_without) = (0, 0);
    for (shape, stacks) in SHAPES {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for round in results[shape].as_array().expect("a list") {
            let trace = Trace::read(&round["trace"]);
            let [start, end] = ["start", "end"].map(|key| round[key].as_f64().expect("a time"));
            for sample in trace.samples_between(start, end) {
                *seen.entry(shown(&trace.labels(sample))).or_default() += 1;
            }
        }
        let samples: usize = seen.values().sum();
        let count = |stack: &str| seen.get(stack).copied().unwrap_or(0);
        let without = count("");
        let right: usize = stacks.iter().map(|stack| count(stack)).sum();
        all += samples;
        all_without += without;
        let false_ones: usize = seen
            .iter()
            .filter(|(stack, _)| !may_be(stack))
            .map(|(_, count)| count)
            .sum();
        let least = if MIXED.contains(shape) {
            30
        } else {
            LEAST_RIGHT
        };
        let each = stacks.iter().all(|stack| count(stack) > 0);
        if samples == 0
            || !each
            || false_ones > 0
            || right * 100 < (samples - without) * least
            || without * 100 > samples * MOST_WITHOUT_OF_SHAPE
        {
            failures.push(format!(
                "{shape}: {right} of {samples} samples are right, {false_ones} are false, {without} have no stack: {seen:?}"
            ));
        }
    }
    report(&format!(
        "continuations: {all_without} of {all} samples have no stack"
    ));
    if all_without * 100 > all * MOST_WITHOUT {
        failures.push(format!("{all_without} of {all} samples have no stack"));
    }
    for failure in &failures {
        report(failure);
    }
    assert!(failures.is_empty(), "{} failures", failures.len());
}

/// The number before `what` in a text that is shown to people; 0 if it is not there.
fn number_before(text: &str, what: &str) -> usize {
    let Some((before, _)) = text.split_once(what) else {
        return 0;
    };
    let digits = before.rsplit(' ').next().unwrap_or_default().trim();
    let digits = digits.rsplit('\n').next().unwrap_or_default();
    digits.replace(',', "").parse().expect("a number")
}

#[test]
fn hardly_a_sample_is_missed_while_stacks_are_switched() {
    let _alone = alone();
    let site = Site::allowing().serve();
    let visit = site.visit("/continuations.html");
    let (_, console) = visit.recorded().run_and_listen();
    let samples = number_before(&console, " samples at an interval");
    let missed = number_before(&console, " on another stack");
    report(&format!(
        "continuations: {missed} samples missed on another stack, {samples} taken"
    ));
    assert!(samples >= 500, "{samples} samples");
    assert!(missed * 100 <= (samples + missed) * MOST_MISSED, "{missed}");
}
