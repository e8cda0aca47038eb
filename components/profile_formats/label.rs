/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A function as one piece of text, for formats that have nothing else: `name (url:line:column)`, with the place of
//! its definition, as far as it is known. The place that it was executing or calling may follow: a line, as in
//! `name (url:line:column):line`, or an offset in a WebAssembly module, as in `name (url):0x1f`.
//!
//! When a text is read, it gives the function that it was written for, whatever that function's name and URL are. So
//! characters that would be misread are escaped with `%`, as in a URL:
//!
//! - `;` and ends of lines, which end a frame or a stack;
//! - a `(` at the beginning of a name, because `(anonymous)` and `(idle)` are not names;
//! - a `)` at the end of a name without a URL and line, or the `:` of a number after it;
//! - a `(` in a URL, and a `:` that would make a port look like a line;
//! - a `%` before one of these codes.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::num::NonZeroU32;

use crate::recording::{EventLoop, Function, FunctionId, FunctionKind, Invalid, Place, ResourceId};

/// An anonymous function or top-level script.
const ANONYMOUS: &str = "(anonymous)";

/// What stands for a character after a `%`. JavaScript knows no other ends of lines.
const CODES: [(char, &str); 10] = [
    (';', "3B"),
    ('\n', "0A"),
    ('\r', "0D"),
    ('%', "25"),
    ('(', "28"),
    (')', "29"),
    (':', "3A"),
    ('[', "5B"),
    ('\u{2028}', "E2%80%A8"),
    ('\u{2029}', "E2%80%A9"),
];

/// What a text says about a function.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Label {
    pub name: String,
    pub resource: Option<String>,
    pub line: Option<NonZeroU32>,
    pub column: Option<NonZeroU32>,
}

impl Label {
    /// The function in the tables of an event loop.
    pub fn add_to(
        self,
        event_loop: &mut EventLoop,
        kind: FunctionKind,
    ) -> Result<FunctionId, Invalid> {
        let resource = event_loop.add_resource(&self.resource.unwrap_or_default())?;
        event_loop.add_function(Function {
            name: self.name,
            kind,
            resource,
            line: self.line,
            column: self.column,
            realm: None,
            source: None,
            generated: None,
        })
    }
}

/// The texts of an event loop's functions. The URL of a script is held once, however many functions are in it, so
/// that they take memory in proportion to the tables.
pub struct Labels<'a> {
    functions: Vec<LabelParts<'a>>,
    /// By resource. The second is for functions without a column, if it is another.
    places: Vec<(Cow<'a, str>, Option<String>)>,
}

/// A text is the name, a space, a parenthesis, the place and the end; or the name alone.
struct LabelParts<'a> {
    name: Cow<'a, str>,
    /// `None` if there is only a name.
    end: Option<Box<str>>,
    resource: Option<ResourceId>,
    has_column: bool,
}

const BEFORE_DEFINITION: &str = " (";

/// An unknown definition, before a place.
const NO_DEFINITION: &str = " ()";

const BEFORE_PLACE: char = ':';
const BEFORE_OFFSET: &str = "0x";

impl<'a> Labels<'a> {
    pub fn of(event_loop: &'a EventLoop) -> Self {
        let places = event_loop.resources().map(|resource| {
            let place = escape(resource, |character| character == '(');
            // Without a column, the end of the URL would be taken for one.
            let without_column = split_number(&place)
                .map(|(before, number)| format!("{before}{}{number}", code_of(':')));
            (place, without_column)
        });
        Self {
            places: places.collect(),
            functions: event_loop.functions().map(LabelParts::of).collect(),
        }
    }

    /// In bytes, without a place.
    pub fn length(&self, function: FunctionId) -> usize {
        self.parts(function).map(str::len).iter().sum()
    }

    pub fn write(
        &self,
        function: FunctionId,
        place: Option<Place>,
        writer: &mut impl Write,
    ) -> io::Result<()> {
        for part in self.parts(function) {
            writer.write_all(part.as_bytes())?;
        }
        let Some(place) = place else { return Ok(()) };
        if self.functions[function.index()].end.is_none() {
            writer.write_all(NO_DEFINITION.as_bytes())?;
        }
        match place {
            Place::Source { line, .. } => write!(writer, "{BEFORE_PLACE}{line}"),
            Place::WasmOffset(offset) => {
                write!(writer, "{BEFORE_PLACE}{BEFORE_OFFSET}{offset:x}")
            },
        }
    }

    /// Without a place.
    pub fn text(&self, function: FunctionId) -> String {
        self.parts(function).concat()
    }

    /// Whether the text without a place is one in brackets.
    pub fn is_in_brackets(&self, function: FunctionId) -> bool {
        let LabelParts { name, end, .. } = &self.functions[function.index()];
        end.is_none() && name.starts_with('[') && name.ends_with(']')
    }

    fn parts(&self, function: FunctionId) -> [&str; 4] {
        let parts = &self.functions[function.index()];
        let Some(end) = &parts.end else {
            return [&parts.name, "", "", ""];
        };
        let place = match parts.resource {
            None => "",
            Some(resource) => match &self.places[resource.index()] {
                (_, Some(without_column)) if !parts.has_column => without_column,
                (place, _) => &**place,
            },
        };
        [&parts.name, BEFORE_DEFINITION, place, end]
    }
}

