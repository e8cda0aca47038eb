/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What the command line does, apart from opening pages and recording them.

use std::fs;
use std::path::Path;

use base64::prelude::{BASE64_STANDARD as BASE64, Engine};
use browser_tests::{Command, Display, Driver, Site, TIME_BOUND};
use profile_formats::{Format, read, replace};
use serde_json::{Value, json};

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

/// The functions that a tab with a recording shows: name, place and self samples.
fn shown_functions(driver: &Driver) -> Value {
    let is_ready = "document.documentElement.dataset.ready !== undefined";
    assert!(driver.becomes_true(is_ready, TIME_BOUND));
    driver.execute(
        "return strobe.inspect.functions().map(({ name, place, self }) => [name, place, self]);",
    )
}

#[test]
fn a_saved_profile_is_read_in_the_format_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stacks");
    // By its beginning it is JSON.
    fs::write(&file, "{main} 3\n").unwrap();
    let file = file.to_str().unwrap();
    let output = Command::start(&["view", "--headless", file]).end();
    assert_eq!(output.status.code(), Some(1), "{}", output.stderr);
    assert!(output.stderr.contains("not JSON"), "{}", output.stderr);
    let display = Display::start(1100, 900);
    let driver = Driver::view_on(&display, &["--from=collapsed", file]);
    assert_eq!(shown_functions(&driver), json!([["{main}", "", 3]]));
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn saved_profiles_are_shown_as_one_if_their_labels_fit() {
    let folder = tempfile::tempdir().unwrap();
    for (release, stacks) in [("1", "older 2\n"), ("2", "newer 3\n"), ("3", "newer 4\n")] {
        fs::write(folder.path().join(format!("{release}.folded")), stacks).unwrap();
    }
    let sessions = [
        "--label-names={release}.folded",
        folder.path().to_str().unwrap(),
    ];
    let output =
        Command::start(&[&["view", "--headless", "--where=release=9"], &sessions[..]].concat())
            .end();
    assert_eq!(output.status.code(), Some(1), "{}", output.stderr);
    assert!(
        output.stderr.contains("no profile is left to show"),
        "{}",
        output.stderr
    );
    let display = Display::start(1100, 900);
    let driver = Driver::view_on(&display, &[&["--where=release!=1"], &sessions[..]].concat());
    assert_eq!(shown_functions(&driver), json!([["newer", "", 7]]));
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn a_saved_profile_is_shown_as_its_scripts_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (trace, maps) = (file("a.trace.json"), file("dist"));
    let content = r#"{
        "resources": ["https://a.test/js/app.js"],
        "frames": [{ "name": "u", "resourceId": 0, "line": 1, "column": 17 }],
        "stacks": [{ "frameId": 0 }],
        "samples": [{ "timestamp": 1, "stackId": 0 }, { "timestamp": 2, "stackId": 0 }]
    }"#;
    let map = r#"{
        "version": 3,
        "sources": ["../src/square.ts"],
        "sourcesContent": ["export function square(side: number) {\n  return side * side;\n}"],
        "names": [],
        "mappings": "MAAO,SAAS"
    }"#;
    fs::write(&trace, content).unwrap();
    fs::create_dir(&maps).unwrap();
    fs::write(Path::new(&maps).join("app.js.map"), map).unwrap();
    let display = Display::start(1100, 900);
    for (options, shown) in [
        (&[][..], json!([["u", "https://a.test/js/app.js:1:17", 2]])),
        (
            &["--source-maps", &maps],
            json!([["square", "https://a.test/src/square.ts:1:17", 2]]),
        ),
    ] {
        let driver = Driver::view_on(&display, &[options, &[&trace]].concat());
        assert_eq!(shown_functions(&driver), shown);
        let (status, console) = driver.shut_down();
        assert!(status.success(), "{status}\n{console}");
    }
}

#[test]
fn a_screenshot_is_the_page_as_it_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.png");
    let path = file.to_str().unwrap();
    let page = "<!DOCTYPE html><meta charset='utf-8'>
        <style>body { margin: 0; background: #123456; } div { width: 20px; height: 10px; background: #fedcba; }</style>
        <div></div>";
    let site = Site::plain()
        .generated("/page.html", page.to_owned())
        .serve();
    let url = site.url("/page.html");
    let options = ["--headless", "--window-size=320x200", "--exit-after=load"];
    let take = |file: &str, url: &str| {
        let arguments = [&options[..], &["--screenshot", file, url]].concat();
        Command::start(&arguments).end()
    };
    take(path, &url).assert_success();

    // A browser reads it.
    let driver = Driver::start(&[]);
    driver.open(&url);
    let pixels = driver.execute(&format!(
        "const image = new Image();
        image.src = 'data:image/png;base64,{}';
        return image.decode().then(() => {{
            const canvas = document.createElement('canvas');
            const size = [image.naturalWidth, image.naturalHeight];
            [canvas.width, canvas.height] = size;
            const context = canvas.getContext('2d');
            context.drawImage(image, 0, 0);
            const places = [[0, 0], [19, 9], [20, 0], [0, 10], [319, 199]];
            return [size, ...places.map(([x, y]) => [...context.getImageData(x, y, 1, 1).data])];
        }});",
        BASE64.encode(fs::read(&file).unwrap())
    ));
    let (inside, outside) = (
        json!([0xfe, 0xdc, 0xba, 0xff]),
        json!([0x12, 0x34, 0x56, 0xff]),
    );
    assert_eq!(
        pixels,
        json!([[320, 200], inside, inside, outside, outside, outside])
    );
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");

    // A page that does not come leaves no picture.
    let missing = folder.path().join("missing.png");
    let missing = missing.to_str().unwrap();
    let output = take(missing, "http://127.0.0.1:1/");
    assert_eq!(output.status.code(), Some(1), "{}", output.stderr);
    let told = format!("no screenshot in {missing}: its page could not be loaded");
    assert!(output.stderr.contains(&told), "{}", output.stderr);
    assert!(!Path::new(missing).exists());
    let output = take(&format!("{missing}/page.png"), &url);
    assert_eq!(output.status.code(), Some(2), "{}", output.stderr);
    assert!(
        output.stderr.contains("--screenshot: "),
        "{}",
        output.stderr
    );
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
