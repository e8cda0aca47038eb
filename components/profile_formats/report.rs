/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A recording's totals as text for a terminal.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::Hash;
use std::time::Duration;

use terminal_text::shortened;
use url::Url;

use crate::interval;
use crate::recording::{
    Activity, EventLoop, EventLoopKind, Function, MissedReason, Place, Process, Recording,
};
use crate::totals::{FileKey, FunctionKey, FunctionTotals, Totals, TotalsBy, is_timed};

/// The longest name of a function or file, in characters. Longer ones are cut.
const MAX_COLUMN: usize = 48;

/// The same for names of event loops and URLs of documents, which are in the last column.
pub const MAX_EVENT_LOOP: usize = 100;

/// What stands for the file of a function whose script has no URL.
const NO_SOURCE: &str = "(no source)";

/// What stands for it if the function has a name and no position.
const BUILT_IN: &str = "(built-in)";

/// What stands for the functions of a recording without any.
pub const NO_FUNCTION: &str = "No function was sampled.";

/// What stands for the lines of a recording without any.
pub const NO_LINE: &str = "No line of a function was recorded.";

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

/// What the rows of a report are.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum By {
    #[default]
    Function,
    /// The script in which functions are defined.
    File,
    /// The package in `node_modules` in which they are.
    Package,
}

impl By {
    pub const ALL: [Self; 3] = [Self::Function, Self::File, Self::Package];

    /// Its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::File => "file",
            Self::Package => "package",
        }
    }

    /// `None` if none has this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.as_str() == name)
    }
}

/// How many samples there are of each event loop, and the `top` functions with the most samples of their own. If samples are
/// worth times of their own, these count, and the report says so. Of a saved recording, also what recorded it, if the file
/// says so.
pub fn report(recording: &Recording, outcome: Option<Outcome>, top: usize) -> String {
    report_on(&[(String::new(), recording)], outcome, By::Function, top)
}

/// The same of several files, each with its name. The names are not shown if there is one.
pub fn report_by(files: &[(String, Recording)], by: By, top: usize) -> String {
    let files = files
        .iter()
        .map(|(name, recording)| (name.clone(), recording));
    let files: Vec<_> = files.collect();
    report_on(&files, None, by, top)
}

fn report_on(
    files: &[(String, &Recording)],
    outcome: Option<Outcome>,
    by: By,
    top: usize,
) -> String {
    let recordings: Vec<&Recording> = files.iter().map(|(_, recording)| *recording).collect();
    let (totals, groups) = groups_by(&recordings, by, top);
    let mut text = summary(&recordings, totals, outcome) + "\n\n";
    let event_loops = event_loops(files);
    if event_loops.rows.is_empty() {
        text += "There was no event loop.\n";
    }
    text += &event_loops.text();
    if let Some(reasons) = missed(&recordings) {
        text += &reasons;
        text.push('\n');
    }
    text.push('\n');
    let stackless = stackless(&recordings);
    if !stackless.rows.is_empty() {
        text += &stackless.text();
        text.push('\n');
    }
    text + &noted(groups, NO_FUNCTION)
}

/// A table with the note below it, or else what stands for it.
fn noted(table: Option<Noted>, without: &str) -> String {
    match table {
        Some(Noted { table, note }) => format!("{}{note}\n\n", table.text()),
        None => format!("{without}\n\n"),
    }
}

/// The totals of all samples, and the rows with the most of them.
pub fn groups_by(recordings: &[&Recording], by: By, top: usize) -> (Sum, Option<Noted>) {
    match by {
        By::Function => {
            let totals = Totals::by(recordings, FunctionKey::of);
            let groups = groups(&totals, top, &["function", "defined at"], |function| {
                vec![name(function), place(function)]
            });
            (Sum::of(&totals), groups)
        },
        By::File => {
            let totals = TotalsBy::by(recordings, file_of);
            let groups = groups(&totals, top, &["file"], |file| vec![shown(&file.name)]);
            (Sum::of(&totals), groups)
        },
        By::Package => {
            let totals = TotalsBy::by(recordings, packages());
            let groups = groups(&totals, top, &["package"], |package| vec![shown(package)]);
            (Sum::of(&totals), groups)
        },
    }
}

fn shown(name: &&str) -> String {
    shortened(name, MAX_EVENT_LOOP)
}

