/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Which file reads and writes which format, and how a format is recognised by a file's text.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use crate::bounds::{MAX_TEXT_BYTES, check_length, check_memory};
use crate::calls::Detail;
use crate::collapsed::Unit;
use crate::error::{Error, WriteError};
use crate::format::{Format, Text};
use crate::recording::{EventLoop, Recording};
use crate::sink::Sink;
use crate::{
    chrome_trace, collapsed, cpuprofile, firefox, hermes, html, known_files, pprof, speedscope,
    web_trace,
};

impl Format {
    /// What a file's text says.
    pub fn by_content(text: &[u8]) -> Option<Self> {
        if text.trim_ascii_start().starts_with(b"{") {
            return members_of(text).format();
        }
        if pprof::is_pprof(text) {
            return Some(Self::Pprof);
        }
        if html::is_page(text) {
            return Some(Self::Html);
        }
        if starts_with_event(text) {
            return Some(Self::ChromeTrace);
        }
        let is_collapsed = !known_files::begins_as_comment(text) && collapsed::is_collapsed(text);
        is_collapsed.then_some(Self::Collapsed)
    }

    /// What a file is whose text is in none of the formats, if it is known.
    pub(crate) fn known_file(text: &[u8]) -> Option<&'static str> {
        if text.trim_ascii_start().starts_with(b"{") {
            return match members_of(text) {
                Found::Known(what) => Some(what),
                Found::Format(_) | Found::Nothing => None,
            };
        }
        known_files::by_start(text)
    }

    /// Reads a text of this format. `memory` is what may be taken for it, in bytes. `unit` is that of counts in collapsed
    /// stacks. Guesses are told.
    pub(crate) fn read(
        self,
        text: &[u8],
        memory: u64,
        unit: Option<Unit>,
        guesses: &mut Vec<String>,
    ) -> Result<Recording, Error> {
        match self {
            Self::Trace => web_trace::read(text, memory),
            Self::Firefox => firefox::read(text, memory),
            Self::Speedscope | Self::SpeedscopeLines => speedscope::read(text, memory),
            Self::Cpuprofile => cpuprofile::read(text, memory),
            Self::Collapsed | Self::CollapsedLines => collapsed::read(text, memory, unit, guesses),
            Self::Html => html::read(text, memory),
            Self::Pprof => pprof::read(text, memory),
            Self::ChromeTrace => chrome_trace::read(text, memory),
            Self::Hermes => hermes::read(text, memory),
        }
    }

    /// Writes a recording in large pieces, and flushes. If the recording does not fit the format, or its text would be
    /// longer than [`MAX_TEXT_BYTES`](crate::MAX_TEXT_BYTES), nothing is written.
    pub fn write(self, recording: &Recording, writer: impl Write) -> Result<(), WriteError> {
        self.write_to(recording, || Ok(writer)).map(drop)
    }

    /// Like [`Self::write`], but opens the file only when everything has been checked.
    pub(crate) fn write_to<W: Write>(
        self,
        recording: &Recording,
        open: impl FnOnce() -> io::Result<W>,
    ) -> Result<W, WriteError> {
        self.write_text(&self.prepare(recording)?, open)
    }

    /// Like [`Self::write_to`], for the page of a comparison.
    pub(crate) fn write_comparison_to<W: Write>(
        recording: &Recording,
        open: impl FnOnce() -> io::Result<W>,
    ) -> Result<W, WriteError> {
        check_memory(Self::Html, recording)?;
        Self::Html.write_text(&html::prepare_comparison(recording), open)
    }

    fn write_text<W: Write>(
        self,
        text: &impl Text,
        open: impl FnOnce() -> io::Result<W>,
    ) -> Result<W, WriteError> {
        let length = self.length_of(text)?;
        let mut writer = open()?;
        let mut sink = Sink::writing(length, &mut writer);
        text(&mut sink)?;
        sink.flush()?;
        drop(sink);
        Ok(writer)
    }

    /// Makes the checks of [`Self::write`], and returns how many bytes it would write.
    pub fn length(self, recording: &Recording) -> Result<u64, WriteError> {
        self.length_of(&self.prepare(recording)?)
    }

    /// Makes the text and counts its bytes, until it is too long.
    fn length_of(self, text: &impl Text) -> Result<u64, WriteError> {
        let mut sink = Sink::counting(MAX_TEXT_BYTES);
        match text(&mut sink) {
            Ok(()) => Ok(sink.bytes()),
            // Nothing else fails where nothing is written.
            Err(WriteError::Io(_)) => {
                check_length(self, MAX_TEXT_BYTES + 1)?;
                unreachable!("a longer text is refused")
            },
            Err(error) => Err(error),
        }
    }

    fn prepare(self, recording: &Recording) -> Result<Box<dyn Text + '_>, WriteError> {
        if recording.event_loops().any(EventLoop::is_summed) {
            let problem = "its samples were added up for a report, without their times";
            return Err(WriteError::Unfit(problem.to_owned()));
        }
        check_memory(self, recording)?;
        Ok(match self {
            Self::Trace => Box::new(web_trace::prepare(recording)?),
            Self::Firefox => Box::new(firefox::prepare(recording)?),
            Self::Speedscope => Box::new(speedscope::prepare(recording, Detail::Functions)?),
            Self::SpeedscopeLines => Box::new(speedscope::prepare(recording, Detail::Lines)?),
            Self::Cpuprofile => Box::new(cpuprofile::prepare(recording)?),
            Self::Collapsed => Box::new(collapsed::prepare(recording, Detail::Functions)?),
            Self::CollapsedLines => Box::new(collapsed::prepare(recording, Detail::Lines)?),
            Self::Html => Box::new(html::prepare(recording)),
            Self::Pprof => Box::new(pprof::prepare(recording)?),
            Self::ChromeTrace | Self::Hermes => {
                return Err(WriteError::Unfit(format!(
                    "the format {self} is read and not written; those that are written: {}",
                    Self::names()
                )));
            },
        })
    }
}

