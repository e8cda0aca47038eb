/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Whatever the recording and whichever way it goes, each function has the samples that it had, and each line in
//! formats that have lines. In a file of speedscope's lines, each line has them in the place of its function.

mod random_recording;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use profile_formats::{
    EventLoop, Format, Frame, Function, FunctionKey, MAX_STACK_DEPTH, Place, RecordedBy, Recording,
    Sample, Totals, read,
};

use self::random_recording::recording;

/// Under Miri each takes as long as thousands do otherwise.
const RECORDINGS: u64 = if cfg!(miri) { 1 } else { 60 };

/// Those whose files are read with the functions that were written.
fn formats_of_functions() -> impl Iterator<Item = Format> {
    let formats = Format::ALL.into_iter();
    formats.filter(|format| *format != Format::SpeedscopeLines)
}

fn write(recording: &Recording, format: Format) -> Vec<u8> {
    let mut text = Vec::new();
    format.write(recording, &mut text).unwrap();
    text
}

fn convert(recording: &Recording, format: Format) -> Recording {
    let text = write(recording, format);
    let read = read(&text, None, Some(format));
    let (read, _) = read
        .unwrap_or_else(|error| panic!("{format}: {error}\n{}", String::from_utf8_lossy(&text)));
    read
}

fn assert_same_totals(one: &Recording, other: &Recording, how: &str) {
    let (one, other) = (Totals::of(one), Totals::of(other));
    assert_eq!(one.samples, other.samples, "{how}");
    assert_eq!(one.with_stack, other.with_stack, "{how}");
    let mut functions: Vec<_> = one.functions.keys().chain(other.functions.keys()).collect();
    functions.sort();
    for function in functions {
        assert_eq!(
            one.functions.get(function),
            other.functions.get(function),
            "{how}: {function:?}"
        );
    }
}

#[test]
fn every_format_keeps_each_functions_samples() {
    for seed in 0..RECORDINGS {
        let recording = recording(seed, 1);
        for format in formats_of_functions() {
            let read = convert(&recording, format);
            assert_same_totals(&recording, &read, &format!("seed {seed}, {format}"));
        }
    }
}

#[test]
fn so_does_every_pair_of_formats() {
    for seed in 0..RECORDINGS {
        let recording = recording(seed, 1);
        for one in formats_of_functions() {
            let first = convert(&recording, one);
            for other in formats_of_functions() {
                let back = convert(&convert(&first, other), one);
                let how = format!("seed {seed}, {one} to {other} and back");
                assert_same_totals(&recording, &back, &how);
            }
        }
    }
}

#[test]
fn what_recorded_it_is_kept_where_a_format_has_a_place_for_it() {
    let held = |format: Format, recorded_by: &Option<RecordedBy>| match format {
        Format::Html | Format::Firefox | Format::Speedscope | Format::SpeedscopeLines => {
            recorded_by.clone()
        },
        Format::Collapsed
        | Format::CollapsedLines
        | Format::Cpuprofile
        | Format::Pprof
        | Format::Trace => None,
        Format::ChromeTrace | Format::Hermes => unreachable!("they are not written"),
    };
    for seed in 0..RECORDINGS {
        let recording = recording(seed, 1);
        for one in Format::ALL {
            let first = convert(&recording, one);
            let kept = held(one, &recording.recorded_by);
            assert_eq!(first.recorded_by, kept, "seed {seed}, {one}");
            for other in Format::ALL {
                let second = convert(&first, other);
                let how = format!("seed {seed}, {one} to {other}");
                assert_eq!(second.recorded_by, held(other, &kept), "{how}");
            }
        }
    }
}

#[test]
fn an_event_loop_alone_was_recorded_by_the_same() {
    let mut several = (0..).map(|seed| recording(seed, 3));
    let several = several.find(|recording| recording.recorded_by.is_some());
    let mut several = several.unwrap();
    let recorded_by = several.recorded_by.clone();
    assert_eq!(several.only(1).unwrap().recorded_by, recorded_by);
    assert!(several.keep_only(1));
    assert_eq!(several.recorded_by, recorded_by);
}

/// What of a place in a function a format holds; that is of the leaf or of a caller.
fn held(format: Format, place: Option<Place>, is_leaf: bool) -> Option<Place> {
    let line = place.and_then(Place::line);
    let line = Place::of_source(line, None);
    match format {
        Format::Html | Format::Pprof => place,
        Format::Firefox => place.filter(|place| place.lines().is_none()),
        Format::CollapsedLines => line.or(place.filter(|place| place.line().is_none())),
        Format::Cpuprofile => line.filter(|_| is_leaf),
        Format::Collapsed | Format::Speedscope | Format::Trace => None,
        Format::SpeedscopeLines => unreachable!("its lines are functions"),
        Format::ChromeTrace | Format::Hermes => unreachable!("they are not written"),
    }
}

