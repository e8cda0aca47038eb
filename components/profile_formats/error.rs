/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What is wrong with a file, and where.

use std::fmt;
use std::io;

/// Why a file could not be read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Error {
    /// A path into the JSON text, as in `samples[3].stackId`, or a line; empty for the file as a whole.
    place: String,
    problem: String,
}

impl Error {
    pub(crate) fn new(place: impl Into<String>, problem: impl fmt::Display) -> Self {
        Self {
            place: place.into(),
            problem: shown(&problem.to_string()),
        }
    }

    /// Of the file as a whole.
    pub(crate) fn of_file(problem: impl fmt::Display) -> Self {
        Self::new("", problem)
    }

    /// An index beyond the end of its table.
    pub(crate) fn out_of_range(
        place: impl Into<String>,
        index: u64,
        table: &str,
        length: usize,
    ) -> Self {
        Self::new(
            place,
            format!("{index} is not an index of {table}, which has {length}"),
        )
    }

    /// A caller's stack that does not come before its callee's.
    pub(crate) fn no_stack_before(place: impl Into<String>, index: impl fmt::Display) -> Self {
        let problem = format!("{index} is not the index of a stack before this one");
        Self::new(place, problem)
    }

    /// The error of a part of a file, with its place in the file.
    pub(crate) fn within(mut self, part: &str) -> Self {
        self.place = match self.place.is_empty() {
            true => part.to_owned(),
            false => format!("{part}.{}", self.place),
        };
        self
    }

    /// Empty for the file as a whole.
    pub fn place(&self) -> &str {
        &self.place
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(formatter, "{}: ", self.place)?;
        }
        formatter.write_str(&self.problem)
    }
}

impl std::error::Error for Error {}

/// A text for one line of a terminal or of a page. It may quote what is in a file.
fn shown(text: &str) -> String {
    const MAX_CHARACTERS: usize = 1_000;
    terminal_text::shortened(text, MAX_CHARACTERS)
}

/// Why a recording could not be written.
#[derive(Debug)]
pub enum WriteError {
    /// Part of it may have been written.
    Io(io::Error),
    /// The format cannot hold it; nothing has been written. A sentence for a person.
    Unfit(String),
    /// The text, or the memory that writing it needs, would be too large; nothing has been written. A sentence for a
    /// person that says what is too large, its size and the bound.
    TooLarge(String),
}

impl fmt::Display for WriteError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(formatter),
            Self::Unfit(why) | Self::TooLarge(why) => formatter.write_str(why),
        }
    }
}

impl std::error::Error for WriteError {}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<serde_json::Error> for WriteError {
    /// The values have no maps with keys that JSON cannot hold. So only the writer fails.
    fn from(error: serde_json::Error) -> Self {
        Self::Io(error.into())
    }
}
