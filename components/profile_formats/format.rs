/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The formats there are, and how one is recognised.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use terminal_text::shortened;

use crate::bounds::{MAX_TEXT_BYTES, check_length, check_memory};
use crate::error::{Error, WriteError};
use crate::recording::{EventLoop, Recording};
use crate::sink::Sink;
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

    /// What the name of a file of this format ends in, after a point.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Trace => "trace.json",
            Self::Firefox => "firefox.json",
            Self::Speedscope => "speedscope.json",
            Self::Cpuprofile => "cpuprofile",
            Self::Collapsed => "collapsed",
            Self::Html => "html",
        }
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

    /// Reads a text of this format. `memory` is what may be taken for it, in bytes.
    pub(crate) fn read(self, text: &[u8], memory: u64) -> Result<Recording, Error> {
        match self {
            Self::Trace => web_trace::read(text, memory),
            Self::Firefox => firefox::read(text, memory),
            Self::Speedscope => speedscope::read(text, memory),
            Self::Cpuprofile => cpuprofile::read(text, memory),
            Self::Collapsed => collapsed::read(text, memory),
            Self::Html => html::read(text, memory),
        }
    }

    /// Whether it holds one event loop and no more.
    pub fn holds_one_event_loop(self) -> bool {
        matches!(self, Self::Trace | Self::Cpuprofile)
    }

    /// Writes a recording, in large pieces, and flushes. What is unfit for the format, and what would be longer
    /// than [`MAX_TEXT_BYTES`](crate::MAX_TEXT_BYTES), is found before the first.
    pub fn write(self, recording: &Recording, writer: impl Write) -> Result<(), WriteError> {
        self.write_to(recording, || Ok(writer)).map(drop)
    }

    /// Writes to what is not opened before all is checked.
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

    /// Checks what [`Self::write`] does before it writes, and gives the bytes that it would write.
    pub fn length(self, recording: &Recording) -> Result<u64, WriteError> {
        self.length_of(&self.prepare(recording)?)
    }

    /// The text is made, and counted, until it is too long.
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
            Self::Speedscope => Box::new(speedscope::prepare(recording)?),
            Self::Cpuprofile => Box::new(cpuprofile::prepare(recording)?),
            Self::Collapsed => Box::new(collapsed::prepare(recording)?),
            Self::Html => Box::new(html::prepare(recording)),
        })
    }
}

/// Writes a text, which is the same each time.
pub trait Text: Fn(&mut Sink<'_>) -> Result<(), WriteError> {}

impl<F: Fn(&mut Sink<'_>) -> Result<(), WriteError>> Text for F {}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Entries of formats that have one for each sample, whatever their weight. A line of collapsed stacks
/// may stand for any number, and these would be written out.
const MAX_WRITTEN_SAMPLES: u64 = 10_000_000;

/// Event loops that an error names.
const MAX_LISTED: usize = 20;

/// Characters of their names in it.
const MAX_LISTED_NAME: usize = 100;

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
            let names = all.iter().take(MAX_LISTED).enumerate();
            let mut names: Vec<_> = names
                .map(|(index, event_loop)| {
                    format!(
                        "{index} \"{}\"",
                        shortened(&event_loop.name, MAX_LISTED_NAME)
                    )
                })
                .collect();
            if all.len() > MAX_LISTED {
                names.push("…".to_owned());
            }
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
    // Of a text with more names than memory those are kept that may be asked for.
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
    // An error ends the reading once something is found; another says that it is no object.
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
