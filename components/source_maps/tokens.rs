/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The words and signs of a source in JavaScript, TypeScript or JSX.
//!
//! This is not the whole lexical grammar. The text in an element of JSX is taken for code. The token before a slash
//! decides whether it begins a regular expression. A quote without another one on its line is a sign.

/// A part of a text that is neither white space nor a comment.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    pub kind: Kind,
    /// In bytes.
    pub start: u32,
    pub end: u32,
    /// Whether it is the first on its line.
    pub begins_line: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// A name, a keyword, or the name of a private member with its `#`.
    Word,
    String,
    /// A number, a regular expression, or what is between the holes of a template.
    Literal,
    /// `=`, `||=`, `&&=` or `??=`.
    Assign,
    /// `=>`
    Arrow,
    /// Another sign; of several characters, the first one of them.
    Sign(u8),
}

/// Words after which an expression begins. So a slash after them begins a regular expression.
const BEFORE_EXPRESSION: [&str; 15] = [
    "await",
    "case",
    "delete",
    "do",
    "else",
    "extends",
    "in",
    "instanceof",
    "new",
    "of",
    "return",
    "throw",
    "typeof",
    "void",
    "yield",
];

pub struct Tokens<'a> {
    text: &'a str,
    at: usize,
    last: Option<Token>,
    begins_line: bool,
    /// For each `{` that is open, whether it is a hole of a template.
    braces: Vec<bool>,
    /// Strings and regular expressions of this line that have no end.
    without_end: usize,
}

/// If a line has more strings or regular expressions without an end than this, no further ends are looked for.
const MAX_WITHOUT_END: usize = 16;

impl<'a> Tokens<'a> {
    /// `text` is shorter than 4 GB.
    pub fn of(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            last: None,
            begins_line: true,
            braces: Vec::new(),
            without_end: 0,
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks_and_comments(&mut self) {
        loop {
            let rest = self.rest();
            let Some(first) = rest.chars().next() else {
                return;
            };
            if is_line_end(first) {
                self.begins_line = true;
                self.without_end = 0;
                self.at += first.len_utf8();
            } else if first.is_whitespace() || first == '\u{feff}' {
                self.at += first.len_utf8();
            } else if rest.starts_with("//") || self.at == 0 && rest.starts_with("#!") {
                self.at += rest.find(is_line_end).unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let end = comment.find("*/");
                let length = end.map_or(rest.len(), |end| end + 4);
                self.begins_line |= rest[..length].contains(is_line_end);
                self.at += length;
            } else {
                return;
            }
        }
    }

    /// The kind and the length in bytes of the token that begins here.
    fn scan(&mut self, first: u8) -> (Kind, usize) {
        let rest = self.rest();
        match first {
            b'0'..=b'9' => (Kind::Literal, word_length(rest)),
            b'"' | b'\'' => self.up_to_end(Kind::String, |rest| string_length(rest, first)),
            b'`' => self.template(1),
            b'}' if self.braces.pop() == Some(true) => self.template(1),
            b'{' => {
                self.braces.push(false);
                (Kind::Sign(first), 1)
            },
            b'/' if self.may_begin_expression() => {
                self.up_to_end(Kind::Literal, regular_expression_length)
            },
            b'#' if word_length(&rest[1..]) > 0 => (Kind::Word, 1 + word_length(&rest[1..])),
            _ if is_word_byte(first) => (Kind::Word, word_length(rest)),
            _ => sign(rest.as_bytes()),
        }
    }

    /// What has its end on this line, or else a sign.
    fn up_to_end(&mut self, kind: Kind, length: impl Fn(&str) -> Option<usize>) -> (Kind, usize) {
        let rest = self.rest();
        if self.without_end < MAX_WITHOUT_END {
            if let Some(length) = length(rest) {
                return (kind, length);
            }
            self.without_end += 1;
        }
        (Kind::Sign(rest.as_bytes()[0]), 1)
    }

    /// A part of a template, up to its next hole or its end. `start` is the length of what it begins with.
    fn template(&mut self, start: usize) -> (Kind, usize) {
        let bytes = self.rest().as_bytes();
        let mut at = start;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'\\' => at += 1,
                b'`' => return (Kind::Literal, at + 1),
                b'$' if bytes.get(at + 1) == Some(&b'{') => {
                    self.braces.push(true);
                    return (Kind::Literal, at + 2);
                },
                _ => {},
            }
            at += 1;
        }
        (Kind::Literal, bytes.len())
    }

    fn may_begin_expression(&self) -> bool {
        let Some(last) = self.last else {
            return true;
        };
        let text = &self.text[last.start as usize..last.end as usize];
        match last.kind {
            Kind::Word => BEFORE_EXPRESSION.contains(&text),
            Kind::String => false,
            // A hole of a template begins an expression.
            Kind::Literal => text.ends_with("${"),
            // `</` ends an element of JSX.
            Kind::Sign(b'<') => last.end as usize != self.at,
            Kind::Sign(b'}') => self.begins_line,
            Kind::Sign(sign) => !matches!(sign, b')' | b']'),
            Kind::Assign | Kind::Arrow => true,
        }
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        self.skip_blanks_and_comments();
        let first = *self.rest().as_bytes().first()?;
        let start = self.at;
        let (kind, length) = self.scan(first);
        // An escape at the end may have gone beyond it, or into a character.
        self.at = self.text.ceil_char_boundary(start + length);
        let token = Token {
            kind,
            start: start as u32,
            end: self.at as u32,
            begins_line: self.begins_line,
        };
        self.begins_line = false;
        self.last = Some(token);
        Some(token)
    }
}

