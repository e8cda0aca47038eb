/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Where functions were executing or calling, in every tier of the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::num::NonZeroU32;

use browser_tests::{Command, Site, Source, pages, report};
use profile_formats::{Format, Place, Recording, read};

const SCRIPT: &str = "lines.js";
const MINIFIED: &str = "lines-minified.js";

/// At least this share of a function's samples is on its lines, in percent.
const LEAST_SHARE: f64 = 98.;

/// How far the share of a line may be from what it does, in percentage points. A function has some 700 samples.
const TOLERANCE: f64 = 8.;

/// Fewer samples of a function say nothing.
const LEAST_SAMPLES: u64 = 60;

/// The lines on which a function works, and their shares of its work in percent: `// name: share` in the script.
fn lines_of_work() -> BTreeMap<String, BTreeMap<u32, f64>> {
    let script = fs::read_to_string(pages().join(SCRIPT)).unwrap();
    let mut functions: BTreeMap<String, BTreeMap<u32, f64>> = BTreeMap::new();
    for (line, text) in (1..).zip(script.lines()) {
        if let Some((_, comment)) = text.split_once("// ")
            && let Some((name, share)) = comment.rsplit_once(": ")
            && let Ok(share) = share.parse()
        {
            let lines = functions.entry(name.to_owned()).or_default();
            lines.insert(line, share);
        }
    }
    functions
}

fn record(preferences: &[&str]) -> Recording {
    let site = Site::plain().serve();
    let mut arguments = vec!["profile", "--headless", "--format=html", "-o", "-"];
    for preference in preferences {
        arguments.extend(["--pref", preference]);
    }
    let url = site.url("/lines.html");
    arguments.extend(["--until-js", "finished", &url]);
    let output = Command::start(&arguments).end();
    output.assert_success();
    read(&output.stdout, None, Some(Format::Html)).unwrap().0
}

/// Of each function of the scripts, how many samples had it at each place: the youngest frame of it counts.
fn places(recording: &Recording) -> BTreeMap<String, BTreeMap<Option<(u32, u32)>, u64>> {
    let mut places: BTreeMap<String, BTreeMap<_, u64>> = BTreeMap::new();
    for event_loop in recording.event_loops() {
        for sample in event_loop.samples() {
            let mut seen = BTreeSet::new();
            for id in event_loop.frames_of(sample.stack).into_iter().rev() {
                let frame = event_loop.frame(id);
                let function = event_loop.function(frame.function);
                let is_ours = event_loop
                    .resource_of(function)
                    .is_some_and(|url| url.ends_with(SCRIPT) || url.ends_with(MINIFIED));
                if !is_ours || !seen.insert(&function.name) {
                    continue;
                }
                let place = match frame.place {
                    Some(Place::Source { line, column }) => {
                        Some((line.get(), column.map_or(0, NonZeroU32::get)))
                    },
                    _ => None,
                };
                let of_function = places.entry(function.name.clone()).or_default();
                *of_function.entry(place).or_default() += 1;
            }
        }
    }
    places
}

fn check(tier: &str, preferences: &[&str]) {
    let places = places(&record(preferences));
    let mut faults = Vec::new();
    let mut least = 100_f64;
    for (name, lines) in lines_of_work() {
        let found = places.get(&name).cloned().unwrap_or_default();
        let all: u64 = found.values().sum();
        let on = |wanted: &dyn Fn(u32) -> bool| -> f64 {
            let here = found
                .iter()
                .filter(|(place, _)| place.is_some_and(|(line, _)| wanted(line)));
            100. * here.map(|(_, count)| count).sum::<u64>() as f64 / all as f64
        };
        let share = on(&|line| lines.contains_key(&line));
        least = least.min(share);
        if all < LEAST_SAMPLES || share < LEAST_SHARE {
            faults.push(format!(
                "{name}: {share:.2} % of {all} on {lines:?}: {found:?}"
            ));
        }
        for (&line, &expected) in &lines {
            let share = on(&|other| other == line);
            if (share - expected).abs() > TOLERANCE {
                faults.push(format!(
                    "{name}: line {line} has {share:.2} %, not {expected}"
                ));
            }
        }
    }

    let source = Source::of_page(MINIFIED);
    let [first, second, end] = ["for(;i<n", "n*=3", "return s"].map(|part| source.place_of(part));
    let found = places.get("minified").cloned().unwrap_or_default();
    let all: u64 = found.values().sum();
    let between = |from: u32, to: u32| -> f64 {
        let here = found.iter().filter(|(place, _)| {
            place.is_some_and(|(line, column)| line == first.line && (from..to).contains(&column))
        });
        100. * here.map(|(_, count)| count).sum::<u64>() as f64 / all as f64
    };
    let (quarter, rest) = (
        between(first.column, second.column),
        between(second.column, end.column),
    );
    least = least.min(quarter + rest);
    let is_right = quarter + rest >= LEAST_SHARE && (quarter - 25.).abs() <= TOLERANCE;
    if all < LEAST_SAMPLES || !is_right {
        faults.push(format!(
            "minified: {quarter:.2} and {rest:.2} % of {all}: {found:?}"
        ));
    }
    report(&format!(
        "lines in {tier}: at least {least:.2} % of a function's samples are on its lines"
    ));
    assert!(faults.is_empty(), "in {tier}:\n{}", faults.join("\n"));
}

#[test]
fn samples_are_on_their_lines_in_the_interpreter() {
    check(
        "the interpreter",
        &["js_baseline_interpreter_enabled=false"],
    );
}

#[test]
fn samples_are_on_their_lines_in_the_baseline_interpreter() {
    check(
        "the Baseline interpreter",
        &["js_baseline_jit_enabled=false"],
    );
}

#[test]
fn samples_are_on_their_lines_in_baseline() {
    check("Baseline", &["js_ion_enabled=false"]);
}

#[test]
fn samples_are_on_their_lines_in_ion() {
    check("Ion", &[]);
}
