/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What samples of other tools' files are worth, in every format and in the report.

mod random_recording;

use std::collections::BTreeMap;
use std::path::Path;

use profile_formats::{
    By, EventLoop, Format, Recording, Totals, line_report, read, report, report_by,
};

use self::random_recording::timed_recording;

const RECORDINGS: u64 = if cfg!(miri) { 1 } else { 60 };

/// Formats that hold what samples are worth.
/// `pprof`, which has sums of samples, is tested in pprof.rs.
const TIMED: [Format; 4] = [
    Format::Html,
    Format::Firefox,
    Format::Speedscope,
    Format::Cpuprofile,
];

const MICROSECOND: u128 = 1_000;
const MILLISECOND: u128 = 1_000_000;

fn case(name: &str) -> Recording {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cases")
        .join(name);
    read(&std::fs::read(&file).unwrap(), Some(&file), None)
        .unwrap()
        .0
}

fn bytes(recording: &Recording, format: Format) -> Vec<u8> {
    let mut text = Vec::new();
    format.write(recording, &mut text).unwrap();
    text
}

fn text(recording: &Recording, format: Format) -> String {
    String::from_utf8(bytes(recording, format)).unwrap()
}

fn convert(recording: &Recording, format: Format) -> Recording {
    let text = bytes(recording, format);
    let read = read(&text, None, Some(format));
    read.unwrap_or_else(|error| panic!("{format}: {error}\n{}", String::from_utf8_lossy(&text)))
        .0
}

/// The samples of each function by itself, and what they are worth in nanoseconds.
/// Of all functions of a name together: their samples, and what these are worth.
fn itself(recording: &Recording) -> BTreeMap<String, (u64, u128)> {
    let mut of_names = BTreeMap::<_, (u64, u128)>::new();
    for (function, one) in Totals::of(recording).functions {
        let (samples, time) = of_names.entry(function.name.to_owned()).or_default();
        *samples += one.itself;
        *time += one.time_itself;
    }
    of_names
}

fn milliseconds(recording: &Recording) -> Vec<(String, f64)> {
    let functions = itself(recording).into_iter();
    functions
        .map(|(name, (_, time))| (name, time as f64 / MILLISECOND as f64))
        .collect()
}

fn named(expected: &[(&str, f64)]) -> Vec<(String, f64)> {
    let expected = expected.iter();
    expected
        .map(|(name, time)| ((*name).to_owned(), *time))
        .collect()
}

