/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A recording's totals as text for a terminal.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use terminal_text::shortened;
use url::Url;

use crate::recording::{EventLoop, EventLoopKind, MissedReason, Place, Process, Recording};
use crate::totals::{FunctionKey, FunctionTotals, Totals};

/// The longest name of a function or file, in characters. Longer ones are cut.
const MAX_COLUMN: usize = 48;

/// The same for names of event loops and URLs of documents, which are in the last column.
pub const MAX_EVENT_LOOP: usize = 100;

/// What stands for the file of a function whose script has no URL.
const NO_SOURCE: &str = "(no source)";

/// How many documents of an event loop are listed. The rest are counted.
const MAX_DOCUMENTS: usize = 5;

/// How the recording went. A saved recording does not say it.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// How long it took.
    pub elapsed: Duration,
    /// Ticks without a sample.
    pub missed: u64,
    /// Samples whose stack could not be walked.
    pub unwalkable: u64,
}

/// How many samples there are of each event loop, and the `top` functions with the most samples of their own. Of a saved
/// recording, also what recorded it, if the file says so.
pub fn report(recording: &Recording, outcome: Option<Outcome>, top: usize) -> String {
    let totals = Totals::of(recording);
    let mut text = summary(recording, &totals, outcome);
    text += &event_loops(recording);
    text += &functions(&totals, top);
    text
}

fn summary(recording: &Recording, totals: &Totals, outcome: Option<Outcome>) -> String {
    let mut text = format!(
        "{} samples at an interval of {} ms",
        grouped(totals.samples),
        recording.interval
    );
    if let Some(outcome) = outcome {
        let _ = write!(text, " in {:.1} s", outcome.elapsed.as_secs_f64());
    }
    let _ = write!(text, "; {} with a stack", grouped(totals.with_stack));
    if let Some(outcome) = outcome {
        let _ = write!(
            text,
            ", {} missed, {} unwalkable",
            grouped(outcome.missed),
            grouped(outcome.unwalkable)
        );
    }
    if let (None, Some(recorded_by)) = (outcome, &recording.recorded_by) {
        let _ = write!(text, "\nRecorded by {recorded_by}");
    }
    text + "\n\n"
}

fn event_loops(recording: &Recording) -> String {
    let rows: Vec<_> = recording
        .event_loops_of_processes()
        .map(|(process, event_loop)| {
            let is_several = recording.processes.len() > 1;
            [
                grouped(event_loop.weight()),
                grouped(missed_of(event_loop)),
                described(process, event_loop, is_several),
            ]
        })
        .collect();
    if rows.is_empty() {
        return "There was no event loop.\n\n".to_owned();
    }
    let Some(reasons) = missed(recording) else {
        // Most formats do not hold what was missed.
        let rows: Vec<_> = rows
            .into_iter()
            .map(|[samples, _, event_loop]| [samples, event_loop])
            .collect();
        return table(["samples", "event loop"], [Side::Right, Side::Left], &rows) + "\n";
    };
    let table = table(
        ["samples", "missed", "event loop"],
        [Side::Right, Side::Right, Side::Left],
        &rows,
    );
    format!("{table}{reasons}\n\n")
}

/// How many samples of an event loop were missed.
fn missed_of(event_loop: &EventLoop) -> u64 {
    let missed = event_loop.missed().iter();
    missed.map(|missed| u64::from(missed.samples)).sum()
}

/// How many samples were missed for each reason, the most frequent one first. `None` if there were none.
fn missed(recording: &Recording) -> Option<String> {
    let sum_of = |why: MissedReason| -> u64 {
        let missed = recording.event_loops().flat_map(EventLoop::missed);
        let of_reason = missed.filter(|missed| missed.why == why);
        of_reason.map(|missed| u64::from(missed.samples)).sum()
    };
    let mut reasons = MissedReason::ALL.map(|why| (sum_of(why), why.as_str()));
    reasons.sort_by_key(|(samples, _)| Reverse(*samples));
    let reasons = reasons.into_iter().filter(|(samples, _)| *samples > 0);
    let reasons = reasons.map(|(samples, why)| format!("{} {why}", grouped(samples)));
    let reasons: Vec<_> = reasons.collect();
    let all: u64 = recording.event_loops().map(missed_of).sum();
    (!reasons.is_empty()).then(|| format!("{} missed: {}", grouped(all), reasons.join(", ")))
}

