/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! DOM operations have their samples, in every tier of the engine and by every way to call them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use browser_tests::{Marker, Site, Trace, alone, report};
use serde_json::Value;

/// The rows of the page, and the operations that are called there in turn.
const ROWS: &str = "
    getter: get innerHTML
    getterOfSeveralInterfaces: get innerHTML
    severalGetters: get text
    getterByComputedName: get innerHTML, get outerHTML
    getterThatForcesLayout: get offsetHeight
    setter: set innerHTML
    setterOfText: set textContent
    setterOfStyle: set cssText
    severalSetters: set text
    setterByComputedName: set innerHTML, set textContent
    method: querySelector
    methodOfSeveralInterfaces: querySelector
    methodThatForcesLayout: getBoundingClientRect
    methodOfAttribute: getAttribute
    severalMethods: toString
    methodWithSpread: querySelector
    boundMethod: querySelector
    methodInInlinedFunction: querySelector
    staticMethod: canParse
    methodOfTheGlobal: btoa
    newObject: URLSearchParams
    severalConstructors: URL, URLSearchParams
    derivedClass: URLSearchParams
";

/// The row in which nothing is called between the two readings of the clock.
const NOTHING: &str = "nothing";

/// This share of an operation's time must be in its samples, in percent.
const LEAST_SHARE: f64 = 95.;

/// How far the share of an operation's samples may be above that of its time, in percentage points.
const TOLERANCE: f64 = 3.;

/// How many standard deviations the share of an operation's samples may be beyond these two.
const DEVIATIONS: f64 = 3.;

/// Fewer samples of a row say nothing. It normally has over 400.
const LEAST_SAMPLES: usize = 250;

/// The page has ended by then, even if most samples are missed.
const TIME_BOUND: Duration = Duration::from_secs(600);

/// The share of a row's time that its operation must have, in percent. With less, the row would say nothing.
const LEAST_TIME: f64 = 75.;

fn rows(text: &str) -> BTreeMap<&str, Vec<&str>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let (row, operations) = line
                .split_once(": ")
                .unwrap_or_else(|| panic!("no row: {line}"));
            (row, operations.split(", ").collect())
        })
        .collect()
}

/// The figures of all rounds of a row.
#[derive(Default)]
struct Row {
    /// For each batch of calls: the time, the part of it between two readings of the clock, and the number of
    /// calls.
    batches: Vec<(f64, f64, f64)>,
    samples: usize,
    in_operation: usize,
}

impl Row {
    fn read(name: &str, operations: &[&str], rounds: &Value) -> Self {
        let mut row = Self::default();
        for round in rounds.as_array().expect("an array") {
            let number = |value: &Value| value.as_f64().expect("a number");
            let batches = round["batches"].as_array().expect("an array").iter();
            let calls = number(&round["batch"]);
            row.batches.extend(
                batches.map(|batch| (number(&batch["time"]), number(&batch["spent"]), calls)),
            );
            let trace = Trace::read(&round["trace"]);
            for sample in trace.samples_between(number(&round["begin"]), number(&round["end"])) {
                if sample.marker == Some(Marker::Gc) {
                    continue;
                }
                row.samples += 1;
                let labels = trace.labels(sample);
                let mut below = labels.iter().skip_while(|label| **label != name).skip(1);
                row.in_operation += usize::from(below.any(|label| operations.contains(label)));
            }
        }
        row
    }

    /// The median of a figure over the faster half of the batches. The thread may stand still during the others.
    fn median(&self, figure: impl Fn(&(f64, f64, f64)) -> f64) -> f64 {
        let mut batches = self.batches.clone();
        let time_of_call = |(time, _, calls): &(f64, f64, f64)| time / calls;
        batches.sort_by(|a, b| time_of_call(a).total_cmp(&time_of_call(b)));
        batches.truncate(batches.len().div_ceil(2));
        let mut figures: Vec<_> = batches.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    }
}

/// Visits the page and checks its rows.
fn check(tier: &str, preferences: &[&str], query: &str) {
    let _alone = alone();
    let site = Site::allowing().serve();
    let mut visit = site
        .visit(&format!("/dom-operations.html?{query}"))
        .preference("js_profiling_all_markers=true")
        // Layout on other threads is not this thread's time, and they compete for processors.
        .preference("layout_threads=1")
        .time_bound(TIME_BOUND);
    for preference in preferences {
        visit = visit.preference(preference);
    }
    let result = visit.run();
    let expected = rows(ROWS);
    let results = result.as_object().expect("an object");
    let names: BTreeSet<_> = results
        .keys()
        .map(String::as_str)
        .filter(|name| *name != NOTHING)
        .collect();
    assert_eq!(names, expected.keys().copied().collect());

    let nothing = Row::read(NOTHING, &[], &result[NOTHING]);
    let clock = nothing.median(|(_, spent, calls)| spent / calls);
    let mut faults = Vec::new();
    let mut least = f64::INFINITY;
    for (name, operations) in &expected {
        let row = Row::read(name, operations, &result[*name]);
        let truth = row.median(|(time, spent, calls)| 100. * (spent - calls * clock) / time);
        let share = 100. * row.in_operation as f64 / row.samples as f64;
        least = least.min(100. * share / truth);
        let least_share = LEAST_SHARE / 100. * truth;
        let deviations = |share: f64| {
            let variance = share * (100. - share).max(0.) / row.samples as f64;
            DEVIATIONS * variance.sqrt()
        };
        let is_right = share >= least_share - deviations(least_share)
            && share <= truth + TOLERANCE + deviations(truth);
        if row.samples < LEAST_SAMPLES || truth < LEAST_TIME || !is_right {
            faults.push(format!(
                "{name}: {share:.2} % of {} samples are in {}, which took {truth:.2} % of the time",
                row.samples,
                operations.join(" or "),
            ));
        }
    }
    report(&format!(
        "DOM operations in {tier}: their samples have at least {least:.2} % of their time"
    ));
    assert!(faults.is_empty(), "in {tier}:\n{}", faults.join("\n"));
}

#[test]
fn dom_operations_have_their_samples_in_the_interpreter() {
    check(
        "the interpreter",
        &["js_baseline_interpreter_enabled=false"],
        "cold=0",
    );
}

#[test]
fn dom_operations_have_their_samples_in_the_baseline_interpreter() {
    let preferences = ["js_baseline_jit_enabled=false"];
    check("the Baseline interpreter", &preferences, "cold=100");
}

#[test]
fn dom_operations_have_their_samples_in_baseline() {
    check("Baseline", &["js_ion_enabled=false"], "cold=400");
}

/// Some rows have an operation for which Ion code needs an inline cache.
#[test]
fn dom_operations_have_their_samples_in_ion() {
    check("Ion", &[], "cold=3000");
}
