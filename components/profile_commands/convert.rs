/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! `convert`: converts a profile from one format to another.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, value_parser};
use profile_formats::{Format, Notice, WriteError, add_places_to_names};

use crate::arguments::{
    event_loop_argument, format_parser, input_argument, input_format_argument, input_or_output,
    names_argument, names_with_places, saved_source_maps_argument, source_maps, unit_argument,
};
use crate::saved_recording::{STANDARD_STREAM, SavedRecording};
use crate::{output, saved_file};

const AFTER_HELP: &str = "\
Formats, and the file names that select them: trace, the result of Profiler.stop() in a page (.trace,
.trace.json); firefox, for profiler.firefox.com (.firefox.json); speedscope (.speedscope.json);
speedscope-lines, the same with a frame for each line of a function (.speedscope-lines.json); cpuprofile,
for Chrome's DevTools (.cpuprofile); collapsed, for flame graphs (.collapsed, .folded); collapsed-lines,
the same with a line number for each function (.collapsed-lines); html, a page that shows the profile in
any browser (.html); pprof, for `go tool pprof` (.pb.gz, .pb, .pprof). A file whose name ends in .gz is
compressed with gzip. The ending .json.gz without a format before it means firefox.

Every function keeps its samples. A trace or a cpuprofile holds only one event loop. A file of
speedscope-lines is read as speedscope, and each of its lines is a function then.
If a source map of --source-maps is missing or wrong, a warning says so, and the profile is complete without it.
Exit status: 0 if all went well; 1 if a file could not be read or written; 2 if the command line is
wrong.";

/// What to convert.
#[derive(Debug, PartialEq)]
pub struct Conversion {
    pub input: SavedRecording,
    pub output: PathBuf,
    pub to: Format,
    /// Whether functions that share a name get the place of their definition.
    pub with_places: bool,
}

/// The subcommand.
pub fn command() -> Command {
    Command::new("convert")
        .about("Convert a profile from one format into another")
        .after_help(AFTER_HELP)
        .arg(input_argument("IN"))
        .arg(
            Arg::new("OUT")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("The file to write, or - for standard output"),
        )
        .arg(input_format_argument())
        .arg(unit_argument())
        .arg(
            Arg::new("to")
                .long("to")
                .value_name("FORMAT")
                .value_parser(format_parser())
                .help("The format of OUT (default: chosen by its name)"),
        )
        .arg(event_loop_argument(
            "Write only the event loop with this number (the first one is 0)",
        ))
        .arg(saved_source_maps_argument())
        .arg(names_argument())
}

impl Conversion {
    pub(crate) fn of(matches: &mut ArgMatches, working_directory: &Path) -> Result<Self, String> {
        let input = SavedRecording {
            file: input_or_output(matches, "IN", working_directory),
            format: matches.remove_one("from"),
            unit: matches.remove_one("unit"),
            event_loop: matches.remove_one("event-loop"),
            source_maps: source_maps(matches, working_directory),
        };
        let output = input_or_output(matches, "OUT", working_directory);
        let with_places = names_with_places(matches);
        let conversion = Self::new(input, output, matches.remove_one("to"))?;
        Ok(Self {
            with_places,
            ..conversion
        })
    }

    /// `to` is the format to write. Without it, the output's name selects the format.
    pub fn new(input: SavedRecording, output: PathBuf, to: Option<Format>) -> Result<Self, String> {
        Ok(Self {
            to: saved_file::format_for(&output, to, "--to")?,
            input,
            output,
            with_places: false,
        })
    }

