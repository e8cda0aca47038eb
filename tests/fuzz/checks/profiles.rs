/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Each input is the content of a file: a profile in one format, or in any format.

use std::collections::HashMap;
use std::io::Cursor;
use std::num::NonZeroU32;

use profile_formats::{
    By, EventLoop, Format, Frame, Function, FunctionKey, MAX_MARKDOWN_CHARACTERS, MAX_STACK_DEPTH,
    MissedReason, Place, ReadOptions, Recording, Totals, WriteError, json_report, line_report_of,
    markdown_report, read, read_sums, report_by, write_viewer_data,
};
use serde::de::IgnoredAny;

/// A recording with more samples is not written, because some formats have an entry for each sample.
const MAX_WRITTEN_WEIGHT: u64 = 1_000;

pub fn chrome_trace(input: &[u8]) -> bool {
    check(input, Format::ChromeTrace)
}

pub fn collapsed(input: &[u8]) -> bool {
    check(input, Format::Collapsed)
}

pub fn cpuprofile(input: &[u8]) -> bool {
    check(input, Format::Cpuprofile)
}

pub fn firefox(input: &[u8]) -> bool {
    check(input, Format::Firefox)
}

pub fn hermes(input: &[u8]) -> bool {
    check(input, Format::Hermes)
}

pub fn html(input: &[u8]) -> bool {
    check(input, Format::Html)
}

pub fn pprof(input: &[u8]) -> bool {
    check(input, Format::Pprof)
}

pub fn speedscope(input: &[u8]) -> bool {
    check(input, Format::Speedscope)
}

pub fn web_trace(input: &[u8]) -> bool {
    check(input, Format::Trace)
}

/// The format is not given, as for a file that is dropped on about:profiling.
pub fn any_profile(input: &[u8]) -> bool {
    match read(input, None, None) {
        Ok((recording, format)) => {
            let again = read(input, None, Some(format));
            assert_eq!(
                again,
                Ok((recording, format)),
                "a different result when the format is given"
            );
            let has_escapes = input.windows(2).any(|part| part == br"\u");
            // These are replaced before the format is recognised.
            let is_as_it_is =
                !input.starts_with(&[0x1f, 0x8b]) && !input.starts_with("\u{feff}".as_bytes());
            if is_as_it_is && !has_escapes {
                assert_eq!(Format::by_content(input), Some(format));
            }
            true
        },
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        },
    }
}

fn check(input: &[u8], format: Format) -> bool {
    let read = read(input, None, Some(format));
    check_sums(
        input,
        format,
        read.as_ref().ok().map(|(recording, _)| recording),
    );
    let (recording, read_as) = match read {
        Ok(read) => read,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return false;
        },
    };
    assert_eq!(read_as, format);
    check_recording(&recording);
    true
}

/// Checks that a report says the same if no samples are read, only their sums. `recording` has all samples; `None` if it is not
/// read.
fn check_sums(input: &[u8], format: Format, recording: Option<&Recording>) {
    let options = ReadOptions {
        format: Some(format),
        ..ReadOptions::default()
    };
    let summed = match read_sums(Cursor::new(input), None, options, |_, _| ()) {
        Ok((summed, read_as, _)) => {
            assert_eq!(read_as, format);
            Some(summed)
        },
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        },
    };
    let reports = |recording: Recording| {
        let files = [(String::new(), recording)];
        let by = By::ALL.map(|by| report_by(&files, by, 100)).concat();
        let forms = json_report(&files, By::Function, 100, true)
            + &markdown_report(&files, By::Function, 100);
        by + &line_report_of(&files, 100) + &forms
    };
    assert_eq!(summed.map(reports), recording.cloned().map(reports));
}

/// Checks what must be true of every recording.
pub fn check_recording(recording: &Recording) {
    check_tables(recording);
    check_reports(recording);
    let weight: u64 = recording.event_loops().map(|one| one.weight()).sum();
    if weight > MAX_WRITTEN_WEIGHT {
        return;
    }
    write_viewer_data(recording, Vec::new()).expect("the viewer can show every recording");
    for other in Format::ALL {
        check_conversion(recording, other);
    }
}

/// Checks what those rely on who read a report.
fn check_reports(recording: &Recording) {
    let files = [(String::new(), recording.clone())];
    let markdown = markdown_report(&files, By::Function, 10);
    assert!(markdown.chars().count() <= MAX_MARKDOWN_CHARACTERS);
    for line in markdown.lines() {
        let is_fence = line == "```text" || line == "```";
        let marks = line.matches('`').count();
        assert!(is_fence || marks.is_multiple_of(2), "{line:?}");
    }
    let fences = markdown.lines().filter(|line| line.starts_with("```"));
    assert!(matches!(fences.count(), 0 | 2), "{markdown:?}");
    let json = json_report(&files, By::Function, 10, true);
    let read: Result<IgnoredAny, _> = serde_json::from_str(&json);
    assert!(read.is_ok(), "{read:?}: {json:?}");
}

