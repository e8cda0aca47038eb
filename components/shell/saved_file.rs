/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Files that are written for a person: never over another, and whole or not at all.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use profile_formats::{Format, Recording, WriteError};

/// The format to write to a file: the one given, or that of its name. `option` is what gives one.
///
/// The error is a sentence for the person.
pub fn format_for(path: &Path, given: Option<Format>, option: &str) -> Result<Format, String> {
    let file = path.display();
    if path.extension().is_some_and(|extension| extension == "gz") {
        return Err(format!("{file}: nothing is written compressed"));
    }
    given.or_else(|| Format::by_file_name(path)).ok_or_else(|| {
        let names = Format::names();
        format!("{file}: the name says no format; pass {option} and one of {names}")
    })
}

/// What the name of a file of this format ends in, after a point.
pub fn extension(format: Format) -> &'static str {
    match format {
        Format::Trace => "trace.json",
        Format::Firefox => "firefox.json",
        Format::Speedscope => "speedscope.json",
        Format::Cpuprofile => "cpuprofile",
        Format::Collapsed => "collapsed",
        Format::Html => "html",
    }
}

/// Writes a recording to a file that is not there yet. Where it cannot be written to the end there is none
/// afterwards either.
pub fn create_new(path: &Path, format: Format, recording: &Recording) -> Result<(), WriteError> {
    let written = format.write(recording, File::create_new(path)?);
    if written.is_err() {
        // There is nothing to be done if it stays.
        let _ = fs::remove_file(path);
    }
    written
}

/// Writes a recording to a file in a folder that is not there yet: `STEM.EXTENSION`, or else `STEM-2.EXTENSION`
/// and so on. Gives its path; the error, the one that could not be written.
pub fn create_numbered(
    folder: &Path,
    stem: &str,
    format: Format,
    recording: &Recording,
) -> Result<PathBuf, (PathBuf, WriteError)> {
    let extension = extension(format);
    for number in 1_u64.. {
        let path = folder.join(match number {
            1 => format!("{stem}.{extension}"),
            _ => format!("{stem}-{number}.{extension}"),
        });
        match create_new(&path, format, recording) {
            Ok(()) => return Ok(path),
            Err(WriteError::Io(error)) if error.kind() == io::ErrorKind::AlreadyExists => {},
            Err(error) => return Err((path, error)),
        }
    }
    unreachable!("there is always another number")
}

/// A name of a recording as part of a file's name on any system.
pub fn as_file_stem(name: &str) -> String {
    /// Names of files have 255 bytes at most.
    const MAX_LENGTH: usize = 100;
    let stem: String = name
        .chars()
        .map(|character| match character {
            '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|' => '-',
            character if character.is_control() || character.is_whitespace() => '-',
            character => character,
        })
        .collect();
    // No hidden file, and no other folder.
    let mut stem = stem.trim_matches(['.', '-']);
    if stem.len() > MAX_LENGTH {
        stem = &stem[..stem.floor_char_boundary(MAX_LENGTH)];
    }
    match stem {
        "" => "recording".to_owned(),
        stem => stem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use profile_formats::read;

    use super::*;

    fn recording(text: &str) -> Recording {
        read(text.as_bytes(), None, Some(Format::Collapsed))
            .unwrap()
            .0
    }

    #[test]
    fn a_file_is_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let names: Vec<_> = (0..3)
            .map(|count| {
                let recording = recording(&format!("f {}\n", count + 1));
                let path = create_numbered(folder.path(), "a", Format::Collapsed, &recording);
                path.unwrap().file_name().unwrap().to_owned()
            })
            .collect();
        assert_eq!(names, ["a.collapsed", "a-2.collapsed", "a-3.collapsed"]);
        let text = fs::read_to_string(folder.path().join("a.collapsed")).unwrap();
        assert_eq!(text, "f 1\n");
        let error = create_new(
            &folder.path().join("a.collapsed"),
            Format::Collapsed,
            &recording("f 9\n"),
        );
        assert!(error.is_err());
        let text = fs::read_to_string(folder.path().join("a.collapsed")).unwrap();
        assert_eq!(text, "f 1\n");
    }

    #[test]
    fn what_cannot_be_written_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let several = recording("[main];f 2\n[worker];g 1\n");
        let path = folder.path().join("a.trace");
        assert!(create_new(&path, Format::Trace, &several).is_err());
        assert!(!path.exists());
        let (path, _) =
            create_numbered(&folder.path().join("none"), "a", Format::Firefox, &several)
                .unwrap_err();
        assert!(path.ends_with("none/a.firefox.json"), "{path:?}");
    }

    #[test]
    fn a_name_stays_in_its_folder() {
        for (name, stem) in [
            ("Recording 1", "Recording-1"),
            ("../../etc/passwd", "etc-passwd"),
            (".hidden", "hidden"),
            ("a\nb:c", "a-b-c"),
            ("..", "recording"),
            ("", "recording"),
        ] {
            assert_eq!(as_file_stem(name), stem, "{name:?}");
        }
        assert_eq!(as_file_stem(&"ü".repeat(200)).chars().count(), 50);
    }

    #[test]
    fn a_written_name_says_its_format() {
        for format in Format::ALL {
            let name = format!("a.{}", extension(format));
            assert_eq!(Format::by_file_name(Path::new(&name)), Some(format));
        }
    }
}
