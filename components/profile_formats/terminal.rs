/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Profiles that are shown on a terminal. Names in them are a stranger's, and a terminal obeys control
//! characters and turns text around.

use std::io::{self, Write};

use terminal_text::stands_in_its_place;

/// Escapes what a terminal would obey as JSON does, `\u001b`, and writes everything else on. Ends of lines
/// stay. In JSON such characters are only in strings, so the text means the same.
///
/// What is written to it is UTF-8; a character may come in several pieces.
pub struct ForTerminal<W> {
    writer: W,
    /// The first bytes of a character. The others are still to come.
    begun: Vec<u8>,
}

impl<W: Write> ForTerminal<W> {
    pub fn new(writer: W) -> Self {
        Self {
            writer,
            begun: Vec::new(),
        }
    }

    fn write_text(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) = rest.find(is_unsafe) {
            self.writer.write_all(&rest.as_bytes()[..at])?;
            let mut characters = rest[at..].chars();
            if let Some(character) = characters.next() {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(self.writer, "\\u{unit:04x}")?;
                }
            }
            rest = characters.as_str();
        }
        self.writer.write_all(rest.as_bytes())
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        loop {
            match str::from_utf8(rest) {
                Ok(text) => return self.write_text(text),
                Err(error) => {
                    let (text, behind) = rest.split_at(error.valid_up_to());
                    self.write_text(&String::from_utf8_lossy(text))?;
                    match error.error_len() {
                        Some(length) => {
                            self.write_text("\u{fffd}")?;
                            rest = &behind[length..];
                        },
                        None => {
                            self.begun = behind.to_vec();
                            return Ok(());
                        },
                    }
                },
            }
        }
    }
}

impl<W: Write> Write for ForTerminal<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.begun.is_empty() {
            self.write_bytes(bytes)?;
        } else {
            let mut all = std::mem::take(&mut self.begun);
            all.extend_from_slice(bytes);
            self.write_bytes(&all)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Whether a terminal may do anything else with a character than show it in its place. Ends of lines do not count.
fn is_unsafe(character: char) -> bool {
    character != '\n' && !stands_in_its_place(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pieces: &[&[u8]]) -> String {
        let mut shown = Vec::new();
        let mut writer = ForTerminal::new(&mut shown);
        for piece in pieces {
            writer.write_all(piece).unwrap();
        }
        writer.flush().unwrap();
        String::from_utf8(shown).unwrap()
    }

    #[test]
    fn what_a_terminal_obeys_is_escaped() {
        for (text, escaped) in [
            ("f;g 1\n", "f;g 1\n"),
            ("\u{1b}[2Jf\r 1\n", "\\u001b[2Jf\\u000d 1\n"),
            ("a\u{7f}\u{9b}31mb", "a\\u007f\\u009b31mb"),
            (
                "\u{202e}evil\u{2066}\u{200f}\u{61c}",
                "\\u202eevil\\u2066\\u200f\\u061c",
            ),
            ("äöü 漢字 😀", "äöü 漢字 😀"),
            ("\u{e0041}", "\\udb40\\udc41"),
            ("", ""),
        ] {
            assert_eq!(shown(&[text.as_bytes()]), escaped);
            // In pieces of one byte.
            let pieces: Vec<_> = text.as_bytes().chunks(1).collect();
            assert_eq!(shown(&pieces), escaped);
        }
        assert_eq!(shown(&[b"a\xff\x9bb"]), "a\u{fffd}\u{fffd}b");
    }

    #[test]
    fn json_means_the_same() {
        let text = "\u{1b}\u{7f}\u{9b}\u{202e}\u{e0041}\\ \"ä";
        let json = serde_json::to_string(text).unwrap();
        let shown = shown(&[json.as_bytes()]);
        assert!(!shown.chars().any(is_unsafe), "{shown}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
    }
}
