/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! pprof's profiles: what comes back, what is refused, and what Go's own pprof finds in them.

mod random_recording;

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::num::NonZeroU32;
use std::path::Path;
use std::process::Command;
use std::thread;

use profile_formats::{
    Activity, EventLoop, EventLoopKind, Format, Frame, Function, FunctionKind, GeneratedPlace,
    Place, Recording, Sample, Totals, read,
};

use self::random_recording::{recording, timed_recording};

const RECORDINGS: u64 = if cfg!(miri) { 1 } else { 60 };

/// The first Go whose pprof the facts here are about.
const GO: (u32, u32) = (1, 26);

fn write(recording: &Recording) -> Vec<u8> {
    let mut text = Vec::new();
    Format::Pprof.write(recording, &mut text).unwrap();
    text
}

fn read_back(text: &[u8]) -> Recording {
    let (recording, format) = read(text, None, None).unwrap();
    assert_eq!(format, Format::Pprof);
    recording
}

#[test]
fn a_file_comes_back_to_the_byte() {
    for seed in 0..RECORDINGS {
        let event_loops = 1 + seed as usize % 4;
        for recording in [
            recording(seed, event_loops),
            timed_recording(seed, event_loops),
        ] {
            let text = write(&recording);
            let once = read_back(&text);
            assert!(write(&once) == text, "seed {seed}");
            assert_eq!(read_back(&write(&once)), once, "seed {seed}");
        }
    }
}

#[test]
fn times_are_kept_to_the_nanosecond() {
    for seed in 0..RECORDINGS {
        let recording = timed_recording(seed, 1 + seed as usize % 4);
        let back = read_back(&write(&recording));
        assert_eq!(Totals::of(&back), Totals::of(&recording), "seed {seed}");
        assert_eq!(back.interval, recording.interval, "seed {seed}");
        assert_eq!(back.time_origin, recording.time_origin, "seed {seed}");
    }
}

#[test]
fn a_page_keeps_sums_of_samples_and_a_cpuprofile_their_times() {
    for seed in 0..RECORDINGS {
        let recording = read_back(&write(&timed_recording(seed, 1)));
        let converted = |format: Format| {
            let mut text = Vec::new();
            format.write(&recording, &mut text).unwrap();
            read(&text, None, Some(format)).unwrap().0
        };
        let page = converted(Format::Html);
        assert_eq!(Totals::of(&page), Totals::of(&recording), "seed {seed}");
        let cpuprofile = converted(Format::Cpuprofile);
        let [one, other] = [&recording, &cpuprofile].map(Totals::of);
        // Each time in the file is rounded to whole microseconds.
        let difference = one.time_with_stack.abs_diff(other.time_with_stack);
        assert!(
            difference <= 1_000 * u128::from(one.samples),
            "seed {seed}: {difference}"
        );
        assert_eq!(one.samples, other.samples, "seed {seed}");
    }
}

fn number(number: u32) -> Option<NonZeroU32> {
    NonZeroU32::new(number)
}

/// Adds a function of a script that calls nothing, and as many samples of it.
fn add(event_loop: &mut EventLoop, name: &str, url: &str, line: u32, samples: u64) {
    let resource = event_loop.add_resource(url).unwrap();
    let function = Function {
        name: name.to_owned(),
        kind: FunctionKind::Script,
        resource,
        line: number(line),
        column: number(7),
        ..Function::default()
    };
    add_samples(event_loop, function, samples);
}

fn add_samples(event_loop: &mut EventLoop, function: Function, samples: u64) {
    let function = event_loop.add_function(function).unwrap();
    let place = Place::of_source(number(20), number(3));
    let frame = event_loop.add_frame(Frame { function, place }).unwrap();
    let stack = event_loop.add_stack(None, frame).unwrap();
    let last = event_loop.samples().last();
    let time = last.map_or(0., |last| last.time + 1.);
    let sample = Sample {
        time,
        weight: samples,
        stack: Some(stack),
        activity: Some(Activity::Script),
    };
    event_loop.add_sample(sample).unwrap();
}