/// A function and a place in it, from the root to the leaf.
type Path<'a> = Vec<(FunctionKey<'a>, Option<Place>)>;

/// The samples of each stack, with what formats hold of its places.
fn samples_of_stacks<'a>(recording: &'a Recording, formats: &[Format]) -> BTreeMap<Path<'a>, u64> {
    let mut stacks = BTreeMap::new();
    for event_loop in recording.event_loops() {
        for sample in event_loop.samples() {
            let frames = event_loop.frames_of(sample.stack);
            let path = frames.iter().enumerate().map(|(depth, frame)| {
                let function = event_loop.function_of(*frame);
                let key = FunctionKey::of(event_loop, function);
                let place = event_loop.frame(*frame).place;
                let is_leaf = depth + 1 == frames.len();
                let held = |place, format: &Format| held(*format, place, is_leaf);
                (key, formats.iter().fold(place, held))
            });
            *stacks.entry(path.collect()).or_default() += sample.weight;
        }
    }
    stacks
}

#[test]
fn every_format_keeps_each_lines_samples_as_far_as_it_has_lines() {
    for seed in 0..RECORDINGS {
        let recording = recording(seed, 1);
        for format in formats_of_functions() {
            let read = convert(&recording, format);
            assert_eq!(
                samples_of_stacks(&recording, &[format]),
                samples_of_stacks(&read, &[]),
                "seed {seed}, {format}"
            );
        }
    }
}

#[test]
fn every_pair_of_formats_keeps_the_lines_that_both_have() {
    for seed in 0..RECORDINGS {
        let recording = recording(seed, 1);
        for one in formats_of_functions() {
            let first = convert(&recording, one);
            for other in formats_of_functions() {
                let second = convert(&first, other);
                assert_eq!(
                    samples_of_stacks(&recording, &[one, other]),
                    samples_of_stacks(&second, &[]),
                    "seed {seed}, {one} to {other}"
                );
            }
        }
    }
}

/// The stacks that a file of speedscope's lines has: functions whose lines and columns are those of their places.
fn stacks_of_lines(recording: &Recording) -> BTreeMap<Path<'_>, u64> {
    type Columns<'a> =
        BTreeMap<(FunctionKey<'a>, Option<NonZeroU32>), BTreeSet<Option<NonZeroU32>>>;
    let line_of = |place: Option<Place>| place.and_then(Place::line);
    let mut columns = Columns::new();
    for event_loop in recording.event_loops() {
        for frame in event_loop.frames() {
            let key = FunctionKey::of(event_loop, event_loop.function(frame.function));
            let columns = columns.entry((key, line_of(frame.place))).or_default();
            columns.insert(frame.place.and_then(Place::column));
        }
    }
    let mut stacks = BTreeMap::new();
    for (path, samples) in samples_of_stacks(recording, &[]) {
        let path = path.into_iter().map(|(key, place)| {
            let columns = &columns[&(key, line_of(place))];
            let column = columns.first().copied().flatten();
            // When it is read, a function without a name and a script has no line.
            let is_known = key.resource.is_some() || !key.name.is_empty();
            let line = line_of(place).filter(|_| is_known);
            let column = column.filter(|_| line.is_some() && columns.len() == 1);
            (
                FunctionKey {
                    line,
                    column,
                    ..key
                },
                None,
            )
        });
        *stacks.entry(path.collect()).or_default() += samples;
    }
    stacks
}

#[test]
fn a_file_of_speedscopes_lines_has_each_line_as_a_function() {
    for seed in 0..RECORDINGS {
        let several = recording(seed, 2 + seed as usize % 7);
        let read = convert(&several, Format::SpeedscopeLines);
        assert_eq!(
            stacks_of_lines(&several),
            samples_of_stacks(&read, &[]),
            "seed {seed}"
        );
        let one = recording(seed, 1);
        for format in Format::ALL {
            let first = convert(&one, format);
            let second = convert(&first, Format::SpeedscopeLines);
            assert_eq!(
                stacks_of_lines(&first),
                samples_of_stacks(&second, &[]),
                "seed {seed}, from {format}"
            );
        }
    }
}

