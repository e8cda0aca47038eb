/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Recordings of scripts that bundlers built, in the terms of their sources.

#[path = "../../source_maps/tests/broken_maps/mod.rs"]
mod broken_maps;
#[path = "../../source_maps/tests/bundled/mod.rs"]
mod bundled;
mod random_recording;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use profile_formats::{
    Deadline, EventLoop, EventLoopKind, FetchedMap, Format, Frame, Function, FunctionKind, Notices,
    Place, Process, Recording, Sample, Source, StackId, Totals, apply_map_folders,
    apply_maps_beside, apply_own_maps, apply_source_maps, deadline_of_maps, read,
};
use source_maps::SourceMap;
use tempfile::TempDir;
use url::Url;

use self::broken_maps::{MAP, broken_maps};
use self::bundled::{SHAPES, TYPED, bundles, generated, place};

const URL: &str = "https://a.test/out/app.js";

/// A folder with the map of a bundle, as it is deployed.
fn dist(name: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let bundle = bundles().join(name);
    let script = folder.path().join(format!("{name}.js"));
    fs::copy(bundle.join("script"), &script).unwrap();
    if bundle.join("map").exists() {
        fs::copy(bundle.join("map"), script.with_extension("js.map")).unwrap();
    }
    folder
}

fn folders(folder: &TempDir) -> Vec<PathBuf> {
    vec![folder.path().to_owned()]
}

fn number(number: u32) -> Option<NonZeroU32> {
    NonZeroU32::new(number)
}

fn source(line: u32, column: u32) -> Option<Place> {
    Place::of_source(number(line), number(column))
}

/// A function of a script, with a place in it.
fn script_function(
    event_loop: &mut EventLoop,
    (url, name): (&str, &str),
    (line, column): (u32, u32),
) -> Function {
    Function {
        name: name.to_owned(),
        kind: FunctionKind::Script,
        resource: event_loop.add_resource(url).unwrap(),
        line: number(line),
        column: number(column),
        ..Function::default()
    }
}

/// A sample of a function that was called by a stack.
fn sample(
    event_loop: &mut EventLoop,
    caller: Option<StackId>,
    function: &Function,
    place: Option<Place>,
) -> StackId {
    let function = event_loop.add_function(function.clone()).unwrap();
    let frame = event_loop.add_frame(Frame { function, place }).unwrap();
    let stack = event_loop.add_stack(caller, frame).unwrap();
    let sample = Sample {
        time: event_loop.samples().len() as f64,
        weight: 1,
        stack: Some(stack),
        activity: None,
    };
    event_loop.add_sample(sample).unwrap();
    stack
}

fn of_one(event_loop: EventLoop) -> Recording {
    Recording::of_one(event_loop, 1., None)
}

/// Each function of a bundle is called by a built-in, runs at its number, and calls a function of a script without map.
fn recording_of_bundle(name: &str, numbers: &[(&str, &str, &str)]) -> Recording {
    recording_of_script(name, numbers, false)
}

/// The same, maybe with the text of the script.
fn recording_of_script(name: &str, numbers: &[(&str, &str, &str)], has_text: bool) -> Recording {
    let url = format!("https://a.test/out/{name}.js");
    let script = fs::read_to_string(bundles().join(name).join("script")).unwrap();
    let mut event_loop = EventLoop::new("page", EventLoopKind::Worker);
    let built_in = Function {
        name: "forEach".to_owned(),
        kind: FunctionKind::BuiltIn,
        ..Function::default()
    };
    let text = has_text.then(|| Source {
        name: url.clone(),
        line: NonZeroU32::MIN,
        column: NonZeroU32::MIN,
        text: Some(script.clone()),
        map_url: None,
    });
    let text = text.map(|text| event_loop.add_source(text).unwrap());
    let other = script_function(&mut event_loop, ("https://b.test/b.js", "b"), (1, 2));
    for (number, ..) in numbers {
        let (function, definition) = generated(&script, number);
        let definition = place(&script, definition);
        let running = place(&script, script.find(number).unwrap());
        let function = script_function(
            &mut event_loop,
            (&url, function),
            (definition.line, definition.column),
        );
        let function = Function {
            source: text,
            ..function
        };
        let root = sample(&mut event_loop, None, &built_in, None);
        let place = source(running.line, running.column);
        let stack = sample(&mut event_loop, Some(root), &function, place);
        sample(&mut event_loop, Some(stack), &other, source(1, 8));
    }
    of_one(event_loop)
}

/// A function and where it is, with the lines in it that ran.
type Shown = BTreeMap<(String, String), Vec<u32>>;

fn shown(recording: &Recording) -> Shown {
    shown_by(recording, |_, frame| frame.place.and_then(Place::line))
}

fn shown_by(
    recording: &Recording,
    line_of: impl Fn(&Function, &Frame) -> Option<NonZeroU32>,
) -> Shown {
    let mut shown = Shown::new();
    for event_loop in recording.event_loops() {
        for frame in event_loop.frames() {
            let function = event_loop.function(frame.function);
            let file = event_loop.resource_of(function).unwrap_or_default();
            let name = function.name.trim_start_matches("get ").to_owned();
            let line = line_of(function, frame);
            let lines = shown.entry((name, file.to_owned())).or_default();
            lines.extend(line.map(NonZeroU32::get));
        }
    }
    shown
}

