/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Where a profile goes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use profile_commands::{STANDARD_STREAM, saved_file};
use profile_formats::{EventLoop, Format, Recording, WriteError};

use crate::reserved_output;

/// The stem of the file's name if -o is not given.
const DEFAULT_STEM: &str = "strobe-profile";

/// The format if neither -o nor --format is given. It holds everything that was recorded.
const DEFAULT_FORMAT: Format = Format::Firefox;

/// The format for a recording that is too large for another one. It holds everything and is the smallest.
const SMALL_FORMAT: Format = Format::Html;

#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    Stdout,
    /// This file, which may exist already.
    File(PathBuf),
    /// A new file in this folder.
    NewFile(PathBuf),
}

/// A file that was written. `event_loop` is set if other event loops have files of their own.
#[derive(Debug, PartialEq)]
pub struct Written {
    /// None for standard output.
    pub file: Option<PathBuf>,
    pub event_loop: Option<String>,
}

impl Output {
    /// Fails, before anything is recorded, if the file cannot be there.
    pub fn new(
        file: Option<PathBuf>,
        format: Option<Format>,
        working_directory: &Path,
    ) -> Result<(Self, Format), String> {
        let Some(file) = file else {
            let format = format.unwrap_or(DEFAULT_FORMAT);
            return Ok((Self::NewFile(working_directory.to_owned()), format));
        };
        if file == OsStr::new(STANDARD_STREAM) {
            return Ok((Self::Stdout, format.unwrap_or(DEFAULT_FORMAT)));
        }
        let path = working_directory.join(&file);
        let format = saved_file::check_place(&path)
            .and_then(|()| saved_file::format_for(&path, format, "--format"))
            .map_err(|complaint| format!("-o: {complaint}"))?;
        Ok((Self::File(path), format))
    }

    /// Writes a recording. If the format holds one event loop, each one that was sampled gets its own file; the one
    /// with the most stacks comes first.
    ///
    /// A recording that cannot be written to its place is written to the temporary folder if possible. The error is
    /// the message for the person; other event loops may have been written all the same.
    pub fn write(
        &self,
        format: Format,
        recording: &Recording,
    ) -> (Vec<Written>, Result<(), String>) {
        let event_loops = match format.holds_one_event_loop() {
            true => sampled(recording),
            false => Vec::new(),
        };
        let mut written = Vec::new();
        let mut errors = Vec::new();
        let mut add = |file: Result<_, String>, event_loop| match file {
            Ok(file) => written.push(Written { file, event_loop }),
            Err(error) => errors.push(error),
        };
        if event_loops.len() < 2 {
            add(self.write_one(0, format, recording), None);
        } else {
            // Standard output has room for one file only.
            let count = match self {
                Self::Stdout => 1,
                Self::File(_) | Self::NewFile(_) => event_loops.len(),
            };
            for (index, (place, event_loop)) in event_loops.iter().take(count).enumerate() {
                let only = recording
                    .only(*place)
                    .expect("its place is in the recording");
                let file = self.write_one(index, format, &only);
                add(file, Some(event_loop.name.clone()));
            }
        }
        let outcome = match errors.is_empty() {
            true => Ok(()),
            false => Err(errors.join("; ")),
        };
        (written, outcome)
    }

    /// The file that was written, or none for standard output.
    fn write_one(
        &self,
        index: usize,
        format: Format,
        recording: &Recording,
    ) -> Result<Option<PathBuf>, String> {
        let (place, error) = match self {
            Self::Stdout => match write_to_reserved_output(format, recording) {
                Ok(()) => return Ok(None),
                Err(error) => ("standard output".to_owned(), error),
            },
            Self::File(path) => {
                let path = sibling(path, index);
                match profile_formats::replace(&path, format, recording) {
                    Ok(()) => return Ok(Some(path)),
                    Err(error) => (path.display().to_string(), error),
                }
            },
            Self::NewFile(folder) => match write_new(folder, format.extension(), format, recording)
            {
                Ok(path) => return Ok(Some(path)),
                Err((path, error)) => (path.display().to_string(), error),
            },
        };
        // The same recording cannot be made again, so it is saved elsewhere.
        Err(match self.write_elsewhere(&error, format, recording) {
            Ok(path) => format!(
                "{place}: {error}; the recording was saved in {}",
                path.display()
            ),
            Err((path, second)) => format!("{place}: {error}; {}: {second}", path.display()),
        })
    }

