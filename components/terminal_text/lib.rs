/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Text of pages, escaped so that a terminal shows it and does not interpret it.
//!
//! All text that a page can influence goes through [`on_one_line`] or [`shortened`] before it reaches standard
//! output or standard error: console messages, dialogs, names of functions, URLs, and errors that quote them.
//! [`EscapedLog`] does the same for the lines that crates log.
//!
//! A character that is not visible in its place is escaped as in a Rust string, `\u{1b}`. These are control
//! characters, line ends, characters that change the direction of text, invisible characters, and characters
//! whose meaning depends on a font or a later version of Unicode. A backslash is not escaped, so the result is for
//! people to read and cannot be converted back.

#![deny(unsafe_code)]

// Rebuilt in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

mod escaped_log;

use std::fmt::{self, Write as _};

use icu_properties::props::{DefaultIgnorableCodePoint, ExtendedPictographic, GeneralCategory};
use icu_properties::{CodePointMapData, CodePointSetData};

pub use crate::escaped_log::EscapedLog;

/// Asks for the emoji form of the character before it, as in ⚠️. It is not visible itself.
const EMOJI_PRESENTATION: char = '\u{fe0f}';

/// Replaces the omitted part of a text.
const ELLIPSIS: char = '…';

/// `text` on one line. Tabs are kept.
pub fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for shown in from_start(text) {
        match shown {
            Shown::Escaped('\t') => line.push('\t'),
            shown => write!(line, "{shown}").expect("it is in memory"),
        }
    }
    line
}

/// `text` on one line of at most `max` characters, for a column of a table or within a sentence. Tabs are escaped
/// too, because they would shift the text after them. A longer text keeps its beginning and its end, with `…` between
/// them.
pub fn shortened(text: &str, max: usize) -> String {
    let whole = fitting(from_start(text), max);
    if text.chars().nth(whole.len()).is_none() {
        return whole.iter().map(Shown::to_string).collect();
    }
    let room = max.saturating_sub(1);
    let start = fitting(from_start(text), room.div_ceil(2));
    let end = fitting(from_end(text), room / 2);
    let start = start.iter().map(Shown::to_string);
    let end = end.iter().rev().map(Shown::to_string);
    start.chain([ELLIPSIS.to_string()]).chain(end).collect()
}

/// A character as it is shown.
#[derive(Clone, Copy)]
enum Shown {
    AsItIs(char),
    Escaped(char),
}

impl Shown {
    /// How a character is shown after the character `before`.
    fn of(before: Option<char>, character: char) -> Self {
        let is_plain = match character {
            ' '..='~' => true,
            EMOJI_PRESENTATION => before.is_some_and(is_pictograph),
            _ => stands_in_its_place(character),
        };
        match is_plain {
            true => Self::AsItIs(character),
            false => Self::Escaped(character),
        }
    }

    /// In characters.
    fn width(self) -> usize {
        match self {
            Self::AsItIs(_) => 1,
            Self::Escaped(character) => character.escape_default().len(),
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AsItIs(character) => formatter.write_char(*character),
            Self::Escaped(character) => character.escape_default().fmt(formatter),
        }
    }
}

fn from_start(text: &str) -> impl Iterator<Item = Shown> {
    let mut before = None;
    text.chars()
        .map(move |character| Shown::of(before.replace(character), character))
}

fn from_end(text: &str) -> impl Iterator<Item = Shown> {
    text.char_indices()
        .rev()
        .map(|(at, character)| Shown::of(text[..at].chars().next_back(), character))
}

/// The first characters, as many as fit into `max` characters together.
fn fitting(characters: impl Iterator<Item = Shown>, max: usize) -> Vec<Shown> {
    let mut width = 0;
    characters
        .take_while(|shown| {
            width += shown.width();
            width <= max
        })
        .collect()
}

