/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The formats there are, and their names.

use std::fmt;
use std::path::Path;

use terminal_text::shortened;

use crate::error::WriteError;
use crate::recording::{EventLoop, Recording};
use crate::sink::Sink;

/// A file format for profiles.
///
/// Those in [`Self::ALL`] are read and written, and those in [`Self::READ_ONLY`] are read alone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// What `Profiler.stop()` gives to a web page, as JSON.
    Trace,
    /// The Firefox Profiler's processed format.
    Firefox,
    /// That of <https://www.speedscope.app>.
    Speedscope,
    /// The same, with the lines that functions were executing in the place of functions. A file of it is recognised as
    /// [`Self::Speedscope`] and read as such: its lines are functions then.
    SpeedscopeLines,
    /// What Chrome's DevTools save and load.
    Cpuprofile,
    /// Flame graph tools' lines of stacks and counts.
    Collapsed,
    /// The same, with the lines that functions were executing. A file of it is recognised as [`Self::Collapsed`],
    /// whose reader reads both.
    CollapsedLines,
    /// A page that shows the recording in any browser.
    Html,
    /// pprof's, which `go tool pprof` reads.
    Pprof,
    /// What the Performance panel of Chrome's DevTools saves.
    ChromeTrace,
    /// What Hermes, the engine of React Native, writes.
    Hermes,
}

impl Format {
    pub const ALL: [Self; 9] = [
        Self::Trace,
        Self::Firefox,
        Self::Speedscope,
        Self::SpeedscopeLines,
        Self::Cpuprofile,
        Self::Collapsed,
        Self::CollapsedLines,
        Self::Html,
        Self::Pprof,
    ];

    pub const READ_ONLY: [Self; 2] = [Self::ChromeTrace, Self::Hermes];

    /// All that are read.
    pub fn all_read() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().chain(Self::READ_ONLY)
    }

    /// Its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Firefox => "firefox",
            Self::Speedscope => "speedscope",
            Self::SpeedscopeLines => "speedscope-lines",
            Self::Cpuprofile => "cpuprofile",
            Self::Collapsed => "collapsed",
            Self::CollapsedLines => "collapsed-lines",
            Self::Html => "html",
            Self::Pprof => "pprof",
            Self::ChromeTrace => "chrome-trace",
            Self::Hermes => "hermes",
        }
    }

    /// The names of all that are written, for an error.
    pub fn names() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }

    /// The names of all that are read, for an error.
    pub fn names_of_read() -> String {
        let names: Vec<_> = Self::all_read().map(Self::as_str).collect();
        names.join(", ")
    }

    /// The end of the names of its files, after the point.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Trace => "trace.json",
            Self::Firefox => "firefox.json",
            Self::Speedscope => "speedscope.json",
            Self::SpeedscopeLines => "speedscope-lines.json",
            Self::Cpuprofile => "cpuprofile",
            Self::Collapsed => "collapsed",
            Self::CollapsedLines => "collapsed-lines",
            Self::Html => "html",
            Self::Pprof => "pb",
            Self::ChromeTrace => "chrome-trace.json",
            Self::Hermes => "hermes.json",
        }
    }

    /// `None` if no format has this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all_read().find(|format| format.as_str() == name)
    }

    /// The format that a file's name shows; `.json` alone shows none.
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
            "speedscope-lines" => Some(Self::SpeedscopeLines),
            "collapsed" | "folded" => Some(Self::Collapsed),
            "collapsed-lines" => Some(Self::CollapsedLines),
            "firefox" => Some(Self::Firefox),
            "html" | "htm" => Some(Self::Html),
            "trace" => Some(Self::Trace),
            "pb" | "pprof" => Some(Self::Pprof),
            "chrome-trace" => Some(Self::ChromeTrace),
            "hermes" => Some(Self::Hermes),
            _ => None,
        }
    }

    /// Whether it holds one event loop and no more.
    pub fn holds_one_event_loop(self) -> bool {
        matches!(self, Self::Trace | Self::Cpuprofile)
    }
}

/// Writes a text. It is the same each time.
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
