/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Maps that bundlers and minifiers made of the sources in `bundles/src/`.

mod bundled;

use std::fs;

use source_maps::{Deadline, GeneratedFunction, Link, Place, SourceMap};
use url::Url;

use self::bundled::{SHAPES, TYPED, bundles, generated, place};

/// A script that was built, and its map. Every mapping is in the script.
fn script_and_map(name: &str) -> (String, SourceMap) {
    let folder = bundles().join(name);
    let script = fs::read_to_string(folder.join("script")).unwrap();
    let url = format!("https://a.test/out/{name}.js");
    let base = Url::parse(&url).unwrap();
    let (content, base) = match Link::of_script(&url, None, Some(&script)).unwrap().unwrap() {
        Link::Inline(content) => (content, base),
        Link::Url(map) => {
            assert_eq!(map.as_str(), format!("{url}.map"));
            (fs::read(folder.join("map")).unwrap(), map)
        },
    };
    assert!(is_map_of(&content, &script), "{name}");
    let map = SourceMap::read(&content, base.as_str(), Some(&base), &Deadline::none()).unwrap();
    (script, map)
}

/// Whether each mapping is within a line of the script.
fn is_map_of(map: &[u8], script: &str) -> bool {
    let lengths: Vec<_> = script
        .split('\n')
        .map(|line| line.encode_utf16().count())
        .collect();
    let map = sourcemap::SourceMap::from_slice(map).unwrap();
    map.tokens().all(|token| {
        let (line, column) = token.get_dst();
        let length = lengths.get(line as usize);
        length.is_some_and(|length| column as usize <= *length)
    })
}

fn check(name: &str, functions: &[(&str, &str, &str)]) {
    let (script, map) = script_and_map(name);
    assert_eq!(map.notices(), []);
    for (number, file, expected) in functions {
        let (generated_name, definition) = generated(&script, number);
        let running = place(&script, script.find(number).unwrap());
        let definition = place(&script, definition);
        let function = |name, definition, running| {
            map.function_name(&GeneratedFunction {
                name,
                definition,
                running,
            })
        };
        // Whether or not the engine has a name, and by what ran alone.
        for found in [
            function(generated_name, Some(definition), &[]),
            function("", Some(definition), &[running]),
            function("", None, &[running]),
        ] {
            assert_eq!(
                found
                    .as_deref()
                    .map(|found| found.trim_start_matches("get ")),
                Some(expected.trim_start_matches("get ")),
                "{name}: {number}, {generated_name:?}"
            );
        }

        // The number is where it was written, up to what a map says of it.
        let mut source = fs::read_to_string(bundles().join("src").join(file)).unwrap();
        if *file == "windows.mjs" {
            source = source.replace('\n', "\r\n");
        }
        let written = place(&source, source.find(number).unwrap());
        let original = map.original(running).unwrap();
        assert_eq!(
            original.source.url,
            format!("https://a.test/src/{file}"),
            "{name}: {number}"
        );
        assert_eq!(original.line, written.line, "{name}: {number}");
        assert!(original.column <= written.column, "{name}: {number}");
        if name.contains("min") {
            assert_eq!(original.column, written.column, "{name}: {number}");
        }
        assert_eq!(original.source.text, Some(source.as_str()), "{name}");
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

/// Names are then those of mappings.
#[test]
fn a_map_without_texts_of_sources() {
    let content = fs::read(bundles().join("esbuild.min/map")).unwrap();
    let mut json: serde_json::Value = serde_json::from_slice(&content).unwrap();
    json["sourcesContent"].take();
    let map = SourceMap::read(
        json.to_string().as_bytes(),
        "a.map",
        None,
        &Deadline::none(),
    )
    .unwrap();
    let script = fs::read_to_string(bundles().join("esbuild.min/script")).unwrap();
    let names = SHAPES.map(|(number, ..)| {
        let (name, definition) = generated(&script, number);
        let name = map.function_name(&GeneratedFunction {
            name,
            definition: Some(place(&script, definition)),
            running: &[],
        });
        name.map(|name| name.into_owned())
    });
    let known = [
        ("1101", "rectangleArea"),
        ("1102", "squareArea"),
        ("1103", "doubled"),
        ("1110", "#secret"),
        ("1116", "outerWork"),
        ("1117", "helper"),
        // As esbuild calls it.
        ("1119", "shapes_default"),
        ("1201", "afterFace"),
        ("1202", "waits"),
    ];
    for ((number, ..), name) in SHAPES.iter().zip(names) {
        let known = known.iter().find(|(one, _)| one == number);
        assert_eq!(name.as_deref(), known.map(|(_, name)| *name), "{number}");
    }
}

#[test]
fn typescript_without_texts() {
    let (script, map) = script_and_map("typed");
    let (name, definition) = generated(&script, "1301");
    let function = GeneratedFunction {
        name,
        definition: Some(place(&script, definition)),
        running: &[],
    };
    assert_eq!(map.function_name(&function), None);
    let original = map
        .original(place(&script, script.find("1301").unwrap()))
        .unwrap();
    assert_eq!(original.source.url, "https://a.test/src/typed.tsx");
    assert_eq!((original.line, original.source.text), (12, None));
}

#[test]
fn what_a_map_does_not_mention_has_no_original() {
    let (_, map) = script_and_map("rollup");
    assert_eq!(
        map.original(Place {
            line: 1000,
            column: 1
        }),
        None
    );
    assert_eq!(map.original(Place { line: 0, column: 0 }), None);
}

#[test]
fn a_map_of_another_script_is_found_out() {
    let script = fs::read_to_string(bundles().join("esbuild.min/script")).unwrap();
    let map = fs::read(bundles().join("rollup/map")).unwrap();
    assert!(!is_map_of(&map, &script));
}
