/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Files that other tools have written, or that were made after what they write. The tool and its version are in the name of
//! each. `docs/formats.md` says what is in them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use profile_formats::{
    Activity, Deadline, EventLoop, EventLoopKind, Format, FunctionKey, Notice, Place, ReadOptions,
    Recording, Totals, Unit, apply_map_folders, line_report, read, read_with, report,
};
use serde_json::Value;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/others")
}

fn content(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).unwrap()
}

/// The file's recording, whose format is recognised.
fn recording(name: &str, format: Format) -> Recording {
    let (recording, recognised) = read(&content(name), None, None).unwrap();
    assert_eq!(recognised, format, "{name}");
    recording
}

fn read_text(text: &str) -> (Recording, Vec<String>) {
    let read = read_with(text.as_bytes(), None, ReadOptions::default());
    let (recording, _, notices) = read.unwrap_or_else(|error| panic!("{text}: {error}"));
    (recording, notices.iter().map(Notice::to_string).collect())
}

fn bytes(recording: &Recording, format: Format) -> Vec<u8> {
    let mut text = Vec::new();
    format.write(recording, &mut text).unwrap();
    text
}

/// What is no text in a file shows as a replacement.
fn written(recording: &Recording, format: Format) -> String {
    String::from_utf8_lossy(&bytes(recording, format)).into_owned()
}

/// The samples of each function itself, by its name and the line of its definition.
fn itself(recording: &Recording) -> BTreeMap<(String, u32), u64> {
    let mut all = BTreeMap::new();
    for (FunctionKey { name, line, .. }, totals) in Totals::of(recording).functions {
        if totals.itself > 0 {
            let line = line.map_or(0, |line| line.get());
            *all.entry((name.to_owned(), line)).or_default() += totals.itself;
        }
    }
    all
}

fn expected<const N: usize>(entries: [(&str, u32, u64); N]) -> BTreeMap<(String, u32), u64> {
    let entries = entries.into_iter();
    let entries = entries.map(|(name, line, samples)| ((name.to_owned(), line), samples));
    entries.collect()
}

/// The samples at each line and column of a function of this name.
fn lines_of(recording: &Recording, name: &str) -> BTreeMap<(u32, u32), u64> {
    let mut lines = BTreeMap::new();
    for event_loop in recording.event_loops() {
        for sample in event_loop.samples() {
            let Some(stack) = sample.stack else { continue };
            let frame = event_loop.stack(stack).frame;
            if event_loop.function_of(frame).name == name {
                let place = event_loop.frame(frame).place;
                let line = place.and_then(Place::line).map_or(0, |line| line.get());
                let column = place.and_then(Place::column);
                let place = (line, column.map_or(0, |column| column.get()));
                *lines.entry(place).or_default() += sample.weight;
            }
        }
    }
    lines
}

fn apply_maps(recording: &mut Recording, folder: PathBuf) -> Vec<Notice> {
    apply_map_folders(recording, &[folder], &Deadline::none())
}

fn only(recording: &Recording) -> &EventLoop {
    let mut event_loops = recording.event_loops();
    let only = event_loops.next().unwrap();
    assert!(event_loops.next().is_none());
    only
}

#[test]
fn what_the_performance_panel_saves() {
    let recording = recording("chromium-156.chrome-trace.json", Format::ChromeTrace);
    let totals = Totals::of(&recording);
    assert_eq!((totals.samples, totals.with_stack), (5, 4));
    assert_eq!(itself(&recording), expected([("fib", 1, 3), ("", 1, 1)]));
    assert_eq!(
        lines_of(&recording, "fib"),
        BTreeMap::from([((1, 37), 2), ((1, 48), 1)])
    );
    assert_eq!(lines_of(&recording, ""), BTreeMap::from([((16, 8), 1)]));
    assert_eq!(only(&recording).name, "CrRendererMain");
}

/// What the samples of all event loops are worth, in nanoseconds.
fn worths(recording: &Recording) -> Vec<u64> {
    let event_loops = recording.event_loops();
    let worths = event_loops.flat_map(|event_loop| event_loop.worths(recording.interval));
    worths.collect()
}

