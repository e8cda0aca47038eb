/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What one of the commands is to do.

use std::path::Path;

use clap::{ArgMatches, Command};
use profile_formats::Notice;

use crate::convert::{self, Conversion};
use crate::output::print;
use crate::report::{self, SavedReport};

/// What to do, without a browser.
#[derive(Debug, PartialEq)]
pub enum Task {
    Convert(Conversion),
    Report(SavedReport),
}

impl Task {
    /// The names of the subcommands.
    pub const NAMES: [&str; 2] = ["convert", "report"];

    /// The subcommands, in the order of their names.
    pub fn commands() -> [Command; 2] {
        [convert::command(), report::command()]
    }

    /// What the arguments of a subcommand ask for; `None` if it is none of these subcommands. Paths are relative to
    /// `working_directory`.
    ///
    /// The error is one line that names the argument and what is wrong with it.
    pub fn of(
        name: &str,
        matches: &mut ArgMatches,
        working_directory: &Path,
    ) -> Option<Result<Self, String>> {
        match name {
            "convert" => Some(Conversion::of(matches, working_directory).map(Self::Convert)),
            "report" => Some(Ok(Self::Report(SavedReport::of(
                matches,
                working_directory,
            )))),
            _ => None,
        }
    }

    /// Does it. What it has to say goes to standard output.
    ///
    /// The error is one line that names the file that is wrong, and the place in it. `warn` is called for each source map
    /// that is not used.
    pub fn run(&self, warn: impl FnMut(&Notice)) -> Result<(), String> {
        match self {
            Self::Convert(conversion) => conversion.run(warn),
            Self::Report(report) => print(&report.text(warn)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use profile_formats::{By, Format};

    use super::*;
    use crate::report::Form;
    use crate::saved_recording::{SavedRecording, SourceMaps};

    fn in_folder(path: &str) -> SourceMaps {
        SourceMaps::Folder(PathBuf::from(path))
    }

    fn parse(arguments: &[&str]) -> Result<Task, String> {
        let program = Command::new("program").subcommands(Task::commands());
        let arguments = ["program"].iter().chain(arguments);
        let mut matches = program
            .try_get_matches_from(arguments)
            .map_err(|error| error.to_string())?;
        let (name, mut matches) = matches.remove_subcommand().unwrap();
        Task::of(&name, &mut matches, Path::new("/")).unwrap()
    }

    #[test]
    fn each_subcommand_has_its_name() {
        let commands = Task::commands();
        let names = commands.each_ref().map(|command| command.get_name());
        assert_eq!(names, Task::NAMES);
        let mut other = ArgMatches::default();
        assert_eq!(Task::of("view", &mut other, Path::new("/")), None);
    }

    #[test]
    fn a_conversion_has_two_files_and_formats() {
        let conversion = |arguments: &[&str]| {
            let arguments: Vec<_> = ["convert"].iter().chain(arguments).copied().collect();
            parse(&arguments)
        };
        assert_eq!(
            conversion(&["a.json", "b.cpuprofile"]),
            Ok(Task::Convert(Conversion {
                input: SavedRecording {
                    file: PathBuf::from("/a.json"),
                    format: None,
                    unit: None,
                    event_loop: None,
                    source_maps: Vec::new(),
                },
                output: PathBuf::from("/b.cpuprofile"),
                to: Format::Cpuprofile,
            }))
        );
        assert_eq!(
            conversion(&[
                "--from=trace",
                "-",
                "-",
                "--to",
                "firefox",
                "--event-loop",
                "3",
                "--source-maps",
                "dist",
                "--source-maps=/lib"
            ]),
            Ok(Task::Convert(Conversion {
                input: SavedRecording {
                    file: PathBuf::from("-"),
                    format: Some(Format::Trace),
                    unit: None,
                    event_loop: Some(3),
                    source_maps: ["/dist", "/lib"].map(in_folder).into(),
                },
                output: PathBuf::from("-"),
                to: Format::Firefox,
            }))
        );
        for (arguments, named, complaint) in [
            (&["a"][..], "<OUT>", "required"),
            (&["a", "b.json"], "/b.json", "--to"),
            (&["a", "b", "--to", "perf"], "'perf'", "speedscope"),
            (&["a", "b.trace", "--event-loop=x"], "'x'", "invalid digit"),
            (&["a", "b.trace", "c"], "'c'", "unexpected"),
        ] {
            let message = conversion(arguments).unwrap_err();
            assert!(message.contains(named), "{arguments:?}: {message}");
            assert!(message.contains(complaint), "{arguments:?}: {message}");
        }
        let help = convert::command().render_help().to_string();
        for format in Format::ALL {
            assert!(help.contains(format.as_str()), "{format} is not in {help}");
        }
    }

    #[test]
    fn a_report_has_a_file_and_says_how_much_to_list() {
        let report = |file: &str, format, event_loop, top, source_maps: &[&str]| {
            let input = SavedRecording {
                file: PathBuf::from(file),
                format,
                unit: None,
                event_loop,
                source_maps: source_maps.iter().copied().map(in_folder).collect(),
            };
            Ok(Task::Report(SavedReport {
                inputs: vec![input],
                by: By::Function,
                top,
                lines: false,
                form: Form::Text,
            }))
        };
        assert_eq!(
            parse(&["report", "a.trace"]),
            report("/a.trace", None, None, 10, &[])
        );
        assert_eq!(
            parse(&[
                "report",
                "-",
                "--from=trace",
                "--event-loop=1",
                "--top=3",
                "--source-maps=dist"
            ]),
            report("-", Some(Format::Trace), Some(1), 3, &["/dist"])
        );
        let Ok(Task::Report(with_lines)) = parse(&["report", "--lines", "a.trace"]) else {
            panic!("no report");
        };
        assert!(with_lines.lines);
        let parsed = parse(&["report", "a", "b", "--by=package"]);
        let Ok(Task::Report(SavedReport { inputs, by, .. })) = parsed else {
            panic!("no report");
        };
        let files: Vec<_> = inputs.into_iter().map(|input| input.file).collect();
        assert_eq!(files, ["/a", "/b"].map(PathBuf::from));
        assert_eq!(by, By::Package);
        for (arguments, named) in [
            (&["report"][..], "<FILE>"),
            (&["report", "a", "--by=line"], "'line'"),
            (&["report", "a", "--top=x"], "'x'"),
            (&["report", "a", "--to=html"], "'--to'"),
            (&["report", "a", "--json", "--markdown"], "'--json'"),
        ] {
            let message = parse(arguments).unwrap_err();
            assert!(message.contains(named), "{arguments:?}: {message}");
        }
    }

    #[test]
    fn linked_maps_are_for_those_who_ask() {
        let maps = |arguments: &[&str]| {
            let arguments = [&["report", "a"], arguments].concat();
            match parse(&arguments) {
                Ok(Task::Report(report)) => report.inputs[0].source_maps.clone(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(maps(&[]), []);
        assert_eq!(maps(&["--source-maps=auto"]), [SourceMaps::Linked]);
        assert_eq!(maps(&["--source-maps=./auto"]), [in_folder("/auto")]);
        let both = maps(&["--source-maps", "auto", "--source-maps", "dist"]);
        assert_eq!(both, [SourceMaps::Linked, in_folder("/dist")]);
    }
}
