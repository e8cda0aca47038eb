/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A comparison as a text for a terminal, as JSON and as Markdown.

use std::fmt::Write;

use serde_json::{Value, json};
use terminal_text::shortened;

use crate::diff::{Change, Diff, Interval, Side};
use crate::functions::Key;

/// Characters of a name, and of a place, in a table.
const MAX_NAME: usize = 60;
const MAX_PLACE: usize = 60;

const HEAD: [&str; 7] = [
    "self ms",
    "change",
    "95 % interval",
    "self %",
    "change of share",
    "function",
    "defined at",
];

impl Diff {
    /// For a terminal: what was compared, and the changes that come first.
    pub fn text(&self, top: usize) -> String {
        let mut text = self.head();
        let rows: Vec<_> = self.changes.iter().take(top).map(row).collect();
        let mut widths = HEAD.map(|head| head.chars().count());
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut line = |cells: &[String; 7]| {
            let mut line = String::new();
            for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
                let room = " ".repeat(width - cell.chars().count());
                // Numbers end in one column, and names begin in one.
                line += &match index < 5 {
                    true => format!("{room}{cell}  "),
                    false => format!("{cell}{room}  "),
                };
            }
            text += line.trim_end();
            text.push('\n');
        };
        line(&HEAD.map(str::to_owned));
        for row in &rows {
            line(row);
        }
        let more = self.changes.len().saturating_sub(top);
        if more > 0 {
            _ = writeln!(text, "{more} more functions are not listed");
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
        _ = writeln!(text, "\n| {} |", HEAD.join(" | "));
        text += "|--:|--:|--:|--:|--:|---|---|\n";
        for change in self.changes.iter().take(top) {
            let cells = row(change).map(|cell| escaped(&cell));
            _ = writeln!(text, "| {} |", cells.join(" | "));
        }
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
        let key = |key: &Key| json!({ "name": key.name, "url": key.url, "line": key.line, "column": key.column });
        let interval = |interval: Option<Interval>| interval.map(|of| json!([of.low, of.high]));
        let changes = self.changes.iter().map(|change| {
            json!({
                "function": key(&change.function),
                "movedFrom": change.moved_from.as_ref().map(key),
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
    let name = match &*change.function.name {
        "" => "(anonymous)".to_owned(),
        name => shortened(name, MAX_NAME),
    };
    let mut place = place(&change.function);
    if let Some(from) = &change.moved_from {
        place += &format!(" (was {})", self::place(from));
    }
    [
        format!("{base:.3} → {new:.3}"),
        growth,
        growth_interval,
        format!("{:.2} → {:.2}", shares[0], shares[1]),
        format!("{:+.2}{share_interval}", shares[1] - shares[0]),
        name,
        place,
    ]
}

fn place(key: &Key) -> String {
    let file = key.url.rsplit('/').next().unwrap_or_default();
    let mut place = match (&*key.url, file) {
        ("", _) => "(built-in)".to_owned(),
        (url, "") => shortened(url, MAX_PLACE),
        (_, file) => shortened(file, MAX_PLACE),
    };
    for number in [key.line, key.column].into_iter().flatten() {
        place += &format!(":{number}");
    }
    place
}

/// A text of anybody in a cell of a table.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        if character.is_ascii_punctuation()
            && !matches!(character, '.' | ',' | ':' | '/' | '%' | '+' | '-')
        {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}