fn source_text(file: &str) -> String {
    fs::read_to_string(bundles().join("src").join(file)).unwrap()
}

fn check(name: &str, functions: &[(&str, &str, &str)]) {
    let dist = dist(name);
    let before = recording_of_bundle(name, functions);
    let mut recording = before.clone();
    let notices = apply_map_folders(&mut recording, &folders(&dist), &Deadline::none());
    let told: Vec<_> = notices.iter().map(ToString::to_string).collect();
    let path = dist.path().display();
    assert_eq!(
        told,
        [format!("{path}: no source map of https://b.test/b.js")]
    );

    // Names, files and the lines that ran.
    let mut expected = Shown::new();
    expected.insert(("forEach".to_owned(), String::new()), Vec::new());
    expected.insert(
        ("b".to_owned(), "https://b.test/b.js".to_owned()),
        [1].into(),
    );
    for (number, file, name) in functions {
        let text = source_text(file);
        let line = place(&text, text.find(number).unwrap()).line;
        let name = name.trim_start_matches("get ").to_owned();
        let file = format!("https://a.test/src/{file}");
        expected.entry((name, file)).or_default().push(line);
    }
    assert_eq!(shown(&recording), expected, "{name}");

    // The lines of definitions, and what the script had.
    let event_loop = recording.event_loops().next().unwrap();
    for (function, before) in event_loop
        .functions()
        .zip(before.event_loops().next().unwrap().functions())
    {
        let Some(generated) = &function.generated else {
            assert_eq!(function.name, before.name);
            assert!(["forEach", "b"].contains(&&*function.name));
            continue;
        };
        assert_eq!(generated.name, before.name);
        assert_eq!(Some(generated.resource), before.resource);
        assert_eq!(
            (generated.line, generated.column),
            (before.line, before.column)
        );
        let file = event_loop.resource_of(function).unwrap();
        let text = source_text(file.rsplit('/').next().unwrap());
        let line = text.lines().nth(function.line.unwrap().get() as usize - 1);
        let line = line.unwrap();
        let word = match &*function.name {
            "Circle" | "Store" => "constructor",
            "outerWork/<" | "View/<" => "=>",
            name => name.rsplit('.').next().unwrap(),
        };
        assert!(
            line.contains(word.trim_start_matches("get ")),
            "{name}: {} is not defined in {line:?}",
            function.name
        );
    }

    // In every format, and from every format that holds columns.
    let totals = Totals::of(&recording);
    for format in Format::ALL {
        let mut text = Vec::new();
        format.write(&recording, &mut text).unwrap();
        let (read, _) = read(&text, None, Some(format)).unwrap();
        if format == Format::SpeedscopeLines {
            // The places of its functions are those that ran, so no map can be applied.
            assert_eq!(shown_by(&read, |function, _| function.line), expected);
            continue;
        }
        assert_eq!(Totals::of(&read), totals, "{name} in {format}");
        if format == Format::Html {
            assert_eq!(read, recording);
        }

        let mut text = Vec::new();
        format.write(&before, &mut text).unwrap();
        let (mut read, _) = profile_formats::read(&text, None, Some(format)).unwrap();
        assert_eq!(
            apply_map_folders(&mut read, &folders(&dist), &Deadline::none()).len(),
            1,
            "{name} from {format}"
        );
        let names = |recording| shown(recording).into_keys().collect::<Vec<_>>();
        assert_eq!(names(&read), names(&recording), "{name} from {format}");
        if matches!(format, Format::Html | Format::Firefox) {
            assert_eq!(shown(&read), expected, "{name} from {format}");
        }
    }
}

#[test]
fn esbuild_minified() {
    check("esbuild.min", &SHAPES);
}

#[test]
fn esbuild_with_a_map_in_the_script() {
    check("esbuild.inline", &SHAPES);
}

#[test]
fn esbuild_of_typescript() {
    check("typed.min", &TYPED);
}

#[test]
fn rollup_without_names() {
    check("rollup", &SHAPES);
}

#[test]
fn terser_of_what_rollup_made() {
    check("terser.min", &SHAPES);
}

/// The map has neither names nor texts.
#[test]
fn typescript_keeps_its_names_and_has_its_files() {
    let dist = dist("typed");
    let mut recording = recording_of_bundle("typed", &TYPED[..1]);
    assert_eq!(
        apply_map_folders(&mut recording, &folders(&dist), &Deadline::none()).len(),
        1
    );
    let key = (
        "firstOf".to_owned(),
        "https://a.test/src/typed.tsx".to_owned(),
    );
    assert_eq!(shown(&recording)[&key], [12]);
}

/// It has the places of definitions alone.
#[test]
fn a_trace_that_a_page_sent_home() {
    let trace = br#"{
        "frames": [{"name": "u", "resourceId": 0, "line": 1, "column": 17}],
        "resources": ["https://a.test/js/app.js?v=1"],
        "samples": [{"timestamp": 1, "stackId": 0}],
        "stacks": [{"frameId": 0}]
    }"#;
    let map = r#"{
        "version": 3,
        "sources": ["../src/square.ts"],
        "sourcesContent": ["export function square(side: number) {\n  return side * side;\n}"],
        "names": [],
        "mappings": "MAAO,SAAS"
    }"#;
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("app.js.map"), map).unwrap();
    let (mut recording, _) = read(trace, None, None).unwrap();
    assert_eq!(
        apply_map_folders(&mut recording, &folders(&folder), &Deadline::none()),
        []
    );
    let mut text = Vec::new();
    Format::Collapsed.write(&recording, &mut text).unwrap();
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "square (https://a.test/src/square.ts:1:17) 1\n"
    );
}

