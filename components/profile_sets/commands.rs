/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The subcommands `merge` and `diff`: their arguments, and what they do.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use profile_formats::{Format, ReadOptions, Unit, add_places_to_names, replace, write_to_stream};

use crate::diff::{Diff, REPLICATES, diff};
use crate::inputs::{Input, Inputs, Options, Outcome};
use crate::labels::{Condition, Labels, NamePattern};
use crate::merge::{Counts, Merge};
use crate::sessions::Sessions;

const STANDARD_STREAM: &str = "-";

const AFTER_MERGE_HELP: &str = "\
IN is a profile in any format, NDJSON of profiles or of envelopes around traces, a folder of these, or - for standard input;
each may be compressed with gzip. An input that cannot be read is named and left out, unless --strict is given.

The samples of a session weigh no more than the span of its own clock, and pieces that come twice count once. OUT has one
event loop for pages and one for workers. If its format has a clock, stacks follow each other on it.
Exit status: 0 if all went well; 1 if OUT could not be written, nothing could be read, or --strict found a bad input; 2 if the
command line is wrong.";

const AFTER_DIFF_HELP: &str = "\
BASE and NEW are each what merge takes. With --by LABEL A B, the sessions of IN whose label has the value A are compared with those
that have B. An interval is that of 95 %, from the spread between sessions or, of a single recording, between blocks of time.

--fail-above 5% judges functions that have at least 0.5 % of the time, by intervals that hold for all of them at once.
Exit status: 0 if all went well; 1 if a function grew by more, or an input could not be read; 2 if the command line is wrong, or
if nothing tells the sessions apart that --fail-above needs.";

/// How a comparison is printed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Form {
    Text,
    Json,
    Markdown,
}

/// What `merge` is to do.
#[derive(Debug)]
pub struct MergeTask {
    inputs: Inputs,
    output: PathBuf,
    to: Format,
    condition: Option<Condition>,
    with_sessions: bool,
    with_files: bool,
}

/// What `diff` is to do.
#[derive(Debug)]
pub struct DiffTask {
    /// The inputs of both sides, or all of them if a label tells the sides apart.
    sides: Vec<Vec<Input>>,
    options: Options,
    condition: Option<Condition>,
    /// The label and its two values.
    label: Option<[String; 3]>,
    form: Form,
    top: usize,
    /// As a part of the time.
    fail_above: Option<f64>,
}

/// Why a task did not end well.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Failure {
    /// Exit status 1. A line for a person.
    Failed(String),
    /// Exit status 2.
    Refused(String),
}

fn read_arguments(command: Command) -> Command {
    let formats = Format::all_read().map(Format::as_str);
    let formats = PossibleValuesParser::new(formats)
        .try_map(|name| Format::by_name(&name).ok_or("no format"));
    let units = PossibleValuesParser::new(Unit::ALL.map(Unit::as_str))
        .try_map(|name| Unit::by_name(&name).ok_or("no unit"));
    command
        .arg(
            Arg::new("from")
                .long("from")
                .value_name("FORMAT")
                .value_parser(formats)
                .help("The format of all inputs (default: recognised by the content)"),
        )
        .arg(
            Arg::new("unit")
                .long("unit")
                .value_name("UNIT")
                .value_parser(units)
                .help("What the counts of collapsed stacks are; guessed by default"),
        )
        .arg(
            Arg::new("label")
                .long("label")
                .value_name("NAME=VALUE")
                .action(ArgAction::Append)
                .help("A label of all inputs; may be repeated"),
        )
        .arg(
            Arg::new("label-names")
                .long("label-names")
                .value_name("PATTERN")
                .value_parser(|text: &str| NamePattern::parse(text))
                .help("Labels in the names of files, such as '{release}/{browser}-*.json'"),
        )
        .arg(
            Arg::new("where")
                .long("where")
                .value_name("CONDITION")
                .value_parser(|text: &str| Condition::parse(text))
                .help("Only samples with these labels, such as release=2.1,page~/shop"),
        )
        .arg(
            Arg::new("source-maps")
                .long("source-maps")
                .value_name("[RELEASE=]DIR")
                .action(ArgAction::Append)
                .help("Apply the source maps in this folder, perhaps to one release alone; may be repeated"),
        )
        .arg(
            Arg::new("strict")
                .long("strict")
                .action(ArgAction::SetTrue)
                .help("End at the first input that cannot be read"),
        )
}

