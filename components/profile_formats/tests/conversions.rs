/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Whatever the recording and whichever way it goes, each function has the samples that it had.

use std::num::NonZeroU32;

use profile_formats::{
    Activity, EventLoop, EventLoopKind, Format, Frame, FrameKind, MAX_STACK_DEPTH, Process, Realm,
    Recording, Sample, Totals, read,
};

const RECORDINGS: u64 = 60;

/// SplitMix64, <https://prng.di.unimi.it/splitmix64.c>.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut next = self.0;
        next = (next ^ (next >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        next = (next ^ (next >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        next ^ (next >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// Once in so many times.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// Which a format might take for something else.
const NAMES: [&str; 22] = [
    "",
    "f",
    "g",
    "get size",
    "[Symbol.iterator]",
    "(idle)",
    "(anonymous)",
    "(program)",
    "(root)",
    "(layout)",
    "a (b:1:2)",
    "a;b",
    "a b 12",
    "a\nb",
    "\r",
    "%3B",
    "%25",
    "ü𝒳",
    "\"\\",
    "[x]",
    "x)",
    " ",
];

const URLS: [&str; 6] = [
    "https://a.test/a.js",
    "https://a.test:8080/",
    "https://a.test:8080",
    "data:text/html,a (b);c:1:2",
    "wasm:1",
    "%28",
];

fn frame(random: &mut Random, event_loop: &mut EventLoop) -> Frame {
    let number = |random: &mut Random| NonZeroU32::new(random.below(4) as u32);
    let url = if random.once_in(3) {
        ""
    } else {
        random.of(&URLS)
    };
    let resource = event_loop.add_resource(url).unwrap();
    let realm = Realm {
        url: "https://a.test/".to_owned(),
        origin: random.once_in(2).then(|| "https://a.test".to_owned()),
    };
    let kinds = [
        FrameKind::Script,
        FrameKind::BuiltIn,
        FrameKind::Native,
        FrameKind::Unknown,
    ];
    Frame {
        name: (*random.of(&NAMES)).to_owned(),
        kind: *random.of(&kinds),
        resource,
        line: number(random),
        column: number(random),
        realm: random
            .once_in(2)
            .then(|| event_loop.add_realm(realm).unwrap()),
    }
}

fn event_loop(random: &mut Random, name: &str, with_weights: bool, interval: f64) -> EventLoop {
    let kinds = [
        EventLoopKind::Unknown,
        EventLoopKind::Worker,
        EventLoopKind::Page {
            documents: vec!["https://a.test/".to_owned(), "about:blank".to_owned()],
        },
    ];
    let mut event_loop = EventLoop::new(name, random.of(&kinds).clone());
    let mut frames = Vec::new();
    for _ in 0..1 + random.below(12) {
        let frame = frame(random, &mut event_loop);
        frames.push(event_loop.add_frame(frame).unwrap());
    }
    let mut stacks = vec![None];
    for _ in 0..random.below(30) {
        let parent = *random.of(&stacks);
        let frame = *random.of(&frames);
        stacks.push(Some(event_loop.add_stack(parent, frame).unwrap()));
    }
    let mut time = random.below(1000) as f64 / 8.;
    for _ in 0..random.below(200) {
        let activity = match random.once_in(2) {
            true => Some(*random.of(&Activity::ALL)),
            false => None,
        };
        let weight = match with_weights {
            true => 1 + random.below(5) as u64,
            false => 1,
        };
        event_loop
            .add_sample(Sample {
                time,
                weight,
                stack: *random.of(&stacks),
                activity,
            })
            .unwrap();
        // Some are missed, some come at once.
        time += interval * weight as f64 * *random.of(&[1., 1., 1., 1.25, 0., 7.]);
        // Pages see no finer times.
        time = (time * 1e3).round() / 1e3;
    }
    event_loop
}

fn recording(seed: u64, event_loops: usize) -> Recording {
    let mut random = Random(seed);
    let interval = *random.of(&[1., 0.1, 0.25, 3.7, 50.]);
    let with_weights = random.once_in(3);
    let mut processes: Vec<Process> = Vec::new();
    for number in 0..event_loops {
        // Names that are there twice, and none.
        let name = *random.of(&["main", "worker", "", "[a] (b);c\n"]);
        let event_loop = event_loop(&mut random, name, with_weights, interval);
        if number == 0 || random.once_in(3) {
            processes.push(Process {
                name: format!("process {number}"),
                pid: Some(100 + number as u32),
                ended: random.once_in(3).then_some(1e6),
                event_loops: Vec::new(),
            });
        }
        processes.last_mut().unwrap().event_loops.push(event_loop);
    }
    Recording {
        time_origin: Some(1_700_000_000_000.),
        interval,
        processes,
    }
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
        for format in Format::ALL {
            let read = convert(&recording, format);
            assert_same_totals(&recording, &read, &format!("seed {seed}, {format}"));
        }
    }
}

#[test]
fn so_does_every_pair_of_formats() {
    for seed in 0..RECORDINGS {
        let recording = recording(seed, 1);
        for one in Format::ALL {
            let first = convert(&recording, one);
            for other in Format::ALL {
                let back = convert(&convert(&first, other), one);
                let how = format!("seed {seed}, {one} to {other} and back");
                assert_same_totals(&recording, &back, &how);
            }
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
            assert_same_totals(&recording, &read, &how);
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

/// Names, kinds, activities and times of all samples, in the order of names.
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
                        let frame = event_loop.frame(frame);
                        let resource = event_loop.resource_of(frame);
                        (&frame.name, frame.kind, resource, frame.line, frame.column)
                    })
                    .collect();
                text += &format!(
                    "\n{nanoseconds} {} {:?} {stack:?}",
                    sample.weight, sample.activity
                );
            }
            lines.push(text);
        }
    }
    lines.sort();
    lines
}

#[test]
fn the_firefox_format_keeps_everything_but_realms() {
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
fn a_traces_own_text_comes_back() {
    for seed in 0..RECORDINGS {
        // In a trace frames that differ in what it does not hold are one.
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
                assert_eq!(Format::by_content(&text), Some(format), "seed {seed}");
            }
        }
    }
}

#[test]
fn stacks_may_be_as_deep_as_an_engines() {
    let mut event_loop = EventLoop::default();
    let frame = event_loop.add_frame(Frame::default()).unwrap();
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