/// The text of the function's file, if the recording has one.
fn text_of<'a>(event_loop: &'a EventLoop, function: &Function) -> Option<&'a str> {
    event_loop.source(function.source?).text.as_deref()
}

#[test]
fn a_recording_with_texts_has_those_of_the_original_files() {
    let dist = dist("esbuild.min");
    for has_texts in [true, false] {
        let mut recording = recording_of_script("esbuild.min", &SHAPES, has_texts);
        apply_map_folders(&mut recording, &folders(&dist), &Deadline::none());
        let event_loop = recording.event_loops().next().unwrap();
        let mut mapped = 0;
        for function in event_loop.functions() {
            let file = event_loop.resource_of(function).unwrap_or_default();
            let text = match function.generated {
                Some(_) if has_texts => Some(source_text(file.rsplit('/').next().unwrap())),
                _ => None,
            };
            // The ends of lines are those of the machine that built it.
            let has = text_of(event_loop, function).map(|text| text.replace("\r\n", "\n"));
            assert_eq!(has, text);
            mapped += u32::from(text.is_some());
        }
        assert_eq!(mapped > 0, has_texts);
    }
}

/// As if the script stood at this place of a document.
fn moved(recording: &Recording, line: u32, column: u32) -> Recording {
    let before = recording.event_loops().next().unwrap();
    let mut event_loop = EventLoop::new("page", EventLoopKind::Worker);
    let first = |number: u32| NonZeroU32::new(number).unwrap();
    let move_line = |old: NonZeroU32| first(old.get() + line - 1);
    let move_column = |old_line: NonZeroU32, old: NonZeroU32| match old_line.get() {
        1 => first(old.get() + column - 1),
        _ => old,
    };
    for frame in before.frames() {
        let function = before.function(frame.function);
        let text = function.source.map(|id| Source {
            line: first(line),
            column: first(column),
            ..before.source(id).clone()
        });
        let resource = before.resource_of(function).unwrap_or_default();
        let function = Function {
            resource: event_loop.add_resource(resource).unwrap(),
            line: function.line.map(move_line),
            column: function
                .line
                .zip(function.column)
                .map(|(line, column)| move_column(line, column)),
            source: text.map(|text| event_loop.add_source(text).unwrap()),
            ..function.clone()
        };
        let place = frame.place.and_then(|place| {
            let (line, column) = (place.line()?, place.column()?);
            Place::of_source(Some(move_line(line)), Some(move_column(line, column)))
        });
        sample(&mut event_loop, None, &function, place);
    }
    of_one(event_loop)
}

#[test]
fn a_map_in_a_recorded_script_is_applied_wherever_the_script_stands() {
    let whole = recording_of_script("esbuild.inline", &SHAPES, true);
    for recording in [
        moved(&whole, 1, 1),
        moved(&whole, 31, 1),
        moved(&whole, 31, 9),
    ] {
        let mut mapped = recording.clone();
        assert_eq!(apply_own_maps(&mut mapped, &Deadline::none()), []);
        let shown = shown(&mapped);
        for (number, file, name) in SHAPES {
            let text = source_text(file);
            let line = place(&text, text.find(number).unwrap()).line;
            let name = name.trim_start_matches("get ").to_owned();
            let key = (name, format!("https://a.test/src/{file}"));
            assert!(shown[&key].contains(&line), "{key:?}: {:?}", shown[&key]);
        }
        let event_loop = mapped.event_loops().next().unwrap();
        let generated = event_loop.functions().find(|one| one.generated.is_some());
        assert!(text_of(event_loop, generated.unwrap()).is_some());
        // It is done.
        let again = mapped.clone();
        assert_eq!(apply_own_maps(&mut mapped, &Deadline::none()), []);
        assert_eq!(mapped, again);
    }
}

#[test]
fn a_broken_map_in_a_recorded_script_is_told_and_changes_nothing() {
    for (link, problem) in [
        ("data:application/json;base64,%%%", "cannot be decoded"),
        ("data:,%7B", "EOF"),
    ] {
        let mut event_loop = EventLoop::new("page", EventLoopKind::Unknown);
        let text = Source {
            name: URL.to_owned(),
            line: NonZeroU32::MIN,
            column: NonZeroU32::MIN,
            text: Some(format!("f()\n//# sourceMappingURL={link}")),
            map_url: None,
        };
        let text = event_loop.add_source(text).unwrap();
        let function = Function {
            source: Some(text),
            ..script_function(&mut event_loop, (URL, "f"), (1, 1))
        };
        sample(&mut event_loop, None, &function, source(1, 1));
        let mut recording = of_one(event_loop);
        let before = recording.clone();
        let notices = apply_own_maps(&mut recording, &Deadline::none());
        let [notice] = &notices[..] else {
            panic!("{notices:?}");
        };
        let notice = notice.to_string();
        assert!(
            notice.starts_with(URL) && notice.contains(problem),
            "{notice}"
        );
        assert_eq!(recording, before);
    }
}