impl<'a> LabelParts<'a> {
    fn of(function: &'a Function) -> Self {
        let mut name = write_name(&function.name);
        let mut end = None;
        if function.resource.is_some() || function.line.is_some() {
            let mut text = String::new();
            for number in [function.line, function.column].into_iter().flatten() {
                write!(text, ":{number}").expect("it is in memory");
            }
            end = Some((text + ")").into_boxed_str());
        } else if !function.name.is_empty() && name.ends_with(')') {
            let name = name.to_mut();
            name.pop();
            name.push_str(&code_of(')'));
        } else if let Some((before, _)) = split_place(&name) {
            let at = before.len();
            name.to_mut().replace_range(at..=at, &code_of(BEFORE_PLACE));
        }
        Self {
            name,
            end,
            resource: function.resource,
            has_column: function.column.is_some(),
        }
    }
}

/// A function, and the place in it if there is one.
pub fn read_with_place(text: &str) -> (Label, Option<Place>) {
    match split_place(text) {
        Some((before, place)) if split_definition(before).is_some() => (read(before), Some(place)),
        _ => (read(text), None),
    }
}

/// A function without a place.
pub fn read(text: &str) -> Label {
    if let Some((name, place)) = split_definition(text) {
        let (place, numbers) = match split_number(place) {
            None => (place, [None, None]),
            Some((before, last)) => match split_number(before) {
                None => (before, [Some(last), None]),
                Some((before, line)) => (before, [Some(line), Some(last)]),
            },
        };
        return Label {
            name: read_name(name),
            resource: Some(unescape(place)).filter(|place| !place.is_empty()),
            line: numbers[0],
            column: numbers[1],
        };
    }
    Label {
        name: read_name(text),
        ..Label::default()
    }
}

/// A function's name alone, for formats that have room for the rest.
pub fn write_name(name: &str) -> Cow<'_, str> {
    if name.is_empty() {
        return ANONYMOUS.into();
    }
    let text = escape(name, |_| false);
    match text.strip_prefix('(') {
        Some(rest) => format!("{}{rest}", code_of('(')).into(),
        None => text,
    }
}

pub fn read_name(text: &str) -> String {
    if text == ANONYMOUS {
        return String::new();
    }
    unescape(text)
}

/// The text with its first character as a code, if that would mean something else.
pub fn escape_first(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => format!("{}{}", code_of(first), characters.as_str()),
        None => String::new(),
    }
}

fn code_of(character: char) -> String {
    let entry = CODES.iter().find(|(other, _)| *other == character);
    let code = entry.expect("only characters with a code are asked for").1;
    format!("%{code}")
}

fn escape(text: &str, also: impl Fn(char) -> bool) -> Cow<'_, str> {
    let needs_code = |at: usize, character: char| match character {
        ';' | '\n' | '\r' | '\u{2028}' | '\u{2029}' => true,
        '%' => character_of_code(&text[at..]).is_some(),
        _ => also(character),
    };
    let Some(first) = text
        .char_indices()
        .position(|(at, character)| needs_code(at, character))
    else {
        return text.into();
    };
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for (index, (at, character)) in text.char_indices().enumerate() {
        match index >= first && needs_code(at, character) {
            true => escaped.push_str(&code_of(character)),
            false => escaped.push(character),
        }
    }
    escaped.into()
}

fn unescape(text: &str) -> String {
    let mut unescaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        unescaped.push_str(&rest[..at]);
        rest = &rest[at..];
        match character_of_code(rest) {
            Some((character, code)) => {
                unescaped.push(character);
                rest = &rest[1 + code.len()..];
            },
            None => {
                unescaped.push('%');
                rest = &rest[1..];
            },
        }
    }
    unescaped + rest
}

/// The character whose code a text begins with, and the part of the code after the `%`.
fn character_of_code(text: &str) -> Option<(char, &'static str)> {
    let text = text.strip_prefix('%')?;
    let entry = CODES.iter().find(|(_, code)| text.starts_with(code));
    entry.copied()
}

/// A name, and where it is defined.
fn split_definition(text: &str) -> Option<(&str, &str)> {
    text.strip_suffix(')')?.rsplit_once(BEFORE_DEFINITION)
}

/// A text that ends in `)`, and a place after it.
fn split_place(text: &str) -> Option<(&str, Place)> {
    let (before, digits) = text.rsplit_once(BEFORE_PLACE)?;
    let place = match digits.strip_prefix(BEFORE_OFFSET) {
        None => Place::of_source(Some(split_number(text)?.1), None)?,
        Some(digits) => {
            let offset = u32::from_str_radix(digits, 16).ok()?;
            // As it would be written.
            (format!("{offset:x}") == digits).then_some(Place::WasmOffset(offset))?
        },
    };
    before.ends_with(')').then_some((before, place))
}

