/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What is in `bundles/`. Each function there has a number of its own in its parameters or its body, by which it is found
//! in a script and in its source.

use std::path::{Path, PathBuf};

use source_maps::Place;

/// Number, file and name of each function.
pub const SHAPES: [(&str, &str, &str); 21] = [
    ("1101", "shapes.mjs", "rectangleArea"),
    ("1102", "shapes.mjs", "squareArea"),
    ("1103", "shapes.mjs", "doubled"),
    ("1104", "shapes.mjs", "Circle"),
    ("1105", "shapes.mjs", "circumference"),
    ("1106", "shapes.mjs", "get diameter"),
    ("1107", "shapes.mjs", "unit"),
    ("1108", "shapes.mjs", "load"),
    ("1109", "shapes.mjs", "points"),
    ("1110", "shapes.mjs", "#secret"),
    ("1111", "shapes.mjs", "handler"),
    ("1112", "shapes.mjs", "Circle.prototype.scaled"),
    ("1113", "shapes.mjs", "lookUp"),
    ("1114", "shapes.mjs", "sum"),
    ("1115", "shapes.mjs", "odd-name"),
    ("1116", "shapes.mjs", "outerWork"),
    ("1117", "shapes.mjs", "helper"),
    ("1118", "shapes.mjs", "outerWork/<"),
    ("1119", "shapes.mjs", "default"),
    ("1201", "windows.mjs", "afterFace"),
    ("1202", "windows.mjs", "waits"),
];

pub const TYPED: [(&str, &str, &str); 8] = [
    ("1301", "typed.tsx", "firstOf"),
    ("1302", "typed.tsx", "onItem"),
    ("1303", "typed.tsx", "Store"),
    ("1304", "typed.tsx", "find"),
    ("1305", "typed.tsx", "[Symbol.iterator]"),
    ("1306", "typed.tsx", "View"),
    ("1307", "typed.tsx", "onClick"),
    ("1308", "typed.tsx", "View/<"),
];

pub fn bundles() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../source_maps/tests/bundles")
}

/// The place of a byte of a text whose lines end with `\n`.
pub fn place(text: &str, offset: usize) -> Place {
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    Place {
        line: before.matches('\n').count() as u32 + 1,
        column: before[line_start..].encode_utf16().count() as u32 + 1,
    }
}

/// What the engine says of the function with this number: its name and where it is defined.
pub fn generated<'a>(script: &'a str, number: &str) -> (&'a str, usize) {
    let at = script.find(number).unwrap();
    let is_word = |character: char| character.is_alphanumeric() || "_$#".contains(character);
    let word_before = |end: usize| {
        let text = script[..end].trim_end_matches([' ', ':', '=']);
        &text[text.trim_end_matches(is_word).len()..]
    };
    let bracket = script[..at].rfind('(').unwrap();
    // `a => … 1103` or `a => 1103 …`
    let definition = match script[..at].rfind("=>") {
        Some(arrow) if number == "1103" => {
            let end = script[..arrow].trim_end().trim_end_matches(')').len();
            script[..end].trim_end_matches(is_word).len()
        },
        // `get diameter() { return trace(this.#radius) * 1106`
        _ if number == "1106" => script[..at].rfind("()").unwrap(),
        _ => bracket,
    };
    let name = match word_before(definition) {
        "function" => word_before(definition - "function".len()),
        // It is called as its class.
        "constructor" => "t",
        name => name,
    };
    (name, definition)
}