/// A recording of a script and of a copy of it, both with this map.
fn recording_with_fetched(content: Result<&str, &str>, has_text: bool) -> Recording {
    let fetched = Arc::new(FetchedMap {
        url: "https://a.test/maps/app.js.map".to_owned(),
        content: content.map(str::to_owned).map_err(str::to_owned),
    });
    let mut event_loop = EventLoop::new("page", EventLoopKind::Unknown);
    for (name, line) in [("f", 1), ("g", 7)] {
        let text = Source {
            name: URL.to_owned(),
            line: number(line).unwrap(),
            column: NonZeroU32::MIN,
            text: has_text
                .then(|| format!("function {name}() {{}}\n//# sourceMappingURL=data:,broken")),
            map_url: Some("../maps/app.js.map".to_owned()),
        };
        let text = event_loop.add_source(text).unwrap();
        event_loop.add_map(text, fetched.clone());
        let function = Function {
            source: Some(text),
            ..script_function(&mut event_loop, (URL, name), (line, 2))
        };
        sample(&mut event_loop, None, &function, source(line, 5));
    }
    of_one(event_loop)
}

#[test]
fn a_fetched_map_is_applied_and_its_files_are_relative_to_it() {
    let content = map(TWO_FILES.0, TWO_FILES.1);
    let mut recording = recording_with_fetched(Ok(&content), true);
    assert_eq!(apply_own_maps(&mut recording, &Deadline::none()), []);
    let key = |name: &str| (name.to_owned(), "https://a.test/maps/a.ts".to_owned());
    let shown = shown(&recording);
    assert_eq!(shown[&key("f")], [1]);
    assert_eq!(shown[&key("g")], [1]);
    // It is done.
    let again = recording.clone();
    apply_own_maps(&mut recording, &Deadline::none());
    assert_eq!(recording, again);
}

#[test]
fn a_map_is_applied_without_the_text_of_its_script() {
    let content = r#"{"version":3,"sources":["a.ts"],"sourcesContent":["function work() {}"],"names":[],
        "mappings":"AAAA"}"#;
    let mut recording = recording_with_fetched(Ok(content), false);
    assert_eq!(apply_own_maps(&mut recording, &Deadline::none()), []);
    // The name is from the text that the map has.
    let key = ("work".to_owned(), "https://a.test/maps/a.ts".to_owned());
    let shown = shown(&recording);
    assert_eq!(shown.keys().collect::<Vec<_>>(), [&key]);
    assert_eq!(shown[&key], [1, 1]);
    // There are no texts, neither of the script nor of its files.
    let event_loop = recording.event_loops().next().unwrap();
    assert_eq!(event_loop.sources().len(), 0);
    assert!(event_loop.functions().all(|one| one.source.is_none()));
}

#[test]
fn a_map_in_the_link_of_a_script_is_applied_without_its_text() {
    let map = map(TWO_FILES.0, TWO_FILES.1);
    let link = format!("data:application/json,{}", map.replace('"', "%22"));
    let mut event_loop = EventLoop::new("page", EventLoopKind::Unknown);
    let mut of_script = |text: Option<&str>, map_url: Option<&str>, name: &str| {
        let script = Source {
            name: URL.to_owned(),
            line: NonZeroU32::MIN,
            column: NonZeroU32::MIN,
            text: text.map(str::to_owned),
            map_url: map_url.map(str::to_owned),
        };
        let script = event_loop.add_source(script).unwrap();
        let function = Function {
            source: Some(script),
            ..script_function(&mut event_loop, (URL, name), (1, 2))
        };
        sample(&mut event_loop, None, &function, source(1, 5));
    };
    of_script(None, Some(&link), "f");
    // They were made from text at one place, and their maps did not come. They differ only by that.
    of_script(None, Some("a.map"), "g");
    of_script(None, Some("b.map"), "g");
    of_script(Some("function h() {}"), None, "h");
    let mut recording = of_one(event_loop);
    assert_eq!(apply_own_maps(&mut recording, &Deadline::none()), []);
    let event_loop = recording.event_loops().next().unwrap();
    let texts: Vec<_> = event_loop
        .functions()
        .map(|one| (&*one.name, text_of(event_loop, one)))
        .collect();
    assert_eq!(
        texts,
        [("f", None), ("g", None), ("h", Some("function h() {}"))]
    );
    assert_eq!(event_loop.samples().len(), 4);
    let key = |name: &str, file: &str| (name.to_owned(), file.to_owned());
    let shown = shown(&recording);
    assert!(
        shown.contains_key(&key("f", "https://a.test/out/a.ts")),
        "{shown:?}"
    );
    assert!(shown.contains_key(&key("g", URL)), "{shown:?}");
}

