/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Files that are made to take memory or disk without end: each is written in every format or refused, in a process
//! that may have 1 GB of addresses, and no text is longer than the bound. A report is made of each, in a process that may have
//! 3 GB of addresses. And a file that becomes itself in another
//! format survives a disk that takes no more.

#![cfg(all(unix, not(miri)))]

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::num::NonZeroU32;
use std::panic::resume_unwind;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use flate2::Compression;
use flate2::write::GzEncoder;
use profile_formats::{
    Activity, By, EventLoop, EventLoopKind, Format, Frame, FrameId, Function, FunctionId,
    FunctionKind, MAX_STACK_DEPTH, MAX_TEXT_BYTES, Missed, MissedReason, Place, Process,
    ReadOptions, Recording, Sample, Source, StackId, WriteError, content, line_report_of, read,
    read_sums, replace, report_by,
};

/// kB of addresses that a process may have, as `ulimit` counts them: 1,000,000,000 bytes.
const MAX_ADDRESSES: u32 = 976_562;

/// What a child process is to convert.
const FILE: &str = "STROBE_HOSTILE_FILE";

/// What a child process writes before the seconds that a conversion took.
const TIME: &str = "took: ";

/// Bytes of a hostile file that is made of a shape. The shape is as large as it can be in a format.
const MAX_SHAPE_BYTES: u64 = 2_000_000;

const HEAVIEST: u64 = 1 << 53;

struct File {
    name: String,
    content: Vec<u8>,
}

/// A recording of a size, of which a format may make much.
type Shape = fn(usize) -> Recording;

const SHAPES: [(&str, Shape); 18] = [
    ("samples of the greatest weight", heavy),
    ("deep stacks with many leaves", deep),
    ("a long URL of many functions", long_url),
    ("a long name that calls itself", long_name),
    ("names that are escaped", escaped_names),
    ("functions", functions),
    ("lines of a function", lines),
    ("deep stacks of many lines", deep_lines),
    ("stacks that alternate", alternating),
    ("samples", samples),
    ("samples with time between them", samples_apart),
    ("markers", activities),
    ("missed samples", missed),
    ("texts", texts),
    ("a long text", long_text),
    ("event loops", event_loops),
    ("event loops of a long name", long_event_loop_names),
    (
        "event loops of a process with a long name",
        long_process_name,
    ),
];

/// Shapes of which a format does not hold even the smallest.
const UNHELD: [(&str, &str); 5] = [
    ("samples of the greatest weight", "cpuprofile"),
    ("samples of the greatest weight", "firefox"),
    ("samples of the greatest weight", "pprof"),
    ("samples of the greatest weight", "trace"),
    ("stacks that alternate", "cpuprofile"),
];

/// Shapes of which no format makes much more than another. All others are refused by some format.
const NEVER_REFUSED: [&str; 6] = [
    "a long text",
    "functions",
    "markers",
    "missed samples",
    "samples",
    "texts",
];

fn sample(time: f64, stack: Option<StackId>) -> Sample {
    Sample {
        time,
        weight: 1,
        stack,
        activity: None,
    }
}

fn event_loop(name: &str) -> EventLoop {
    EventLoop::new(name, EventLoopKind::Worker)
}

fn add_function(event_loop: &mut EventLoop, name: String, url: &str, line: usize) -> FunctionId {
    let resource = event_loop.add_resource(url).unwrap();
    let function = Function {
        name,
        kind: FunctionKind::Script,
        resource,
        line: NonZeroU32::new(line as u32),
        column: NonZeroU32::new(1),
        realm: None,
        source: None,
        generated: None,
    };
    event_loop.add_function(function).unwrap()
}

/// A frame without a place.
fn add_frame(event_loop: &mut EventLoop, name: String, url: &str, line: usize) -> FrameId {
    let function = add_function(event_loop, name, url, line);
    let place = None;
    event_loop.add_frame(Frame { function, place }).unwrap()
}

fn frame_at(event_loop: &mut EventLoop, function: FunctionId, line: usize) -> FrameId {
    let number = NonZeroU32::new(line as u32);
    let place = Place::of_source(number, number);
    event_loop.add_frame(Frame { function, place }).unwrap()
}

fn of_one(event_loop: EventLoop) -> Recording {
    Recording::of_one(event_loop, 1., Some(1.))
}

fn of_event_loops(process: &str, event_loops: Vec<EventLoop>) -> Recording {
    Recording {
        time_origin: None,
        interval: 1.,
        recorded_by: None,
        processes: vec![Process {
            name: process.to_owned(),
            event_loops,
            ..Process::default()
        }],
    }
}

fn heavy(size: usize) -> Recording {
    let event_loops = (0..size).map(|number| {
        let mut event_loop = event_loop(&number.to_string());
        let frame = add_frame(&mut event_loop, "f".to_owned(), "", 0);
        let stack = event_loop.add_stack(None, frame).unwrap();
        let sample = Sample {
            weight: HEAVIEST,
            ..sample(0., Some(stack))
        };
        event_loop.add_sample(sample).unwrap();
        event_loop
    });
    of_event_loops("", event_loops.collect())
}