/// The subcommand `merge`.
pub fn merge_command() -> Command {
    let formats = PossibleValuesParser::new(Format::ALL.map(Format::as_str))
        .try_map(|name| Format::by_name(&name).ok_or("no format"));
    let command = Command::new("merge")
        .about("Add up thousands of profiles to one")
        .after_help(AFTER_MERGE_HELP)
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
                .value_parser(formats)
                .help("The format of OUT (default: chosen by its name)"),
        )
        .arg(
            Arg::new("sessions")
                .long("sessions")
                .action(ArgAction::SetTrue)
                .help("Keep the sessions apart, as a label (pprof alone has labels)"),
        )
        .arg(
            Arg::new("names")
                .long("names")
                .value_name("HOW")
                .value_parser(["plain", "file"])
                .default_value("plain")
                .help("file: functions that share a name get the file and the line, for tools that add them up"),
        );
    read_arguments(command)
}

/// The subcommand `diff`.
pub fn diff_command() -> Command {
    let command = Command::new("diff")
        .about("Compare two sets of profiles: which functions became slower")
        .after_help(AFTER_DIFF_HELP)
        .arg(
            Arg::new("IN")
                .required(true)
                .num_args(1..)
                .value_parser(value_parser!(PathBuf))
                .help("BASE and NEW; with --by, files and folders of both"),
        )
        .arg(
            Arg::new("by")
                .long("by")
                .num_args(3)
                .value_names(["LABEL", "A", "B"])
                .help("Compare sessions by the value of a label"),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .conflicts_with("markdown")
                .help("Print everything as JSON"),
        )
        .arg(
            Arg::new("markdown")
                .long("markdown")
                .action(ArgAction::SetTrue)
                .help("Print a table for a pull request"),
        )
        .arg(
            Arg::new("top")
                .long("top")
                .value_name("N")
                .value_parser(value_parser!(usize))
                .default_value("10")
                .help("How many functions to list"),
        )
        .arg(
            Arg::new("fail-above")
                .long("fail-above")
                .value_name("PERCENT")
                .value_parser(percent)
                .help("Exit with 1 if a function grew by more than this, such as 5%"),
        );
    read_arguments(command)
}

/// As a part: `5%` and `5` are 0.05.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let number: Option<f64> = number.parse().ok();
    let number = number.filter(|number| number.is_finite() && *number >= 0.);
    let number = number.ok_or_else(|| format!("{text:?} is no percentage from 0 on"))?;
    Ok(number / 100.)
}

/// The error is a line that names the argument.
fn options(matches: &mut ArgMatches, folder: &Path) -> Result<Options, String> {
    let mut labels = Labels::default();
    for label in matches.remove_many::<String>("label").into_iter().flatten() {
        match label.split_once('=') {
            Some((name, value)) if !name.is_empty() => labels.set(name, value),
            _ => return Err(format!("--label {label}: no NAME=VALUE")),
        }
    }
    let maps = matches.remove_many::<String>("source-maps");
    let maps = maps
        .into_iter()
        .flatten()
        .map(|maps| match maps.split_once('=') {
            // A folder may have the character in its name.
            Some((release, path)) if !folder.join(&maps).exists() => {
                (Some(release.to_owned()), folder.join(path))
            },
            _ => (None, folder.join(&maps)),
        });
    Ok(Options {
        read: ReadOptions {
            format: matches.remove_one("from"),
            unit: matches.remove_one("unit"),
        },
        labels,
        names: matches.remove_one("label-names"),
        source_maps: maps.collect(),
        is_strict: matches.get_flag("strict"),
    })
}

