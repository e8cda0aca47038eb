/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The texts of scripts in recordings.

use std::fs;

use browser_tests::{Site, alone, record, repository};
use profile_formats::{EventLoop, Function, Recording, Source};
/// The functions of this name, each with its event loop and its text.
fn functions<'a>(
    recording: &'a Recording,
    name: &str,
) -> Vec<(&'a EventLoop, &'a Function, Option<&'a Source>)> {
    let event_loops = recording.event_loops();
    let functions = event_loops.flat_map(|event_loop| {
        let functions = event_loop.functions();
        functions.map(move |function| {
            let source = function.source.map(|id| event_loop.source(id));
            (event_loop, function, source)
        })
    });
    functions
        .filter(|(_, function, _)| function.name == name)
        .collect()
}

fn file(name: &str) -> String {
    fs::read_to_string(repository().join("tests/pages").join(name)).unwrap()
}

/// The lines of a text at which a function was executing or calling.
fn lines_that_ran<'a>(
    event_loop: &EventLoop,
    function: &Function,
    source: &'a Source,
) -> Vec<&'a str> {
    let frames = event_loop.frames();
    let frames = frames.filter(|frame| event_loop.function(frame.function) == function);
    let lines = frames.filter_map(|frame| frame.place?.line());
    lines
        .map(|line| {
            let index = line.get() - source.line.get();
            let text = source.text.as_deref().unwrap();
            text.lines().nth(index as usize).unwrap()
        })
        .collect()
}

/// A function calls `spin` on one line. A few samples are taken where it begins or returns, which are its other lines.
fn assert_calls_spin(lines: &[&str], function: &str) {
    let begin = format!("function {function}() {{");
    let is_its_own = |line: &&str| ["spin();", &*begin, "}"].contains(&line.trim());
    let calls = lines.iter().any(|line| line.trim() == "spin();");
    assert!(
        calls && lines.iter().all(is_its_own),
        "{function}: {lines:?}"
    );
}

fn texts_are_those_of_the_scripts(more: &[&str]) {
    let site = Site::plain().serve();
    let url = site.url("/texts.html");
    let arguments = [&["--sources", "--until-js", "isDone", &url], more].concat();
    let (recording, output) = record(&arguments);
    let page = file("texts.html");
    let (_, behind) = page.split_once("<script>").unwrap();
    let (inline, _) = behind.split_once("</script>").unwrap();
    let evaluated = "function evaluatedWork() {\n  spin();\n}\nevaluatedWork();";
    let script = |name: &str| (site.url(&format!("/{name}")), file(name));
    for (name, (url, text)) in [
        ("inlineWork", (url.clone(), inline.to_owned())),
        ("frameWork", script("texts-frame.js")),
        ("workerWork", script("texts-worker.js")),
        (
            "evaluatedWork",
            (
                format!("{} line 12 > eval", site.url("/texts-page.js")),
                evaluated.to_owned(),
            ),
        ),
    ] {
        let found = functions(&recording, name);
        let [(event_loop, function, Some(source))] = found[..] else {
            panic!("{name}: {found:?}\n{}", output.stderr);
        };
        assert_eq!(source.name, url, "{name}");
        let recorded = source.text.as_deref().unwrap();
        assert_eq!(recorded, text, "{name}");
        // The line is counted in the document.
        assert_eq!(source.line.get() > 1, name == "inlineWork", "{name}");
        let line = function.line.unwrap().get() - source.line.get();
        let definition = recorded.lines().nth(line as usize).unwrap();
        assert!(
            definition.contains(&format!("function {name}(")),
            "{name}: {definition}"
        );
        assert_eq!(event_loop.resource_of(function), Some(&*url), "{name}");
        assert_calls_spin(&lines_that_ran(event_loop, function, source), name);
    }
    // These are found with the map in the script.
    let written = functions(&recording, "originalWork");
    let [(event_loop, function, Some(source))] = written[..] else {
        panic!("{written:?}\n{}", output.stderr);
    };
    let text = source.text.as_deref();
    assert_eq!(text, Some("function originalWork() {\n  spin();\n}\n"));
    assert_eq!(source.name, site.url("/written.ts"));
    let ran = lines_that_ran(event_loop, function, source);
    assert_calls_spin(&ran, "originalWork");
    let generated = function.generated.as_ref().unwrap();
    assert_eq!(generated.name, "m");
    let ran = event_loop.resource(generated.resource);
    assert!(ran.ends_with(" > eval"), "{ran}");
    // In the page, in its frame and in its worker.
    let spinning = functions(&recording, "spin");
    let mut event_loops = Vec::new();
    for (event_loop, _, source) in spinning {
        let source = source.unwrap();
        assert_eq!(source.text, Some(file("texts.js")));
        assert_eq!(source.map_url.as_deref(), Some("maps/texts.js.map"));
        event_loops.push(&event_loop.name);
    }
    event_loops.dedup();
    assert_eq!(event_loops.len(), 2, "{event_loops:?}");
}

#[test]
fn texts_of_scripts_of_all_kinds_are_those_that_ran() {
    texts_are_those_of_the_scripts(&[]);
}

#[test]
fn texts_come_from_other_processes_too() {
    texts_are_those_of_the_scripts(&["--multiprocess"]);
}

#[test]
fn without_the_option_there_are_no_texts() {
    let site = Site::plain().serve();
    let (recording, _) = record(&["--until-js", "isDone", &site.url("/texts.html")]);
    assert!(!functions(&recording, "inlineWork").is_empty());
    let mut event_loops = recording.event_loops();
    assert!(event_loops.all(|one| one.sources().len() == 0));
    // The map in an evaluated text is applied without the text.
    let written = functions(&recording, "originalWork");
    let [(event_loop, function, None)] = written[..] else {
        panic!("{written:?}");
    };
    assert_eq!(
        event_loop.resource_of(function),
        Some(&*site.url("/written.ts"))
    );
    // Without its text, the function has no place.
    let evaluated = functions(&recording, "evaluatedWork");
    let [(_, function, None)] = evaluated[..] else {
        panic!("{evaluated:?}");
    };
    assert_eq!((function.resource, function.line), (None, None));
}

#[test]
fn a_page_that_is_busy_at_the_end_has_no_texts_and_this_is_told() {
    let _alone = alone();
    let site = Site::plain().serve();
    let url = site.url("/texts-busy.html");
    // On a busy machine it takes some seconds until the page is there.
    let (recording, output) = record(&["--sources", "--duration=15", &url]);
    let found = functions(&recording, "endlessWork");
    let [(_, _, None)] = found[..] else {
        panic!("{found:?}");
    };
    let told = output
        .stderr
        .lines()
        .find(|line| line.contains("warning: "));
    let told = told.unwrap_or_else(|| panic!("{}", output.stderr));
    assert!(told.contains(&url), "{told}");
    assert!(told.contains("the event loop was busy"), "{told}");
}
