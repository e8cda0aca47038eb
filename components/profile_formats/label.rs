/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A function as one piece of text, for formats that have nothing else: `name (url:line:column)`, with the place of
//! its definition, as far as it is known. The place that it was executing or calling may follow: a line, as in
//! `name (url:line:column):line`, one of several, as in `name (url:line:column):4-9`, or an offset in a WebAssembly module, as
//! in `name (url):0x1f`.
//!
//! When a text is read, it gives the function that it was written for, whatever that function's name and URL are. So
//! characters that would be misread are escaped with `%`, as in a URL:
//!
//! - `;` and ends of lines, which end a frame or a stack;
//! - a `#` at the beginning of a name with a space or nothing behind it, which would begin a comment;
//! - the `(` of a function that is called `(anonymous)`, because that is no name;
//! - a `)` or the `:` of a number at the end of a name without a URL and line, if the name would be taken for one with them;
//! - a `(` in a URL, and a `:` that would make a port look like a line;
//! - the last `.` of a file of Python, if the line of a definition in it has no column, because py-spy writes the line that
//!   was executing in this way;
//! - a `%` before one of these codes.
//!
//! Any other name in parentheses stays as it is. `(idle)` and its like are no functions where they are a whole stack:
//! a format escapes the first character of a function that would be taken for one ([`escape_first`]).
//!
//! Formats that have a member for a function's name have the name itself: see [`write_exact`].

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::num::NonZeroU32;

use crate::recording::{EventLoop, Function, FunctionId, FunctionKind, Invalid, Place, ResourceId};
use crate::stackless;

/// An anonymous function or top-level script.
const ANONYMOUS: &str = "(anonymous)";

/// What stands for a character after a `%`. JavaScript knows no other ends of lines.
const CODES: [(char, &str); 12] = [
    (';', "3B"),
    ('\n', "0A"),
    ('\r', "0D"),
    ('#', "23"),
    ('%', "25"),
    ('(', "28"),
    (')', "29"),
    (':', "3A"),
    ('[', "5B"),
    ('.', "2E"),
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
    /// By resource. The second is for functions without a column, if it is another; of a file of Python, for those that
    /// have a line.
    places: Vec<(Cow<'a, str>, Option<String>)>,
}

/// A text is the name, a space, a parenthesis, the place and the end; or the name alone.
struct LabelParts<'a> {
    name: Cow<'a, str>,
    /// `None` if there is only a name.
    end: Option<Box<str>>,
    resource: Option<ResourceId>,
    has_line: bool,
    has_column: bool,
}

const BEFORE_DEFINITION: &str = " (";

/// An unknown definition, before a place.
pub const NO_DEFINITION: &str = " ()";

/// The end of the names of Python's files.
const PYTHON: &str = ".py";

const BEFORE_PLACE: char = ':';
const BEFORE_OFFSET: &str = "0x";
const BETWEEN_LINES: char = '-';