pub fn is_line_end(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// Characters beyond ASCII are parts of names unless they are white space.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii()
}

fn word_length(text: &str) -> usize {
    let is_end = |character: char| match character.is_ascii() {
        true => !is_word_byte(character as u8),
        false => character.is_whitespace() || character == '\u{feff}',
    };
    text.find(is_end).unwrap_or(text.len())
}

fn string_length(text: &str, quote: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 1,
            b'\n' | b'\r' => return None,
            byte if *byte == quote => return Some(at + 1),
            _ => {},
        }
        at += 1;
    }
}

/// Its flags are a word of their own, which does no harm.
fn regular_expression_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    let mut in_class = false;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 1,
            b'\n' | b'\r' => return None,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'/' if !in_class => return Some(at + 1 + word_length(&text[at + 1..])),
            _ => {},
        }
        at += 1;
    }
}

fn sign(bytes: &[u8]) -> (Kind, usize) {
    for (text, kind) in [
        ("=>", Kind::Arrow),
        ("===", Kind::Sign(b'e')),
        ("==", Kind::Sign(b'e')),
        ("=", Kind::Assign),
        ("||=", Kind::Assign),
        ("&&=", Kind::Assign),
        ("??=", Kind::Assign),
        ("?.", Kind::Sign(b'.')),
        ("...", Kind::Sign(b'd')),
        ("!=", Kind::Sign(b'e')),
        ("<=", Kind::Sign(b'e')),
        (">=", Kind::Sign(b'e')),
        ("+=", Kind::Sign(b'e')),
        ("-=", Kind::Sign(b'e')),
        ("*=", Kind::Sign(b'e')),
        ("/=", Kind::Sign(b'e')),
        ("%=", Kind::Sign(b'e')),
        ("&=", Kind::Sign(b'e')),
        ("|=", Kind::Sign(b'e')),
        ("^=", Kind::Sign(b'e')),
    ] {
        if bytes.starts_with(text.as_bytes()) {
            return (kind, text.len());
        }
    }
    (Kind::Sign(bytes[0]), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<&str> {
        Tokens::of(text)
            .map(|token| &text[token.start as usize..token.end as usize])
            .collect()
    }

    #[test]
    fn comments_strings_templates_and_regular_expressions_are_not_code() {
        assert_eq!(tokens("#!/bin/node {\na/*{*/b//{\nc"), ["a", "b", "c"]);
        assert_eq!(
            tokens(r#"a = '{\'' + "}\"" + /[/{]\/{/gu;"#),
            [
                "a",
                "=",
                r"'{\''",
                "+",
                r#""}\"""#,
                "+",
                r"/[/{]\/{/gu",
                ";"
            ]
        );
        assert_eq!(
            tokens("a / b / c(d) / 2"),
            ["a", "/", "b", "/", "c", "(", "d", ")", "/", "2"]
        );
        assert_eq!(tokens("return /{/"), ["return", "/{/"]);
        assert_eq!(
            tokens("`{${a + `}${{b}}`}{` + c"),
            [
                "`{${", "a", "+", "`}${", "{", "b", "}", "}`", "}{`", "+", "c"
            ]
        );
        assert_eq!(
            tokens("<b>it's</b>"),
            ["<", "b", ">", "it", "'", "s", "<", "/", "b", ">"]
        );
        assert_eq!(tokens("</b><i></i>").len(), 11);
        assert_eq!(
            tokens("x ??= y?.#z => 1.5e3n"),
            ["x", "??=", "y", "?.", "#z", "=>", "1", ".", "5e3n"]
        );
        assert_eq!(tokens("größe=>😀"), ["größe", "=>", "😀"]);
    }

    #[test]
    fn each_text_ends() {
        for text in [
            "'\\", "`\\", "`\\😀", "/\\", "\"\\ü", "#", "/*", "`${", "}", "\u{2028}", "/ü",
        ] {
            let ends: Vec<_> = Tokens::of(text).map(|token| token.end as usize).collect();
            assert!(ends.last().is_none_or(|end| *end <= text.len()), "{text}");
        }
    }
}
