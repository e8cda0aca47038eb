/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A comparison as a text for a terminal, as JSON and as Markdown.

use std::fmt::Write;

use serde_json::{Value, json};
use terminal_text::shortened;

use crate::diff::{Change, Diff, Interval, Side};
use crate::functions::Key;
use crate::table::{self, MAX_PLACE, Table, escaped, name};

fn table(are_lines: bool) -> Table<7> {
    Table {
        head: [
            "self ms",
            "change",
            "95 % interval",
            "self %",
            "change of share",
            "function",
            if are_lines { "line" } else { "defined at" },
        ],
        numbers: 5,
    }
}

impl Diff {
    /// For a terminal: what was compared, and the changes that come first.
    pub fn text(&self, top: usize) -> String {
        let mut text = self.head();
        let rows: Vec<_> = self.changes.iter().take(top).map(row).collect();
        text += &table(self.are_lines).text(&rows);
        let more = self.changes.len().saturating_sub(top);
        if more > 0 {
            let what = if self.are_lines { "lines" } else { "functions" };
            _ = writeln!(text, "{more} more {what} are not listed");
        }
        text
    }

    fn head(&self) -> String {
        let mut text = String::new();
        for (what, side) in ["base", "new"].iter().zip(&self.sides) {
            _ = writeln!(text, "{what}: {}", described(side));
        }
        if let Some(why) = &self.without_intervals {
            _ = writeln!(text, "There are no intervals: {why}.");
        }
        text.push('\n');
        text
    }

    /// A table for a pull request.
    pub fn markdown(&self, top: usize) -> String {
        let mut text = String::new();
        for (what, side) in ["base", "new"].iter().zip(&self.sides) {
            _ = writeln!(text, "- {what}: {}", escaped(&described(side)));
        }
        if let Some(why) = &self.without_intervals {
            _ = writeln!(text, "- There are no intervals: {why}.");
        }
        let rows: Vec<_> = self.changes.iter().take(top).map(row).collect();
        text.push('\n');
        text += &table(self.are_lines).markdown(&rows);
        text
    }

    /// Everything, for a program.
    pub fn json(&self) -> Value {
        let side = |side: &Side| {
            json!({
                "name": side.name,
                "sessions": side.sessions,
                "blocks": side.blocks,
                "millisecondsPerSession": side.milliseconds,
                "isMerged": side.is_merged,
            })
        };
        let interval = |interval: Option<Interval>| interval.map(|of| json!([of.low, of.high]));
        let changes = self.changes.iter().map(|change| {
            json!({
                "function": key_json(&change.function),
                "movedFrom": change.moved_from.as_ref().map(key_json),
                "selfTime": change.self_time,
                "totalTime": change.total_time,
                "selfShare": change.self_share,
                "totalShare": change.total_share,
                "intervals": {
                    "time": interval(change.time),
                    "growth": interval(change.growth),
                    "selfShare": interval(change.share),
                    "totalShare": interval(change.of_total_share),
                    "timeAtOnce": interval(change.time_at_once),
                    "growthAtOnce": interval(change.growth_at_once),
                },
                "certain": change.certain,
            })
        });
        json!({
            "base": side(&self.sides[0]),
            "new": side(&self.sides[1]),
            "withoutIntervals": self.without_intervals,
            "areLines": self.are_lines,
            "changes": changes.collect::<Vec<_>>(),
        })
    }
}

fn described(side: &Side) -> String {
    let name = shortened(&side.name, MAX_PLACE);
    let of = match (side.blocks, side.is_merged) {
        (0, true) => "merged".to_owned(),
        (0, false) => format!("{} sessions", side.sessions),
        (blocks, _) => format!("{blocks} blocks of one recording"),
    };
    format!("{name}, {of}, {:.3} ms each", side.milliseconds)
}

fn row(change: &Change) -> [String; 7] {
    let [base, new] = change.self_time;
    let growth = match base > 0. {
        true => format!("{:+.1} %", 100. * (new / base - 1.)),
        false => "new".to_owned(),
    };
    let growth_interval = change.growth.map_or_else(String::new, |growth| {
        format!("{:+.1} to {:+.1} %", 100. * growth.low, 100. * growth.high)
    });
    let shares = change.self_share.map(|share| 100. * share);
    let share_interval = match change.share {
        Some(share) => format!(" ({:+.2} to {:+.2})", 100. * share.low, 100. * share.high),
        None => String::new(),
    };
    let mut place = table::place(&change.function);
    // Another folder is not told.
    if let Some(from) = change.moved_from.as_ref().map(table::place)
        && from != place
    {
        place += &format!(" (was {from})");
    }
    [
        format!("{base:.3} → {new:.3}"),
        growth,
        growth_interval,
        format!("{:.2} → {:.2}", shares[0], shares[1]),
        format!("{:+.2}{share_interval}", shares[1] - shares[0]),
        name(&change.function),
        place,
    ]
}

/// A function, for a program.
pub fn key_json(key: &Key) -> Value {
    json!({ "name": key.name, "url": key.url, "line": key.line, "column": key.column })
}
