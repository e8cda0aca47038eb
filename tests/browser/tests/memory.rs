/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The profiler's use of memory.

use browser_tests::{Site, alone};
use serde::Deserialize;

/// The bytes that about:memory shows for the profiler, for each event loop.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reports {
    before: Vec<usize>,
    /// How many samples had been taken before `early`.
    begun: usize,
    early: Vec<usize>,
    late: Vec<usize>,
    /// How many samples were taken from `early` to `late`.
    between: usize,
    after: Vec<usize>,
    /// When nothing is kept for later sessions any more.
    freed: Vec<usize>,
    /// The bytes of finished sessions in the performance timeline.
    entries: Vec<usize>,
    /// The bytes of the engine's tables of JIT code.
    tables: Vec<usize>,
    /// The number of functions that are compiled then.
    compiled: usize,
    /// The bytes of the tables after that.
    more_tables: Vec<usize>,
}

#[test]
fn tables_and_samples_are_in_about_memory() {
    let _alone = alone();
    /// A sample is a time and the index of a stack.
    const LEAST_BYTES_PER_SAMPLE: usize = 12;
    /// A sample takes 16 bytes, and its list may have room for as many again.
    const MOST_BYTES_PER_SAMPLE: usize = 32;
    /// What is found out later about functions, stacks and code of the page, and the room of tables, which doubles. 586 kB
    /// were seen.
    const MOST_FOR_TABLES: usize = 1_000_000;
    let site = Site::allowing().serve();
    let result = site
        .visit("/memory.html")
        .preference("expose_servointernals_globally=true")
        .run();
    let reports: Reports = serde_json::from_value(result).expect("the page's answer");
    let only = |sizes: &[usize]| match sizes {
        [size] => *size,
        _ => panic!("not one event loop: {reports:?}"),
    };
    assert_eq!(only(&reports.before), 0, "{reports:?}");
    // A busy machine may have taken none yet. The tables have something in any case.
    assert!(
        only(&reports.early) > reports.begun * LEAST_BYTES_PER_SAMPLE,
        "{reports:?}"
    );
    // A busy machine takes fewer than 2000, but still some.
    assert!(reports.between > 100, "{reports:?}");
    let grown = only(&reports.late) - only(&reports.early);
    let least = reports.between * LEAST_BYTES_PER_SAMPLE;
    assert!(grown > least, "{reports:?}");
    // Nothing else grows with the samples.
    let samples = reports.begun + reports.between;
    let most = samples * MOST_BYTES_PER_SAMPLE + MOST_FOR_TABLES;
    assert!(grown < most, "{reports:?}");
    // The samples are freed at once. What was found out about functions is kept for a while.
    assert!(
        only(&reports.after) + least < only(&reports.late),
        "{reports:?}"
    );
    assert!(only(&reports.freed) < 10_000, "{reports:?}");
    assert!(only(&reports.freed) < only(&reports.after), "{reports:?}");
    assert!(only(&reports.freed) < only(&reports.early), "{reports:?}");
    // The session of 500 samples whose trace is not an object yet.
    assert!(
        only(&reports.entries) > 500 * LEAST_BYTES_PER_SAMPLE,
        "{reports:?}"
    );
    // Each piece of code has an entry with a label.
    const LEAST_BYTES_PER_FUNCTION: usize = 100;
    let grown = only(&reports.more_tables) - only(&reports.tables);
    assert!(
        grown > reports.compiled * LEAST_BYTES_PER_FUNCTION,
        "{reports:?}"
    );
}