/// A stack as deep as it may be, with a leaf for each sample.
fn deep(size: usize) -> Recording {
    let mut event_loop = event_loop("deep");
    let caller = add_frame(&mut event_loop, "f".to_owned(), "https://a.test/a.js", 1);
    let mut stack = None;
    for _ in 1..MAX_STACK_DEPTH {
        stack = Some(event_loop.add_stack(stack, caller).unwrap());
    }
    for number in 0..size {
        let leaf = add_frame(&mut event_loop, number.to_string(), "", 0);
        let stack = event_loop.add_stack(stack, leaf).unwrap();
        event_loop
            .add_sample(sample(number as f64, Some(stack)))
            .unwrap();
    }
    of_one(event_loop)
}

fn long_url(size: usize) -> Recording {
    let mut event_loop = event_loop("url");
    let url = format!("https://a.test/{}", "a".repeat(16 * size));
    for number in 0..size {
        let frame = add_frame(&mut event_loop, "f".to_owned(), &url, number + 1);
        let stack = event_loop.add_stack(None, frame).unwrap();
        event_loop
            .add_sample(sample(number as f64, Some(stack)))
            .unwrap();
    }
    of_one(event_loop)
}

fn long_name(size: usize) -> Recording {
    let mut event_loop = event_loop("name");
    let frame = add_frame(&mut event_loop, "f".repeat(16 * size), "", 0);
    let mut stack = None;
    for number in 0..size.min(MAX_STACK_DEPTH as usize) {
        stack = Some(event_loop.add_stack(stack, frame).unwrap());
        event_loop.add_sample(sample(number as f64, stack)).unwrap();
    }
    of_one(event_loop)
}

fn escaped_names(size: usize) -> Recording {
    let mut event_loop = event_loop(&"\u{1}\u{202e}".repeat(size));
    for number in 0..size {
        let name = format!("{number}\u{1};\u{2028}%3B)");
        let frame = add_frame(&mut event_loop, name, &"(;\u{1}".repeat(size), 1);
        let stack = event_loop.add_stack(None, frame).unwrap();
        event_loop
            .add_sample(sample(number as f64, Some(stack)))
            .unwrap();
    }
    of_one(event_loop)
}

fn functions(size: usize) -> Recording {
    let mut event_loop = event_loop("functions");
    let mut stack = None;
    for number in 0..size {
        let frame = add_frame(&mut event_loop, format!("{number:x}"), "", 0);
        stack = match number % MAX_STACK_DEPTH as usize {
            0 => None,
            _ => stack,
        };
        stack = Some(event_loop.add_stack(stack, frame).unwrap());
        if number % MAX_STACK_DEPTH as usize == MAX_STACK_DEPTH as usize - 1 || number + 1 == size {
            event_loop.add_sample(sample(number as f64, stack)).unwrap();
        }
    }
    of_one(event_loop)
}

/// A function with a long URL that is at another line in each sample, called from another line.
fn lines(size: usize) -> Recording {
    let mut event_loop = event_loop("lines");
    let url = format!("https://a.test/{}", "a".repeat(size));
    let caller = add_function(&mut event_loop, "f".to_owned(), &url, 1);
    let leaf = add_function(&mut event_loop, "g".to_owned(), &url, 2);
    for number in 0..size {
        let caller = frame_at(&mut event_loop, caller, number + 1);
        let stack = event_loop.add_stack(None, caller).unwrap();
        let leaf = frame_at(&mut event_loop, leaf, number + 1);
        let stack = event_loop.add_stack(Some(stack), leaf).unwrap();
        event_loop
            .add_sample(sample(number as f64, Some(stack)))
            .unwrap();
    }
    of_one(event_loop)
}

/// A function that calls itself as deep as it may, each time from another line, with samples at each depth.
fn deep_lines(size: usize) -> Recording {
    let mut event_loop = event_loop("deep lines");
    let function = add_function(&mut event_loop, "f".to_owned(), "https://a.test/a.js", 1);
    let mut stack = None;
    for number in 0..size {
        let frame = frame_at(&mut event_loop, function, number + 1);
        let caller = stack.filter(|_| number % MAX_STACK_DEPTH as usize != 0);
        stack = Some(event_loop.add_stack(caller, frame).unwrap());
        event_loop.add_sample(sample(number as f64, stack)).unwrap();
    }
    of_one(event_loop)
}

/// Two deep stacks by turns, so that no two samples in a row are one.
fn alternating(size: usize) -> Recording {
    let mut event_loop = event_loop("alternating");
    let leaves = ["a", "b"].map(|name| {
        let frame = add_frame(&mut event_loop, name.to_owned(), "", 0);
        let mut stack = None;
        for _ in 0..MAX_STACK_DEPTH {
            stack = Some(event_loop.add_stack(stack, frame).unwrap());
        }
        stack
    });
    for number in 0..size {
        let sample = sample(number as f64, leaves[number % 2]);
        event_loop.add_sample(sample).unwrap();
    }
    of_one(event_loop)
}

fn samples(size: usize) -> Recording {
    let mut event_loop = event_loop("samples");
    for number in 0..size {
        event_loop.add_sample(sample(number as f64, None)).unwrap();
    }
    of_one(event_loop)
}