fn described(process: &Process, event_loop: &EventLoop, is_several: bool) -> String {
    let mut text = shortened(&event_loop.name, MAX_EVENT_LOOP);
    if let EventLoopKind::Page { documents } = &event_loop.kind {
        let documents = documents.iter();
        // The name contains some of the documents.
        let mut others = documents.filter(|document| !event_loop.name.contains(*document));
        for document in others.by_ref().take(MAX_DOCUMENTS) {
            let _ = write!(text, " {}", shortened(document, MAX_EVENT_LOOP));
        }
        let more = others.count();
        if more > 0 {
            let _ = write!(text, " and {} more", grouped(more as u64));
        }
    }
    if let Some(pid) = process.pid.filter(|_| is_several) {
        let _ = write!(text, " (process {pid})");
    }
    if let Some(ended) = process.ended {
        let _ = write!(text, ", which ended at {:.1} s", ended / 1000.);
    }
    text
}

fn functions(totals: &Totals, top: usize) -> String {
    if totals.functions.is_empty() {
        return "No function was sampled.\n\n".to_owned();
    }
    let with_stack = totals.with_stack;
    let mut functions: Vec<(&FunctionKey, &FunctionTotals)> = totals.functions.iter().collect();
    functions
        .sort_by_key(|(function, totals)| (Reverse((totals.itself, totals.total)), **function));
    let rows: Vec<_> = functions
        .iter()
        .take(top)
        .map(|(function, totals)| {
            [
                share(totals.itself, with_stack),
                share(totals.total, with_stack),
                grouped(totals.itself),
                grouped(totals.total),
                name(function),
                place(function),
            ]
        })
        .collect();
    let mut text = String::new();
    if !rows.is_empty() {
        text += &table(
            [
                "self %",
                "total %",
                "self",
                "total",
                "function",
                "defined at",
            ],
            [
                Side::Right,
                Side::Right,
                Side::Right,
                Side::Right,
                Side::Left,
                Side::Left,
            ],
            &rows,
        );
    }
    text + &note(functions.len() - rows.len(), "function")
}

/// What the percentages are of, and how many rows are left out.
fn note(left_out: usize, what: &str) -> String {
    let mut text = "% of the samples with a stack".to_owned();
    let _ = match left_out {
        0 => Ok(()),
        1 => write!(text, "; 1 more {what} is not listed"),
        more => write!(
            text,
            "; {} more {what}s are not listed",
            grouped(more as u64)
        ),
    };
    text + "\n\n"
}

fn share(samples: u64, of: u64) -> String {
    format!("{:.1}", 100. * samples as f64 / of as f64)
}

/// The `top` lines at which functions were executing in the most samples.
pub fn line_report(recording: &Recording, top: usize) -> String {
    let mut with_stack = 0;
    let mut lines: HashMap<(FunctionKey, Place), u64> = HashMap::new();
    for event_loop in recording.event_loops() {
        // By the frame that was the leaf.
        let mut samples = vec![0; event_loop.frames().len()];
        for sample in event_loop.samples() {
            if let Some(stack) = sample.stack {
                with_stack += sample.weight;
                samples[event_loop.stack(stack).frame.index()] += sample.weight;
            }
        }
        for (frame, samples) in event_loop.frames().zip(samples) {
            if samples > 0
                && let Some(place) = frame.place
            {
                let function = event_loop.function(frame.function);
                let key = FunctionKey::of(event_loop, function);
                *lines.entry((key, place.without_column())).or_default() += samples;
            }
        }
    }
    if lines.is_empty() {
        return "No line of a function was recorded.\n\n".to_owned();
    }
    let mut lines: Vec<_> = lines.into_iter().collect();
    lines.sort_by_key(|(line, samples)| (Reverse(*samples), *line));
    let rows: Vec<_> = lines
        .iter()
        .take(top)
        .map(|((function, place), samples)| {
            [
                share(*samples, with_stack),
                grouped(*samples),
                line(function, *place),
                name(function),
            ]
        })
        .collect();
    let mut text = String::new();
    if !rows.is_empty() {
        text += &table(
            ["self %", "samples", "line", "function"],
            [Side::Right, Side::Right, Side::Left, Side::Left],
            &rows,
        );
    }
    text + &note(lines.len() - rows.len(), "line")
}

