/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A recording's totals as Markdown: for comments on issues, chats and language models.
//!
//! Names in a profile are a stranger's. So each of them is in a code span or in a fenced block, where no link, mention,
//! picture or element begins, and what could end either of them, or a cell of a table, is escaped as in a Rust string.
//! A part that is too long for its share of the text ends early and says so.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Write as _;

use indexmap::IndexSet;
use terminal_text::shortened;

use crate::recording::{EventLoop, Recording, StackId};
use crate::report::{
    By, NO_FUNCTION, NO_LINE, Noted, Side, Table, event_loops, grouped, groups_by, lines, missed,
    name, place, ranked, share, stackless, summary,
};
use crate::totals::{FunctionKey, Totals, is_timed};

/// How long a text is at most.
pub const MAX_MARKDOWN_CHARACTERS: usize = 30_000;

/// The shares of its parts. What is left is for what stands between them.
const MAX_RECORDED_BY: usize = 500;
const MAX_EVENT_LOOPS: usize = 4_000;
const MAX_GROUPS: usize = 7_500;
const MAX_LINES: usize = 5_500;
const MAX_TREE: usize = 7_000;
const MAX_CALLERS: usize = 4_500;

/// How many calls are in the tree.
const TREE_CALLS: usize = 50;
/// Calls with less than this share of all are left out of it.
const LEAST_SHARE: f64 = 0.005;

/// Of how many functions the callers are listed, and how many of each.
const CALLED_FUNCTIONS: usize = 5;
const CALLERS: usize = 5;

const CUT: &str = "The rest is left out, because it would be too long.";

/// The summary, the `top` rows, as many lines, the calls with the largest shares, and who calls the first functions, of
/// files with their names.
pub fn markdown_report(files: &[(String, Recording)], by: By, top: usize) -> String {
    let files: Vec<(String, &Recording)> = files
        .iter()
        .map(|(name, recording)| (name.clone(), recording))
        .collect();
    let recordings: Vec<&Recording> = files.iter().map(|(_, recording)| *recording).collect();
    let (sum, groups) = groups_by(&recordings, by, top);
    let mut text = "# Profile\n\n".to_owned();
    let summary = summary(&recordings, sum, None);
    let mut summary = summary.lines();
    text += summary.next().unwrap_or_default();
    text += ".\n\n";
    // What recorded it is what the files say.
    for line in summary {
        let _ = write!(text, "{}\n\n", code(&shortened(line, MAX_RECORDED_BY)));
    }
    text += &table(&event_loops(&files), MAX_EVENT_LOOPS);
    if let Some(reasons) = missed(&recordings) {
        let _ = write!(text, "{reasons}.\n\n");
    }
    text += &table(&stackless(&recordings), usize::MAX);
    let _ = write!(text, "## Hot {}s\n\n", by.as_str());
    text += &noted(groups, NO_FUNCTION, MAX_GROUPS);
    text += "## Hot lines\n\n";
    text += &noted(lines(&recordings, top), NO_LINE, MAX_LINES);
    text += "## Call tree\n\n";
    let tree = Tree::of(&recordings);
    text += &tree.text();
    text += "## Callers\n\n";
    text += &callers(&recordings);
    while text.ends_with("\n\n") {
        text.pop();
    }
    text
}

/// Text of a profile, in which nothing is Markdown, as a code span. It is on one line and of a bounded length.
fn code(text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!("`{}`", inert(text)),
    }
}

/// Without what ends a code span, a fence or a cell.
fn inert(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '`' | '|' => result.extend(character.escape_unicode()),
            '\t' => result.push(' '),
            other => result.push(other),
        }
    }
    result
}

/// A table of at most `max` characters, with a sentence if not all rows fit; nothing if there are no rows.
fn table(table: &Table, max: usize) -> String {
    let Table { columns, rows } = table;
    if rows.is_empty() {
        return String::new();
    }
    let heads = columns.iter().map(|(head, _)| (*head).to_owned());
    let rules = columns.iter().map(|(_, side)| match side {
        Side::Left => "---".to_owned(),
        Side::Right => "---:".to_owned(),
    });
    let cells = |row: &Vec<String>| {
        let cells = row.iter().zip(columns);
        row_of(cells.map(|(cell, (_, side))| match side {
            Side::Left => code(cell),
            Side::Right => cell.clone(),
        }))
    };
    let lines = [row_of(heads), row_of(rules)].into_iter();
    let lines = lines.chain(rows.iter().map(cells));
    let (mut text, is_whole) = up_to(max, lines);
    text.push('\n');
    if !is_whole {
        let _ = write!(text, "{CUT}\n\n");
    }
    text
}

