/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! One small recording as each format has it. `UPDATE_GOLDEN=1` writes the files anew.

use std::fs;
use std::num::NonZeroU32;
use std::path::Path;

use profile_formats::{
    Activity, EventLoop, EventLoopKind, Format, Frame, FrameId, Function, FunctionId, FunctionKind,
    Missed, MissedReason, Place, Process, Program, Realm, RecordedBy, Recording, Sample, Source,
    Totals, read,
};

fn at(event_loop: &mut EventLoop, function: FunctionId, line: u32, column: u32) -> FrameId {
    let place = Place::of_source(NonZeroU32::new(line), NonZeroU32::new(column));
    event_loop.add_frame(Frame { function, place }).unwrap()
}

/// `main` calls `work`, which calls `sort` and a function of a WebAssembly module; style, layout and idle time between.
fn page() -> EventLoop {
    let url = "https://a.test/".to_owned();
    let mut event_loop = EventLoop::new(
        "a.test",
        EventLoopKind::Page {
            documents: vec![url.clone()],
        },
    );
    let origin = Some("https://a.test".to_owned());
    let realm = Some(event_loop.add_realm(Realm { url, origin }).unwrap());
    let script = event_loop.add_resource("https://a.test/work.js").unwrap();
    let module = event_loop.add_resource("https://a.test/add.wasm").unwrap();
    // An inline script would have another line.
    let text = event_loop
        .add_source(Source {
            name: "https://a.test/work.js".to_owned(),
            line: NonZeroU32::MIN,
            column: NonZeroU32::MIN,
            text: Some("// \"äöü\" </script>\n//# sourceMappingURL=work.js.map\n".to_owned()),
            map_url: Some("work.js.map".to_owned()),
        })
        .unwrap();
    let mut function = |name: &str, kind, resource, line, column| {
        let function = Function {
            name: name.to_owned(),
            kind,
            resource,
            line: NonZeroU32::new(line),
            column: NonZeroU32::new(column),
            realm,
            source: (name == "work").then_some(text),
            generated: None,
        };
        event_loop.add_function(function).unwrap()
    };
    let main = function("", FunctionKind::Script, script, 1, 1);
    let work = function("work", FunctionKind::Script, script, 12, 14);
    let sort = function("sort", FunctionKind::BuiltIn, None, 0, 0);
    let add = function("add", FunctionKind::Script, module, 0, 0);
    let main_calling = at(&mut event_loop, main, 20, 3);
    let main = at(&mut event_loop, main, 21, 9);
    let work_looping = at(&mut event_loop, work, 13, 18);
    let work_adding = at(&mut event_loop, work, 13, 31);
    let work_calling = at(&mut event_loop, work, 14, 7);
    let sort = at(&mut event_loop, sort, 0, 0);
    let add = event_loop
        .add_frame(Frame {
            function: add,
            place: Some(Place::WasmOffset(0x1f3)),
        })
        .unwrap();
    let mut stack = |parent, frame| Some(event_loop.add_stack(parent, frame).unwrap());
    let in_main = stack(None, main);
    let below_main = stack(None, main_calling);
    let in_work = stack(below_main, work_looping);
    let later_in_work = stack(below_main, work_adding);
    let below_work = stack(below_main, work_calling);
    let in_sort = stack(below_work, sort);
    let in_add = stack(below_work, add);
    let samples = [
        (None, Some(Activity::Idle)),
        (in_main, Some(Activity::Script)),
        (in_work, Some(Activity::Script)),
        (in_sort, Some(Activity::Gc)),
        (in_sort, None),
        (in_add, Some(Activity::Script)),
        (below_work, Some(Activity::Layout)),
        (later_in_work, Some(Activity::Script)),
        (None, Some(Activity::Layout)),
        (None, None),
    ];
    for (number, (stack, activity)) in samples.into_iter().enumerate() {
        event_loop
            .add_sample(Sample {
                time: 100.25 + number as f64 * 0.5,
                weight: 1,
                stack,
                activity,
            })
            .unwrap();
    }
    event_loop
}

fn worker() -> EventLoop {
    let mut event_loop = EventLoop::new("worker.js", EventLoopKind::Worker);
    let resource = event_loop.add_resource("https://a.test/worker.js").unwrap();
    let function = Function {
        name: "onmessage".to_owned(),
        kind: FunctionKind::Script,
        resource,
        line: NonZeroU32::new(3),
        column: NonZeroU32::new(20),
        realm: None,
        source: None,
        generated: None,
    };
    let function = event_loop.add_function(function).unwrap();
    let frame = at(&mut event_loop, function, 5, 1);
    let stack = event_loop.add_stack(None, frame).unwrap();
    for time in [100.5, 101., 103.] {
        event_loop
            .add_sample(Sample {
                time,
                weight: 1,
                stack: Some(stack),
                activity: Some(Activity::Script),
            })
            .unwrap();
    }
    for (samples, why) in [
        (2, MissedReason::SamplerLate),
        (1, MissedReason::NoProcessor),
    ] {
        let missed = Missed {
            start: 101.,
            end: 103.,
            samples,
            why,
        };
        event_loop.add_missed(missed).unwrap();
    }
    event_loop
}

