/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Maps that are wrong.

/// Line 1, column 1 of `a.ts`.
pub const MAP: &str = r#"{"version":3,"sources":["a.ts"],"names":["alpha"],"mappings":"AAAAA"}"#;

/// Each with the beginning of what a notice says of it.
pub fn broken_maps() -> Vec<(String, &'static str)> {
    let with = |field: &str| MAP.replacen('{', &format!("{{{field},"), 1);
    let mappings = |text: &str| MAP.replace("AAAAA", text);
    let sections = |text: &str| format!(r#"{{"version":3,"sections":{text}}}"#);
    let section = |line: u32, column: u32, map: &str| {
        format!(r#"{{"offset":{{"line":{line},"column":{column}}},"map":{map}}}"#)
    };
    let index = |map: &str| sections(&format!("[{}]", section(0, 0, map)));
    let deep = (0..200).fold(MAP.to_owned(), |map, _| index(&map));
    vec![
        (String::new(), "the source map is empty"),
        (" \n".to_owned(), "the source map is empty"),
        (")]}'".to_owned(), "the source map is empty"),
        (")]}' {}".to_owned(), "the source map is empty"),
        (
            "<!doctype html>".to_owned(),
            "it is no source map: expected value at line 1",
        ),
        ("null".to_owned(), "it is no source map: invalid type: null"),
        ("[]".to_owned(), "it is no source map: "),
        ("{}".to_owned(), "it has no version"),
        (
            MAP[..MAP.len() - 1].to_owned(),
            "it is no source map: EOF while parsing",
        ),
        (
            MAP[..30].to_owned(),
            "it is no source map: EOF while parsing",
        ),
        (
            format!("{MAP}{MAP}"),
            "it is no source map: trailing characters",
        ),
        (
            MAP.replace("version\":3", "version\":2"),
            "its version is 2, and only version 3 is known",
        ),
        (
            MAP.replace("version\":3", "version\":\"3\""),
            "its version is \"3\", and only",
        ),
        (
            with("\"version\":3"),
            "it is no source map: duplicate field",
        ),
        (MAP.replace("\"mappings\"", "\"m\""), "it has no mappings"),
        (MAP.replace("\"AAAAA\"", "null"), "it has no mappings"),
        (
            MAP.replace("\"AAAAA\"", "7"),
            "its mappings are wrong: invalid type: integer `7`",
        ),
        (
            MAP.replace("\"AAAAA\"", "[0]"),
            "its mappings are wrong: invalid type: sequence",
        ),
        (MAP.replace("\"sources\"", "\"s\""), "it has no sources"),
        (
            MAP.replace("[\"a.ts\"]", "\"a.ts\""),
            "its sources are wrong: invalid type: string",
        ),
        (
            MAP.replace("[\"a.ts\"]", "[7]"),
            "it cannot be read: bad json: invalid type: integer `7`",
        ),
        (
            MAP.replace("[\"alpha\"]", "7"),
            "its names are wrong: invalid type: integer `7`",
        ),
        (
            with("\"sourcesContent\":\"a\""),
            "its sourcesContent are wrong: invalid type",
        ),
        (
            with("\"sourcesContent\":[7]"),
            "it cannot be read: bad json: invalid type: integer `7`",
        ),
        (
            with("\"sourceRoot\":7"),
            "it is no source map: invalid type: integer `7`",
        ),
        (
            with("\"x_facebook_sources\":[7]"),
            "it cannot be read: bad json: ",
        ),
        (
            mappings("D"),
            "its mapping \"D\", of line 1 of the script, is in a column that cannot be",
        ),
        (
            mappings("C,D,D"),
            "its mapping \"D\", of line 1 of the script, is in a column that cannot be",
        ),
        (
            mappings(";B"),
            "its mapping \"B\", of line 2 of the script, is in a column that cannot be",
        ),
        (
            mappings("AA"),
            "its mapping \"AA\", of line 1 of the script, has 2 numbers instead of 1, 4 or 5",
        ),
        (
            mappings("AAA"),
            "its mapping \"AAA\", of line 1 of the script, has 3 numbers instead",
        ),
        (
            mappings("AAAAAA"),
            "its mapping \"AAAAAA\", of line 1 of the script, has more than 5 numbers",
        ),
        (
            mappings("AAAg"),
            "its mapping \"AAAg\", of line 1 of the script, ends within a number",
        ),
        (
            mappings("AA AA"),
            "its mapping \"AA AA\", of line 1 of the script, has the character ' '",
        ),
        (
            mappings("ü"),
            "its mapping \"ü\", of line 1 of the script, has the character",
        ),
        (
            mappings("ggggggggE"),
            "its mapping \"ggggggggE\", of line 1 of the script, has a number of more than 32 bits",
        ),
        (
            mappings("+/////D,+/////D"),
            "its mapping \"+/////D\", of line 1 of the script, is in a column that",
        ),
        (
            sections("7"),
            "its sections are wrong: invalid type: integer `7`",
        ),
        (sections("null"), "it has no mappings"),
        (
            sections("[7]"),
            "its sections are wrong: invalid type: integer `7`",
        ),
        (
            sections("[{}]"),
            "its sections are wrong: missing field `offset`",
        ),
        (
            sections(r#"[{"offset":{"line":0,"column":-1}}]"#),
            "its sections are wrong: invalid value: integer `-1`",
        ),
        (
            sections(r#"[{"offset":{"line":0,"column":0}}]"#),
            "its section 1 has no map",
        ),
        (
            sections(r#"[{"offset":{"line":0,"column":0},"url":"a.map"}]"#),
            "its section 1 is in another file",
        ),
        (
            sections(&format!("[{},{}]", section(1, 0, MAP), section(0, 5, MAP))),
            "its section 2 begins before the one before it",
        ),
        (
            index("7"),
            "its section 1 is wrong: it is no source map: invalid type",
        ),
        (index("{}"), "its section 1 is wrong: it has no version"),
        (
            index(&mappings("AAA")),
            "its section 1 is wrong: its mapping \"AAA\"",
        ),
        (index(&index(MAP)), "its section 1 has sections itself"),
        (deep, "its section 1 has sections itself"),
    ]
}