/// The text without a `:` and a line or column at its end.
fn split_number(text: &str) -> Option<(&str, NonZeroU32)> {
    let (before, digits) = text.rsplit_once(':')?;
    let number: NonZeroU32 = digits.parse().ok()?;
    // As it would be written.
    (number.to_string() == digits).then_some((before, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(name: &str, resource: Option<&str>, line: u32, column: u32) -> Label {
        Label {
            name: name.to_owned(),
            resource: resource.map(str::to_owned),
            line: NonZeroU32::new(line),
            column: NonZeroU32::new(column),
        }
    }

    fn write_label(label: &Label) -> String {
        let mut event_loop = EventLoop::default();
        let function = label.clone().add_to(&mut event_loop, FunctionKind::Unknown);
        let labels = Labels::of(&event_loop);
        let text = labels.text(function.unwrap());
        assert_eq!(labels.length(function.unwrap()), text.len());
        text
    }

    fn write_with_place(label: &Label, place: Option<Place>) -> String {
        let mut event_loop = EventLoop::default();
        let function = label.clone().add_to(&mut event_loop, FunctionKind::Unknown);
        let mut text = Vec::new();
        Labels::of(&event_loop)
            .write(function.unwrap(), place, &mut text)
            .unwrap();
        String::from_utf8(text).unwrap()
    }

    fn line(line: u32) -> Option<Place> {
        Place::of_source(NonZeroU32::new(line), None)
    }

    #[test]
    fn a_function_is_a_name_and_a_place() {
        for (name, resource, line, column, text) in [
            (
                "f",
                Some("https://a.test/b.js"),
                3,
                14,
                "f (https://a.test/b.js:3:14)",
            ),
            (
                "",
                Some("https://a.test/b.js"),
                3,
                14,
                "(anonymous) (https://a.test/b.js:3:14)",
            ),
            (
                "wasm-function[3]",
                Some("https://a.test/m.wasm"),
                0,
                0,
                "wasm-function[3] (https://a.test/m.wasm)",
            ),
            ("sort", None, 0, 0, "sort"),
            ("", None, 0, 0, "(anonymous)"),
            ("f", Some("b.py"), 3, 0, "f (b.py:3)"),
        ] {
            let label = label(name, resource, line, column);
            assert_eq!(write_label(&label), text);
            assert_eq!(read(text), label);
        }
    }

    #[test]
    fn a_place_follows_the_function() {
        let url = Some("https://a.test/b.js");
        for (name, resource, place, text) in [
            ("f", url, line(17), "f (https://a.test/b.js):17"),
            (
                "f",
                url,
                Some(Place::WasmOffset(31)),
                "f (https://a.test/b.js):0x1f",
            ),
            ("f", None, line(17), "f ():17"),
            ("", None, line(17), "(anonymous) ():17"),
            ("f):17", None, None, "f)%3A17"),
            ("f ():0x1f", None, None, "f ()%3A0x1f"),
        ] {
            let label = label(name, resource, 0, 0);
            assert_eq!(write_with_place(&label, place), text);
            assert_eq!(read_with_place(text), (label, place));
        }
        // Others' names are names.
        for name in [
            "f:17",
            "f):17",
            "f (a):017",
            "f (a):0x",
            "f (a):0x01",
            "f (a):0x1F",
            "f (a):0x+1",
            "f (a):0x100000000",
            "f (a):4294967296",
            "f (a):-1",
            "f (a):0",
        ] {
            let (label, place) = read_with_place(name);
            assert_eq!((&*label.name, place), (name, None));
        }
    }

    #[test]
    fn every_function_is_read_as_it_was() {
        let names = [
            "",
            "f",
            "(idle)",
            "(anonymous)",
            "(",
            ")",
            "a (b:1:2)",
            "a;b\n\rc",
            "%3B",
            "%253B",
            "%",
            "%%",
            "[x]",
            "get a",
            " ",
            "a ",
            "ü%28",
            "\u{2028}%E2%80%A8%",
            "x)",
            "x):1",
            "x (y:1):2",
            "x ():0xa",
            "x:3",
        ];
        let resources = [
            None,
            Some("https://a.test:8080"),
            Some("https://a.test:8080/a (b)/c;d.js?e%20f%3B"),
            Some("12"),
            Some(":12"),
            Some("a:1:2"),
            Some(" ("),
            Some("a:012"),
        ];
        for name in names {
            for resource in resources {
                for (line, column) in [(0, 0), (7, 0), (7, 8)] {
                    let mut label = label(name, resource, line, column);
                    let text = write_label(&label);
                    if name.is_empty() && resource.is_none() {
                        assert_eq!(text, ANONYMOUS, "a position in nothing says nothing");
                        label = Label::default();
                    }
                    assert_eq!(read(&text), label, "{text}");
                    assert!(!text.contains([';', '\n', '\r', '\u{2028}']), "{text}");
                    for place in [None, self::line(9), Some(Place::WasmOffset(0xabcdef))] {
                        let text = write_with_place(&label, place);
                        assert_eq!(read_with_place(&text), (label.clone(), place), "{text}");
                    }
                }
            }
        }
    }
}