#[test]
fn a_map_that_came_counts_more_than_one_that_did_not() {
    let mut event_loop = EventLoop::new("page", EventLoopKind::Unknown);
    let text = Source {
        name: URL.to_owned(),
        line: NonZeroU32::MIN,
        column: NonZeroU32::MIN,
        text: Some("function f() {}".to_owned()),
        map_url: Some("a.map".to_owned()),
    };
    let text = event_loop.add_source(text).unwrap();
    let content = map(TWO_FILES.0, TWO_FILES.1);
    for content in [
        Err("it is gone".to_owned()),
        Ok(content),
        Err(String::new()),
    ] {
        let url = "https://a.test/a.map".to_owned();
        event_loop.add_map(text, Arc::new(FetchedMap { url, content }));
    }
    let function = Function {
        source: Some(text),
        ..script_function(&mut event_loop, (URL, "f"), (1, 2))
    };
    sample(&mut event_loop, None, &function, source(1, 5));
    let mut recording = of_one(event_loop);
    assert_eq!(apply_own_maps(&mut recording, &Deadline::none()), []);
    let key = ("f".to_owned(), "https://a.test/a.ts".to_owned());
    assert_eq!(shown(&recording)[&key], [1]);
}

#[test]
fn a_map_that_did_not_come_or_is_none_is_told_with_its_script() {
    for (content, problem) in [
        (Err("it is gone"), "it is gone"),
        (Ok("<html>"), "source map"),
    ] {
        let mut recording = recording_with_fetched(content, true);
        let before = recording.clone();
        let notices = apply_own_maps(&mut recording, &Deadline::none());
        // Once, although two scripts have it.
        let [notice] = &notices[..] else {
            panic!("{notices:?}");
        };
        let notice = notice.to_string();
        let told = "https://a.test/maps/app.js.map: ";
        assert!(
            notice.starts_with(told) && notice.contains(problem) && notice.contains(URL),
            "{notice}"
        );
        assert_eq!(recording, before);
    }
}