fn recording(format: Format) -> Recording {
    let mut event_loops = vec![page(), worker()];
    if format.holds_one_event_loop() {
        event_loops.pop();
    }
    let program = |name, version| Program::new(name, Some(version)).unwrap();
    let engines = vec![
        program("Servo", "0.7.0"),
        program("SpiderMonkey", "153.6.0"),
    ];
    Recording {
        time_origin: Some(1_700_000_000_000.),
        interval: 0.5,
        recorded_by: RecordedBy::new(program("Strobe", "0.1.0"), engines).ok(),
        processes: vec![Process {
            name: "content".to_owned(),
            pid: Some(42),
            ended: Some(106.),
            event_loops,
        }],
    }
}

fn check(format: Format, file: &str) {
    let recording = recording(format);
    let mut text = Vec::new();
    format.write(&recording, &mut text).unwrap();
    let mut text = String::from_utf8(text).unwrap();
    if format == Format::Html {
        text = element_of_data(&text);
    }
    // None of a format that is no JSON. Whether members keep their order depends on what else is built
    // with serde_json, so that values are compared.
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    if let Some(value) = value(&text) {
        text = serde_json::to_string_pretty(&value).unwrap() + "\n";
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(file);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, &text).unwrap();
    }
    let golden = fs::read_to_string(&file).unwrap();
    match value(&golden) {
        Some(golden) => assert_eq!(value(&text), Some(golden), "{}", file.display()),
        None => assert_eq!(text, golden, "{}", file.display()),
    }

    let (read, recognised) = read(golden.as_bytes(), None, None).unwrap();
    match format {
        Format::CollapsedLines => assert_eq!(recognised, Format::Collapsed),
        Format::SpeedscopeLines => assert_eq!(recognised, Format::Speedscope),
        _ => assert_eq!(recognised, format),
    }
    let (read, recording) = (Totals::of(&read), Totals::of(&recording));
    assert_eq!(
        (read.samples, read.with_stack),
        (recording.samples, recording.with_stack)
    );
    // Its lines are functions.
    if format != Format::SpeedscopeLines {
        assert_eq!(read, recording);
    }
}

#[test]
fn trace() {
    check(Format::Trace, "page.trace.json");
}

#[test]
fn firefox() {
    check(Format::Firefox, "page_and_worker.firefox.json");
}

#[test]
fn speedscope() {
    check(Format::Speedscope, "page_and_worker.speedscope.json");
}

#[test]
fn speedscope_lines() {
    check(
        Format::SpeedscopeLines,
        "page_and_worker.speedscope-lines.json",
    );
}

#[test]
fn cpuprofile() {
    check(Format::Cpuprofile, "page.cpuprofile");
}

#[test]
fn collapsed() {
    check(Format::Collapsed, "page_and_worker.collapsed");
}

#[test]
fn collapsed_lines() {
    check(Format::CollapsedLines, "page_and_worker.collapsed-lines");
}

#[test]
fn html() {
    check(Format::Html, "page_and_worker.html");
}

/// A page of nothing but what a recording makes of it.
fn element_of_data(page: &str) -> String {
    let start = page.find(r#"<script type="application/json""#).unwrap();
    let end = page[start..].find("</script>").unwrap();
    let data = &page[start..start + end];
    format!("<!DOCTYPE html>\n{LICENCE}\n{data}</script>\n")
}

const LICENCE: &str = "\
<!-- This Source Code Form is subject to the terms of the Mozilla Public
   - License, v. 2.0. If a copy of the MPL was not distributed with this
   - file, You can obtain one at https://mozilla.org/MPL/2.0/. -->";

#[test]
fn functions_are_counted_once_in_a_sample() {
    let (recording, _) = read(b"a;b;a 2\na 3\nb;a 1\n(idle) 4\n", None, None).unwrap();
    let totals = Totals::of(&recording);
    let mut functions: Vec<_> = totals
        .functions
        .iter()
        .map(|(function, totals)| (function.name, totals.itself, totals.total))
        .collect();
    functions.sort_unstable();
    assert_eq!(functions, [("a", 6, 6), ("b", 0, 3)]);
    assert_eq!((totals.samples, totals.with_stack), (10, 6));
}
