/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Positions of functions in source files.

use std::fs;
use std::path::Path;

/// A position in a source file.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Position {
    /// 1-based.
    pub line: u32,
    /// 1-based, in UTF-16 code units.
    pub column: u32,
}

/// The text of a source file.
pub struct Source {
    name: String,
    text: String,
}

impl Source {
    /// Reads the file of a test page.
    pub fn of_page(name: &str) -> Self {
        Self::read(&crate::pages().join(name))
    }

    pub fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
        Self::of_text(&path.to_string_lossy(), text)
    }

    pub fn of_text(name: &str, text: String) -> Self {
        Self {
            name: name.to_owned(),
            text,
        }
    }

    /// The position of a function's parameter list. `definition` is in the file once and ends with the
    /// parenthesis: `function add(`.
    pub fn parameters_of(&self, definition: &str) -> Position {
        assert!(definition.ends_with('('), "{definition} has no parenthesis");
        self.position(self.offset_of(definition) + definition.len() - 1)
    }

    /// The position where `part` begins. It is in the file once.
    pub fn place_of(&self, part: &str) -> Position {
        self.position(self.offset_of(part))
    }

    pub fn contains(&self, part: &str) -> bool {
        self.text.contains(part)
    }

    fn offset_of(&self, part: &str) -> usize {
        let mut found = self.text.match_indices(part);
        let (offset, _) = found
            .next()
            .unwrap_or_else(|| panic!("{part} is not in {}", self.name));
        assert!(
            found.next().is_none(),
            "{part} is in {} more than once",
            self.name
        );
        offset
    }

    fn position(&self, offset: usize) -> Position {
        let before = &self.text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Position {
            line: before.matches('\n').count() as u32 + 1,
            column: before[line_start..].encode_utf16().count() as u32 + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_one_based_and_columns_count_utf_16() {
        let source = Source::of_text("s", "function a() {}\n  /* 😀é */ function b (x) {}".into());
        assert_eq!(
            source.parameters_of("function a("),
            Position {
                line: 1,
                column: 11
            }
        );
        assert_eq!(
            source.parameters_of("function b ("),
            Position {
                line: 2,
                column: 24
            }
        );
        assert_eq!(
            source.place_of("b (x)"),
            Position {
                line: 2,
                column: 22
            }
        );
    }

    #[test]
    #[should_panic(expected = "more than once")]
    fn an_ambiguous_definition_is_refused() {
        Source::of_text("s", "f(f(".into()).parameters_of("f(");
    }
}
