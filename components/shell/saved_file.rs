/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The names and formats of files that are written for a person.

use std::path::Path;

use profile_formats::Format;

/// The format to write: `given`, or else the one that the file's name selects. `option` is the command line
/// option for a format, to name in the error.
///
/// The error is a sentence for the person.
pub fn format_for(path: &Path, given: Option<Format>, option: &str) -> Result<Format, String> {
    let file = path.display();
    if path.extension().is_some_and(|extension| extension == "gz") {
        return Err(format!("{file}: writing compressed files is not supported"));
    }
    given.or_else(|| Format::by_file_name(path)).ok_or_else(|| {
        let names = Format::names();
        format!("{file}: the format is not clear from this name; pass {option} and one of {names}")
    })
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
            let name = format!("a.{}", format.extension());
            assert_eq!(Format::by_file_name(Path::new(&name)), Some(format));
        }
    }
}
