/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! `report`: lists the functions, files or packages that have the most samples.

use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches, Command};
use profile_formats::{By, Notice};

use crate::arguments::{
    ReportBy, by_argument, event_loop_argument, input_argument, input_format_argument, inputs,
    saved_source_maps_argument, top_argument, unit_argument,
};
use crate::saved_recording::SavedRecording;
use crate::sets::session_arguments;

const AFTER_HELP: &str = "\
The files may have any format that `convert` reads, such as a trace that a page sent to its server.
If the samples of a file are worth different times, as in those of V8, the shares are of time and not of samples.
--lines also lists the lines at which functions were executing. The trace of a page has no lines, and nor do
the formats speedscope and collapsed. The lines of speedscope-lines are read as functions.
--where, --by LABEL and --sessions make a report on sessions: the files are what `merge` takes, and each function has the 50th and
95th percentile of its time over the sessions, with the sessions in which it took the longest.
If a source map of --source-maps is missing or wrong, a warning says so, and the report is complete without it.

Exit status: 0 if all went well; 1 if a file could not be read; 2 if the command line is wrong.";

/// What to report on.
#[derive(Debug, PartialEq)]
pub struct SavedReport {
    /// One or more, whose samples are added up.
    pub inputs: Vec<SavedRecording>,
    pub by: By,
    /// How many functions, files or packages are listed, and how many lines.
    pub top: usize,
    /// Whether lines are listed too.
    pub lines: bool,
    pub form: Form,
}

/// For whom a report is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    /// A terminal.
    Text,
    /// A program.
    Json,
    /// A comment, a chat or a language model.
    Markdown,
}

impl Form {
    pub fn of(matches: &ArgMatches) -> Self {
        match (matches.get_flag("json"), matches.get_flag("markdown")) {
            (true, _) => Self::Json,
            (_, true) => Self::Markdown,
            _ => Self::Text,
        }
    }
}

/// The flag that asks for a report on sessions.
pub const SESSIONS: &str = "sessions";

/// The subcommand.
pub fn command() -> Command {
    Command::new("report")
        .about("Print the functions that have the most samples in a profile")
        .after_help(AFTER_HELP)
        .arg(input_argument("FILE").num_args(1..).help(
            "Files to read, which may be compressed with gzip, or - for standard input; several are added up",
        ))
        .arg(input_format_argument())
        .arg(unit_argument())
        .arg(event_loop_argument(
            "Report only on the event loop with this number of each file (the first one is 0)",
        ))
        .arg(saved_source_maps_argument())
        .arg(by_argument())
        .arg(top_argument())
        .arg(
            Arg::new("lines")
                .long("lines")
                .action(ArgAction::SetTrue)
                .help("List the N lines with the most samples too"),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .help("Print JSON, whose form stays: see docs/report.md"),
        )
        .arg(
            Arg::new("markdown")
                .long("markdown")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["json", "lines"])
                .help("Print Markdown, with lines, a call tree and callers: at most 30,000 characters"),
        )
        .arg(
            Arg::new(SESSIONS)
                .long(SESSIONS)
                .action(ArgAction::SetTrue)
                .help("Say how the times of functions differ between sessions"),
        )
        .args(session_arguments())
}

impl SavedReport {
    pub(crate) fn of(matches: &mut ArgMatches, working_directory: &Path) -> Self {
        let event_loop = matches.remove_one("event-loop");
        Self {
            inputs: inputs(matches, event_loop, working_directory),
            by: match matches.remove_one("by") {
                Some(ReportBy::Rows(by)) => by,
                // A report on sessions has this.
                Some(ReportBy::Label(_)) | None => By::default(),
            },
            top: matches.remove_one("top").expect("clap has a default"),
            lines: matches.get_flag("lines"),
            form: Form::of(matches),
        }
    }