#[test]
fn formats_of_several_event_loops_keep_each_of_them() {
    for seed in 0..RECORDINGS {
        let recording = recording(seed, 2 + seed as usize % 7);
        for format in Format::ALL {
            if format.holds_one_event_loop() {
                continue;
            }
            let read = convert(&recording, format);
            let how = format!("seed {seed}, {format}");
            if format != Format::SpeedscopeLines {
                assert_same_totals(&recording, &read, &how);
            }
            // Those without samples are not in all of them, and the order is the format's.
            let weights = |recording: &Recording| {
                let weights = recording.event_loops().map(EventLoop::weight);
                let mut weights: Vec<_> = weights.filter(|weight| *weight > 0).collect();
                weights.sort_unstable();
                weights
            };
            assert_eq!(weights(&recording), weights(&read), "{how}");
        }
    }
}

/// Names, kinds, activities and times of all samples, and those that were missed, in the order of names. A place in one of
/// several lines is none.
fn everything(recording: &Recording) -> Vec<String> {
    let mut lines = Vec::new();
    for process in &recording.processes {
        for event_loop in &process.event_loops {
            let mut text = format!("{} {:?} {:?} ", process.name, process.pid, process.ended);
            text += &format!("{:?} {:?}", event_loop.name, event_loop.kind);
            for sample in event_loop.samples() {
                let nanoseconds = (sample.time * 1e6).round();
                let stack: Vec<_> = event_loop
                    .frames_of(sample.stack)
                    .into_iter()
                    .map(|frame| {
                        let function = event_loop.function_of(frame);
                        let definition = (
                            event_loop.resource_of(function),
                            function.line,
                            function.column,
                        );
                        let place = event_loop.frame(frame).place;
                        let place = place.filter(|place| place.lines().is_none());
                        (&function.name, function.kind, definition, place)
                    })
                    .collect();
                text += &format!(
                    "\n{nanoseconds} {} {:?} {stack:?}",
                    sample.weight, sample.activity
                );
            }
            for missed in event_loop.missed() {
                let [start, end] = [missed.start, missed.end].map(|time| (time * 1e6).round());
                text += &format!("\nmissed {start} {end} {} {:?}", missed.samples, missed.why);
            }
            lines.push(text);
        }
    }
    lines.sort();
    lines
}

#[test]
fn the_firefox_format_keeps_everything_but_realms_and_lines_that_are_one_of_several() {
    for seed in 0..RECORDINGS {
        let recording = recording(seed, 1 + seed as usize % 5);
        let read = convert(&recording, Format::Firefox);
        assert_eq!(everything(&recording), everything(&read), "seed {seed}");
        assert!(
            (read.interval - recording.interval).abs() < 1e-6,
            "seed {seed}"
        );
        assert_eq!(read.time_origin, recording.time_origin, "seed {seed}");
    }
}

#[test]
fn a_page_keeps_everything() {
    for seed in 0..RECORDINGS {
        let recording = recording(seed, 1 + seed as usize % 5);
        assert_eq!(convert(&recording, Format::Html), recording, "seed {seed}");
    }
}

#[test]
fn a_traces_own_text_comes_back() {
    for seed in 0..RECORDINGS {
        // In a trace functions that differ in what it does not hold are one.
        let recording = convert(&recording(seed, 1), Format::Trace);
        // What stood for several samples has times between those of others, of more digits.
        let is_exact = |sample: &Sample| (sample.time * 1e3).round() / 1e3 == sample.time;
        if recording
            .event_loops()
            .all(|event_loop| event_loop.samples().iter().all(is_exact))
        {
            assert_eq!(convert(&recording, Format::Trace), recording, "seed {seed}");
        }
    }
}

#[test]
fn every_format_is_recognised_by_its_text() {
    for seed in 0..RECORDINGS {
        let recording = recording(seed, 1);
        for format in Format::ALL {
            let text = write(&recording, format);
            // No stacks, no text.
            if !text.is_empty() {
                let recognised = match format {
                    Format::CollapsedLines => Format::Collapsed,
                    Format::SpeedscopeLines => Format::Speedscope,
                    other => other,
                };
                assert_eq!(Format::by_content(&text), Some(recognised), "seed {seed}");
            }
        }
    }
}

#[test]
fn stacks_may_be_as_deep_as_an_engines() {
    let mut event_loop = EventLoop::default();
    let function = event_loop.add_function(Function::default()).unwrap();
    let place = None;
    let frame = event_loop.add_frame(Frame { function, place }).unwrap();
    let mut stack = None;
    for _ in 0..MAX_STACK_DEPTH {
        stack = Some(event_loop.add_stack(stack, frame).unwrap());
    }
    assert!(event_loop.add_stack(stack, frame).is_err());
    let sample = Sample {
        time: 0.,
        weight: 1,
        stack,
        activity: None,
    };
    event_loop.add_sample(sample).unwrap();
    let recording = Recording::of_one(event_loop, 1., None);
    for format in Format::ALL {
        let read = convert(&recording, format);
        assert_same_totals(&recording, &read, format.as_str());
    }
}
