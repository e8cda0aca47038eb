/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A profile that is in a file, or that comes from standard input.

use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use profile_formats::{Format, Notice, ReadOptions, Recording, Unit};

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
    /// Folders whose source maps are applied to it.
    pub source_maps: Vec<PathBuf>,
}

impl SavedRecording {
    /// The error is one line that names the file, and the place in it. `warn` is called for each source map that is not
    /// used, and for what was guessed.
    pub fn read(&self, mut warn: impl FnMut(&Notice)) -> Result<Recording, String> {
        let content = content(&self.file).map_err(|error| self.problem(&error))?;
        let options = ReadOptions {
            format: self.format,
            unit: self.unit,
        };
        let (mut recording, _, notices) =
            profile_formats::read_with(&content, Some(&self.file), options)
                .map_err(|error| self.problem(&error))?;
        notices.iter().for_each(&mut warn);
        if let Some(index) = self.event_loop
            && !recording.keep_only(index)
        {
            let count = recording.event_loops().count();
            return Err(self.problem(&format!(
                "--event-loop {index}: the recording has {count} event loops, numbered from 0"
            )));
        }
        profile_formats::apply_map_folders(
            &mut recording,
            &self.source_maps,
            &profile_formats::deadline_of_maps(),
        )
        .iter()
        .for_each(warn);
        Ok(recording)
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

fn content(file: &Path) -> io::Result<Vec<u8>> {
    match file == OsStr::new(STANDARD_STREAM) {
        true => profile_formats::content(io::stdin().lock()),
        false => profile_formats::content(File::open(file)?),
    }
}
