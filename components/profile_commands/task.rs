/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What one of the commands is to do.

use std::path::Path;

use clap::{ArgMatches, Command};
use profile_formats::Notice;

use crate::convert::{self, Conversion};
use crate::diff::{self, DiffTask};
use crate::failure::Failure;
use crate::merge::{self, MergeTask};
use crate::output::print;
use crate::report::{self, SavedReport};
use crate::session_report::SavedSessions;

/// What to do, without a browser.
#[derive(Debug, PartialEq)]
pub enum Task {
    Convert(Conversion),
    Diff(Box<DiffTask>),
    Merge(Box<MergeTask>),
    Report(SavedReport),
    Sessions(Box<SavedSessions>),
}

impl Task {
    /// The names of the subcommands.
    pub const NAMES: [&str; 4] = ["convert", "diff", "merge", "report"];

    /// The subcommands, in the order of their names.
    pub fn commands() -> [Command; 4] {
        [
            convert::command(),
            diff::command(),
            merge::command(),
            report::command(),
        ]
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
            "diff" => {
                let task = DiffTask::of(matches, working_directory);
                Some(task.map(|task| Self::Diff(Box::new(task))))
            },
            "merge" => {
                let task = MergeTask::of(matches, working_directory);
                Some(task.map(|task| Self::Merge(Box::new(task))))
            },
            "report" => Some(match SavedSessions::of(matches, working_directory) {
                Some(task) => task.map(|task| Self::Sessions(Box::new(task))),
                None => Ok(Self::Report(SavedReport::of(matches, working_directory))),
            }),
            _ => None,
        }
    }

    /// Does it. What was asked for goes to standard output.
    ///
    /// The error is one line that names the file that is wrong, and the place in it. `tell` is called with each line that
    /// the person should know besides: of a source map that is not used, or an input that is left out.
    pub fn run(&self, mut tell: impl FnMut(&str)) -> Result<(), Failure> {
        let warn = |notice: &Notice| tell(&format!("warning: {notice}"));
        match self {
            Self::Convert(conversion) => conversion.run(warn).map_err(Failure::Failed),
            Self::Diff(task) => task.run(tell),
            Self::Merge(task) => task.run(tell),
            Self::Report(report) => {
                let text = report.text(warn).map_err(Failure::Failed)?;
                print(&text).map_err(Failure::Failed)
            },
            Self::Sessions(task) => task.run(tell),
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
                with_places: false,
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
                "--source-maps=/lib",
                "--names=file"
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
                with_places: true,
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
            (&["report", "a", "--by="], "'--by"),
            (&["report", "a", "--where=x"], "no condition"),
            (&["report", "a", "--by=file", "--sessions"], "--by file"),
            (&["report", "a", "--by=release", "--lines"], "--lines"),
            (
                &["report", "a", "--sessions", "--event-loop=1"],
                "--event-loop",
            ),
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