/// Checks what readers of a recording rely on.
fn check_tables(recording: &Recording) {
    assert!(recording.interval.is_finite() && recording.interval >= 0.);
    assert!(recording.time_origin.is_none_or(f64::is_finite));
    for event_loop in recording.event_loops() {
        for function in event_loop.functions() {
            event_loop.resource_of(function);
            function.realm.map(|id| event_loop.realm(id));
            assert!(function.column.is_none() || function.line.is_some());
            let is_known = function.resource.is_some() || !function.name.is_empty();
            assert!(function.line.is_none() || is_known);
        }
        for frame in event_loop.frames() {
            assert!(frame.function.index() < event_loop.functions().len());
        }
        let ids: Vec<_> = event_loop.stack_ids().collect();
        for (index, (id, stack)) in ids.iter().zip(event_loop.stacks()).enumerate() {
            assert_eq!(id.index(), index);
            assert!(stack.parent.is_none_or(|parent| parent.index() < index));
            assert!(stack.frame.index() < event_loop.frames().len());
        }
        let mut last = 0.;
        let mut weight = 0;
        for sample in event_loop.samples() {
            assert!(sample.time.is_finite() && sample.time >= last);
            last = sample.time;
            weight += sample.weight;
            assert!(event_loop.frames_of(sample.stack).len() <= MAX_STACK_DEPTH as usize);
        }
        assert_eq!(weight, event_loop.weight());
        let mut last = (0., 0.);
        for missed in event_loop.missed() {
            assert!(missed.samples > 0);
            assert!(missed.start <= missed.end && missed.end.is_finite());
            let stretch = (missed.start, missed.end);
            assert!(missed.start >= last.1 || stretch == last);
            last = stretch;
        }
    }
    let totals = Totals::of(recording);
    assert!(totals.with_stack <= totals.samples);
    for function in totals.functions.values() {
        assert!(function.itself <= function.total && function.total <= totals.with_stack);
    }
}

/// How many samples each line of a function has of its own.
fn samples_of_lines(recording: &Recording) -> HashMap<(FunctionKey<'_>, NonZeroU32), u64> {
    let mut lines = HashMap::new();
    for event_loop in recording.event_loops() {
        for sample in event_loop.samples() {
            let Some(stack) = sample.stack else { continue };
            let leaf = event_loop.stack(stack).frame;
            let Some(line) = event_loop.frame(leaf).place.and_then(Place::line) else {
                continue;
            };
            let function = event_loop.function_of(leaf);
            let key = FunctionKey::of(event_loop, function);
            *lines.entry((key, line)).or_default() += sample.weight;
        }
    }
    lines
}

/// A name, a script and a line in it.
type NamedLine<'a> = (&'a str, Option<&'a str>, Option<NonZeroU32>);

/// How many samples each line of each name has of its own.
fn samples_of_named_lines(
    recording: &Recording,
    line_of: impl Fn(&Function, Frame) -> Option<NonZeroU32>,
) -> HashMap<NamedLine<'_>, u64> {
    let mut lines = HashMap::new();
    for event_loop in recording.event_loops() {
        for sample in event_loop.samples() {
            let Some(stack) = sample.stack else { continue };
            let leaf = event_loop.stack(stack).frame;
            let function = event_loop.function_of(leaf);
            let resource = event_loop.resource_of(function);
            // A line of a function without a name and a script is not read.
            let is_known = resource.is_some() || !function.name.is_empty();
            let line = line_of(function, event_loop.frame(leaf)).filter(|_| is_known);
            *lines.entry((&*function.name, resource, line)).or_default() += sample.weight;
        }
    }
    lines
}

/// Checks what was read from a file of speedscope's lines: each line keeps its samples, and is a function.
fn check_lines_as_functions(recording: &Recording, again: &Recording) {
    let counts = |recording: &Recording| {
        let totals = Totals::of(recording);
        (totals.samples, totals.with_stack)
    };
    assert_eq!(counts(again), counts(recording));
    assert_eq!(
        samples_of_named_lines(again, |function, _| function.line),
        samples_of_named_lines(recording, |_, frame| frame.place.and_then(Place::line))
    );
}

