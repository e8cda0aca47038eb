/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Where functions were executing or calling, in every tier of the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::num::NonZeroU32;

use browser_tests::{Site, Source, alone, pages, record, report};
use profile_formats::{Place, Recording};

const SCRIPT: &str = "lines.js";
const MINIFIED: &str = "lines-minified.js";

/// At least this share of a function's samples is on its lines, in percent.
const LEAST_SHARE: f64 = 98.;

/// How far the share of a line's samples may be from its share of the work, in percentage points. How fast a loop runs
/// depends on where its code is.
const TOLERANCE: f64 = 8.;

/// The page is recorded until each function has this many samples. One recording gives it some 600 at least, and fewer on
/// a busy machine.
const LEAST_SAMPLES: u64 = 500;
const MOST_RECORDINGS: usize = 20;

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

fn record_lines(preferences: &[&str]) -> Recording {
    let site = Site::plain().serve();
    let url = site.url("/lines.html");
    let mut arguments = vec!["--until-js", "finished", &url];
    for preference in preferences {
        arguments.extend(["--pref", preference]);
    }
    record(&arguments).0
}

/// For each function, the number of samples at each place.
type Places = BTreeMap<String, BTreeMap<Option<(u32, u32)>, u64>>;

fn samples_of(places: &Places, function: &str) -> u64 {
    places.get(function).map_or(0, |found| found.values().sum())
}

/// Adds the functions of the scripts. The youngest frame of a function counts.
fn add_places(recording: &Recording, places: &mut Places) {
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
}

fn check(tier: &str, preferences: &[&str]) {
    let _alone = alone();
    let lines_of_work = lines_of_work();
    let mut places = Places::new();
    for _ in 0..MOST_RECORDINGS {
        add_places(&record_lines(preferences), &mut places);
        let mut functions = lines_of_work.keys().map(String::as_str).chain(["minified"]);
        if functions.all(|name| samples_of(&places, name) >= LEAST_SAMPLES) {
            break;
        }
    }
    let mut faults = Vec::new();
    let mut least = 100_f64;
    for (name, lines) in lines_of_work {
        let found = places.get(&name).cloned().unwrap_or_default();
        let all = samples_of(&places, &name);
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
                    "{name}: line {line} has {share:.2} % of {all}, not {expected}"
                ));
            }
        }
    }

    let source = Source::of_page(MINIFIED);
    let [first, second, end] = ["for(;i<n", "n*=3", "return s"].map(|part| source.place_of(part));
    let found = places.get("minified").cloned().unwrap_or_default();
    let all = samples_of(&places, "minified");
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
    report(&format!("minified: {quarter:.2} % of {all} samples"));
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