    /// The text of the report. The error is one line that names the file that is wrong, and the place in it. `warn` is
    /// called for each source map that is not used.
    pub fn text(&self, mut warn: impl FnMut(&Notice)) -> Result<String, String> {
        let mut files = Vec::new();
        for input in &self.inputs {
            files.push((input.name(), input.read_for_report(&mut warn)?));
        }
        Ok(match self.form {
            Form::Text => {
                let mut text = profile_formats::report_by(&files, self.by, self.top);
                if self.lines {
                    text += &profile_formats::line_report_of(&files, self.top);
                }
                text
            },
            Form::Json => profile_formats::json_report(&files, self.by, self.top, self.lines),
            Form::Markdown => profile_formats::markdown_report(&files, self.by, self.top),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::saved_recording::SourceMaps;

    #[test]
    fn the_report_of_a_file_is_that_of_its_recording() {
        let folder = tempfile::tempdir().unwrap();
        let report = |name: &str, event_loop| {
            let wanted = SavedReport {
                inputs: vec![SavedRecording {
                    file: folder.path().join(name),
                    format: None,
                    unit: None,
                    event_loop,
                    source_maps: Vec::new(),
                }],
                by: By::Function,
                top: 5,
                lines: false,
                form: Form::Text,
            };
            wanted.text(|notice| panic!("{notice}"))
        };
        std::fs::write(folder.path().join("a.folded"), "[a];f 2\n[b];g 1\n").unwrap();
        let text = report("a.folded", None).unwrap();
        assert!(
            text.contains("\n  66.7     66.7     2      2  f "),
            "{text}"
        );
        assert!(
            text.contains("\n  33.3     33.3     1      1  g "),
            "{text}"
        );
        let text = report("a.folded", Some(1)).unwrap();
        assert!(text.contains(" g ") && !text.contains(" f "), "{text}");
        let error = report("none", None).unwrap_err();
        assert!(
            error.contains("none: ") && error.contains("No such file"),
            "{error}"
        );
    }

    #[test]
    fn a_built_script_is_reported_by_its_sources() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.folded");
        std::fs::write(&file, "f (https://a.test/app.js:1:2) 3\n").unwrap();
        let map = r#"{"version":3,"sources":["src/a.ts"],"names":["alpha"],"mappings":"AAEAA"}"#;
        let wanted = SavedReport {
            inputs: vec![SavedRecording {
                file,
                format: None,
                unit: None,
                event_loop: None,
                source_maps: vec![SourceMaps::Folder(folder.path().to_owned())],
            }],
            by: By::Function,
            top: 5,
            lines: false,
            form: Form::Text,
        };
        let report = || {
            let mut warnings = Vec::new();
            let text = wanted.text(|notice| warnings.push(notice.to_string()));
            (text.unwrap(), warnings)
        };
        let (text, warnings) = report();
        assert!(text.contains(" f         app.js:1:2\n"), "{text}");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].contains("no source map of https://a.test/app.js"),
            "{warnings:?}"
        );

        std::fs::write(folder.path().join("app.js.map"), map).unwrap();
        let (text, warnings) = report();
        assert!(text.contains(" alpha     a.ts:3:1\n"), "{text}");
        assert_eq!(warnings.len(), 0, "{warnings:?}");
    }

    #[test]
    fn lines_are_reported_if_they_are_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.collapsed-lines");
        std::fs::write(&file, "f (https://a.test/b.js:3:14):5 6\n").unwrap();
        let report = |lines| {
            let input = SavedRecording {
                file: file.clone(),
                format: None,
                unit: None,
                event_loop: None,
                source_maps: Vec::new(),
            };
            let wanted = SavedReport {
                inputs: vec![input],
                by: By::Function,
                top: 3,
                lines,
                form: Form::Text,
            };
            wanted.text(|notice| panic!("{notice}")).unwrap()
        };
        let (with_lines, without) = (report(true), report(false));
        let lines = with_lines.strip_prefix(&without).expect("it begins alike");
        assert!(lines.contains(" b.js:5  "), "{with_lines}");
        assert!(!without.contains("samples  line"), "{without}");
    }

    #[test]
    fn several_files_are_added_up_and_each_has_its_event_loops() {
        let folder = tempfile::tempdir().unwrap();
        let inputs = [("a.folded", "f 2\n"), ("b.folded", "f 1\ng 1\n")].map(|(name, text)| {
            let file = folder.path().join(name);
            std::fs::write(&file, text).unwrap();
            SavedRecording {
                file,
                format: None,
                unit: None,
                event_loop: None,
                source_maps: Vec::new(),
            }
        });
        let wanted = SavedReport {
            inputs: inputs.into(),
            by: By::Function,
            top: 5,
            lines: false,
            form: Form::Text,
        };
        let text = wanted.text(|notice| panic!("{notice}")).unwrap();
        assert!(text.contains("\n      2  a.folded"), "{text}");
        assert!(text.contains("\n      2  b.folded"), "{text}");
        assert!(
            text.contains("\n  75.0     75.0     3      3  f "),
            "{text}"
        );
    }
}
