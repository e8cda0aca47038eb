/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Files that real tools have written, by `tests/formats/tools/make.mjs`. The self time of each function is computed here from
//! the file itself, by what its tool says about it, and compared with what is read. `STROBE_TOOLS` may name another folder with
//! such files.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use profile_formats::{Format, FunctionKey, ReadOptions, Recording, Totals, Unit, read, read_with};
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

/// The median of the lengths, in any unit.
fn median(lengths: &[&[f64]]) -> f64 {
    let mut positive = lengths.concat();
    positive.retain(|length| *length > 0.);
    positive.sort_by(f64::total_cmp);
    positive[positive.len() / 2]
}

/// What a sample is worth at most, in microseconds. An engine that takes no samples while it waits writes one long time for it.
fn most(lengths: &[&[f64]], is_idle_sampled: bool) -> f64 {
    let median = median(lengths);
    match is_idle_sampled {
        true => f64::MAX,
        false => (20. * median).min(LONGEST).max(3. * median),
    }
}

/// In microseconds, what no sample is worth more than if none is idle and the interval is short.
const LONGEST: f64 = 100e3;

/// What each function is worth, and the number of entries.
fn of_cpuprofile(file: &Path) -> (Times, usize) {
    let profile = json(file);
    let nodes = profile["nodes"].as_array().unwrap();
    let is_idle = |id: &Value| {
        let node = nodes.iter().find(|node| node["id"] == *id).unwrap();
        node["callFrame"]["functionName"] == "(idle)"
    };
    // Those at the start say nothing.
    let samples = profile["samples"].as_array().unwrap().iter();
    let is_idle_sampled = samples.skip_while(|id| is_idle(id)).any(is_idle);
    let deltas = profile["timeDeltas"].as_array().unwrap();
    let deltas: Vec<_> = deltas.iter().map(|delta| delta.as_f64().unwrap()).collect();
    let most = most(&[&deltas[1..]], is_idle_sampled);
    of_entries(file, |length| length.min(most))
}

