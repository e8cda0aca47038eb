/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Files that real tools have written, by `tests/formats/tools/make.mjs`. The self time of each function is computed here from
//! the file itself, by what its tool says about it, and compared with what is read. `STROBE_TOOLS` may name another folder with
//! such files.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use profile_formats::{Format, FunctionKey, Recording, Totals, read};
use serde_json::Value;

/// Names of what is no function.
const STACKLESS: [&str; 4] = ["(root)", "(program)", "(idle)", "(garbage collector)"];

/// What functions of a name, in a file of this name, are worth by themselves, in nanoseconds.
type Times = BTreeMap<(String, String), i128>;

/// With some room, because each sample may be rounded.
const ROUNDING: i128 = 2;

fn folder() -> PathBuf {
    match env::var_os("STROBE_TOOLS") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools"),
    }
}

/// The files of a tool. Each tool must have one.
fn files(tool: &str, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| {
        let name = file.file_name().unwrap().to_str().unwrap();
        name.starts_with(tool) && name.ends_with(ending)
    });
    assert!(!files.is_empty(), "no file of {tool}");
    files.sort();
    files
}

fn recording(file: &Path, format: Format) -> Recording {
    let content = fs::read(file).unwrap();
    let (recording, recognised) = read(&content, Some(file), None).unwrap();
    assert_eq!(recognised, format, "{}", file.display());
    recording
}

