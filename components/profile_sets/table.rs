/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Tables of functions for a terminal, and as Markdown.

use std::fmt::Write;

use terminal_text::shortened;

use crate::functions::Key;

/// Characters of a name, and of a place, in a table.
const MAX_NAME: usize = 60;
pub const MAX_PLACE: usize = 60;

/// The columns of a table. Numbers end in one column, and names begin in one.
pub struct Table<const COLUMNS: usize> {
    pub head: [&'static str; COLUMNS],
    /// How many of the columns, from the left, have numbers.
    pub numbers: usize,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    /// For a terminal.
    pub fn text(&self, rows: &[[String; COLUMNS]]) -> String {
        let mut widths = self.head.map(|head| head.chars().count());
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut text = String::new();
        let head = self.head.map(str::to_owned);
        for cells in [&head].into_iter().chain(rows) {
            let mut line = String::new();
            for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
                let room = " ".repeat(width - cell.chars().count());
                line += &match index < self.numbers {
                    true => format!("{room}{cell}  "),
                    false => format!("{cell}{room}  "),
                };
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }

    /// For a pull request.
    pub fn markdown(&self, rows: &[[String; COLUMNS]]) -> String {
        let mut text = format!("| {} |\n|", self.head.join(" | "));
        for index in 0..COLUMNS {
            text += if index < self.numbers { "--:|" } else { "---|" };
        }
        text.push('\n');
        for row in rows {
            let cells = row.each_ref().map(|cell| escaped(cell));
            _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        text
    }
}

/// The name of a function.
pub fn name(key: &Key) -> String {
    match &*key.name {
        "" => "(anonymous)".to_owned(),
        name => shortened(name, MAX_NAME),
    }
}

/// Where a function is defined.
pub fn place(key: &Key) -> String {
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
pub fn escaped(text: &str) -> String {
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
