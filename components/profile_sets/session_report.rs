/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What functions take in the sessions of a set, and in those of each value of a label, as a text for a terminal, as JSON and
//! as Markdown.

use std::fmt::Write;

use serde_json::{Value, json};
use terminal_text::shortened;

use crate::diff_text::key_json;
use crate::sessions::{Percentiles, Session, Sessions};
use crate::table::{MAX_PLACE, Table, escaped, name, place};

/// Values of a label with a table of their own. The others have one line together.
const MAX_TABLES: usize = 20;

/// Characters of a session's id in a table.
const MAX_ID: usize = 20;

const TABLE: Table<7> = Table {
    head: [
        "self %",
        "self ms",
        "p50 ms",
        "p95 ms",
        "function",
        "defined at",
        "slowest sessions",
    ],
    numbers: 4,
};

/// The sessions with one value of a label, or all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Absent if they are all, or if they do not have the label.
    pub value: Option<String>,
    pub sessions: usize,
    /// Of samples with a stack, in nanoseconds.
    pub time: u64,
    pub functions: Vec<Percentiles>,
    /// How many functions are not among these.
    pub more: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SessionReport {
    /// By which the sessions are told apart.
    pub label: Option<String>,
    /// Those with the most time first.
    pub groups: Vec<Group>,
}

impl SessionReport {
    /// `top` is how many functions are listed of each group. The error is a sentence: there is nothing to report.
    pub fn of(sessions: &Sessions, label: Option<&str>, top: usize) -> Result<Self, String> {
        if sessions.iter().len() == 0 {
            return Err("no session has samples to report".to_owned());
        }
        let values = match label {
            None => vec![None],
            Some(label) => {
                let values = sessions.values_of(label);
                if values.is_empty() {
                    return Err(format!("--by {label}: no session has this label"));
                }
                let all = sessions.iter();
                let lacks = |session: &Session| session.labels.get(label).is_none();
                let rest = all.filter(|(_, _, session)| lacks(session)).take(1);
                let rest = rest.map(|_| None);
                values.into_iter().map(Some).chain(rest).collect()
            },
        };
        let groups = values.into_iter().map(|value| {
            let is_in = |session: &Session| match label {
                None => true,
                Some(label) => session.labels.get(label) == value.as_deref(),
            };
            let of_group = || sessions.iter().filter(|(_, _, session)| is_in(session));
            let mut functions = sessions.percentiles(is_in, usize::MAX);
            let more = functions.len().saturating_sub(top);
            functions.truncate(top);
            Group {
                sessions: of_group().count(),
                time: of_group().fold(0, |sum: u64, (_, _, one)| sum.saturating_add(one.time)),
                functions,
                more,
                value,
            }
        });
        let mut groups: Vec<_> = groups.collect();
        groups.sort_by(|one, other| {
            let by_time = other.time.cmp(&one.time);
            by_time.then_with(|| one.value.cmp(&other.value))
        });
        Ok(Self {
            label: label.map(str::to_owned),
            groups,
        })
    }

    fn title(&self, group: &Group) -> String {
        let of = match (&self.label, &group.value) {
            (None, _) => String::new(),
            (Some(label), Some(value)) => format!("{label}={}: ", shortened(value, MAX_PLACE)),
            (Some(label), None) => format!("without {label}: "),
        };
        format!(
            "{of}{} sessions, {:.3} ms with a stack",
            group.sessions,
            milliseconds(group.time)
        )
    }

    fn shown(&self) -> impl Iterator<Item = (String, &Group, Vec<[String; 7]>)> {
        self.groups.iter().take(MAX_TABLES).map(|group| {
            let rows = group.functions.iter().map(|one| row(one, group.time));
            (self.title(group), group, rows.collect())
        })
    }

    fn not_shown(&self) -> Option<String> {
        let more = self.groups.len().saturating_sub(MAX_TABLES);
        (more > 0).then(|| format!("{more} more values are not listed; --json has them"))
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (title, group, rows) in self.shown() {
            if !text.is_empty() {
                text.push('\n');
            }
            _ = writeln!(text, "{title}\n");
            text += &TABLE.text(&rows);
            if group.more > 0 {
                _ = writeln!(text, "{} more functions are not listed", group.more);
            }
        }
        if let Some(line) = self.not_shown() {
            _ = writeln!(text, "\n{line}");
        }
        text
    }