fn page() -> EventLoop {
    let documents = vec!["https://a.test/shop".to_owned()];
    EventLoop::new(
        "Page https://a.test/shop",
        EventLoopKind::Page { documents },
    )
}

#[test]
fn labels_stay_labels() {
    let mut event_loop = page();
    add(&mut event_loop, "f", "https://a.test/a.js", 1, 1);
    add(&mut event_loop, "f", "https://a.test/a.js", 1, 2);
    let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let release = vec![own("release", "2.1"), own("none", "")];
    let release = event_loop.add_label_set(release).unwrap();
    event_loop.label_last_sample(release).unwrap();
    add(&mut event_loop, "f", "https://a.test/a.js", 1, 3);
    let back = read_back(&write(&Recording::of_one(event_loop, 1., None)));
    let event_loop = back.event_loops().next().unwrap();
    assert_eq!(event_loop.name, "Page https://a.test/shop");
    let samples = event_loop.samples().iter().enumerate();
    let samples: Vec<_> = samples
        .map(|(index, sample)| (sample.weight, sample.activity, event_loop.labels_of(index)))
        .collect();
    let page = own("page", "https://a.test/shop");
    let script = Some(Activity::Script);
    // Samples of one stack with the same labels are one.
    assert_eq!(
        samples,
        [
            (4, script, &[page.clone()][..]),
            (2, script, &[page, own("release", "2.1")][..])
        ]
    );
}

/// A message of one field after another: a number, or bytes.
fn message(fields: &[(u64, Result<u64, &[u8]>)]) -> Vec<u8> {
    fn varint(bytes: &mut Vec<u8>, mut number: u64) {
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }
    let mut message = Vec::new();
    for (field, value) in fields {
        match value {
            Ok(number) => {
                varint(&mut message, field << 3);
                varint(&mut message, *number);
            },
            Err(bytes) => {
                varint(&mut message, field << 3 | 2);
                varint(&mut message, bytes.len() as u64);
                message.extend_from_slice(bytes);
            },
        }
    }
    message
}

/// A profile as Go writes it: its texts from 1 on, its types of values, and what else is in it.
fn profile(texts: &[&str], types: &[(u64, u64)], rest: &[(u64, Result<u64, &[u8]>)]) -> Vec<u8> {
    let types = types
        .iter()
        .map(|(name, unit)| message(&[(1, Ok(*name)), (2, Ok(*unit))]));
    let types: Vec<_> = types.collect();
    let mut fields: Vec<(u64, Result<u64, &[u8]>)> = Vec::new();
    fields.extend(types.iter().map(|kind| (1, Err(&**kind))));
    fields.extend(rest);
    fields.push((6, Err(b"")));
    fields.extend(texts.iter().map(|text| (6, Err(text.as_bytes()))));
    message(&fields)
}