fn input(path: PathBuf, folder: &Path) -> Input {
    match path.as_os_str() == STANDARD_STREAM {
        true => Input::StandardInput,
        false => Input::Path(folder.join(path)),
    }
}

fn inputs(matches: &mut ArgMatches, folder: &Path) -> Vec<Input> {
    let paths = matches.remove_many::<PathBuf>("IN").into_iter().flatten();
    paths.map(|path| input(path, folder)).collect()
}

impl MergeTask {
    /// Paths are relative to `folder`. `by_name` is the format that the name of a file to write shows. The error is a line that
    /// names the argument.
    pub fn of(
        matches: &mut ArgMatches,
        folder: &Path,
        by_name: impl Fn(&Path) -> Option<Format>,
    ) -> Result<Self, String> {
        let output: PathBuf = matches.remove_one("output").ok_or("no output")?;
        let output = match output.as_os_str() == STANDARD_STREAM {
            true => output,
            false => folder.join(output),
        };
        let to = matches.remove_one("to").or_else(|| by_name(&output));
        let to = to.ok_or_else(|| {
            let names = Format::names();
            format!(
                "{}: the format is not clear from this name; pass --to and one of {names}",
                output.display()
            )
        })?;
        let with_sessions = matches.get_flag("sessions");
        if with_sessions && to != Format::Pprof {
            return Err(format!(
                "--sessions: the format {to} has no labels; pprof has"
            ));
        }
        Ok(Self {
            condition: matches.remove_one("where"),
            inputs: Inputs {
                inputs: inputs(matches, folder),
                options: options(matches, folder)?,
            },
            output,
            to,
            with_sessions,
            with_files: matches
                .remove_one::<String>("names")
                .is_some_and(|how| how == "file"),
        })
    }