/// Whether a character is visible and affects nothing but its own place.
pub fn stands_in_its_place(character: char) -> bool {
    let category = CodePointMapData::<GeneralCategory>::new().get(character);
    let is_told = !matches!(
        category,
        GeneralCategory::Control
            // Direction marks, tags and characters of zero width.
            | GeneralCategory::Format
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
            | GeneralCategory::PrivateUse
            | GeneralCategory::Surrogate
            | GeneralCategory::Unassigned
    );
    // Fillers and selectors are invisible although their categories are letters and marks.
    is_told && !CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(character)
}

fn is_pictograph(character: char) -> bool {
    CodePointSetData::new::<ExtendedPictographic>().contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_escaped(character: char) -> bool {
        on_one_line(&format!("a{character}b")) == format!("a{}b", character.escape_default())
    }

    #[test]
    fn no_character_drives_the_terminal_or_begins_a_line() {
        assert_eq!(
            on_one_line("a\nerror: b\r\u{1b}[2J\u{7f}\u{9b}2J\u{85}\u{2028}\u{2029}\0"),
            "a\\nerror: b\\r\\u{1b}[2J\\u{7f}\\u{9b}2J\\u{85}\\u{2028}\\u{2029}\\u{0}"
        );
        for character in ('\0'..='\u{9f}').filter(|character| character.is_control()) {
            assert!(character == '\t' || is_escaped(character), "{character:?}");
        }
    }

    #[test]
    fn no_character_changes_the_direction_or_hides() {
        for characters in [
            '\u{61c}'..='\u{61c}',
            '\u{200b}'..='\u{200f}',
            '\u{2028}'..='\u{202e}',
            '\u{2060}'..='\u{206f}',
            '\u{feff}'..='\u{feff}',
            '\u{ad}'..='\u{ad}',
            // Fillers, which look like spaces.
            '\u{115f}'..='\u{1160}',
            '\u{3164}'..='\u{3164}',
            // Selectors and tags.
            '\u{fe00}'..='\u{fe0f}',
            '\u{e0000}'..='\u{e0fff}',
            // Private use and unassigned.
            '\u{e000}'..='\u{f8ff}',
            '\u{10fff0}'..='\u{10ffff}',
            '\u{378}'..='\u{379}',
        ] {
            for character in characters {
                assert!(is_escaped(character), "{character:?}");
            }
        }
    }

    #[test]
    fn ordinary_text_stays() {
        for text in [
            "",
            "tab\tand spaces  \u{a0}",
            "ünïcödé, e\u{301}, 漢字, नमस्ते, עברית, العربية",
            "😀 ⚠️ ℹ️ \u{1f1e9}\u{1f1ea} 👍🏽",
            "\\u{1b}",
        ] {
            assert_eq!(on_one_line(text), text);
        }
        // The joiner that makes one picture of two is invisible.
        assert_eq!(on_one_line("👩\u{200d}💻"), "👩\\u{200d}💻");
        assert_eq!(on_one_line("a\u{fe0f}"), "a\\u{fe0f}");
    }

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        assert_eq!(shortened("abcdefg", 7), "abcdefg");
        assert_eq!(shortened("abcdefgh", 7), "abc…fgh");
        assert_eq!(shortened("abcdefgh", 6), "abc…gh");
        assert_eq!(shortened("a\tb", 7), "a\\tb");
        assert_eq!(shortened("ü漢😀ü漢😀", 5), "ü漢…漢😀");
        assert_eq!(shortened("", 0), "");
        assert_eq!(shortened("ab", 1), "…");
    }

    #[test]
    fn a_long_text_is_cut_between_characters_as_they_are_shown() {
        let text = "\u{202e}".repeat(1_000_000);
        assert_eq!(shortened(&text, 20), "\\u{202e}…\\u{202e}");
        for max in 1..40 {
            let line = shortened(&text, max);
            let count = line.chars().count();
            assert!(count <= max && max <= count + 15, "{max}: {line}");
            assert_eq!(line.replace("\\u{202e}", ""), "…");
        }
        let text = "\u{202e}\u{202e}\u{202e}";
        assert_eq!(shortened(text, 24), on_one_line(text));
        assert_eq!(shortened(text, 23), "\\u{202e}…\\u{202e}");
    }
}