#[test]
fn a_profile_of_another_program_is_read() {
    let texts = [
        "samples",
        "count",
        "cpu",
        "milliseconds",
        "leaf",
        "inlined",
        "main.go",
        "bytes",
        "request",
    ];
    let leaf = message(&[(1, Ok(7)), (2, Ok(5)), (4, Ok(7)), (5, Ok(3))]);
    let inlined = message(&[(1, Ok(9)), (2, Ok(6)), (3, Ok(6)), (4, Ok(7))]);
    let lines = [
        message(&[(1, Ok(9)), (2, Ok(12))]),
        message(&[(1, Ok(7)), (2, Ok(13))]),
    ];
    let location = message(&[
        (1, Ok(100)),
        (3, Ok(0x1234)),
        (4, Err(&lines[0])),
        (4, Err(&lines[1])),
    ]);
    let mapping = message(&[(1, Ok(1)), (5, Ok(7))]);
    let unknown = message(&[(1, Ok(5)), (2, Ok(1)), (3, Ok(0xabc))]);
    let label = message(&[(1, Ok(9)), (3, Ok(64)), (4, Ok(8))]);
    let sample = message(&[
        (1, Ok(100)),
        (1, Ok(5)),
        (2, Err(&[3, 30])),
        (3, Err(&label)),
    ]);
    let fields: [(u64, Result<u64, &[u8]>); 6] = [
        (2, Err(&sample)),
        (3, Err(&mapping)),
        (4, Err(&location)),
        (4, Err(&unknown)),
        (5, Err(&leaf)),
        (5, Err(&inlined)),
    ];
    let recording = read_back(&profile(&texts, &[(1, 2), (3, 4)], &fields));
    assert_eq!(recording.interval, 10.);
    let event_loop = recording.event_loops().next().unwrap();
    let frames = event_loop
        .frames_of(event_loop.samples()[0].stack)
        .into_iter();
    let frames: Vec<_> = frames
        .map(|frame| {
            let function = event_loop.function_of(frame);
            let place = event_loop.frame(frame).place.and_then(Place::line);
            let file = event_loop.resource_of(function);
            (
                &*function.name,
                file,
                function.line.map(NonZeroU32::get),
                place.map(NonZeroU32::get),
            )
        })
        .collect();
    let file = Some("main.go");
    assert_eq!(
        frames,
        [
            ("0xabc", file, None, None),
            ("leaf", file, Some(3), Some(13)),
            ("inlined", file, None, Some(12)),
        ]
    );
    assert_eq!(event_loop.samples()[0].weight, 3);
    assert_eq!(
        event_loop.worths(recording.interval).sum::<u64>(),
        30_000_000
    );
    assert_eq!(
        event_loop.labels_of(0),
        [("request".to_owned(), "64 bytes".to_owned())]
    );
}

#[test]
fn the_value_that_is_read_is_the_one_that_is_shown() {
    let texts = ["samples", "count", "cpu", "nanoseconds", "wall", "f", "s"];
    let function = message(&[(1, Ok(1)), (2, Ok(6))]);
    let line = message(&[(1, Ok(1))]);
    let location = message(&[(1, Ok(1)), (4, Err(&line))]);
    let sample = message(&[(1, Ok(1)), (2, Err(&[1, 5, 7]))]);
    let worth = |default: u64, units: [u64; 2]| {
        let fields: [(u64, Result<u64, &[u8]>); 4] = [
            (2, Err(&sample)),
            (4, Err(&location)),
            (5, Err(&function)),
            (14, Ok(default)),
        ];
        let types = [(1, 2), (3, units[0]), (5, units[1])];
        let recording = read_back(&profile(&texts, &types, &fields));
        let event_loop = recording.event_loops().next().unwrap();
        event_loop.worths(recording.interval).sum::<u64>()
    };
    assert_eq!(worth(0, [4, 4]), 7, "the last one");
    assert_eq!(worth(3, [4, 4]), 5, "the default");
    assert_eq!(worth(5, [4, 7]), 7_000_000_000, "seconds");
    assert_eq!(worth(1, [4, 4]), 7, "a number of samples is no time");
}

