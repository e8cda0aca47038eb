/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What files of Strobe and of other tools say of what recorded them, and what the report says of it.

use profile_formats::{Format, Recording, read, report};

/// A profile without threads.
fn firefox(meta: &str) -> String {
    format!(r#"{{"meta":{{"preprocessedProfileVersion":55,"interval":1{meta}}},"threads":[]}}"#)
}

fn speedscope(members: &str) -> String {
    format!(r#"{{"shared":{{"frames":[]}},"profiles":[]{members}}}"#)
}

/// A page without processes.
fn page(members: &str) -> String {
    format!(
        r#"<!DOCTYPE html><script type="application/json" id="recording">{{"version":2,"interval":1,"timeOrigin":null,"processes":[]{members}}}</script>"#
    )
}

fn recording(text: &str) -> Recording {
    let read = read(text.as_bytes(), None, None);
    read.unwrap_or_else(|error| panic!("{text}: {error}")).0
}

fn recorded_by(text: &str) -> Option<String> {
    let recorded_by = recording(text).recorded_by?;
    Some(recorded_by.to_string())
}

#[test]
fn what_files_say_is_kept() {
    let engines = |entries: &str| {
        firefox(&format!(
            r#","product":"Strobe","misc":"rv:0.1.0","extra":[{{"label":"Other","entries":[{{"value":{{}}}}]}},{{"label":"Engines","entries":[{entries}]}}]"#
        ))
    };
    for (text, said) in [
        (firefox(""), None),
        (firefox(r#","product":"","misc":"rv:1.0""#), None),
        (
            firefox(r#","product":null,"misc":null,"importedFrom":null,"extra":null"#),
            None,
        ),
        (firefox(r#","product":"Strobe""#), Some("Strobe")),
        (
            firefox(r#","product":"Firefox","misc":"rv:128.0""#),
            Some("Firefox 128.0"),
        ),
        (
            firefox(r#","product":"a tool","misc":"1.2-beta""#),
            Some("a tool 1.2-beta"),
        ),
        // The product is the app there.
        (
            firefox(r#","product":"An app","misc":"rv:9","importedFrom":"Simpleperf""#),
            Some("Simpleperf"),
        ),
        // Others have any sections, and any values in them.
        (
            firefox(r#","product":"a","extra":{"label":"Engines"}"#),
            Some("a"),
        ),
        (
            firefox(r#","product":"a","extra":[1,{"label":["Engines"],"entries":1}]"#),
            Some("a"),
        ),
        (engines(""), Some("Strobe 0.1.0")),
        (
            engines(
                r#"{"label":"Servo","format":"string","value":"0.7.0"},{"label":"b","value":""}"#,
            ),
            Some("Strobe 0.1.0 (Servo 0.7.0, b)"),
        ),
        (speedscope(""), None),
        (speedscope(r#","exporter":null"#), None),
        (speedscope(r#","exporter":"""#), None),
        (speedscope(r#","exporter":"@""#), Some("@")),
        (
            speedscope(r#","exporter":"speedscope@1.22.2""#),
            Some("speedscope 1.22.2"),
        ),
        (speedscope(r#","exporter":"@a/tool@3""#), Some("@a/tool 3")),
        (speedscope(r#","exporter":"py-spy""#), Some("py-spy")),
        (
            speedscope(
                r#","exporter":"Strobe@1","engines":[{"name":"a","version":"2"},{"name":"b"}]"#,
            ),
            Some("Strobe 1 (a 2, b)"),
        ),
        (page(""), None),
        (page(r#","recordedBy":null"#), None),
        (
            page(r#","recordedBy":{"name":"a","version":null,"engines":[]}"#),
            Some("a"),
        ),
        (
            page(
                r#","recordedBy":{"name":"a","version":"1","engines":[{"name":"b","version":"2"}]}"#,
            ),
            Some("a 1 (b 2)"),
        ),
    ] {
        assert_eq!(recorded_by(&text).as_deref(), said, "{text}");
    }
}

#[test]
fn what_is_wrong_with_it_is_said_with_its_place() {
    let entries = |entries: &str| {
        firefox(&format!(
            r#","product":"a","extra":[{{"label":"Engines","entries":{entries}}}]"#
        ))
    };
    let many = |engine: &str| vec![engine; 17].join(",");
    for (text, place, problem) in [
        (
            firefox(r#","product":1"#),
            "meta.product: ",
            "expected a string",
        ),
        (
            firefox(r#","product":"a","misc":[]"#),
            "meta.misc: ",
            "expected a string",
        ),
        (
            firefox(r#","importedFrom":{}"#),
            "meta.importedFrom: ",
            "expected a string",
        ),
        (
            entries("{}"),
            "meta.extra[0].entries: ",
            "not a list of engines",
        ),
        (
            entries("[1]"),
            "meta.extra[0].entries[0].label: ",
            "not a text",
        ),
        (
            entries(r#"[{"label":"a","value":1}]"#),
            "meta.extra[0].entries[0].value: ",
            "not a text",
        ),
        (
            entries(r#"[{"label":" ","value":"1"}]"#),
            "meta.extra[0].entries[0].label: ",
            "without a name",
        ),
        (
            entries(&format!("[{}]", many(r#"{"label":"a","value":"1"}"#))),
            "meta.extra: ",
            "more than 16 engines",
        ),
        (
            speedscope(r#","exporter":1"#),
            "exporter: ",
            "expected a string",
        ),
        (
            speedscope(r#","exporter":"a","engines":1"#),
            "engines: ",
            "expected a sequence",
        ),
        (
            speedscope(r#","exporter":"a","engines":[{"name":""}]"#),
            "engines[0]: ",
            "without a name",
        ),
        (
            speedscope(&format!(
                r#","exporter":"a","engines":[{}]"#,
                many(r#"{"name":"b"}"#)
            )),
            "engines: ",
            "more than 16 engines",
        ),
        (
            page(r#","recordedBy":"a""#),
            "recordedBy: ",
            "expected struct",
        ),
        (
            page(r#","recordedBy":{"name":1}"#),
            "recordedBy.name: ",
            "expected a string",
        ),
        (
            page(r#","recordedBy":{"name":"a","version":1}"#),
            "recordedBy.version: ",
            "expected a string",
        ),
        (
            page(r#","recordedBy":{"version":"1"}"#),
            "recordedBy: ",
            "missing field `name`",
        ),
        (
            page(r#","recordedBy":{"name":""}"#),
            "recordedBy: ",
            "without a name",
        ),
        (
            page(&format!(
                r#","recordedBy":{{"name":"a","engines":[{}]}}"#,
                many(r#"{"name":"b"}"#)
            )),
            "recordedBy: ",
            "more than 16 engines",
        ),
    ] {
        let error = read(text.as_bytes(), None, None).map(drop).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with(place), "{text}: {error}");
        assert!(error.contains(problem), "{text}: {error}");
    }
}

#[test]
fn whatever_a_file_says_is_a_short_line() {
    let long = "x".repeat(1 << 20);
    let hostile = format!(r"\u001b]0;\n\u202e\u0000{long}");
    for text in [
        firefox(&format!(r#","product":"{hostile}","misc":"rv:{hostile}""#)),
        speedscope(&format!(r#","exporter":"{hostile}@{hostile}""#)),
        page(&format!(
            r#","recordedBy":{{"name":"{hostile}","version":"{hostile}"}}"#
        )),
    ] {
        let recording = recording(&text);
        let said = recording.recorded_by.as_ref().unwrap().to_string();
        assert!(said.starts_with(r"\u{1b}]0;\n\u{202e}\u{0}x"), "{said}");
        assert_eq!(said.chars().count(), 201, "{said}");
        for format in [Format::Firefox, Format::Speedscope, Format::Html] {
            let mut written = Vec::new();
            format.write(&recording, &mut written).unwrap();
            let (again, _) = read(&written, None, None).unwrap();
            assert_eq!(again.recorded_by, recording.recorded_by, "{format}");
        }
    }
}

#[test]
fn the_report_on_a_file_says_it() {
    let text =
        speedscope(r#","exporter":"Strobe@0.1.0","engines":[{"name":"Servo","version":"0.7.0"}]"#);
    let lines = |text: &str| -> Vec<String> {
        let report = report(&recording(text), None, 5);
        report.lines().take(3).map(str::to_owned).collect()
    };
    let with = lines(&text);
    assert!(
        with[0].starts_with("0 samples at an interval of 1 ms"),
        "{with:?}"
    );
    assert_eq!(with[1..], ["Recorded by Strobe 0.1.0 (Servo 0.7.0)", ""]);
    let without = lines(&speedscope(""));
    assert_eq!((&without[0], &*without[1]), (&with[0], ""));
}