/// The samples of each function by itself, counted from the events.
fn counted_in_trace(trace: &Value) -> BTreeMap<(String, u32), u64> {
    let mut names: BTreeMap<(u64, String, u64), (String, u32)> = BTreeMap::new();
    let mut all = BTreeMap::new();
    for event in trace["traceEvents"].as_array().unwrap() {
        if event["name"] != "ProfileChunk" {
            continue;
        }
        let key = |id: &Value| {
            (
                event["pid"].as_u64().unwrap(),
                event["id"].as_str().unwrap().to_owned(),
                id.as_u64().unwrap(),
            )
        };
        let profile = &event["args"]["data"]["cpuProfile"];
        for node in profile["nodes"].as_array().into_iter().flatten() {
            let frame = &node["callFrame"];
            let name = frame["functionName"].as_str().unwrap();
            let line = match (frame["lineNumber"].as_u64(), &frame["url"]) {
                (Some(line), _) => line as u32 + 1,
                (None, Value::String(_)) => 1,
                (None, _) => 0,
            };
            names.insert(key(&node["id"]), (name.to_owned(), line));
        }
        for id in profile["samples"].as_array().unwrap() {
            let name = names[&key(id)].clone();
            if !["(program)", "(idle)", "(garbage collector)"].contains(&&*name.0) {
                *all.entry(name).or_default() += 1;
            }
        }
    }
    all
}

#[test]
fn a_trace_of_a_page_and_its_worker() {
    let name = "chromium-156.0.8078.108-worker.chrome-trace.json.gz";
    let recording = recording(name, Format::ChromeTrace);
    let trace: Value = serde_json::from_reader(GzDecoder::new(&*content(name))).unwrap();
    assert_eq!(itself(&recording), counted_in_trace(&trace));
    let event_loops: Vec<_> = recording.event_loops().collect();
    let names: Vec<_> = event_loops.iter().map(|one| &*one.name).collect();
    assert_eq!(
        names,
        [
            "CrRendererMain",
            "DedicatedWorker thread http://127.0.0.1:8977/w.js"
        ]
    );
    assert_eq!(event_loops[1].kind, EventLoopKind::Worker);
    assert_eq!(recording.processes[0].name, "Renderer");
    assert_eq!(recording.processes[0].pid, Some(2909));
    // The loop of `leaf` is at lines 5 and 6.
    let lines = lines_of(&recording, "leaf");
    let inside: u64 = lines
        .iter()
        .filter(|((line, _), _)| (5..=6).contains(line))
        .map(|(_, samples)| samples)
        .sum();
    let all: u64 = lines.values().sum();
    assert!(inside * 10 > all * 9, "{lines:?}");
}

#[test]
fn the_events_of_a_trace_may_be_a_list() {
    let text = content("chromium-156.chrome-trace.json");
    let trace: Value = serde_json::from_slice(&text).unwrap();
    let list = trace["traceEvents"].to_string();
    let (of_list, format) = read(list.as_bytes(), None, None).unwrap();
    assert_eq!(format, Format::ChromeTrace);
    let of_object = recording("chromium-156.chrome-trace.json", Format::ChromeTrace);
    assert_eq!(of_list, of_object);
    // Older versions have one event, and times in the profile.
    let nodes = r#"[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2]},{"id":2,"callFrame":{"functionName":"f","url":"a.js","lineNumber":3,"columnNumber":0}}]"#;
    let text = format!(
        r#"[{{"name":"CpuProfile","ph":"I","pid":1,"tid":2,"ts":9,"args":{{"data":{{"cpuProfile":{{"nodes":{nodes},"startTime":1000,"endTime":5000,"samples":[2,2],"timeDeltas":[1000,2000]}}}}}}}}]"#
    );
    let (recording, _) = read(text.as_bytes(), None, None).unwrap();
    assert_eq!(itself(&recording), expected([("f", 4, 2)]));
    let times: Vec<_> = only(&recording)
        .samples()
        .iter()
        .map(|one| one.time)
        .collect();
    assert_eq!(times, [2., 4.]);
    assert_eq!(worths(&recording), [2_000_000, 1_000_000]);
}

