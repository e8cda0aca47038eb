/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Two sets compared: what is found in real files, and how often intervals hold in simulated ones.

use std::fs;

use profile_formats::{Recording, Sample};
use profile_sets::{Condition, Diff, Difference, Input, Inputs, Options, Sessions, diff};
use tempfile::TempDir;

/// SplitMix64, <https://prng.di.unimi.it/splitmix64.c>.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut next = self.0;
        next = (next ^ (next >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        next = (next ^ (next >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        next ^ (next >> 31)
    }

    /// Between 0 and 1.
    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// With a mean of 0 and a deviation of 1.
    fn normal(&mut self) -> f64 {
        let (one, other) = (self.uniform().max(1e-300), self.uniform());
        (-2. * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos()
    }
}

/// Lines of NDJSON of sessions, whose functions take the given milliseconds, in samples of 1 ms.
fn lines(sessions: usize, times: &[(&str, u32, u64)], random: &mut Random) -> String {
    let mut text = String::new();
    for session in 0..sessions {
        let frames = times.iter().map(|(name, line, _)| {
            format!(r#"{{"name":"{name}","resourceId":0,"line":{line},"column":1}}"#)
        });
        let frames: Vec<_> = frames.collect();
        let stacks: Vec<_> = (0..times.len())
            .map(|frame| format!(r#"{{"frameId":{frame}}}"#))
            .collect();
        let mut samples = Vec::new();
        for (stack, (_, _, milliseconds)) in times.iter().enumerate() {
            let varied = *milliseconds as f64 * (1. + 0.1 * random.normal());
            for _ in 0..varied.round() as usize {
                samples.push(format!(
                    r#"{{"timestamp":{},"stackId":{stack}}}"#,
                    samples.len()
                ));
            }
        }
        text += &format!(
            "{{\"v\":1,\"session\":\"s{session}\",\"release\":\"r\",\"trace\":{{\"resources\":[\"https://a.test/a.js\"],\
             \"frames\":[{}],\"stacks\":[{}],\"samples\":[{}]}}}}\n",
            frames.join(","),
            stacks.join(","),
            samples.join(",")
        );
    }
    text
}

fn compared(base: &str, new: &str) -> Diff {
    compared_with_stacks(base, new).0
}

/// Also with the recording of both sides.
fn compared_with_stacks(base: &str, new: &str) -> (Diff, Recording) {
    compared_in(Sessions::new(None), base, new)
}

fn compared_in(mut sessions: Sessions, base: &str, new: &str) -> (Diff, Recording) {
    let folder: TempDir = tempfile::tempdir().unwrap();
    let mut difference = Difference::new([None, None]);
    for (set, text) in [base, new].iter().enumerate() {
        let path = folder.path().join(format!("{set}.ndjson"));
        fs::write(&path, text).unwrap();
        let inputs = Inputs {
            inputs: vec![Input::Path(path)],
            options: Options::default(),
        };
        let read = inputs.read(
            |profile| {
                difference.add(set, &profile)?;
                sessions.add(set, profile)
            },
            |line| panic!("{line}"),
        );
        read.unwrap();
    }
    sessions.finish().unwrap();
    let names = ["base", "new"].map(str::to_owned);
    let diff = diff(&sessions, names, |set, _| Some(set), 1_000).unwrap();
    let recording = difference.finish(&sessions, &diff).unwrap();
    (diff, recording)
}

/// By process: the names and lines of its functions, with the nanoseconds that they have by themselves.
fn times(recording: &Recording) -> Vec<Vec<(String, u32, u64)>> {
    let of_process = recording.processes.iter().map(|process| {
        let [event_loop] = &*process.event_loops else {
            panic!("{} event loops", process.event_loops.len());
        };
        let samples = event_loop.samples().iter();
        let of_sample = samples.zip(event_loop.worths(recording.interval));
        let of_sample = of_sample.map(|(sample, worth): (&Sample, u64)| {
            let frame = event_loop.stack(sample.stack.unwrap()).frame;
            let function = event_loop.function(event_loop.frame(frame).function);
            let line = function.line.unwrap().get();
            (function.name.clone(), line, worth)
        });
        let mut times: Vec<_> = of_sample.collect();
        times.sort();
        times
    });
    of_process.collect()
}

#[test]
fn what_became_slower_is_first_and_fails() {
    let mut random = Random(1);
    let base = lines(
        30,
        &[("a", 1, 100), ("b", 2, 50), ("c", 3, 20)],
        &mut random,
    );
    let new = lines(
        30,
        &[("a", 1, 100), ("b", 2, 75), ("c", 3, 20)],
        &mut random,
    );
    let diff = compared(&base, &new);
    let first = &diff.changes[0];
    assert_eq!(first.function.name, "b");
    let growth = first.growth.unwrap();
    assert!(
        growth.low < 0.5 && growth.high > 0.5 && growth.low > 0.3,
        "{growth:?}"
    );
    let names = |by| -> Vec<String> {
        let grown = diff.grown(by).unwrap().into_iter();
        grown.map(|change| change.function.name.clone()).collect()
    };
    assert_eq!(names(0.05), ["b"]);
    assert_eq!(names(0.8), [""; 0]);
    let text = diff.text(2);
    assert!(text.starts_with("base: base, 30 sessions, "), "{text}");
    assert!(text.contains("1 more functions are not listed"), "{text}");
    let markdown = diff.markdown(3);
    assert!(markdown.contains("| b | a.js:2:1 |"), "{markdown}");
    assert_eq!(diff.json()["changes"][0]["function"]["name"], "b");
}

#[test]
fn functions_that_moved_are_matched_by_their_names() {
    let mut random = Random(2);
    let base = lines(10, &[("a", 1, 50), ("b", 2, 50)], &mut random);
    let new = lines(10, &[("a", 1, 50), ("b", 20, 50)], &mut random);
    let diff = compared(&base, &new);
    assert_eq!(diff.changes.len(), 2);
    let moved = diff
        .changes
        .iter()
        .find(|change| change.function.name == "b")
        .unwrap();
    assert_eq!(moved.function.line.unwrap().get(), 20);
    assert_eq!(moved.moved_from.as_ref().unwrap().line.unwrap().get(), 2);
    assert_eq!(diff.grown(0.5), Ok(vec![]));
}

#[test]
fn what_no_name_tells_apart_moved_as_far_as_the_function_before_it() {
    let mut random = Random(7);
    let base = [
        ("a", 1, 50),
        ("", 5, 40),
        ("b", 20, 50),
        ("", 25, 60),
        ("", 26, 30),
        ("c", 27, 40),
    ];
    let new = [
        ("a", 1, 50),
        ("", 6, 40),
        ("b", 30, 50),
        ("", 35, 60),
        ("", 5, 10),
        ("c", 37, 40),
        ("c", 50, 9),
    ];
    let base = lines(10, &base, &mut random);
    let new = lines(10, &new, &mut random);
    let diff = compared(&base, &new);
    let changes = diff.changes.iter().map(|change| {
        let line = |key: &profile_sets::Key| key.line.unwrap().get();
        (line(&change.function), change.moved_from.as_ref().map(line))
    });
    let mut changes: Vec<_> = changes.collect();
    changes.sort();
    // Nothing says what became of the one in line 26, nor from where those in lines 6 and 50 are.
    let expected = [
        (1, None),
        (5, None),
        (6, None),
        (26, None),
        (30, Some(20)),
        (35, Some(25)),
        (37, Some(27)),
        (50, None),
    ];
    assert_eq!(changes, expected);
}

#[test]
fn two_checkouts_have_the_same_functions() {
    let mut random = Random(8);
    let functions = [("a", 1, 50), ("", 5, 40), ("b", 20, 50)];
    let base = lines(10, &functions, &mut random);
    let base = base.replace("https://a.test/a.js", "/ci/base/lib/a.js");
    let new = lines(10, &functions, &mut random);
    let new = new.replace("https://a.test/a.js", "/ci/new/lib/a.js");
    let diff = compared(&base, &new);
    assert_eq!(diff.changes.len(), 3, "{:#?}", diff.changes);
    assert!(!diff.text(3).contains("was"), "{}", diff.text(3));
    for change in &diff.changes {
        assert_eq!(change.function.url, "/ci/new/lib/a.js");
        let from = change.moved_from.as_ref().unwrap();
        assert_eq!(
            (&*from.url, from.line),
            ("/ci/base/lib/a.js", change.function.line)
        );
    }
}

#[test]
fn lines_are_compared_where_samples_have_them() {
    // A function of two lines, whose second one becomes slower and moves with the first one.
    let profile = |lines: [u32; 2], counts: [u64; 2]| {
        let of_sessions = (0..8).map(|session| {
            let node = |id: u32, name: &str, line: i32, more: &str| {
                format!(
                    r#"{{"id":{id},"callFrame":{{"functionName":"{name}","scriptId":"1","url":"https://a.test/a.js","lineNumber":{line},"columnNumber":0}}{more}}}"#
                )
            };
            let ticks = format!(
                r#","positionTicks":[{{"line":{},"ticks":{}}},{{"line":{},"ticks":{}}}],"hitCount":{}"#,
                lines[0],
                counts[0] + session % 3,
                lines[1],
                counts[1] + session % 2,
                counts[0] + session % 3 + counts[1] + session % 2,
            );
            let count = (counts[0] + session % 3 + counts[1] + session % 2) as usize;
            let (samples, deltas) = (vec!["2"; count].join(","), vec!["1000"; count].join(","));
            format!(
                "{{\"nodes\":[{},{}],\"startTime\":0,\"endTime\":{},\"samples\":[{samples}],\"timeDeltas\":[{deltas}]}}\n",
                node(1, "(root)", -1, r#","children":[2]"#),
                node(2, "f", 9, &ticks),
                count * 1_000,
            )
        });
        of_sessions.collect::<String>()
    };
    let (base, new) = (profile([11, 12], [40, 40]), profile([11, 13], [40, 80]));
    let (diff, _) = compared_in(Sessions::of_lines(None), &base, &new);
    let line = |change: &profile_sets::Change| change.function.line.unwrap().get();
    assert!(diff.are_lines);
    let lines: Vec<_> = diff.changes.iter().map(line).collect();
    assert_eq!(lines.len(), 2, "{:#?}", diff.changes);
    let moved = diff
        .changes
        .iter()
        .find(|change| line(change) == 13)
        .unwrap();
    assert_eq!(moved.moved_from.as_ref().unwrap().line.unwrap().get(), 12);
    assert!(moved.growth.unwrap().low > 0.8, "{moved:#?}");
    assert!(
        diff.text(5).contains("a.js:13 (was a.js:12)"),
        "{}",
        diff.text(5)
    );
}

#[test]
fn the_stacks_of_both_sides_have_times_by_session_and_the_same_functions() {
    let mut random = Random(6);
    let base = lines(10, &[("a", 1, 50), ("b", 2, 50)], &mut random);
    let new = lines(40, &[("a", 1, 50), ("b", 20, 50)], &mut random);
    let (diff, recording) = compared_with_stacks(&base, &new);
    let names: Vec<_> = recording
        .processes
        .iter()
        .map(|process| &*process.name)
        .collect();
    assert_eq!(names, ["base: base", "new: new"]);
    let times = times(&recording);
    for (side, times) in times.iter().enumerate() {
        let found: Vec<_> = times
            .iter()
            .map(|(name, line, _)| (&**name, *line))
            .collect();
        assert_eq!(found, [("a", 1), ("b", 20)], "side {side}");
        for (name, _, nanoseconds) in times {
            let mut changes = diff.changes.iter();
            let change = changes
                .find(|change| change.function.name == *name)
                .unwrap();
            let milliseconds = *nanoseconds as f64 / 1e6;
            let expected = change.self_time[side];
            assert!(
                (milliseconds - expected).abs() < 1e-3,
                "{milliseconds} and {expected}"
            );
        }
    }
}

#[test]
fn a_function_that_is_new_has_grown() {
    let mut random = Random(3);
    let base = lines(20, &[("a", 1, 50)], &mut random);
    let new = lines(20, &[("a", 1, 50), ("b", 2, 10)], &mut random);
    let diff = compared(&base, &new);
    let grown = diff.grown(0.05).unwrap();
    assert_eq!(grown.len(), 1);
    assert_eq!((&*grown[0].function.name, grown[0].growth), ("b", None));
}

#[test]
fn one_long_recording_is_cut_into_blocks_of_time() {
    let mut random = Random(4);
    let diff = compared(
        &lines(1, &[("a", 1, 3_000), ("b", 2, 1_000)], &mut random),
        &lines(1, &[("a", 1, 3_000), ("b", 2, 1_000)], &mut random),
    );
    assert_eq!(diff.sides.each_ref().map(|side| side.blocks), [50; 2]);
    assert!(diff.changes[0].share.is_some());
    // Per session, not per block.
    assert!(
        diff.sides[0].milliseconds > 3_000.,
        "{}",
        diff.sides[0].milliseconds
    );
}

#[test]
fn what_was_merged_without_sessions_has_no_intervals() {
    let text = |name: &str| {
        format!(
            "[page: 2 sessions, their stacks one after another];{name} 5\n[worker: 1 session];g 3\n"
        )
    };
    let diff = compared(&text("f"), &text("f"));
    assert!(diff.changes.iter().all(|change| change.share.is_none()));
    let error = diff.grown(0.05).unwrap_err();
    assert!(error.contains("merged without its sessions"), "{error}");
    assert!(
        diff.text(3).contains("There are no intervals: "),
        "{}",
        diff.text(3)
    );
    let mut random = Random(5);
    let few = lines(2, &[("a", 1, 50)], &mut random);
    let error = compared(&few, &few).grown(0.05).unwrap_err();
    assert!(error.contains("fewer than 5 sessions"), "{error}");
}

#[test]
fn percentiles_name_the_slowest_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for number in 1..=20_u64 {
        let mut random = Random(number);
        let line = lines(1, &[("f", 1, 10 * number)], &mut random);
        text += &line.replace("\"s0\"", &format!("\"s{number}\""));
    }
    let path = folder.path().join("a.ndjson");
    fs::write(&path, text).unwrap();
    let inputs = Inputs {
        inputs: vec![Input::Path(path)],
        options: Options::default(),
    };
    let percentiles = |condition: Option<&str>| {
        let condition = condition.map(|text| Condition::parse(text).unwrap());
        let mut sessions = Sessions::new(condition);
        inputs
            .read(|profile| sessions.add(0, profile), |line| panic!("{line}"))
            .unwrap();
        sessions.finish().unwrap();
        assert_eq!(sessions.values_of("release"), ["r"]);
        let mut rows = sessions.percentiles(|_| true, 5);
        assert_eq!(rows.len(), 1);
        rows.remove(0)
    };
    let all = percentiles(None);
    assert!((70_000_000..140_000_000).contains(&all.p50), "{all:?}");
    assert!(
        all.p95 > 140_000_000 && all.p95 <= all.slowest[0].1,
        "{all:?}"
    );
    assert_eq!(all.slowest.len(), 3);
    let one = percentiles(Some("session=s3"));
    assert_eq!((one.p50, one.p95), (one.time, one.time));
    assert_eq!(one.slowest[0].0, "s3");
}