#[test]
fn what_is_no_time_or_not_sound_is_refused_with_its_place() {
    let texts = ["alloc_space", "bytes", "samples", "count", "f"];
    let function = message(&[(1, Ok(1)), (2, Ok(5))]);
    let function_0 = message(&[(2, Ok(5))]);
    let no_text = message(&[(1, Ok(1)), (2, Ok(99))]);
    let line = message(&[(1, Ok(1))]);
    let location = message(&[(1, Ok(1)), (4, Err(&line))]);
    let location_0 = message(&[(4, Err(&line))]);
    let sample = message(&[(1, Ok(1)), (2, Ok(1))]);
    let negative = message(&[(1, Ok(1)), (2, Ok(u64::MAX))]);
    let two_values = message(&[(1, Ok(1)), (2, Err(&[1, 2]))]);
    let elsewhere = message(&[(1, Ok(8)), (2, Ok(1))]);
    let samples = &[(3, 4)][..];
    type Field<'a> = (u64, Result<u64, &'a [u8]>);
    /// The sample types, the fields, and a part of the error.
    type Case<'a> = (&'a [(u64, u64)], &'a [Field<'a>], &'a str);
    let cases: &[Case<'_>] = &[
        (
            &[(1, 2)],
            &[],
            "sample_type: its values are no times: alloc_space (bytes)",
        ),
        (
            samples,
            &[(4, Err(&location_0))],
            "location[0]: its id is 0",
        ),
        (
            samples,
            &[(5, Err(&function_0))],
            "function[0]: its id is 0",
        ),
        (
            samples,
            &[(5, Err(&function)), (5, Err(&function))],
            "function[1]: the id 1 is there twice",
        ),
        (
            samples,
            &[(2, Err(&elsewhere))],
            "sample[0]: there is no location 8",
        ),
        (
            samples,
            &[(2, Err(&two_values))],
            "sample[0]: it has more values than the 1 types",
        ),
        (
            samples,
            &[(2, Err(&sample)), (4, Err(&location))],
            "sample[0]: there is no function 1",
        ),
        (
            samples,
            &[(2, Err(&sample)), (4, Err(&location)), (5, Err(&no_text))],
            "sample[0]: 99 is not an index of string_table, which has 6",
        ),
        (
            samples,
            &[
                (2, Err(&negative)),
                (4, Err(&location)),
                (5, Err(&function)),
            ],
            "sample[0]: the value -1 is below 0",
        ),
    ];
    for (types, fields, expected) in cases {
        let error = read(&profile(&texts, types, fields), None, None).unwrap_err();
        assert!(
            error.to_string().starts_with(expected),
            "{error}, not {expected}"
        );
    }
    let whole = write(&recording(3, 1));
    for end in [5, whole.len() / 2, whole.len() - 1] {
        let error = read(&whole[..end], None, None).unwrap_err();
        assert!(
            error.to_string().contains("not sound, or ends too early"),
            "{error}"
        );
    }
}

