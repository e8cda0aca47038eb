/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! `diff`: compares two sets of profiles.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use profile_sets::{
    Condition, Diff, Difference, Input, Inputs, Options, REPLICATES, Session, Sessions, diff,
};
use terminal_text::shortened;

use crate::failure::Failure;
use crate::output::print;
use crate::report::Form;
use crate::{saved_file, sets};

const AFTER_HELP: &str = "\
BASE and NEW are each what merge takes. With --by LABEL A B, the sessions of IN whose label has the value A are compared with those
that have B. An interval is that of 95 %, from the spread between sessions or, of a single recording, between blocks of time.

--fail-above 5% judges functions that have at least 0.5 % of the time, by intervals that hold for all of them at once.
Exit status: 0 if all went well; 1 if a function grew by more, or an input could not be read; 2 if the command line is wrong, or
if nothing tells the sessions apart that --fail-above needs.";

/// What `diff` is to do.
#[derive(Debug, PartialEq)]
pub struct DiffTask {
    /// The inputs of both sides, or all of them if a label tells the sides apart.
    pub sides: Vec<Vec<Input>>,
    options: Options,
    condition: Option<Condition>,
    /// The label and its two values.
    label: Option<[String; 3]>,
    form: Form,
    top: usize,
    /// Whether lines of functions are compared.
    by_lines: bool,
    /// As a part of the time.
    fail_above: Option<f64>,
    /// The page to write.
    view: Option<PathBuf>,
}

/// The subcommand.
pub fn command() -> Command {
    let command = Command::new("diff")
        .about("Compare two sets of profiles: which functions became slower")
        .after_help(AFTER_HELP)
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
            Arg::new("lines")
                .long("lines")
                .action(ArgAction::SetTrue)
                .help("Compare the lines of functions that were executing or calling"),
        )
        .arg(
            Arg::new("fail-above")
                .long("fail-above")
                .value_name("PERCENT")
                .value_parser(percent)
                .help("Exit with 1 if a function grew by more than this, such as 5%"),
        )
        .arg(
            Arg::new("view")
                .long("view")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .conflicts_with("lines")
                .help("Also write a page whose flame graph shows the difference in any browser"),
        );
    sets::with_inputs(command)
}

/// As a part: `5%` and `5` are 0.05.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let number: Option<f64> = number.parse().ok();
    let number = number.filter(|number| number.is_finite() && *number >= 0.);
    let number = number.ok_or_else(|| format!("{text:?} is no percentage from 0 on"))?;
    Ok(number / 100.)
}

impl DiffTask {
    /// The error is a line that names the argument.
    pub(crate) fn of(matches: &mut ArgMatches, working_directory: &Path) -> Result<Self, String> {
        let label: Option<Vec<String>> = matches.remove_many("by").map(Iterator::collect);
        let label = label.and_then(|label| <[String; 3]>::try_from(label).ok());
        let inputs = sets::inputs(matches, "IN", working_directory);
        let sides = match (&label, inputs.len()) {
            (Some(_), _) => vec![inputs],
            (None, 2) => inputs.into_iter().map(|input| vec![input]).collect(),
            (None, count) => {
                return Err(format!(
                    "diff compares BASE and NEW; there are {count} inputs"
                ));
            },
        };
        let view = matches.remove_one::<PathBuf>("view");
        let view = view.map(|file| working_directory.join(file));
        if let Some(file) = &view {
            saved_file::check_place(file).map_err(|complaint| format!("--view: {complaint}"))?;
        }
        Ok(Self {
            view,
            by_lines: matches.get_flag("lines"),
            sides,
            condition: matches.remove_one("where"),
            options: sets::options(matches, working_directory)?,
            label,
            form: Form::of(matches),
            top: matches.remove_one("top").unwrap_or_default(),
            fail_above: matches.remove_one("fail-above"),
        })
    }

