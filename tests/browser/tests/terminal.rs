/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Output of pages on the terminal, which must be harmless.

use browser_tests::{Command, Output, Site};
use profile_formats::{Format, read};

/// Outputs the same text in every possible way, and closes itself. After each kind of line end the text begins with
/// FAKE.
const HOSTILE_PAGE: &str = r#"<!DOCTYPE html>
<meta charset="utf-8">
<title>x</title>
<input>
<script>
    function hostile(source) {
        return `${source}\nFAKE ${source}\r\x1b[2J\x1b]0;FAKE\x07\x9b31m\x7f\b\x85FAKE\u2028FAKE\u2029FAKE` +
            "\v\f\u202e\u2066\u200f\u061c\u200b\ufeff\u{e0041}\u3164" + "end";
    }
    document.title = hostile("title");
    location.hash = hostile("hash");
    window.name = hostile("window");
    for (const level of ["log", "info", "debug", "trace", "dir", "warn", "error", "group"]) {
        console[level](hostile(level));
    }
    console.groupEnd();
    console.assert(false, hostile("assert"));
    console.count(hostile("count"));
    alert(hostile("alert"));
    confirm(hostile("confirm"));
    prompt(hostile("prompt"), hostile("value"));
    const input = document.querySelector("input");
    input.setCustomValidity(hostile("validity"));
    input.reportValidity();
    performance.mark(hostile("mark"));
    const style = document.createElement("style");
    style.textContent = "p { color: css\nFAKE css\x9b31m\x1bc\u202e; }";
    document.head.append(style);
    location.href = `about:profiling#${hostile("link")}`;
    Promise.reject(new Error(hostile("rejected")));
    setTimeout(() => { throw new Error(hostile("thrown")); });
    setTimeout(`
        throw new Error("in eval");
        //# sourceURL=http://example.test/\x1b[2J\u202e\x9b1A`);
    const script = `throw new Error(${JSON.stringify(hostile("of worker"))})`;
    new Worker(URL.createObjectURL(new Blob([script])), { name: hostile("worker") });
    // The name of a method is its key.
    const { method } = (0, eval)(`({ method: { ${JSON.stringify(hostile("function"))}() {
        const end = performance.now() + 300;
        while (performance.now() < end);
    } } })`);
    Object.values(method)[0]();
    const long = (0, eval)(`(function ${"long".repeat(1000)}() {
        const end = performance.now() + 300;
        while (performance.now() < end);
    })`);
    long();
    setTimeout(close, 1000);
</script>
"#;

/// Part of the page's text, as it must appear.
const SEEN: &str = r"\r\u{1b}[2J\u{1b}]0;FAKE\u{7}\u{9b}31m\u{7f}\u{8}\u{85}FAKE\u{2028}FAKE\u{2029}FAKE\u{b}\u{c}\u{202e}\u{2066}\u{200f}\u{61c}\u{200b}\u{feff}\u{e0041}\u{3164}end";

fn site() -> Site {
    Site::plain()
        .generated("/hostile.html", HOSTILE_PAGE.to_owned())
        .serve()
}

/// Panics if the text has a control character, an invisible character, or a line that the page began.
fn assert_harmless(text: &str) {
    for line in text.split('\n') {
        assert!(!line.trim_start().starts_with("FAKE"), "{text}");
        let is_harmful = |character: char| {
            character.is_control() && character != '\t'
                || matches!(
                    character,
                    '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                        | '\u{feff}' | '\u{3164}' | '\u{e0000}'..='\u{e0fff}'
                )
        };
        assert!(!line.contains(is_harmful), "{line:?}\n{text}");
    }
}

/// Panics unless the text has this line.
fn assert_line(text: &str, begin: &str, source: &str) {
    let mut line = format!(r"{begin}{source}\nFAKE {source}{SEEN}");
    if ["alert", "confirm", "prompt"].contains(&source) {
        // A dialog has only one kind of line end.
        line = line.replace(r"\r", r"\n");
    }
    assert!(text.lines().any(|other| other == line), "{line}\n{text}");
}

fn run(arguments: &[&str]) -> Output {
    Command::start(arguments).end()
}

#[test]
fn what_a_page_says_is_shown_and_not_obeyed() {
    let site = site();
    let output = run(&["--headless", &site.url("/hostile.html")]);
    output.assert_success();
    let stdout = output.text();
    assert_harmless(&stdout);
    assert_harmless(&output.stderr);
    for (mark, source) in [
        ("", "log"),
        ("", "info"),
        ("", "debug"),
        ("", "dir"),
        ("warning: ", "warn"),
        ("error: ", "error"),
        ("alert: ", "alert"),
        ("confirm: ", "confirm"),
        ("prompt: ", "prompt"),
    ] {
        assert_line(&stdout, mark, source);
    }
    assert!(
        stdout.contains("error: a page may not open about:profiling#link"),
        "{stdout}"
    );
}

