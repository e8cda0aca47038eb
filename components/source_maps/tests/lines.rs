/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Lines of scripts without columns.

use source_maps::{CodeOf, Deadline, MappedLines, Place, SourceMap};
use sourcemap::SourceMapBuilder;

const SOURCE: &str = "function outer(a) {
  let b = a;
  function inner(c) {
    return c;
  }
  return inner(b);
}
outer(1);
outer(2);
";

/// Where `outer` and `inner` are defined in the script: their brackets.
const OUTER: Place = Place {
    line: 1,
    column: 15,
};
const INNER: Place = Place {
    line: 1,
    column: 41,
};

/// Mappings from a line and a column of the script to a source, and a line and a column of it, from 0 on.
type Mapping = (u32, u32, &'static str, u32, u32);

/// All of the source is on the first line of the script. On the others, there are parts of it.
const MAPPINGS: [Mapping; 12] = [
    (0, 0, "a.ts", 0, 0),
    (0, 14, "a.ts", 0, 14),
    (0, 20, "a.ts", 1, 2),
    (0, 40, "a.ts", 2, 16),
    (0, 50, "a.ts", 3, 4),
    (0, 60, "a.ts", 5, 2),
    (0, 80, "a.ts", 7, 0),
    (0, 90, "a.ts", 8, 0),
    (1, 0, "a.ts", 5, 2),
    (1, 9, "a.ts", 5, 9),
    (3, 0, "a.ts", 8, 0),
    (3, 9, "b.ts", 7, 0),
];

fn json_of(mappings: &[Mapping], text: Option<&str>) -> String {
    let mut builder = SourceMapBuilder::new(None);
    for &(line, column, source, original_line, original_column) in mappings {
        builder.add(
            line,
            column,
            original_line,
            original_column,
            Some(source),
            None,
            false,
        );
    }
    for source in ["a.ts", "b.ts"] {
        let id = builder.add_source(source);
        builder.set_source_contents(id, text);
    }
    let mut json = Vec::new();
    builder.into_sourcemap().to_writer(&mut json).unwrap();
    String::from_utf8(json).unwrap()
}

fn read(json: &str) -> SourceMap {
    SourceMap::read(json.as_bytes(), "a.map", None, &Deadline::none()).unwrap()
}

/// The source, and the first and the last line.
fn lines(map: &SourceMap, code: CodeOf, line: u32) -> Option<(&str, u32, u32)> {
    let deadline = Deadline::none();
    let lines = MappedLines::of(map, &deadline).original(code, line)?;
    // The URL is the map's.
    let url = map.sources().find(|source| *source == lines.source);
    Some((url?.url, lines.first, lines.last))
}

#[test]
fn only_mappings_to_the_function_itself_count() {
    let map = read(&json_of(&MAPPINGS, Some(SOURCE)));
    for (code, line, expected) in [
        (CodeOf::Function(OUTER), 1, Some(("a.ts", 1, 6))),
        (CodeOf::Function(INNER), 1, Some(("a.ts", 3, 4))),
        (CodeOf::TopLevel, 1, Some(("a.ts", 8, 9))),
        // All mappings of the line are to one line.
        (CodeOf::Function(OUTER), 2, Some(("a.ts", 6, 6))),
        (CodeOf::Function(INNER), 2, None),
        (CodeOf::TopLevel, 2, None),
        // There are no mappings.
        (CodeOf::Function(OUTER), 3, None),
        (CodeOf::TopLevel, 3, None),
        // It is in two files.
        (CodeOf::TopLevel, 4, None),
        (CodeOf::TopLevel, 0, None),
        (CodeOf::TopLevel, u32::MAX, None),
    ] {
        assert_eq!(lines(&map, code, line), expected, "{code:?} in {line}");
    }
    // No function is defined there.
    let elsewhere = CodeOf::Function(Place {
        line: 1,
        column: 81,
    });
    assert_eq!(lines(&map, elsewhere, 1), None);
}

/// esbuild maps the name that it gives to such a function to the word before it.
#[test]
fn a_default_function_has_lines_by_the_word_before_it() {
    let text = "export default function (a) {\n  return a;\n}\n";
    let mappings = [
        (0, 0, "a.ts", 0, 15),
        (0, 9, "a.ts", 0, 7),
        (0, 13, "a.ts", 0, 25),
        (0, 17, "a.ts", 1, 2),
    ];
    let map = read(&json_of(&mappings, Some(text)));
    let of = |column| CodeOf::Function(Place { line: 1, column });
    assert_eq!(lines(&map, of(12), 1), Some(("a.ts", 1, 2)));
}

/// As Closure Compiler maps that of a getter.
#[test]
fn a_function_whose_bracket_is_mapped_to_its_body_has_lines() {
    let text = "class A {\n  get size() {\n    return 1;\n  }\n}\n";
    let mappings = [
        (0, 0, "a.ts", 1, 6),
        (0, 8, "a.ts", 1, 13),
        (0, 11, "a.ts", 2, 4),
    ];
    let map = read(&json_of(&mappings, Some(text)));
    let of = |column| CodeOf::Function(Place { line: 1, column });
    assert_eq!(lines(&map, of(9), 1), Some(("a.ts", 2, 3)));
}

#[test]
fn without_the_text_all_mappings_to_the_source_count_below_the_definition() {
    let map = read(&json_of(&MAPPINGS, None));
    for (code, line, expected) in [
        (CodeOf::Function(OUTER), 1, None),
        (CodeOf::Function(OUTER), 2, Some(("a.ts", 6, 6))),
        // Those to the other source do not count.
        (CodeOf::Function(OUTER), 4, Some(("a.ts", 9, 9))),
        (CodeOf::TopLevel, 1, None),
    ] {
        assert_eq!(lines(&map, code, line), expected, "{code:?} in {line}");
    }
}

#[test]
fn each_section_has_lines_of_its_own() {
    let part = json_of(&MAPPINGS[..8], Some(SOURCE));
    let map = read(&format!(
        r#"{{"version":3,"sections":[{{"offset":{{"line":0,"column":0}},"map":{part}}},{{"offset":{{"line":5,"column":7}},"map":{part}}}]}}"#
    ));
    let second = CodeOf::Function(Place {
        line: 6,
        column: OUTER.column + 7,
    });
    assert_eq!(lines(&map, second, 6), Some(("a.ts", 1, 6)));
    assert_eq!(lines(&map, CodeOf::Function(OUTER), 6), None);
    assert_eq!(
        lines(&map, CodeOf::Function(OUTER), 1),
        Some(("a.ts", 1, 6))
    );
    assert_eq!(lines(&map, second, 1), None);
}

#[test]
fn after_the_deadline_there_are_none() {
    let map = read(&json_of(&MAPPINGS, Some(SOURCE)));
    let passed = Deadline::none().or_when(|| Some("somebody is in a hurry".to_owned()));
    let mut of_map = MappedLines::of(&map, &passed);
    assert_eq!(of_map.original(CodeOf::Function(OUTER), 1), None);
    assert_eq!(of_map.original(CodeOf::TopLevel, 1), None);
}

#[test]
#[cfg_attr(miri, ignore = "it is too large")]
fn a_line_of_very_many_functions_has_no_place() {
    let functions = |count: u32| {
        let text = "function f( ){}\n".repeat(count as usize);
        let mappings: Vec<Mapping> = (0..count)
            .map(|line| (0, 2 * line, "a.ts", line, 10))
            .collect();
        read(&json_of(&mappings, Some(&text)))
    };
    let first = CodeOf::Function(Place { line: 1, column: 1 });
    assert_eq!(lines(&functions(500_000), first, 1), Some(("a.ts", 1, 1)));
    assert_eq!(lines(&functions(500_001), first, 1), None);
}
