/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Many profiles become one: every function keeps its time, whoever sent it and however it came.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use profile_formats::{Format, Recording, Totals, read};
use profile_sets::{
    Condition, Counts, Input, Inputs, Labels, Merge, NamePattern, Options, Outcome,
};
use tempfile::TempDir;

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }
}

/// What a merge gives.
struct Merged {
    recording: Recording,
    counts: Counts,
    outcome: Outcome,
    warnings: Vec<String>,
}

impl Merged {
    /// The self time of each function in microseconds, by its name and place.
    fn times(&self) -> BTreeMap<String, u128> {
        let totals = Totals::of(&self.recording).functions.into_iter();
        let times = totals.map(|(function, totals)| {
            let place = function
                .line
                .map_or(String::new(), |line| format!(":{line}"));
            let url = function.resource.unwrap_or("-");
            (
                format!("{} {url}{place}", function.name),
                totals.time_itself / 1_000,
            )
        });
        times.filter(|(_, time)| *time > 0).collect()
    }
}

fn merged_with(paths: &[PathBuf], options: Options, mut merge: Merge) -> Result<Merged, String> {
    let inputs = Inputs {
        inputs: paths.iter().cloned().map(Input::of_argument).collect(),
        options,
    };
    let mut warnings = Vec::new();
    let outcome = inputs.read(
        |profile| merge.add(&profile),
        |line| warnings.push(line.to_owned()),
    )?;
    let (recording, counts) = merge.finish()?;
    Ok(Merged {
        recording,
        counts,
        outcome,
        warnings,
    })
}

fn merged(paths: &[PathBuf]) -> Merged {
    merged_with(paths, Options::default(), Merge::new(None, true, false)).unwrap()
}

