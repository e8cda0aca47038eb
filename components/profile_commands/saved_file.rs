/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The names and formats of files that are written for a person.

use std::path::Path;

use profile_formats::Format;

/// How the Firefox Profiler names the files that it saves.
const FIREFOX_ENDING: &str = ".json.gz";

/// The format to write: `given`, or else the one that the file's name selects. `option` is the command line
/// option for a format, to name in the error.
///
/// The error is a sentence for the person.
pub fn format_for(path: &Path, given: Option<Format>, option: &str) -> Result<Format, String> {
    given.or_else(|| by_name(path)).ok_or_else(|| {
        let (file, names) = (path.display(), Format::names());
        format!("{file}: the format is not clear from this name; pass {option} and one of {names}")
    })
}

/// Fails, before anything is made, if a file cannot be at this place. The error names the place.
pub fn check_place(path: &Path) -> Result<(), String> {
    let complaint = if path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        "is a directory"
    } else if !path.parent().is_some_and(Path::is_dir) {
        "is in a directory that does not exist"
    } else {
        return Ok(());
    };
    Err(format!("{} {complaint}", path.display()))
}

/// The format that the name of a file to write selects.
pub fn by_name(path: &Path) -> Option<Format> {
    let is_firefox = || {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.to_ascii_lowercase().ends_with(FIREFOX_ENDING))
    };
    match Format::by_file_name(path) {
        // Some formats are read alone.
        Some(format) => Format::ALL.contains(&format).then_some(format),
        None => is_firefox().then_some(Format::Firefox),
    }
}

/// The name of a recording, changed so that it can be part of a file name on any system.
pub fn as_file_stem(name: &str) -> String {
    /// File names can have at most 255 bytes.
    const MAX_LENGTH: usize = 100;
    let stem: String = name
        .chars()
        .map(|character| match character {
            '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|' => '-',
            character if character.is_control() || character.is_whitespace() => '-',
            character => character,
        })
        .collect();
    // The result is neither a hidden file nor another folder.
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
    use super::*;

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
            for compressed in ["", ".gz"] {
                let name = format!("a.{}{compressed}", format.extension());
                assert_eq!(format_for(Path::new(&name), None, "--to"), Ok(format));
            }
        }
        for (name, format) in [
            ("Firefox 2026-11-24 profile.json.gz", Format::Firefox),
            ("a.JSON.GZ", Format::Firefox),
            ("a.speedscope.json.gz", Format::Speedscope),
        ] {
            assert_eq!(format_for(Path::new(name), None, "--to"), Ok(format));
        }
        for name in [
            "a.json",
            "a.gz",
            "json.gz",
            "a",
            "a.chrome-trace.json",
            "a.hermes.json.gz",
        ] {
            let error = format_for(Path::new(name), None, "--to").unwrap_err();
            assert!(error.contains(name) && error.contains("--to"), "{error}");
            let given = format_for(Path::new(name), Some(Format::Trace), "--to");
            assert_eq!(given, Ok(Format::Trace));
        }
    }
}
