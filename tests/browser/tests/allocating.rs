/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The time of a collection of garbage belongs to the function that has allocated, in programs that allocate.

use std::collections::BTreeMap;

use browser_tests::{Site, Trace, alone, record, report};
use profile_formats::Activity;
use serde::Deserialize;
use serde_json::Value;

use crate::warmed::{has, tolerance};

/// How far the share of a program may be from the truth, in percentage points, if that is more than chance allows.
const TOLERANCE: f64 = 1.;

/// The share of the samples that may show a function as busy that does nothing but call others, and chance beside it. The calls
/// themselves take some 0.07 %: the engine drops the caches of calls in each collection of the whole heap.
const MOST_IN_CALLER: f64 = 0.001;

/// With fewer samples the test says nothing.
const LEAST_SAMPLES: usize = 5000;

/// A call that takes more than so many times the median of its function was interrupted by something else, or by a collection of
/// the whole heap.
const UNUSUAL: f64 = 3.;

/// What each call of a program has taken by the page's clock, in milliseconds, and each of the loop that it takes turns with.
#[derive(Deserialize)]
struct Times {
    allocate: Vec<f64>,
    burn: Vec<f64>,
}

/// The time of calls in milliseconds: as if none had been unusual, and as it was. Samples may be as the one or as the other,
/// because a thread that waits for a processor is not sampled, and one that collects is. Both are nearly the same on an
/// idle machine.
fn sums(calls: &[f64]) -> [f64; 2] {
    let mut sorted = calls.to_vec();
    sorted.sort_by(f64::total_cmp);
    let most = UNUSUAL * sorted[sorted.len() / 2];
    [
        calls.iter().map(|time| time.min(most)).sum(),
        calls.iter().sum(),
    ]
}

/// Checks the shares of the programs that a page or a worker has run. `stacks` are those of the samples, from the root to the
/// leaf.
fn assert_shares(stacks: &[Vec<String>], times: &Value, who: &str) {
    let times: BTreeMap<String, Times> =
        serde_json::from_value(times.clone()).expect("times of programs");
    let stacks = stacks.iter().filter(|stack| has(stack, "turns"));
    let stacks: Vec<_> = stacks.collect();
    let samples = stacks.len();
    let mut all = [0.; 2];
    let mut of_both = [[0.; 2]; 2];
    for time in times.values() {
        for (function, calls) in [&time.allocate, &time.burn].into_iter().enumerate() {
            for (which, sum) in sums(calls).into_iter().enumerate() {
                all[which] += sum;
                of_both[function][which] += sum;
            }
        }
    }
    let share_of = |name: &str| {
        let count = stacks.iter().filter(|stack| has(stack, name)).count();
        100. * count as f64 / samples as f64
    };
    let mut faults = Vec::new();
    let mut check = |name: &str, time: [f64; 2]| {
        let share = share_of(name);
        let [usual, whole] = [0, 1].map(|which| 100. * time[which] / all[which]);
        let off = (usual.min(whole) - share).max(share - usual.max(whole));
        let line = format!("{name}: {share:.2} %, and {usual:.2} or {whole:.2} by the clock");
        report(&format!("{who}: {line}"));
        if off > tolerance(TOLERANCE, whole, samples) {
            faults.push(line);
        }
    };
    for (name, time) in &times {
        check(name, sums(&time.allocate));
    }
    let [allocate, burn] = of_both;
    check("allocate", allocate);
    check("burn", burn);
    let ends_in_caller = |stack: &&&Vec<String>| stack.last().is_some_and(|leaf| leaf == "turns");
    let in_caller = stacks.iter().filter(ends_in_caller).count();
    let line = format!("{in_caller} of {samples} samples end in the caller, which does nothing");
    report(&format!("{who}: {line}"));
    let most = samples as f64 * MOST_IN_CALLER;
    if in_caller as f64 > most + 4. * most.sqrt() {
        faults.push(line);
    }
    if samples < LEAST_SAMPLES {
        faults.push(format!("{samples} samples"));
    }
    assert!(faults.is_empty(), "{who}:\n{}", faults.join("\n"));
}

#[test]
fn collections_are_charged_to_the_functions_that_allocate() {
    let _alone = alone();
    let site = Site::plain()
        .header_of_all("Document-Policy", "js-profiling")
        .serve();
    let result = site.visit("/allocating.html").run();
    for who in ["page", "worker"] {
        let result = &result[who];
        let trace = Trace::read(&result["trace"]);
        let stacks = trace.stacks_of_samples();
        let owned = |stack: Vec<&str>| stack.into_iter().map(str::to_owned).collect();
        assert_shares(
            &stacks.map(owned).collect::<Vec<_>>(),
            &result["times"],
            who,
        );
    }
}

#[test]
fn a_recording_charges_collections_to_the_functions_that_allocate() {
    let _alone = alone();
    let site = Site::plain().serve();
    let url = site.url("/allocating.html?recorded");
    let (recording, output) = record(&["--until-js", "window.finished", &url]);
    // Standard output is for the recording.
    let text = &output.stderr;
    let times = text.lines().find_map(|line| line.split_once("times "));
    let (_, times) = times.unwrap_or_else(|| panic!("{text}"));
    let times = serde_json::from_str(times).unwrap_or_else(|error| panic!("{error}: {times}"));
    let mut stacks = Vec::new();
    let (mut collections, mut without_stack) = (0, 0);
    for event_loop in recording.event_loops() {
        for sample in event_loop.samples() {
            let frames = event_loop.frames_of(sample.stack).into_iter();
            let stack: Vec<_> = frames
                .map(|frame| event_loop.function_of(frame).name.clone())
                .collect();
            if sample.activity == Some(Activity::Gc) {
                collections += 1;
                without_stack += usize::from(stack.is_empty());
            }
            if has(&stack, "measured") {
                stacks.push(stack);
            }
        }
    }
    report(&format!(
        "recording: {without_stack} of {collections} samples of collections have no stack"
    ));
    assert!(collections > 100, "{collections} samples of collections");
    assert!(
        without_stack * 10 < collections,
        "{without_stack} of {collections} samples of collections have no stack"
    );
    assert_shares(&stacks, &times, "recording");
}