    /// Tables for a comment.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for (title, _, rows) in self.shown() {
            if !text.is_empty() {
                text.push('\n');
            }
            _ = writeln!(text, "{}\n", escaped(&title));
            text += &TABLE.markdown(&rows);
        }
        if let Some(line) = self.not_shown() {
            _ = writeln!(text, "\n{line}");
        }
        text
    }

    /// Everything, for a program.
    pub fn json(&self) -> Value {
        let groups = self.groups.iter().map(|group| {
            let functions = group.functions.iter().map(|one| {
                let slowest = one.slowest.iter();
                let slowest = slowest
                    .map(|(id, time)| json!({ "session": id, "selfTime": milliseconds(*time) }));
                json!({
                    "function": key_json(&one.function),
                    "selfTime": milliseconds(one.time),
                    "percentiles": { "50": milliseconds(one.p50), "95": milliseconds(one.p95) },
                    "slowest": slowest.collect::<Vec<_>>(),
                })
            });
            json!({
                "value": group.value,
                "sessions": group.sessions,
                "time": milliseconds(group.time),
                "functions": functions.collect::<Vec<_>>(),
            })
        });
        json!({ "label": self.label, "groups": groups.collect::<Vec<_>>() })
    }
}

fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

fn row(one: &Percentiles, time: u64) -> [String; 7] {
    let times = [one.time, one.p50, one.p95].map(|time| format!("{:.3}", milliseconds(time)));
    let [sum, p50, p95] = times;
    let slowest = one
        .slowest
        .iter()
        .map(|(id, time)| format!("{} ({:.3})", shortened(id, MAX_ID), milliseconds(*time)));
    let slowest: Vec<_> = slowest.collect();
    [
        format!("{:.1}", 100. * one.time as f64 / time.max(1) as f64),
        sum,
        p50,
        p95,
        name(&one.function),
        place(&one.function),
        slowest.join(", "),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::Key;
    use crate::labels::Labels;

    /// Twenty sessions; `f` takes 1 to 20 ms in them, and those with an even number have a release.
    fn sessions() -> Sessions {
        let function = Key {
            name: "f".to_owned(),
            url: "https://a.test/a.js".to_owned(),
            line: None,
            column: None,
        };
        let all = (1..=20_u64).map(|number| {
            let mut labels = Labels::default();
            if number.is_multiple_of(2) {
                labels.set("release", if number > 10 { "2" } else { "1" });
            }
            let time = number * 1_000_000;
            let session = Session {
                labels,
                time,
                times: [(0, (time, time))].into_iter().collect(),
            };
            ((0, format!("s{number}")), session)
        });
        Sessions::made(vec![function], all.collect())
    }

    #[test]
    fn a_function_has_percentiles_and_its_slowest_sessions() {
        let report = SessionReport::of(&sessions(), None, 10).unwrap();
        let text = report.text();
        assert!(
            text.starts_with("20 sessions, 210.000 ms with a stack\n\n"),
            "{text}"
        );
        let row = " 100.0  210.000  10.000  19.000  f         a.js        s20 (20.000), s19 (19.000), s18 (18.000)\n";
        assert!(text.contains(row), "{text}");
        let json = report.json();
        let function = &json["groups"][0]["functions"][0];
        assert_eq!(function["percentiles"]["95"], 19.);
        assert_eq!(function["slowest"][0]["session"], "s20");
        assert!(
            report
                .markdown()
                .contains("| 100.0 | 210.000 | 10.000 | 19.000 | f |")
        );
    }

    #[test]
    fn sessions_are_told_apart_by_a_label() {
        let report = SessionReport::of(&sessions(), Some("release"), 0).unwrap();
        let titles: Vec<_> = report.shown().map(|(title, ..)| title).collect();
        let expected = [
            "without release: 10 sessions, 100.000 ms with a stack",
            "release=2: 5 sessions, 80.000 ms with a stack",
            "release=1: 5 sessions, 30.000 ms with a stack",
        ];
        assert_eq!(titles, expected);
        assert!(
            report
                .text()
                .contains("\n1 more functions are not listed\n")
        );
        let error = SessionReport::of(&sessions(), Some("page"), 10).unwrap_err();
        assert_eq!(error, "--by page: no session has this label");
    }
}