/// Each is worth less than the time to the next one, so a format has an entry for the rest.
fn samples_apart(size: usize) -> Recording {
    let mut event_loop = event_loop("samples apart");
    for number in 0..size {
        let sample = sample(2. * number as f64, None);
        event_loop.add_sample_worth(sample, 1.).unwrap();
    }
    of_one(event_loop)
}

fn activities(size: usize) -> Recording {
    let mut event_loop = event_loop("activities");
    let frame = add_frame(&mut event_loop, "f".to_owned(), "", 0);
    let stack = event_loop.add_stack(None, frame).unwrap();
    for number in 0..size {
        let sample = Sample {
            activity: Some(Activity::ALL[number % Activity::ALL.len()]),
            ..sample(number as f64, Some(stack).filter(|_| number % 3 == 0))
        };
        event_loop.add_sample(sample).unwrap();
    }
    of_one(event_loop)
}

fn missed(size: usize) -> Recording {
    let mut event_loop = event_loop("missed");
    event_loop.add_sample(sample(0., None)).unwrap();
    for number in 0..size {
        let missed = Missed {
            start: 0.,
            end: 0.,
            samples: 1,
            why: MissedReason::ALL[number % MissedReason::ALL.len()],
        };
        event_loop.add_missed(missed).unwrap();
    }
    of_one(event_loop)
}

fn event_loops(size: usize) -> Recording {
    let with_a_sample = (0..size).map(|number| {
        let mut event_loop = event_loop(&number.to_string());
        event_loop.add_sample(sample(0., None)).unwrap();
        event_loop
    });
    of_event_loops("", with_a_sample.collect())
}

fn long_event_loop_names(size: usize) -> Recording {
    let name = "a".repeat(16 * size);
    let mut event_loops: Vec<_> = (0..2).map(|_| event_loop(&name)).collect();
    for event_loop in &mut event_loops {
        for number in 0..size {
            let frame = add_frame(event_loop, number.to_string(), "", 0);
            let stack = event_loop.add_stack(None, frame).unwrap();
            event_loop
                .add_sample(sample(number as f64, Some(stack)))
                .unwrap();
        }
    }
    of_event_loops("", event_loops)
}

/// Texts of scripts, each with a function.
fn texts(size: usize) -> Recording {
    let mut event_loop = event_loop("texts");
    for number in 0..size {
        let text = Source {
            name: number.to_string(),
            line: NonZeroU32::MIN,
            column: NonZeroU32::MIN,
            text: Some("\u{1}".repeat(16)),
            map_url: None,
        };
        let function = Function {
            source: Some(event_loop.add_source(text).unwrap()),
            ..Function::default()
        };
        let function = event_loop.add_function(function).unwrap();
        let frame = event_loop.add_frame(Frame {
            function,
            place: None,
        });
        let stack = event_loop.add_stack(None, frame.unwrap()).unwrap();
        event_loop
            .add_sample(sample(number as f64, Some(stack)))
            .unwrap();
    }
    of_one(event_loop)
}

/// A text that takes all the room.
fn long_text(size: usize) -> Recording {
    let mut event_loop = event_loop("text");
    let text = Source {
        name: String::new(),
        line: NonZeroU32::MIN,
        column: NonZeroU32::MIN,
        text: Some("a".repeat(64 * size)),
        map_url: None,
    };
    event_loop.add_source(text).unwrap();
    event_loop.add_sample(sample(0., None)).unwrap();
    of_one(event_loop)
}

fn long_process_name(size: usize) -> Recording {
    let mut recording = event_loops(size);
    recording.processes[0].name = "p".repeat(200 * size);
    recording.processes.push(Process::default());
    recording
}

/// The largest recording of a shape that a format can hold in the bytes of a shape's file. None if it holds none.
fn file_of(name: &str, shape: Shape, format: Format) -> Option<File> {
    let mut size = 65_536;
    let content = loop {
        let mut recording = shape(size);
        if format.holds_one_event_loop() {
            assert!(recording.keep_only(0));
        }
        if let Ok(length) = format.length(&recording)
            && length <= MAX_SHAPE_BYTES + Format::Html.length(&of_event_loops("", vec![])).unwrap()
        {
            let mut content = Vec::new();
            format.write(&recording, &mut content).unwrap();
            break content;
        }
        if size == 1 {
            return None;
        }
        size /= 2;
    };
    Some(File {
        name: format!("{format}: {name}"),
        content,
    })
}

fn compressed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// A text between others, again and again.
fn repeated(before: &str, text: &str, bytes: usize, after: &str) -> Vec<u8> {
    let mut repeated = before.as_bytes().to_vec();
    repeated.extend(text.as_bytes().repeat(bytes / text.len()));
    repeated.extend(after.as_bytes());
    repeated
}

