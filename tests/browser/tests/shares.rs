/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The shares of functions in the samples.

use browser_tests::{Edges, Sample, Site, Source, Trace, alone, report, visit_allowed};
use serde_json::Value;

#[test]
fn samples_of_prime_numbers_end_in_the_functions_that_work() {
    let _alone = alone();
    let site = Site::allowing().serve();
    let result = site.visit("/prime-numbers.html").run();
    let trace = Trace::read(&result["trace"]);
    let time = |name: &str| result[name].as_f64().unwrap();
    let stop = time("stop");
    assert!(trace.samples.iter().all(|sample| sample.timestamp <= stop));

    let samples: Vec<&Sample> = trace.samples_between(time("start"), time("end")).collect();
    let stacks: Vec<_> = samples
        .iter()
        .filter(|sample| sample.stack_id.is_some())
        .map(|sample| trace.labels(sample))
        .collect();
    let in_work = stacks.iter().filter(|stack| {
        matches!(
            stack[..],
            ["(anonymous)", "generate", "genPrimes"]
                | ["(anonymous)", "generate", "genPrimes", "isPrime"]
        )
    });
    let (all, with_stack, in_work) = (samples.len(), stacks.len(), in_work.count());
    report(&format!(
        "prime numbers: {all} samples, {with_stack} with a stack, {in_work} in the functions that work"
    ));
    assert!(all > 500, "{all} samples");
    assert!(
        with_stack * 100 >= all * 95,
        "{with_stack} of {all} samples have a stack"
    );
    assert!(
        in_work * 100 >= with_stack * 98,
        "{in_work} of {with_stack} stacks end in isPrime or genPrimes under the caller"
    );
    Edges::parse(
        "(root) > (anonymous)
        (anonymous) > generate
        generate > genPrimes
        genPrimes > isPrime",
    )
    .assert_hold(&trace);

    let primes = Source::of_page("primes.js");
    let page = Source::of_page("prime-numbers.js");
    let url = site.url("/primes.js");
    let at = |name: &str| primes.parameters_of(&format!("function {name}("));
    trace.assert_at("isPrime", &url, at("isPrime"));
    trace.assert_at("genPrimes", &url, at("genPrimes"));
    let generate = page.parameters_of("function generate(");
    trace.assert_at("generate", &site.url("/prime-numbers.js"), generate);
}

#[test]
fn functions_that_are_inlined_into_a_loop_have_their_true_shares() {
    let _alone = alone();
    assert_true_shares(&visit_allowed("/inlined.html"));
}

#[test]
fn what_was_inlined_before_the_first_profiler_has_its_true_shares_in_each_mode() {
    let _alone = alone();
    for mode in ["eager", "lazy"] {
        let site = Site::plain()
            .header(
                "/inlined.html",
                "Document-Policy",
                &format!("js-profiling-mode={mode}"),
            )
            .serve();
        assert_true_shares(&site.visit("/inlined.html?compiled-before").run());
    }
}

#[test]
fn functions_have_their_true_shares_in_a_program_with_the_period_of_the_samples() {
    let _alone = alone();
    let trace = Trace::read(&visit_allowed("/periodic.html"));
    let count = |function: &str| {
        let stacks = trace.stacks_of_samples();
        stacks.filter(|stack| stack.contains(&function)).count()
    };
    let [thirty, seventy] = ["thirty", "seventy"].map(count);
    let samples = thirty + seventy;
    let share = 100. * thirty as f64 / samples as f64;
    report(&format!(
        "periodic: thirty: {share:.2} % of {samples} samples"
    ));
    // Ten points are five standard deviations of so many samples.
    assert!(samples > 525, "{samples} samples");
    // Samples at one phase would give 0 or 100 %.
    assert!((share - 30.).abs() <= 10., "{share:.2} %");
}

/// Checks a list of runs of the page inlined.html.
fn assert_true_shares(runs: &Value) {
    let mut leaves: Vec<String> = Vec::new();
    for run in runs.as_array().expect("a list of runs") {
        let trace = Trace::read(&run["trace"]);
        Edges::parse(
            "(root) > (anonymous), profiledRun
            (anonymous) > profiledRun
            profiledRun > run
            run > loop
            loop > seventy, thirty",
        )
        .assert_hold(&trace);
        let time = |name: &str| run[name].as_f64().unwrap();
        let samples = trace.samples_between(time("start"), time("end"));
        leaves.extend(samples.map(|sample| trace.leaf(sample).unwrap_or_default().to_owned()));
    }
    let samples = leaves.len();
    assert!(samples > 1000, "{samples} samples");
    // Four standard deviations are more where a busy machine has missed many samples.
    let most = f64::max(3., 4. * (70. * 30. / samples as f64).sqrt());
    for (label, expected) in [("seventy", 70.), ("thirty", 30.)] {
        let count = leaves.iter().filter(|leaf| *leaf == label).count();
        let share = count as f64 * 100. / samples as f64;
        report(&format!("{label}: {share:.2} % of {samples} samples"));
        assert!((share - expected).abs() <= most, "{label}: {share:.2} %");
    }
}
