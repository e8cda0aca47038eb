/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What `view` shows of many profiles: those that a condition holds for, as one, or as one process for each value of a label.

use std::path::Path;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};
use profile_formats::Recording;
use profile_sets::{Condition, Inputs, Merge, MergeBy};

use crate::failure::Failure;
use crate::sets;

/// Which profiles.
#[derive(Debug, PartialEq)]
pub struct MergedSessions {
    inputs: Inputs,
    condition: Option<Condition>,
    /// By which processes are told apart.
    label: Option<String>,
}

/// The arguments that ask for it.
pub fn arguments() -> Vec<Arg> {
    let by = Arg::new("by")
        .long("by")
        .value_name("LABEL")
        .help("Show the profiles of each value of a label as one process");
    [by].into_iter().chain(sets::session_arguments()).collect()
}

impl MergedSessions {
    /// `None` if the arguments do not ask for it. The error is a line that names the argument.
    pub fn of(
        matches: &mut ArgMatches,
        input: &str,
        working_directory: &Path,
    ) -> Option<Result<Self, String>> {
        let is_given = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
        if !is_given("by") && !sets::SESSION_ARGUMENTS.into_iter().any(is_given) {
            return None;
        }
        // Not every `view` has it.
        if matches.try_contains_id("event-loop").unwrap_or(false) {
            return Some(Err(
                "--event-loop: merged profiles have other event loops".to_owned()
            ));
        }
        Some(Self::with(matches, input, working_directory))
    }

    fn with(
        matches: &mut ArgMatches,
        input: &str,
        working_directory: &Path,
    ) -> Result<Self, String> {
        Ok(Self {
            condition: matches.remove_one("where"),
            label: matches.remove_one("by"),
            inputs: Inputs {
                inputs: sets::inputs(matches, input, working_directory),
                options: sets::options(matches, working_directory)?,
            },
        })
    }

    /// What to call them.
    pub fn name(&self) -> String {
        match &*self.inputs.inputs {
            [input] => input.name(),
            inputs => format!("{} inputs", inputs.len()),
        }
    }

    /// `tell` is called with a line for each input that is left out.
    pub fn read(&self, mut tell: impl FnMut(&str)) -> Result<Recording, Failure> {
        let condition = self.condition.clone();
        let recording = match &self.label {
            None => {
                let mut merge = Merge::new(condition, false, false);
                sets::read(&self.inputs, |profile| merge.add(&profile), &mut tell)?;
                merge.finish().map(|(recording, _)| recording)
            },
            Some(label) => {
                let mut merge = MergeBy::new(condition, label);
                sets::read(&self.inputs, |profile| merge.add(&profile), &mut tell)?;
                let finished = merge.finish();
                finished.map(|(recording, left_out)| {
                    if left_out > 0 {
                        tell(&format!(
                            "the label {label} has too many values: {left_out} profiles are left out"
                        ));
                    }
                    recording
                })
            },
        };
        let recording = recording.map_err(Failure::Failed)?;
        if recording.event_loops().next().is_none() {
            return Err(Failure::Failed("no profile is left to show".to_owned()));
        }
        Ok(recording)
    }
}