    /// The error is one line that names the file, and the place in it. `warn` is called for each source map that is not
    /// used.
    pub fn run(&self, warn: impl FnMut(&Notice)) -> Result<(), String> {
        let at_output =
            |problem: &dyn std::fmt::Display| format!("{}: {problem}", self.output.display());
        let mut recording = self.input.read(warn)?;
        if self.with_places {
            add_places_to_names(&mut recording).map_err(|invalid| self.input.problem(&invalid))?;
        }
        let written = match self.output == OsStr::new(STANDARD_STREAM) {
            true => output::write(self.to, &recording),
            // The output may be the same file as the input.
            false => profile_formats::replace(&self.output, self.to, &recording),
        };
        match written {
            Ok(()) => Ok(()),
            Err(error @ (WriteError::Io(_) | WriteError::TooLarge(_))) => Err(at_output(&error)),
            Err(WriteError::Unfit(why)) if recording.event_loops().count() > 1 => {
                Err(self.input.problem(&format!("{why}; pass --event-loop")))
            },
            Err(WriteError::Unfit(why)) => Err(self.input.problem(&why)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::saved_recording::SourceMaps;

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
            let input = SavedRecording {
                file: self.path(input),
                format: None,
                unit: None,
                event_loop,
                source_maps: Vec::new(),
            };
            let output = self.path(output);
            Conversion::new(input, output.clone(), None)?.run(|notice| panic!("{notice}"))?;
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
    fn a_name_that_ends_in_gz_is_of_a_compressed_file() {
        let folder = Folder::new();
        fs::write(folder.path("a.folded"), "f;g 2\nf 1\n").unwrap();
        let to = |input: &str, output: &str| {
            let input = SavedRecording {
                file: folder.path(input),
                format: None,
                unit: None,
                event_loop: None,
                source_maps: Vec::new(),
            };
            let conversion = Conversion::new(input, folder.path(output), None).unwrap();
            conversion.run(|notice| panic!("{notice}")).unwrap();
            conversion.to
        };
        assert_eq!(to("a.folded", "b.json.gz"), Format::Firefox);
        let content = fs::read(folder.path("b.json.gz")).unwrap();
        assert!(content.starts_with(b"\x1f\x8b"), "{content:?}");
        let back = folder.convert("b.json.gz", "c.folded", None).unwrap();
        assert_eq!(back, "f 1\nf;g 2\n");
    }

    #[test]
    fn a_file_becomes_itself_in_another_format_or_stays() {
        let folder = Folder::new();
        fs::write(folder.path("a"), "f;g 2\nf 1\n").unwrap();
        let in_place = |to| {
            let input = SavedRecording {
                file: folder.path("a"),
                format: None,
                unit: None,
                event_loop: None,
                source_maps: Vec::new(),
            };
            Conversion::new(input, folder.path("a"), Some(to))?.run(|notice| panic!("{notice}"))
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
    fn a_trace_of_a_built_script_gets_the_names_of_its_sources() {
        let folder = Folder::new();
        let trace = r#"{
            "frames": [{"name": "u", "resourceId": 0, "line": 1, "column": 17}],
            "resources": ["https://a.test/js/app.js?v=1"],
            "samples": [{"timestamp": 1, "stackId": 0}],
            "stacks": [{"frameId": 0}]
        }"#;
        let map = r#"{
            "version": 3,
            "sources": ["../src/square.ts"],
            "sourcesContent": ["export function square(side: number) {\n  return side * side;\n}"],
            "names": [],
            "mappings": "MAAO,SAAS"
        }"#;
        fs::write(folder.path("a.trace.json"), trace).unwrap();
        fs::create_dir(folder.path("dist")).unwrap();
        let convert = |output: &str| {
            let input = SavedRecording {
                file: folder.path("a.trace.json"),
                format: None,
                unit: None,
                event_loop: None,
                source_maps: vec![SourceMaps::Folder(folder.path("dist"))],
            };
            let mut warnings = Vec::new();
            let output = folder.path(output);
            Conversion::new(input, output.clone(), None)
                .unwrap()
                .run(|notice| warnings.push(notice.to_string()))
                .unwrap();
            (fs::read_to_string(output).unwrap(), warnings)
        };
        let original = "square (https://a.test/src/square.ts:1:17) 1\n";
        let generated = "u (https://a.test/js/app.js?v=1:1:17) 1\n";

        let (text, warnings) = convert("missing.collapsed");
        assert_eq!(text, generated);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].contains("no source map of https://a.test/js/app.js"),
            "{warnings:?}"
        );

        fs::write(folder.path("dist/app.js.map"), "{").unwrap();
        let (text, warnings) = convert("broken.collapsed");
        assert_eq!(text, generated);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        for part in [
            "dist/app.js.map: it is no source map",
            "https://a.test/js/app.js?v=1",
        ] {
            assert!(warnings[0].contains(part), "{warnings:?}");
        }

        fs::write(folder.path("dist/app.js.map"), map).unwrap();
        assert_eq!(convert("a.collapsed"), (original.to_owned(), vec![]));
        // Only the data of the viewer has the place in the script that ran.
        let (page, _) = convert("a.html");
        assert!(page.contains(r#""generated":{"name":["u"]"#), "{page}");
        let (firefox, _) = convert("a.firefox.json");
        assert!(
            firefox.contains("\"square\"") && !firefox.contains("\"u\""),
            "{firefox}"
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
        ] {
            let error = folder.convert(input, output, None).unwrap_err();
            for part in parts {
                assert!(error.contains(part), "{error}");
            }
        }
    }
}