/// Texts that no writer makes.
fn written_by_hand() -> Vec<File> {
    const MANY: usize = 47_000_000;
    const NODE: &str = r#"{"id":1,"callFrame":{"functionName":"f"}}"#;
    let firefox = |before: &str, text: &str, bytes: usize, after: &str| {
        let head = r#"{"meta":{"preprocessedProfileVersion":55,"interval":1},"threads":[{"samples":{"stack":[],"time":[]},"stackTable":{"prefix":[],"frame":[]},"frameTable":{"func":[]},"funcTable":{"name":[]},"stringArray":[],"#;
        repeated(&format!("{head}{before}"), text, bytes, after)
    };
    let page = |before: &str, text: &str, bytes: usize, after: &str| {
        let start = r#"<!DOCTYPE html><script type="application/json" id="recording">"#;
        let before = format!("{start}{before}");
        repeated(&before, text, bytes, &format!("{after}</script>"))
    };
    let trace =
        |text: &str| format!(r#"{{"resources":[],"frames":[],"stacks":[],"samples":{text}"#);
    let mut files = vec![
        ("collapsed: 615 bytes of the greatest weight", {
            (0..25)
                .map(|name| format!("[{name:x}];f {HEAVIEST}\n"))
                .collect::<String>()
                .into_bytes()
        }),
        ("collapsed: 3 kB of the greatest weight", {
            (0..125)
                .map(|name| format!("[{name}];f {HEAVIEST}\n"))
                .collect::<String>()
                .into_bytes()
        }),
        ("collapsed: one function on each line", {
            (0..5_000_000)
                .map(|name| format!("{name:x} 1\n"))
                .collect::<String>()
                .into_bytes()
        }),
        ("collapsed: an event loop on each line", {
            (0..3_000_000)
                .map(|name| format!("[{name:x}];f 1\n"))
                .collect::<String>()
                .into_bytes()
        }),
        (
            "trace: a deep list",
            repeated(&trace(""), "[", 1_000_000, ""),
        ),
        ("trace: a deep list that nobody reads", {
            repeated(r#"{"more":"#, "[", MANY, "")
        }),
        ("trace: members without end", {
            let members: String = (0..4_000_000)
                .map(|name| format!("\"{name:x}\":0,"))
                .collect();
            format!("{{{members}\"frames\":[],\"stacks\":[],\"samples\":[],\"resources\":[]}}")
                .into_bytes()
        }),
        ("trace: one member without end", {
            repeated("{", r#""frames":[],"#, MANY, "\"more\":0}")
        }),
        ("trace: samples", {
            repeated(
                &trace("["),
                r#"{"timestamp":0},"#,
                MANY,
                r#"{"timestamp":0}]}"#,
            )
        }),
        ("trace: resources", {
            repeated(
                r#"{"frames":[],"stacks":[],"samples":[],"resources":["#,
                r#""","#,
                MANY,
                r#"""]}"#,
            )
        }),
        ("trace: a quoted variant", {
            repeated(
                &trace(r#"[{"timestamp":0,"marker":""#),
                "\\u001b",
                MANY,
                r#""}]}"#,
            )
        }),
        ("speedscope: events", {
            repeated(
                r#"{"shared":{"frames":[{"name":"f"}]},"profiles":[{"type":"evented","unit":"none","events":["#,
                r#"{"type":"O","frame":0,"at":0},{"type":"C","frame":0,"at":0},"#,
                MANY,
                r#"{"type":"O","frame":0,"at":2}]}]}"#,
            )
        }),
        ("speedscope: events that open and close deep down", {
            let open: String = (0..9_999)
                .map(|at| format!(r#"{{"type":"O","frame":0,"at":{at}}},"#))
                .collect();
            let times = 10_000..400_000;
            let pairs: String = times
                .map(|at| {
                    format!(
                        r#"{{"type":"O","frame":0,"at":{at}}},{{"type":"C","frame":0,"at":{at}.5}},"#
                    )
                })
                .collect();
            format!(
                r#"{{"shared":{{"frames":[{{"name":"f"}}]}},"profiles":[{{"type":"evented","unit":"none","events":[{open}{pairs}{{"type":"C","frame":0,"at":400000}}]}}]}}"#
            )
            .into_bytes()
        }),
        ("chrome-trace: events without end", {
            repeated(
                r#"{"traceEvents":["#,
                r#"{"name":"x","args":{"data":[]}},"#,
                MANY,
                "",
            )
        }),
        ("chrome-trace: names of threads", {
            repeated(
                "[",
                r#"{"name":"thread_name","ph":"M","pid":1,"tid":2,"args":{"name":""}},"#,
                MANY,
                r#"{"name":"CpuProfile","args":{"data":{"cpuProfile":{}}}}]"#,
            )
        }),
        ("chrome-trace: workers and documents", {
            let events: String = (0..400_000)
                .map(|number| {
                    format!(
                        r#"{{"ph":"M","name":"TracingSessionIdForWorker","pid":1,"args":{{"data":{{"url":"a","workerThreadId":{number}}}}}}},{{"name":"FrameCommittedInBrowser","args":{{"data":{{"url":"{number}","processId":1}}}}}},"#
                    )
                })
                .collect();
            format!(r#"[{events}{{"name":"Profile","pid":1,"args":{{"data":{{}}}}}}]"#).into_bytes()
        }),
        ("chrome-trace: profiles", {
            repeated(
                "[",
                r#"{"ph":"P","name":"Profile","args":{"data":{}}},"#,
                MANY,
                r#"{"ph":"P","name":"Profile","args":{"data":{}}}]"#,
            )
        }),
        ("chrome-trace: samples", {
            let samples = vec!["1"; 5_000_000].join(",");
            format!(
                r#"[{{"ph":"P","name":"CpuProfile","args":{{"data":{{"cpuProfile":{{"nodes":[{{"id":1,"callFrame":{{"functionName":"f"}}}}],"samples":[{samples}]}},"timeDeltas":[{samples}]}}}}}}]"#
            )
            .into_bytes()
        }),
        ("chrome-trace: a deep tree", {
            let nodes: Vec<_> = (0..400_000)
                .map(|id| {
                    format!(
                        r#"{{"id":{id},"parent":{},"callFrame":{{"functionName":"f"}}}}"#,
                        id + 1
                    )
                })
                .collect();
            format!(
                r#"[{{"ph":"P","name":"CpuProfile","args":{{"data":{{"cpuProfile":{{"nodes":[{},{{"id":400000,"callFrame":{{"functionName":"f"}}}}]}}}}}}}}]"#,
                nodes.join(",")
            )
            .into_bytes()
        }),
        ("hermes: frames", {
            let frames: Vec<_> = (0..600_000)
                .map(|id| format!(r#""{id}":{{"name":"f","parent":{}}}"#, id / 2))
                .collect();
            format!(r#"{{"samples":[],"stackFrames":{{{}}}}}"#, frames.join(",")).into_bytes()
        }),
        ("hermes: samples of deep stacks", {
            // Each sample asks for another one, which has the same callers.
            let frames: Vec<_> = (0..200_000)
                .map(|id| {
                    let parent = if id < 9_000 { id + 1 } else { 1 };
                    let parent = if id == 8_999 {
                        String::new()
                    } else {
                        format!(r#","parent":{parent}"#)
                    };
                    format!(r#""{id}":{{"name":"{id}"{parent}}}"#)
                })
                .collect();
            let samples: Vec<_> = (0..200_000)
                .map(|id| format!(r#"{{"ts":{id},"sf":{id},"tid":{}}}"#, id % 3))
                .collect();
            format!(
                r#"{{"samples":[{}],"stackFrames":{{{}}}}}"#,
                samples.join(","),
                frames.join(",")
            )
            .into_bytes()
        }),
        ("hermes: threads", {
            let samples: Vec<_> = (0..500_000)
                .map(|tid| format!(r#"{{"ts":1,"sf":1,"tid":{tid}}}"#))
                .collect();
            format!(
                r#"{{"samples":[{}],"stackFrames":{{"1":{{"name":"f"}}}}}}"#,
                samples.join(",")
            )
            .into_bytes()
        }),
        ("hermes: names of threads", {
            let events: Vec<_> = (0..20_000)
                .map(|tid| format!(r#"{{"name":"thread_name","tid":{tid}}}"#))
                .collect();
            let samples: Vec<_> = (0..20_000)
                .map(|tid| format!(r#"{{"ts":1,"sf":1,"tid":{tid}}}"#))
                .collect();
            format!(
                r#"{{"traceEvents":[{}],"samples":[{}],"stackFrames":{{"1":{{"name":"f"}}}}}}"#,
                events.join(","),
                samples.join(",")
            )
            .into_bytes()
        }),
        (
            "collapsed: comments",
            repeated("", "# f 1\n", MANY, "f 1\n"),
        ),
        (
            "collapsed: fractions",
            repeated("", "f 0.000001\n", MANY, "f 9007199254\n"),
        ),
        ("collapsed: two counts", {
            (0..2_000_000)
                .map(|name| format!("{name:x} {name} 1\n"))
                .collect::<String>()
                .into_bytes()
        }),
        (
            "cpuprofile: halves of characters",
            repeated(
                r#"{"startTime":0,"nodes":[{"id":1,"callFrame":{"functionName":""#,
                r"\ud83d",
                MANY,
                r#""}}]}"#,
            ),
        ),
        ("speedscope: empty samples", {
            repeated(
                r#"{"shared":{"frames":[]},"profiles":[{"type":"sampled","unit":"none","samples":["#,
                "[],",
                MANY,
                "[]]}]}",
            )
        }),
        ("speedscope: profiles", {
            let profile = r#"{"type":"sampled","unit":"none"},"#;
            let text = repeated(r#"{"shared":{"frames":[]},"profiles":["#, profile, MANY, "");
            [&text[..text.len() - 1], b"]}"].concat()
        }),
        ("cpuprofile: children", {
            let node = NODE.trim_end_matches('}');
            let before = format!(r#"{{"startTime":0,"nodes":[{node}}},"children":["#);
            repeated(&before, "1,", MANY, "1]}]}")
        }),
        ("cpuprofile: nodes", {
            let nodes: Vec<_> = (0..400_000)
                .map(|id| NODE.replace("\"id\":1", &format!("\"id\":{id},\"hitCount\":9999999999")))
                .collect();
            format!(r#"{{"startTime":0,"nodes":[{}]}}"#, nodes.join(",")).into_bytes()
        }),
        ("cpuprofile: entries that are no hits", {
            let node = NODE.replace("\"id\":1", "\"id\":1,\"hitCount\":1");
            let [ids, deltas] = ["1", "0"].map(|entry| vec![entry; 2_000_000].join(","));
            format!(
                r#"{{"startTime":0,"nodes":[{node}],"samples":[{ids}],"timeDeltas":[{deltas}]}}"#
            )
            .into_bytes()
        }),
        (
            "firefox: markers",
            firefox(r#""markers":{"data":["#, "{},", MANY, "{}]}}]}"),
        ),
        (
            "firefox: a process id",
            firefox(r#""pid":["#, "[],", MANY, "[]]}]}"),
        ),
        (
            "firefox: markers that are nothing",
            firefox(r#""markers":{"data":["#, "null,", MANY, "null]}}]}"),
        ),
        ("firefox: functions of one long string", {
            let count = 100_000;
            let list = |entry: &dyn Fn(usize) -> String| {
                (0..count).map(entry).collect::<Vec<_>>().join(",")
            };
            format!(
                r#"{{"meta":{{"preprocessedProfileVersion":55,"interval":1}},"threads":[{{"samples":{{"stack":[],"time":[]}},"stackTable":{{"prefix":[{}],"frame":[{}]}},"frameTable":{{"func":[{}]}},"funcTable":{{"name":[{}],"fileName":[{}],"lineNumber":[{}]}},"stringArray":["f","{}"]}}]}}"#,
                list(&|_| "null".to_owned()),
                list(&|index| index.to_string()),
                list(&|index| index.to_string()),
                list(&|index| (index % 2).to_string()),
                list(&|index| match index % 4 { 0 => "null", 1 => "0", _ => "1" }.to_owned()),
                list(&|index| (index / 4).to_string()),
                "x".repeat(1_000_000),
            )
            .into_bytes()
        }),
        ("firefox: many threads that share large tables", {
            let list = |entry: &str, count: usize| vec![entry; count].join(",");
            const STACKS: usize = 3_000_000;
            format!(
                r#"{{"meta":{{"preprocessedProfileVersion":70,"interval":1}},"threads":[{}],"shared":{{"stackTable":{{"frame":[{}],"prefixOffset":[{}]}},"frameTable":{{"func":[0]}},"funcTable":{{"name":[0]}},"stringArray":["f"]}}}}"#,
                list(r#"{"samples":{"stack":[9],"timeDeltas":[0]}}"#, 100_000),
                list("0", STACKS),
                list("0", STACKS),
            )
            .into_bytes()
        }),
        ("firefox: threads with one deep stack", {
            let list = |entry: &str, count: usize| vec![entry; count].join(",");
            const DEPTH: usize = 9_999;
            format!(
                r#"{{"meta":{{"preprocessedProfileVersion":70,"interval":1}},"threads":[{}],"shared":{{"stackTable":{{"frame":[{}],"prefixOffset":[0,{}]}},"frameTable":{{"func":[0]}},"funcTable":{{"name":[0]}},"stringArray":["f"]}}}}"#,
                list(&format!(r#"{{"samples":{{"stack":[{}],"timeDeltas":[0]}}}}"#, DEPTH - 1), 100_000),
                list("0", DEPTH),
                list("1", DEPTH - 1),
            )
            .into_bytes()
        }),
        ("firefox: a long chain of callers", {
            let list = |entry: &str, count: usize| vec![entry; count].join(",");
            const STACKS: usize = 10_000_000;
            format!(
                r#"{{"meta":{{"preprocessedProfileVersion":70,"interval":1}},"threads":[{{"samples":{{"stack":[{}],"timeDeltas":[0]}}}}],"shared":{{"stackTable":{{"frame":[{}],"prefixOffset":[0,{}]}},"frameTable":{{"func":[0]}},"funcTable":{{"name":[0]}},"stringArray":["f"]}}}}"#,
                STACKS - 1,
                list("0", STACKS),
                list("1", STACKS - 1),
            )
            .into_bytes()
        }),
        ("firefox: a long text of a script for each thread", {
            let threads = vec![r#"{"samples":{"stack":[0],"timeDeltas":[0]}}"#; 10_000].join(",");
            format!(
                r#"{{"meta":{{"preprocessedProfileVersion":70,"interval":1}},"threads":[{threads}],"shared":{{"stackTable":{{"frame":[0],"prefixOffset":[0]}},"frameTable":{{"func":[0]}},"funcTable":{{"name":[0],"source":[0]}},"sources":{{"filename":[0],"content":["{}"]}},"stringArray":["f"]}}}}"#,
                "x".repeat(10_000_000),
            )
            .into_bytes()
        }),
        ("firefox: rows of frames", {
            let raw = |frames: String, after: &str| {
                format!(
                    r#"{{"meta":{{"version":34,"interval":1}},"threads":[{{"stringTable":["f"],"frameTable":{{"schema":{{"location":0}},"data":[{frames}]}}{after}"#
                )
            };
            let rest = r#","stackTable":{"schema":{"prefix":0,"frame":1},"data":[]},"samples":{"schema":{"stack":0,"time":1},"data":[]}}]}"#;
            raw(vec!["[0]"; 10_000_000].join(","), rest).into_bytes()
        }),
        ("firefox: empty rows", {
            let before = r#"{"meta":{"version":34,"interval":1},"threads":[{"stringTable":[],"frameTable":{"schema":{},"data":["#;
            repeated(before, "[],", MANY, "[]]}}]}")
        }),
        ("firefox: processes within processes", {
            let before = r#"{"meta":{"version":34},"threads":[],"processes":["#;
            before.repeat(1_000_000).into_bytes()
        }),
        ("html: samples", {
            let head = r#"{"version":2,"interval":1,"timeOrigin":null,"processes":[{"name":"","pid":null,"ended":null,"eventLoops":[{"name":"","kind":"page","documents":["#;
            page(head, r#""","#, MANY, r#"""]}]}]}"#)
        }),
        ("html: a deep list", page(r#"{"version":"#, "[", MANY, "")),
        (
            "html: numbers",
            page(
                r#"{"version":2,"processes":[{"eventLoops":[{"samples":{"time":["#,
                "0,",
                MANY,
                "0]}}]}]}",
            ),
        ),
        ("html: missed samples", {
            let missed = |count: usize| {
                let [start, end, why] = ["0"; 3].map(|entry| vec![entry; count].join(","));
                let samples = vec!["1"; count].join(",");
                let tables = r#""resources":[],"realms":[],"functions":{"name":[],"kind":[],"resource":[],"line":[],"column":[],"realm":[]},"frames":{"function":[],"line":[],"column":[]},"stacks":{"parent":[],"frame":[]},"samples":{"time":[0],"stack":[-1],"activity":[-1]}"#;
                format!(
                    r#"{{"version":2,"interval":1,"timeOrigin":null,"processes":[{{"name":"","pid":null,"ended":null,"eventLoops":[{{"name":"","kind":"worker","documents":[],{tables},"missed":{{"start":[{start}],"end":[{end}],"samples":[{samples}],"why":[{why}]}}}}]}}]}}"#
                )
            };
            page(&missed(6_000_000), " ", 1, "")
        }),
    ];
    for (name, text) in [
        ("compressed: nothing", vec![b' '; 800_000_000]),
        ("compressed: lines", repeated("", "f 1\n", 450_000_000, "")),
        (
            "compressed: lists",
            repeated(
                r#"{"shared":{"frames":[]},"profiles":[{"type":"sampled","unit":"none","samples":["#,
                "[],",
                450_000_000,
                "",
            ),
        ),
    ] {
        files.push((name, compressed(&text)));
    }
    let files = files.into_iter();
    files
        .map(|(name, content)| File {
            name: name.to_owned(),
            content,
        })
        .collect()
}

/// Seconds of processor time for all that a child does: a conversion that does not end is ended, and fails its test.
const MAX_SECONDS: u32 = 120;

/// This program, with one of its tests alone, in a shell that has set limits.
fn child(test: &str, limits: &str, file: &Path) -> Output {
    let program = env::current_exe().unwrap();
    Command::new("sh")
        .args([
            "-c",
            &format!("{limits}; ulimit -t {MAX_SECONDS}; exec \"$0\" \"$@\""),
        ])
        .arg(program)
        .args([
            "--exact",
            test,
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(FILE, file)
        // Threads would reserve addresses that they do not need.
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap()
}

/// Counts what it gets.
#[derive(Default)]
struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a child process does with a hostile file; it says what became of it.
#[test]
#[ignore = "A process of other tests"]
fn child_converts() {
    let file = env::var_os(FILE).expect("other tests run this one");
    let start = Instant::now();
    let content = content(fs::File::open(file).unwrap()).unwrap();
    let (recording, _) = match read(&content, None, None) {
        Ok(read) => read,
        Err(error) => {
            println!("\nnot read: {error}");
            return;
        },
    };
    drop(content);
    let reading = start.elapsed();
    for format in Format::ALL {
        let start = Instant::now();
        let mut counter = Counter::default();
        match format.write(&recording, &mut counter) {
            Ok(()) => println!("\n{format}: written: {}", counter.0),
            Err(WriteError::Io(error)) => panic!("{format}: {error}"),
            Err(error) => {
                assert_eq!(
                    counter.0, 0,
                    "{format}: {error}: something was written before"
                );
                println!("\n{format}: refused: {error}");
            },
        }
        let time = reading + start.elapsed();
        println!("\n{TIME}{:.2}", time.as_secs_f64());
    }
}

/// kB of addresses that a process may have that makes a report: 3,000,000,000 bytes.
const MAX_ADDRESSES_OF_REPORT: u32 = 2_929_687;

/// What a child process does that makes a report on a hostile file; it says what became of it.
#[test]
#[ignore = "A process of other tests"]
fn child_reports() {
    let file = env::var_os(FILE).expect("other tests run this one");
    let start = Instant::now();
    let content = fs::File::open(file).unwrap();
    match read_sums(content, None, ReadOptions::default(), |_, _| ()) {
        Ok((recording, ..)) => {
            let files = [(String::new(), recording)];
            let by = By::ALL.map(|by| report_by(&files, by, 20).len());
            let lines = line_report_of(&files, 20).len();
            println!("\nreported: {by:?}, {lines}");
        },
        Err(error) => println!("\nnot read: {error}"),
    }
    println!("\n{TIME}{:.2}", start.elapsed().as_secs_f64());
}

/// Checks that a report is made of a file, or that it is refused, and prints what became of it.
fn check_report(name: &str, path: &Path) {
    let limit = format!("ulimit -v {MAX_ADDRESSES_OF_REPORT}");
    let output = child("child_reports", &limit, path);
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{name}: {}\n{text}\n{errors}",
        output.status
    );
    let told: Vec<_> = text
        .lines()
        .filter(|line| line.contains("reported: ") || line.contains("not read: "))
        .collect();
    assert_eq!(told.len(), 1, "{name}: {text}");
    assert!(
        !told[0].contains('\u{1b}') && told[0].len() < 5_000,
        "{name}: {told:?}"
    );
    let time = text.lines().find_map(|line| line.strip_prefix(TIME));
    println!("{name}: {}, {} s", told[0], time.unwrap_or_default());
}

/// The lines of a child that tell what became of a file.
fn check(file: &File, folder: &Path) -> Vec<String> {
    let File { name, content } = file;
    let path = folder.join("hostile");
    fs::write(&path, content).unwrap();
    let limit = format!("ulimit -v {MAX_ADDRESSES}");
    let output = child("child_converts", &limit, &path);
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{name}: {}\n{text}\n{errors}",
        output.status
    );
    check_report(name, &path);
    let is_told = |line: &&str| {
        line.contains("not read: ") || line.contains("written: ") || line.contains("refused: ")
    };
    let lines: Vec<_> = text.lines().filter(is_told).collect();
    for line in &lines {
        assert!(
            !line.contains('\u{1b}') && line.len() < 5_000,
            "{name}: {line:?}"
        );
        if let Some((_, length)) = line.split_once("written: ") {
            let length: u64 = length.parse().unwrap();
            assert!(length <= MAX_TEXT_BYTES, "{name}: {line}");
        }
    }
    let is_refused = lines.len() == 1 && lines[0].starts_with("not read: ");
    assert!(
        is_refused || lines.len() == Format::ALL.len(),
        "{name}: {lines:?}"
    );
    let longest = text
        .lines()
        .filter_map(|line| line.strip_prefix(TIME)?.parse().ok())
        .fold(0., f64::max);
    println!(
        "{name}, {} bytes, at most {longest} s a format\n  {}",
        content.len(),
        lines.join("\n  ")
    );
    lines.into_iter().map(str::to_owned).collect()
}

#[test]
fn every_shape_in_every_format_is_written_or_refused_within_the_bounds() {
    let cases = Format::ALL
        .into_iter()
        .flat_map(|format| SHAPES.map(|(name, shape)| (format, name, shape)));
    let cases: Vec<_> = cases
        .filter(|(format, name, _)| {
            // Without lines its text has no more than that of the format without lines.
            let is_of_lines = matches!(format, Format::CollapsedLines | Format::SpeedscopeLines);
            !is_of_lines || name.contains("lines")
        })
        .collect();
    let unheld = Mutex::new(BTreeSet::new());
    // By shape: how many of its conversions are refused.
    let refused = Mutex::new(BTreeMap::new());
    let next = AtomicUsize::new(0);
    let check_one_after_the_other = || {
        let folder = tempfile::tempdir().unwrap();
        while let Some(&(format, name, shape)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(file) = file_of(name, shape, format) else {
                unheld.lock().unwrap().insert((name, format.as_str()));
                continue;
            };
            let lines = check(&file, folder.path());
            assert_eq!(
                lines.len(),
                Format::ALL.len(),
                "{format}: {name}: {lines:?}"
            );
            let of_file = lines.iter().filter(|line| line.contains("refused: "));
            *refused.lock().unwrap().entry(name).or_insert(0) += of_file.count();
        }
    };
    // Two at a time.
    thread::scope(|scope| {
        let other = scope.spawn(check_one_after_the_other);
        check_one_after_the_other();
        other.join().unwrap_or_else(|panic| resume_unwind(panic));
    });
    assert_eq!(cases.len(), 130);
    let unheld = unheld.into_inner().unwrap();
    assert_eq!(unheld, BTreeSet::from(UNHELD));
    // Or the files are not hostile.
    let refused = refused.into_inner().unwrap();
    let of_shapes = refused.iter();
    let never: Vec<_> = of_shapes
        .filter(|(_, count)| **count == 0)
        .map(|(name, _)| *name)
        .collect();
    assert_eq!(never, NEVER_REFUSED, "{refused:?}");
}

#[test]
fn texts_that_no_writer_makes_are_read_or_refused_within_the_bounds() {
    let folder = tempfile::tempdir().unwrap();
    for file in written_by_hand() {
        check(&file, folder.path());
    }
}

/// What a child process does that may write only short files.
#[test]
#[ignore = "A process of other tests"]
fn child_replaces() {
    let file = env::var_os(FILE).expect("other tests run this one");
    let path = Path::new(&file);
    let (recording, _) = read(&fs::read(path).unwrap(), None, None).unwrap();
    match replace(path, Format::Html, &recording) {
        Err(WriteError::Io(error)) if error.kind() == ErrorKind::FileTooLarge => {
            println!("\nnot written: {error}");
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_survives_when_its_place_takes_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let text = "f;g 2\nf 1\n";
    fs::write(&path, text).unwrap();
    let limits = "trap '' XFSZ; ulimit -f 8";
    let output = child("child_replaces", limits, &path);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && told.contains("not written: "),
        "{output:?}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}