impl<'a> Labels<'a> {
    pub fn of(event_loop: &'a EventLoop) -> Self {
        let places = event_loop.resources().map(|resource| {
            let place = escape(resource, |character| character == '(');
            // Without a column, the end of the URL would be taken for one.
            let without_column = match split_number(&place) {
                Some((before, number)) => Some(format!("{before}{}{number}", code_of(':'))),
                None => place
                    .strip_suffix(PYTHON)
                    .map(|before| format!("{before}{}{}", code_of('.'), &PYTHON[1..])),
            };
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
            Place::Lines { first, last } => {
                write!(writer, "{BEFORE_PLACE}{first}{BETWEEN_LINES}{last}")
            },
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

    /// Whether the text without a place is one in parentheses.
    pub fn is_in_parentheses(&self, function: FunctionId) -> bool {
        let LabelParts { name, end, .. } = &self.functions[function.index()];
        end.is_none() && name.starts_with('(')
    }

    /// The number behind the last space of the text without a place.
    pub fn end_number(&self, function: FunctionId) -> Option<&str> {
        let LabelParts { name, end, .. } = &self.functions[function.index()];
        let (_, last) = name.rsplit_once(' ')?;
        let is_in_number = |byte: u8| byte.is_ascii_digit() || byte == b'.';
        let is_number = last.starts_with(|first: char| first.is_ascii_digit())
            && last.bytes().all(is_in_number);
        (end.is_none() && is_number).then_some(last)
    }

    fn parts(&self, function: FunctionId) -> [&str; 4] {
        let parts = &self.functions[function.index()];
        let Some(end) = &parts.end else {
            return [&parts.name, "", "", ""];
        };
        let place = match parts.resource {
            None => "",
            Some(resource) => match &self.places[resource.index()] {
                (place, Some(without_column))
                    if !parts.has_column && (parts.has_line || !place.ends_with(PYTHON)) =>
                {
                    without_column
                },
                (place, _) => &**place,
            },
        };
        [&parts.name, BEFORE_DEFINITION, place, end]
    }
}

impl<'a> LabelParts<'a> {
    fn of(function: &'a Function) -> Self {
        let mut name = write_name(&function.name);
        let behind = name.strip_prefix('#');
        if behind.is_some_and(|behind| !behind.starts_with(|next: char| !next.is_whitespace())) {
            name = escape_first(&name).into();
        }
        let mut end = None;
        if function.resource.is_some() || function.line.is_some() {
            let mut text = String::new();
            for number in [function.line, function.column].into_iter().flatten() {
                write!(text, ":{number}").expect("it is in memory");
            }
            end = Some((text + ")").into_boxed_str());
        } else if split_definition(&name).is_some() {
            let name = name.to_mut();
            name.pop();
            name.push_str(&code_of(')'));
        } else if let Some((before, _)) = split_definition_and_place(&name) {
            let at = before.len();
            name.to_mut().replace_range(at..=at, &code_of(BEFORE_PLACE));
        }
        Self {
            name,
            end,
            resource: function.resource,
            has_line: function.line.is_some(),
            has_column: function.column.is_some(),
        }
    }
}

/// A function, and the place in it if there is one.
pub fn read_with_place(text: &str) -> (Label, Option<Place>) {
    match split_definition_and_place(text) {
        Some((before, place)) => (read(before), Some(place)),
        None => (read(text), None),
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

/// A name alone, as a part of a line.
pub fn write_name(name: &str) -> Cow<'_, str> {
    match name {
        "" => ANONYMOUS.into(),
        ANONYMOUS => escape_first(name).into(),
        _ => escape(name, |_| false),
    }
}

pub fn read_name(text: &str) -> String {
    if text == ANONYMOUS {
        return String::new();
    }
    unescape(text)
}

/// A function's name for a format that has a member for it. `is_taken` says whether the name alone would be taken for what
/// is no function.
pub fn write_exact(name: &str, is_taken: bool) -> Cow<'_, str> {
    let is_escaped = match name {
        "" => return ANONYMOUS.into(),
        ANONYMOUS => true,
        _ if name.starts_with('(') => is_taken && pseudo_name(name).is_some(),
        _ => pseudo_name(name).is_some(),
    };
    match is_escaped {
        true => escape_first(name).into(),
        false => name.into(),
    }
}

/// What [`write_exact`] has written, or a name of another tool.
pub fn read_exact(text: &str) -> Cow<'_, str> {
    if text == ANONYMOUS {
        return "".into();
    }
    if !text.starts_with('%') || pseudo_name(text).is_none() {
        return text.into();
    }
    let (first, code) = character_of_code(text).expect("the code of a bracket or of %");
    format!("{first}{}", &text[1 + code.len()..]).into()
}

/// What comes after the bracket of `(anonymous)`, `(idle)` and their like, which may be written as a code, and the `%` of
/// that, too. `None` for other names.
fn pseudo_name(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('(').or_else(|| {
        let mut code = text.strip_prefix('%')?;
        while let Some(rest) = code.strip_prefix("25") {
            code = rest;
        }
        code.strip_prefix("28")
    })?;
    let is_pseudo = |name: &str| name.strip_prefix('(') == Some(rest);
    (is_pseudo(ANONYMOUS) || stackless::names().any(is_pseudo)).then_some(rest)
}

/// A function without a URL, in a format that has a member for URLs: what is in parentheses behind a name is a part of it, unless
/// it is a line.
pub fn read_pathless(text: &str) -> Label {
    let label = read(text);
    let is_line = label.resource.is_none() && label.line.is_some();
    if split_definition(text).is_none() || is_line {
        return label;
    }
    Label {
        name: read_exact(text).into_owned(),
        ..Label::default()
    }
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

/// A function with its definition, and a place after it.
fn split_definition_and_place(text: &str) -> Option<(&str, Place)> {
    split_place(text).filter(|(before, _)| split_definition(before).is_some())
}

/// A text that ends in `)`, and a place after it.
fn split_place(text: &str) -> Option<(&str, Place)> {
    let (before, digits) = text.rsplit_once(BEFORE_PLACE)?;
    let place = match (
        digits.strip_prefix(BEFORE_OFFSET),
        digits.split_once(BETWEEN_LINES),
    ) {
        (Some(digits), _) => {
            let offset = u32::from_str_radix(digits, 16).ok()?;
            // As it would be written.
            (format!("{offset:x}") == digits).then_some(Place::WasmOffset(offset))?
        },
        (None, Some((first, last))) => {
            let (first, last) = (number(first)?, number(last)?);
            (first < last).then_some(Place::Lines { first, last })?
        },
        (None, None) => Place::of_source(Some(number(digits)?), None)?,
    };
    before.ends_with(')').then_some((before, place))
}

/// Whether a text is a function of Python and a line without a column, as py-spy writes it.
pub fn is_of_python(text: &str) -> bool {
    let place = split_definition(text).and_then(|(_, place)| split_number(place));
    place.is_some_and(|(file, _)| file.ends_with(PYTHON))
}

/// The text without a `:` and a line or column at its end.
fn split_number(text: &str) -> Option<(&str, NonZeroU32)> {
    let (before, digits) = text.rsplit_once(':')?;
    Some((before, number(digits)?))
}

/// A line or column.
fn number(digits: &str) -> Option<NonZeroU32> {
    let number: NonZeroU32 = digits.parse().ok()?;
    // As it would be written.
    (number.to_string() == digits).then_some(number)
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

    fn lines(first: u32, last: u32) -> Option<Place> {
        let [first, last] = [first, last].map(|line| NonZeroU32::new(line).unwrap());
        Some(Place::of_lines(first, last))
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
            ("f", Some("b.rb"), 3, 0, "f (b.rb:3)"),
            ("f", Some("b.py"), 3, 7, "f (b.py:3:7)"),
            ("f", Some("b.py"), 3, 0, "f (b%2Epy:3)"),
            ("f", Some("b.py"), 0, 0, "f (b.py)"),
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
            ("f", url, lines(4, 9), "f (https://a.test/b.js):4-9"),
            ("f", None, line(17), "f ():17"),
            ("", None, line(17), "(anonymous) ():17"),
            ("f):17", None, None, "f):17"),
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
            "f (a):9-4",
            "f (a):4-4",
            "f (a):4-",
            "f (a):-4",
            "f (a):4-09",
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
    fn names_in_parentheses_stay_as_they_are() {
        for name in [
            "(module)",
            "(program)",
            "find(int const&)",
            "fn{{closure}}",
            "f)",
        ] {
            assert_eq!(write_label(&label(name, None, 0, 0)), name);
            let url = Some("file:///a/p.mjs");
            let text = format!("{name} (file:///a/p.mjs:2:1)");
            assert_eq!(write_label(&label(name, url, 2, 1)), text);
            for is_taken in [false, true] {
                let is_escaped = is_taken && name == "(program)";
                assert_eq!(write_exact(name, is_taken) != name, is_escaped, "{name}");
            }
        }
    }

    #[test]
    fn a_name_in_a_member_of_its_own_is_read_as_it_was() {
        for (name, is_taken, text) in [
            ("", false, "(anonymous)"),
            ("(anonymous)", false, "%28anonymous)"),
            ("%28anonymous)", false, "%2528anonymous)"),
            ("(idle)", false, "(idle)"),
            ("(idle)", true, "%28idle)"),
            ("%28idle)", false, "%2528idle)"),
            ("%2528idle)", true, "%252528idle)"),
            ("(other thing)", true, "(other thing)"),
            ("%28x)", true, "%28x)"),
            ("a;b\n%3B(", true, "a;b\n%3B("),
            ("%", true, "%"),
        ] {
            assert_eq!(write_exact(name, is_taken), text);
            assert_eq!(read_exact(text), name);
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
            "x ():4-9",
            "x:3",
            "(module)",
            "find(int const&)",
            "operator() const",
            "#",
            "# x",
            "#\t",
            "#hidden",
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
                    for place in [
                        None,
                        self::line(9),
                        lines(4, 12),
                        Some(Place::WasmOffset(0xabcdef)),
                    ] {
                        let text = write_with_place(&label, place);
                        assert_eq!(read_with_place(&text), (label.clone(), place), "{text}");
                    }
                }
            }
        }
    }
}