/// A trace of functions of one script, each at its line and column, with when each of them was sampled, in milliseconds.
fn trace(url: &str, functions: &[(&str, u32, u32)], samples: &[(f64, usize)]) -> String {
    let frames = functions.iter().map(|(name, line, column)| {
        format!(r#"{{"name":"{name}","resourceId":0,"line":{line},"column":{column}}}"#)
    });
    let stacks = (0..functions.len()).map(|frame| format!(r#"{{"frameId":{frame}}}"#));
    let samples = samples
        .iter()
        .map(|(time, stack)| format!(r#"{{"timestamp":{time},"stackId":{stack}}}"#));
    let list = |items: Vec<String>| items.join(",");
    format!(
        r#"{{"resources":["{url}"],"frames":[{}],"stacks":[{}],"samples":[{}]}}"#,
        list(frames.collect()),
        list(stacks.collect()),
        list(samples.collect())
    )
}

const APP: &str = "https://a.test/app.js";

/// Ten samples, 10 ms apart, of which the first so many are of the first function.
fn ten(url: &str, of_first: usize) -> String {
    let samples: Vec<_> = (0..10)
        .map(|number| (10. * number as f64, usize::from(number >= of_first)))
        .collect();
    trace(url, &[("f", 1, 2), ("g", 3, 4)], &samples)
}

fn envelope(session: &str, rest: &str, trace: &str) -> String {
    format!(r#"{{"v":1,"session":"{session}"{rest},"trace":{trace}}}"#)
}

fn times(expected: &[(&str, u128)]) -> BTreeMap<String, u128> {
    let expected = expected.iter();
    expected
        .map(|(name, time)| ((*name).to_owned(), *time))
        .collect()
}

#[test]
fn files_folders_lines_and_formats_are_added_up() {
    let folder = Folder::new();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    let lines = [envelope("a", "", &ten(APP, 1)), String::new(), ten(APP, 2)].join("\n");
    gzip.write_all(lines.as_bytes()).unwrap();
    let (one, _) = read(ten(APP, 3).as_bytes(), None, None).unwrap();
    let mut pprof = Vec::new();
    Format::Pprof.write(&one, &mut pprof).unwrap();
    folder.write("in/a.ndjson.gz", gzip.finish().unwrap());
    folder.write("in/deep/er/b.trace.json", ten(APP, 4));
    let paths = [
        folder.0.path().join("in"),
        folder.write("c.pb", pprof),
        folder.write("d.folded", "f (https://a.test/app.js:1:2) 7\n"),
    ];
    let merged = merged(&paths);
    assert_eq!(merged.warnings, [""; 0]);
    assert_eq!(
        merged.outcome,
        Outcome {
            profiles: 5,
            skipped: 0
        }
    );
    let expected = [
        ("f https://a.test/app.js:1", 107_000),
        ("g https://a.test/app.js:3", 300_000),
    ];
    assert_eq!(merged.times(), times(&expected));
    assert_eq!(merged.counts.sessions, 5);
}

#[test]
fn a_sample_is_worth_the_time_until_the_next_one() {
    let folder = Folder::new();
    // A burst where Chromium deoptimises a function, and a hole.
    let mut samples: Vec<_> = (0..100)
        .map(|number| (10. * f64::from(number), 0))
        .collect();
    samples.extend((0..700).map(|number| (1_000. + 0.01 * f64::from(number), 1)));
    samples.extend([(1_010., 0), (3_010., 0)]);
    let path = folder.write("a.json", trace(APP, &[("f", 1, 2), ("g", 3, 4)], &samples));
    let expected = [
        // The hole is no more than 100 ms, and the last one an interval.
        ("f https://a.test/app.js:1", 1_110_000),
        ("g https://a.test/app.js:3", 10_000),
    ];
    assert_eq!(merged(&[path]).times(), times(&expected));
}

#[test]
fn pieces_of_a_session_are_joined_and_repeated_ones_dropped() {
    let folder = Folder::new();
    let piece = |from: f64| {
        let samples: Vec<_> = (0..10)
            .map(|number| (from + 10. * f64::from(number), 0))
            .collect();
        trace(APP, &[("f", 1, 2)], &samples)
    };
    let lines = [
        envelope("a", "", &piece(0.)),
        envelope("a", "", &piece(100.)),
        envelope("a", "", &piece(0.)),
        envelope("b", "", &piece(0.)),
    ];
    let merged = merged(&[folder.write("a.ndjson", lines.join("\n"))]);
    assert_eq!(merged.counts.repeated, 1);
    assert_eq!(merged.counts.sessions, 2);
    assert_eq!(merged.counts.beyond_clocks, 0);
    assert_eq!(
        merged.times(),
        times(&[("f https://a.test/app.js:1", 300_000)])
    );
    let names: Vec<_> = merged
        .recording
        .event_loops()
        .map(|one| one.name.clone())
        .collect();
    assert_eq!(names, ["page: 2 sessions, their stacks one after another"]);
}

#[test]
fn a_session_weighs_no_more_than_its_clock_spans() {
    let folder = Folder::new();
    let piece = |name: &str| {
        let samples: Vec<_> = (0..10).map(|number| (10. * f64::from(number), 0)).collect();
        trace(APP, &[(name, 1, 2)], &samples)
    };
    // The same time again and again, with something else each time.
    let lines: Vec<_> = (0..50)
        .map(|number| envelope("a", "", &piece(&format!("f{number}"))))
        .collect();
    let merged = merged(&[folder.write("a.ndjson", lines.join("\n"))]);
    assert_eq!(merged.times().values().sum::<u128>(), 100_000);
    assert_eq!(merged.counts.beyond_clocks, 49 * 100_000_000);
}

#[test]
fn a_bad_input_is_named_and_nothing_else_is_lost() {
    let folder = Folder::new();
    let lines = [
        envelope("a", "", &ten(APP, 10)),
        r#"{"v":1,"trace":{"frames":7}}"#.to_owned(),
        "not JSON".to_owned(),
        envelope("b", "", &ten(APP, 10)),
    ];
    let paths = [
        folder.write("a.ndjson", lines.join("\n")),
        folder.0.path().join("none"),
        folder.write("empty", ""),
        folder.write("c.json", &ten(APP, 10)[..100]),
        folder.write("d.json", ten(APP, 10)),
    ];
    let all = merged(&paths);
    assert_eq!(
        all.outcome,
        Outcome {
            profiles: 3,
            skipped: 5
        }
    );
    assert_eq!(
        all.times(),
        times(&[("f https://a.test/app.js:1", 300_000)])
    );
    for (warning, named) in all.warnings.iter().zip([
        "a.ndjson: line 2: ",
        "a.ndjson: line 3: ",
        "none: No such file",
        "empty: the file is empty",
        "c.json: not JSON",
    ]) {
        assert!(
            warning.contains(named) && warning.ends_with("it is left out"),
            "{warning}"
        );
    }
    let options = Options {
        is_strict: true,
        ..Options::default()
    };
    let error = merged_with(&paths, options, Merge::new(None, true, false))
        .err()
        .unwrap();
    assert!(error.contains("a.ndjson: line 2: "), "{error}");
}

#[test]
fn a_notice_is_told_once_for_all_queries() {
    let folder = Folder::new();
    let maps = folder.write("maps/other.js.map", "{}");
    let profiles = (0..5).map(|number| {
        envelope(
            &format!("s{number}"),
            "",
            &ten(&format!("{APP}?v={number}"), 5),
        )
    });
    let lines: Vec<String> = profiles.collect();
    let path = folder.write("a.ndjson", lines.join("\n"));
    let options = Options {
        source_maps: vec![(None, maps.parent().unwrap().to_owned())],
        ..Options::default()
    };
    let merged = merged_with(&[path], options, Merge::new(None, true, false)).unwrap();
    let [notice, rest] = &*merged.warnings else {
        panic!("{:#?}", merged.warnings);
    };
    assert!(
        notice.contains("no source map of https://a.test/app.js?v=0"),
        "{notice}"
    );
    assert_eq!(rest, "4 more notices like these");
    assert_eq!(merged.outcome.profiles, 5);
}

#[test]
fn labels_come_from_envelopes_names_and_people() {
    let folder = Folder::new();
    let rest = r#","release":"2.1","page":"https://a.test/shop","labels":{"browser":"strobe"}"#;
    folder.write("in/1.0/x.ndjson", envelope("a", rest, &ten(APP, 10)) + "\n");
    folder.write("in/2.0/y.json", ten(APP, 10));
    let mut labels = Labels::default();
    labels.set("team", "shop");
    let options = Options {
        labels,
        names: Some(NamePattern::parse("{release}/*").unwrap()),
        ..Options::default()
    };
    let with = |condition: &str| {
        let condition = Condition::parse(condition).unwrap();
        let merge = Merge::new(Some(condition), true, false);
        merged_with(&[folder.0.path().join("in")], options.clone(), merge).unwrap()
    };
    let sets = |merged: &Merged| -> Vec<Labels> {
        let event_loop = merged.recording.event_loops().next().unwrap();
        let sets = event_loop.label_sets().map(|set| {
            let mut labels = Labels::default();
            for (name, value) in set {
                labels.set(name, value);
            }
            labels
        });
        sets.collect()
    };
    let shown = |merged: &Merged| {
        sets(merged)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    // What a visitor says counts more than the name of the file.
    assert_eq!(
        shown(&with("team=shop")),
        [
            "browser=strobe, page=https://a.test/shop, release=2.1, team=shop",
            "release=2.0, team=shop"
        ]
    );
    assert_eq!(shown(&with("release=2.0")), ["release=2.0, team=shop"]);
    assert_eq!(with("page~/shop").counts.sessions, 1);
    assert_eq!(with("release=2.0").counts.elsewhere, 10);
    assert_eq!(with("session=a").counts.sessions, 1);
}

#[test]
fn values_of_labels_are_bounded() {
    let folder = Folder::new();
    let lines: Vec<_> = (0..1_100)
        .map(|number| {
            let rest = format!(r#","release":"{number}""#);
            envelope(&number.to_string(), &rest, &ten(APP, 10))
        })
        .collect();
    let merged = merged(&[folder.write("a.ndjson", lines.join("\n"))]);
    assert_eq!(merged.counts.others, [("release".to_owned(), 100)]);
    let event_loop = merged.recording.event_loops().next().unwrap();
    assert_eq!(event_loop.label_sets().len(), 1_001);
    assert_eq!(
        merged.times(),
        times(&[("f https://a.test/app.js:1", 110_000_000)])
    );
}

#[test]
fn a_function_is_one_in_every_engine_and_bundle() {
    let folder = Folder::new();
    let hash = |hash: &str| format!("https://a.test/app.{hash}.js?v={hash}");
    let one = [(0., 0), (10., 0)];
    let paths = [
        // Chromium has the column of `async`, SpiderMonkey that behind it.
        folder.write("1.json", trace(&hash("3f2a9c1b"), &[("load", 7, 20)], &one)),
        folder.write("2.json", trace(&hash("8d41e0aa"), &[("load", 7, 26)], &one)),
        // Not these, which one profile has both.
        folder.write(
            "3.json",
            trace(APP, &[("", 1, 20), ("", 1, 26)], &[(0., 0), (10., 1)]),
        ),
        folder.write("4.json", trace(APP, &[("", 1, 20)], &one)),
        // Nor these.
        folder.write("5.json", trace(APP, &[("h", 1, 1)], &one)),
        folder.write("6.json", trace(APP, &[("h", 1, 9)], &one)),
    ];
    let merged = merged(&paths);
    let totals = Totals::of(&merged.recording);
    let functions = totals.functions.iter().map(|(function, totals)| {
        let column = function.column.unwrap().get();
        let name = format!("{} {}:{column}", function.name, function.resource.unwrap());
        (name, totals.time_itself / 1_000_000)
    });
    let expected: BTreeMap<_, _> = [
        ("load https://a.test/app.*.js:26", 40),
        (" https://a.test/app.js:20", 30),
        (" https://a.test/app.js:26", 10),
        ("h https://a.test/app.js:1", 20),
        ("h https://a.test/app.js:9", 20),
    ]
    .into_iter()
    .map(|(name, time)| (name.to_owned(), time))
    .collect();
    assert_eq!(functions.collect::<BTreeMap<_, _>>(), expected);
}

#[test]
fn sessions_may_be_kept_and_merged_again() {
    let folder = Folder::new();
    let lines = [
        envelope("a", r#","release":"1""#, &ten(APP, 10)),
        envelope("b", r#","release":"2""#, &ten(APP, 5)),
    ];
    let path = folder.write("a.ndjson", lines.join("\n"));
    let kept = merged_with(&[path], Options::default(), Merge::new(None, true, true)).unwrap();
    let mut pprof = Vec::new();
    Format::Pprof.write(&kept.recording, &mut pprof).unwrap();
    let path = folder.write("b.pb", pprof);
    let again = |condition: Option<&str>| {
        let condition = condition.map(|text| Condition::parse(text).unwrap());
        let merge = Merge::new(condition, true, false);
        merged_with(std::slice::from_ref(&path), Options::default(), merge).unwrap()
    };
    assert_eq!(again(None).times(), kept.times());
    assert_eq!(again(None).counts.sessions, 2);
    assert_eq!(
        again(Some("session=b")).times().values().sum::<u128>(),
        100_000
    );
    assert_eq!(
        again(Some("release=1")).times(),
        times(&[("f https://a.test/app.js:1", 100_000)])
    );
}

#[test]
fn every_function_has_the_sum_of_its_inputs() {
    let folder = Folder::new();
    let mut expected = BTreeMap::<String, u128>::new();
    let mut paths = Vec::new();
    for number in 0..40_u32 {
        // Different intervals and numbers of functions.
        let functions: Vec<_> = (0..5 + number % 7)
            .map(|index| (["a", "b", "c", "d"][index as usize % 4], 1 + index, 3))
            .collect();
        let interval = [0.3, 1., 9.7, 16.][number as usize % 4];
        let samples: Vec<_> = (0..200_u32)
            .map(|index| {
                let stack = index * (number + 1) % functions.len() as u32;
                (f64::from(index) * interval, stack as usize)
            })
            .collect();
        let text = trace(APP, &functions, &samples);
        let (mut recording, _) = read(text.as_bytes(), None, None).unwrap();
        profile_formats::value_by_clock(&mut recording).unwrap();
        for (function, totals) in Totals::of(&recording).functions {
            let name = format!("{}:{}", function.name, function.line.unwrap());
            *expected.entry(name).or_default() += totals.time_itself;
        }
        paths.push(folder.write(&format!("{number}.json"), text));
    }
    let merged = merged(&paths);
    let totals = Totals::of(&merged.recording).functions.into_iter();
    let found = totals.map(|(function, totals)| {
        let name = format!("{}:{}", function.name, function.line.unwrap());
        (name, totals.time_itself)
    });
    assert_eq!(found.collect::<BTreeMap<_, _>>(), expected);
    let _: &Path = folder.0.path();
}

#[test]
fn how_much_is_read_is_known_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("more")).unwrap();
    fs::write(path("a.folded"), "f 1\n").unwrap();
    fs::write(path("more/b.folded"), "f 2\ng 3\n").unwrap();
    let read = |inputs: Vec<Input>| Inputs {
        inputs,
        options: Options::default(),
    };
    let all = read(vec![Input::Path(folder.path().to_owned())]);
    let bytes = (4 + 8) as u64;
    assert_eq!(all.bytes(), Some(bytes));
    let told = std::cell::RefCell::new(Vec::new());
    let outcome = all.read_shown(
        |_| Ok(()),
        |line| panic!("{line}"),
        |read| told.borrow_mut().push(read),
    );
    assert_eq!(outcome.unwrap().profiles, 2);
    let told = told.into_inner();
    assert!(told.is_sorted(), "{told:?}");
    assert_eq!(told.last(), Some(&bytes));
    // Nobody knows how long a stream is.
    assert_eq!(read(vec![Input::StandardInput]).bytes(), None);
    assert_eq!(read(vec![Input::Path(path("none"))]).bytes(), Some(0));
}