/// What stands for a function in a report by files.
pub fn file_of<'a>(event_loop: &'a EventLoop, function: &'a Function) -> FileKey<'a> {
    FileKey::of(event_loop, function, || {
        match function.name.is_empty() || function.line.is_some() {
            true => NO_SOURCE,
            false => BUILT_IN,
        }
    })
}

/// What stands for functions in a report by packages. Each URL is read once, however many functions are in it.
pub fn packages<'a>() -> impl FnMut(&'a EventLoop, &'a Function) -> &'a str {
    // By where the URLs are in memory, which all stay where they are.
    let mut known = HashMap::new();
    move |event_loop, function| match event_loop.resource_of(function) {
        Some(resource) => known
            .entry(resource.as_ptr())
            .or_insert_with(|| package_in(resource)),
        None => file_of(event_loop, function).name,
    }
}

/// The package of a script. A package in another one's `node_modules` is one of its own.
fn package_in(resource: &str) -> &str {
    const FOLDER: &str = "node_modules";
    const OTHERS: &str = "(in no package)";
    if resource.starts_with("node:") {
        return "(Node.js)";
    }
    let is_separator = |character: char| matches!(character, '/' | '\\');
    let mut rest = None;
    for (at, _) in resource.match_indices(FOLDER) {
        let before = resource[..at].chars().next_back();
        let behind = resource[at + FOLDER.len()..].strip_prefix(is_separator);
        if before.is_none_or(is_separator) && behind.is_some() {
            rest = behind;
        }
    }
    let Some(rest) = rest else { return OTHERS };
    // A name may have a scope before it: @scope/name.
    let mut parts = rest.split(is_separator);
    let first = parts.next().unwrap_or_default();
    let name = match parts.next() {
        Some(second) if first.starts_with('@') => &rest[..first.len() + 1 + second.len()],
        _ => first,
    };
    if name.is_empty() { OTHERS } else { name }
}