#[test]
fn a_sample_of_a_trace_is_worth_the_time_until_the_next_one() {
    let name = "chromium-156.0.8078.108-worker.chrome-trace.json.gz";
    let recording = recording(name, Format::ChromeTrace);
    let trace: Value = serde_json::from_reader(GzDecoder::new(&*content(name))).unwrap();
    let mut times: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for event in trace["traceEvents"].as_array().unwrap() {
        let data = &event["args"]["data"];
        let of_profile = || event["id"].as_str().unwrap().to_owned();
        let deltas = data["timeDeltas"].as_array();
        for delta in deltas.into_iter().flatten() {
            let times = times.get_mut(&of_profile()).unwrap();
            times.push(times.last().unwrap() + delta.as_i64().unwrap());
        }
        if event["name"] == "Profile" {
            times.insert(of_profile(), vec![data["startTime"].as_i64().unwrap()]);
        }
    }
    // The page has idle samples, so no sample is cut, those of the worker neither.
    let mut expected = Vec::new();
    for times in times.values_mut() {
        times.remove(0);
        times.sort();
        let pairs = times.windows(2);
        expected.extend(pairs.map(|pair| (pair[1] - pair[0]) as u64));
        expected.push((recording.interval * 1e3) as u64);
    }
    let of_file: Vec<_> = worths(&recording)
        .iter()
        .map(|worth| (worth + 500) / 1_000)
        .collect();
    assert_eq!(of_file, expected);

    // The end is in the last event of the profile.
    let text = String::from_utf8(content("chromium-156.chrome-trace.json")).unwrap();
    let (without_end, _) = read_text(&text);
    let end = r#"{"args":{"data":{"endTime":2125}},"id":"0x2","name":"ProfileChunk","pid":7,"tid":9,"ts":9999}]}"#;
    let (before, _) = text.trim_end().rsplit_once("]}").unwrap();
    let (with_end, _) = read_text(&format!("{before},{end}"));
    assert_eq!(worths(&without_end), [200_000; 5]);
    let mut expected = [200_000; 5];
    expected[4] = 125_000;
    assert_eq!(worths(&with_end), expected);
}