fn map(sources: &str, mappings: &str) -> String {
    format!(r#"{{"version":3,"sources":{sources},"names":[],"mappings":"{mappings}"}}"#)
}

/// With this map of [`URL`].
fn mapped(recording: &Recording, content: &str) -> (Recording, Vec<String>) {
    let mut mapped = recording.clone();
    let mut notices = Notices::default();
    apply_source_maps(
        &mut mapped,
        &mut notices,
        &Deadline::none(),
        |script, notices| {
            if script != URL {
                return None;
            }
            match SourceMap::read(content.as_bytes(), "app.js.map", None, &Deadline::none()) {
                Ok(map) => Some(map),
                Err(notice) => {
                    notices.push_of_script(notice, script);
                    None
                },
            }
        },
    );
    let notices = notices.into_vec();
    (mapped, notices.iter().map(ToString::to_string).collect())
}

/// Columns 1 to 10 are line 1 of a.ts, those to 20 line 3 of b.ts, and the rest is not mapped.
const TWO_FILES: (&str, &str) = (r#"["a.ts","b.ts"]"#, "AAAA,UCEA,U");

#[test]
fn a_function_with_code_of_several_files_is_one_in_each() {
    let mut event_loop = EventLoop::new("page", EventLoopKind::Unknown);
    // The top level of two modules, which the bundler put into a function of its own.
    let top = script_function(&mut event_loop, (URL, ""), (1, 30));
    // It is in a.ts, and code of b.ts was inlined.
    let inlining = script_function(&mut event_loop, (URL, "f"), (1, 4));
    // Nothing of it is mapped.
    let own = script_function(&mut event_loop, (URL, "o"), (1, 40));
    for place in [source(1, 5), source(1, 15), source(1, 16)] {
        sample(&mut event_loop, None, &top, place);
    }
    for place in [source(1, 5), source(1, 15), source(1, 25), None] {
        sample(&mut event_loop, None, &inlining, place);
    }
    sample(&mut event_loop, None, &own, source(1, 44));
    let before = of_one(event_loop);
    let (recording, notices) = mapped(&before, &map(TWO_FILES.0, TWO_FILES.1));
    assert_eq!(notices, [""; 0]);
    let totals = Totals::of(&recording);
    assert_eq!((totals.samples, totals.with_stack), (8, 8));
    let mut functions: Vec<_> = totals
        .functions
        .iter()
        .map(|(key, totals)| {
            let line = key.line.map(NonZeroU32::get);
            (key.resource.unwrap(), key.name, line, totals.itself)
        })
        .collect();
    functions.sort_unstable();
    assert_eq!(
        functions,
        [
            ("a.ts", "", None, 1),
            ("a.ts", "f", Some(1), 3),
            ("b.ts", "", None, 2),
            ("b.ts", "f", None, 1),
            (URL, "o", Some(1), 1),
        ]
    );
    // A line of the script is not shown as a line of the file.
    let key = |name: &str, file: &str| (name.to_owned(), file.to_owned());
    assert_eq!(shown(&recording)[&key("f", "a.ts")], [1]);
    assert_eq!(shown(&recording)[&key("f", "b.ts")], [3]);
    assert_eq!(shown(&recording)[&key("", "b.ts")], [3]);
    assert_eq!(shown(&recording)[&key("o", URL)], [1]);
    // The function that the bundler made is no more.
    let event_loop = recording.event_loops().next().unwrap();
    assert_eq!(event_loop.functions().len(), 5);

    // What is original has no map.
    let mut again = recording.clone();
    apply_source_maps(
        &mut again,
        &mut Notices::default(),
        &Deadline::none(),
        |script, _| {
            assert_eq!(script, URL);
            None
        },
    );
    assert_eq!(again, recording);
}

#[test]
fn functions_that_were_one_are_one_again() {
    let mut worker = EventLoop::new("worker", EventLoopKind::Worker);
    let one = script_function(&mut worker, (URL, "f"), (1, 2));
    let copy = script_function(&mut worker, (URL, "f"), (1, 8));
    let root = sample(&mut worker, None, &one, source(1, 3));
    sample(&mut worker, Some(root), &copy, source(1, 9));
    sample(&mut worker, None, &copy, source(1, 7));
    let mut page = EventLoop::new("page", EventLoopKind::Unknown);
    let one = script_function(&mut page, (URL, "f"), (1, 3));
    sample(&mut page, None, &one, None);
    let recording = Recording {
        time_origin: None,
        interval: 1.,
        recorded_by: None,
        processes: vec![Process {
            event_loops: vec![worker, page],
            ..Process::default()
        }],
    };
    let (recording, _) = mapped(&recording, &map(TWO_FILES.0, TWO_FILES.1));
    let totals = Totals::of(&recording);
    let all: Vec<_> = totals.functions.values().collect();
    assert_eq!(all.len(), 1);
    // The call of itself is one sample of both.
    assert_eq!((all[0].itself, all[0].total), (4, 4));
}

#[test]
fn a_broken_map_is_a_notice_and_the_profile_is_whole() {
    let mut event_loop = EventLoop::new("page", EventLoopKind::Unknown);
    let function = script_function(&mut event_loop, (URL, "f"), (1, 2));
    sample(&mut event_loop, None, &function, source(1, 3));
    let before = of_one(event_loop);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.js.map");
    let maps = broken_maps();
    assert!(maps.len() > 40);
    for (content, why) in maps {
        fs::write(&file, &content).unwrap();
        let mut recording = before.clone();
        let notices = apply_map_folders(&mut recording, &folders(&folder), &Deadline::none());
        assert_eq!(notices.len(), 1, "{content}");
        assert_eq!(notices[0].name, file.to_string_lossy());
        assert!(notices[0].why.starts_with(why), "{}", notices[0]);
        assert!(
            notices[0]
                .why
                .ends_with("; it is the map of https://a.test/out/app.js"),
            "{}",
            notices[0]
        );
        assert_eq!(recording, before);
    }
}

#[test]
fn what_is_not_used_is_told() {
    let mut event_loop = EventLoop::new("page", EventLoopKind::Unknown);
    let function = script_function(&mut event_loop, (URL, "f"), (1, 2));
    sample(&mut event_loop, None, &function, source(1, 3));
    let before = of_one(event_loop);

    let (recording, notices) = mapped(&before, &map(r#"["a.ts"]"#, ";;AAAA"));
    assert_eq!(recording, before);
    assert_eq!(
        notices,
        [format!(
            "app.js.map: it has none of the functions of {URL}, and may be the map of another script"
        )]
    );

    let (lines, _) = read(
        format!("f ({URL}:1) 3\n").as_bytes(),
        None,
        Some(Format::Collapsed),
    )
    .unwrap();
    let (recording, notices) = mapped(&lines, MAP);
    assert_eq!(recording, lines);
    assert_eq!(
        notices,
        [format!(
            "app.js.map: it is not used for {URL}, for the profile does not have the columns of its functions"
        )]
    );

    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no");
    let mut recording = before.clone();
    let notices = apply_map_folders(
        &mut recording,
        std::slice::from_ref(&missing),
        &Deadline::none(),
    );
    assert_eq!(recording, before);
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].name, missing.to_string_lossy());

    // One folder has it, and the other is not asked.
    fs::write(folder.path().join("app.js.map"), MAP).unwrap();
    let second = tempfile::tempdir().unwrap();
    fs::write(second.path().join("app.js.map"), "broken").unwrap();
    let both = [folder.path().to_owned(), second.path().to_owned()];
    assert_eq!(
        apply_map_folders(&mut recording, &both, &Deadline::none()),
        []
    );
    let key = ("alpha".to_owned(), "https://a.test/out/a.ts".to_owned());
    assert_eq!(shown(&recording)[&key], [1]);
}

#[test]
fn of_very_many_notices_the_first_are_told() {
    let mut event_loop = EventLoop::new("page", EventLoopKind::Unknown);
    for number in 0..100 {
        let url = format!("https://a.test/{number}/app.js");
        let function = script_function(&mut event_loop, (&url, "f"), (1, 2));
        sample(&mut event_loop, None, &function, None);
    }
    let mut recording = of_one(event_loop);
    let folder = tempfile::tempdir().unwrap();
    let notices = apply_map_folders(&mut recording, &folders(&folder), &Deadline::none());
    assert_eq!(notices.len(), 1);
    assert!(
        notices[0].why.ends_with("/4/app.js and 95 more"),
        "{}",
        notices[0]
    );

    fs::write(folder.path().join("app.js.map"), "broken").unwrap();
    let notices = apply_map_folders(&mut recording, &folders(&folder), &Deadline::none());
    assert_eq!(notices.len(), 21);
    assert_eq!(
        notices[20].to_string(),
        "source maps: 80 more notices are not shown"
    );
}

/// As many functions with long names as do not fit.
#[test]
#[cfg_attr(miri, ignore = "it is too large")]
fn names_take_bounded_memory() {
    const FUNCTIONS: u32 = 200_000;
    let mut event_loop = EventLoop::new("page", EventLoopKind::Unknown);
    for column in 1..=FUNCTIONS {
        let function = script_function(&mut event_loop, (URL, "f"), (1, column * 10 + 2));
        sample(&mut event_loop, None, &function, None);
    }
    let before = of_one(event_loop);
    // Of a name of 50 MB, 1 KiB is used. There is a mapping with the name at each generated name.
    let name = "ä".repeat(25_000_000);
    let mappings = ",UAAAA".repeat(FUNCTIONS as usize);
    let content =
        format!(r#"{{"version":3,"sources":["a.ts"],"names":["{name}"],"mappings":"{mappings}"}}"#);
    let (recording, notices) = mapped(&before, &content);
    assert_eq!(notices.len(), 1);
    assert!(notices[0].contains("some functions of"), "{}", notices[0]);
    let event_loop = recording.event_loops().next().unwrap();
    let long = event_loop
        .functions()
        .filter(|function| function.name.len() > 1);
    let lengths: Vec<_> = long.map(|function| function.name.len()).collect();
    let cut = format!("{}…", "ä".repeat(510));
    assert!(lengths.iter().all(|length| *length == cut.len()));
    let functions = lengths.len() as u32;
    assert!((100_000..FUNCTIONS).contains(&functions), "{functions}");
    assert!(event_loop.functions().any(|function| function.name == cut));
    assert_eq!(Totals::of(&recording).samples, u64::from(FUNCTIONS));
}

/// A deadline that passes after this many questions for it.
fn after(questions: usize) -> Deadline {
    let left = Cell::new(questions);
    Deadline::none().or_when(move || match left.get().checked_sub(1) {
        Some(less) => {
            left.set(less);
            None
        },
        None => Some("somebody is in a hurry".to_owned()),
    })
}

/// Scripts with maps of their own, each with two functions.
fn recording_of_scripts(count: u32) -> Recording {
    let mut event_loop = EventLoop::new("page", EventLoopKind::Unknown);
    for script in 0..count {
        let name = format!("https://a.test/{script}.js");
        let text = Source {
            name: name.clone(),
            line: NonZeroU32::MIN,
            column: NonZeroU32::MIN,
            text: None,
            map_url: Some(format!("{script}.js.map")),
        };
        let text = event_loop.add_source(text).unwrap();
        let content = map(TWO_FILES.0, TWO_FILES.1);
        let url = format!("{name}.map");
        let content = Ok(content);
        event_loop.add_map(text, Arc::new(FetchedMap { url, content }));
        for (function, column) in [("f", 2), ("g", 12)] {
            let function = Function {
                source: Some(text),
                ..script_function(&mut event_loop, (&name, function), (1, column))
            };
            sample(&mut event_loop, None, &function, source(1, column + 1));
        }
    }
    of_one(event_loop)
}

#[test]
fn a_deadline_leaves_out_what_is_not_done_and_names_it() {
    const SCRIPTS: u32 = 3;
    let before = recording_of_scripts(SCRIPTS);
    let mut last_mapped = 0;
    for questions in 0.. {
        let mut recording = before.clone();
        let notices = apply_own_maps(&mut recording, &after(questions));
        let totals = Totals::of(&recording);
        assert_eq!(totals.samples, Totals::of(&before).samples);
        let event_loop = recording.event_loops().next().unwrap();
        let is_mapped = |function: &&Function| function.generated.is_some();
        let mapped = event_loop.functions().filter(is_mapped).count();
        assert!(mapped >= last_mapped, "{questions}");
        last_mapped = mapped;
        for script in 0..SCRIPTS {
            let name = format!("https://a.test/{script}.js");
            let left = event_loop.functions().any(|function| {
                function.generated.is_none()
                    && event_loop.resource_of(function) == Some(name.as_str())
            });
            let is_told = notices.iter().any(|notice| {
                let notice = notice.to_string();
                notice.contains(&name) && notice.contains("somebody is in a hurry")
            });
            assert_eq!(left, is_told, "{questions}: {name}: {notices:?}");
        }
        if notices.is_empty() {
            assert_eq!(mapped, 2 * SCRIPTS as usize);
            return;
        }
    }
}

#[test]
fn a_deadline_leaves_out_maps_of_folders() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("app.js.map"),
        map(TWO_FILES.0, TWO_FILES.1),
    )
    .unwrap();
    let mut event_loop = EventLoop::new("page", EventLoopKind::Unknown);
    let function = script_function(&mut event_loop, (URL, "f"), (1, 2));
    sample(&mut event_loop, None, &function, None);
    let before = of_one(event_loop);
    let mut recording = before.clone();
    let notices = apply_map_folders(&mut recording, &folders(&folder), &after(0));
    assert_eq!(recording, before);
    let notices: Vec<_> = notices.iter().map(ToString::to_string).collect();
    let path = folder.path().display();
    assert_eq!(
        notices,
        [format!(
            "{path}: a script is shown as it ran, because somebody is in a hurry"
        )]
    );
}

#[test]
fn samples_stay_whatever_the_recording() {
    for seed in 0..if cfg!(miri) { 1 } else { 60 } {
        let before = random_recording::recording(seed, 3);
        let mut recording = before.clone();
        let mut notices = Notices::default();
        let maps = map(TWO_FILES.0, "AAAA,CCEA,C;EDFA,CCEA");
        apply_source_maps(
            &mut recording,
            &mut notices,
            &Deadline::none(),
            |script, _| {
                Some(SourceMap::read(maps.as_bytes(), script, None, &Deadline::none()).unwrap())
            },
        );
        let (one, other) = (Totals::of(&before), Totals::of(&recording));
        assert_eq!(
            (one.samples, one.with_stack),
            (other.samples, other.with_stack)
        );
        let itself = |totals: &Totals<'_>| {
            let all = totals.functions.values();
            all.map(|function| function.itself).sum::<u64>()
        };
        assert_eq!(itself(&one), itself(&other), "seed {seed}");
        for (one, other) in before.event_loops().zip(recording.event_loops()) {
            for (one_sample, other_sample) in one.samples().iter().zip(other.samples()) {
                let depth = |event_loop: &EventLoop, sample: &Sample| {
                    event_loop.frames_of(sample.stack).len()
                };
                assert_eq!(depth(one, one_sample), depth(other, other_sample));
                assert_eq!(one_sample.time, other_sample.time);
            }
        }
        let mut text = Vec::new();
        Format::Html.write(&recording, &mut text).unwrap();
        let (read, _) = read(&text, None, None).unwrap();
        assert_eq!(Totals::of(&read), other);
    }
}

