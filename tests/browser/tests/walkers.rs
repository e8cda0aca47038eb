/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Compares the table walker with the engine's own iterator on the same stacks.

use std::collections::BTreeMap;

use browser_tests::{Site, alone, report};

/// The differences that are right, and the largest share of all stacks that each may have. `comparison.rs`
/// of the component explains them.
const EXPLAINED: [(&str, f64); 7] = [
    ("None", 1.),
    ("NeitherWalked", 1.),
    // The page recurses until the engine throws, and then leaves all those frames.
    ("OnlyTableWalked", 0.7),
    ("OnlyStockWalked", 0.02),
    ("StockLacksLeaf", 0.08),
    ("StockLacksDeepLeaf", 0.001),
    ("TableLacksLeaf", 0.02),
];

/// How long the page works. It asks for a sample each millisecond.
const SECONDS: u64 = 20;

/// The minimum percentage of ticks in that time with a sample. On two shared cores, 85 % of them have one.
const LEAST_SAMPLED: u64 = 25;

/// The minimum percentage of samples whose stacks were compared. Usually it is about 93 %.
const LEAST_COMPARED: u64 = 80;

/// The minimum percentage of equal stacks, of those that both walkers have walked. Usually it is about 86 %: the engine
/// spends much of the page's time where only one of the two knows the leaf.
const LEAST_EQUAL: u64 = 80;

/// The largest number of samples of a session, from the log's lines `SessionId(1): SampleCounts { taken: 10, … }`.
fn taken(console: &str) -> u64 {
    let counts = console.lines().filter_map(|line| {
        let (_, counts) = line.split_once(": SampleCounts { taken: ")?;
        let (taken, _) = counts.split_once(',')?;
        taken.parse().ok()
    });
    counts.max().expect("it is logged")
}

/// The counts of the log's lines `EventLoopId(1): compared: {None: 10, StockLacksLeaf: 1}`.
fn compared(console: &str) -> BTreeMap<&str, u64> {
    let mut counts = BTreeMap::new();
    let lines = console.lines().filter_map(|line| {
        let (_, counts) = line.split_once(": compared: {")?;
        counts.strip_suffix('}')
    });
    for count in lines.flat_map(|line| line.split(", ")) {
        let (difference, count) = count.split_once(": ").expect("a difference and its count");
        *counts.entry(difference).or_default() += count.parse::<u64>().expect("a count");
    }
    counts
}

#[test]
fn both_walkers_see_the_same_stacks_but_for_explained_differences() {
    let _alone = alone();
    let site = Site::allowing().serve();
    let (_, console) = site
        .visit(&format!("/soak.html?seconds={SECONDS}"))
        .preference("js_profiling_compare_walkers=true")
        .log("js_profiler=debug")
        .at_checkpoints(|_, _| true.into())
        .run_and_listen();
    let counts = compared(&console);
    report(&format!(
        "the table walker against the stock walker: {counts:?}"
    ));
    let total: u64 = counts.values().sum();
    let taken = taken(&console);
    report(&format!("{total} stacks were compared, of {taken} samples"));
    let ticks = SECONDS * 1_000;
    assert!(
        taken * 100 >= ticks * LEAST_SAMPLED,
        "{taken} samples of {ticks} ticks"
    );
    assert!(
        total * 100 >= taken * LEAST_COMPARED,
        "{total} stacks were compared, of {taken} samples"
    );
    let not_both = ["NeitherWalked", "OnlyTableWalked", "OnlyStockWalked"];
    let both_walked = total
        - not_both
            .iter()
            .filter_map(|name| counts.get(*name))
            .sum::<u64>();
    assert!(
        counts["None"] * 100 > both_walked * LEAST_EQUAL,
        "{counts:?}"
    );
    for (difference, count) in &counts {
        let explained = EXPLAINED.iter().find(|(name, _)| name == difference);
        let Some((_, largest_share)) = explained else {
            let prefix = format!("{difference}: ");
            let stacks: Vec<_> = console
                .lines()
                .filter(|line| line.contains(&prefix))
                .collect();
            panic!(
                "{difference} is not explained: {counts:?}\n{}",
                stacks.join("\n")
            );
        };
        assert!(
            *count as f64 <= total as f64 * largest_share,
            "too much of {difference}: {counts:?}"
        );
    }
}