#[test]
fn only_in_a_trace_without_idle_samples_a_long_time_is_cut() {
    let profile = |tid: u32, name: &str| {
        let node = format!(r#"{{"id":1,"callFrame":{{"functionName":"{name}"}}}}"#);
        format!(
            r#"{{"name":"CpuProfile","ph":"I","pid":1,"tid":{tid},"ts":0,"args":{{"data":{{"cpuProfile":{{"nodes":[{node}],"startTime":0,"endTime":902000,"samples":[1,1,1,1]}},"timeDeltas":[1000,1000,1000,898000]}}}}}}"#
        )
    };
    let worths_of = |profiles: &[String]| {
        let (recording, _) = read_text(&format!("[{}]", profiles.join(",")));
        worths(&recording)
    };
    let cut = [1_000_000, 1_000_000, 20_000_000, 1_000_000];
    let whole = [1_000_000, 1_000_000, 898_000_000, 1_000_000];
    assert_eq!(worths_of(&[profile(1, "f")]), cut);
    assert_eq!(
        worths_of(&[profile(1, "f"), profile(2, "(idle)")]),
        [whole, whole].concat()
    );
}

#[test]
fn a_sample_of_hermes_is_worth_the_time_until_the_next_one() {
    let sample = |ts: u32, tid: u32, weight: u32| {
        format!(r#"{{"ts":"{ts}","pid":1,"tid":"{tid}","weight":"{weight}","sf":1}}"#)
    };
    let read = |samples: &[String]| {
        let samples = samples.join(",");
        let text = format!(
            r#"{{"traceEvents":[],"samples":[{samples}],"stackFrames":{{"1":{{"name":"f","category":"JavaScript"}}}}}}"#
        );
        worths(&read_text(&text).0)
    };
    // The third is before a pause.
    let of_thread = [1_000, 2_000, 3_500, 900_000].map(|ts| sample(ts, 5, 1));
    assert_eq!(
        read(&of_thread),
        [1_000_000, 1_500_000, 30_000_000, 1_500_000]
    );
    // Those of a thread in which one stands for several are worth an interval each.
    let mut of_both = of_thread.to_vec();
    of_both.extend([sample(1_000, 6, 1), sample(2_500, 6, 3)]);
    assert_eq!(
        read(&of_both),
        [
            1_000_000, 1_500_000, 30_000_000, 1_500_000, 1_500_000, 4_500_000
        ]
    );
}

#[test]
fn a_source_map_in_a_trace_is_applied() {
    let events = r#"[{"name":"ProfileChunk","ph":"P","pid":1,"tid":2,"id":"0x1","ts":9,"args":{"data":{"cpuProfile":{"nodes":[{"id":1,"callFrame":{"functionName":"e","url":"https://a.test/app.js","lineNumber":0,"columnNumber":10}}],"samples":[1]},"timeDeltas":[1]}}}]"#;
    let map = fs::read_to_string(folder().join("terser-5.51.4/app.js.map")).unwrap();
    let trace = |map: &str| {
        format!(
            r#"{{"metadata":{{"sourceMaps":[{{"url":"https://a.test/app.js","sourceMapUrl":"https://a.test/app.js.map","sourceMap":{map}}}]}},"traceEvents":{events}}}"#
        )
    };
    let (recording, notices) = read_text(&trace(&map));
    assert_eq!(notices, [""; 0]);
    assert_eq!(itself(&recording), expected([("first", 1, 1)]));
    let function = only(&recording).functions().next().unwrap();
    let resource = only(&recording).resource_of(function);
    assert_eq!(resource, Some("https://a.test/first.js"));
    let (recording, notices) = read_text(&trace("{}"));
    assert_eq!(itself(&recording), expected([("e", 1, 1)]));
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].contains("app.js.map: "), "{notices:?}");
}

#[test]
fn what_hermes_writes() {
    let name = "hermes-0.12.0.json";
    let recording = recording(name, Format::Hermes);
    let json: Value = serde_json::from_slice(&content(name)).unwrap();
    // The function of a frame is what comes before its place.
    let mut counted: BTreeMap<(String, u32), u64> = BTreeMap::new();
    for sample in json["samples"].as_array().unwrap() {
        let frame = &json["stackFrames"][sample["sf"].to_string()];
        let name = frame["name"].as_str().unwrap();
        let name = name
            .strip_suffix(')')
            .map_or(name, |name| name.rsplit_once('(').unwrap().0);
        let line = frame["funcLine"]
            .as_str()
            .map_or(0, |line| line.parse().unwrap());
        let weight: u64 = sample["weight"].as_str().unwrap().parse().unwrap();
        *counted.entry((name.to_owned(), line)).or_default() += weight;
    }
    assert_eq!(itself(&recording), counted);
    let totals = Totals::of(&recording);
    let total_of = |name: &str| {
        let mut functions = totals.functions.iter();
        functions
            .find(|(function, _)| function.name == name)
            .map(|(function, totals)| (function.resource, totals.total))
    };
    assert_eq!(total_of("global"), Some((Some("work.js"), 40)));
    assert!(total_of("a (b)").is_some() && total_of("get area").is_some());
    assert_eq!(total_of("[root]"), None);
    assert_eq!(only(&recording).name, "hermes");
    // The calls of `main` are in lines that it has.
    let text = written(&recording, Format::CollapsedLines);
    assert!(
        text.contains("global (work.js:2:1):15;main (work.js:14:1):14;outer (work.js:8:15):10;"),
        "{text}"
    );
}

