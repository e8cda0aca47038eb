/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The reports on small files of several tools, in each form. `UPDATE_GOLDEN=1` writes them anew. `docs/report.schema.json`
//! is checked against those of JSON in `python/tests/test_tool.py`.

use std::fs;
use std::path::{Path, PathBuf};

use profile_formats::{
    By, Recording, json_report, line_report_of, markdown_report, read, report_by,
};

const FILES: [&str; 17] = [
    "cases/bun-1.4.5.cpuprofile",
    "cases/chromium-156.0.8078.108.cpuprofile",
    "cases/garbage-collection.cpuprofile",
    "cases/node-26.12.1.cpuprofile",
    "cases/seconds.speedscope.json",
    "cases/time-is-in-deltas.cpuprofile",
    "golden/page_and_worker.firefox.json",
    "others/bun-1.4.5-module.cpuprofile",
    "others/chromium-156.chrome-trace.json",
    "others/comments.folded",
    "others/hermes-0.12.0.json",
    "others/names.folded",
    "others/node-26.10-native.cpuprofile",
    "others/py-spy-0.4.3-raw.folded",
    "others/py-spy-0.4.3.speedscope.json",
    "others/speedscope-1.25.0-export.speedscope.json",
    "others/surrogate.cpuprofile",
];

const TOP: usize = 5;

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn files(name: &str) -> Vec<(String, Recording)> {
    let content = fs::read(tests().join(name)).unwrap();
    let (recording, _) = read(&content, Some(Path::new(name)), None)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let (_, name) = name.split_once('/').unwrap();
    vec![(name.to_owned(), recording)]
}

fn check(name: &str, form: &str, text: &str) {
    let (_, name) = name.split_once('/').unwrap();
    let golden = tests().join(format!("golden/reports/{name}.{form}"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(golden.parent().unwrap()).unwrap();
        fs::write(&golden, text).unwrap();
    }
    let expected =
        fs::read_to_string(&golden).unwrap_or_else(|error| panic!("{}: {error}", golden.display()));
    assert_eq!(text, expected, "{}", golden.display());
}

#[test]
fn reports_stay_as_they_are() {
    for name in FILES {
        let files = files(name);
        let text = report_by(&files, By::Function, TOP) + &line_report_of(&files, TOP);
        check(name, "txt", &text);
        check(name, "json", &json_report(&files, By::Function, TOP, true));
        check(name, "md", &markdown_report(&files, By::Function, TOP));
    }
}

#[test]
fn json_has_files_and_packages_too() {
    let files = files("cases/node-26.12.1.cpuprofile");
    for by in [By::File, By::Package] {
        let text = json_report(&files, by, TOP, false);
        check("/by", &format!("{}.json", by.as_str()), &text);
    }
}

#[test]
fn json_says_what_the_report_says() {
    for name in FILES {
        let files = files(name);
        let text = json_report(&files, By::Function, usize::MAX, true);
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        let sum_of = |rows: &str, member: &str| -> u64 {
            let rows = report[rows].as_array().unwrap().iter();
            rows.map(|row| row[member].as_u64().unwrap()).sum()
        };
        let with_stack = report["samples_with_stack"].as_u64().unwrap();
        assert_eq!(sum_of("rows", "self_samples"), with_stack, "{name}");
        let all = report["samples"].as_u64().unwrap();
        let without = sum_of("without_stack", "samples");
        assert_eq!(with_stack + without, all, "{name}");
        assert_eq!(report["rows_left_out"], 0, "{name}");
    }
}

#[test]
fn no_terminal_obeys_a_name_in_json() {
    let content = b"a\x1b[2J\xe2\x80\xae;\xc2\x9b 3\n";
    let (recording, _) = read(content, None, None).unwrap();
    let text = json_report(&[("\u{1b}".to_owned(), recording)], By::Function, 5, true);
    let is_safe = |character: char| character == '\n' || matches!(character, ' '..='~');
    assert!(text.chars().all(is_safe), "{text}");
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["rows"][0]["name"], "\u{9b}");
    assert_eq!(report["rows"][1]["name"], "a\u{1b}[2J\u{202e}");
}

/// No event loop has so many samples that their number overflows. Several thousand of them have.
#[test]
fn a_number_of_samples_that_is_too_large_is_the_largest_one() {
    let profile = format!(
        r#"{{"type":"sampled","name":"","unit":"none","startValue":0,"endValue":1,"samples":[[0]],"weights":[{}]}}"#,
        1_u64 << 53
    );
    let profiles = vec![profile; 2_100].join(",");
    let text = format!(
        r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{{"frames":[{{"name":"f"}}]}},"profiles":[{profiles}]}}"#
    );
    let (recording, _) = read(text.as_bytes(), None, None).unwrap();
    let files = [(String::new(), recording)];
    let report = report_by(&files, By::ALL[0], TOP);
    assert!(report.contains("18,446,744,073,709,551,615"), "{report}");
    assert!(!line_report_of(&files, TOP).is_empty());
    assert!(!markdown_report(&files, By::ALL[0], TOP).is_empty());
    json_report(&files, By::ALL[0], TOP, false);
}