/// Each entry of `samples` is worth the time until the next one in time, and the last one until the end.
fn of_entries(file: &Path, worth: impl Fn(f64) -> f64) -> (Times, usize) {
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

    let mut times = Times::new();
    for ((_, id), length) in entries.iter().zip(lengths) {
        let (name, url) = &functions[id];
        if !url.is_empty() || !STACKLESS.contains(&&**name) {
            let key = (name.clone(), url.clone());
            *times.entry(key).or_default() += (worth(length) * 1e3).round() as i128;
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
        assert!(has_loop(&computed), "{}", file.display());
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

/// The worker waits once for longer than a sample is worth, and no entry says so. What is before the wait is worth some of it.
#[test]
fn files_of_workerd() {
    for file in files("workerd-", ".cpuprofile") {
        let deltas = json(&file)["timeDeltas"].as_array().unwrap().clone();
        let deltas: Vec<_> = deltas.iter().map(|delta| delta.as_f64().unwrap()).collect();
        // It is three medians if all samples were late. Those of hits alone are longer than those of all entries.
        let mut sorted = deltas[1..].to_vec();
        sorted.sort_by(f64::total_cmp);
        let longest = (3. * sorted[sorted.len() * 3 / 4]).max(LONGEST);
        let is_pause = |length: f64| length > LONGEST;
        assert!(deltas.iter().copied().any(is_pause), "{}", file.display());
        let (least, samples) =
            of_entries(&file, |length| if is_pause(length) { 0. } else { length });
        let (most, _) = of_entries(&file, |length| length.min(longest));
        let read = times(&recording(&file, Format::Cpuprofile));
        let rounding = ROUNDING * samples as i128;
        for key in read.keys().chain(most.keys()) {
            let [read, least, most] =
                [&read, &least, &most].map(|times| times.get(key).copied().unwrap_or(0));
            let is_right = (least - rounding..=most + rounding).contains(&read);
            assert!(
                is_right,
                "{}: {key:?}: {read}, not {least} to {most}",
                file.display()
            );
        }
        assert!(
            read.keys()
                .any(|(name, url)| name == "parse" && url == "worker.js")
        );
    }
}

#[test]
fn files_of_chromium() {
    for file in files("chromium-", ".cpuprofile") {
        let (computed, samples) = of_cpuprofile(&file);
        let read = times(&recording(&file, Format::Cpuprofile));
        assert_same(&read, &computed, samples, &file);
        assert!(has_loop(&computed), "{}", file.display());
    }
}

/// A profile of each thread, in chunks.
#[test]
fn traces_of_chromium() {
    for file in files("chromium-", ".chrome-trace.json") {
        #[derive(Default)]
        struct Thread {
            start: f64,
            names: BTreeMap<u64, (String, String)>,
            entries: Vec<(f64, u64)>,
        }
        let trace = json(&file);
        let mut threads: BTreeMap<String, Thread> = BTreeMap::new();
        for event in trace["traceEvents"].as_array().unwrap() {
            let data = &event["args"]["data"];
            let key = format!("{} {}", event["pid"], event["id"]);
            if event["name"] == "Profile" {
                threads.entry(key).or_default().start = data["startTime"].as_f64().unwrap();
            } else if event["name"] == "ProfileChunk" {
                assert_eq!(data["endTime"], Value::Null);
                let thread = threads.entry(key).or_default();
                let profile = &data["cpuProfile"];
                for node in profile["nodes"].as_array().into_iter().flatten() {
                    let frame = &node["callFrame"];
                    let text = |name: &str| frame[name].as_str().unwrap_or_default().to_owned();
                    let name = (text("functionName"), text("url"));
                    thread.names.insert(node["id"].as_u64().unwrap(), name);
                }
                let ids = profile["samples"].as_array().into_iter().flatten();
                for (id, delta) in ids.zip(data["timeDeltas"].as_array().into_iter().flatten()) {
                    // The time of the first one is since the start.
                    let last = thread.entries.last().map(|(time, _)| *time);
                    let entry = (delta.as_f64().unwrap(), id.as_u64().unwrap());
                    thread
                        .entries
                        .push((last.unwrap_or_default() + entry.0, entry.1));
                }
            }
        }
        let mut lengths = Vec::new();
        let mut is_idle_sampled = false;
        let mut samples = 0;
        for thread in threads.values_mut() {
            thread
                .entries
                .sort_by(|(one, _), (other, _)| one.total_cmp(other));
            let pairs = thread.entries.windows(2);
            lengths.push(pairs.map(|pair| pair[1].0 - pair[0].0).collect::<Vec<_>>());
            let mut ids = thread.entries.iter().map(|(_, id)| &thread.names[id].0);
            is_idle_sampled |= ids.any(|name| name == "(idle)");
            samples += thread.entries.len();
        }
        assert!(threads.values().all(|thread| thread.start > 0.));
        let lengths: Vec<&[f64]> = lengths.iter().map(|lengths| &**lengths).collect();
        let (median, most) = (median(&lengths), most(&lengths, is_idle_sampled));
        let mut computed = Times::new();
        for (thread, lengths) in threads.values().zip(&lengths) {
            let lengths = lengths.iter().chain([&median]);
            for ((_, id), length) in thread.entries.iter().zip(lengths) {
                let key = &thread.names[id];
                if !key.1.is_empty() || !STACKLESS.contains(&&*key.0) {
                    *computed.entry(key.clone()).or_default() += (length.min(most) * 1e3) as i128;
                }
            }
        }
        computed.retain(|_, time| *time > 0);
        assert!(has_loop(&computed), "{}", file.display());
        let recording = recording(&file, Format::ChromeTrace);
        assert_eq!(recording.event_loops().count(), threads.len());
        assert_same(&times(&recording), &computed, samples, &file);
    }
}

fn unpacked(file: &Path) -> Value {
    let mut text = String::new();
    let mut unpacked = GzDecoder::new(fs::File::open(file).unwrap());
    unpacked.read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// What Firefox itself writes. A sample is worth the time until the next one, and the last one an interval.
#[test]
fn files_of_firefox() {
    for file in files("firefox-", ".json.gz") {
        let profile = unpacked(&file);
        let column = |table: &Value, name: &str| table["schema"][name].as_u64().unwrap() as usize;
        let mut computed = Times::new();
        let mut samples = 0;
        for process in profile["processes"].as_array().unwrap() {
            let interval = profile["meta"]["interval"].as_f64().unwrap();
            for thread in process["threads"].as_array().unwrap() {
                let rows = thread["samples"]["data"].as_array().unwrap();
                let time = column(&thread["samples"], "time");
                let moments: Vec<_> = rows.iter().map(|row| row[time].as_f64().unwrap()).collect();
                let lengths = moments.windows(2).map(|pair| pair[1] - pair[0]);
                let lengths: Vec<f64> = lengths.chain([interval]).collect();
                let most = most(&[&[interval * 1e3]], false) / 1e3;
                samples += rows.len();
                for (row, length) in rows.iter().zip(lengths) {
                    let index = |value: &Value| value.as_u64().unwrap() as usize;
                    let Some(stack) = row[column(&thread["samples"], "stack")].as_u64() else {
                        continue;
                    };
                    let stacks = &thread["stackTable"];
                    let frames = &thread["frameTable"];
                    let row_of = |stack: u64| &stacks["data"][stack as usize];
                    let text_of = |stack: u64| {
                        let frame = &row_of(stack)[column(stacks, "frame")];
                        let location = &frames["data"][index(frame)][column(frames, "location")];
                        thread["stringTable"][index(location)].as_str().unwrap()
                    };
                    // The address that was executing, since there are no stacks of machine code.
                    assert_eq!(process["meta"]["stackwalk"], 0);
                    let caller = row_of(stack)[column(stacks, "prefix")].as_u64();
                    let text = match (text_of(stack), caller) {
                        (text, Some(caller)) if text.starts_with("0x") => text_of(caller),
                        (text, _) => text,
                    };
                    *computed.entry(of_location(text)).or_default() +=
                        (length.min(most) * 1e6) as i128;
                }
            }
        }
        let recording = recording(&file, Format::Firefox);
        let only_of_script = |times: Times| -> Times {
            let times = times.into_iter();
            times.filter(|((_, url), _)| !url.is_empty()).collect()
        };
        let read = times(&recording);
        let all = |times: &Times| times.values().sum::<i128>();
        assert!((all(&read) - all(&computed)).abs() < ROUNDING * samples as i128);
        let computed = only_of_script(computed);
        // With few samples `loop` may have none.
        let mut scripts = computed.keys().map(|(_, url)| url);
        assert!(
            scripts.any(|url| url.ends_with("/work.js")),
            "{}",
            file.display()
        );
        assert_same(&only_of_script(read), &computed, samples, &file);
    }
}

/// What the Firefox Profiler makes of what Firefox writes: it says the same, in other places.
#[test]
fn files_of_the_firefox_profiler() {
    for file in files("profiler-cli-", ".firefox.json.gz") {
        assert!(unpacked(&file)["shared"]["funcTable"]["flags"].is_array());
        let name = file.file_name().unwrap().to_str().unwrap();
        let (_, of_firefox) = name.split_once("-firefox-").unwrap();
        let raw = format!("firefox-{}", of_firefox.replace(".firefox.json", ".json"));
        let stacks = |file: &Path| {
            let mut text = Vec::new();
            let recording = recording(file, Format::Firefox);
            Format::CollapsedLines.write(&recording, &mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let (processed, raw) = (stacks(&file), stacks(&folder().join(raw)));
        assert!(raw.iter().any(|stack| stack.contains("/work.js:")));
        assert_eq!(processed.len(), raw.len(), "{}", file.display());
        for (processed, raw) in processed.iter().zip(&raw) {
            assert_eq!(processed, raw, "{}", file.display());
        }
    }
}

/// Weights are numbers of samples, 0 of which is none. What V8 calls a function is code of the machine, and the caller of that is
/// the function.
#[test]
fn files_of_samply() {
    for file in files("samply-", ".firefox.json.gz") {
        let profile = unpacked(&file);
        let mut itself: BTreeMap<String, u64> = BTreeMap::new();
        let mut total: BTreeMap<String, u64> = BTreeMap::new();
        for thread in profile["threads"].as_array().unwrap() {
            let entry = |table: &str, column: &str, index: &Value| {
                thread[table][column][index.as_u64().unwrap() as usize].clone()
            };
            let name_of = |stack: &Value| {
                let frame = entry("stackTable", "frame", stack);
                let func = entry("frameTable", "func", &frame);
                let name = entry("funcTable", "name", &func).as_u64().unwrap();
                let name = &thread["stringArray"][name as usize];
                name.as_str().unwrap().to_owned()
            };
            let stacks = thread["samples"]["stack"].as_array().unwrap();
            let weights = thread["samples"]["weight"].as_array().unwrap();
            for (stack, weight) in stacks.iter().zip(weights) {
                let weight = weight.as_u64().unwrap();
                if stack.is_null() || weight == 0 {
                    continue;
                }
                *itself.entry(name_of(stack)).or_default() += weight;
                let mut names = BTreeSet::new();
                let mut stack = stack.clone();
                while !stack.is_null() {
                    names.insert(name_of(&stack));
                    stack = entry("stackTable", "prefix", &stack);
                }
                for name in names {
                    *total.entry(name).or_default() += weight;
                }
            }
        }
        let recording = recording(&file, Format::Firefox);
        assert_eq!(samples(&recording), itself);
        // Addresses are the same in several libraries.
        total.retain(|name, _| name.contains("/project/work.js"));
        for name in ["work", "JS:~work"] {
            let name = format!("{name} /project/work.js:");
            assert!(total.keys().any(|one| one.starts_with(&name)), "{name}");
        }
        let mut read: BTreeMap<String, u64> = BTreeMap::new();
        for (FunctionKey { name, .. }, totals) in Totals::of(&recording).functions {
            if name.contains("/project/work.js") {
                *read.entry(name.to_owned()).or_default() += totals.total;
            }
        }
        assert_eq!(read, total);
    }
}

/// The name and the URL in `name (url:line:column)[source]` and `url[source]`. What is of no script has no URL.
fn of_location(text: &str) -> (String, String) {
    let place = text.rsplit_once('[').map_or("", |(place, _)| place);
    let (name, place) = match place
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once(" ("))
    {
        Some((name, place)) => (name, place),
        None => ("", place),
    };
    let url = place.trim_end_matches(|letter: char| letter == ':' || letter.is_ascii_digit());
    (name.to_owned(), url.to_owned())
}

fn has_loop(times: &Times) -> bool {
    let mut functions = times.keys();
    functions.any(|(name, url)| name == "loop" && url.ends_with("/work.js"))
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
            let frame = |id: &Value| &profile["stackFrames"][id.to_string()];
            let mut leaf = frame(&sample["sf"]);
            // Others are collections of garbage, which a function has begun, and what is under all functions.
            while !["JavaScript", "Native"].contains(&leaf["category"].as_str().unwrap_or_default())
            {
                if leaf["parent"].is_null() {
                    break;
                }
                leaf = frame(&leaf["parent"]);
            }
            let name = text(&leaf["name"]);
            if name == "[root]" {
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

/// Counts are periods in nanoseconds. The names are those that perf has, with what V8 writes of its functions.
#[test]
fn files_of_perf_and_inferno() {
    for file in files("perf-", ".folded") {
        let text = fs::read_to_string(&file).unwrap();
        let mut computed: BTreeMap<String, i128> = BTreeMap::new();
        for line in text.lines() {
            let (stack, count) = line.rsplit_once(' ').unwrap();
            let leaf = stack.rsplit(';').next().unwrap();
            *computed.entry(leaf.to_owned()).or_default() += count.parse::<i128>().unwrap();
        }
        assert!(
            computed
                .keys()
                .any(|name| name.contains("loop /project/work.js"))
        );
        let options = ReadOptions {
            unit: Some(Unit::Nanoseconds),
            ..ReadOptions::default()
        };
        let content = fs::read(&file).unwrap();
        let (recording, format, _) = read_with(&content, Some(&file), options).unwrap();
        assert_eq!(format, Format::Collapsed);
        // The greatest common divisor of all counts is a sample.
        let period = (recording.interval * 1e6).round() as i128;
        let totals = Totals::of(&recording);
        assert_eq!(i128::from(totals.samples) * period, computed.values().sum());
        for (FunctionKey { name, .. }, totals) in totals.functions {
            let expected = computed.get(name).copied().unwrap_or(0);
            assert_eq!(i128::from(totals.itself) * period, expected, "{name}");
        }
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