#[test]
fn what_speedscope_exports() {
    let name = "speedscope-1.25.0-export.speedscope.json";
    let recording = recording(name, Format::Speedscope);
    let event_loop = only(&recording);
    let worths = event_loop.worths(recording.interval);
    let lengths: Vec<_> = event_loop
        .samples()
        .iter()
        .zip(worths)
        .map(|(sample, worth)| {
            let frame = event_loop.stack(sample.stack.unwrap()).frame;
            let function = event_loop.function_of(frame);
            let column = function.column.unwrap().get();
            let place = (function.line.unwrap().get(), column);
            (
                event_loop.resource_of(function).unwrap(),
                place,
                sample.weight,
                worth,
            )
        })
        .collect();
    assert_eq!(
        lengths,
        [
            ("x.js", (5, 2), 1, 1_000_000),
            ("x.js", (5, 9), 1, 2_000_000),
            ("x.js", (7, 9), 1, 3_000_000),
            ("y.js", (5, 2), 1, 4_000_000)
        ]
    );
    // The median.
    assert_eq!(recording.interval, 3.);
    let totals = Totals::of(&recording);
    let of_a = totals.functions.iter().find(|(key, _)| key.name == "a");
    let of_a = of_a.unwrap().1;
    assert_eq!((of_a.total, of_a.time_total), (4, 10_000_000));
}

#[test]
fn lines_of_py_spy_are_executing() {
    for (name, format) in [
        ("py-spy-0.4.3-lines.speedscope.json", Format::Speedscope),
        ("py-spy-0.4.3.speedscope.json", Format::Speedscope),
        ("py-spy-0.4.3-raw.folded", Format::Collapsed),
    ] {
        let recording = recording(name, format);
        for function in recording.event_loops().flat_map(EventLoop::functions) {
            assert_eq!(function.line, None, "{name}: {}", function.name);
            assert!(!function.name.is_empty());
        }
    }
    let one = recording("py-spy-0.4.3-lines.speedscope.json", Format::Speedscope);
    assert_eq!(itself(&one), expected([("work", 0, 10)]));
    assert_eq!(
        lines_of(&one, "work"),
        BTreeMap::from([((5, 0), 6), ((6, 0), 4)])
    );
    let raw = recording("py-spy-0.4.3-raw.folded", Format::Collapsed);
    assert_eq!(
        lines_of(&raw, "Shape.area"),
        BTreeMap::from([((12, 0), 20), ((13, 0), 67)])
    );
    // What is written is read as the same: the lines stay where they are.
    for format in [Format::CollapsedLines, Format::Html, Format::Firefox] {
        let text = written(&raw, format);
        let (again, _) = read(text.as_bytes(), None, None).unwrap();
        assert_eq!(
            lines_of(&again, "Shape.area"),
            lines_of(&raw, "Shape.area"),
            "{format}"
        );
    }
}

#[test]
fn samples_of_threads_without_a_frame() {
    let recording = recording("py-spy-0.4.3-threads.folded", Format::Collapsed);
    let totals = Totals::of(&recording);
    assert_eq!((totals.samples, totals.with_stack), (66, 63));
    assert_eq!(
        itself(&recording),
        expected([("Shape.area", 0, 62), ("<module>", 0, 1)])
    );
}

#[test]
fn comments_of_collapsed_stacks_are_left_out() {
    let recording = recording("comments.folded", Format::Collapsed);
    assert_eq!(
        itself(&recording),
        expected([("draw", 0, 60), ("load", 0, 30), ("main", 0, 10)])
    );
    // A private method is none, wherever it is.
    let (recording, _) = read_text("#hidden;f 3\n# x;f 4\n#\n#hidden 2\n");
    assert_eq!(
        itself(&recording),
        expected([("#hidden", 0, 2), ("f", 0, 3)])
    );
}

#[test]
fn names_of_collapsed_stacks_are_the_same_when_they_are_written_again() {
    let recording = recording("names.folded", Format::Collapsed);
    let text = String::from_utf8(content("names.folded")).unwrap();
    assert_eq!(written(&recording, Format::Collapsed), text);
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    for format in Format::ALL {
        let (again, _) = read(&bytes(&recording, format), None, None).unwrap();
        let again = written(&again, Format::Collapsed);
        assert_eq!(sorted(&again), sorted(&text), "{format}");
    }
}

