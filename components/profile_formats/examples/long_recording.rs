/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How long it takes to write and to read a long recording in each format, and how large it is:
//!
//! ```text
//! cargo run --release -p profile_formats --example long_recording [EVENT_LOOPS [SAMPLES]]
//! ```
//!
//! Of a format that holds one event loop there is a file for each. The samples are those of programs of 2,000
//! functions, each of which is at one of 5 lines, with stacks of 1 to 60 frames, which wait and collect garbage now
//! and then.

#[path = "../tests/random_recording/random.rs"]
mod random;

use std::env;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use profile_formats::{
    Activity, EventLoop, EventLoopKind, Format, Frame, FrameId, Function, FunctionKind, Invalid,
    Place, Process, Recording, Sample, StackId, Totals, read,
};

use self::random::Random;

const FUNCTIONS: usize = 2000;
const CALLEES: usize = 5;
const LINES: usize = 5;
const DEEPEST: usize = 60;
const INTERVAL: f64 = 1.;

fn main() {
    let mut arguments = env::args().skip(1);
    let mut number = |default: usize| match arguments.next() {
        None => default,
        Some(argument) => argument.parse().expect("a number"),
    };
    let (event_loops, samples) = (number(8), number(100_000));
    let recording = recording(event_loops, samples);
    let stacks: usize = recording
        .event_loops()
        .map(|event_loop| event_loop.stacks().len())
        .sum();
    println!("{event_loops} event loops of {samples} samples, {stacks} stacks");
    println!("format                MB   write ms   read ms");
    let totals = Totals::of(&recording);
    for format in Format::ALL {
        let parts = match format.holds_one_event_loop() {
            false => vec![recording.clone()],
            true => recording
                .event_loops()
                .map(|event_loop| Recording::of_one(event_loop.clone(), INTERVAL, None))
                .collect(),
        };
        let start = Instant::now();
        let texts: Vec<_> = parts.iter().map(|part| written(part, format)).collect();
        let writing = start.elapsed();
        let start = Instant::now();
        let mut parts = texts.iter().map(|text| {
            let (part, _) = read(text, None, None).expect("what was written");
            part
        });
        let back = parts.next().expect("an event loop");
        let back = parts.fold(back, |mut back, part| {
            back.processes.extend(part.processes);
            back
        });
        let reading = start.elapsed();
        // Its lines are functions.
        let is_of_functions = format != Format::SpeedscopeLines;
        assert!(
            !is_of_functions || Totals::of(&back) == totals,
            "{format} has other totals"
        );
        let bytes: usize = texts.iter().map(Vec::len).sum();
        println!(
            "{:<16} {:>8.1} {:>10} {:>9}",
            format.as_str(),
            bytes as f64 / 1e6,
            milliseconds(writing),
            milliseconds(reading)
        );
    }
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.0}", duration.as_secs_f64() * 1e3)
}

fn written(recording: &Recording, format: Format) -> Vec<u8> {
    let mut text = Vec::new();
    let result = format.write(recording, &mut text);
    result.expect("nothing fails in memory");
    text
}

fn recording(event_loops: usize, samples: usize) -> Recording {
    let mut random = Random(1);
    let event_loops = (0..event_loops)
        .map(|number| event_loop(&mut random, number, samples).expect("it has room"))
        .collect();
    Recording {
        time_origin: Some(1_700_000_000_000.),
        interval: INTERVAL,
        recorded_by: None,
        processes: vec![Process {
            name: "browser".to_owned(),
            pid: Some(1),
            ended: None,
            event_loops,
        }],
    }
}

fn event_loop(random: &mut Random, number: usize, samples: usize) -> Result<EventLoop, Invalid> {
    let mut event_loop = EventLoop::new(format!("page {number}"), EventLoopKind::Unknown);
    let mut functions = Vec::with_capacity(FUNCTIONS);
    for function in 0..FUNCTIONS as u32 {
        let url = format!("https://example.org/scripts/{}.js", function / 100);
        let is_built_in = random.once_in(10);
        let resource = event_loop.add_resource(if is_built_in { "" } else { &url })?;
        let line = function % 100 * 10 + 1;
        let function = event_loop.add_function(Function {
            name: format!("function{function}"),
            kind: match is_built_in {
                true => FunctionKind::BuiltIn,
                false => FunctionKind::Script,
            },
            resource,
            line: NonZeroU32::new(line).filter(|_| !is_built_in),
            column: NonZeroU32::new(17).filter(|_| !is_built_in),
            realm: None,
            source: None,
            generated: None,
        })?;
        let mut frames = Vec::with_capacity(LINES);
        for number in 1..=LINES as u32 {
            let line = NonZeroU32::new(line + number).filter(|_| !is_built_in);
            let place = Place::of_source(line, NonZeroU32::new(5));
            frames.push(event_loop.add_frame(Frame { function, place })?);
        }
        functions.push(frames);
    }
    let callees: Vec<Vec<usize>> = (0..FUNCTIONS)
        .map(|_| (0..CALLEES).map(|_| random.below(FUNCTIONS)).collect())
        .collect();

    // From the root to the leaf.
    let mut stack: Vec<(usize, StackId)> = Vec::new();
    let mut idle = 0;
    for sample in 0..samples {
        if idle > 0 {
            idle -= 1;
        } else if random.once_in(50) {
            stack.clear();
            idle = random.below(40);
        } else {
            step(random, &mut event_loop, &functions, &callees, &mut stack)?;
        }
        let leaf = stack.last().map(|(_, stack)| *stack);
        event_loop.add_sample(Sample {
            // As a real clock has it.
            time: (sample as f64 * INTERVAL * 1e3 + random.below(90) as f64).round() / 1e3,
            weight: 1,
            stack: leaf,
            activity: Some(match leaf {
                None => Activity::Idle,
                Some(_) if random.once_in(20) => *random.of(&Activity::ALL[2..]),
                Some(_) => Activity::Script,
            }),
        })?;
    }
    Ok(event_loop)
}

/// Some functions return, and others are called.
fn step(
    random: &mut Random,
    event_loop: &mut EventLoop,
    functions: &[Vec<FrameId>],
    callees: &[Vec<usize>],
    stack: &mut Vec<(usize, StackId)>,
) -> Result<(), Invalid> {
    // Most often those near the leaf.
    let mut few = || {
        let most = 1 << random.below(5);
        random.below(most)
    };
    let (returns, calls) = (few().min(stack.len()), 1 + few());
    stack.truncate(stack.len() - returns);
    for _ in 0..calls.min(DEEPEST - stack.len()) {
        let (function, caller) = match stack.last() {
            None => (random.below(3), None),
            // Most calls are as the last time.
            Some((caller, stack)) => {
                let number = match random.once_in(30) {
                    true => random.below(CALLEES),
                    false => 0,
                };
                (callees[*caller][number], Some(*stack))
            },
        };
        let line = match random.once_in(300) {
            true => random.below(LINES),
            false => 0,
        };
        let callee = event_loop.add_stack(caller, functions[function][line])?;
        stack.push((function, callee));
    }
    Ok(())
}