    /// Prints the comparison. `tell` is called with a line for each input that is left out.
    pub fn run(&self, mut tell: impl FnMut(&str)) -> Result<(), Failure> {
        let condition = self.condition.clone();
        let mut sessions = match self.by_lines {
            true => Sessions::of_lines(condition),
            false => Sessions::new(condition),
        };
        let mut difference = self.view.as_ref().map(|_| self.difference());
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
            let each = |profile| {
                if let Some(difference) = &mut difference {
                    match &self.label {
                        None => difference.add(set, &profile)?,
                        // The condition of each side leaves the other one out.
                        Some(_) => {
                            difference.add(0, &profile)?;
                            difference.add(1, &profile)?;
                        },
                    }
                }
                sessions.add(set, profile)
            };
            sets::read(&inputs, each, &mut tell)?;
        }
        sessions.finish().map_err(Failure::Failed)?;
        let compared = match &self.label {
            None => {
                let names = [0, 1].map(|side: usize| names[side].clone());
                diff(&sessions, names, |set, _| Some(set), REPLICATES)
            },
            Some([label, base, new]) => {
                let names = [base, new].map(|value| format!("{label}={value}"));
                let side_of = |_, session: &Session| {
                    let value = session.labels.get(label)?;
                    [base, new].iter().position(|other| *other == value)
                };
                diff(&sessions, names, side_of, REPLICATES)
            },
        };
        let compared = compared.map_err(Failure::Failed)?;
        if let (Some(file), Some(difference)) = (&self.view, difference) {
            let recording = difference.finish(&sessions, &compared);
            let recording = recording.map_err(Failure::Failed)?;
            profile_formats::replace_comparison(file, &recording)
                .map_err(|error| Failure::Failed(format!("{}: {error}", file.display())))?;
        }
        print(&self.text(&compared)).map_err(Failure::Failed)?;
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
                let what = if self.by_lines { "lines" } else { "functions" };
                let problem = format!(
                    "{} {what} grew by more than {} %: {}",
                    grown.len(),
                    100. * by,
                    names.join(", ")
                );
                Err(Failure::Failed(shortened(&problem, 1_000)))
            },
        }
    }

    fn difference(&self) -> Difference {
        Difference::new([1, 2].map(|value| match &self.label {
            None => self.condition.clone(),
            Some(label) => {
                let condition = self.condition.clone().unwrap_or_default();
                Some(condition.and(&label[0], &label[value]))
            },
        }))
    }

    fn text(&self, compared: &Diff) -> String {
        match self.form {
            Form::Text => compared.text(self.top),
            Form::Markdown => compared.markdown(self.top),
            Form::Json => format!("{:#}\n", compared.json()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(arguments: &[&str]) -> Result<DiffTask, String> {
        let arguments = ["diff"].iter().chain(arguments);
        let matches = command().try_get_matches_from(arguments);
        DiffTask::of(
            &mut matches.map_err(|error| error.to_string())?,
            Path::new("/"),
        )
    }

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
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
            (&["a", "b", "--view=none/x.html"], "--view: /none/x.html"),
        ] {
            let error = task(arguments).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn the_page_has_both_sides_of_a_label() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for (name, text) in [
            ("1-a.folded", "f 1\n"),
            ("2-a.folded", "f 2\ng 3\n"),
            ("3-a.folded", "h 1\n"),
        ] {
            std::fs::write(path(name), text).unwrap();
        }
        let arguments = [
            "diff",
            ".",
            "--label-names",
            "{release}-*.folded",
            "--by",
            "release",
            "1",
            "2",
            "--view",
            "page.html",
            "--unit",
            "ms",
        ];
        let mut matches = command().try_get_matches_from(arguments).unwrap();
        let task = DiffTask::of(&mut matches, folder.path()).unwrap();
        task.run(|line| panic!("{line}")).unwrap();
        let page = std::fs::read(path("page.html")).unwrap();
        let text = String::from_utf8_lossy(&page);
        assert!(text.contains("\"comparison\":true"), "{text}");
        let (recording, _) = profile_formats::read(&page, None, None).unwrap();
        let sides = recording.processes.iter().map(|process| {
            let functions = process.event_loops.iter().flat_map(|of| of.functions());
            let functions = functions.map(|function| function.name.clone());
            (
                process.name.clone(),
                functions.collect::<Vec<_>>().join(" "),
            )
        });
        let sides: Vec<_> = sides.collect();
        let expected = [("base: release=1", "f"), ("new: release=2", "f g")];
        assert_eq!(
            sides,
            expected.map(|(name, functions)| (name.to_owned(), functions.to_owned()))
        );
    }
}