#[test]
fn a_name_in_parentheses_stays_in_every_format() {
    let recording = recording("bun-1.4.5-module.cpuprofile", Format::Cpuprofile);
    assert_eq!(itself(&recording), expected([("(module)", 2, 3)]));
    for format in Format::ALL {
        let text = written(&recording, format);
        assert!(text.contains("(module)"), "{format}: {text}");
        assert!(!text.contains("%28"), "{format}: {text}");
    }
    // Only what V8 and we write at the root is no function, and only there.
    let (recording, _) = read_text("(module) 1\n(program) 2\nf;(program) 3\n(program);f 4\n");
    assert_eq!(
        itself(&recording),
        expected([("(module)", 0, 1), ("(program)", 0, 3), ("f", 0, 4)])
    );
    for format in Format::ALL {
        let text = written(&recording, format);
        assert!(!text.contains("%28module"), "{format}: {text}");
        let (again, _) = read(&bytes(&recording, format), None, None).unwrap();
        assert_eq!(itself(&again), itself(&recording), "{format}");
    }
}

#[test]
fn a_native_function_has_no_line() {
    let recording = recording("node-26.10-native.cpuprofile", Format::Cpuprofile);
    assert_eq!(lines_of(&recording, "rss"), BTreeMap::from([((0, 0), 98)]));
    assert_eq!(lines_of(&recording, ""), BTreeMap::from([((5, 0), 2)]));
    let text = line_report(&recording, 10);
    assert!(text.contains("nat.js:5") && !text.contains("rss"), "{text}");
}

#[test]
fn half_a_character_costs_itself_alone() {
    let recording = recording("surrogate.cpuprofile", Format::Cpuprofile);
    assert_eq!(
        itself(&recording),
        expected([("\u{fffd}", 1, 1), ("plain", 4, 2)])
    );
    for format in [Format::Firefox, Format::Speedscope, Format::Trace] {
        let (named, _) = read_text("abc (https://a.test/a.js:1:1) 3\n");
        let text = written(&named, format).replace("abc", r"\ud83d");
        let (again, _) = read(text.as_bytes(), None, None).unwrap();
        assert_eq!(itself(&again), expected([("\u{fffd}", 1, 3)]), "{format}");
    }
}

#[test]
fn files_that_are_no_profiles_are_named() {
    for (text, what) in [
        (
            r#"{"snapshot":{"meta":{}},"nodes":[],"edges":[],"samples":[],"strings":[]}"#,
            "a heap snapshot of V8",
        ),
        (
            r#"{"head":{"callFrame":{}},"samples":[]}"#,
            "a sampling heap profile of V8",
        ),
        (
            r#"{"version":3,"sources":[],"names":[],"mappings":""}"#,
            "a source map",
        ),
        (
            r#"{"code":[],"functions":[],"ticks":[]}"#,
            "V8's log of --prof",
        ),
        ("v8-version,11,3,244,8,-node.30,0\n", "V8's log of --prof"),
        ("PERFILE2xxxx", "the data of Linux's perf"),
        (
            "node 12 1.5: 250000 cpu-clock:u: \n\t    7f18ed24524a main (/usr/bin/node)\n",
            "the output of `perf script`",
        ),
        ("# callgrind format\nversion: 1\n", "a profile of Callgrind"),
        ("<svg width=\"1200\">", "a picture"),
    ] {
        for name in ["a.json", "a.cpuprofile", "a.folded"] {
            let error = read(text.as_bytes(), Some(name.as_ref()), None).unwrap_err();
            let message = error.to_string();
            assert!(
                message.contains(&format!("no profile of time: {what}")),
                "{message}"
            );
        }
    }
    let trace = r#"[{"name":"f","ph":"B","pid":1,"tid":1,"ts":0}]"#;
    let error = read(trace.as_bytes(), None, None).unwrap_err().to_string();
    assert!(
        error.starts_with("a trace without samples of JavaScript"),
        "{error}"
    );
}

