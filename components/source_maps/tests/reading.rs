/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Maps that are written by hand: what is legal, and what is wrong.

mod broken_maps;

use source_maps::{Deadline, GeneratedFunction, MAX_MAP_BYTES, Original, Place, SourceMap};
use url::Url;

use self::broken_maps::{MAP, broken_maps};

fn read(content: &str) -> SourceMap {
    let base = Url::parse("https://a.test/js/app.js.map").unwrap();
    SourceMap::read(
        content.as_bytes(),
        base.as_str(),
        Some(&base),
        &Deadline::none(),
    )
    .unwrap()
}

fn at(map: &SourceMap, line: u32, column: u32) -> Option<(String, u32, u32, Option<String>)> {
    let Original {
        source,
        line,
        column,
        name,
    } = map.original(Place { line, column })?;
    Some((source.url.to_owned(), line, column, name.map(str::to_owned)))
}

fn url_of_first_source(content: &str) -> String {
    read(content).sources().next().unwrap().url.to_owned()
}

#[test]
fn what_is_odd_and_legal_is_read() {
    let expected = Some((
        "https://a.test/js/a.ts".to_owned(),
        1,
        1,
        Some("alpha".to_owned()),
    ));
    let with = |field: &str| MAP.replacen('{', &format!("{{{field},"), 1);
    for content in [
        MAP.to_owned(),
        format!("\u{feff}{MAP}"),
        format!(")]}}'\n{MAP}"),
        format!(")]}}' garbage {{\r\n{MAP}"),
        format!("\n  {MAP}\r\n"),
        with(r#""file":7"#),
        with(
            r#""file":null,"sourceRoot":null,"sourcesContent":null,"ignoreList":null,"x_facebook_sources":null"#,
        ),
        with(r#""sourcesContent":[]"#),
        with(r#""sourcesContent":[null]"#),
        with(r#""sourcesContent":["a","b"]"#),
        // What is not read.
        with(r#""ignoreList":[0,7]"#),
        with(r#""ignoreList":"a""#),
        // What ECMA-426 does not know, or not yet.
        with(r#""x_own":{"a":[1,{}]},"debug_id":"no id","rangeMappings":"!","sources_hash":1"#),
        MAP.replace("AAAAA", ";;"),
        MAP.replace("AAAAA", "AAAAA,,"),
        MAP.replace(r#"["alpha"]"#, r#"["alpha",7,null]"#),
        MAP.replace("AAAAA", "\\u0041AAAA"),
    ] {
        let map = read(&content);
        assert_eq!(map.notices(), [], "{content}");
        match content.contains(";;") {
            true => assert_eq!(at(&map, 1, 1), None),
            false => assert_eq!(at(&map, 1, 1), expected, "{content}"),
        }
    }
}

#[test]
fn a_broken_map_is_a_notice_that_names_it() {
    for (content, why) in broken_maps() {
        let notice = SourceMap::read(
            content.as_bytes(),
            "https://a.test/a.map",
            None,
            &Deadline::none(),
        )
        .unwrap_err();
        assert_eq!(notice.name, "https://a.test/a.map");
        assert!(notice.why.starts_with(why), "{content}\n{notice}\n{why}");
        assert!(!notice.why.ends_with('.'), "{notice}");
    }
}

#[test]
fn a_mapping_to_what_is_not_there_costs_that_mapping() {
    for wrong in ["ACAA", "ADAA", "AADA", "AAAD"] {
        // The second one is wrong, and the third one goes on from it.
        let back: String = wrong
            .chars()
            .map(|digit| match digit {
                'C' => 'D',
                'D' => 'C',
                digit => digit,
            })
            .collect();
        let mappings = format!("AAAAA,C{},C{}A,CAACA", &wrong[1..], &back[1..]);
        let map = read(&MAP.replace("AAAAA", &mappings));
        let notices: Vec<_> = map.notices().iter().map(ToString::to_string).collect();
        assert_eq!(notices.len(), 1, "{wrong}");
        assert!(
            notices[0].contains("1 of its mappings are left out"),
            "{notices:?}"
        );
        let places = [1, 2, 3, 4].map(|column| {
            let original = map.original(Place { line: 1, column });
            original.map(|original| (original.line, original.column, original.name))
        });
        let alpha = Some("alpha");
        assert_eq!(
            places,
            [
                Some((1, 1, alpha)),
                None,
                Some((1, 1, alpha)),
                Some((1, 2, alpha))
            ],
            "{wrong}"
        );
    }
    let map = read(&MAP.replace("AAAAA", "AAAAA,CAACC,CAACD"));
    assert_eq!(map.notices().len(), 1);
    let found = [1, 2, 3].map(|column| {
        let original = map.original(Place { line: 1, column }).unwrap();
        original.name
    });
    assert_eq!(found, [Some("alpha"), None, Some("alpha")]);
}

#[test]
fn a_name_in_the_text_counts_more_than_anonymous_in_a_table() {
    let name = |text: &str, in_table: &str| {
        let map = read(&format!(
            r#"{{"version":3,"sources":["a.js"],"sourcesContent":["{text}"],"names":[],"mappings":"iBAAiB","x_facebook_sources":[[{{"names":["<global>","{in_table}"],"mappings":"AAA,UCA"}}]]}}"#
        ));
        let function = GeneratedFunction {
            name: "h",
            definition: Some(Place {
                line: 1,
                column: 18,
            }),
            running: &[],
        };
        map.function_name(&function).map(|name| name.into_owned())
    };
    let text = "class A { #hidden(x) { return x; } }";
    assert_eq!(name(text, "<anonymous>").as_deref(), Some("#hidden"));
    assert_eq!(name(text, "A#hidden").as_deref(), Some("A#hidden"));
    let text = "/* noname */ run((x) => { return x; });";
    assert_eq!(name(text, "<anonymous>").as_deref(), Some(""));
}

#[test]
fn no_byte_of_a_map_makes_it_panic() {
    let index =
        format!(r#"{{"version":3,"sections":[{{"offset":{{"line":0,"column":0}},"map":{MAP}}}]}}"#);
    for map in [MAP, &index] {
        for at in (0..map.len()).step_by(if cfg!(miri) { 17 } else { 1 }) {
            for byte in [0, b'0', b'A', b'g', b'"', b'[', b'{', b',', 0xff] {
                let mut content = map.as_bytes().to_vec();
                content[at] = byte;
                if let Ok(map) = SourceMap::read(&content, "a.map", None, &Deadline::none()) {
                    map.original(Place { line: 1, column: 1 });
                }
                _ = SourceMap::read(&content[..at], "a.map", None, &Deadline::none());
            }
        }
    }
}

#[test]
fn a_long_url_is_cut_and_the_cut_is_marked() {
    for source in [
        "ä".repeat(1_000_000),
        format!("https://b.test/{}.ts", "a".repeat(1_000_000)),
        // It is short before it is resolved.
        "ä".repeat(20_000),
    ] {
        let content = MAP.replace("a.ts", &source);
        let base = Url::parse("https://a.test/a.map").unwrap();
        let map = SourceMap::read(content.as_bytes(), "a.map", Some(&base), &Deadline::none());
        let map = map.unwrap();
        let url = map.sources().next().unwrap().url;
        assert!((65_500..=65_536).contains(&url.len()), "{}", url.len());
        assert!(
            url.ends_with('…') || url.ends_with("%E2%80%A6"),
            "{}",
            &url[65_400..]
        );
    }
}

#[test]
fn reading_ends_when_the_deadline_passes() {
    let passed = Deadline::none().or_when(|| Some("somebody is in a hurry".to_owned()));
    let notice = SourceMap::read(MAP.as_bytes(), "a.map", None, &passed).unwrap_err();
    assert_eq!(notice.to_string(), "a.map: somebody is in a hurry");
}

#[test]
#[cfg_attr(miri, ignore = "it is too large")]
fn what_is_too_large_is_a_notice() {
    let why = |content: &[u8]| {
        SourceMap::read(content, "a.map", None, &Deadline::none())
            .unwrap_err()
            .why
    };
    assert_eq!(
        why(&vec![b' '; MAX_MAP_BYTES as usize + 1]),
        "the source map has 100000001 bytes; more than 100000000 are not read"
    );
    for (from, to, expected) in [
        (
            "AAAAA",
            ";".repeat(8_000_000),
            "it has more than 8000000 mappings",
        ),
        (
            "AAAAA",
            ",".repeat(8_000_000),
            "it has more than 8000000 mappings",
        ),
        (
            r#""alpha""#,
            format!("1{}", ",1".repeat(2_000_000)),
            "it has 2000001 names; more than 2000000 are not read",
        ),
        (
            r#""a.ts""#,
            format!("null{}", ",null".repeat(2_000_000)),
            "it has 2000001 sources; more than 2000000",
        ),
        (
            r#"["a.ts"]"#,
            format!(
                r#"["a"{}],"sourceRoot":"{}""#,
                r#","a""#.repeat(2_000),
                "a".repeat(40_000)
            ),
            "the URLs of its sources have more than 64000000 bytes",
        ),
    ] {
        let content = MAP.replace(from, &to);
        assert!(why(content.as_bytes()).starts_with(expected), "{expected}");
    }
    let sections = r#"{"offset":{"line":0,"column":0}},"#.repeat(100_001);
    let sections = format!(
        r#"{{"version":3,"sections":[{}]}}"#,
        sections.trim_end_matches(',')
    );
    assert_eq!(
        why(sections.as_bytes()),
        "it has 100001 sections; more than 100000 are not read"
    );

    // The sections together, of which each is small enough.
    let of_sections = |mappings: usize, sources: usize| {
        let section = |line: u32| {
            format!(
                r#"{{"offset":{{"line":{line},"column":0}},"map":{{"version":3,"sources":[{}],"mappings":"{}"}}}}"#,
                vec!["null"; sources].join(","),
                vec!["A"; mappings].join(",")
            )
        };
        format!(
            r#"{{"version":3,"sections":[{},{}]}}"#,
            section(0),
            section(1)
        )
    };
    for (mappings, sources) in [(4_000_001, 1), (1, 1_000_001)] {
        assert_eq!(
            why(of_sections(mappings, sources).as_bytes()),
            "it has more than 8000000 mappings or 2000000 sources"
        );
    }
    read(&of_sections(1, 1_000_000));

    // The rest is used.
    let long = " ".repeat(10_000_001);
    let scopes = MAP.replacen('{', &format!("{{\"scopes\":\"{long}\","), 1);
    let functions = MAP.replacen('{', &format!("{{\"x_facebook_sources\":[{long}],"), 1);
    for (content, why) in [
        (
            scopes,
            "its scopes are not read: they have more than 10000000 bytes",
        ),
        (
            functions,
            "its x_facebook_sources are not read: they have more than 10000000 bytes",
        ),
    ] {
        let map = read(&content);
        assert_eq!(map.notices()[0].why, why);
        assert!(at(&map, 1, 1).is_some());
    }
}

#[test]
fn sources_are_resolved_against_the_map() {
    let with = |root: &str, source: &str| {
        let root = format!(r#"{{"sourceRoot":"{root}","#);
        MAP.replacen('{', &root, 1).replace("a.ts", source)
    };
    for (root, source, url) in [
        ("", "a.ts", "https://a.test/js/a.ts"),
        ("", "../src/a.ts", "https://a.test/src/a.ts"),
        ("", "../../../a.ts", "https://a.test/a.ts"),
        ("", "/a.ts", "https://a.test/a.ts"),
        ("", "https://b.test/a.ts", "https://b.test/a.ts"),
        (
            "",
            "webpack://app/./src/a.ts?1234",
            "webpack://app/src/a.ts?1234",
        ),
        ("src", "a.ts", "https://a.test/js/src/a.ts"),
        ("src/", "a.ts", "https://a.test/js/src/a.ts"),
        ("/", "a.ts", "https://a.test/a.ts"),
        ("https://b.test/x", "a.ts", "https://b.test/x/a.ts"),
        // It is prepended, whatever the source looks like.
        ("src", "/a.ts", "https://a.test/js/src//a.ts"),
        (
            "",
            "größe 😀.ts",
            "https://a.test/js/gr%C3%B6%C3%9Fe%20%F0%9F%98%80.ts",
        ),
        ("", "http://[", "http://["),
    ] {
        assert_eq!(
            url_of_first_source(&with(root, source)),
            url,
            "{root} {source}"
        );
    }
    // Without a URL it stays a path.
    for (root, source, path) in [
        ("", "../src/a.ts", "../src/a.ts"),
        ("lib", "a.ts", "lib/a.ts"),
    ] {
        let map = SourceMap::read(
            with(root, source).as_bytes(),
            "dist/a.map",
            None,
            &Deadline::none(),
        )
        .unwrap();
        assert_eq!(map.sources().next().unwrap().url, path);
    }
    // A source without a name has no place; the others keep theirs.
    let map = read(
        &MAP.replace(r#""a.ts""#, r#"null,"b.ts""#)
            .replace("AAAAA", "AAAA,CCAA"),
    );
    assert_eq!(at(&map, 1, 1), None);
    assert_eq!(at(&map, 1, 2).unwrap().0, "https://a.test/js/b.ts");
    assert_eq!(map.sources().count(), 1);
}

#[test]
fn a_place_belongs_to_the_mapping_before_it_on_its_line() {
    // Line 1: column 5 is line 1, column 1; column 11 is unmapped. Line 3: column 1 is line 4, column 3.
    let map = read(&MAP.replace("AAAAA", "IAAAA,M;;AAGE"));
    for (line, column, original) in [
        (1, 1, None),
        (1, 4, None),
        (1, 5, Some((1, 1))),
        (1, 10, Some((1, 1))),
        (1, 11, None),
        (1, 4_000_000_000, None),
        (2, 1, None),
        (3, 1, Some((4, 3))),
        (3, u32::MAX, Some((4, 3))),
        (4, 1, None),
        (u32::MAX, u32::MAX, None),
        (0, 1, None),
        (1, 0, None),
    ] {
        let found = at(&map, line, column).map(|(_, line, column, _)| (line, column));
        assert_eq!(found, original, "{line}:{column}");
    }
    // They need not be in order.
    let map = read(&MAP.replace("AAAAA", "UAAK,LAAK"));
    assert_eq!(at(&map, 1, 6).unwrap().2, 11);
    assert_eq!(at(&map, 1, 11).unwrap().2, 6);
}

#[test]
fn the_sections_of_an_index_map_have_their_own_places() {
    let section = |line: u32, column: u32, map: &str| {
        format!(r#"{{"offset":{{"line":{line},"column":{column}}},"map":{map}}}"#)
    };
    let content = format!(
        r#"{{"version":3,"file":"app.js","sections":[{},{},{}]}}"#,
        section(0, 10, &MAP.replace("AAAAA", "AAAAA,EAEE")),
        section(
            2,
            4,
            &MAP.replace("a.ts", "b.ts").replace("AAAAA", "AAAAA;CAEC")
        ),
        section(5, 0, r#"{"version":3,"sources":[],"mappings":""}"#),
    );
    let map = read(&content);
    let urls: Vec<_> = map.sources().map(|source| source.url).collect();
    assert_eq!(urls, ["https://a.test/js/a.ts", "https://a.test/js/b.ts"]);
    for (line, column, original) in [
        (1, 10, None),
        (1, 11, Some(("a.ts", 1, 1))),
        (1, 12, Some(("a.ts", 1, 1))),
        (1, 13, Some(("a.ts", 3, 3))),
        (1, 99, Some(("a.ts", 3, 3))),
        (2, 1, None),
        (3, 4, None),
        (3, 5, Some(("b.ts", 1, 1))),
        (4, 1, None),
        (4, 2, Some(("b.ts", 3, 2))),
        (6, 1, None),
    ] {
        let found = at(&map, line, column);
        let found = found
            .as_ref()
            .map(|(url, line, column, _)| (url.rsplit('/').next().unwrap(), *line, *column));
        assert_eq!(found, original, "{line}:{column}");
    }
    // An empty one, too, is a map.
    let map = read(r#"{"version":3,"sections":[]}"#);
    assert_eq!((at(&map, 1, 1), map.sources().count()), (None, 0));
}

#[test]
fn columns_are_in_utf_16() {
    // `"😀";f` is mapped at `f`, which is column 6 on both sides, to `"😀";go`.
    let content = MAP
        .replacen(
            '{',
            r#"{"sourcesContent":["\"😀\";function go(a) { }"],"#,
            1,
        )
        .replace("AAAAA", "KAAcA");
    let map = read(&content);
    assert_eq!(at(&map, 1, 5), None);
    assert_eq!(at(&map, 1, 6).unwrap().2, 15);
    let function = GeneratedFunction {
        name: "",
        definition: Some(Place { line: 1, column: 6 }),
        running: &[],
    };
    assert_eq!(map.function_name(&function).as_deref(), Some("go"));
}

#[test]
fn a_map_of_react_native_names_its_functions() {
    let map = MAP.replacen(
        '{',
        r#"{"x_facebook_sources":[[{"names":["<global>","Screen#render"],"mappings":"AAA;ECC"}]],"#,
        1,
    );
    let map = read(&map.replace("AAAAA", "AAAAA,IACEA"));
    let name = |column| {
        let function = GeneratedFunction {
            name: "",
            definition: Some(Place { line: 1, column }),
            running: &[],
        };
        map.function_name(&function).map(|name| name.into_owned())
    };
    assert_eq!(name(1), None);
    assert_eq!(name(5).as_deref(), Some("Screen#render"));
}

#[test]
fn the_mapping_of_the_functions_name_names_it() {
    // Of `t=a=>…` and of `function t(…`.
    let map = read(&MAP.replace("AAAAA", "CAAAA;SAAAA,CAAC"));
    let name = |generated, line, column| {
        let function = GeneratedFunction {
            name: generated,
            definition: Some(Place { line, column }),
            running: &[],
        };
        map.function_name(&function).map(|name| name.into_owned())
    };
    let alpha = Some("alpha".to_owned());
    assert_eq!(name("t", 1, 4), alpha);
    assert_eq!(name("t", 2, 11), alpha);
    for (generated, line, column) in [
        ("t", 1, 5),
        ("t", 1, 2),
        ("t/<", 1, 6),
        ("", 1, 2),
        ("t", 2, 10),
    ] {
        assert_eq!(
            name(generated, line, column),
            None,
            "{generated} {line}:{column}"
        );
    }
}

/// Reads a map of one mapping whose source has this text.
fn read_with_text(text: &str, mappings: &str) -> SourceMap {
    let map: serde_json::Value = serde_json::json!({
        "version": 3,
        "sources": ["a.ts"],
        "sourcesContent": [text],
        "names": [],
        "mappings": mappings,
    });
    read(&map.to_string())
}

fn name_of(
    map: &SourceMap,
    name: &str,
    definition: Option<u32>,
    running: &[u32],
) -> Option<String> {
    let place = |column| Place { line: 1, column };
    let running: Vec<_> = running.iter().copied().map(place).collect();
    let function = GeneratedFunction {
        name,
        definition: definition.map(place),
        running: &running,
    };
    map.function_name(&function).map(|name| name.into_owned())
}

/// As in TypeScript's compiler, which is such a file.
#[test]
fn functions_of_a_source_of_nine_megabytes_have_their_names() {
    let line = "class Shape { constructor(side) { this.side = [side].map((one) => one + 1); } }";
    let mut text = format!("{line}\n");
    while text.len() < 9_200_000 {
        text.push_str("function other(a) { return a in [a]; } // Not mapped.\n");
    }
    let column = line.find("(side)").unwrap() as u32;
    assert_eq!(column, 25);
    let map = read_with_text(&text, "AAAyB");
    assert_eq!(name_of(&map, "H8", Some(1), &[]).as_deref(), Some("Shape"));
}

#[test]
fn a_function_without_any_name_has_no_generated_one() {
    let text = "const types = { q: new Type('q', function (p) { return p; }) };";
    let column = text.find("(p)").unwrap() as u32;
    assert_eq!(column, 42);
    let map = read_with_text(text, "AAA0C");
    assert_eq!(name_of(&map, "b.q<", Some(1), &[]).as_deref(), Some(""));
    // A source may not have it as a function. Then it is one within what is around it.
    let map = read_with_text("work(1);", "AAAA");
    assert_eq!(name_of(&map, "b.q<", Some(1), &[]).as_deref(), Some(""));
    let text = "class Shape { #known = new Set(); }";
    assert_eq!(text.find("#known"), Some(14));
    let map = read_with_text(text, "AAAc");
    assert_eq!(
        name_of(&map, "b<", Some(1), &[]).as_deref(),
        Some("Shape/<")
    );
    // A name that was given is kept.
    assert_eq!(name_of(&map, "b", Some(1), &[]), None);
}

/// The name of a mapping at a bracket may be the word before it. Engines call such functions otherwise.
#[test]
fn getters_setters_and_constructors_are_called_as_engines_call_them() {
    let name = |text: &str, name: &str| {
        assert!(text[19..].starts_with('('), "{text}");
        let map = serde_json::json!({
            "version": 3,
            "sources": ["a.js"],
            "sourcesContent": [text],
            "names": [name],
            "mappings": "AAAmBA",
        });
        name_of(&read(&map.to_string()), "e", Some(1), &[])
    };
    for (text, word, expected) in [
        ("shape = {  get size() {}}", "size", "get size"),
        ("shape = {  set size(to) {}}", "size", "set size"),
        ("class A{constructor() {}}", "constructor", "A"),
        ("(class {constructor() {}})", "constructor", ""),
        ("x = {   constructor() {}}", "constructor", "constructor"),
        ("shape = {      size() {}}", "size", "size"),
        // Any other name is the builder's.
        ("shape = {  get size() {}}", "length", "length"),
    ] {
        assert_eq!(name(text, word).as_deref(), Some(expected), "{text}");
    }
}

/// V8 calls the second one `e`, as the variable of the list. Two columns before it is the mapping of another function's name.
#[test]
fn a_function_is_not_called_by_what_happens_to_be_before_it() {
    let map = |text: &str| {
        let map = serde_json::json!({
            "version": 3,
            "sources": ["a.js"],
            "sourcesContent": [text],
            "names": ["afterAwait"],
            "mappings": "GAAKA,EAAY",
        });
        read(&map.to_string())
    };
    let text = "x = [afterAwait, (count) => g(count)];";
    assert_eq!(text.find("(count)"), Some(17));
    assert_eq!(name_of(&map(text), "e", Some(6), &[]).as_deref(), Some(""));
    // Here it may be its name.
    let text = "x = [afterAwait  (count) => g(count)];";
    assert_eq!(
        name_of(&map(text), "e", Some(6), &[]).as_deref(),
        Some("afterAwait")
    );
}

#[test]
fn what_comes_behind_the_last_bracket_of_a_function_is_outside() {
    // `}})()` of a script, of which only the first bracket is mapped.
    let map = read_with_text("function turn() { return { a }; }", "AAAgC");
    assert_eq!(name_of(&map, "", None, &[1]).as_deref(), Some("turn"));
    assert_eq!(name_of(&map, "", None, &[4]), None);
    // The brackets of an object are within it.
    let map = read_with_text("function turn() { return { a }; }", "AAA6B");
    assert_eq!(name_of(&map, "", None, &[2]).as_deref(), Some("turn"));
}

/// The scopes of <https://tc39.es/ecma426/branch/proposal-scopes/>, as in its tests: a module with a function in it.
#[test]
fn a_map_with_scopes_names_its_functions() {
    // Of the source: 0:0-9:0 the module, 1:0-4:1 `outer`, 2:2-3:3 a block. Of the script: 0:0-0:60 the module,
    // 0:10-0:50 the function, and in it 0:20-0:30 one that the source does not have, and 0:30-0:40 the block.
    let scopes = "BAAA,BFBAA,BABC,CBD,CBB,CFA,ECAA,EGKC,EMK,FK,ECAC,FK,FK,FK";
    let read_with = |scopes: &str, names: &str| {
        read(
            &MAP.replacen('{', &format!("{{\"scopes\":\"{scopes}\","), 1)
                .replace(r#""alpha""#, names)
                .replace("AAAAA", "AAAA,UACA,UACE"),
        )
    };
    let map = read_with(scopes, r#""outer""#);
    assert_eq!(map.notices(), []);
    let name = |map: &SourceMap, column| {
        let place = Place { line: 1, column };
        let function = GeneratedFunction {
            name: "",
            definition: Some(place),
            running: &[],
        };
        map.function_name(&function).map(|name| name.into_owned())
    };
    assert_eq!(name(&map, 1), None);
    assert_eq!(name(&map, 11).as_deref(), Some("outer"));
    assert_eq!(name(&map, 21).as_deref(), Some("outer"));
    assert_eq!(name(&map, 31).as_deref(), Some("outer"));
    assert_eq!(name(&map, 51), None);

    // Of the source alone.
    let map = read_with("BAAA,BFBAA,BABC,CBD,CBB,CFA", r#""outer""#);
    assert_eq!(map.notices(), []);
    assert_eq!(name(&map, 1), None);
    assert_eq!(name(&map, 11).as_deref(), Some("outer"));
    assert_eq!(name(&map, 21).as_deref(), Some("outer"));

    // Lines and columns begin anew with each source.
    let map = read(
        &MAP.replacen('{', r#"{"scopes":"BFFAA,CBA,,BFAAA,CBA","#, 1)
            .replace(r#""a.ts""#, r#""a.ts","b.ts","c.ts""#)
            .replace("AAAAA", "AEAA,UFAA,UAKA"),
    );
    assert_eq!(map.notices(), []);
    let names = [1, 11, 21].map(|column| name(&map, column));
    assert_eq!(names.map(Option::unwrap_or_default), ["alpha", "", "alpha"]);

    // With wrong ones the mappings are used.
    for (scopes, why) in [
        ("B", "the item \"B\" ends within a number"),
        ("BAAA", "an item has no end"),
        ("CAA", "the item \"CAA\" ends what has not begun"),
        ("FA", "the item \"FA\" ends what has not begun"),
        (
            "BBAAC,CAA",
            "the item \"BBAAC\" refers to a name that is not there",
        ),
        ("!", "the item \"!\" has the character '!'"),
        ("EAA,BAAA", "the item \"BAAA\" is not in order"),
        ("BAAA,EAA", "the item \"EAA\" is not in order"),
        (
            "BA+//////DA",
            "the item \"BA+//////DA\" has a number of more than 32 bits",
        ),
    ] {
        let map = read_with(scopes, r#""outer""#);
        assert_eq!(
            map.notices()[0].why,
            format!("its scopes are not read: {why}"),
            "{scopes}"
        );
        assert!(at(&map, 1, 1).is_some());
    }
}
