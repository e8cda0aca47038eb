/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What the command line does, apart from opening pages and recording them.

use std::fs;
use std::path::Path;

use browser_tests::{Command, Display, Driver, Site, TIME_BOUND};
use profile_formats::{Format, read, replace};
use serde_json::json;

fn save(text: &str, file: &Path, format: Format) {
    let (recording, _) = read(text.as_bytes(), None, Some(Format::Collapsed)).unwrap();
    replace(file, format, &recording).unwrap();
}

#[test]
fn saved_profiles_are_shown_each_in_a_tab() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let files = [file("first.html"), file("second.json.gz")];
    save("f;g 2\n", Path::new(&files[0]), Format::Html);
    save("h 3\n", Path::new(&files[1]), Format::Firefox);
    let display = Display::start(1100, 900);
    let driver = Driver::view_on(&display, &[&files[0], &files[1]]);
    let tabs = driver.tabs(2);
    for (tab, shown) in tabs.iter().zip([
        json!(["first.html", 2, "about:profiling#recording=1"]),
        json!(["second.json.gz", 3, "about:profiling#recording=2"]),
    ]) {
        driver.switch_to(tab);
        // The tab may still have the document before this one.
        let is_ready = "document.documentElement.dataset.ready !== undefined";
        assert!(driver.becomes_true(is_ready, TIME_BOUND), "{shown}");
        let actual = driver.execute(
            "const name = document.querySelector('#recording-name').textContent;
            return [name, Number(document.documentElement.dataset.samples), location.href];",
        );
        assert_eq!(actual, shown);
    }
    assert_eq!(tabs.len(), 2);
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn a_profile_that_cannot_be_shown_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let files = ["good.folded", "bad.folded", "missing"].map(file);
    let [good, bad, missing] = files.each_ref().map(String::as_str);
    save("f;g 2\n", Path::new(good), Format::Collapsed);
    fs::write(bad, "f 1\nf x\n").unwrap();
    for (arguments, parts) in [
        (&["view", good][..], ["no display", "strobe report"]),
        (&["view", "--headless", good, bad], [bad, "line 2"]),
        (&["view", "--headless", missing], [missing, "No such file"]),
    ] {
        let without_display = [("DISPLAY", ""), ("WAYLAND_DISPLAY", "")];
        let output = Command::start_with(arguments, &without_display).end();
        assert_eq!(output.status.code(), Some(1), "{}", output.stderr);
        for part in parts {
            assert!(output.stderr.contains(part), "{part}: {}", output.stderr);
        }
    }
}

#[test]
fn a_function_without_a_source_is_listed_by_its_name_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.json");
    let trace = r#"{
        "resources": [], "frames": [{ "name": "", "line": 1, "column": 1 }], "stacks": [{ "frameId": 0 }],
        "samples": [{ "timestamp": 1, "stackId": 0 }, { "timestamp": 2, "stackId": 0 }]
    }"#;
    fs::write(&file, trace).unwrap();
    let output = Command::start(&["report", file.to_str().unwrap()]).end();
    output.assert_success();
    let text = output.text();
    assert!(text.contains("  (anonymous)  (no source)\n"), "{text}");
}

#[test]
fn a_run_without_a_window_needs_no_folder_for_wayland() {
    let arguments = ["--headless", "--exit-after=load", "about:blank"];
    let environment = [("XDG_RUNTIME_DIR", ""), ("WAYLAND_DISPLAY", "")];
    let output = Command::start_with(&arguments, &environment).end();
    output.assert_success();
    assert!(
        !output.stderr.contains("XDG_RUNTIME_DIR"),
        "{}",
        output.stderr
    );
}

#[test]
fn the_versions_are_printed_and_are_in_what_is_recorded() {
    let output = Command::start(&["--version"]).end();
    output.assert_success();
    let text = output.text();
    let versions = text
        .strip_prefix("strobe ")
        .and_then(|text| text.strip_suffix('\n'))
        .unwrap_or_else(|| panic!("{text}"));
    let (strobe, engines) = versions.split_once(" (Servo ").expect("Servo's");
    let (servo, engine) = engines
        .strip_suffix(')')
        .and_then(|engines| engines.split_once(", SpiderMonkey "))
        .expect("SpiderMonkey's");
    for version in [strobe, servo, engine] {
        let is_part = |part: &str| part.parse::<u32>().is_ok();
        assert!(version.split('.').all(is_part), "{versions}");
    }

    let site = Site::plain().serve();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let files = ["a.firefox.json", "a.speedscope.json"].map(file);
    let [recorded, converted] = files.each_ref().map(String::as_str);
    let url = site.url("/busy.html");
    let recording = ["profile", "--headless", "--until-load", "-o", recorded];
    let recording = [&recording[..], &[&*url]].concat();
    for arguments in [&recording[..], &["convert", recorded, converted]] {
        Command::start(arguments).end().assert_success();
    }
    for file in [recorded, converted] {
        let output = Command::start(&["report", file]).end();
        output.assert_success();
        let line = format!("\nRecorded by Strobe {versions}\n");
        assert!(output.text().contains(&line), "{}", output.text());
    }
}