    /// Writes a new file in the temporary folder: in the same format, unless the recording does not fit into it.
    fn write_elsewhere(
        &self,
        error: &WriteError,
        format: Format,
        recording: &Recording,
    ) -> Result<PathBuf, (PathBuf, WriteError)> {
        let folder = std::env::temp_dir();
        let write = |format: Format| write_new(&folder, &self.extension(format), format, recording);
        match error {
            WriteError::Io(_) => write(format),
            WriteError::Unfit(_) => match write(DEFAULT_FORMAT) {
                Err((_, WriteError::TooLarge(_))) => write(SMALL_FORMAT),
                outcome => outcome,
            },
            WriteError::TooLarge(_) => write(SMALL_FORMAT),
        }
    }

    /// The ending of a file in a format: that of the file that was asked for, if it says the format.
    fn extension(&self, format: Format) -> String {
        let Self::File(path) = self else {
            return format.extension().to_owned();
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match split_extension(&name) {
            Some((_, extension)) if saved_file::by_name(path) == Some(format) => {
                extension.to_owned()
            },
            _ if profile_formats::is_compressed(path) => format!("{}.gz", format.extension()),
            _ => format.extension().to_owned(),
        }
    }
}

fn write_to_reserved_output(format: Format, recording: &Recording) -> Result<(), WriteError> {
    profile_formats::write_to_stream(reserved_output::file()?.try_clone()?, format, recording)
}

/// The event loops that have samples, each with its index among all. The one with the most stacks comes first.
fn sampled(recording: &Recording) -> Vec<(usize, &EventLoop)> {
    let mut sampled: Vec<_> = recording
        .event_loops()
        .enumerate()
        .filter(|(_, event_loop)| !event_loop.samples().is_empty())
        .collect();
    let stacks = |event_loop: &EventLoop| {
        let samples = event_loop.samples().iter();
        let with_stack = samples.filter(|sample| sample.stack.is_some());
        with_stack.map(|sample| sample.weight).sum::<u64>()
    };
    sampled.sort_by_key(|(_, event_loop)| std::cmp::Reverse(stacks(event_loop)));
    sampled
}

/// `a.cpuprofile`, `a-2.cpuprofile` and so on.
fn sibling(path: &Path, index: usize) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if index == 0 {
        return path.to_owned();
    }
    let number = index + 1;
    path.with_file_name(match split_extension(&name) {
        Some((stem, extension)) => format!("{stem}-{number}.{extension}"),
        None => format!("{name}-{number}"),
    })
}

/// What is before the extension of a file's name, and the extension. One such as trace.json stays whole.
fn split_extension(name: &str) -> Option<(&str, &str)> {
    name.split_once('.').filter(|(stem, _)| !stem.is_empty())
}