fn line(function: &FunctionKey, place: Place) -> String {
    let file = file(function).unwrap_or_else(|| NO_SOURCE.to_owned());
    match place {
        Place::Source { line, .. } => format!("{file}:{line}"),
        Place::WasmOffset(offset) => format!("{file}:{offset:#x}"),
    }
}

fn name(function: &FunctionKey) -> String {
    match function.name {
        "" => "(anonymous)".to_owned(),
        name => shortened(name, MAX_COLUMN),
    }
}

/// The end of the URL of the function's script, which is enough in a table.
fn file(function: &FunctionKey) -> Option<String> {
    let resource = function.resource?;
    let url = Url::parse(resource).ok();
    let last = url.as_ref().and_then(|url| {
        let last = url.path_segments()?.rfind(|part| !part.is_empty());
        last.or(url.host_str())
    });
    Some(shortened(last.unwrap_or(resource), MAX_COLUMN))
}

/// Where the function is defined.
fn place(function: &FunctionKey) -> String {
    let mut place = match file(function) {
        Some(file) => file,
        // A built-in function has a name, and no position.
        None if function.name.is_empty() || function.line.is_some() => NO_SOURCE.to_owned(),
        None => return "(built-in)".to_owned(),
    };
    if let Some(line) = function.line {
        let _ = write!(place, ":{line}");
        if let Some(column) = function.column {
            let _ = write!(place, ":{column}");
        }
    }
    place
}

#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

