/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The page that `./mach run` opens.

use browser_tests::{Site, Source, Trace, alone, repository};

#[test]
fn the_demos_hot_function_is_on_top_at_its_place() {
    let _alone = alone();
    let folder = repository().join("resources/demo");
    // Served as by ./mach run.
    let site = Site::of(folder.clone())
        .header("/index.html", "Document-Policy", "js-profiling")
        .serve();
    let result = site.visit("/index.html").result_at("/trace").run();
    assert_eq!(result["sampleInterval"], 1);
    let trace = Trace::read(&result["trace"]);
    let hottest = trace
        .frames
        .iter()
        .max_by_key(|frame| trace.self_count(frame.label()))
        .expect("there are frames");
    assert_eq!(hottest.name, "isPrime");
    let source = Source::read(&folder.join("primes.js"));
    let position = source.parameters_of("function isPrime(");
    trace.assert_at("isPrime", &site.url("/primes.js"), position);
    for path in trace.paths_to("isPrime") {
        assert!(
            path.ends_with(&["workRound", "nextPrimes", "isPrime"]),
            "{path:?}"
        );
    }
}