fn write_new(
    folder: &Path,
    extension: &str,
    format: Format,
    recording: &Recording,
) -> Result<PathBuf, (PathBuf, WriteError)> {
    profile_formats::create_numbered(folder, DEFAULT_STEM, extension, format, recording)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use profile_formats::read;
    use tempfile::TempDir;

    use super::*;

    struct Folder(TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let mut names: Vec<_> = entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        }
    }

    fn recording() -> Recording {
        let text = b"[main];f 2\n[worker];g 3\n[idle];(idle) 1\n";
        read(text, None, Some(Format::Collapsed)).unwrap().0
    }

    fn write(output: &Output, format: Format) -> Vec<Written> {
        let (written, outcome) = output.write(format, &recording());
        outcome.unwrap();
        written
    }

    #[test]
    fn the_name_selects_the_format_unless_it_is_given() {
        let folder = Folder::new();
        let of = |file: Option<&str>, format| {
            Output::new(file.map(PathBuf::from), format, folder.0.path())
        };
        assert_eq!(
            of(None, None),
            Ok((Output::NewFile(folder.path("")), Format::Firefox))
        );
        assert_eq!(
            of(Some("a.html"), None),
            Ok((Output::File(folder.path("a.html")), Format::Html))
        );
        assert_eq!(
            of(Some("a.html"), Some(Format::Trace)),
            Ok((Output::File(folder.path("a.html")), Format::Trace))
        );
        assert_eq!(
            of(Some("a.json.gz"), None),
            Ok((Output::File(folder.path("a.json.gz")), Format::Firefox))
        );
        assert_eq!(of(Some("-"), None), Ok((Output::Stdout, Format::Firefox)));
        for (file, complaint) in [
            ("a.json", "--format"),
            (".", "is a directory"),
            ("b/", "is a directory"),
            ("none/a.html", "does not exist"),
        ] {
            let error = of(Some(file), None).unwrap_err();
            assert!(error.contains(complaint), "{error}");
        }
    }

    #[test]
    fn a_named_file_is_replaced_as_a_whole_and_another_is_new() {
        let folder = Folder::new();
        let path = folder.path("a.folded");
        fs::write(&path, "old").unwrap();
        let named = Output::File(path.clone());
        let written = write(&named, Format::Collapsed);
        assert_eq!(written[0].file.as_ref(), Some(&path));
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("[worker];g 3"), "{text}");

        let unnamed = Output::NewFile(folder.path(""));
        for _ in 0..2 {
            write(&unnamed, Format::Collapsed);
        }
        assert_eq!(
            folder.names(),
            [
                "a.folded",
                "strobe-profile-2.collapsed",
                "strobe-profile.collapsed"
            ]
        );
    }

    #[test]
    fn a_format_of_one_event_loop_has_a_file_for_each() {
        let folder = Folder::new();
        let named = Output::File(folder.path("a.trace.json"));
        let written = write(&named, Format::Trace);
        let names: Vec<_> = written
            .iter()
            .map(|written| written.event_loop.as_deref().unwrap())
            .collect();
        assert_eq!(names, ["worker", "main", "idle"], "most stacks first");
        let text = fs::read_to_string(folder.path("a-2.trace.json")).unwrap();
        assert!(text.contains("\"f\"") && !text.contains("\"g\""), "{text}");
        assert_eq!(
            folder.names(),
            ["a-2.trace.json", "a-3.trace.json", "a.trace.json"]
        );
    }

    #[test]
    fn what_cannot_be_written_is_saved_elsewhere_in_the_same_format() {
        let folder = Folder::new();
        for (name, format, ending) in [
            ("a.html", Format::Html, ".html"),
            ("a.folded", Format::Collapsed, ".folded"),
            ("a.json.gz", Format::Firefox, ".json.gz"),
            // A name that does not say the format.
            ("a", Format::Speedscope, ".speedscope.json"),
            ("a.html", Format::Speedscope, ".speedscope.json"),
            ("a.gz", Format::Speedscope, ".speedscope.json.gz"),
        ] {
            let named = Output::File(folder.path("none").join(name));
            let (written, outcome) = named.write(format, &recording());
            assert!(written.is_empty(), "{written:?}");
            let error = outcome.unwrap_err();
            let begin = format!("none/{name}: No such file");
            assert!(error.contains(&begin), "{error}");
            let (_, elsewhere) = error.split_once("the recording was saved in ").unwrap();
            let content = fs::read(elsewhere).unwrap();
            fs::remove_file(elsewhere).unwrap();
            assert!(elsewhere.ends_with(ending), "{elsewhere}");
            assert_eq!(content.starts_with(b"\x1f\x8b"), ending.ends_with(".gz"));
            let (kept, kept_as) = read(&content, None, None).unwrap();
            assert_eq!(kept_as, format);
            assert_eq!(
                kept.event_loops().count(),
                recording().event_loops().count()
            );
        }
    }

    #[test]
    fn each_event_loop_that_cannot_be_written_is_saved_elsewhere() {
        let folder = Folder::new();
        // The second file's place is taken by a folder.
        fs::create_dir(folder.path("a-2.cpuprofile")).unwrap();
        let named = Output::File(folder.path("a.cpuprofile"));
        let (written, outcome) = named.write(Format::Cpuprofile, &recording());
        let names: Vec<_> = written
            .iter()
            .map(|written| written.event_loop.as_deref().unwrap())
            .collect();
        assert_eq!(names, ["worker", "idle"]);
        let error = outcome.unwrap_err();
        let (_, elsewhere) = error.split_once("the recording was saved in ").unwrap();
        let content = fs::read(elsewhere).unwrap();
        fs::remove_file(elsewhere).unwrap();
        assert!(elsewhere.ends_with(".cpuprofile"), "{elsewhere}");
        let text = String::from_utf8(content).unwrap();
        assert!(text.contains("\"f\"") && !text.contains("\"g\""), "{text}");
    }

    #[test]
    fn what_does_not_fit_into_its_format_is_saved_in_another() {
        let folder = Folder::new();
        let text = b"f 10000001\n";
        let heavy = read(text, None, Some(Format::Collapsed)).unwrap().0;
        let named = Output::File(folder.path("a.cpuprofile"));
        let (_, outcome) = named.write(Format::Cpuprofile, &heavy);
        let error = outcome.unwrap_err();
        let (_, elsewhere) = error.split_once("the recording was saved in ").unwrap();
        let content = fs::read(elsewhere).unwrap();
        fs::remove_file(elsewhere).unwrap();
        let (kept, format) = read(&content, None, None).unwrap();
        assert!(elsewhere.ends_with(format.extension()), "{elsewhere}");
        let weight = kept.event_loops().map(EventLoop::weight).sum::<u64>();
        assert_eq!(weight, 10_000_001);
        assert!(folder.names().is_empty());
    }
}