#[test]
fn binary_files_of_the_firefox_profiler_are_named() {
    // A table of one part, which is JSON: its kind, where it begins, and its length.
    let numbers = [1, 1, 0, 10, 32, 2].map(u32::to_le_bytes).concat();
    let jslb = [b"\xdc\xdfJSLB\x01\0", &*numbers, b"{}"].concat();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&jslb).unwrap();
    for content in [jslb, packed.finish().unwrap()] {
        for name in ["a.jslb", "a.json", "a.firefox.json.gz", "a.folded"] {
            let error = read(&content, Some(name.as_ref()), None).unwrap_err();
            let message = error.to_string();
            let what =
                "no profile of time: a profile of the Firefox Profiler in its binary form (.jslb)";
            assert!(message.contains(what), "{name}: {message}");
        }
    }
}

#[test]
fn counts_may_have_fractions() {
    let (recording, notices) = read_text("main;load 30.5\nmain;draw 60.25\nmain 10\n");
    assert_eq!(notices, [""; 0]);
    assert_eq!(
        itself(&recording),
        expected([("draw", 0, 6_025), ("load", 0, 3_050), ("main", 0, 1_000)])
    );
    assert_eq!(recording.interval, 0.01);
    let (recording, _) = read_text("f 2.0\ng 3.\n");
    assert_eq!(itself(&recording), expected([("f", 0, 2), ("g", 0, 3)]));
    assert_eq!(recording.interval, 1.);
    let (recording, _) = read_text("f 0.00000001\ng 0.0\n");
    assert_eq!(itself(&recording), expected([("f", 0, 1)]));
}

#[test]
fn the_second_of_two_counts_is_read_and_told() {
    let (recording, notices) = read_text("main;load 31 33\nmain;draw 0 5\nmain;gone 9 0\n");
    assert_eq!(
        itself(&recording),
        expected([("draw", 0, 5), ("load", 0, 33)])
    );
    assert_eq!(notices.len(), 1);
    assert!(notices[0].contains("two counts"), "{notices:?}");
    // Names may end in a number.
    for text in [
        "Web Content 2;Array.sort 2 10\nmain 3\n",
        "f 1 10\n",
        "f 1 10\ng 1 5\n",
    ] {
        let (recording, notices) = read_text(text);
        assert_eq!(written(&recording, Format::Collapsed), text);
        assert_eq!(notices, [""; 0], "{text}");
    }
    let (recording, notices) = read_text("worker 1 10\nworker 2 5\n");
    assert_eq!(
        itself(&recording),
        expected([("worker 1", 0, 10), ("worker 2", 0, 5)])
    );
    assert_eq!(notices, [""; 0]);
    // If all do, ours say so.
    let (recording, _) = read_text("f 1 () 10\ng 2 () 5\n");
    assert_eq!(
        itself(&recording),
        expected([("f 1", 0, 10), ("g 2", 0, 5)])
    );
    assert_eq!(
        written(&recording, Format::Collapsed),
        "f 1 () 10\ng 2 () 5\n"
    );
}

