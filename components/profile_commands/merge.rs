/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! `merge`: adds up thousands of profiles to one.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use profile_formats::{Format, add_places_to_names};
use profile_sets::{Condition, Counts, Inputs, Merge, Outcome};

use crate::arguments::{format_parser, input_or_output, names_argument, names_with_places};
use crate::failure::Failure;
use crate::saved_recording::STANDARD_STREAM;
use crate::{output, saved_file, sets};

const AFTER_HELP: &str = "\
IN is a profile in any format, NDJSON of profiles or of envelopes around traces, a folder of these, or - for standard input;
each may be compressed with gzip. An input that cannot be read is named and left out, unless --strict is given.

The samples of a session weigh no more than the span of its own clock, and pieces that come twice count once. OUT has one
event loop for pages and one for workers. If its format has a clock, stacks follow each other on it.
Exit status: 0 if all went well; 1 if OUT could not be written, nothing could be read, or --strict found a bad input; 2 if the
command line is wrong.";

/// What `merge` is to do.
#[derive(Debug, PartialEq)]
pub struct MergeTask {
    pub inputs: Inputs,
    pub output: PathBuf,
    to: Format,
    condition: Option<Condition>,
    with_sessions: bool,
    /// Whether functions that share a name get the place of their definition.
    with_places: bool,
}

/// The subcommand.
pub fn command() -> Command {
    let command = Command::new("merge")
        .about("Add up thousands of profiles to one")
        .after_help(AFTER_HELP)
        .arg(
            Arg::new("IN")
                .required(true)
                .num_args(1..)
                .value_parser(value_parser!(PathBuf))
                .help("Files, folders, or - for standard input"),
        )
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .required(true)
                .value_name("OUT")
                .value_parser(value_parser!(PathBuf))
                .help("The file to write, or - for standard output"),
        )
        .arg(
            Arg::new("to")
                .long("to")
                .value_name("FORMAT")
                .value_parser(format_parser())
                .help("The format of OUT (default: chosen by its name)"),
        )
        .arg(
            Arg::new("sessions")
                .long("sessions")
                .action(ArgAction::SetTrue)
                .help("Keep the sessions apart, as a label (pprof alone has labels)"),
        )
        .arg(names_argument());
    sets::with_inputs(command)
}

impl MergeTask {
    pub(crate) fn of(matches: &mut ArgMatches, working_directory: &Path) -> Result<Self, String> {
        let output = input_or_output(matches, "output", working_directory);
        let to = saved_file::format_for(&output, matches.remove_one("to"), "--to")?;
        let with_sessions = matches.get_flag("sessions");
        if with_sessions && to != Format::Pprof {
            return Err(format!(
                "--sessions: the format {to} has no labels; pprof has"
            ));
        }
        Ok(Self {
            condition: matches.remove_one("where"),
            inputs: Inputs {
                inputs: sets::inputs(matches, "IN", working_directory),
                options: sets::options(matches, working_directory)?,
            },
            output,
            to,
            with_sessions,
            with_places: names_with_places(matches),
        })
    }

    /// `tell` is called with a line for each input that is left out, and with what was counted.
    pub fn run(&self, mut tell: impl FnMut(&str)) -> Result<(), Failure> {
        // Labels that no format keeps would only take memory.
        let with_labels = self.to == Format::Pprof;
        let mut merge = Merge::new(self.condition.clone(), with_labels, self.with_sessions);
        let outcome = sets::read(&self.inputs, |profile| merge.add(&profile), &mut tell)?;
        if outcome.profiles == 0 {
            return Err(Failure::Failed("no profile could be read".to_owned()));
        }
        let (mut recording, counts) = merge.finish().map_err(Failure::Failed)?;
        if self.with_places {
            add_places_to_names(&mut recording)
                .map_err(|invalid| Failure::Failed(invalid.to_string()))?;
        }
        for line in told(outcome, &counts) {
            tell(&line);
        }
        let written = match self.output == OsStr::new(STANDARD_STREAM) {
            true => output::write(self.to, &recording),
            false => profile_formats::replace(&self.output, self.to, &recording),
        };
        written.map_err(|error| Failure::Failed(format!("{}: {error}", self.output.display())))
    }
}

/// What a person should know of a merge, in lines.
fn told(outcome: Outcome, counts: &Counts) -> Vec<String> {
    let mut lines = vec![format!(
        "{} profiles of {} sessions are merged",
        counts.profiles, counts.sessions
    )];
    if outcome.skipped > 0 {
        lines.push(format!("{} inputs were left out", outcome.skipped));
    }
    if counts.repeated > 0 {
        lines.push(format!(
            "{} pieces came twice and count once",
            counts.repeated
        ));
    }
    if counts.elsewhere > 0 {
        lines.push(format!("{} samples have other labels", counts.elsewhere));
    }
    if counts.beyond_clocks > 0 {
        let milliseconds = counts.beyond_clocks as f64 / 1e6;
        lines.push(format!(
            "{milliseconds:.3} ms are left out, which sessions claimed beyond the span of their clocks"
        ));
    }
    for (label, count) in &counts.others {
        lines.push(format!(
            "the label {label} has too many values: it is \"other\" in {count} places"
        ));
    }
    if counts.labels_left_out > 0 {
        lines.push(format!(
            "{} labels too many were left out",
            counts.labels_left_out
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn a_merge_is_done_as_it_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("a.folded"), "f 1\n").unwrap();
        std::fs::write(path("b.folded"), "f 2\nbad\n").unwrap();
        let run = |arguments: &[&str]| {
            let arguments = ["merge"].iter().chain(arguments);
            let matches = command().try_get_matches_from(arguments);
            let mut matches = matches.map_err(|error| error.to_string())?;
            let task = MergeTask::of(&mut matches, folder.path())?;
            let mut told = Vec::new();
            task.run(|line| told.push(line.to_owned()))
                .map_err(|failure| format!("{failure:?}"))?;
            Ok::<_, String>(told.join("\n"))
        };
        let told = run(&["a.folded", "b.folded", "-o", "c.folded"]).unwrap();
        assert!(
            told.contains("b.folded: line 2: ") && told.contains("1 inputs were left out"),
            "{told}"
        );
        let text = std::fs::read_to_string(path("c.folded")).unwrap();
        assert_eq!(text, "f 1000\n", "microseconds");
        let error = run(&["b.folded", "-o", "c.folded", "--strict"]).unwrap_err();
        assert!(error.contains("b.folded: line 2"), "{error}");
        let error = run(&["b.folded", "-o", "c.folded"]).unwrap_err();
        assert!(error.contains("no profile could be read"), "{error}");
        let error = run(&["a.folded", "-o", "c.json"]).unwrap_err();
        assert!(error.contains("pass --to"), "{error}");
        let error = run(&["a.folded", "-o", "c.folded", "--sessions"]).unwrap_err();
        assert!(error.contains("has no labels"), "{error}");
    }
}