/// Columns with two spaces between them.
fn table<const N: usize>(head: [&str; N], sides: [Side; N], rows: &[[String; N]]) -> String {
    let head = head.map(str::to_owned);
    let widths: [usize; N] = std::array::from_fn(|column| {
        let cells = rows.iter().chain([&head]).map(|row| &row[column]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    });
    let mut text = String::new();
    for row in [&head].into_iter().chain(rows) {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            let _ = match sides[column] {
                Side::Left => write!(line, "{cell:<width$}  "),
                Side::Right => write!(line, "{cell:>width$}  "),
            };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// 1234567 as 1,234,567.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;
    use crate::input::read;
    use crate::recording::Missed;

    fn recording(text: &str) -> Recording {
        read(text.as_bytes(), None, Some(Format::Collapsed))
            .unwrap()
            .0
    }

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn the_functions_with_the_most_samples_of_their_own_come_first() {
        let text = report(
            &recording("[page];a;b 6\n[page];a 3\n[worker];c 1\n[worker];(idle) 10\n"),
            None,
            2,
        );
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].starts_with("20 samples at "), "{text}");
        assert!(lines[0].ends_with("; 10 with a stack"), "{text}");
        assert!(lines.contains(&"      9  page"), "{text}");
        assert!(lines.contains(&"     11  worker"), "{text}");
        let head = lines
            .iter()
            .position(|line| line.starts_with("self %"))
            .unwrap();
        assert_eq!(
            lines[head..head + 4],
            [
                "self %  total %  self  total  function  defined at",
                "  60.0     60.0     6      6  b         (built-in)",
                "  30.0     90.0     3      9  a         (built-in)",
                "% of the samples with a stack; 1 more function is not listed",
            ]
        );
    }

    #[test]
    fn what_was_missed_is_reported_with_its_reasons() {
        let mut recording = recording("[page];a 3\n[worker];c 1\n");
        let (late, no_processor) = (MissedReason::SamplerLate, MissedReason::NoProcessor);
        for (event_loop, start, samples, why) in [
            (0, 0., 300, late),
            (0, 0., 1_000, no_processor),
            (0, 9., 900, no_processor),
            (1, 0., 62, late),
        ] {
            recording.processes[0].event_loops[event_loop]
                .add_missed(Missed {
                    start,
                    end: start + 5.,
                    samples,
                    why,
                })
                .unwrap();
        }
        let text = report(&recording, None, 5);
        let lines: Vec<_> = text.lines().collect();
        let head = lines
            .iter()
            .position(|line| line.starts_with("samples  missed"))
            .unwrap();
        assert_eq!(
            lines[head..head + 4],
            [
                "samples  missed  event loop",
                "      3   2,200  page",
                "      1      62  worker",
                "2,262 missed: 1,900 no processor for the thread, 362 sampler late",
            ]
        );

        // A saved file says the same.
        let mut content = Vec::new();
        Format::Firefox.write(&recording, &mut content).unwrap();
        let (mut saved, _) = read(&content, None, None).unwrap();
        assert!(saved.keep_only(1));
        let text = report(&saved, None, 5);
        assert!(
            text.contains("\n      1      62  worker\n62 missed: 62 sampler late\n"),
            "{text}"
        );
    }

    #[test]
    fn the_lines_with_the_most_samples_come_first() {
        let report = |text: &str| {
            let read = read(text.as_bytes(), None, Some(Format::CollapsedLines));
            line_report(&read.unwrap().0, 3)
        };
        let text = report(
            "[page];g (https://a.test/b.js:1:1):2;f (https://a.test/b.js:3:14):5 6\n\
            [page];f (https://a.test/b.js:3:14):7 1\n\
            [page];g (https://a.test/b.js:1:1):2 1\n\
            [worker];f (https://a.test/b.js:3:14):5 1\n\
            [worker];w (https://a.test/m.wasm):0x1f 2\n\
            [worker];sort 1\n",
        );
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                "self %  samples  line         function",
                "  58.3        7  b.js:5       f",
                "  16.7        2  m.wasm:0x1f  w",
                "   8.3        1  b.js:7       f",
                "% of the samples with a stack; 1 more line is not listed",
                "",
            ]
        );
        assert_eq!(report("f;g 2\n"), "No line of a function was recorded.\n\n");
    }

    #[test]
    fn a_recording_of_nothing_says_so() {
        let empty = Recording {
            time_origin: None,
            interval: 1.,
            recorded_by: None,
            processes: Vec::new(),
        };
        let text = report(&empty, None, 5);
        assert!(text.contains("There was no event loop."), "{text}");
        assert!(text.contains("No function was sampled."), "{text}");
    }

    #[test]
    fn a_place_is_the_end_of_a_url() {
        let place_in = |resource| {
            place(&FunctionKey {
                name: "f",
                resource,
                line: std::num::NonZeroU32::new(3),
                column: std::num::NonZeroU32::new(7),
            })
        };
        assert_eq!(place_in(Some("https://a.test/x/y.js?v=1")), "y.js:3:7");
        assert_eq!(place_in(Some("https://a.test/")), "a.test:3:7");
        assert_eq!(place_in(Some("self-hosted")), "self-hosted:3:7");
        assert_eq!(place_in(Some("https://a.test/\u{1b}[2J")), "%1B[2J:3:7");
        assert_eq!(place_in(Some("x\n\u{202e}.js")), "x\\n\\u{202e}.js:3:7");
        assert_eq!(place_in(None), "(no source):3:7");
        let place = place_in(Some(&format!(
            "https://a.test/{}/{}",
            "x".repeat(99),
            "y".repeat(99)
        )));
        assert_eq!(place, format!("{}…{}:3:7", "y".repeat(24), "y".repeat(23)));
    }

    #[test]
    fn no_name_is_obeyed_and_long_ones_are_cut() {
        let hostile = "\u{1b}[2J\u{202e}\u{9b}1A\u{200b}\u{85}\t";
        let long = "x".repeat(100_000);
        let mut recording = recording("[page];f 5\n[page];g 3\n[page];h 1\n");
        let event_loop = &mut recording.processes[0].event_loops[0];
        event_loop.name = format!("Page {hostile}{long}");
        let document = |number: usize| format!("https://{number}.test/{hostile}{long}");
        event_loop.kind = EventLoopKind::Page {
            documents: (0..1_005).map(document).collect(),
        };
        let text = report(&recording, None, 5);
        assert!(
            text.lines().all(|line| line.chars().count() < 700),
            "{text}"
        );
        assert!(text.contains("Page \\u{1b}[2J\\u{202e}\\u{9b}1A"), "{text}");
        assert!(text.contains("https://4.test/\\u{1b}[2J"), "{text}");
        assert!(text.contains(" and 1,000 more\n"), "{text}");

        let function = |name| FunctionKey {
            name,
            resource: None,
            line: None,
            column: None,
        };
        assert_eq!(
            name(&function(hostile)),
            "\\u{1b}[2J\\u{202e}\\u{9b}1A\\u{200b}\\u{85}\\t"
        );
        let cut = name(&function(&long));
        assert_eq!(cut.chars().count(), MAX_COLUMN);
        assert!(cut.contains('…'), "{cut}");
        assert_eq!(name(&function("")), "(anonymous)");
        assert_eq!(place(&function("")), "(no source)");
        assert_eq!(place(&function("sort")), "(built-in)");
    }
}
