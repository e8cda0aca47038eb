/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A profile that is in a file, or that comes from standard input.

use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::PathBuf;

use profile_formats::{Format, MAX_TEXT_BYTES, Notice, ReadOptions, Recording, Unit};

use crate::progress::Progress;

/// Standard input or output instead of a file.
pub const STANDARD_STREAM: &str = "-";

/// What to read.
#[derive(Debug, PartialEq)]
pub struct SavedRecording {
    pub file: PathBuf,
    /// Recognised from the content if it is `None`.
    pub format: Option<Format>,
    /// What the counts of collapsed stacks are; guessed if it is `None`.
    pub unit: Option<Unit>,
    /// The only one to read, numbered from 0 over all processes.
    pub event_loop: Option<usize>,
    /// Where the source maps are that are applied to it.
    pub source_maps: Vec<SourceMaps>,
}

/// A place of source maps.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SourceMaps {
    Folder(PathBuf),
    /// Those that scripts of this machine link to, in the scripts' own folders.
    Linked,
}

/// A file that can be read.
struct Opened {
    /// `None` for standard input.
    file: Option<File>,
    /// How long it is, if that is known.
    bytes: Option<u64>,
}

impl Opened {
    fn reader(self) -> Box<dyn Read> {
        match self.file {
            Some(file) => Box::new(file),
            None => Box::new(io::stdin().lock()),
        }
    }
}

impl SavedRecording {
    /// The error is one line that names the file, and the place in it. `warn` is called for each source map that is not
    /// used, and for what was guessed.
    pub fn read(&self, warn: impl FnMut(&Notice)) -> Result<Recording, String> {
        let file = self.open().map_err(|error| self.problem(&error))?;
        if let Some(bytes) = file.bytes.filter(|bytes| *bytes > MAX_TEXT_BYTES) {
            return Err(self.problem(&format!(
                "{bytes} bytes; more than {MAX_TEXT_BYTES} are only read for a report"
            )));
        }
        let progress = Progress::of(&self.name(), file.bytes);
        let content = profile_formats::content(progress.counted(file.reader()));
        let content = content.map_err(|error| self.problem(&error))?;
        let read = profile_formats::read_with(&content, Some(&self.file), self.options());
        let (recording, _, notices) = read.map_err(|error| self.problem(&error))?;
        // What is told next must not be in the middle of it.
        drop(progress);
        self.finish(recording, &notices, warn)
    }

    /// The same for a report, which needs no more than the sums of samples: larger files are read, too.
    pub fn read_for_report(&self, warn: impl FnMut(&Notice)) -> Result<Recording, String> {
        let opened = self.open().map_err(|error| self.problem(&error))?;
        let progress = Progress::of(&self.name(), opened.bytes);
        let (name, options) = (Some(&*self.file), self.options());
        let shown = |read, _| progress.set(read);
        let read = match (opened.file, opened.bytes) {
            (Some(file), Some(_)) => profile_formats::read_sums(file, name, options, shown),
            (file, _) => {
                let stream = Opened { file, bytes: None };
                let content =
                    profile_formats::content_for_report(progress.counted(stream.reader()));
                let content = content.map_err(|error| self.problem(&error))?;
                profile_formats::read_sums(Cursor::new(content), name, options, |_, _| ())
            },
        };
        let (recording, _, notices) = read.map_err(|error| self.problem(&error))?;
        drop(progress);
        self.finish(recording, &notices, warn)
    }

    fn options(&self) -> ReadOptions {
        ReadOptions {
            format: self.format,
            unit: self.unit,
        }
    }

    /// What is done with a recording that was read.
    fn finish(
        &self,
        mut recording: Recording,
        notices: &[Notice],
        mut warn: impl FnMut(&Notice),
    ) -> Result<Recording, String> {
        notices.iter().for_each(&mut warn);
        if let Some(index) = self.event_loop
            && !recording.keep_only(index)
        {
            let count = recording.event_loops().count();
            return Err(self.problem(&format!(
                "--event-loop {index}: the recording has {count} event loops, numbered from 0"
            )));
        }
        self.apply_maps(&mut recording).iter().for_each(warn);
        Ok(recording)
    }

    /// A folder that a person names has precedence over what a script says.
    fn apply_maps(&self, recording: &mut Recording) -> Vec<Notice> {
        let folders = self.source_maps.iter().filter_map(|place| match place {
            SourceMaps::Folder(path) => Some(path.clone()),
            SourceMaps::Linked => None,
        });
        let folders: Vec<_> = folders.collect();
        let deadline = profile_formats::deadline_of_maps();
        let mut notices = profile_formats::apply_map_folders(recording, &folders, &deadline);
        if self.source_maps.contains(&SourceMaps::Linked) {
            notices.extend(profile_formats::apply_maps_beside(recording, &deadline));
        }
        notices
    }

    fn open(&self) -> io::Result<Opened> {
        if self.file == OsStr::new(STANDARD_STREAM) {
            return Ok(Opened {
                file: None,
                bytes: None,
            });
        }
        let file = File::open(&self.file)?;
        let metadata = file.metadata()?;
        Ok(Opened {
            file: Some(file),
            bytes: metadata.is_file().then_some(metadata.len()),
        })
    }

    /// A name for the recording.
    pub fn name(&self) -> String {
        if self.file == OsStr::new(STANDARD_STREAM) {
            return "standard input".to_owned();
        }
        let name = self.file.file_name().unwrap_or(self.file.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// The message for a problem with this file, on one line.
    pub fn problem(&self, problem: &dyn Display) -> String {
        format!("{}: {problem}", self.file.display())
    }
}