/// A `.cpuprofile` of functions by their names, each with an id from 2 on, and what is behind the nodes.
fn cpuprofile(functions: &[&str], rest: &str) -> String {
    let ids: Vec<_> = (2..functions.len() + 2).map(|id| id.to_string()).collect();
    let nodes = functions
        .iter()
        .zip(&ids)
        .map(|(name, id)| format!(r#",{{"id":{id},"callFrame":{{"functionName":"{name}"}}}}"#));
    let nodes: String = nodes.collect();
    let children = ids.join(",");
    format!(
        r#"{{"nodes":[{{"id":1,"callFrame":{{"functionName":"(root)"}},"children":[{children}]}}{nodes}],{rest}}}"#
    )
}

fn of_cpuprofile(functions: &[&str], rest: &str) -> Recording {
    let text = cpuprofile(functions, rest);
    let read = read(text.as_bytes(), None, None);
    read.unwrap_or_else(|error| panic!("{error}: {text}")).0
}

#[test]
fn a_sample_of_v8_is_worth_the_time_until_the_next_one() {
    let recording = case("time-is-in-deltas.cpuprofile");
    let expected = named(&[("a", 10.), ("b", 50.), ("c", 10.)]);
    assert_eq!(milliseconds(&recording), expected);
    assert_eq!(recording.interval, 1.);
    for format in TIMED {
        let read = convert(&recording, format);
        assert_eq!(milliseconds(&read), expected, "{format}");
        assert_eq!(itself(&read), itself(&recording), "{format}");
        let text = report(&read, None, 3);
        assert!(
            text.starts_with(
                "30 samples at an interval of 1 ms, worth 70.000 ms; 30 with a stack, worth 70.000 ms\n"
            ),
            "{format}: {text}"
        );
        let lines: Vec<_> = text.lines().collect();
        let head = lines
            .iter()
            .position(|line| line.starts_with("self %"))
            .unwrap();
        assert_eq!(
            lines[head..head + 5],
            [
                "self %  total %  self ms  total ms  samples  function  defined at",
                "  71.4     71.4   50.000    50.000       10  b         app.js:10:1",
                "  14.3     14.3   10.000    10.000       10  a         app.js:1:1",
                "  14.3     14.3   10.000    10.000       10  c         app.js:20:1",
                "% of the time with a stack",
            ],
            "{format}"
        );
    }
    assert_eq!(
        text(&recording, Format::Collapsed),
        "a (https://a.test/app.js:1:1) 10000\n\
         b (https://a.test/app.js:10:1) 50000\n\
         c (https://a.test/app.js:20:1) 10000\n"
    );
}

/// V8 adds an entry where it deoptimises a function, shortly before or after a sample.
#[test]
fn an_entry_between_two_samples_adds_no_time() {
    let recording = of_cpuprofile(
        &["f", "g"],
        r#""startTime":0,"endTime":4000,"samples":[2,2,3,2,2],"timeDeltas":[1000,10,990,5,1000]"#,
    );
    assert_eq!(
        itself(&recording),
        BTreeMap::from([
            ("f".to_owned(), (4, 2_995 * MICROSECOND)),
            ("g".to_owned(), (1, 5 * MICROSECOND)),
        ])
    );
}

/// Node.js 26 has dozens of them for each hit of some functions.
#[test]
fn an_entry_that_is_no_hit_belongs_to_the_hit_beside_it() {
    let text = cpuprofile(
        &["f", "g"],
        r#""startTime":0,"endTime":4000,"samples":[2,2,2,3,2,2],"timeDeltas":[995,5,990,10,5,995]"#,
    );
    let ticks = r#""id":2,"hitCount":3,"positionTicks":[{"line":7,"ticks":3}],"#;
    let text = text
        .replace(r#""id":2,"#, ticks)
        .replace(r#""id":3,"#, r#""id":3,"hitCount":0,"#);
    let (recording, _) = read(text.as_bytes(), None, None).unwrap();
    assert_eq!(
        itself(&recording),
        BTreeMap::from([
            ("f".to_owned(), (3, 3_000 * MICROSECOND)),
            ("g".to_owned(), (1, 5 * MICROSECOND)),
        ])
    );
    // Without its own entries, the interval would be that between these.
    assert_eq!(recording.interval, 0.995);
    let lines = line_report(&recording, 5);
    assert!(
        lines.contains("\n  99.8    3.000        3  (no source):7  f\n"),
        "{lines}"
    );
}

#[test]
fn a_file_without_an_end_ends_an_interval_after_the_last_sample() {
    let samples = r#""samples":[2,2,2],"timeDeltas":[500,1000,1000]"#;
    for (end, time) in [
        ("", 3.),
        (r#","endTime":2500"#, 2.),
        (r#","endTime":9500"#, 9.),
        // Before the last sample.
        (r#","endTime":2499"#, 3.),
        (r#","endTime":-1e308"#, 3.),
    ] {
        let recording = of_cpuprofile(&["f"], &format!("{samples}{end}"));
        assert_eq!(milliseconds(&recording), named(&[("f", time)]), "{end}");
    }
}

#[test]
fn a_pause_is_no_time_of_a_sample_but_a_late_sample_is() {
    let samples = |after: u32| {
        format!(
            r#""startTime":0,"endTime":{},"samples":[2,2,3,2],"timeDeltas":[0,1000,1000,{after}]"#,
            3_000 + after
        )
    };
    let of = |functions: &[&str], after| {
        let recording = of_cpuprofile(functions, &samples(after));
        milliseconds(&recording)
    };
    // 20 intervals at most.
    assert_eq!(of(&["f", "g"], 15_000), named(&[("f", 3.), ("g", 15.)]));
    assert_eq!(of(&["f", "g"], 500_000), named(&[("f", 3.), ("g", 20.)]));
    // An engine that takes samples while it is idle has no pauses.
    let idle = r#""startTime":0,"endTime":502000,"samples":[2,4,3],"timeDeltas":[0,1000,500000]"#;
    let recording = of_cpuprofile(&["f", "g", "(idle)"], idle);
    assert_eq!(milliseconds(&recording), named(&[("f", 1.), ("g", 1.)]));
    let late = r#""startTime":0,"endTime":502000,"samples":[2,3,4],"timeDeltas":[0,1000,500000]"#;
    let recording = of_cpuprofile(&["f", "g", "(idle)"], late);
    assert_eq!(milliseconds(&recording), named(&[("f", 1.), ("g", 500.)]));
    // Idle samples at the start say nothing, as those of workerd.
    let start = r#""startTime":0,"endTime":502000,"samples":[4,2,3],"timeDeltas":[0,1000,1000]"#;
    let recording = of_cpuprofile(&["f", "g", "(idle)"], start);
    assert_eq!(milliseconds(&recording), named(&[("f", 1.), ("g", 20.)]));
}

#[test]
fn what_is_behind_a_pause_stays_apart_in_every_format() {
    let pause =
        r#""startTime":0,"endTime":503000,"samples":[2,2,3,2],"timeDeltas":[0,1000,1000,500000]"#;
    let recording = of_cpuprofile(&["f", "g"], pause);
    for one in TIMED {
        for other in TIMED {
            let read = convert(&convert(&recording, one), other);
            assert_eq!(itself(&read), itself(&recording), "{one} to {other}");
        }
    }
    // Other tools see the pause as idle time, and Strobe as no sample.
    let text = text(&recording, Format::Cpuprofile);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        value["timeDeltas"],
        serde_json::json!([0, 1000, 1000, 20000, 480000])
    );
    let node = value["nodes"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&node["callFrame"]["functionName"], &node["hitCount"]),
        (&"(idle)".into(), &0.into())
    );
}

/// Of the files that tools wrote, by their names and versions.
const REAL: [&str; 4] = [
    "bun-1.4.5.cpuprofile",
    "chromium-156.0.8078.108.cpuprofile",
    "node-20.20.2.cpuprofile",
    "node-26.12.1.cpuprofile",
];

/// The time of each function by itself in microseconds, and that of all entries, from the numbers in a file alone.
fn from_raw(name: &str) -> (BTreeMap<String, f64>, f64) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cases")
        .join(name);
    let value: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let array = |name: &str| value[name].as_array().unwrap();
    let mut clock = value["startTime"].as_f64().unwrap();
    let mut entries: Vec<(f64, u64)> = Vec::new();
    for (id, delta) in array("samples").iter().zip(array("timeDeltas")) {
        clock += delta.as_f64().unwrap();
        entries.push((clock, id.as_u64().unwrap()));
    }
    entries.sort_by(|a, b| a.0.total_cmp(&b.0));
    let end = value["endTime"].as_f64().unwrap();
    let mut times = BTreeMap::new();
    for (index, (time, id)) in entries.iter().enumerate() {
        let next = entries.get(index + 1).map_or(end, |next| next.0);
        let node = array("nodes").iter().find(|node| node["id"] == *id);
        let name = node.unwrap()["callFrame"]["functionName"].as_str();
        *times.entry(name.unwrap().to_owned()).or_default() += next - time;
    }
    (times, end - entries[0].0)
}

#[test]
fn real_files_have_the_times_that_their_numbers_say() {
    for name in REAL {
        let recording = case(name);
        let (raw, all) = from_raw(name);
        let near = |nanoseconds: u128, microseconds: f64, entries: u64, what: &str| {
            let difference = (nanoseconds as f64 / MICROSECOND as f64 - microseconds).abs();
            assert!(
                difference <= 0.01 * entries as f64,
                "{name}: {what}: {difference} µs"
            );
        };
        let entries = Totals::of(&recording).samples;
        near(worth(&recording), all, entries, "all");
        for format in [None].into_iter().chain(TIMED.map(Some)) {
            let read = match format {
                None => recording.clone(),
                Some(format) => convert(&recording, format),
            };
            for (function, (samples, time)) in itself(&read) {
                // Each time of a `.cpuprofile` is rounded on its own. Those of Bun have fractions.
                let entries = match format {
                    Some(Format::Cpuprofile) if name.starts_with("bun") => 100 * samples,
                    _ => entries,
                };
                near(
                    time,
                    // It may be no leaf.
                    raw.get(&function).copied().unwrap_or_default(),
                    entries,
                    &format!("{function} {format:?}"),
                );
            }
        }
    }
}

/// Chromium and Node.js write several hundred entries that are no hits.
#[test]
fn samples_of_real_files_are_about_their_hits() {
    for name in REAL {
        let recording = case(name);
        let samples = Totals::of(&recording).samples;
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/cases")
            .join(name);
        let value: serde_json::Value =
            serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let nodes = value["nodes"].as_array().unwrap().iter();
        let hits: u64 = nodes.map(|node| node["hitCount"].as_u64().unwrap()).sum();
        let entries = value["samples"].as_array().unwrap().len() as u64;
        assert!(
            (hits..=hits + 10).contains(&samples) && samples <= entries,
            "{name}: {samples} samples, {hits} hits, {entries} entries"
        );
        assert!(recording.interval > 0.5, "{name}: {}", recording.interval);
    }
}

#[test]
fn times_that_go_back_are_put_in_order_first() {
    let recording = of_cpuprofile(
        &["f", "g"],
        r#""startTime":0,"endTime":7000,"samples":[2,3,2],"timeDeltas":[1000,5000,-2000]"#,
    );
    // At 1, 4 and 6 ms.
    assert_eq!(milliseconds(&recording), named(&[("f", 5.), ("g", 1.)]));
}

#[test]
fn hits_share_the_time_of_the_file() {
    let text = cpuprofile(&["f", "g"], r#""startTime":1000,"endTime":31000"#)
        .replace(r#""id":2,"#, r#""id":2,"hitCount":2,"#)
        .replace(r#""id":3,"#, r#""id":3,"hitCount":1,"#);
    let (recording, _) = read(text.as_bytes(), None, None).unwrap();
    assert_eq!(recording.interval, 10.);
    assert!(recording.event_loops().all(|one| !one.is_timed()));
    for end in ["1000", "-5", "1e308"] {
        let text = text.replace("31000", end);
        let (recording, _) = read(text.as_bytes(), None, None).unwrap();
        assert_eq!(recording.interval, 1., "{end}");
    }
}

#[test]
fn hostile_times_are_refused_or_read_with_whole_tables() {
    for (rest, problem) in [
        (
            r#""samples":[2],"timeDeltas":[1e308]"#,
            Some("is not between"),
        ),
        (
            r#""startTime":1e308,"samples":[2,2],"timeDeltas":[1e308,-1e308]"#,
            Some("is not between"),
        ),
        (
            r#""startTime":1e308,"samples":[2],"timeDeltas":[-1e308]"#,
            None,
        ),
        (
            r#""samples":[2,2],"timeDeltas":[5,-6]"#,
            Some("is not between"),
        ),
        (
            r#""samples":[2],"timeDeltas":[1e999]"#,
            Some("out of range"),
        ),
        (r#""samples":[2],"timeDeltas":[null]"#, Some("f64")),
        (
            r#""samples":[2],"timeDeltas":[1,2]"#,
            Some("2 of 1 samples"),
        ),
        (r#""samples":[2]"#, Some("no timeDeltas")),
        (
            r#""endTime":1e308,"samples":[2,2],"timeDeltas":[1,1]"#,
            None,
        ),
        (
            r#""samples":[2],"timeDeltas":[1],"sampleInterval":0"#,
            Some("sampleInterval"),
        ),
        (
            r#""samples":[2,2],"timeDeltas":[0,1e-300],"endTime":1e-300"#,
            None,
        ),
    ] {
        let text = cpuprofile(&["f"], rest);
        match (read(text.as_bytes(), None, None), problem) {
            (Err(error), Some(problem)) => {
                assert!(error.to_string().contains(problem), "{rest}: {error}");
            },
            (Ok((recording, _)), None) => {
                for format in Format::ALL {
                    convert(&recording, format);
                }
                assert!(recording.interval.is_finite(), "{rest}");
            },
            (Ok(_), Some(_)) => panic!("{rest}: read"),
            (Err(error), None) => panic!("{rest}: {error}"),
        }
    }
    // An entry that is no sample has a time all the same.
    let text = cpuprofile(&["f", "g"], r#""samples":[2,3],"timeDeltas":[1,1e308]"#);
    let text = text.replace(r#""id":3,"#, r#""id":3,"noSamples":true,"#);
    let error = read(text.as_bytes(), None, None).unwrap_err();
    assert!(error.to_string().contains("is not between"), "{error}");
}

#[test]
fn the_report_says_what_samples_without_a_stack_were() {
    let recording = case("garbage-collection.cpuprofile");
    let text = report(&recording, None, 5);
    assert!(
        text.starts_with(
            "100 samples at an interval of 1 ms, worth 100.000 ms; 64 with a stack, worth 64.000 ms\n"
        ),
        "{text}"
    );
    assert!(
        text.contains(
            "\n\
            all %      ms  samples  without a stack\n \
            31.0  31.000       31  garbage collection\n  \
            5.0   5.000        5  program\n"
        ),
        "{text}"
    );
    // Their names come back.
    for format in TIMED {
        let read = convert(&recording, format);
        assert_eq!(report(&read, None, 5), text, "{format}");
    }
    assert!(self::text(&recording, Format::Cpuprofile).contains(r#""functionName":"(program)""#));
}

#[test]
fn numbers_have_three_decimals_at_most() {
    let recording = case("seconds.speedscope.json");
    let text = report(&recording, None, 5);
    assert!(
        text.starts_with("150 samples at an interval of 10 ms, worth "),
        "{text}"
    );
    let itself = itself(&recording);
    let samples = |name: &str| itself[name].0;
    assert_eq!(
        ["load", "draw", "main"].map(samples),
        [90, 30, 30],
        "{text}"
    );
    for (deltas, interval) in [
        ("[1000.1,1068,1068.00000000001]", "1.068 ms"),
        ("[0,0.1,0.1]", "100 ns"),
        ("[0,1000000,1000000]", "1000 ms"),
    ] {
        let rest = format!(r#""samples":[2,2,2],"timeDeltas":{deltas}"#);
        let text = report(&of_cpuprofile(&["f"], &rest), None, 5);
        let expected = format!("3 samples at an interval of {interval}, worth ");
        assert!(text.starts_with(&expected), "{deltas}: {text}");
    }
}

#[test]
fn a_recording_whose_samples_are_worth_the_same_is_reported_by_samples() {
    let (recording, _) = read(b"a;b 3\na 1\n(idle) 4\n(gc) 1\n", None, None).unwrap();
    let text = report(&recording, None, 5);
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        [
            "9 samples at an interval of 1 ms; 4 with a stack",
            "",
            "samples  event loop",
            "      9",
            "",
            "all %  samples  without a stack",
            " 44.4        4  idle",
            " 11.1        1  garbage collection",
            "",
            "self %  total %  self  total  function  defined at",
            "  75.0     75.0     3      3  b         (built-in)",
            "  25.0    100.0     1      4  a         (built-in)",
            "% of the samples with a stack",
            "",
        ]
    );
}

#[test]
fn lines_are_reported_by_time_too() {
    let text = cpuprofile(
        &["f"],
        r#""startTime":0,"endTime":9000,"samples":[2,2],"timeDeltas":[0,8000]"#,
    );
    let ticks = r#""id":2,"positionTicks":[{"line":7,"ticks":1},{"line":8,"ticks":1}],"#;
    let text = text.replace(r#""id":2,"#, ticks);
    let (recording, _) = read(text.as_bytes(), None, None).unwrap();
    assert_eq!(
        line_report(&recording, 5).lines().collect::<Vec<_>>(),
        [
            "self %  self ms  samples  line           function",
            "  88.9    8.000        1  (no source):7  f",
            "  11.1    1.000        1  (no source):8  f",
            "% of the time with a stack",
            "",
        ]
    );
}

fn with_urls(urls: &[&str], rest: &str) -> Recording {
    let mut text = cpuprofile(&vec!["f"; urls.len()], rest);
    for (index, url) in urls.iter().enumerate() {
        let id = format!(r#""id":{},"callFrame":{{"#, index + 2);
        text = text.replace(&id, &format!(r#"{id}"url":"{url}","#));
    }
    read(text.as_bytes(), None, None).unwrap().0
}

#[test]
fn files_and_packages_are_reported_in_the_place_of_functions() {
    let urls = [
        "file:///app/node_modules/a/index.js",
        "file:///app/node_modules/a/lib/b.js",
        "file:///app/node_modules/a/node_modules/@scope/c/d.js",
        "webpack://app/./node_modules/.pnpm/e@1.0.0/node_modules/e/f.js",
        "node:fs",
        "file:///app/my_node_modules/g.js",
        "C:\\\\app\\\\node_modules\\\\h\\\\i.js",
    ];
    let recording = with_urls(
        &urls,
        r#""startTime":0,"endTime":8000,"samples":[2,3,4,5,6,7,8,2],"timeDeltas":[0,1000,1000,1000,1000,1000,1000,1000]"#,
    );
    let files = [("a.cpuprofile".to_owned(), recording)];
    let rows = |by, top| {
        let text = report_by(&files, by, top);
        let mut lines = text.lines().skip_while(|line| !line.starts_with("self %"));
        let head = lines.next().unwrap().to_owned();
        let rows: Vec<_> = lines
            .map(|line| {
                line.split_whitespace()
                    .skip(2)
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        (head, rows)
    };
    let (head, packages) = rows(By::Package, 10);
    assert!(head.ends_with("samples  package"), "{head}");
    assert_eq!(
        packages,
        [
            "3.000 3.000 3 a",
            "1.000 1.000 1 (Node.js)",
            "1.000 1.000 1 (in no package)",
            "1.000 1.000 1 @scope/c",
            "1.000 1.000 1 e",
            "1.000 1.000 1 h",
            "the time with a stack",
            "",
        ]
    );
    let (head, rows) = rows(By::File, 1);
    assert!(head.ends_with("samples  file"), "{head}");
    assert_eq!(
        rows,
        [
            "2.000 2.000 2 file:///app/node_modules/a/index.js",
            "the time with a stack; 6 more files are not listed",
            "",
        ]
    );
}

/// A file that calls itself by way of another one counts once in a sample.
#[test]
fn a_package_has_each_sample_once_in_its_total() {
    let text = "f (/node_modules/a/1.js);g (/node_modules/b/1.js);h (/node_modules/a/2.js) 4\n";
    let (recording, _) = read(text.as_bytes(), None, None).unwrap();
    let report = report_by(&[(String::new(), recording)], By::Package, 5);
    assert!(
        report.contains("\n 100.0    100.0     4      4  a\n   0.0    100.0     0      4  b\n"),
        "{report}"
    );
}

/// Node.js writes a file for each thread. Their intervals differ.
#[test]
fn several_files_are_added_up_by_time() {
    let file = |name: &str, deltas: &str, end: u32| {
        let rest = format!(r#""endTime":{end},"samples":[2,3],"timeDeltas":{deltas}"#);
        (name.to_owned(), of_cpuprofile(&["f", name], &rest))
    };
    let files = [
        file("main", "[0,1000]", 2_000),
        file("worker", "[0,3000]", 9_000),
    ];
    let text = report_by(&files, By::Function, 5);
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        [
            "4 samples at intervals of 1 ms to 3 ms, worth 11.000 ms; 4 with a stack, worth 11.000 ms",
            "",
            "samples     ms  event loop",
            "      2  2.000  main",
            "      2  9.000  worker",
            "",
            "self %  total %  self ms  total ms  samples  function  defined at",
            "  54.5     54.5    6.000     6.000        1  worker    (built-in)",
            "  36.4     36.4    4.000     4.000        2  f         (built-in)",
            "   9.1      9.1    1.000     1.000        1  main      (built-in)",
            "% of the time with a stack",
            "",
        ]
    );
    // Files of counts have the same interval, so samples are added up.
    let counts = ["f 2\n", "f 1\n"].map(|text| {
        let (recording, _) = read(text.as_bytes(), None, None).unwrap();
        ("counts".to_owned(), recording)
    });
    let text = report_by(&counts, By::Function, 5);
    assert!(
        text.contains("\n 100.0    100.0     3      3  f "),
        "{text}"
    );
}

/// Samples of Firefox are worth the time until the next one, those of samply their weights.
#[test]
fn weights_of_the_firefox_profiler_count() {
    let firefox = |samples: &str| {
        let text = format!(
            r#"{{"meta":{{"preprocessedProfileVersion":55,"interval":1}},"threads":[{{"samples":{{{samples}}},"stackTable":{{"prefix":[null,null],"frame":[0,1]}},"frameTable":{{"func":[0,1]}},"funcTable":{{"name":[0,1],"isJS":[true,true]}},"stringArray":["f","g"]}}]}}"#
        );
        let read = read(text.as_bytes(), None, None);
        read.unwrap_or_else(|error| panic!("{error}: {text}")).0
    };
    let stacks = r#""stack":[0,0,1,0],"time":[5,6,9.5,10]"#;
    let recording = firefox(stacks);
    assert_eq!(milliseconds(&recording), named(&[("f", 5.5), ("g", 0.5)]));
    let recording = firefox(&format!(
        r#"{stacks},"weight":[2,0,3,1],"weightType":"samples""#
    ));
    assert!(recording.event_loops().all(|one| !one.is_timed()));
    assert_eq!(
        itself(&recording),
        BTreeMap::from([("f".to_owned(), (3, 0)), ("g".to_owned(), (3, 0))])
    );
    let recording = firefox(&format!(
        r#"{stacks},"weight":[0.25,0,3.5,1],"weightType":"tracing-ms""#
    ));
    assert_eq!(milliseconds(&recording), named(&[("f", 1.25), ("g", 3.5)]));
    assert_eq!(Totals::of(&recording).samples, 4);
}

#[test]
fn our_own_recordings_keep_an_interval_for_each_sample() {
    for seed in 0..RECORDINGS {
        let recording = random_recording::recording(seed, 1);
        for format in Format::ALL {
            let read = convert(&recording, format);
            // A trace says only when samples were taken.
            assert!(
                !read.event_loops().any(EventLoop::is_timed),
                "{seed} {format}"
            );
            if TIMED.contains(&format) {
                let difference = (read.interval - recording.interval).abs();
                assert!(difference < 1e-6, "{seed} {format}: {}", read.interval);
            }
        }
    }
}

fn worth(recording: &Recording) -> u128 {
    Totals::of(recording).time
}

#[test]
fn every_pair_of_formats_with_times_keeps_what_each_function_is_worth() {
    for seed in 0..RECORDINGS {
        let recording = timed_recording(seed, 1);
        for one in TIMED {
            let first = convert(&recording, one);
            assert_eq!(itself(&first), itself(&recording), "seed {seed}, {one}");
            assert_eq!(worth(&first), worth(&recording), "seed {seed}, {one}");
            for other in TIMED {
                let second = convert(&first, other);
                let how = format!("seed {seed}, {one} to {other}");
                assert_eq!(itself(&second), itself(&recording), "{how}");
                assert_eq!(worth(&second), worth(&recording), "{how}");
            }
        }
    }
}

#[test]
fn formats_of_several_event_loops_keep_what_each_of_them_is_worth() {
    for seed in 0..RECORDINGS {
        let recording = timed_recording(seed, 1 + seed as usize % 4);
        for format in TIMED {
            if !format.holds_one_event_loop() {
                let read = convert(&recording, format);
                assert_eq!(itself(&read), itself(&recording), "seed {seed}, {format}");
                assert_eq!(worth(&read), worth(&recording), "seed {seed}, {format}");
            }
        }
    }
}

/// Where nothing is cut, all samples together are worth the time from the first one to the end.
#[test]
fn the_sum_of_all_samples_is_the_time_of_the_file() {
    for seed in 0..RECORDINGS {
        let recording = timed_recording(seed, 1);
        let text = text(&recording, Format::Cpuprofile);
        let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
        // What is between samples is idle to other tools.
        for node in value["nodes"].as_array_mut().unwrap() {
            node.as_object_mut().unwrap().remove("noSamples");
        }
        assert_eq!(value["hasPauses"], false);
        let (read, _) = read(value.to_string().as_bytes(), None, None).unwrap();
        let number = |name: &str| value[name].as_u64().unwrap();
        let time = number("endTime") - number("startTime");
        assert_eq!(worth(&read), u128::from(time) * MICROSECOND, "seed {seed}");
    }
}
