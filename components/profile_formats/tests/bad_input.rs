/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What is wrong with a file is said with its place, and nothing in a file makes reading fail otherwise.

use std::path::Path;

use profile_formats::{EventLoop, Format, Place, read};

fn error(format: Format, text: &str) -> String {
    match read(text.as_bytes(), None, Some(format)) {
        Ok(_) => panic!("{format} {text}: read"),
        Err(error) => error.to_string(),
    }
}

fn trace(frames: &str, stacks: &str, samples: &str) -> String {
    format!(
        r#"{{"resources":["https://a.test/a.js"],"frames":[{frames}],"stacks":[{stacks}],"samples":[{samples}]}}"#
    )
}

#[test]
fn traces() {
    let frame = r#"{"name":"f","resourceId":0,"line":1,"column":1}"#;
    let stack = r#"{"frameId":0}"#;
    for (text, place, problem) in [
        ("", "", "EOF"),
        ("[]", "", "expected struct Trace"),
        ("{}", "", "missing field"),
        (r#"{"frames":{}}"#, "frames: ", "expected a sequence"),
        (
            &trace(r#"{"name":1}"#, "", ""),
            "frames[0].name: ",
            "expected a string",
        ),
        (
            &trace(r#"{"name":"f","line":-1}"#, "", ""),
            "frames[0].line: ",
            "u32",
        ),
        (
            &trace(r#"{"name":"f","resourceId":1}"#, "", ""),
            "frames[0].resourceId: ",
            "1 is not an index of resources, which has 1",
        ),
        (
            &trace(frame, r#"{"frameId":1}"#, ""),
            "stacks[0].frameId: ",
            "1 is not an index of frames",
        ),
        (
            &trace(frame, r#"{"frameId":0,"parentId":0}"#, ""),
            "stacks[0].parentId: ",
            "0 is not the index of a stack before",
        ),
        (
            &trace(
                frame,
                r#"{"frameId":0},{"frameId":0,"parentId":4294967295}"#,
                "",
            ),
            "stacks[1].parentId: ",
            "before",
        ),
        (
            &trace(frame, stack, r#"{"timestamp":1,"stackId":1}"#),
            "samples[0].stackId: ",
            "1 is not an index of stacks",
        ),
        (
            &trace(frame, stack, r#"{"timestamp":2},{"timestamp":1}"#),
            "samples[1].timestamp: ",
            "1 ms is before 2 ms",
        ),
        (
            &trace(frame, stack, r#"{"timestamp":-1}"#),
            "samples[0].timestamp: ",
            "-1 ms is not between",
        ),
        (
            &trace(frame, stack, r#"{"timestamp":1e300}"#),
            "samples[0].timestamp: ",
            "is not between",
        ),
        (
            &trace(frame, stack, r#"{"timestamp":1e999}"#),
            "samples[0].timestamp: ",
            "out of range",
        ),
        (
            &trace(frame, stack, r#"{"timestamp":1,"marker":"x"}"#),
            "samples[0].marker: ",
            "unknown variant `x`",
        ),
        (
            &trace(frame, stack, r#"{"timestamp":1,"marker":"idle"}"#),
            "samples[0].marker: ",
            "unknown variant `idle`",
        ),
        (&(trace(frame, stack, "") + "x"), "", "trailing"),
    ] {
        let error = error(Format::Trace, text);
        assert!(error.starts_with(place), "{text}: {error}");
        assert!(error.contains(problem), "{text}: {error}");
    }
}

fn cpuprofile(nodes: &str, samples: &str) -> String {
    format!(r#"{{"nodes":[{nodes}],"startTime":0,"endTime":9{samples}}}"#)
}

#[test]
fn cpuprofiles() {
    let node = |id: u64, rest: &str| {
        format!(
            r#"{{"id":{id},"callFrame":{{"functionName":"f","url":"","lineNumber":-1,"columnNumber":-1}}{rest}}}"#
        )
    };
    let line = node(1, "").replace("\"lineNumber\":-1", "\"lineNumber\":-2");
    for (text, place, problem) in [
        (
            cpuprofile(&line, ""),
            "nodes[0].callFrame.lineNumber: ",
            "-2",
        ),
        (
            cpuprofile(&format!("{},{}", node(1, ""), node(1, "")), ""),
            "nodes[1].id: ",
            "another node",
        ),
        (
            cpuprofile(&node(1, r#","children":[7]"#), ""),
            "nodes[0].children[0]: ",
            "7 is the id of no node",
        ),
        (
            cpuprofile(&node(1, r#","children":[1]"#), ""),
            "nodes[0]: ",
            "its own callers",
        ),
        (
            cpuprofile(&node(1, r#","parent":1"#), ""),
            "nodes[0]: ",
            "its own callers",
        ),
        (
            cpuprofile(
                &format!(
                    "{},{}",
                    node(1, r#","children":[2]"#),
                    node(2, r#","children":[1]"#)
                ),
                "",
            ),
            "nodes[0]: ",
            "its own callers",
        ),
        (
            cpuprofile(
                &[
                    node(1, r#","children":[3]"#),
                    node(2, r#","children":[3]"#),
                    node(3, ""),
                ]
                .join(","),
                "",
            ),
            "nodes[1].children[0]: ",
            "two callers",
        ),
        (
            cpuprofile(&node(1, ""), r#","samples":[2],"timeDeltas":[1]"#),
            "samples[0]: ",
            "2 is the id of no node",
        ),
        (
            cpuprofile(&node(1, ""), r#","samples":[1,1],"timeDeltas":[1]"#),
            "timeDeltas: ",
            "1 of 2 samples",
        ),
        (
            cpuprofile(&node(1, ""), r#","samples":[1]"#),
            "",
            "no timeDeltas",
        ),
        (
            cpuprofile(&node(1, ""), r#","samples":[1],"timeDeltas":[-1]"#),
            "timeDeltas[0]: ",
            "is not between",
        ),
        (
            cpuprofile(&node(1, r#","hitCount":18446744073709551615"#), ""),
            "nodes[0].hitCount: ",
            "in all",
        ),
        (
            cpuprofile(&node(1, "").replace("functionName", "name"), ""),
            "nodes[0].callFrame",
            "functionName",
        ),
        (
            cpuprofile(&node(1, r#","positionTicks":[{"line":-1,"ticks":1}]"#), ""),
            "nodes[0].positionTicks[0].line: ",
            "u32",
        ),
        (
            cpuprofile(
                &node(1, r#","positionTicks":[{"line":4294967296,"ticks":1}]"#),
                "",
            ),
            "nodes[0].positionTicks[0].line: ",
            "u32",
        ),
        (
            cpuprofile(&node(1, r#","positionTicks":[{"line":1,"ticks":-1}]"#), ""),
            "nodes[0].positionTicks[0].ticks: ",
            "u64",
        ),
        (
            cpuprofile(&node(1, r#","positionTicks":[{"line":1}]"#), ""),
            "nodes[0].positionTicks[0]",
            "missing field `ticks`",
        ),
    ] {
        let error = error(Format::Cpuprofile, &text);
        assert!(error.starts_with(place), "{text}: {error}");
        assert!(error.contains(problem), "{text}: {error}");
    }
}

#[test]
fn chromes_times_that_go_back_are_put_in_order() {
    let nodes = r#"{"id":1,"callFrame":{"functionName":"(root)"},"children":[2]},{"id":2,"callFrame":{"functionName":"f"}}"#;
    let text = cpuprofile(
        nodes,
        r#","samples":[2,1,2],"timeDeltas":[1000,5000,-2000]"#,
    );
    let (recording, _) = read(text.as_bytes(), None, None).unwrap();
    let event_loop = recording.event_loops().next().unwrap();
    let samples: Vec<_> = event_loop
        .samples()
        .iter()
        .map(|sample| (sample.time, sample.stack.is_some()))
        .collect();
    assert_eq!(samples, [(1., true), (4., true), (6., false)]);
}

/// The lines of the leaves of all samples; 0 where there is none.
fn lines(event_loop: &EventLoop) -> Vec<(u64, u32)> {
    let samples = event_loop.samples().iter();
    let lines = samples.map(|sample| {
        let frame = sample.stack.map(|stack| event_loop.stack(stack).frame);
        let place = frame.and_then(|frame| event_loop.frame(frame).place);
        let line = place.and_then(Place::line);
        (sample.weight, line.map_or(0, |line| line.get()))
    });
    lines.collect()
}

#[test]
fn ticks_of_a_cpuprofile_are_lines_of_samples_as_far_as_there_are_samples() {
    let nodes = |hits: u64, ticks: &str| {
        format!(
            r#"{{"id":1,"callFrame":{{"functionName":"(root)"}},"children":[2]}},{{"id":2,"hitCount":{hits},"callFrame":{{"functionName":"f"}},"positionTicks":[{ticks}]}}"#
        )
    };
    let read_lines = |text: &str| {
        let (recording, _) = read(text.as_bytes(), None, None).unwrap();
        lines(recording.event_loops().next().unwrap())
    };
    let ticks = r#"{"line":7,"ticks":2},{"line":3,"ticks":0},{"line":0,"ticks":1},{"line":4294967295,"ticks":9007199254740993}"#;
    let samples = r#","samples":[2,1,2,2,2,2],"timeDeltas":[1,1,1,1,1,1]"#;
    assert_eq!(
        read_lines(&cpuprofile(&nodes(0, ticks), samples)),
        [(1, 7), (1, 0), (1, 7), (1, 0), (1, u32::MAX), (1, u32::MAX)]
    );
    assert_eq!(
        read_lines(&cpuprofile(&nodes(9, ticks), "")),
        [(2, 7), (1, 0), (6, u32::MAX)]
    );
    // What has no ticks has no line.
    let ticks =
        r#"{"line":7,"ticks":18446744073709551615},{"line":8,"ticks":18446744073709551615}"#;
    assert_eq!(read_lines(&cpuprofile(&nodes(9, ticks), "")), [(9, 7)]);
    assert_eq!(
        read_lines(&cpuprofile(&nodes(9, r#"{"line":7,"ticks":2}"#), "")),
        [(2, 7), (7, 0)]
    );
}

fn speedscope(profile: &str) -> String {
    format!(r#"{{"shared":{{"frames":[{{"name":"f"}}]}},"profiles":[{{{profile}}}]}}"#)
}

#[test]
fn speedscope_files() {
    for (profile, place, problem) in [
        (
            r#""type":"x","unit":"none""#,
            "profiles[0].type: ",
            "unknown variant",
        ),
        (
            r#""type":"evented","unit":"none","events":[{"type":"X","frame":0,"at":0}]"#,
            "profiles[0].events[0].type: ",
            "unknown variant `X`",
        ),
        (
            r#""type":"evented","unit":"none","events":[{"type":"C","frame":0,"at":0}]"#,
            "profiles[0].events[0].frame: ",
            "0 is closed, and nothing is open",
        ),
        (
            r#""type":"evented","unit":"none","events":[{"type":"O","frame":0,"at":0},{"type":"C","frame":1,"at":2}]"#,
            "profiles[0].events[1].frame: ",
            "1 is closed, and 0 was opened last",
        ),
        (
            r#""type":"evented","unit":"none","events":[{"type":"O","frame":0,"at":3},{"type":"C","frame":0,"at":2}]"#,
            "profiles[0].events[1].at: ",
            "2 is before 3",
        ),
        (
            r#""type":"evented","unit":"none","startValue":5,"events":[{"type":"O","frame":0,"at":3}]"#,
            "profiles[0].events[0].at: ",
            "3 is before 5",
        ),
        (
            r#""type":"evented","unit":"none","events":[{"type":"O","frame":7,"at":0},{"type":"C","frame":7,"at":2}]"#,
            "profiles[0].events[0].frame: ",
            "7 is not an index of shared.frames, which has 1",
        ),
        (
            r#""type":"evented","unit":"milliseconds","endValue":2.5e13,"events":[{"type":"O","frame":0,"at":1e13},{"type":"O","frame":0,"at":2e13}]"#,
            "profiles[0].events[1]: ",
            "is not between",
        ),
        (
            r#""type":"sampled","unit":"bytes""#,
            "profiles[0].unit: ",
            "bytes",
        ),
        (
            r#""type":"sampled","unit":"none","samples":[[0]]"#,
            "profiles[0].weights: ",
            "0 weights of 1",
        ),
        (
            r#""type":"sampled","unit":"none","samples":[[1]],"weights":[1]"#,
            "profiles[0].samples[0][0]: ",
            "1 is not an index",
        ),
        (
            r#""type":"sampled","unit":"none","samples":[[0]],"weights":[-1]"#,
            "profiles[0].weights[0]: ",
            "less than 0",
        ),
        (
            r#""type":"sampled","unit":"none","samples":[[0]],"weights":[1e300]"#,
            "profiles[0].samples[0]: ",
            "in all",
        ),
        (
            r#""type":"sampled","unit":"seconds","samples":[[0]],"weights":[1e308]"#,
            "profiles: ",
            "interval",
        ),
        (
            r#""type":"sampled","unit":"none","startValue":-1,"samples":[[0]],"weights":[1]"#,
            "profiles[0].samples[0]: ",
            "-1 ms",
        ),
    ] {
        let text = speedscope(profile);
        let error = error(Format::Speedscope, &text);
        assert!(error.starts_with(place), "{text}: {error}");
        assert!(error.contains(problem), "{text}: {error}");
    }
    let text = r#"{"shared":{"frames":[]},"profiles":[],"sampleInterval":0}"#;
    assert!(error(Format::Speedscope, text).starts_with("sampleInterval: "));
}

#[test]
fn weights_of_others_are_what_samples_are_worth() {
    let text = speedscope(
        r#""type":"sampled","unit":"seconds","samples":[[0],[],[0],[0]],"weights":[0.02,0.0101,0.01,0]"#,
    );
    let (recording, _) = read(text.as_bytes(), None, None).unwrap();
    assert_eq!(recording.interval, 10.1);
    let event_loop = recording.event_loops().next().unwrap();
    assert_eq!(event_loop.weight(), 4);
    let worths: Vec<_> = event_loop.worths(recording.interval).collect();
    assert_eq!(worths, [20_000_000, 10_100_000, 10_000_000, 0]);
}

#[test]
fn weights_of_our_files_and_those_without_a_unit_count_samples() {
    let weights = |text: &str| {
        let (recording, _) = read(text.as_bytes(), None, None).unwrap();
        let event_loop = recording.event_loops().next().unwrap();
        assert!(!event_loop.is_timed());
        let samples = event_loop.samples().iter();
        samples.map(|sample| sample.weight).collect::<Vec<_>>()
    };
    let samples = r#""samples":[[0],[],[0],[0]]"#;
    let none = format!(r#""type":"sampled","unit":"none",{samples},"weights":[3,1,0,7]"#);
    assert_eq!(weights(&speedscope(&none)), [3, 1, 7]);
    let seconds =
        format!(r#""type":"sampled","unit":"seconds",{samples},"weights":[0.02,0.0101,0,0.001]"#);
    let ours = speedscope(&seconds).replacen('{', r#"{"sampleInterval":10,"#, 1);
    assert_eq!(weights(&ours), [2, 1, 1]);
}

#[test]
fn collapsed_stacks() {
    for (text, place, problem) in [
        ("a;b 1\nc\n", "line 2: ", "no space"),
        (
            "a;b 1\n\na 1.5e3\n",
            "line 3: ",
            "\"1.5e3\" is not a number",
        ),
        ("a -1\n", "line 1: ", "\"-1\""),
        ("a .5\n", "line 1: ", "\".5\""),
        ("# a\n1\n", "line 2: ", "no space"),
        (
            "a 18446744073709551615\nb 0.000001\n",
            "line 1: ",
            "18446744073709551615 is more samples than",
        ),
        ("a 99999999999999999999\n", "line 1: ", "not a number"),
        ("a 9007199254740992\na 1\n", "line 2: ", "in all"),
    ] {
        let error = error(Format::Collapsed, text);
        assert!(error.starts_with(place), "{text}: {error}");
        assert!(error.contains(problem), "{text}: {error}");
    }
    let error = read(b"a 1\n\xff 1\n", None, None).unwrap_err();
    assert_eq!(error.place(), "line 2");
    let deep = "f;".repeat(10_001) + "g 1";
    assert!(self::error(Format::Collapsed, &deep).contains("10000 frames"));
}

#[test]
fn lines_of_collapsed_stacks_are_read_where_a_function_has_a_definition() {
    let text = "f (a.js:1:2):17;g ():3 2\nf (a.js:1:2):0;g:3 1\nf (a.js:1:2):0x10 1\n";
    let (recording, format) = read(text.as_bytes(), None, None).unwrap();
    assert_eq!(format, Format::Collapsed);
    let event_loop = recording.event_loops().next().unwrap();
    assert_eq!(lines(event_loop), [(2, 3), (1, 0), (1, 0)]);
    let names: Vec<_> = event_loop
        .functions()
        .map(|function| &*function.name)
        .collect();
    assert_eq!(names, ["f", "g", "f (a.js:1:2):0", "g:3"]);
    let last = event_loop.frames().last().unwrap();
    assert_eq!(last.place, Some(Place::WasmOffset(0x10)));
}

#[test]
fn roots_in_brackets_are_event_loops_where_all_are() {
    let names = |text: &str| {
        let (recording, _) = read(text.as_bytes(), None, None).unwrap();
        let event_loops = recording.event_loops();
        let names: Vec<_> = event_loops
            .map(|event_loop| event_loop.name.clone())
            .collect();
        names
    };
    assert_eq!(names("[a];f 1\n[b];f 1\n[a];g 2\n"), ["a", "b"]);
    assert_eq!(names("[unknown];f 1\nmain;f 1\n"), [""]);
    assert_eq!(names("[unknown] 1\n"), [""]);
}

#[test]
fn a_function_in_brackets_has_the_same_text_wherever_it_is() {
    let written = |text: &str| {
        let (recording, _) = read(text.as_bytes(), None, None).unwrap();
        let mut written = Vec::new();
        Format::Collapsed.write(&recording, &mut written).unwrap();
        String::from_utf8(written).unwrap()
    };
    // At the root it would be taken for an event loop.
    assert_eq!(
        written("[f];g;[f] 1\n[f] 2\ng;[g] 3\n"),
        "%5Bf] 2\n%5Bf];g;%5Bf] 1\ng;[g] 3\n"
    );
    let below_event_loops = "[a];[f];g;[f] 1\n[b];g 2\n";
    assert_eq!(written(below_event_loops), below_event_loops);
}

#[test]
fn a_count_takes_no_room_until_it_is_written_out() {
    let (recording, _) = read(b"a 9007199254740992\r\n", None, None).unwrap();
    assert_eq!(recording.event_loops().next().unwrap().samples().len(), 1);
    for format in [Format::Trace, Format::Cpuprofile] {
        let mut text = Vec::new();
        let error = format.write(&recording, &mut text).unwrap_err();
        assert!(error.to_string().contains("9007199254740992"), "{error}");
        assert!(text.is_empty());
    }
}

fn chrome_trace(chunk: &str) -> String {
    format!(
        r#"{{"traceEvents":[{{"name":"x"}},{{"name":"ProfileChunk","ph":"P","pid":1,"tid":1,"id":"0x1","ts":5,"args":{{"data":{{{chunk}}}}}}}]}}"#
    )
}

#[test]
fn traces_of_chrome() {
    let node =
        |id: u64, rest: &str| format!(r#"{{"id":{id},"callFrame":{{"functionName":"f"{rest}}}}}"#);
    let nodes = |nodes: &str| chrome_trace(&format!(r#""cpuProfile":{{"nodes":[{nodes}]}}"#));
    let with_parent = |id: u64, parent: u64| {
        node(id, "").replace("\"callFrame", &format!("\"parent\":{parent},\"callFrame"))
    };
    let at = "traceEvents[1].args.data.cpuProfile.nodes";
    for (text, place, problem) in [
        ("[", "[0]: ", "EOF"),
        ("{}", "", "missing field `traceEvents`"),
        ("3", "", "expected a list of events"),
        (r#"{"traceEvents":3}"#, "", "expected a list of events"),
        (
            r#"{"traceEvents":[{"name":"a"},{"name":7}]}"#,
            "traceEvents[1]: ",
            "invalid type: integer `7`",
        ),
        (
            r#"[{"name":"ProfileChunk","args":{"data":7}}]"#,
            "[0].args.data: ",
            "invalid type: integer `7`",
        ),
        (
            r#"{"traceEvents":[],"metadata":{"sourceMaps":7}}"#,
            "metadata.sourceMaps: ",
            "invalid type",
        ),
        (
            r#"{"traceEvents":[]}"#,
            "",
            "a trace without samples of JavaScript",
        ),
        (
            &chrome_trace(r#""cpuProfile":{"nodes":[{"id":1}]}"#),
            "traceEvents[1].args.data.cpuProfile.nodes[0]",
            "missing field `callFrame`",
        ),
        (
            &nodes(&format!("{},{}", node(1, ""), node(1, ""))),
            &format!("{at}[1].id: "),
            "1 is the id of another node",
        ),
        (
            &nodes(&with_parent(1, 7)),
            &format!("{at}[0].parent: "),
            "7 is the id of no node",
        ),
        (
            &nodes(&with_parent(1, 1)),
            &format!("{at}[0]: "),
            "its own callers",
        ),
        (
            &nodes(&format!("{},{}", with_parent(1, 2), with_parent(2, 1))),
            &format!("{at}[0]: "),
            "its own callers",
        ),
        (
            &nodes(&node(1, r#","lineNumber":-2"#)),
            &format!("{at}[0].callFrame.lineNumber: "),
            "-2",
        ),
        (
            &chrome_trace(r#""cpuProfile":{"samples":[1]},"timeDeltas":[1]"#),
            "traceEvents[1].args.data.cpuProfile.samples[0]: ",
            "1 is the id of no node",
        ),
        (
            &chrome_trace(r#""cpuProfile":{"samples":[1,1]},"timeDeltas":[1]"#),
            "traceEvents[1].args.data.timeDeltas: ",
            "1 of 2 samples",
        ),
        (
            &chrome_trace(&format!(
                r#""cpuProfile":{{"nodes":[{}],"samples":[1]}},"timeDeltas":[-9]"#,
                node(1, "")
            )),
            "traceEvents[1].args.data.cpuProfile.samples[0]: ",
            "is not between",
        ),
    ] {
        let error = error(Format::ChromeTrace, text);
        assert!(error.starts_with(place), "{text}: {error}");
        assert!(error.contains(problem), "{text}: {error}");
    }
}

#[test]
fn profiles_of_hermes() {
    let file = |samples: &str, frames: &str| {
        format!(r#"{{"samples":[{samples}],"stackFrames":{{{frames}}}}}"#)
    };
    let endless: String = (0..30_000)
        .map(|id| format!(r#""{id}":{{"name":"f","parent":{}}},"#, id + 1))
        .collect();
    for (text, place, problem) in [
        (file("", "")[..9].to_owned(), "", "EOF"),
        (file("{}", ""), "samples[0]", "missing field `ts`"),
        (
            file(r#"{"ts":"x","sf":1}"#, ""),
            "samples[0].ts: ",
            "\"x\" is not a whole number",
        ),
        (
            file(r#"{"ts":"1","sf":1}"#, ""),
            "samples[0].sf: ",
            "1 is not the id of a frame",
        ),
        (
            file(r#"{"ts":"1","sf":1}"#, r#""1":{"name":"f","parent":2}"#),
            "stackFrames.1.parent: ",
            "2 is not the id of a frame",
        ),
        (
            file(r#"{"ts":"1","sf":1}"#, r#""1":{"name":"f","parent":1}"#),
            "stackFrames.1: ",
            "among its own callers",
        ),
        (
            file(
                r#"{"ts":"1","sf":0}"#,
                &format!(r#"{endless}"30000":{{"name":"f"}}"#),
            ),
            "stackFrames.",
            "more than 10000 frames",
        ),
        (
            file("", r#""x":{"name":"f"}"#),
            "stackFrames: ",
            "\"x\" is not a whole number",
        ),
        (
            file(r#"{"ts":-1,"sf":1}"#, r#""1":{"name":"f"}"#),
            "samples[0]: ",
            "is not between",
        ),
    ] {
        let error = error(Format::Hermes, &text);
        assert!(error.starts_with(place), "{error}");
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn what_is_read_alone_is_not_written() {
    let (recording, _) = read(b"f 1\n", None, None).unwrap();
    for format in Format::READ_ONLY {
        let mut text = Vec::new();
        let error = format.write(&recording, &mut text).unwrap_err();
        let why = format!("the format {format} is read and not written");
        assert!(error.to_string().starts_with(&why), "{error}");
        assert!(text.is_empty());
    }
}

fn firefox(thread: &str) -> String {
    format!(
        r#"{{"meta":{{"preprocessedProfileVersion":55,"interval":1}},"threads":[{{{thread}}}]}}"#
    )
}

#[test]
fn firefox_profiles() {
    let tables = |samples: &str, prefix: &str, frame: &str, func: &str, name: &str| {
        firefox(&format!(
            r#""samples":{{{samples}}},"stackTable":{{"prefix":[{prefix}],"frame":[{frame}]}},"frameTable":{{"func":[{func}]}},"funcTable":{{"name":[{name}]}},"stringArray":["f"]"#
        ))
    };
    let frame = |columns: &str| {
        let text = tables(r#""stack":[],"time":[]"#, "null", "0", "0", "0");
        text.replace(r#""func":[0]"#, &format!(r#""func":[0],{columns}"#))
    };
    let callers: Vec<_> = (0..10_000).map(|stack| stack.to_string()).collect();
    let deep = format!("null,{}", callers.join(","));
    for (text, place, problem) in [
        (
            r#"{"meta":{"preprocessedProfileVersion":76},"threads":[]}"#.to_owned(),
            "meta.preprocessedProfileVersion: ",
            "76 is newer than 75",
        ),
        (
            r#"{"meta":{},"threads":[]}"#.to_owned(),
            "meta",
            "preprocessedProfileVersion",
        ),
        (firefox(r#""samples":{}"#), "threads[0].samples", "stack"),
        (
            tables(r#""stack":[]"#, "", "", "", ""),
            "threads[0].samples: ",
            "timeDeltas",
        ),
        (
            tables(r#""stack":[null],"time":[]"#, "", "", "", ""),
            "threads[0].samples.time: ",
            "0 entries for 1",
        ),
        (
            tables(r#""stack":[0],"time":[1]"#, "", "", "", ""),
            "threads[0].samples.stack[0]: ",
            "stackTable, which has 0",
        ),
        (
            tables(r#""stack":[null,null],"timeDeltas":[1,-1]"#, "", "", "", ""),
            "threads[0].samples.time[1]: ",
            "before",
        ),
        (
            tables(
                r#""stack":[null],"time":[1],"weight":[0.5]"#,
                "",
                "",
                "",
                "",
            ),
            "threads[0].samples.weight[0]: ",
            "0.5 is not a number of samples",
        ),
        (
            tables(
                r#""stack":[null],"time":[1],"weight":[-0.5],"weightType":"tracing-ms""#,
                "",
                "",
                "",
                "",
            ),
            "threads[0].samples.weight[0]: ",
            "-0.5 is less than 0",
        ),
        (
            tables(
                r#""stack":[null],"time":[1],"weight":[1e300],"weightType":"tracing-ms""#,
                "",
                "",
                "",
                "",
            ),
            "threads[0].samples.weight[0]: ",
            "is not a time between 0 and",
        ),
        (
            tables(
                r#""stack":[null,null],"time":[1,1],"weight":[1e13,1],"weightType":"tracing-ms""#,
                "",
                "",
                "",
                "",
            ),
            "threads[0].samples.weight[1]: ",
            "in all",
        ),
        (
            tables(r#""stack":[null],"time":[1],"weight":[-3]"#, "", "", "", ""),
            "threads[0].samples.weight[0]: ",
            "-3 is less than 0: differences are no samples",
        ),
        (
            tables(
                r#""stack":[],"time":[],"weightType":"bytes""#,
                "",
                "",
                "",
                "",
            ),
            "threads[0].samples.weightType: ",
            "bytes",
        ),
        (
            tables(r#""stack":[],"time":[]"#, "0", "0", "0", "0"),
            "threads[0].stackTable.prefix[0]: ",
            "before",
        ),
        (
            tables(r#""stack":[],"time":[]"#, "", "0", "0", "0"),
            "threads[0].stackTable.prefix: ",
            "0 entries for 1",
        ),
        (
            tables(r#""stack":[],"time":[]"#, "null", "1", "0", "0"),
            "threads[0].stackTable.frame[0]: ",
            "frameTable",
        ),
        (
            tables(r#""stack":[],"time":[]"#, "null", "0", "1", "0"),
            "threads[0].frameTable.func[0]: ",
            "funcTable",
        ),
        (
            tables(r#""stack":[],"time":[]"#, "null", "0", "0", "1"),
            "threads[0].funcTable.name[0]: ",
            "stringArray",
        ),
        (
            frame(r#""line":[-1]"#),
            "threads[0].frameTable.line[0]: ",
            "u32",
        ),
        (
            frame(r#""line":[4294967296]"#),
            "threads[0].frameTable.line[0]: ",
            "u32",
        ),
        (
            frame(r#""line":[1],"column":[1.5]"#),
            "threads[0].frameTable.column[0]: ",
            "u32",
        ),
        (
            frame(r#""address":["1"]"#),
            "threads[0].frameTable.address[0]: ",
            "f64",
        ),
        (
            tables(
                r#""stack":[],"time":[]"#,
                &deep,
                &format!("0{}", ",0".repeat(10_000)),
                "0",
                "0",
            ),
            "threads[0].stackTable.frame[10000]: ",
            "more than 10000 frames",
        ),
    ] {
        let error = error(Format::Firefox, &text);
        assert!(error.starts_with(place), "{text}: {error}");
        assert!(error.contains(problem), "{text}: {error}");
    }
}

/// A profile whose one thread has samples at these stacks of shared tables.
fn firefox_of_tables(stacks: &str, columns: [&str; 4], more: &str) -> String {
    let [offsets, frames, funcs, sources] = columns;
    format!(
        r#"{{"meta":{{"preprocessedProfileVersion":70,"interval":1}},"threads":[{{"samples":{{"stack":[{stacks}],"timeDeltas":[0]}}}}],"shared":{{"stackTable":{{"frame":[0,0],"prefixOffset":[{offsets}]}},"frameTable":{{{frames}}},"funcTable":{{"name":[0],{funcs}}},"sources":{{{sources}}},"stringArray":["f"]{more}}}}}"#
    )
}

#[test]
fn shared_tables_of_firefox_profiles() {
    const OFFSETS: &str = "0,1";
    const FRAMES: &str = r#""func":[0]"#;
    const FUNCS: &str = r#""isJS":[true],"source":[0]"#;
    const SOURCES: &str = r#""filename":[0]"#;
    let good = [OFFSETS, FRAMES, FUNCS, SOURCES];
    let text = firefox_of_tables("1", good, "");
    assert!(read(text.as_bytes(), None, None).is_ok(), "{text}");
    let original = r#""isJS":[true],"source":[0],"originalLocation":[1]"#;
    let of_frame = r#""func":[0],"originalLocation":[2]"#;
    let locations = r#","sourceLocationTable":{"source":[0,0],"line":[1,2],"column":[1,1]}"#;
    for (text, place, problem) in [
        (
            firefox_of_tables("2", good, ""),
            "threads[0].samples.stack[0]: ",
            "stackTable, which has 2",
        ),
        (
            firefox_of_tables("1", ["0,2", FRAMES, FUNCS, SOURCES], ""),
            "shared.stackTable.prefixOffset[1]: ",
            "2 is before the first stack",
        ),
        (
            firefox_of_tables("1", ["0,-1", FRAMES, FUNCS, SOURCES], ""),
            "shared.stackTable.prefixOffset[1]: ",
            "u32",
        ),
        (
            firefox_of_tables("1", ["0", FRAMES, FUNCS, SOURCES], ""),
            "shared.stackTable.prefixOffset: ",
            "1 entries for 2",
        ),
        (
            firefox_of_tables("1", good, "").replace("prefixOffset", "prefixes"),
            "shared.stackTable: ",
            "neither prefix nor prefixOffset",
        ),
        (
            firefox_of_tables("1", good, "").replace("funcTable", "functions"),
            "shared: ",
            "missing field `funcTable`",
        ),
        (
            firefox_of_tables("1", good, "").replace("stackTable", "stacks"),
            "threads[0]: ",
            "missing field `stackTable`",
        ),
        (
            firefox_of_tables("1", [OFFSETS, FRAMES, FUNCS, r#""filename":[]"#], ""),
            "shared.funcTable.source[0]: ",
            "sources, which has 0",
        ),
        (
            firefox_of_tables("1", [OFFSETS, FRAMES, FUNCS, r#""filename":[1]"#], ""),
            "shared.sources.filename[0]: ",
            "stringArray, which has 1",
        ),
        (
            firefox_of_tables("1", [OFFSETS, FRAMES, original, SOURCES], ""),
            "shared.funcTable.originalLocation[0]: ",
            "sourceLocationTable, which has 0",
        ),
        (
            firefox_of_tables("1", [OFFSETS, of_frame, original, SOURCES], locations),
            "shared.frameTable.originalLocation[0]: ",
            "sourceLocationTable, which has 2",
        ),
        (
            firefox_of_tables(
                "1",
                [
                    OFFSETS,
                    FRAMES,
                    FUNCS,
                    r#""filename":[0],"content":["x"],"sourceMapURL":[9]"#,
                ],
                "",
            ),
            "shared.sources.sourceMapURL[0]: ",
            "stringArray, which has 1",
        ),
    ] {
        let error = error(Format::Firefox, &text);
        assert!(error.starts_with(place), "{text}: {error}");
        assert!(error.contains(problem), "{text}: {error}");
    }
}

#[test]
fn what_firefox_itself_writes() {
    let raw = |frames: &str, stacks: &str, samples: &str| {
        format!(
            r#"{{"meta":{{"version":34,"interval":1}},"processes":[],"threads":[{{"stringTable":["f"],"frameTable":{{"schema":{{"location":0}},"data":[{frames}]}},"stackTable":{{"schema":{{"prefix":0,"frame":1}},"data":[{stacks}]}},"samples":{{"schema":{{"stack":0,"time":1}},"data":[{samples}]}}}}]}}"#
        )
    };
    let text = raw("[0]", "[null,0],[0,0]", "[1,5],[null,6]");
    assert!(read(text.as_bytes(), None, None).is_ok(), "{text}");
    for (frames, stacks, samples, place, problem) in [
        (
            "[1]",
            "",
            "",
            "frameTable.data[0]: ",
            "1 is not an index of stringTable, which has 1",
        ),
        (
            "[]",
            "",
            "",
            "frameTable.data[0]: ",
            "nothing is not an index of stringTable",
        ),
        (
            "[true]",
            "",
            "",
            "frameTable.data[0]: ",
            "true is not an index of stringTable",
        ),
        (
            "[0]",
            "[null,1]",
            "",
            "stackTable.data[0]: ",
            "1 is not an index of frameTable, which has 1",
        ),
        (
            "[0]",
            "[0,0]",
            "",
            "stackTable.data[0]: ",
            "0 is not an index of the stacks before it, which has 0",
        ),
        (
            "[0]",
            "[null,0.5]",
            "",
            "stackTable.data[0]: ",
            "0.5 is not an index",
        ),
        (
            "[0]",
            "[null,0]",
            "[1,0]",
            "samples.data[0]: ",
            "1 is not an index of stackTable, which has 1",
        ),
        (
            "[0]",
            "[null,0]",
            "[-1,0]",
            "samples.data[0]: ",
            "-1 is not an index of stackTable",
        ),
        ("[0]", "[null,0]", "[0]", "samples.data[0]: ", "no time"),
        (
            "[0]",
            "[null,0]",
            "[0,3],[0,2]",
            "samples.time[1]: ",
            "before",
        ),
        (
            "[0]",
            "[null,0]",
            "[0,-1]",
            "samples.time[0]: ",
            "-1 ms is not between",
        ),
        ("0", "", "", "frameTable.data[0]: ", "expected a row"),
    ] {
        let text = raw(frames, stacks, samples);
        let error = error(Format::Firefox, &text);
        let place = format!("threads[0].{place}");
        assert!(error.starts_with(&place), "{text}: {error}");
        assert!(error.contains(problem), "{text}: {error}");
    }
    let process = raw("[1]", "", "");
    let text =
        raw("[0]", "", "").replace(r#""processes":[]"#, &format!(r#""processes":[{process}]"#));
    let error = error(Format::Firefox, &text);
    assert!(
        error.starts_with("processes[0].threads[0].frameTable.data[0]: "),
        "{error}"
    );
}

#[test]
fn missed_samples_of_firefox_profiles() {
    let missed = |times: &str, samples: &str, why: &str| {
        let tables = r#""samples":{"stack":[],"time":[]},"stackTable":{"prefix":[],"frame":[]},"frameTable":{"func":[]},"funcTable":{"name":[]}"#;
        let marker = format!(r#"{{"type":"MissedSamples","samples":{samples},"why":{why}}}"#);
        firefox(&format!(
            r#"{tables},"stringArray":["sampler late","Sampler late"],"markers":{{{times},"data":[null,{marker},{marker}]}}"#
        ))
    };
    let times = r#""startTime":[0,1,2],"endTime":[null,2,2.5]"#;
    let good = missed(times, "3", "0");
    let (recording, _) = read(good.as_bytes(), None, None).unwrap();
    let event_loop = recording.event_loops().next().unwrap();
    let [first, second] = event_loop.missed() else {
        panic!("{:?}", event_loop.missed());
    };
    assert_eq!((first.start, first.end, first.samples), (1., 2., 3));
    assert_eq!((second.start, second.end), (2., 2.5));
    assert_eq!(first.why.as_str(), "sampler late");
    for (times, samples, why, place, problem) in [
        (times, "0", "0", "data[1].samples", "no sample was missed"),
        (
            times,
            "-1",
            "0",
            "data[1].samples",
            "-1 is not a number of samples",
        ),
        (
            times,
            "1.5",
            "0",
            "data[1].samples",
            "1.5 is not a number of samples",
        ),
        (
            times,
            "4294967296",
            "0",
            "data[1].samples",
            "4294967296 is not",
        ),
        (
            times,
            "null",
            "0",
            "data[1].samples",
            "null is not a number",
        ),
        (
            times,
            "1",
            "1",
            "data[1].why",
            "\"Sampler late\" is no reason",
        ),
        (times, "1", "2", "data[1].why", "stringArray, which has 2"),
        (
            times,
            "1",
            "\"sampler late\"",
            "data[1].why",
            "not an index of stringArray",
        ),
        (
            r#""startTime":[0,1]"#,
            "1",
            "0",
            "endTime[1]",
            "without this time",
        ),
        (
            r#""endTime":[0,1]"#,
            "1",
            "0",
            "startTime[1]",
            "without this time",
        ),
        (
            r#""startTime":[0,-1],"endTime":[0,1]"#,
            "1",
            "0",
            "startTime[1]",
            "-1 ms is not between",
        ),
        (
            r#""startTime":[0,1],"endTime":[0,1e300]"#,
            "1",
            "0",
            "endTime[1]",
            "is not between",
        ),
        (
            r#""startTime":[0,2],"endTime":[0,1]"#,
            "1",
            "0",
            "endTime[1]",
            "1 ms is before 2 ms, its start",
        ),
        (
            r#""startTime":[0,1,2],"endTime":[0,3,4]"#,
            "1",
            "0",
            "startTime[2]",
            "2 ms is before 3 ms, the end of the stretch before it",
        ),
    ] {
        let text = missed(times, samples, why);
        let error = error(Format::Firefox, &text);
        let place = format!("threads[0].markers.{place}: ");
        assert!(error.starts_with(&place), "{text}: {error}");
        assert!(error.contains(problem), "{text}: {error}");
    }
}

#[test]
fn an_address_is_an_offset_in_a_module_where_it_is_not_one_of_machine_code() {
    let place = |flags: &str, resource: &str, columns: &str| {
        let text = firefox(&format!(
            r#""samples":{{"stack":[],"time":[]}},"stackTable":{{"prefix":[null],"frame":[0]}},"frameTable":{{"func":[0]{columns}}},"funcTable":{{"name":[0],"isJS":[{flags}]{resource}}},"stringArray":["f"]"#
        ));
        let (recording, _) = read(text.as_bytes(), None, None).unwrap();
        let event_loop = recording.event_loops().next().unwrap();
        event_loop.frames().next().unwrap().place
    };
    let offset = |offset| Some(Place::WasmOffset(offset));
    assert_eq!(place("true", "", r#","address":[0]"#), offset(0));
    let (greatest, more) = (r#","address":[4294967295]"#, r#","address":[4294967296]"#);
    assert_eq!(place("true", "", greatest), offset(u32::MAX));
    assert_eq!(
        place("true", r#","resource":[-1]"#, greatest),
        offset(u32::MAX)
    );
    for (flags, resource, columns) in [
        ("true", "", more),
        ("true", "", r#","address":[-1]"#),
        ("true", "", r#","address":[null]"#),
        ("true", "", r#","address":[0.5]"#),
        ("true", "", r#","address":[]"#),
        ("true", "", r#","line":[0],"column":[3]"#),
        ("true", r#","resource":[0]"#, greatest),
        ("false", "", greatest),
    ] {
        assert_eq!(
            place(flags, resource, columns),
            None,
            "{flags} {resource} {columns}"
        );
    }
    let line = place("true", "", r#","line":[7],"address":[5]"#).unwrap();
    assert_eq!((line.line().unwrap().get(), line.column()), (7, None));
}

/// A page with one event loop, of tables with one entry each except as given.
fn page(members: &[(&str, &str)]) -> String {
    let mut event_loop = serde_json::json!({
        "name": "a", "kind": "page", "documents": [],
        "resources": ["https://a.test/a.js"],
        "realms": [{ "url": "https://a.test/", "origin": null }],
        "functions": {
            "name": ["f"], "kind": [0], "resource": [0], "line": [1], "column": [1], "realm": [0]
        },
        "frames": { "function": [0], "line": [2], "column": [3] },
        "stacks": { "parent": [-1], "frame": [0] },
        "samples": { "time": [1000], "stack": [0], "activity": [1] },
    });
    for (path, value) in members {
        let (parent, name) = path.rsplit_once('/').unwrap();
        let value = serde_json::from_str(value).unwrap();
        event_loop.pointer_mut(parent).unwrap()[name] = value;
    }
    page_of_event_loop(&event_loop)
}

fn page_of_event_loop(event_loop: &serde_json::Value) -> String {
    page_of(&format!(
        r#"{{"version":2,"interval":1,"timeOrigin":null,"processes":[{{"name":"","pid":null,"ended":null,"eventLoops":[{event_loop}]}}]}}"#
    ))
}

fn page_of(data: &str) -> String {
    format!(
        r#"<!DOCTYPE html><body><script type="application/json" id="recording">{data}</script></body>"#
    )
}

#[test]
fn pages() {
    assert!(read(page(&[]).as_bytes(), None, None).is_ok());
    for (members, place, problem) in [
        (&[("/kind", r#""x""#)][..], "kind: ", "unknown variant `x`"),
        (&[("/name", "1")], "name: ", "expected a string"),
        (
            &[("/functions/kind", "[]")],
            "functions.kind: ",
            "0 entries for 1",
        ),
        (
            &[("/functions/kind", "[4]")],
            "functions.kind[0]: ",
            "4 is no kind of function",
        ),
        (
            &[("/functions/resource", "[1]")],
            "functions.resource[0]: ",
            "1 is neither -1 nor an index of resources, which has 1",
        ),
        (
            &[("/functions/resource", "[-2]")],
            "functions.resource[0]: ",
            "-2 is neither",
        ),
        (&[("/functions/line", "[-1]")], "functions.line[0]: ", "u32"),
        (
            &[("/functions/line", "[1,2]")],
            "functions.line: ",
            "2 entries",
        ),
        (
            &[("/functions/column", "[]")],
            "functions.column: ",
            "0 entries",
        ),
        (
            &[("/functions/realm", "[1]")],
            "functions.realm[0]: ",
            "realms",
        ),
        (
            &[("/functions/source", "[0]")],
            "functions.source[0]: ",
            "0 is neither -1 nor an index of sources, which has 0",
        ),
        (
            &[("/functions/source", "[]")],
            "functions.source: ",
            "0 entries for 1",
        ),
        (
            &[("/sources", r#"[{"name":"a","line":1,"column":1}]"#)],
            "sources[0]: ",
            "missing field `text`",
        ),
        (
            &[(
                "/sources",
                r#"[{"name":"a","text":"","line":0,"column":1}]"#,
            )],
            "sources[0].line: ",
            "nonzero",
        ),
        (
            &[("/functions/name", "[]")],
            "functions.kind: ",
            "1 entries for 0",
        ),
        (
            &[("/frames/function", "[1]")],
            "frames.function[0]: ",
            "1 is neither -1 nor an index of functions, which has 1",
        ),
        (
            &[("/frames/function", "[-1]")],
            "frames.function[0]: ",
            "without a function",
        ),
        (
            &[("/frames/function", "[]")],
            "frames.line: ",
            "1 entries for 0",
        ),
        (&[("/frames/line", "[-1]")], "frames.line[0]: ", "u32"),
        (
            &[("/frames/line", "[4294967296]")],
            "frames.line[0]: ",
            "u32",
        ),
        (&[("/frames/line", "[1,2]")], "frames.line: ", "2 entries"),
        (&[("/frames/column", "[]")], "frames.column: ", "0 entries"),
        (&[("/frames/column", "[-1]")], "frames.column[0]: ", "u32"),
        (&[("/frames/offset", "[]")], "frames.offset: ", "0 entries"),
        (
            &[("/frames/line", "[0]"), ("/frames/offset", "[-2]")],
            "frames.offset[0]: ",
            "-2 is neither -1 nor an offset",
        ),
        (
            &[("/frames/line", "[0]"), ("/frames/offset", "[4294967296]")],
            "frames.offset[0]: ",
            "4294967296 is neither",
        ),
        (
            &[("/frames/offset", "[0]")],
            "frames.offset[0]: ",
            "both a line and an offset",
        ),
        (
            &[("/stacks/parent", "[0]")],
            "stacks.parent[0]: ",
            "0 is not the index of a stack before",
        ),
        (
            &[("/stacks/parent", "[-2]")],
            "stacks.parent[0]: ",
            "-2 is not the index",
        ),
        (&[("/stacks/parent", "[]")], "stacks.parent: ", "0 entries"),
        (
            &[("/stacks/frame", "[1]")],
            "stacks.frame[0]: ",
            "frames, which has 1",
        ),
        (
            &[("/stacks/frame", "[-1]")],
            "stacks.frame[0]: ",
            "without a frame",
        ),
        (
            &[("/samples/stack", "[1]")],
            "samples.stack[0]: ",
            "stacks, which has 1",
        ),
        (&[("/samples/stack", "[]")], "samples.stack: ", "0 entries"),
        (
            &[("/samples/activity", "[8]")],
            "samples.activity[0]: ",
            "8 is no activity",
        ),
        (
            &[("/samples/activity", "[]")],
            "samples.activity: ",
            "0 entries",
        ),
        (&[("/samples/time", "[-1]")], "samples.time[0]: ", "u64"),
        (&[("/samples/time", "[1.5]")], "samples.time[0]: ", "u64"),
        (
            &[("/samples/time", "[18446744073709551615]")],
            "samples.time[0]: ",
            "is not between",
        ),
        (
            &[("/samples/weight", "[1,1]")],
            "samples.weight: ",
            "2 entries",
        ),
        (
            &[("/samples/weight", "[0]")],
            "samples.weight[0]: ",
            "stands for none",
        ),
        (
            &[("/samples/worth", "[1,1]")],
            "samples.worth: ",
            "2 entries",
        ),
        (&[("/samples/worth", "[-1]")], "samples.worth[0]: ", "u64"),
        (
            &[("/samples/worth", "[18446744073709551615]")],
            "samples.worth: ",
            "in all",
        ),
        (&[("/missed", "1")], "missed: ", "expected struct"),
        (
            &[("/missed", r#"{"start":[],"end":[],"samples":[]}"#)],
            "missed: ",
            "missing field `why`",
        ),
    ] {
        let error = error(Format::Html, &page(members));
        let place = format!("processes[0].eventLoops[0].{place}");
        assert!(error.starts_with(&place), "{members:?}: {error}");
        assert!(error.contains(problem), "{members:?}: {error}");
    }
    for (text, place, problem) in [
        ("<p>hello".to_owned(), "", "a page without a recording"),
        (
            r#"<script type="application/json" id="recording">{}"#.to_owned(),
            "",
            "ends within its recording",
        ),
        (page_of(""), "", "EOF"),
        (page_of("{}"), "", "missing field `version`"),
        (page_of(r#"{"version":3}"#), "version: ", "3 is not 2"),
        (
            page_of(r#"{"version":0,"interval":1,"processes":[]}"#),
            "version: ",
            "0 is not 2",
        ),
        // The tables of version 1 had other columns.
        (
            page_of(
                r#"{"version":1,"interval":1,"processes":[{"name":"","eventLoops":[{"name":"","kind":"page","frames":{"name":[]}}]}]}"#,
            ),
            "version: ",
            "1 is not 2, the version that is read",
        ),
        (page_of(r#"{"version":2}"#), "", "missing field"),
        (
            page_of(r#"{"version":2,"interval":0,"processes":[]}"#),
            "interval: ",
            "0 ms is not between",
        ),
        (
            page_of(r#"{"version":2,"interval":1,"processes":[{"name":"","pid":-1}]}"#),
            "processes[0].pid: ",
            "u32",
        ),
    ] {
        let error = error(Format::Html, &text);
        assert!(error.starts_with(place), "{text}: {error}");
        assert!(error.contains(problem), "{text}: {error}");
    }
}

#[test]
fn missed_samples_of_pages() {
    const LATEST: &str = "[18446744073709551615]";
    let missed = |start: &str, end: &str, samples: &str, why: &str| {
        let table = format!(r#"{{"start":{start},"end":{end},"samples":{samples},"why":{why}}}"#);
        page(&[("/missed", &table)])
    };
    let good = missed("[1,1,2]", "[2,2,2]", "[1,4294967295,1]", "[0,3,1]");
    let (recording, _) = read(good.as_bytes(), None, None).unwrap();
    assert_eq!(recording.event_loops().next().unwrap().missed().len(), 3);
    for (start, end, samples, why, place, problem) in [
        ("[-1]", "[9]", "[1]", "[0]", "start[0]", "u64"),
        (LATEST, LATEST, "[1]", "[0]", "start[0]", "is not between"),
        ("[7]", LATEST, "[1]", "[0]", "end[0]", "is not between"),
        (
            "[7000]",
            "[6000]",
            "[1]",
            "[0]",
            "end[0]",
            "6 ms is before 7 ms, its start",
        ),
        (
            "[1000,3000]",
            "[4000,5000]",
            "[1,1]",
            "[0,0]",
            "start[1]",
            "3 ms is before 4 ms, the end of the stretch before it",
        ),
        (
            "[3000,1000]",
            "[4000,2000]",
            "[1,1]",
            "[0,0]",
            "start[1]",
            "1 ms is before 4 ms",
        ),
        (
            "[1]",
            "[2]",
            "[0]",
            "[0]",
            "samples[0]",
            "no sample was missed",
        ),
        ("[1]", "[2]", "[4294967296]", "[0]", "samples[0]", "u32"),
        ("[1]", "[2]", "[1]", "[6]", "why[0]", "6 is no reason"),
        ("[1]", "[2]", "[1]", "[-1]", "why[0]", "u64"),
        ("[1]", "[]", "[1]", "[0]", "end", "0 entries for 1"),
        ("[1]", "[2]", "[]", "[0]", "samples", "0 entries for 1"),
        ("[1]", "[2]", "[1]", "[0,1]", "why", "2 entries for 1"),
    ] {
        let text = missed(start, end, samples, why);
        let error = error(Format::Html, &text);
        let place = format!("processes[0].eventLoops[0].missed.{place}: ");
        assert!(error.starts_with(&place), "{text}: {error}");
        assert!(error.contains(problem), "{text}: {error}");
    }
}

#[test]
fn what_a_file_is_comes_from_its_text_and_then_from_its_name() {
    let format = |text: &str, name: &str| {
        let result = read(text.as_bytes(), Some(Path::new(name)), None);
        result
            .map(|(_, format)| format)
            .map_err(|error| error.to_string())
    };
    let trace = trace("", "", "");
    assert_eq!(format(&trace, "a.cpuprofile"), Ok(Format::Trace));
    assert_eq!(format(&format!("\u{feff} {trace}"), "a"), Ok(Format::Trace));
    // The name says whose error it is.
    let broken = format(r#"{"nodes":[]"#, "a.cpuprofile").unwrap_err();
    assert!(broken.contains("EOF"), "{broken}");
    assert_eq!(format("", "a.folded"), Ok(Format::Collapsed));
    for (text, problem) in [
        ("", "empty"),
        (" \n", "empty"),
        ("{", "not JSON: EOF"),
        (
            "{}",
            "none of the formats trace, firefox, speedscope, speedscope-lines, cpuprofile, collapsed, collapsed-lines, html",
        ),
        ("hello", "none of the formats"),
        ("<!DOCTYPE html><p>hello", "none of the formats"),
    ] {
        let error = format(text, "a.json").unwrap_err();
        assert!(error.contains(problem), "{text:?}: {error}");
    }
}

#[test]
fn names_of_files_say_their_format() {
    for (name, format) in [
        ("a.cpuprofile", Some(Format::Cpuprofile)),
        ("a.b.SPEEDSCOPE.json", Some(Format::Speedscope)),
        ("a.speedscope", Some(Format::Speedscope)),
        ("a.speedscope-lines", Some(Format::SpeedscopeLines)),
        ("a.speedscope-lines.json.gz", Some(Format::SpeedscopeLines)),
        ("a.firefox.json.gz", Some(Format::Firefox)),
        ("dir.cpuprofile/a.trace.json", Some(Format::Trace)),
        ("a.folded", Some(Format::Collapsed)),
        ("a.collapsed", Some(Format::Collapsed)),
        ("a.collapsed-lines", Some(Format::CollapsedLines)),
        ("a.html", Some(Format::Html)),
        ("a.HTM", Some(Format::Html)),
        ("a.json", None),
        ("trace", None),
        ("..", None),
    ] {
        assert_eq!(Format::by_file_name(Path::new(name)), format, "{name}");
    }
}

/// In bytes. Under Miri a text takes as long to read as thousands do otherwise.
fn broken_every(length: usize) -> usize {
    if cfg!(miri) { length / 3 + 1 } else { 7 }
}

/// Texts that differ from a good one in a byte, or end early.
#[test]
fn broken_files_are_read_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for file in folder.read_dir().unwrap() {
        let file = file.unwrap().path();
        // Reports are in a folder of their own.
        if file.is_dir() {
            continue;
        }
        let format = Format::by_file_name(&file).unwrap();
        let text = std::fs::read(&file).unwrap();
        for at in (0..text.len()).step_by(broken_every(text.len())) {
            let _ = read(&text[..at], None, Some(format));
            for byte in *b"09-}]\"" {
                let mut broken = text.clone();
                broken[at] = byte;
                if let Ok((recording, _)) = read(&broken, None, Some(format)) {
                    for format in Format::ALL {
                        let _ = format.write(&recording, std::io::sink());
                    }
                }
            }
        }
    }
}