/// Checks that each function has its samples and, in formats that hold it, what these are worth.
fn check_totals(again: &Recording, recording: &Recording, format: Format) {
    let [again, totals] = [again, recording].map(Totals::of);
    assert_eq!(again.samples, totals.samples, "{format}");
    assert_eq!(again.with_stack, totals.with_stack, "{format}");
    assert_eq!(again.functions.len(), totals.functions.len(), "{format}");
    let holds_worths = format != Format::Trace;
    // Times are whole microseconds in some formats, and there is none behind the end of all clocks.
    let last = recording.event_loops().flat_map(EventLoop::samples);
    let is_early = last.fold(0., |last: f64, sample| last.max(sample.time)) < 1e9;
    let is_short = totals.time < 1_000_000_000_000_000;
    for (function, one) in &totals.functions {
        let other = again.functions.get(function);
        let other = other.unwrap_or_else(|| panic!("{format}: no {function:?}"));
        assert_eq!(
            (other.itself, other.total),
            (one.itself, one.total),
            "{format}: {function:?}"
        );
        let difference = other.time_itself.abs_diff(one.time_itself);
        let most = 2_000 * u128::from(one.itself);
        assert!(
            !holds_worths || !is_early || !is_short || difference <= most,
            "{format}: {function:?} is worth {}, not {}",
            other.time_itself,
            one.time_itself
        );
    }
}

/// Whether a sample stands for several.
fn is_weighted(recording: &Recording) -> bool {
    let mut samples = recording.event_loops().flat_map(EventLoop::samples);
    samples.any(|sample| sample.weight > 1)
}

/// How many samples were missed in each stretch, and why.
fn missed_of(recording: &Recording) -> Vec<(u32, MissedReason)> {
    let missed = recording.event_loops().flat_map(EventLoop::missed);
    missed.map(|missed| (missed.samples, missed.why)).collect()
}

/// Checks that a format keeps what recorded it. Where that is written as one text, its parts may be other ones.
fn check_what_recorded(recording: &Recording, again: &Recording, format: Format) {
    let said = recording.recorded_by.as_ref().map(ToString::to_string);
    let said_again = again.recorded_by.as_ref().map(ToString::to_string);
    // A text may be as long as 17 names with their versions.
    let is_line = |text: &String| text.chars().count() <= 4_000 && !text.contains('\n');
    assert!(said.as_ref().is_none_or(is_line), "{said:?}");
    // What is cut in another place when it is read again has this in it.
    let is_whole = said.as_ref().is_none_or(|text| !text.contains('…'));
    match format {
        Format::Firefox | Format::Html if is_whole => {
            assert_eq!(said_again, said, "{format}");
        },
        Format::Collapsed
        | Format::CollapsedLines
        | Format::Cpuprofile
        | Format::Pprof
        | Format::Trace => {
            assert_eq!(said_again, None, "{format}");
        },
        Format::Firefox | Format::Html | Format::Speedscope | Format::SpeedscopeLines => {
            assert_eq!(said_again.is_some(), said.is_some(), "{format}");
        },
        Format::ChromeTrace | Format::Hermes => unreachable!("they are not written"),
    }
}

/// Writes the recording in a format and reads it again. Each function and each line must keep its samples, as far as the
/// format has both, unless it cannot hold the recording.
fn check_conversion(recording: &Recording, format: Format) {
    let mut text = Vec::new();
    match format.write(recording, &mut text) {
        Ok(()) => {},
        Err(WriteError::Unfit(why) | WriteError::TooLarge(why)) => {
            assert!(!why.is_empty());
            assert!(text.is_empty(), "{format}: wrote part of a file: {why}");
            return;
        },
        Err(WriteError::Io(error)) => panic!("{format}: {error}"),
    }
    let (again, _) = read(&text, None, Some(format)).unwrap_or_else(|error| {
        let text = String::from_utf8_lossy(&text);
        panic!("{format}: cannot be read again: {error}\n{text}")
    });
    check_tables(&again);
    check_what_recorded(recording, &again, format);
    let is_timed = recording.event_loops().any(EventLoop::is_timed);
    match format {
        // These have times in the place of samples then.
        Format::Collapsed | Format::CollapsedLines if is_timed => return,
        // Each sample is written alone then, for however many it stands.
        Format::Speedscope | Format::SpeedscopeLines | Format::Cpuprofile | Format::Firefox
            if is_timed && is_weighted(recording) =>
        {
            return;
        },
        Format::SpeedscopeLines => check_lines_as_functions(recording, &again),
        _ => check_totals(&again, recording, format),
    }
    let lines = match format {
        Format::Firefox
        | Format::Html
        | Format::Cpuprofile
        | Format::CollapsedLines
        | Format::Pprof => samples_of_lines(recording),
        Format::Trace | Format::Speedscope | Format::SpeedscopeLines | Format::Collapsed => {
            HashMap::new()
        },
        Format::ChromeTrace | Format::Hermes => unreachable!("they are not written"),
    };
    assert_eq!(samples_of_lines(&again), lines, "{format}");
    let missed = match format {
        Format::Firefox | Format::Html => missed_of(recording),
        _ => Vec::new(),
    };
    assert_eq!(missed_of(&again), missed, "{format}");
}
