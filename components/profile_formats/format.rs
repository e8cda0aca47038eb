/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The formats there are, and how one is recognised.

use std::fmt;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use crate::error::{Error, WriteError};
use crate::recording::{EventLoop, Recording};
use crate::{collapsed, cpuprofile, firefox, html, speedscope, web_trace};

/// A file format for profiles.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// What `Profiler.stop()` gives to a web page, as JSON.
    Trace,
    /// The Firefox Profiler's processed format.
    Firefox,
    /// That of <https://www.speedscope.app>.
    Speedscope,
    /// What Chrome's DevTools save and load.
    Cpuprofile,
    /// Flame graph tools' lines of stacks and counts.
    Collapsed,
    /// A page that shows the recording in any browser.
    Html,
}

impl Format {
    pub const ALL: [Self; 6] = [
        Self::Trace,
        Self::Firefox,
        Self::Speedscope,
        Self::Cpuprofile,
        Self::Collapsed,
        Self::Html,
    ];

    /// As it is called on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Firefox => "firefox",
            Self::Speedscope => "speedscope",
            Self::Cpuprofile => "cpuprofile",
            Self::Collapsed => "collapsed",
            Self::Html => "html",
        }
    }

    /// The names of all, for an error.
    pub fn names() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }

    /// None if none is called so.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }

    /// What a file's name says; `.json` alone says nothing.
    pub fn by_file_name(file: &Path) -> Option<Self> {
        let name = file.file_name()?.to_str()?.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let (stem, extension) = name.rsplit_once('.')?;
        let extension = match (extension, stem.rsplit_once('.')) {
            ("json", Some((_, extension))) => extension,
            _ => extension,
        };
        match extension {
            "cpuprofile" => Some(Self::Cpuprofile),
            "speedscope" => Some(Self::Speedscope),
            "collapsed" | "folded" => Some(Self::Collapsed),
            "firefox" => Some(Self::Firefox),
            "html" | "htm" => Some(Self::Html),
            "trace" => Some(Self::Trace),
            _ => None,
        }
    }

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

    /// Reads a text of this format.
    pub(crate) fn read(self, text: &[u8]) -> Result<Recording, Error> {
        match self {
            Self::Trace => web_trace::read(text),
            Self::Firefox => firefox::read(text),
            Self::Speedscope => speedscope::read(text),
            Self::Cpuprofile => cpuprofile::read(text),
            Self::Collapsed => collapsed::read(text),
            Self::Html => html::read(text),
        }
    }

    /// Whether it holds one event loop and no more.
    pub fn holds_one_event_loop(self) -> bool {
        matches!(self, Self::Trace | Self::Cpuprofile)
    }

    /// Writes a recording, in large pieces, and flushes. What is unfit for the format is found before the first.
    pub fn write(self, recording: &Recording, writer: impl Write) -> Result<(), WriteError> {
        let mut writer = BufWriter::new(writer);
        match self {
            Self::Trace => web_trace::write(recording, &mut writer),
            Self::Firefox => firefox::write(recording, &mut writer),
            Self::Speedscope => speedscope::write(recording, &mut writer),
            Self::Cpuprofile => cpuprofile::write(recording, &mut writer),
            Self::Collapsed => collapsed::write(recording, &mut writer),
            Self::Html => html::write(recording, &mut writer),
        }?;
        Ok(writer.flush()?)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Entries of formats that have one for each sample, whatever their weight. A line of collapsed stacks
/// may stand for any number, and these would be written out.
const MAX_WRITTEN_SAMPLES: u64 = 10_000_000;

/// The only event loop with samples, or the only one, for a format that holds one.
pub fn only_event_loop(recording: &Recording, format: Format) -> Result<&EventLoop, WriteError> {
    let all: Vec<_> = recording.event_loops().collect();
    let sampled: Vec<_> = all
        .iter()
        .copied()
        .filter(|event_loop| !event_loop.samples().is_empty())
        .collect();
    let event_loop = match (&*sampled, &*all) {
        ([only], _) | ([], [only, ..]) => only,
        ([], []) => return Err(WriteError::Unfit("it holds no event loop".to_owned())),
        _ => {
            let names: Vec<_> = all
                .iter()
                .enumerate()
                .map(|(index, event_loop)| format!("{index} {:?}", event_loop.name))
                .collect();
            return Err(WriteError::Unfit(format!(
                "the format {format} holds one event loop; there are {}: {}",
                all.len(),
                names.join(", ")
            )));
        },
    };
    if event_loop.weight() > MAX_WRITTEN_SAMPLES {
        return Err(WriteError::Unfit(format!(
            "the format {format} has an entry for each of {} samples; more than {MAX_WRITTEN_SAMPLES} are not written",
            event_loop.weight()
        )));
    }
    Ok(event_loop)
}

/// What the names of an object's members say. What comes after them is not looked at.
fn by_members(text: &[u8]) -> Option<Format> {
    const MARKS: [(&[&str], Format); 5] = [
        (&["frames", "stacks", "samples", "resources"], Format::Trace),
        (&["meta", "threads"], Format::Firefox),
        (&["shared", "profiles"], Format::Speedscope),
        (&["nodes", "startTime"], Format::Cpuprofile),
        (&["nodes", "samples"], Format::Cpuprofile),
    ];
    let mut names = Vec::new();
    let mut found = None;
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let result = deserializer.deserialize_map(Members(|name| {
        names.push(name);
        let has = |mark: &&str| names.iter().any(|name| name == mark);
        let mark = MARKS.iter().find(|(mark, _)| mark.iter().all(has));
        found = mark.map(|(_, format)| *format);
        found.is_some()
    }));
    // An error ends the reading once something is found; another says that it is no object.
    let _ = result;
    found
}

/// Gives the names of an object's members to a function until it has enough.
struct Members<F>(F);

impl<'de, F: FnMut(String) -> bool> Visitor<'de> for Members<F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key()? {
            if (self.0)(name) {
                return Err(A::Error::custom("enough"));
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}
