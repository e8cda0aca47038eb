/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A recording's totals for programs. `docs/report.schema.json` says what each member means, and `docs/report.md` what
//! may change.

use std::hash::Hash;

use serde::Serialize;

use crate::recording::{Activity, EventLoopKind, Place, Recording};
use crate::report::{
    By, LineTotals, Sum, file_of, missed_of, missed_reasons, packages, ranked, without_stacks,
};
use crate::terminal::ForTerminal;
use crate::totals::{FunctionKey, FunctionTotals, Totals, TotalsBy};

/// Raised when a member is removed or has another meaning, not when one is added.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    files: Vec<File<'a>>,
    samples: u64,
    samples_with_stack: u64,
    ms: Option<f64>,
    ms_with_stack: Option<f64>,
    without_stack: Vec<WithoutStack>,
    missed: Vec<Missed>,
    by: &'static str,
    rows: Vec<Row<'a>>,
    rows_left_out: usize,
    lines: Option<Vec<Line<'a>>>,
    lines_left_out: Option<usize>,
}

#[derive(Serialize)]
struct File<'a> {
    name: &'a str,
    recorded_by: Option<String>,
    interval_ms: f64,
    event_loops: Vec<EventLoop<'a>>,
}

#[derive(Serialize)]
struct EventLoop<'a> {
    name: &'a str,
    kind: Option<&'static str>,
    pid: Option<u32>,
    samples: u64,
    ms: Option<f64>,
    missed: u64,
}

#[derive(Serialize)]
struct WithoutStack {
    activity: Option<&'static str>,
    samples: u64,
    ms: Option<f64>,
}

#[derive(Serialize)]
struct Missed {
    why: &'static str,
    samples: u64,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    #[serde(flatten)]
    defined: Option<Defined<'a>>,
    self_samples: u64,
    total_samples: u64,
    self_ms: Option<f64>,
    total_ms: Option<f64>,
}

/// Where a function is defined.
#[derive(Serialize)]
struct Defined<'a> {
    script: Option<&'a str>,
    line: Option<u32>,
    column: Option<u32>,
}

#[derive(Serialize)]
struct Line<'a> {
    script: Option<&'a str>,
    first_line: Option<u32>,
    last_line: Option<u32>,
    wasm_offset: Option<u32>,
    function: &'a str,
    samples: u64,
    ms: Option<f64>,
}

/// The `top` rows, and as many lines if these are asked for, of files with their names. No terminal
/// obeys a name in it.
pub fn json_report(files: &[(String, Recording)], by: By, top: usize, with_lines: bool) -> String {
    let recordings: Vec<&Recording> = files.iter().map(|(_, recording)| recording).collect();
    let (sum, rows, all_rows) = match by {
        By::Function => {
            let totals = Totals::by(&recordings, FunctionKey::of);
            rows(&totals, top, |function| {
                let [line, column] = [function.line, function.column];
                let defined = Defined {
                    script: function.resource,
                    line: line.map(Into::into),
                    column: column.map(Into::into),
                };
                (function.name, Some(defined))
            })
        },
        By::File => rows(&TotalsBy::by(&recordings, file_of), top, |file| {
            (file.name, None)
        }),
        By::Package => rows(&TotalsBy::by(&recordings, packages()), top, |package| {
            (*package, None)
        }),
    };
    let is_timed = sum.is_timed;
    let line_totals = with_lines.then(|| LineTotals::of(&recordings, top));
    let lines = line_totals.as_ref().map(|totals| {
        let lines = totals.lines.iter().take(top);
        let lines = lines.map(|((function, place), (time, samples))| {
            line(function, *place, *samples, ms(is_timed, *time))
        });
        lines.collect::<Vec<_>>()
    });
    let lines_left_out = line_totals
        .as_ref()
        .map(|totals| totals.lines.len() - lines.as_ref().map_or(0, Vec::len));
    let (without_stack, _) = without_stacks(&recordings);
    let without_stack = without_stack.into_iter();
    let missed = missed_reasons(&recordings).into_iter();
    let report = Report {
        version: VERSION,
        files: files
            .iter()
            .map(|(name, recording)| file(name, recording, is_timed))
            .collect(),
        samples: sum.samples,
        samples_with_stack: sum.with_stack,
        ms: ms(is_timed, sum.time),
        ms_with_stack: ms(is_timed, sum.time_with_stack),
        without_stack: without_stack
            .map(|(what, (samples, time))| WithoutStack {
                activity: what.map(activity),
                samples,
                ms: ms(is_timed, time),
            })
            .collect(),
        missed: missed
            .map(|(samples, why)| Missed {
                why: why.as_str(),
                samples,
            })
            .collect(),
        by: by.as_str(),
        rows_left_out: all_rows - rows.len(),
        rows,
        lines,
        lines_left_out,
    };
    let mut text = Vec::new();
    let written = serde_json::to_writer_pretty(ForTerminal::new(&mut text), &report);
    written.expect("nothing fails in memory");
    text.push(b'\n');
    String::from_utf8(text).expect("only text is written")
}

