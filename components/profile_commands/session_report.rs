/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! `report` on sessions: how the times of functions differ between them.

use std::path::Path;

use clap::ArgMatches;
use clap::parser::ValueSource;
use profile_formats::By;
use profile_sets::{Condition, Inputs, SessionReport, Sessions};

use crate::arguments::ReportBy;
use crate::failure::Failure;
use crate::output::print;
use crate::report::{Form, SESSIONS};
use crate::sets;

/// What to report on.
#[derive(Debug, PartialEq)]
pub struct SavedSessions {
    pub inputs: Inputs,
    condition: Option<Condition>,
    /// By which the sessions are told apart.
    label: Option<String>,
    top: usize,
    form: Form,
}

impl SavedSessions {
    /// `None` if the arguments of `report` do not ask for sessions. The error is a line that names the argument.
    pub(crate) fn of(
        matches: &mut ArgMatches,
        working_directory: &Path,
    ) -> Option<Result<Self, String>> {
        let is_given = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
        let has_sessions = is_given(SESSIONS) || sets::SESSION_ARGUMENTS.into_iter().any(is_given);
        let label = match matches.get_one("by") {
            Some(ReportBy::Label(label)) => Some(label.clone()),
            Some(ReportBy::Rows(By::Function)) | None if has_sessions => None,
            Some(ReportBy::Rows(by)) if has_sessions => {
                return Some(Err(format!(
                    "--by {}: a report on sessions lists functions",
                    by.as_str()
                )));
            },
            Some(ReportBy::Rows(_)) | None => return None,
        };
        if let Some(other) = ["lines", "event-loop"]
            .into_iter()
            .find(|name| is_given(name))
        {
            return Some(Err(format!("--{other}: a report on sessions has none")));
        }
        Some(Self::with(matches, label, working_directory))
    }

    fn with(
        matches: &mut ArgMatches,
        label: Option<String>,
        working_directory: &Path,
    ) -> Result<Self, String> {
        Ok(Self {
            condition: matches.remove_one("where"),
            label,
            top: matches.remove_one("top").expect("clap has a default"),
            form: Form::of(matches),
            inputs: Inputs {
                inputs: sets::inputs(matches, "FILE", working_directory),
                options: sets::options(matches, working_directory)?,
            },
        })
    }

    /// Prints the report. `tell` is called with a line for each input that is left out.
    pub fn run(&self, mut tell: impl FnMut(&str)) -> Result<(), Failure> {
        let mut sessions = Sessions::new(self.condition.clone());
        sets::read(&self.inputs, |profile| sessions.add(0, profile), &mut tell)?;
        sessions.finish_whole().map_err(Failure::Failed)?;
        let report = SessionReport::of(&sessions, self.label.as_deref(), self.top);
        let report = report.map_err(Failure::Failed)?;
        let text = match self.form {
            Form::Text => report.text(),
            Form::Json => format!("{:#}\n", report.json()),
            Form::Markdown => report.markdown(),
        };
        print(&text).map_err(Failure::Failed)
    }
}
