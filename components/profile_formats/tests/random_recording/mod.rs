/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Recordings of anything that a recording can hold.

pub mod random;

use std::num::NonZeroU32;

use profile_formats::{
    Activity, EventLoop, EventLoopKind, Frame, Function, FunctionKind, Missed, MissedReason, Place,
    Process, Program, Realm, RecordedBy, Recording, Sample, Source,
};

use self::random::Random;

/// Which a format might take for something else.
const NAMES: [&str; 36] = [
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
    "</script><!--<b>",
    "\u{2028}\0",
    "__proto__",
    "(gc)",
    "x):7",
    "x (y:1):2",
    "x ():0x1f",
    "x ():4-9",
    "(module)",
    "find(int const&)",
    "#",
    "# a",
    "%28idle)",
    "worker 2",
];

const URLS: [&str; 8] = [
    "https://a.test/a.js",
    "https://a.test:8080/",
    "https://a.test:8080",
    "data:text/html,a (b);c:1:2",
    "wasm:1",
    "%28",
    "/app/work.py",
    "https://a.test/a b.js line 3 > eval",
];

/// A line or column.
fn number(random: &mut Random) -> Option<NonZeroU32> {
    NonZeroU32::new(random.below(4) as u32)
}

/// Names that tools take for no function, wherever they are.
const PSEUDO_NAMES: [&str; 5] = ["(idle)", "(program)", "(root)", "(layout)", "(gc)"];

/// Whether functions may have names that tools take for no function.
#[derive(Clone, Copy)]
enum Names {
    All,
    #[allow(dead_code, reason = "only the example needs it")]
    OfFunctions,
}

fn function(random: &mut Random, event_loop: &mut EventLoop, names: Names) -> Function {
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
    let source = Source {
        name: (*random.of(&URLS)).to_owned(),
        line: number(random).unwrap_or(NonZeroU32::MIN),
        column: NonZeroU32::MIN,
        text: Some((*random.of(&NAMES)).to_owned()),
        map_url: random.once_in(2).then(|| "a.js.map".to_owned()),
    };
    let kinds = [
        FunctionKind::Script,
        FunctionKind::BuiltIn,
        FunctionKind::Native,
        FunctionKind::Unknown,
    ];
    let name = *random.of(&NAMES);
    let name = match names {
        Names::OfFunctions if PSEUDO_NAMES.contains(&name) => "f",
        Names::All | Names::OfFunctions => name,
    };
    Function {
        name: name.to_owned(),
        kind: *random.of(&kinds),
        resource,
        line: number(random),
        column: number(random),
        realm: random
            .once_in(2)
            .then(|| event_loop.add_realm(realm).unwrap()),
        source: random
            .once_in(2)
            .then(|| event_loop.add_source(source).unwrap()),
        generated: None,
    }
}

fn place(random: &mut Random, kind: FunctionKind) -> Option<Place> {
    // Code of the machine is not that of a WebAssembly module.
    if random.once_in(4) && kind != FunctionKind::Native {
        return Some(Place::WasmOffset(*random.of(&[0, 1, 0xabc, u32::MAX])));
    }
    match (random.once_in(6), number(random), number(random)) {
        (true, Some(one), Some(other)) => Some(Place::of_lines(one.min(other), one.max(other))),
        (_, line, column) => Place::of_source(line, column),
    }
}

/// What samples are worth.
#[derive(Clone, Copy, PartialEq)]
enum Worth {
    Intervals,
    /// Times of their own, in whole microseconds.
    Times,
}

fn event_loop(
    random: &mut Random,
    name: &str,
    with_weights: bool,
    interval: f64,
    worth: Worth,
    names: Names,
) -> EventLoop {
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
        let function = function(random, &mut event_loop, names);
        let kind = function.kind;
        let function = event_loop.add_function(function).unwrap();
        for _ in 0..1 + random.below(3) {
            let place = place(random, kind);
            frames.push(event_loop.add_frame(Frame { function, place }).unwrap());
        }
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
        let sample = Sample {
            time,
            weight,
            stack: *random.of(&stacks),
            activity,
        };
        // Some are missed, some come at once.
        let since = interval * weight as f64 * *random.of(&[1., 1., 1., 1.25, 0., 7.]);
        match worth {
            Worth::Intervals => {
                event_loop.add_sample(sample).unwrap();
                time += since;
            },
            Worth::Times => {
                let worth = *random.of(&[0., 0.001, 0.25, 1., 1.125, 33.333, 1e3]);
                event_loop.add_sample_worth(sample, worth).unwrap();
                // A pause.
                time += worth + if random.once_in(4) { since } else { 0. };
            },
        }
        // Pages see no finer times.
        time = (time * 1e3).round() / 1e3;
    }
    add_missed(random, &mut event_loop, time);
    event_loop
}

/// Between some samples, for one reason or several, and behind the last one.
fn add_missed(random: &mut Random, event_loop: &mut EventLoop, end: f64) {
    if random.once_in(3) {
        return;
    }
    let samples = event_loop.samples().iter();
    let times: Vec<_> = samples.map(|sample| sample.time).chain([end]).collect();
    for between in times.windows(2) {
        for why in MissedReason::ALL {
            if random.once_in(6) {
                event_loop
                    .add_missed(Missed {
                        start: between[0],
                        end: between[1],
                        samples: *random.of(&[1, 2, 90, u32::MAX]),
                        why,
                    })
                    .unwrap();
            }
        }
    }
}

#[allow(dead_code, reason = "the example needs another one")]
pub fn recording(seed: u64, event_loops: usize) -> Recording {
    recording_of(seed, event_loops, Worth::Intervals, Names::All)
}

/// One for other tools, which take some names for no function.
#[allow(dead_code, reason = "only the example needs it")]
pub fn recording_for_tools(seed: u64, event_loops: usize) -> Recording {
    recording_of(seed, event_loops, Worth::Intervals, Names::OfFunctions)
}

/// One whose samples are worth times of their own.
#[allow(dead_code, reason = "not every test needs it")]
pub fn timed_recording(seed: u64, event_loops: usize) -> Recording {
    recording_of(seed, event_loops, Worth::Times, Names::All)
}

fn recording_of(seed: u64, event_loops: usize, worth: Worth, names: Names) -> Recording {
    let mut random = Random(seed);
    let interval = *random.of(&[1., 0.1, 0.25, 3.7, 50.]);
    // A sample that is worth a time is one.
    let with_weights = random.once_in(3) && worth == Worth::Intervals;
    let mut processes: Vec<Process> = Vec::new();
    for number in 0..event_loops {
        // Names that are there twice, and none.
        let name = *random.of(&["main", "worker", "", "[a] (b);c\n"]);
        let event_loop = event_loop(&mut random, name, with_weights, interval, worth, names);
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
        recorded_by: recorded_by(&mut random),
        processes,
    }
}

fn recorded_by(random: &mut Random) -> Option<RecordedBy> {
    let program = |name, version| Program::new(name, version).unwrap();
    let engines = [
        program("Servo", Some("0.7.0")),
        program("An engine, with a name", None),
    ];
    let count = random.below(1 + engines.len());
    let program = match random.below(4) {
        0 => return None,
        1 => program("Strobe", Some("0.1.0")),
        2 => program("\"a\" </script> (b)", None),
        _ => program("rv:@a/tool", Some("rv:1.0-beta (x)")),
    };
    Some(RecordedBy::new(program, engines[..count].to_vec()).unwrap())
}