fn row_of(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<_> = cells.collect();
    format!("| {} |", cells.join(" | "))
}

/// The first lines, as many as fit, and whether these are all.
fn up_to(max: usize, lines: impl Iterator<Item = String>) -> (String, bool) {
    let mut text = String::new();
    let mut length = 0;
    for line in lines {
        length += line.chars().count() + 1;
        if length > max {
            return (text, false);
        }
        text += &line;
        text.push('\n');
    }
    (text, true)
}

fn noted(noted: Option<Noted>, without: &str, max: usize) -> String {
    match noted {
        Some(Noted { table: rows, note }) => {
            format!("{}{note}.\n\n", table(&rows, max))
        },
        None => format!("{without}\n\n"),
    }
}

/// A call and the calls above it.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
struct Call {
    /// The number of the caller's, which is less than that of this one.
    caller: Option<u32>,
    /// The number of the function.
    function: u32,
}

/// The calls of all event loops, with what they have by themselves and in all: time, if samples are worth times of
/// their own, or else samples.
#[derive(Default)]
struct Tree<'a> {
    functions: IndexSet<FunctionKey<'a>>,
    calls: IndexSet<Call>,
    itself: Vec<u128>,
    total: Vec<u128>,
    sum: u128,
}

impl<'a> Tree<'a> {
    fn of(recordings: &[&'a Recording]) -> Self {
        let is_timed = is_timed(recordings);
        let mut tree = Self::default();
        for recording in recordings {
            for event_loop in recording.event_loops() {
                let functions = event_loop.functions().map(|function| {
                    let key = FunctionKey::of(event_loop, function);
                    // The tables of all files are in memory, and have less than this number holds.
                    tree.functions.insert_full(key).0 as u32
                });
                let functions: Vec<u32> = functions.collect();
                // Callers come before what they call.
                let mut calls: Vec<u32> = Vec::with_capacity(event_loop.stacks().len());
                for stack in event_loop.stacks() {
                    let function = event_loop.frame(stack.frame).function;
                    let call = Call {
                        caller: stack.parent.map(|parent| calls[parent.index()]),
                        function: functions[function.index()],
                    };
                    calls.push(tree.calls.insert_full(call).0 as u32);
                }
                tree.itself.resize(tree.calls.len(), 0);
                for_each_weight(event_loop, recording.interval, is_timed, |stack, weight| {
                    tree.itself[calls[stack.index()] as usize] += weight;
                    tree.sum += weight;
                });
            }
        }
        tree.total = tree.itself.clone();
        for (index, call) in tree.calls.iter().enumerate().rev() {
            if let Some(caller) = call.caller {
                tree.total[caller as usize] += tree.total[index];
            }
        }
        tree
    }

    /// The calls with the largest shares, each below its caller.
    fn text(&self) -> String {
        if self.sum == 0 {
            return format!("{NO_FUNCTION}\n\n");
        }
        let least = (self.sum as f64 * LEAST_SHARE) as u128;
        let mut shown: Vec<usize> = (0..self.calls.len())
            .filter(|index| self.total[*index] > least)
            .collect();
        // A caller has as much as what it calls, and is before it.
        shown.sort_by_key(|index| (Reverse(self.total[*index]), *index));
        shown.truncate(TREE_CALLS);
        let left_out = self.total.iter().filter(|total| **total > 0).count() - shown.len();
        let mut callees: HashMap<Option<u32>, Vec<usize>> = HashMap::new();
        for index in shown {
            let caller = self.calls[index].caller;
            callees.entry(caller).or_default().push(index);
        }
        let mut lines = vec!["total %  self %  function".to_owned()];
        let mut next = vec![(callees.remove(&None).unwrap_or_default().into_iter(), 0)];
        while let Some((of_caller, depth)) = next.last_mut() {
            let depth = *depth;
            let Some(index) = of_caller.next() else {
                next.pop();
                continue;
            };
            let function = &self.functions[self.calls[index].function as usize];
            lines.push(format!(
                "{:>7}  {:>6}  {}{}  {}",
                share(self.total[index], self.sum),
                share(self.itself[index], self.sum),
                " ".repeat(depth),
                inert(&name(function)),
                inert(&place(function)),
            ));
            let callees = callees.remove(&Some(index as u32)).unwrap_or_default();
            next.push((callees.into_iter(), depth + 1));
        }
        let (text, is_whole) = up_to(MAX_TREE, lines.into_iter());
        let mut text = format!("```text\n{text}```\n\n");
        if !is_whole {
            let _ = write!(text, "{CUT}\n\n");
        }
        let _ = match left_out {
            0 => Ok(()),
            1 => write!(text, "1 call with a smaller share is not listed.\n\n"),
            more => {
                let more = grouped(more as u64);
                write!(text, "{more} calls with smaller shares are not listed.\n\n")
            },
        };
        text
    }
}

/// Calls `add` with each stack of samples, and with what these are worth.
fn for_each_weight(
    event_loop: &EventLoop,
    interval: f64,
    is_timed: bool,
    mut add: impl FnMut(StackId, u128),
) {
    for (sample, worth) in event_loop.samples().iter().zip(event_loop.worths(interval)) {
        if let Some(stack) = sample.stack {
            let weight = if is_timed { worth } else { sample.weight };
            add(stack, weight.into());
        }
    }
}

/// Who calls the functions with the most of their own.
fn callers(recordings: &[&Recording]) -> String {
    let is_timed = is_timed(recordings);
    let totals = Totals::by(recordings, FunctionKey::of);
    let hot: Vec<FunctionKey> = ranked(&totals, CALLED_FUNCTIONS)
        .into_iter()
        .take(CALLED_FUNCTIONS)
        .filter(|(_, one)| one.itself > 0)
        .map(|(function, _)| *function)
        .collect();
    if hot.is_empty() {
        return format!("{NO_FUNCTION}\n\n");
    }
    let numbers: HashMap<FunctionKey, usize> = hot.iter().copied().zip(0..).collect();
    let mut callers: Vec<HashMap<Option<FunctionKey>, u128>> = vec![HashMap::new(); hot.len()];
    for recording in recordings {
        for event_loop in recording.event_loops() {
            let keys: Vec<FunctionKey> = event_loop
                .functions()
                .map(|function| FunctionKey::of(event_loop, function))
                .collect();
            let numbers: Vec<Option<usize>> =
                keys.iter().map(|key| numbers.get(key).copied()).collect();
            let function_of = |frame| event_loop.frame(frame).function.index();
            for_each_weight(event_loop, recording.interval, is_timed, |stack, weight| {
                let stack = event_loop.stack(stack);
                if let Some(number) = numbers[function_of(stack.frame)] {
                    let caller = stack.parent.map(|parent| event_loop.stack(parent).frame);
                    let caller = caller.map(|frame| keys[function_of(frame)]);
                    *callers[number].entry(caller).or_default() += weight;
                }
            });
        }
    }
    let mut text = String::new();
    for (function, callers) in hot.iter().zip(callers) {
        let mut callers: Vec<_> = callers.into_iter().collect();
        callers.sort_by_key(|(caller, weight)| (Reverse(*weight), *caller));
        let sum: u128 = callers.iter().map(|(_, weight)| weight).sum();
        let more = callers.len().saturating_sub(CALLERS);
        let rows = callers.iter().take(CALLERS).map(|(caller, weight)| {
            let [name, place] = match caller {
                Some(caller) => [name(caller), place(caller)],
                None => ["(nobody)".to_owned(), String::new()],
            };
            vec![share(*weight, sum), name, place]
        });
        let rows = Table {
            columns: vec![
                ("self %", Side::Right),
                ("called by", Side::Left),
                ("defined at", Side::Left),
            ],
            rows: rows.collect(),
        };
        let mut part = format!("{} {}\n\n", code(&name(function)), code(&place(function)));
        part += &table(&rows, usize::MAX);
        if more > 0 {
            let _ = write!(
                part,
                "{} more callers are not listed.\n\n",
                grouped(more as u64)
            );
        }
        if text.chars().count() + part.chars().count() > MAX_CALLERS {
            let _ = write!(text, "{CUT}\n\n");
            break;
        }
        text += &part;
    }
    text
}