/// Milliseconds: whole microseconds, which is what most files hold.
fn ms(is_timed: bool, nanoseconds: u128) -> Option<f64> {
    is_timed.then(|| ((nanoseconds + 500) / 1_000) as f64 / 1_000.)
}

fn rows<'a, K: Copy + Ord + Hash>(
    totals: &TotalsBy<K>,
    top: usize,
    named: impl Fn(&K) -> (&'a str, Option<Defined<'a>>),
) -> (Sum, Vec<Row<'a>>, usize) {
    let all = ranked(totals, top);
    let count = all.len();
    let rows = all.into_iter().take(top).map(|(key, one)| {
        let (name, defined) = named(key);
        let FunctionTotals {
            itself,
            total,
            time_itself,
            time_total,
        } = *one;
        Row {
            name,
            defined,
            self_samples: itself,
            total_samples: total,
            self_ms: ms(totals.is_timed, time_itself),
            total_ms: ms(totals.is_timed, time_total),
        }
    });
    (Sum::of(totals), rows.collect(), count)
}

fn line<'a>(function: &FunctionKey<'a>, place: Place, samples: u64, ms: Option<f64>) -> Line<'a> {
    let lines = match place {
        Place::Source { line, .. } => Some((line, line)),
        Place::Lines { first, last } => Some((first, last)),
        Place::WasmOffset(_) => None,
    };
    Line {
        script: function.resource,
        first_line: lines.map(|(first, _)| first.get()),
        last_line: lines.map(|(_, last)| last.get()),
        wasm_offset: place.wasm_offset(),
        function: function.name,
        samples,
        ms,
    }
}

fn file<'a>(name: &'a str, recording: &'a Recording, is_timed: bool) -> File<'a> {
    let event_loops = recording.event_loops_of_processes();
    let event_loops = event_loops.map(|(process, event_loop)| {
        let worth = event_loop.worths(recording.interval).map(u128::from).sum();
        EventLoop {
            name: &event_loop.name,
            kind: match event_loop.kind {
                EventLoopKind::Page { .. } => Some("page"),
                EventLoopKind::Worker => Some("worker"),
                EventLoopKind::Unknown => None,
            },
            pid: process.pid,
            samples: event_loop.weight(),
            ms: ms(is_timed, worth),
            missed: missed_of(event_loop),
        }
    });
    File {
        name,
        recorded_by: recording.recorded_by.as_ref().map(ToString::to_string),
        interval_ms: recording.interval,
        event_loops: event_loops.collect(),
    }
}

fn activity(activity: Activity) -> &'static str {
    match activity {
        Activity::Idle => "idle",
        Activity::Script => "script",
        Activity::Gc => "gc",
        Activity::Style => "style",
        Activity::Layout => "layout",
        Activity::Paint => "paint",
        Activity::Other => "other",
        Activity::Program => "program",
    }
}
