/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Each input is a map, perhaps with a script before it: up to a zero byte, or what is before it is empty.

use source_maps::{CodeOf, Deadline, GeneratedFunction, Link, MappedLines, Place, SourceMap};
use url::Url;

const SCRIPT: &str = "https://a.test/js/app.js";

/// Places that are looked for in each map: the first columns of the first lines, and those far away.
const LINES: [u32; 6] = [0, 1, 2, 3, 101, u32::MAX];
const COLUMNS: [u32; 9] = [0, 1, 2, 5, 9, 17, 33, 1_000, u32::MAX];

pub fn source_map(input: &[u8]) -> bool {
    let mut is_accepted = false;
    let mut parts = input.splitn(2, |byte| *byte == 0);
    let (script, map) = match (parts.next(), parts.next()) {
        (Some(script), Some(map)) => (String::from_utf8_lossy(script), map),
        _ => ("".into(), input),
    };
    let base = match Link::of_script(SCRIPT, None, Some(&script)) {
        Ok(Some(Link::Inline(content))) => {
            is_accepted |= check(&content, &Url::parse(SCRIPT).expect("it is a URL"));
            None
        },
        Ok(Some(Link::Url(url))) => Some(url),
        Ok(None) => None,
        Err(notice) => {
            check_notice(notice.to_string(), SCRIPT);
            None
        },
    };
    let base = base.unwrap_or_else(|| Url::parse(SCRIPT).expect("it is a URL"));
    is_accepted |= check(map, &base);
    is_accepted
}

/// Whether it is a map.
fn check(content: &[u8], base: &Url) -> bool {
    let map = match SourceMap::read(content, SCRIPT, Some(base), &Deadline::none()) {
        Ok(map) => map,
        Err(notice) => {
            check_notice(notice.to_string(), SCRIPT);
            return false;
        },
    };
    for notice in map.notices() {
        check_notice(notice.to_string(), SCRIPT);
    }
    let urls: Vec<_> = map.sources().map(|source| source.url).collect();
    for line in LINES {
        for column in COLUMNS {
            check_place(&map, &urls, Place { line, column });
        }
    }
    let deadline = Deadline::none();
    let mut lines = MappedLines::of(&map, &deadline);
    for line in LINES {
        check_lines(&mut lines, &urls, CodeOf::TopLevel, line);
        for column in COLUMNS {
            for definition in LINES.map(|line| Place { line, column }) {
                check_lines(&mut lines, &urls, CodeOf::Function(definition), line);
            }
        }
    }
    true
}

fn check_lines(lines: &mut MappedLines<'_>, urls: &[&str], code: CodeOf, line: u32) {
    let original = lines.original(code, line);
    if let Some(original) = original {
        assert!(original.first >= 1 && original.first <= original.last);
        assert!(urls.contains(&original.source.url));
    }
    assert_eq!(original, lines.original(code, line), "asked twice");
}

fn check_place(map: &SourceMap, urls: &[&str], place: Place) {
    let original = map.original(place);
    assert!(original.is_none() || place.line > 0 && place.column > 0);
    if let Some(original) = original {
        assert!(original.line >= 1 && original.column >= 1);
        assert!(original.name.is_none_or(|name| !name.is_empty()));
        assert!(urls.contains(&original.source.url));
    }
    assert_eq!(original, map.original(place), "asked twice");

    let running = [place];
    for (name, definition, running) in [
        ("t", Some(place), &[][..]),
        ("", Some(place), &running),
        ("", None, &running),
    ] {
        let function = GeneratedFunction {
            name,
            definition,
            running,
        };
        let name = map.function_name(&function);
        assert!(name.as_ref().is_none_or(|name| !name.is_empty()));
        assert_eq!(name, map.function_name(&function), "asked twice");
    }
}

/// One sentence on one line, that names what it is about.
fn check_notice(notice: String, name: &str) {
    let why = notice
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix(": "));
    assert!(
        why.is_some_and(|why| !why.is_empty() && !why.ends_with('.')),
        "{notice}"
    );
    assert!(!notice.contains(['\n', '\r', '\u{1b}']), "{notice:?}");
}