#[test]
fn what_the_log_quotes_of_a_page_is_not_obeyed_either() {
    let site = site();
    let arguments = ["--headless", &site.url("/hostile.html")];
    let output = Command::start_with(&arguments, &[("RUST_LOG", "info")]).end();
    output.assert_success();
    assert_harmless(&output.text());
    assert_harmless(&output.stderr);
    // Servo logs style sheets that it cannot parse.
    let quoted = r"color: css\nFAKE css\u{9b}31m\u{1b}c\u{202e}";
    assert!(output.stderr.contains(quoted), "{}", output.stderr);
}

#[test]
fn a_profile_on_standard_output_is_alone_there() {
    let site = site();
    let url = site.url("/hostile.html");
    let output = run(&["profile", "--headless", "--format=firefox", "-o", "-", &url]);
    output.assert_success();
    let profile: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}\n{}", output.text()));
    assert!(profile["threads"].is_array());
    let (_, format) = read(&output.stdout, None, None).unwrap();
    assert_eq!(format, Format::Firefox);

    let stderr = &output.stderr;
    assert_harmless(stderr);
    for (mark, source) in [
        ("log: ", "log"),
        ("log: ", "info"),
        ("warning: ", "warn"),
        ("error: ", "error"),
        ("alert: ", "alert"),
    ] {
        assert_line(stderr, mark, source);
    }
    // A line of the table of functions.
    let line = line_with(stderr, r"function\nFAKE");
    assert!(line.contains("…") && line.chars().count() < 150, "{line}");
    let line = line_with(stderr, "longlong");
    assert!(line.contains("…") && line.chars().count() < 150, "{line}");
}

fn line_with<'a>(text: &'a str, part: &str) -> &'a str {
    let line = text.lines().find(|line| line.contains(part));
    line.unwrap_or_else(|| panic!("{part}\n{text}"))
}

#[test]
fn a_page_among_our_own_lines_is_told_from_them() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.firefox.json");
    let file = file.to_str().unwrap();
    let output = run(&[
        "profile",
        "--headless",
        "-o",
        file,
        &site.url("/hostile.html"),
    ]);
    output.assert_success();
    let stdout = output.text();
    assert_harmless(&stdout);
    assert_harmless(&output.stderr);
    assert_line(&stdout, "log: ", "log");
    assert!(
        stdout.ends_with(&format!("The profile is in {file}\n")),
        "{stdout}"
    );
}

#[test]
fn a_page_that_looks_like_an_error_is_quoted_in_short() {
    let page = r#"<!DOCTYPE html><title>Error loading page</title><body><p></p></body><script>
        document.querySelector("p").textContent =
            "Could not load the requested page: \nFAKE \x1b[2J\u202e" + "long".repeat(100000);
        document.currentScript.remove();
    </script>"#;
    let site = Site::plain()
        .generated("/error.html", page.to_owned())
        .serve();
    let url = site.url("/error.html");
    let output = run(&["--headless", "--exit-after", "load", &url]);
    assert_eq!(output.status.code(), Some(1), "{}", output.stderr);
    assert_harmless(&output.stderr);
    let line = line_with(&output.stderr, "cannot load ");
    assert!(
        line.starts_with(&format!(
            r"strobe: cannot load {url}: \nFAKE \u{{1b}}[2J\u{{202e}}long"
        )),
        "{line}"
    );
    assert!(line.contains('…') && line.chars().count() < 400, "{line}");
}

#[test]
fn an_exception_of_a_page_is_quoted_in_short() {
    let page = r#"<!DOCTYPE html><script>
        let calls = 0;
        function hostile() {
            // The browser tells what is thrown after the load.
            calls += document.readyState === "complete" ? 1 : 0;
            if (calls === 10) {
                close();
            }
            throw new Error("\nFAKE \x1b[2J\u202e" + "long".repeat(100000));
        }
    </script>"#;
    let site = Site::plain()
        .generated("/throws.html", page.to_owned())
        .serve();
    let url = site.url("/throws.html");
    let output = run(&[
        "profile",
        "--headless",
        "--until-js",
        "hostile()",
        "-o",
        "/dev/null",
        "--format=html",
        &url,
    ]);
    output.assert_success();
    assert_harmless(&output.text());
    assert_harmless(&output.stderr);
    let line = line_with(&output.stderr, "not true yet: ");
    assert!(line.contains(r"\nFAKE \u{1b}[2J\u{202e}long"), "{line}");
    assert!(line.contains('…') && line.chars().count() < 400, "{line}");
}