/// Runs Go's pprof. `None`, with the reason on standard output, if there is none here.
fn pprof(arguments: &[&str]) -> Option<String> {
    let said = Command::new("go").arg("version").output();
    let version = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let version = version.unwrap_or_default();
    let numbers = version.split_once("version go").and_then(|(_, version)| {
        let mut numbers = version.split(|character: char| !character.is_ascii_digit());
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    });
    if numbers.is_none_or(|numbers| numbers < GO) {
        let test = thread::current();
        let test = test.name().unwrap_or("a test of pprof");
        // The test runner captures println!. The empty line ends a line that the test runner may have begun.
        let _ = writeln!(
            io::stdout(),
            "\nSKIPPED {test}: Go {}.{} is not installed",
            GO.0,
            GO.1
        );
        return None;
    }
    let output = Command::new("go")
        .args(["tool", "pprof"])
        .args(arguments)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// By function: its own time and that with its callees, in nanoseconds, as `-top` prints them.
fn top(file: &Path) -> Option<BTreeMap<String, (u64, u64)>> {
    let text = pprof(&[
        "-top",
        "-unit=ns",
        "-nodecount=100000",
        "-nodefraction=0",
        file.to_str().unwrap(),
    ])?;
    let rows = text
        .lines()
        .skip_while(|line| !line.contains("flat%"))
        .skip(1);
    let nanoseconds = |text: &str| text.trim_end_matches("ns").parse().unwrap();
    let rows = rows.map(|line| {
        let columns: Vec<_> = line.split_whitespace().collect();
        let own = (nanoseconds(columns[0]), nanoseconds(columns[3]));
        (columns[5..].join(" "), own)
    });
    Some(rows.collect())
}

#[test]
fn go_finds_the_same_totals() {
    let folder = tempfile::tempdir().unwrap();
    let (file, again) = (folder.path().join("a.pb.gz"), folder.path().join("b.pb.gz"));
    for seed in 0..3 {
        let event_loops = 1 + seed as usize % 3;
        for recording in [
            recording(seed, event_loops),
            timed_recording(seed, event_loops),
        ] {
            profile_formats::replace(&file, Format::Pprof, &recording).unwrap();
            let output = format!("-output={}", again.display());
            if pprof(&["-proto", &output, file.to_str().unwrap()]).is_none() {
                return;
            }
            // Go leaves out the column of a definition, and so do these.
            let totals = |recording: &Recording| {
                let mut by_place = BTreeMap::new();
                let totals = Totals::of(recording);
                for (function, one) in totals.functions {
                    let key = (
                        function.name.to_owned(),
                        function.resource.map(str::to_owned),
                        function.line,
                    );
                    let sum: &mut (u64, u128) = by_place.entry(key).or_default();
                    sum.0 += one.itself;
                    sum.1 += one.time_itself;
                }
                (totals.samples, totals.with_stack, by_place)
            };
            let of_go = std::fs::read(&again).unwrap();
            let (of_go, format) = read(&of_go, None, None).unwrap();
            assert_eq!(format, Format::Pprof);
            assert_eq!(totals(&of_go), totals(&recording), "seed {seed}");
        }
    }
}

/// Each function of its name with the number of its samples.
fn named(names: &[(&str, u64)]) -> EventLoop {
    let mut event_loop = page();
    for (number, (name, samples)) in names.iter().enumerate() {
        let line = 1 + number as u32;
        add(&mut event_loop, name, "https://a.test/a.js", line, *samples);
    }
    event_loop
}

#[test]
fn go_shows_names_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.pb");
    let names = [
        ("<module>", 5),
        ("<anonymous>", 7),
        ("get<Item>", 11),
        ("operator<", 13),
        ("", 17),
        ("f(int)", 19),
        ("_Z1fv", 23),
    ];
    let mut event_loop = named(&names);
    // One whose generated name is another one.
    let resource = event_loop.add_resource("https://a.test/b.js").unwrap();
    let mapped = Function {
        name: "map<Key>".to_owned(),
        kind: FunctionKind::Script,
        resource,
        line: number(4),
        generated: Some(Box::new(GeneratedPlace {
            name: "a<b>".to_owned(),
            resource: resource.unwrap(),
            line: number(1),
            column: number(99),
        })),
        ..Function::default()
    };
    add_samples(&mut event_loop, mapped.clone(), 29);
    let recording = Recording::of_one(event_loop, 1., None);
    profile_formats::replace(&file, Format::Pprof, &recording).unwrap();
    let Some(top) = top(&file) else { return };
    let mut expected: BTreeMap<_, _> = names
        .iter()
        .map(|(name, samples)| {
            (
                (*name).to_owned(),
                (samples * 1_000_000, samples * 1_000_000),
            )
        })
        .collect();
    let anonymous = expected.remove("").unwrap();
    expected.insert("(anonymous)".to_owned(), anonymous);
    expected.insert("map<Key>".to_owned(), (29_000_000, 29_000_000));
    assert_eq!(top, expected);

    let back = read_back(&std::fs::read(&file).unwrap());
    let event_loop = back.event_loops().next().unwrap();
    let generated = event_loop
        .functions()
        .find_map(|function| function.generated.clone());
    let generated = generated.unwrap();
    assert_eq!(generated.name, "a<b>");
    assert_eq!((generated.line, generated.column), (number(1), number(99)));
}

#[test]
fn go_shows_labels_and_columns() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.pb");
    let mut event_loop = named(&[("f", 3)]);
    let release = vec![("release".to_owned(), "2.1".to_owned())];
    let release = event_loop.add_label_set(release).unwrap();
    event_loop.label_last_sample(release).unwrap();
    let recording = Recording::of_one(event_loop, 1., Some(1_700_000_000_000.));
    profile_formats::replace(&file, Format::Pprof, &recording).unwrap();
    let name = file.to_str().unwrap();
    let Some(raw) = pprof(&["-raw", name]) else {
        return;
    };
    for part in [
        "release:[2.1]",
        "page:[https://a.test/shop]",
        "event_loop:[Page https://a.test/shop]",
        "marker:[script]",
        "samples/count wall/nanoseconds[dflt]",
        "f https://a.test/a.js:20:3",
        "Duration: 3ms",
        "Period: 1000000",
    ] {
        assert!(raw.contains(part), "no {part} in {raw}");
    }
    let text = pprof(&["-top", "-showcolumns", "-lines", name]).unwrap();
    // Go takes the URL for a path.
    assert!(text.contains("f https:/a.test/a.js:20:3"), "{text}");
    assert!(text.contains("3ms"), "{text}");
}