#[test]
fn counts_may_be_times() {
    let read_as = |text: &str, unit| {
        let options = ReadOptions {
            unit,
            ..ReadOptions::default()
        };
        read_with(text.as_bytes(), Some("a.folded".as_ref()), options).unwrap()
    };
    // Samples at 99 Hz, as perf counts them.
    let periods = "f;g 101010100\nf 20202020\nh 30303030\n";
    for unit in [None, Some(Unit::Nanoseconds)] {
        let (recording, _, notices) = read_as(periods, unit);
        assert_eq!(
            itself(&recording),
            expected([("f", 0, 2), ("g", 0, 10), ("h", 0, 3)])
        );
        assert!((recording.interval - 10.10101).abs() < 1e-9);
        assert_eq!(notices.len(), usize::from(unit.is_none()), "{notices:?}");
    }
    let (_, _, notices) = read_as(periods, None);
    let notice = notices[0].to_string();
    assert!(
        notice.starts_with("a.folded: the counts are taken for nanoseconds"),
        "{notice}"
    );
    let (recording, _, notices) = read_as(periods, Some(Unit::Samples));
    assert_eq!(
        itself(&recording),
        expected([
            ("f", 0, 20_202_020),
            ("g", 0, 101_010_100),
            ("h", 0, 30_303_030)
        ])
    );
    assert!(notices.is_empty());
    // Times that have no period: a millionth of all is one sample.
    let (recording, ..) = read_as("f 999999999\ng 1000000000\nh 1\n", Some(Unit::Nanoseconds));
    assert_eq!(
        itself(&recording),
        expected([("f", 0, 500_000), ("g", 0, 500_000), ("h", 0, 1)])
    );
    assert!((recording.interval - 0.002).abs() < 1e-6);
    let (recording, ..) = read_as("f 3\ng 6\n", Some(Unit::Milliseconds));
    assert_eq!(itself(&recording), expected([("f", 0, 1), ("g", 0, 2)]));
    assert_eq!(recording.interval, 3.);
    let (recording, ..) = read_as("f 300\ng 600\n", Some(Unit::Microseconds));
    assert!((recording.interval - 0.3).abs() < 1e-9);
    // Large counts of samples alone are no reason.
    let (_, _, notices) = read_as("f 9007199254740\n", None);
    assert!(notices.is_empty());
}

#[test]
fn the_top_level_of_a_built_script_is_anonymous() {
    let folder = folder().join("terser-5.51.4");
    let content = fs::read(folder.join("app.collapsed")).unwrap();
    let (mut recording, _) = read(&content, None, None).unwrap();
    assert_eq!(apply_maps(&mut recording, folder), []);
    assert_eq!(
        itself(&recording),
        expected([("", 1, 70), ("first", 1, 30)])
    );
    let text = report(&recording, None, 10);
    assert!(text.contains("(anonymous)  first.js:1:1\n"), "{text}");
    assert!(text.contains("first        first.js:1:"), "{text}");
}

#[test]
fn idle_samples_of_a_trace_are_no_functions() {
    let recording = recording("chromium-156.chrome-trace.json", Format::ChromeTrace);
    let samples = only(&recording).samples();
    let stackless: Vec<_> = samples.iter().filter(|one| one.stack.is_none()).collect();
    assert_eq!(stackless.len(), 1);
    assert_ne!(stackless[0].activity, Some(Activity::Idle));
}

#[test]
fn lines_of_a_built_script_without_columns_are_those_of_its_source() {
    let folder = folder().join("typescript-7.0.2");
    let content = fs::read(folder.join("work.cpuprofile")).unwrap();
    let (mut recording, _) = read(&content, None, None).unwrap();
    assert_eq!(apply_maps(&mut recording, folder), []);
    assert_eq!(itself(&recording), expected([("work", 4, 30)]));
    assert_eq!(lines_of(&recording, "work"), BTreeMap::from([((6, 0), 30)]));
    let text = line_report(&recording, 10);
    assert!(
        text.contains(" 100.0   30.000       30  work.ts:6  work\n"),
        "{text}"
    );
}

/// Files that differ from a sound one in a byte, or end early.
#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn broken_files_of_other_tools_are_read_or_refused() {
    const PLACES: usize = 200;
    for name in [
        "chromium-156.chrome-trace.json",
        "comments.folded",
        "hermes-0.12.0.json",
        "py-spy-0.4.3-raw.folded",
        "py-spy-0.4.3.speedscope.json",
        "speedscope-1.25.0-export.speedscope.json",
        "surrogate.cpuprofile",
    ] {
        let sound = content(name);
        let (_, format) = read(&sound, None, None).unwrap();
        for at in (0..sound.len()).step_by(sound.len() / PLACES + 1) {
            _ = read(&sound[..at], None, Some(format));
            for byte in *b"09-}]\"#\\" {
                let mut broken = sound.clone();
                broken[at] = byte;
                match read(&broken, None, Some(format)) {
                    Err(error) => assert!(!error.to_string().is_empty()),
                    Ok((recording, _)) => {
                        for format in Format::ALL {
                            _ = format.write(&recording, std::io::sink());
                        }
                    },
                }
            }
        }
    }
}
