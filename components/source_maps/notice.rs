/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What is wrong with a map, in a sentence for a person.

use std::fmt;

/// A map that is not used, and why. The profile is whole without it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Notice {
    /// What it is about: a map, a script or a folder, by its URL or path. It is shortened, and shown on one line.
    pub name: String,
    /// A clause about it, without a full stop.
    pub why: String,
}

impl Notice {
    pub fn new(name: &str, why: impl fmt::Display) -> Self {
        const MAX_NAME: usize = 200;
        const MAX_WHY: usize = 1_000;
        Self {
            name: terminal_text::shortened(name, MAX_NAME),
            why: terminal_text::shortened(&why.to_string(), MAX_WHY),
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.name, self.why)
    }
}

impl std::error::Error for Notice {}

/// A part of a map or a script in quotes, short enough for a sentence.
pub fn quoted(text: &str) -> String {
    const MAX_LENGTH: usize = 100;
    format!("\"{}\"", terminal_text::shortened(text, MAX_LENGTH))
}
