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
use crate::error::{Error, WriteError};
use crate::format::{Format, Text};
use crate::recording::Recording;
use crate::sink::Sink;
use crate::{collapsed, cpuprofile, firefox, html, speedscope, web_trace};

impl Format {
    /// What a file's text says.
    pub fn by_content(text: &[u8]) -> Option<Self> {
        if text.trim_ascii_start().starts_with(b"{") {
            return by_members(text);
        }
        if html::is_page(text) {
            return Some(Self::Html);
        }
        let line = text
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::trim_ascii)
            .find(|line| !line.is_empty())?;
        let count = line.rsplit(|byte| *byte == b' ').next()?;
        (count.len() < line.len() && count.iter().all(u8::is_ascii_digit))
            .then_some(Self::Collapsed)
    }

    /// Reads a text of this format. `memory` is what may be taken for it, in bytes.
    pub(crate) fn read(self, text: &[u8], memory: u64) -> Result<Recording, Error> {
        match self {
            Self::Trace => web_trace::read(text, memory),
            Self::Firefox => firefox::read(text, memory),
            Self::Speedscope | Self::SpeedscopeLines => speedscope::read(text, memory),
            Self::Cpuprofile => cpuprofile::read(text, memory),
            Self::Collapsed | Self::CollapsedLines => collapsed::read(text, memory),
            Self::Html => html::read(text, memory),
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
        let text = self.prepare(recording)?;
        let length = self.length_of(&text)?;
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
        })
    }
}

/// The format, as the names of an object's members show it. What comes after them is not read.
fn by_members(text: &[u8]) -> Option<Format> {
    const MARKS: [(&[&str], Format); 5] = [
        (&["frames", "stacks", "samples", "resources"], Format::Trace),
        (&["meta", "threads"], Format::Firefox),
        (&["shared", "profiles"], Format::Speedscope),
        (&["nodes", "startTime"], Format::Cpuprofile),
        (&["nodes", "samples"], Format::Cpuprofile),
    ];
    // A text may have more names than fit into memory. So only those are kept that may be asked for.
    let mut names: Vec<&str> = Vec::new();
    let all = || MARKS.iter().flat_map(|(mark, _)| *mark);
    let mut found = None;
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let result = deserializer.deserialize_map(Members(|name: &str| {
        let wanted = all().copied().find(|mark| name == *mark);
        names.extend(wanted.filter(|mark| !names.contains(mark)));
        let has = |mark: &&str| names.contains(mark);
        let mark = MARKS.iter().find(|(mark, _)| mark.iter().all(has));
        found = mark.map(|(_, format)| *format);
        found.is_some()
    }));
    // An error ends the reading when the format has been found. Any other error means that the text is not an object.
    let _ = result;
    found
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
