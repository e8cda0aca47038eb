/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! `strobe convert`: a profile from one format into another, without a browser.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use profile_formats::{Format, WriteError};

use crate::saved_file;

/// Standard input or output instead of a file.
const STANDARD_STREAM: &str = "-";

/// What to convert.
#[derive(Debug, PartialEq)]
pub struct Conversion {
    pub input: PathBuf,
    pub output: PathBuf,
    /// That of the input; recognised unless it is given.
    pub from: Option<Format>,
    pub to: Format,
    /// The only one to write, counted from 0 over all processes.
    pub event_loop: Option<usize>,
}

impl Conversion {
    /// The format to write is that of the output's name unless it is given.
    pub fn new(
        input: PathBuf,
        output: PathBuf,
        from: Option<Format>,
        to: Option<Format>,
        event_loop: Option<usize>,
    ) -> Result<Self, String> {
        Ok(Self {
            to: saved_file::format_for(&output, to, "--to")?,
            input,
            output,
            from,
            event_loop,
        })
    }

    /// The error is one line that names the file, and the place in it.
    pub fn run(&self) -> Result<(), String> {
        let at_input =
            |problem: &dyn std::fmt::Display| format!("{}: {problem}", self.input.display());
        let at_output =
            |problem: &dyn std::fmt::Display| format!("{}: {problem}", self.output.display());
        let content = read_content(&self.input).map_err(|error| at_input(&error))?;
        let (mut recording, _) = profile_formats::read(&content, Some(&self.input), self.from)
            .map_err(|error| at_input(&error))?;
        // What is made for writing needs its room.
        drop(content);
        if let Some(index) = self.event_loop
            && !recording.keep_only(index)
        {
            let count = recording.event_loops().count();
            return Err(at_input(&format!(
                "--event-loop {index}: the recording has {count} event loops, numbered from 0"
            )));
        }
        let written = match self.output == OsStr::new(STANDARD_STREAM) {
            true => profile_formats::write_to_stream(io::stdout().lock(), self.to, &recording),
            // It may be the input.
            false => profile_formats::replace(&self.output, self.to, &recording),
        };
        match written {
            Ok(()) => Ok(()),
            Err(error @ (WriteError::Io(_) | WriteError::TooLarge(_))) => Err(at_output(&error)),
            Err(WriteError::Unfit(why)) if recording.event_loops().count() > 1 => {
                Err(at_input(&format!("{why}; pass --event-loop")))
            },
            Err(WriteError::Unfit(why)) => Err(at_input(&why)),
        }
    }
}

fn read_content(input: &Path) -> io::Result<Vec<u8>> {
    match input == OsStr::new(STANDARD_STREAM) {
        true => profile_formats::content(io::stdin().lock()),
        false => profile_formats::content(File::open(input)?),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

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

        fn convert(
            &self,
            input: &str,
            output: &str,
            event_loop: Option<usize>,
        ) -> Result<String, String> {
            let output = self.path(output);
            Conversion::new(self.path(input), output.clone(), None, None, event_loop)?.run()?;
            Ok(fs::read_to_string(output).unwrap())
        }
    }

    #[test]
    fn a_file_becomes_another() {
        let folder = Folder::new();
        fs::write(folder.path("a.folded"), "f;g 2\nf 1\n").unwrap();
        folder.convert("a.folded", "b.cpuprofile", None).unwrap();
        let page = folder.convert("b.cpuprofile", "c.html", None).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
        let back = folder.convert("c.html", "d.collapsed", None).unwrap();
        assert_eq!(back, "f 1\nf;g 2\n");
    }

    #[test]
    fn a_file_becomes_itself_in_another_format_or_stays() {
        let folder = Folder::new();
        fs::write(folder.path("a"), "f;g 2\nf 1\n").unwrap();
        let in_place = |to| {
            let file = folder.path("a");
            Conversion::new(file.clone(), file, None, Some(to), None)?.run()
        };
        in_place(Format::Speedscope).unwrap();
        in_place(Format::Collapsed).unwrap();
        let text = fs::read_to_string(folder.path("a")).unwrap();
        assert_eq!(text, "f 1\nf;g 2\n");

        let heavy: String = (0..1_000)
            .map(|name| format!("[{name}];f {}\n", 1_u64 << 52))
            .collect();
        fs::write(folder.path("a"), &heavy).unwrap();
        let error = in_place(Format::Firefox).unwrap_err();
        assert!(error.contains("a: ") && error.contains("bytes"), "{error}");
        let text = fs::read_to_string(folder.path("a")).unwrap();
        assert_eq!(text, heavy);
    }

    #[test]
    fn one_of_several_event_loops_is_chosen() {
        let folder = Folder::new();
        fs::write(folder.path("a.folded"), "[main];f 2\n[worker];g 1\n").unwrap();
        let error = folder.convert("a.folded", "b.trace", None).unwrap_err();
        assert!(
            error.contains("a.folded: the format trace holds one event loop"),
            "{error}"
        );
        assert!(error.contains("1 \"worker\"; pass --event-loop"), "{error}");
        assert!(!folder.path("b.trace").exists());
        let trace = folder.convert("a.folded", "b.trace", Some(1)).unwrap();
        assert!(
            trace.contains("\"g\"") && !trace.contains("\"f\""),
            "{trace}"
        );
        let error = folder.convert("a.folded", "b.trace", Some(2)).unwrap_err();
        assert!(
            error.ends_with("--event-loop 2: the recording has 2 event loops, numbered from 0"),
            "{error}"
        );
    }

    #[test]
    fn an_error_names_the_file_and_the_place() {
        let folder = Folder::new();
        fs::write(folder.path("a.folded"), "f 1\nf x\n").unwrap();
        fs::write(folder.path("b.folded"), "f 1\n").unwrap();
        for (input, output, parts) in [
            ("none", "b.trace", &["none: ", "No such file"][..]),
            ("a.folded", "b.trace", &["a.folded: line 2: "]),
            ("b.folded", "no/b.trace", &["b.trace: ", "No such file"]),
            ("b.folded", "b.json", &["b.json: ", "--to"]),
            (
                "b.folded",
                "b.trace.json.gz",
                &["b.trace.json.gz: ", "compressed"],
            ),
        ] {
            let error = folder.convert(input, output, None).unwrap_err();
            for part in parts {
                assert!(error.contains(part), "{error}");
            }
        }
    }
}