/// A number without needless digits; at most three behind the point.
fn decimals(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A time between samples.
fn shown_interval(milliseconds: f64) -> String {
    const NANOSECONDS: f64 = 1e6;
    match milliseconds < 0.001 {
        true => format!("{} ns", decimals(milliseconds * NANOSECONDS)),
        false => format!("{} ms", decimals(milliseconds)),
    }
}

/// In milliseconds: whole microseconds, which is what most files hold.
pub fn time(nanoseconds: u128) -> String {
    let microseconds = (nanoseconds + 500) / 1_000;
    let milliseconds = grouped((microseconds / 1_000) as u64);
    format!("{milliseconds}.{:03}", microseconds % 1_000)
}

/// All samples, and those with a stack.
#[derive(Clone, Copy)]
pub struct Sum {
    pub samples: u64,
    pub with_stack: u64,
    pub is_timed: bool,
    pub time: u128,
    pub time_with_stack: u128,
}

impl Sum {
    pub fn of<K: Eq + Hash>(totals: &TotalsBy<K>) -> Self {
        let TotalsBy {
            samples,
            with_stack,
            is_timed,
            time,
            time_with_stack,
            functions: _,
        } = *totals;
        Self {
            samples,
            with_stack,
            is_timed,
            time,
            time_with_stack,
        }
    }
}

pub fn summary(recordings: &[&Recording], totals: Sum, outcome: Option<Outcome>) -> String {
    let all: Vec<_> = recordings.iter().map(|one| one.interval).collect();
    let [least, most] = [f64::min, f64::max].map(|of| all.iter().copied().reduce(of));
    let [least, most] = [least, most].map(|one| shown_interval(one.unwrap_or(interval::DEFAULT)));
    let mut text = format!("{} samples at ", grouped(totals.samples));
    let _ = match least == most {
        true => write!(text, "an interval of {least}"),
        false => write!(text, "intervals of {least} to {most}"),
    };
    if let Some(outcome) = outcome {
        let _ = write!(text, " in {:.1} s", outcome.elapsed.as_secs_f64());
    }
    let worth = |nanoseconds| match totals.is_timed {
        true => format!(", worth {} ms", time(nanoseconds)),
        false => String::new(),
    };
    text += &worth(totals.time);
    let _ = write!(text, "; {} with a stack", grouped(totals.with_stack));
    text += &worth(totals.time_with_stack);
    if let Some(outcome) = outcome {
        let _ = write!(
            text,
            ", {} missed, {} unwalkable",
            grouped(outcome.missed),
            grouped(outcome.unwalkable)
        );
    }
    let programs = recordings.iter().filter_map(|one| one.recorded_by.as_ref());
    let mut programs: Vec<_> = programs.map(ToString::to_string).collect();
    // Several files are often of one program.
    programs.dedup();
    if outcome.is_none() && !programs.is_empty() {
        let _ = write!(text, "\nRecorded by {}", programs.join(", "));
    }
    text
}

/// A table of event loops: their samples, what these are worth, and how many were missed, as far as it is known.
pub fn event_loops(files: &[(String, &Recording)]) -> Table {
    let recordings: Vec<&Recording> = files.iter().map(|(_, recording)| *recording).collect();
    let is_timed = is_timed(&recordings);
    // Most formats do not hold what was missed.
    let is_missed = recordings
        .iter()
        .flat_map(|one| one.event_loops())
        .any(|one| missed_of(one) > 0);
    let columns: Vec<_> = [
        Some(("samples", Side::Right)),
        is_timed.then_some(("ms", Side::Right)),
        is_missed.then_some(("missed", Side::Right)),
        Some(("event loop", Side::Left)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut rows = Vec::new();
    for (file, recording) in files {
        let is_several = recording.processes.len() > 1;
        for (process, event_loop) in recording.event_loops_of_processes() {
            let worth: u128 = event_loop.worths(recording.interval).map(u128::from).sum();
            let mut name = described(process, event_loop, is_several);
            if files.len() > 1 {
                name = format!("{} {name}", shortened(file, MAX_EVENT_LOOP));
            }
            let row = [
                Some(grouped(event_loop.weight())),
                is_timed.then(|| time(worth)),
                is_missed.then(|| grouped(missed_of(event_loop))),
                Some(name),
            ];
            rows.push(row.into_iter().flatten().collect());
        }
    }
    Table { columns, rows }
}

/// Samples and what they are worth, in nanoseconds.
type Weights = (u64, u128);

/// What the samples without a stack were, the most frequent first, and all samples.
pub fn without_stacks(recordings: &[&Recording]) -> (Vec<(Option<Activity>, Weights)>, Weights) {
    let is_timed = is_timed(recordings);
    let known = Activity::ALL.map(Some);
    let activities = || known.iter().chain([&None]);
    let mut sums = vec![(0_u64, 0_u128); activities().count()];
    let (mut samples, mut times) = (0_u64, 0_u128);
    for recording in recordings {
        for event_loop in recording.event_loops() {
            let worths = event_loop.worths(recording.interval);
            for (sample, worth) in event_loop.samples().iter().zip(worths) {
                samples = samples.saturating_add(sample.weight);
                times += u128::from(worth);
                if sample.stack.is_none()
                    && let Some(index) = activities().position(|one| *one == sample.activity)
                {
                    sums[index].0 = sums[index].0.saturating_add(sample.weight);
                    sums[index].1 += u128::from(worth);
                }
            }
        }
    }
    let mut rows: Vec<_> = activities()
        .copied()
        .zip(sums)
        .filter(|(_, sum)| sum.0 > 0)
        .collect();
    rows.sort_by_key(|(_, sum)| Reverse(if is_timed { sum.1 } else { sum.0.into() }));
    (rows, (samples, times))
}

/// The same as a table. It has no rows if each sample has a stack.
pub fn stackless(recordings: &[&Recording]) -> Table {
    let is_timed = is_timed(recordings);
    let (rows, (samples, times)) = without_stacks(recordings);
    let of_all = |(of_samples, of_time): Weights| match is_timed {
        true => share(of_time, times),
        false => share(of_samples.into(), samples.into()),
    };
    let rows: Vec<_> = rows
        .into_iter()
        .map(|(activity, sum)| {
            let cells = [
                Some(of_all(sum)),
                is_timed.then(|| time(sum.1)),
                Some(grouped(sum.0)),
                Some(without_stack(activity).to_owned()),
            ];
            cells.into_iter().flatten().collect()
        })
        .collect();
    let columns: Vec<_> = [
        Some(("all %", Side::Right)),
        is_timed.then_some(("ms", Side::Right)),
        Some(("samples", Side::Right)),
        Some(("without a stack", Side::Left)),
    ]
    .into_iter()
    .flatten()
    .collect();
    Table { columns, rows }
}

/// What a sample without a stack was, for people.
pub fn without_stack(activity: Option<Activity>) -> &'static str {
    match activity {
        Some(Activity::Idle) => "idle",
        Some(Activity::Script) => "script",
        Some(Activity::Gc) => "garbage collection",
        Some(Activity::Style) => "style",
        Some(Activity::Layout) => "layout",
        Some(Activity::Paint) => "paint",
        Some(Activity::Other) => "other work",
        Some(Activity::Program) => "program",
        None => "unknown",
    }
}

/// How many samples of an event loop were missed.
pub fn missed_of(event_loop: &EventLoop) -> u64 {
    let missed = event_loop.missed().iter();
    missed.map(|missed| u64::from(missed.samples)).sum()
}

/// How many samples were missed for each reason, the most frequent one first.
pub fn missed_reasons(recordings: &[&Recording]) -> Vec<(u64, MissedReason)> {
    let event_loops = || recordings.iter().flat_map(|one| one.event_loops());
    let sum_of = |why: MissedReason| -> u64 {
        let missed = event_loops().flat_map(EventLoop::missed);
        let of_reason = missed.filter(|missed| missed.why == why);
        of_reason.map(|missed| u64::from(missed.samples)).sum()
    };
    let mut reasons = MissedReason::ALL.map(|why| (sum_of(why), why));
    reasons.sort_by_key(|(samples, _)| Reverse(*samples));
    let reasons = reasons.into_iter().filter(|(samples, _)| *samples > 0);
    reasons.collect()
}

/// The same as a sentence. `None` if there were none.
pub fn missed(recordings: &[&Recording]) -> Option<String> {
    let reasons = missed_reasons(recordings);
    let all: u64 = reasons.iter().map(|(samples, _)| samples).sum();
    let reasons = reasons.iter();
    let reasons = reasons.map(|(samples, why)| format!("{} {}", grouped(*samples), why.as_str()));
    let reasons: Vec<_> = reasons.collect();
    (!reasons.is_empty()).then(|| format!("{} missed: {}", grouped(all), reasons.join(", ")))
}

pub fn described(process: &Process, event_loop: &EventLoop, is_several: bool) -> String {
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

/// All rows, of which the first `top` are in order: the one with the most samples or time of its own first.
pub fn ranked<K: Copy + Ord + Hash>(
    totals: &TotalsBy<K>,
    top: usize,
) -> Vec<(&K, &FunctionTotals)> {
    let mut all: Vec<_> = totals.functions.iter().collect();
    sort_first(&mut all, top, |(key, one)| {
        let times = (one.time_itself, one.time_total);
        (Reverse((times, one.itself, one.total)), **key)
    });
    all
}

/// The `top` rows with the most samples or time of their own, and how many are left out. `columns` are the names of the
/// cells for a key. `None` if there are no rows.
fn groups<K: Copy + Ord + Hash>(
    totals: &TotalsBy<K>,
    top: usize,
    columns: &[&'static str],
    cells: impl Fn(&K) -> Vec<String>,
) -> Option<Noted> {
    if totals.functions.is_empty() {
        return None;
    }
    let all = ranked(totals, top);
    let is_timed = totals.is_timed;
    let rows: Vec<_> = all
        .iter()
        .take(top)
        .map(|(key, one)| {
            let mut row = match is_timed {
                true => vec![
                    share(one.time_itself, totals.time_with_stack),
                    share(one.time_total, totals.time_with_stack),
                    time(one.time_itself),
                    time(one.time_total),
                    grouped(one.itself),
                ],
                false => vec![
                    share(one.itself.into(), totals.with_stack.into()),
                    share(one.total.into(), totals.with_stack.into()),
                    grouped(one.itself),
                    grouped(one.total),
                ],
            };
            row.extend(cells(key));
            row
        })
        .collect();
    let figures: &[&str] = match is_timed {
        true => &["self %", "total %", "self ms", "total ms", "samples"],
        false => &["self %", "total %", "self", "total"],
    };
    let figures = figures.iter().map(|head| (*head, Side::Right));
    let names = columns.iter().map(|head| (*head, Side::Left));
    Some(Noted {
        // The first of them says what a row is.
        note: note(all.len() - rows.len(), columns[0], is_timed),
        table: Table {
            columns: figures.chain(names).collect(),
            rows,
        },
    })
}

/// Puts the `count` first ones in their order to the front. No two have the same key.
fn sort_first<T, K: Ord>(list: &mut [T], count: usize, key: impl Fn(&T) -> K) {
    let count = count.min(list.len());
    if count < list.len() {
        list.select_nth_unstable_by_key(count, &key);
    }
    list[..count].sort_by_key(key);
}

/// What the percentages are of, and how many rows are left out.
fn note(left_out: usize, what: &str, is_timed: bool) -> String {
    let mut text = match is_timed {
        true => "% of the time with a stack".to_owned(),
        false => "% of the samples with a stack".to_owned(),
    };
    let _ = match left_out {
        0 => Ok(()),
        1 => write!(text, "; 1 more {what} is not listed"),
        more => write!(
            text,
            "; {} more {what}s are not listed",
            grouped(more as u64)
        ),
    };
    text
}

pub fn share(part: u128, of: u128) -> String {
    let percent = match of {
        0 => 0.,
        of => 100. * part as f64 / of as f64,
    };
    format!("{percent:.1}")
}

/// The `top` lines at which functions were executing in the most samples.
pub fn line_report(recording: &Recording, top: usize) -> String {
    line_report_on(&[recording], top)
}

/// The same of several files, each with its name.
pub fn line_report_of(files: &[(String, Recording)], top: usize) -> String {
    let recordings: Vec<_> = files.iter().map(|(_, recording)| recording).collect();
    line_report_on(&recordings, top)
}

fn line_report_on(recordings: &[&Recording], top: usize) -> String {
    noted(lines(recordings, top), NO_LINE)
}

/// The lines at which functions were executing.
pub struct LineTotals<'a> {
    pub is_timed: bool,
    pub with_stack: u64,
    pub time_with_stack: u128,
    /// Time and samples of each. The first `top` are in order, the one with the most first. Times are 0 if samples have none
    /// of their own.
    pub lines: Vec<((FunctionKey<'a>, Place), (u128, u64))>,
}

impl<'a> LineTotals<'a> {
    pub fn of(recordings: &[&'a Recording], top: usize) -> Self {
        let is_timed = is_timed(recordings);
        let (mut with_stack, mut time_with_stack) = (0_u64, 0_u128);
        let mut lines: HashMap<(FunctionKey, Place), (u128, u64)> = HashMap::new();
        for recording in recordings {
            for event_loop in recording.event_loops() {
                // By the frame that was the leaf.
                let mut sums = vec![(0_u128, 0_u64); event_loop.frames().len()];
                let worths = event_loop.worths(recording.interval);
                for (sample, worth) in event_loop.samples().iter().zip(worths) {
                    if let Some(stack) = sample.stack {
                        let worth = u128::from(worth);
                        with_stack = with_stack.saturating_add(sample.weight);
                        time_with_stack += worth;
                        let sum = &mut sums[event_loop.stack(stack).frame.index()];
                        sum.0 += worth;
                        sum.1 += sample.weight;
                    }
                }
                for (frame, (worth, samples)) in event_loop.frames().zip(sums) {
                    if samples > 0
                        && let Some(place) = frame.place
                    {
                        let function = event_loop.function(frame.function);
                        let key = FunctionKey::of(event_loop, function);
                        let sum = lines.entry((key, place.without_column())).or_default();
                        sum.0 += if is_timed { worth } else { 0 };
                        sum.1 = sum.1.saturating_add(samples);
                    }
                }
            }
        }
        let mut lines: Vec<_> = lines.into_iter().collect();
        sort_first(&mut lines, top, |(line, sum)| (Reverse(*sum), *line));
        Self {
            is_timed,
            with_stack,
            time_with_stack,
            lines,
        }
    }
}

/// The `top` lines at which functions were executing in the most samples; `None` if no line was recorded.
pub fn lines(recordings: &[&Recording], top: usize) -> Option<Noted> {
    let LineTotals {
        is_timed,
        with_stack,
        time_with_stack,
        lines,
    } = LineTotals::of(recordings, top);
    if lines.is_empty() {
        return None;
    }
    let rows: Vec<_> = lines
        .iter()
        .take(top)
        .map(|((function, place), (worth, samples))| {
            let cells = [
                Some(match is_timed {
                    true => share(*worth, time_with_stack),
                    false => share((*samples).into(), with_stack.into()),
                }),
                is_timed.then(|| time(*worth)),
                Some(grouped(*samples)),
                Some(line(function, *place)),
                Some(name(function)),
            ];
            cells.into_iter().flatten().collect()
        })
        .collect();
    let columns = [
        Some(("self %", Side::Right)),
        is_timed.then_some(("self ms", Side::Right)),
        Some(("samples", Side::Right)),
        Some(("line", Side::Left)),
        Some(("function", Side::Left)),
    ];
    Some(Noted {
        note: note(lines.len() - rows.len(), "line", is_timed),
        table: Table {
            columns: columns.into_iter().flatten().collect(),
            rows,
        },
    })
}

pub fn line(function: &FunctionKey, place: Place) -> String {
    let file = file(function).unwrap_or_else(|| NO_SOURCE.to_owned());
    match place {
        Place::Source { line, .. } => format!("{file}:{line}"),
        // Somewhere in them.
        Place::Lines { first, last } => format!("{file}:{first}–{last}"),
        Place::WasmOffset(offset) => format!("{file}:{offset:#x}"),
    }
}

pub fn name(function: &FunctionKey) -> String {
    match function.name {
        "" => "(anonymous)".to_owned(),
        name => shortened(name, MAX_COLUMN),
    }
}

/// The end of the URL of the function's script, which is enough in a table. It is shown as it is.
fn file(function: &FunctionKey) -> Option<String> {
    let resource = function.resource?;
    let url = Url::parse(resource).ok();
    let last = url.as_ref().and_then(|url| {
        let has_path = !url.cannot_be_a_base();
        let last = last_segment(resource).filter(|_| has_path);
        last.or(url.host_str())
    });
    Some(shortened(last.unwrap_or(resource), MAX_COLUMN))
}

/// The last part of the path of a URL, with what says that text in it was evaluated, as in `a.js line 3 > eval`.
fn last_segment(url: &str) -> Option<&str> {
    let (_, path) = url.split_once(':')?;
    let path = match path.strip_prefix("//") {
        Some(rest) => rest.split_once('/')?.1,
        None => path,
    };
    // An evaluated text has no query of its own, and nobody would miss that of its script.
    let end = match path.contains(" > ") {
        true => path.len(),
        false => path.find(['?', '#']).unwrap_or(path.len()),
    };
    path[..end].split('/').rfind(|part| !part.is_empty())
}

/// Where the function is defined.
pub fn place(function: &FunctionKey) -> String {
    let mut place = match file(function) {
        Some(file) => file,
        // A built-in function has a name, and no position.
        None if function.name.is_empty() || function.line.is_some() => NO_SOURCE.to_owned(),
        None => return BUILT_IN.to_owned(),
    };
    if let Some(line) = function.line {
        let _ = write!(place, ":{line}");
        if let Some(column) = function.column {
            let _ = write!(place, ":{column}");
        }
    }
    place
}

#[derive(Clone, Copy, PartialEq)]
pub enum Side {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A row has a cell for each column.
pub struct Table {
    pub columns: Vec<(&'static str, Side)>,
    pub rows: Vec<Vec<String>>,
}

/// A table, and what is below it.
pub struct Noted {
    pub table: Table,
    pub note: String,
}

impl Table {
    /// Columns with two spaces between them, below their names. Empty if there are no rows.
    fn text(&self) -> String {
        let mut text = String::new();
        if self.rows.is_empty() {
            return text;
        }
        let columns = &self.columns;
        let head: Vec<_> = columns.iter().map(|(head, _)| (*head).to_owned()).collect();
        let all = || [&head].into_iter().chain(&self.rows);
        let widths: Vec<usize> = (0..columns.len())
            .map(|column| {
                let cells = all().map(|row| row[column].chars().count());
                cells.max().unwrap_or(0)
            })
            .collect();
        for row in all() {
            let mut line = String::new();
            for ((cell, width), (_, side)) in row.iter().zip(&widths).zip(columns) {
                let _ = match side {
                    Side::Left => write!(line, "{cell:<width$}  "),
                    Side::Right => write!(line, "{cell:>width$}  "),
                };
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
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
                resource_hash: 0,
            })
        };
        assert_eq!(place_in(Some("https://a.test/x/y.js?v=1")), "y.js:3:7");
        assert_eq!(place_in(Some("https://a.test/")), "a.test:3:7");
        assert_eq!(place_in(Some("self-hosted")), "self-hosted:3:7");
        assert_eq!(place_in(Some("https://a.test/\u{1b}[2J")), "\\u{1b}[2J:3:7");
        assert_eq!(place_in(Some("file:///x/a b.js")), "a b.js:3:7");
        assert_eq!(place_in(Some("file:///x/a%20b.js")), "a%20b.js:3:7");
        let evaluated = "https://a.test/x/y.js line 3 > eval line 1 > Function";
        assert_eq!(
            place_in(Some(evaluated)),
            "y.js line 3 > eval line 1 > Function:3:7"
        );
        assert_eq!(place_in(Some("node:internal/fs")), "node:internal/fs:3:7");
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
            resource_hash: 0,
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