    /// `warn` is called with a line for each input that is left out, and with what was counted.
    pub fn run(self, mut warn: impl FnMut(&str)) -> Result<(), Failure> {
        // Labels that no format keeps would only take memory.
        let with_labels = self.to == Format::Pprof;
        let mut merge = Merge::new(self.condition, with_labels, self.with_sessions);
        let outcome = self.inputs.read(|profile| merge.add(&profile), &mut warn);
        let outcome = outcome.map_err(Failure::Failed)?;
        if outcome.profiles == 0 {
            return Err(Failure::Failed("no profile could be read".to_owned()));
        }
        let (mut recording, counts) = merge.finish().map_err(Failure::Failed)?;
        if self.with_files {
            add_places_to_names(&mut recording)
                .map_err(|invalid| Failure::Failed(invalid.to_string()))?;
        }
        for line in told(outcome, &counts) {
            warn(&line);
        }
        let written = match self.output.as_os_str() == STANDARD_STREAM {
            true => write_to_stream(io::stdout().lock(), self.to, &recording),
            false => replace(&self.output, self.to, &recording),
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

impl DiffTask {
    /// Paths are relative to `folder`. The error is a line that names the argument.
    pub fn of(matches: &mut ArgMatches, folder: &Path) -> Result<Self, String> {
        let label: Option<Vec<String>> = matches.remove_many("by").map(Iterator::collect);
        let label = label.and_then(|label| <[String; 3]>::try_from(label).ok());
        let inputs = inputs(matches, folder);
        let sides = match (&label, inputs.len()) {
            (Some(_), _) => vec![inputs],
            (None, 2) => inputs.into_iter().map(|input| vec![input]).collect(),
            (None, count) => {
                return Err(format!(
                    "diff compares BASE and NEW; there are {count} inputs"
                ));
            },
        };
        Ok(Self {
            sides,
            condition: matches.remove_one("where"),
            options: options(matches, folder)?,
            label,
            form: match (matches.get_flag("json"), matches.get_flag("markdown")) {
                (true, _) => Form::Json,
                (_, true) => Form::Markdown,
                _ => Form::Text,
            },
            top: matches.remove_one("top").unwrap_or_default(),
            fail_above: matches.remove_one("fail-above"),
        })
    }

    /// Prints the comparison.
    pub fn run(self, mut warn: impl FnMut(&str)) -> Result<(), Failure> {
        let mut sessions = Sessions::new(self.condition.clone());
        let mut names = Vec::new();
        for (set, inputs) in self.sides.iter().enumerate() {
            names.extend(inputs.iter().map(|input| match input {
                Input::Path(path) => path.display().to_string(),
                Input::StandardInput => "standard input".to_owned(),
            }));
            let inputs = Inputs {
                inputs: inputs.clone(),
                options: self.options.clone(),
            };
            let read = inputs.read(|profile| sessions.add(set, profile), &mut warn);
            read.map_err(Failure::Failed)?;
        }
        sessions.finish().map_err(Failure::Failed)?;
        let compared = match &self.label {
            None => {
                let names = [0, 1].map(|side: usize| names[side].clone());
                diff(&sessions, names, |set, _| Some(set), REPLICATES)
            },
            Some([label, base, new]) => {
                let names = [base, new].map(|value| format!("{label}={value}"));
                let side_of = |_, session: &crate::sessions::Session| {
                    let value = session.labels.get(label)?;
                    [base, new].iter().position(|other| *other == value)
                };
                diff(&sessions, names, side_of, REPLICATES)
            },
        };
        let compared = compared.map_err(Failure::Failed)?;
        self.print(&compared)
            .map_err(|error| Failure::Failed(format!("standard output: {error}")))?;
        let Some(by) = self.fail_above else {
            return Ok(());
        };
        let grown = compared
            .grown(by)
            .map_err(|why| Failure::Refused(format!("--fail-above: {why}")))?;
        match &*grown {
            [] => Ok(()),
            grown => {
                let names = grown.iter().map(|change| &*change.function.name);
                let names: Vec<_> = names.take(self.top.max(1)).collect();
                let problem = format!(
                    "{} functions grew by more than {} %: {}",
                    grown.len(),
                    100. * by,
                    names.join(", ")
                );
                Err(Failure::Failed(terminal_text::shortened(&problem, 1_000)))
            },
        }
    }

    fn print(&self, compared: &Diff) -> io::Result<()> {
        let text = match self.form {
            Form::Text => compared.text(self.top),
            Form::Markdown => compared.markdown(self.top),
            Form::Json => format!("{:#}\n", compared.json()),
        };
        let mut output = io::stdout().lock();
        output.write_all(text.as_bytes())?;
        output.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(arguments: &[&str]) -> Result<DiffTask, String> {
        let arguments = ["diff"].iter().chain(arguments);
        let matches = diff_command().try_get_matches_from(arguments);
        DiffTask::of(
            &mut matches.map_err(|error| error.to_string())?,
            Path::new("/"),
        )
    }

    #[test]
    fn the_definitions_are_sound() {
        merge_command().debug_assert();
        diff_command().debug_assert();
    }

    #[test]
    fn a_comparison_has_two_sides() {
        let two = task(&["a", "b", "--fail-above", "5%"]).unwrap();
        assert_eq!(two.sides.len(), 2);
        assert_eq!(two.fail_above, Some(0.05));
        let by = task(&["x", "y", "z", "--by", "release", "1", "2"]).unwrap();
        assert_eq!((by.sides.len(), by.sides[0].len()), (1, 3));
        for (arguments, named) in [
            (&["a"][..], "1 inputs"),
            (&["a", "b", "--fail-above=x"], "no percentage"),
            (&["a", "b", "--where=x"], "no condition"),
            (&["a", "b", "--label=x"], "--label x"),
        ] {
            let error = task(arguments).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn a_merge_is_done_as_it_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("a.folded"), "f 1\n").unwrap();
        std::fs::write(path("b.folded"), "f 2\nbad\n").unwrap();
        let run = |arguments: &[&str]| {
            let arguments = ["merge"].iter().chain(arguments);
            let matches = merge_command().try_get_matches_from(arguments);
            let mut matches = matches.map_err(|error| error.to_string())?;
            let task = MergeTask::of(&mut matches, folder.path(), Format::by_file_name)?;
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