#[test]
fn wrong_generated_places_are_refused() {
    let mut event_loop = EventLoop::new("page", EventLoopKind::Unknown);
    let function = script_function(&mut event_loop, (URL, "f"), (1, 2));
    sample(&mut event_loop, None, &function, None);
    let (recording, _) = mapped(&of_one(event_loop), MAP);
    let mut text = Vec::new();
    profile_formats::write_viewer_data(&recording, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let right = r#""generated":{"name":["f"],"resource":[0],"line":[1],"column":[2]}"#;
    assert!(text.contains(right), "{text}");
    for (part, wrong, place) in [
        (r#"name":["f"]"#, r#"name":[]"#, "functions.generated.name"),
        (r#"line":[1]"#, r#"line":[1,1]"#, "functions.generated.line"),
        (
            r#"resource":[0]"#,
            r#"resource":[7]"#,
            "functions.generated.resource[0]",
        ),
        (
            r#"column":[2]"#,
            r#"column":[-2]"#,
            "functions.generated.column[0]",
        ),
    ] {
        let wrong = text.replace(right, &right.replace(part, wrong));
        let page = format!(
            "<!DOCTYPE html>\n<script type=\"application/json\" id=\"recording\">{wrong}</script>\n"
        );
        let error = read(page.as_bytes(), None, Some(Format::Html)).unwrap_err();
        assert!(error.to_string().contains(place), "{error}");
    }
}

#[test]
fn scripts_of_this_machine_have_the_maps_that_they_link_to() {
    let folder = tempfile::tempdir().unwrap();
    let site = folder.path().canonicalize().unwrap();
    let map = r#"{"version":3,"sources":["../src/a.ts"],"names":["alpha"],"mappings":"AAEAA"}"#;
    fs::create_dir_all(site.join("dist/maps")).unwrap();
    fs::write(site.join("dist/maps/app.map"), map).unwrap();
    fs::write(site.join("b.js.map"), map).unwrap();
    for (name, link) in [
        ("dist/app.js", "maps/app.map"),
        ("dist/b.js", "../b.js.map"),
        ("dist/c.js", "c.js.map"),
    ] {
        let text = format!("u()\n//# sourceMappingURL={link}\n");
        fs::write(site.join(name), text).unwrap();
    }
    let url = |name: &str| String::from(Url::from_file_path(site.join(name)).unwrap());
    let names = ["dist/app.js", "dist/b.js", "dist/c.js"];
    let mut folded = "u (https://a.test/app.js:1:2) 1\n".to_owned();
    for name in names {
        folded += &format!("u ({}:1:2) 1\n", url(name));
    }
    let (mut recording, _) = read(folded.as_bytes(), None, Some(Format::Collapsed)).unwrap();
    let notices = apply_maps_beside(&mut recording, &deadline_of_maps());
    let written: Vec<_> = Totals::of(&recording)
        .functions
        .into_keys()
        .map(|function| {
            (
                function.name.to_owned(),
                function.resource.unwrap().to_owned(),
            )
        })
        .collect();
    let original = ("alpha".to_owned(), url("dist/src/a.ts"));
    assert!(written.contains(&original), "{written:?}");
    for resource in [
        "https://a.test/app.js",
        &url("dist/b.js"),
        &url("dist/c.js"),
    ] {
        let generated = ("u".to_owned(), resource.to_owned());
        assert!(written.contains(&generated), "{generated:?} in {written:?}");
    }
    let notices: Vec<_> = notices.iter().map(ToString::to_string).collect();
    assert_eq!(notices.len(), 2, "{notices:?}");
    assert!(
        notices[0].contains("outside of the script's folder"),
        "{notices:?}"
    );
    assert!(notices[1].contains("c.js.map: No such file"), "{notices:?}");
}
