/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What recorded a profile: a program and the engines that it is built on, each with its version.
//!
//! A file may say anything here. So names and versions are on one line, safe for a terminal and short, and there are few
//! engines. A name that is cut has `…` in it.

use std::fmt;

use serde::{Deserialize, Serialize};
use terminal_text::shortened;

/// The longest name and the longest version, in characters.
const MAX_CHARACTERS: usize = 100;

/// The most engines of a program. More are an error.
const MAX_ENGINES: usize = 16;

/// A program or an engine, and its version.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "ProgramData")]
pub struct Program {
    name: String,
    version: Option<String>,
}

impl Program {
    /// `None` without a name. An empty version is an unknown one.
    pub fn new(name: &str, version: Option<&str>) -> Option<Self> {
        let name = kept(name)?;
        let version = version.and_then(kept);
        Some(Self { name, version })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Absent if it is unknown.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }
}

/// As it is kept; `None` if there is nothing in it.
fn kept(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| shortened(text, MAX_CHARACTERS))
}

impl fmt::Display for Program {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)?;
        match &self.version {
            Some(version) => write!(formatter, " {version}"),
            None => Ok(()),
        }
    }
}

/// What recorded a profile. Its text is `Strobe 0.1.0 (Servo 0.7.0, SpiderMonkey 153.6.0)`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "RecordedByData")]
pub struct RecordedBy {
    #[serde(flatten)]
    program: Program,
    engines: Vec<Program>,
}

/// Why something cannot have recorded a profile, as a clause.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NoRecorder {
    WithoutName,
    TooManyEngines,
}

impl RecordedBy {
    /// With the engines that the program is built on, of which there may be 16.
    pub fn new(program: Program, engines: Vec<Program>) -> Result<Self, NoRecorder> {
        match engines.len() <= MAX_ENGINES {
            true => Ok(Self { program, engines }),
            false => Err(NoRecorder::TooManyEngines),
        }
    }

    pub fn program(&self) -> &Program {
        &self.program
    }

    pub fn engines(&self) -> &[Program] {
        &self.engines
    }
}

impl fmt::Display for RecordedBy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.program.fmt(formatter)?;
        for (index, engine) in self.engines.iter().enumerate() {
            let before = if index == 0 { " (" } else { ", " };
            write!(formatter, "{before}{engine}")?;
        }
        match self.engines.is_empty() {
            true => Ok(()),
            false => formatter.write_str(")"),
        }
    }
}

impl fmt::Display for NoRecorder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WithoutName => formatter.write_str("a program without a name"),
            Self::TooManyEngines => write!(formatter, "more than {MAX_ENGINES} engines"),
        }
    }
}

/// What a file says of a program.
#[derive(Deserialize)]
struct ProgramData {
    name: String,
    version: Option<String>,
}

/// The same of what recorded it.
#[derive(Deserialize)]
struct RecordedByData {
    name: String,
    version: Option<String>,
    #[serde(default)]
    engines: Vec<Program>,
}

impl TryFrom<ProgramData> for Program {
    type Error = NoRecorder;

    fn try_from(data: ProgramData) -> Result<Self, NoRecorder> {
        Self::new(&data.name, data.version.as_deref()).ok_or(NoRecorder::WithoutName)
    }
}

impl TryFrom<RecordedByData> for RecordedBy {
    type Error = NoRecorder;

    fn try_from(data: RecordedByData) -> Result<Self, NoRecorder> {
        let RecordedByData {
            name,
            version,
            engines,
        } = data;
        let program = Program::try_from(ProgramData { name, version })?;
        Self::new(program, engines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(name: &str, version: Option<&str>) -> Program {
        Program::new(name, version).unwrap()
    }

    #[test]
    fn its_text_has_each_version_that_is_known() {
        let text = |program, engines: &[Program]| {
            RecordedBy::new(program, engines.to_vec())
                .unwrap()
                .to_string()
        };
        let engines = [program("Servo", Some("0.7.0")), program("An engine", None)];
        assert_eq!(
            text(program("Strobe", Some("0.1.0")), &engines),
            "Strobe 0.1.0 (Servo 0.7.0, An engine)"
        );
        assert_eq!(text(program("Firefox", None), &[]), "Firefox");
    }

    #[test]
    fn names_and_versions_are_short_and_on_one_line() {
        let hostile = program(" \u{1b}[2J\n\u{202e}a ", Some("\t1\u{200b}"));
        assert_eq!(hostile.name(), "\\u{1b}[2J\\n\\u{202e}a");
        assert_eq!(hostile.version(), Some("1\\u{200b}"));
        let long = "x".repeat(1_000_000);
        let cut = program(&long, Some(&long));
        for text in [cut.name(), cut.version().unwrap()] {
            assert_eq!(text.chars().count(), MAX_CHARACTERS);
            assert!(text.contains('…'), "{text}");
        }
        // What is kept stays as it is when it is read again.
        for one in [hostile, cut] {
            assert_eq!(program(one.name(), one.version()), one);
        }
        assert_eq!(Program::new(" \n", Some("1")), None);
        assert_eq!(program("a", Some(" ")).version(), None);
    }

    #[test]
    fn there_are_few_engines() {
        let engines = |count| vec![program("an engine", None); count];
        let recorded_by = |count| RecordedBy::new(program("a", None), engines(count));
        assert!(recorded_by(MAX_ENGINES).is_ok());
        let error = recorded_by(MAX_ENGINES + 1).unwrap_err();
        assert_eq!(error.to_string(), "more than 16 engines");
    }
}
