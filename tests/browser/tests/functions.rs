/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The names and places of functions.

use std::collections::HashMap;
use std::fmt::Write as _;

use browser_tests::{Edges, Position, Site, Source, Trace, visit_allowed};

#[test]
fn every_kind_of_function_has_its_name_and_place() {
    let site = Site::allowing().serve();
    let trace = Trace::read(&site.visit("/positions.html").run());
    let source = Source::of_page("positions.js");
    let url = site.url("/positions.js");
    let functions = [
        ("declared", "function declared("),
        ("named", "function named ("),
        ("inferred", "const inferred = function ("),
        ("arrow", "const arrow = ("),
        ("method", "  method("),
        ("get accessor", "get accessor("),
        ("set accessor", "set accessor("),
        ("quoted name", "\"quoted name\"("),
        ("generator", "*generator("),
        ("Shape", "constructor("),
        ("area", "  area("),
        ("unit", "static unit("),
        ("#hidden", "  #hidden("),
        ("ünïcödé", "function ünïcödé("),
        ("innerFunction", "function innerFunction("),
        ("onTwoLines", "function onTwoLines\n  ("),
    ];
    let mut wrong = Vec::new();
    for (name, definition) in functions {
        let frames: Vec<_> = trace.frames.iter().filter(|f| f.name == name).collect();
        let expected = source.parameters_of(definition);
        let is_right = matches!(frames[..], [frame] if frame.position() == Some(expected)
            && frame.resource_id.is_some_and(|id| trace.resources[id] == url));
        if !is_right {
            wrong.push(format!("{name} at {expected:?}: {frames:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    // Two functions have no name: the test's own, and one that is passed as an argument.
    let unnamed: Vec<_> = trace.frames.iter().filter(|f| f.name.is_empty()).collect();
    let mut places: Vec<_> = unnamed.iter().filter_map(|f| f.position()).collect();
    places.sort_by_key(|place| place.line);
    let callback = source.parameters_of("callEach((");
    assert_eq!(places.len(), 2, "{unnamed:?}");
    assert_eq!(places[0], callback);
    Edges::parse(
        "(root) > (anonymous)
        (anonymous) > everything, work
        everything > declared, named, inferred, arrow, method, get accessor, set accessor
        everything > quoted name, generator, Shape, area, unit, callHidden, ünïcödé
        everything > outerFunction, onTwoLines, callEach
        callHidden > #hidden
        outerFunction > innerFunction
        callEach > (anonymous)
        declared > work
        named > work
        inferred > work
        arrow > work
        method > work
        get accessor > work
        set accessor > work
        quoted name > work
        generator > work
        Shape > work
        area > work
        unit > work
        #hidden > work
        ünïcödé > work
        innerFunction > work
        onTwoLines > work",
    )
    .assert_hold(&trace);
}

const FUNCTION_COUNT: usize = 10_000;

/// A script with many functions, and their positions.
#[derive(Default)]
struct GeneratedScript {
    text: String,
    line: u32,
    line_start: usize,
    places: HashMap<String, Position>,
}

impl GeneratedScript {
    fn push(&mut self, text: &str) {
        self.line += text.matches('\n').count() as u32;
        if let Some(newline) = text.rfind('\n') {
            self.line_start = self.text.len() + newline + 1;
        }
        self.text.push_str(text);
    }

    /// Adds a function whose parameter list begins after `start`.
    fn push_function(&mut self, name: &str, start: &str, end: &str) {
        self.push(start);
        let column = self.text[self.line_start..].encode_utf16().count() as u32 + 1;
        let place = Position {
            line: self.line + 1,
            column,
        };
        let before = self.places.insert(name.to_owned(), place);
        assert_eq!(before, None, "{name}");
        self.push(
            "(x) { for (let i = 0; i < 2000; i++) { x = (Math.imul(x, 31) + i) | 0; } return x; }",
        );
        self.push(end);
    }

    fn with_functions(count: usize) -> Self {
        let mut script = Self::default();
        script.push("\"use strict\";\n\nconst functions = [];\n\n");
        for i in 0..count {
            let indent = " ".repeat(i % 40);
            let name = format!("f{i}");
            match i % 5 {
                0 => script.push_function(&name, &format!("{indent}function f{i}"), "\n"),
                // Several functions are on one line.
                1 => script.push_function(&name, &format!("function f{i}"), " "),
                2 => script.push_function(&name, &format!("/* ü😀 */ function f{i}"), "\n\n"),
                3 => script.push_function(&name, &format!("const f{i} = {{\n{indent}f{i}"), "}.f"),
                _ => script.push_function(&name, &format!("const f{i} = function "), ";\n"),
            }
            if i % 5 == 3 {
                script.push(&format!("{i};\n"));
            }
        }
        script.push("functions.push(\n");
        for i in 0..count {
            let mut line = String::new();
            writeln!(line, "  f{i},").expect("a string takes it");
            script.push(&line);
        }
        script.push(
            ");

function callAll(milliseconds) {
  const end = performance.now() + milliseconds;
  let x = 1;
  for (let i = 0; performance.now() < end; i = (i + 1) % functions.length) {
    x = functions[i](x);
  }
  return x;
}
",
        );
        script
    }
}

#[test]
fn ten_thousand_functions_have_their_names_and_places() {
    let script = GeneratedScript::with_functions(FUNCTION_COUNT);
    let places = script.places;
    let site = Site::allowing()
        .generated("/many-functions-generated.js", script.text)
        .serve();
    let trace = Trace::read(&site.visit("/many-functions.html").run());
    let url = site.url("/many-functions-generated.js");
    let mut seen = 0;
    for frame in &trace.frames {
        if let Some(place) = places.get(&frame.name) {
            assert_eq!(frame.position(), Some(*place), "{frame:?}");
            assert_eq!(trace.resources[frame.resource_id.unwrap()], url);
            seen += 1;
        } else if frame.resource_id.is_some() {
            assert!(
                ["(anonymous)", "callAll"].contains(&frame.label()),
                "{frame:?}"
            );
        }
    }
    assert!(seen > 100, "{seen} functions were seen");
    for mut stack in trace.stacks_of_samples() {
        stack.retain(|label| !["now", "get performance", "imul", "Profiler"].contains(label));
        let is_right = match stack[..] {
            ["(anonymous)"] | ["(anonymous)", "callAll"] => true,
            ["(anonymous)", "callAll", name] => places.contains_key(name),
            ["(anonymous)", "stop"] => true,
            _ => false,
        };
        assert!(is_right, "{stack:?}");
    }
}

#[test]
fn functions_of_eval_have_names_but_no_place_and_are_under_their_caller() {
    let trace = Trace::read(&visit_allowed("/eval.html"));
    Edges::parse(
        "(root) > (anonymous)
        (anonymous) > evaluate, evaluateGlobally, callMade, callMadeGenerator
        evaluate > (eval)
        evaluateGlobally > (eval)
        (eval) > evaluated, global, work
        evaluated > evaluatedInner
        evaluatedInner > work
        global > work
        callMade > anonymous
        callMadeGenerator > anonymous
        anonymous > work",
    )
    .assert_hold(&trace);
    for name in ["evaluated", "evaluatedInner", "global", "anonymous"] {
        let frame = trace.frame(name);
        assert_eq!(frame.resource_id, None, "{frame:?}");
        assert_eq!(frame.position(), None, "{frame:?}");
    }
    for (name, path) in [
        (
            "evaluatedInner",
            &["evaluate", "(eval)", "evaluated", "evaluatedInner"][..],
        ),
        ("global", &["evaluateGlobally", "(eval)", "global"]),
    ] {
        let expected: Vec<_> = ["(anonymous)"].iter().chain(path).copied().collect();
        assert_eq!(trace.paths_to(name), [expected].into());
    }
}

#[test]
fn a_function_that_was_collected_has_its_name_and_place() {
    let site = Site::allowing().serve();
    let result = site
        .visit("/collected.html")
        .preference("expose_servointernals_globally=true")
        .run();
    let trace = Trace::read(&result);
    let frame = trace.frame("collectedFunction");
    let source = Source::of_page("collected.js");
    assert_eq!(
        frame.position(),
        Some(source.parameters_of("    collectedFunction("))
    );
    assert_eq!(
        trace.resources[frame.resource_id.unwrap()],
        site.url("/collected.js")
    );
}