fn json(file: &Path) -> Value {
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

fn times(recording: &Recording) -> Times {
    let mut times = Times::new();
    for (FunctionKey { name, resource, .. }, totals) in Totals::of(recording).functions {
        if totals.time_itself > 0 {
            let key = (name.to_owned(), resource.unwrap_or_default().to_owned());
            *times.entry(key).or_default() += totals.time_itself as i128;
        }
    }
    times
}

fn assert_same(read: &Times, computed: &Times, samples: usize, file: &Path) {
    let most = ROUNDING * samples as i128;
    for key in read.keys().chain(computed.keys()) {
        let [read, computed] = [read, computed].map(|times| times.get(key).copied().unwrap_or(0));
        let what = format!("{}: {key:?}: {read} ns, not {computed}", file.display());
        assert!((read - computed).abs() <= most, "{what}");
    }
}

/// Each entry of `samples` is worth the time until the next one in time, and the last one until the end.
fn of_cpuprofile(file: &Path) -> (Times, usize) {
    let profile = json(file);
    let mut functions = BTreeMap::new();
    for node in profile["nodes"].as_array().unwrap() {
        let frame = &node["callFrame"];
        let text = |member: &str| frame[member].as_str().unwrap().to_owned();
        let id = node["id"].as_u64().unwrap();
        functions.insert(id, (text("functionName"), text("url")));
    }
    // Bun writes a fraction.
    let mut time = profile["startTime"].as_f64().unwrap();
    let ids = profile["samples"].as_array().unwrap().iter();
    let deltas = profile["timeDeltas"].as_array().unwrap();
    let mut entries: Vec<_> = ids
        .zip(deltas)
        .map(|(id, delta)| {
            time += delta.as_f64().unwrap();
            (time, id.as_u64().unwrap())
        })
        .collect();
    // The order of entries of one time stays.
    entries.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let end = profile["endTime"].as_f64().unwrap();
    let ends = entries[1..].iter().map(|(time, _)| *time).chain([end]);
    let lengths: Vec<_> = ends
        .zip(&entries)
        .map(|(end, (time, _))| end - time)
        .collect();

    // An engine that takes no samples while it waits writes one long time for it.
    let is_idle = |(_, id): &(f64, u64)| functions[id].0 == "(idle)";
    let mut positive: Vec<_> = lengths[..lengths.len() - 1].to_vec();
    positive.retain(|length| *length > 0.);
    positive.sort_by(f64::total_cmp);
    let median = positive[positive.len() / 2];
    let most = match entries.iter().any(is_idle) {
        true => f64::MAX,
        false => (20. * median).min(100e3).max(3. * median),
    };
    let mut times = Times::new();
    for ((_, id), length) in entries.iter().zip(lengths) {
        let (name, url) = &functions[id];
        if !url.is_empty() || !STACKLESS.contains(&&**name) {
            let key = (name.clone(), url.clone());
            *times.entry(key).or_default() += (length.min(most) * 1e3).round() as i128;
        }
    }
    times.retain(|_, time| *time > 0);
    (times, entries.len())
}

#[test]
fn files_of_node() {
    for file in files("node-", ".cpuprofile") {
        let (computed, samples) = of_cpuprofile(&file);
        let read = times(&recording(&file, Format::Cpuprofile));
        assert_same(&read, &computed, samples, &file);
        let mut functions = computed.keys();
        let has_loop = functions.any(|(name, url)| name == "loop" && url.ends_with("/work.js"));
        assert!(has_loop, "{}", file.display());
    }
}

#[test]
fn files_of_deno() {
    for file in files("deno-", ".cpuprofile") {
        let (computed, samples) = of_cpuprofile(&file);
        let read = times(&recording(&file, Format::Cpuprofile));
        assert_same(&read, &computed, samples, &file);
    }
}

#[test]
fn files_of_bun() {
    for file in files("bun-", ".cpuprofile") {
        let (computed, samples) = of_cpuprofile(&file);
        let read = times(&recording(&file, Format::Cpuprofile));
        assert_same(&read, &computed, samples, &file);
    }
}

/// A sample is worth the time until the next one of its thread.
#[test]
fn files_of_hermes() {
    for file in files("hermes-", ".json") {
        let profile = json(&file);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let samples = profile["samples"].as_array().unwrap();
        let mut moments: Vec<i64> = Vec::new();
        for sample in samples {
            assert_eq!(sample["weight"], "1");
            assert_eq!(sample["tid"], samples[0]["tid"], "one thread");
            moments.push(text(&sample["ts"]).parse().unwrap());
        }
        let lengths: Vec<_> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mut sorted = lengths.clone();
        sorted.retain(|length| *length > 0);
        sorted.sort();
        let median = sorted[sorted.len() / 2];
        let most = (20 * median).min(100_000).max(3 * median);
        let mut computed = Times::new();
        for (sample, length) in samples.iter().zip(lengths.into_iter().chain([median])) {
            let frame = &profile["stackFrames"][sample["sf"].to_string()];
            let name = text(&frame["name"]);
            // The others are collections of garbage, and what is under all functions.
            if !["JavaScript", "Native"].contains(&frame["category"].as_str().unwrap()) {
                continue;
            }
            let (name, url) = match name
                .strip_suffix(')')
                .and_then(|name| name.rsplit_once('('))
            {
                None => (name, String::new()),
                Some((name, place)) => {
                    let mut parts = place.rsplitn(3, ':');
                    (name.to_owned(), parts.nth(2).unwrap_or(place).to_owned())
                },
            };
            *computed.entry((name, url)).or_default() += i128::from(length.min(most)) * 1_000;
        }
        let read = times(&recording(&file, Format::Hermes));
        assert_same(&read, &computed, samples.len(), &file);
    }
}

/// A line is a stack and a number of samples. Each function has its file behind it, with the line that was executing.
#[test]
fn files_of_py_spy_as_collapsed_stacks() {
    for file in files("py-spy-", ".folded") {
        let text = fs::read_to_string(&file).unwrap();
        let mut computed: BTreeMap<String, u64> = BTreeMap::new();
        for line in text.lines() {
            let (stack, count) = line.rsplit_once(' ').unwrap();
            // Of a thread without a frame.
            if stack.is_empty() {
                continue;
            }
            let leaf = stack.rsplit(';').next().unwrap();
            let name = leaf.rsplit_once(" (").map_or(leaf, |(name, _)| name);
            *computed.entry(name.to_owned()).or_default() += count.parse::<u64>().unwrap();
        }
        assert_eq!(samples(&recording(&file, Format::Collapsed)), computed);
    }
}

/// The samples of each name by itself.
fn samples(recording: &Recording) -> BTreeMap<String, u64> {
    let mut samples = BTreeMap::new();
    for (function, totals) in Totals::of(recording).functions {
        if totals.itself > 0 {
            *samples.entry(function.name.to_owned()).or_default() += totals.itself;
        }
    }
    samples
}

/// Weights are seconds.
#[test]
fn files_of_py_spy_for_speedscope() {
    for file in files("py-spy-", ".speedscope.json") {
        let all = json(&file);
        let frames = all["shared"]["frames"].as_array().unwrap();
        let mut computed: BTreeMap<String, f64> = BTreeMap::new();
        for profile in all["profiles"].as_array().unwrap() {
            assert_eq!(profile["unit"], "seconds");
            let weights = profile["weights"].as_array().unwrap();
            for (stack, weight) in profile["samples"].as_array().unwrap().iter().zip(weights) {
                let Some(leaf) = stack.as_array().unwrap().last() else {
                    continue;
                };
                let name = &frames[leaf.as_u64().unwrap() as usize]["name"];
                let name = name.as_str().unwrap().to_owned();
                *computed.entry(name).or_default() += weight.as_f64().unwrap() * 1e9;
            }
        }
        let mut read: BTreeMap<String, f64> = BTreeMap::new();
        for ((name, _), time) in times(&recording(&file, Format::Speedscope)) {
            *read.entry(name).or_default() += time as f64;
        }
        assert_eq!(
            read.keys().collect::<Vec<_>>(),
            computed.keys().collect::<Vec<_>>()
        );
        for (name, time) in computed {
            assert!((read[&name] - time).abs() <= 1e-6 * time.max(1.), "{name}");
        }
    }
}