/// What the names of an object's members show.
pub(crate) enum Found {
    Format(Format),
    /// A file that is known, and is not read.
    Known(&'static str),
    Nothing,
}

impl Found {
    pub(crate) fn format(self) -> Option<Format> {
        match self {
            Self::Format(format) => Some(format),
            Self::Known(_) | Self::Nothing => None,
        }
    }
}

fn members_of(text: &[u8]) -> Found {
    by_members(&mut serde_json::Deserializer::from_slice(text))
}

/// The format, as the names of an object's members show it. What comes after them is not read.
pub(crate) fn by_members<'de>(deserializer: impl Deserializer<'de>) -> Found {
    const MARKS: [(&[&str], Format); 6] = [
        (&["frames", "stacks", "samples", "resources"], Format::Trace),
        (&["meta", "threads"], Format::Firefox),
        (&["shared", "profiles"], Format::Speedscope),
        (&["nodes", "startTime"], Format::Cpuprofile),
        (&["nodes", "samples"], Format::Cpuprofile),
        (&["stackFrames", "samples"], Format::Hermes),
    ];
    // The member of Chrome's traces is one of others, too.
    const EVENTS: &str = "traceEvents";
    // A text may have more names than fit into memory. So only those are kept that may be asked for.
    let mut names: Vec<&str> = Vec::new();
    let all = || {
        let marks = MARKS.iter().flat_map(|(mark, _)| *mark).copied();
        marks.chain([EVENTS]).chain(known_files::members())
    };
    let (mut found, mut known) = (None, None);
    let result = deserializer.deserialize_map(Members(|name: &str| {
        let wanted = all().find(|mark| name == *mark);
        names.extend(wanted.filter(|mark| !names.contains(mark)));
        // A heap snapshot has nodes and samples, too.
        known = known_files::by_members(&names);
        let has = |mark: &&str| names.contains(mark);
        let mark = MARKS.iter().find(|(mark, _)| mark.iter().all(has));
        found = mark.map(|(_, format)| *format);
        known.is_some() || found.is_some()
    }));
    if let Some(what) = known {
        return Found::Known(what);
    }
    if let Some(format) = found {
        return Found::Format(format);
    }
    // An error ends the reading when enough has been found. Any other error means that the text is not an object.
    let _ = result;
    if names.contains(&EVENTS) {
        return Found::Format(Format::ChromeTrace);
    }
    Found::Nothing
}

/// Whether a text is a list that begins with an event of a trace.
fn starts_with_event(text: &[u8]) -> bool {
    let Some(list) = text.trim_ascii_start().strip_prefix(b"[") else {
        return false;
    };
    let mut has_phase = false;
    let mut deserializer = serde_json::Deserializer::from_slice(list);
    let _ = deserializer.deserialize_map(Members(|name: &str| {
        has_phase |= name == "ph";
        has_phase
    }));
    has_phase
}

/// Gives the names of an object's members to a function until it has enough.
struct Members<F>(F);

impl<'de, F: FnMut(&str) -> bool> Visitor<'de> for Members<F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = map.next_key()? {
            if (self.0)(&name) {
                return Err(A::Error::custom("enough"));
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
