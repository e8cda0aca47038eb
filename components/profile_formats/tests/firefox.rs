/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The versions of the Firefox Profiler's format, and what Firefox itself writes.

mod random_recording;

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU32;
use std::path::PathBuf;

use profile_formats::{
    EventLoop, EventLoopKind, Format, Frame, Function, FunctionKey, FunctionKind, GeneratedPlace,
    Place, Recording, Sample, Source, Totals, read,
};
use serde_json::{Value, json};

use self::random_recording::random::Random;
use self::random_recording::recording;

const RECORDINGS: u64 = 30;

fn content(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/others");
    fs::read(folder.join(name)).unwrap()
}

fn read_text(text: &[u8]) -> Recording {
    let (recording, format) = read(text, None, None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(format, Format::Firefox);
    recording
}

fn written(recording: &Recording, format: Format) -> String {
    let mut text = Vec::new();
    format.write(recording, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn sorted_lines(recording: &Recording) -> Vec<String> {
    let text = written(recording, Format::CollapsedLines);
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// The samples of each function itself, by its name.
fn itself(recording: &Recording) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for (FunctionKey { name, .. }, totals) in Totals::of(recording).functions {
        if totals.itself > 0 {
            *all.entry(name.to_owned()).or_default() += totals.itself;
        }
    }
    all
}

#[test]
fn what_the_front_end_saves() {
    let recording = read_text(&content(
        "firefox-profiler-df31314e-version-70.firefox.json",
    ));
    assert_eq!(
        sorted_lines(&recording),
        [
            "main (https://a.test/app.js:1:1):20;work (https://a.test/app.js:12:14):14 3",
            "main (https://a.test/app.js:1:1):21 1",
        ]
    );
    let recording = read_text(&content("shared-tables-version-70.firefox.json"));
    let expected = [("draw", 1), ("load", 2)];
    let expected = expected.map(|(name, samples)| (name.to_owned(), samples));
    assert_eq!(itself(&recording), BTreeMap::from(expected));
}

/// Flags in the place of what is no value: of each column of `columns`, by the values that are none, the flag of the others.
fn set_flags(table: &mut Value, columns: &[(&str, &[Value], u64)]) {
    let rows = table["length"].as_u64().unwrap() as usize;
    let mut flags = vec![0; rows];
    for (name, nothing, flag) in columns {
        for (row, flags) in flags.iter_mut().enumerate() {
            let value = &mut table[name][row];
            match nothing.contains(value) {
                true => *value = 0.into(),
                false => *flags |= flag,
            }
        }
    }
    table["flags"] = flags.into();
}

/// The same profile in another version: what is in other places there.
fn in_version(text: &str, version: u64) -> Value {
    let mut file: Value = serde_json::from_str(text).unwrap();
    file["meta"]["preprocessedProfileVersion"] = version.into();
    let count = |table: &Value| table["length"].as_u64().unwrap() as usize;
    let mut shared = file["shared"].take();
    if version >= 71 {
        let (null, none) = (&[Value::Null][..], &[json!(-1)][..]);
        let frames = &mut shared["frameTable"];
        // An address without a library is none.
        let rows = count(frames);
        frames["address"] = vec![0; rows].into();
        let columns = [
            ("lib", none, 2),
            ("category", null, 4),
            ("subcategory", null, 4),
            ("nativeSymbol", null, 8),
            ("line", null, 16),
            ("column", null, 32),
            ("originalLocation", null, 64),
        ];
        set_flags(frames, &columns);
        frames.as_object_mut().unwrap().remove("inlineDepth");
    }
    if version >= 75 {
        let functions = &mut shared["funcTable"];
        let (null, none) = (&[Value::Null][..], &[json!(-1)][..]);
        let no = &[json!(false)][..];
        let columns = [
            ("isJS", no, 1),
            ("relevantForJS", no, 2),
            ("resource", none, 4),
            ("source", null, 8),
            ("lineNumber", null, 16),
            ("columnNumber", null, 32),
            ("originalLocation", null, 64),
        ];
        set_flags(functions, &columns);
        for name in ["isJS", "relevantForJS"] {
            functions.as_object_mut().unwrap().remove(name);
        }
    }
    if version < 66 {
        let stacks = shared["stackTable"].as_object_mut().unwrap();
        let offsets = stacks.remove("prefixOffset").unwrap();
        let offsets = offsets.as_array().unwrap().iter().enumerate();
        let prefixes = offsets.map(|(index, offset)| match offset.as_u64().unwrap() {
            0 => Value::Null,
            offset => (index as u64 - offset).into(),
        });
        stacks.insert("prefix".to_owned(), prefixes.collect());
    }
    if version < 58 {
        let names = shared["sources"]["filename"].take();
        let functions = shared["funcTable"].as_object_mut().unwrap();
        let sources = functions.remove("source").unwrap();
        let sources = sources.as_array().unwrap().iter();
        let names = sources.map(|source| match source.as_u64() {
            None => Value::Null,
            Some(source) => names[source as usize].clone(),
        });
        functions.insert("fileName".to_owned(), names.collect());
        shared.as_object_mut().unwrap().remove("sources");
    }
    if version < 60 {
        for table in [
            "stackTable",
            "frameTable",
            "funcTable",
            "resourceTable",
            "nativeSymbols",
        ] {
            let table_of_all = shared.as_object_mut().unwrap().remove(table).unwrap();
            assert!(count(&table_of_all) < 1_000_000);
            for thread in file["threads"].as_array_mut().unwrap() {
                thread[table] = table_of_all.clone();
            }
        }
    }
    if version < 56 {
        file.as_object_mut().unwrap().remove("shared");
        for thread in file["threads"].as_array_mut().unwrap() {
            thread["stringArray"] = shared["stringArray"].clone();
        }
    } else {
        file["shared"] = shared;
    }
    file
}

/// Without the offsets in WebAssembly, for which version 71 has no place.
fn without_offsets(text: &str) -> String {
    let mut file: Value = serde_json::from_str(text).unwrap();
    let addresses = file["shared"]["frameTable"]["address"].as_array_mut();
    addresses.unwrap().fill(json!(-1));
    file.to_string()
}

#[test]
fn every_version_says_the_same() {
    for seed in 0..RECORDINGS {
        let recording = recording(seed, 1 + seed as usize % 3);
        let text = written(&recording, Format::Firefox);
        let written = read_text(text.as_bytes());
        let without_offsets = read_text(without_offsets(&text).as_bytes());
        for version in [55, 56, 57, 58, 59, 60, 65, 66, 69, 70, 71, 72, 73, 74, 75] {
            let other = read_text(in_version(&text, version).to_string().as_bytes());
            let expected = match version {
                71.. => &without_offsets,
                _ => &written,
            };
            assert_eq!(
                sorted_lines(&other),
                sorted_lines(expected),
                "seed {seed}, version {version}"
            );
            for (one, other) in other.event_loops().zip(expected.event_loops()) {
                assert_eq!(one.kind, other.kind, "seed {seed}, version {version}");
                assert_eq!(
                    one.missed(),
                    other.missed(),
                    "seed {seed}, version {version}"
                );
                let activities = |one: &EventLoop| -> Vec<_> {
                    one.samples().iter().map(|sample| sample.activity).collect()
                };
                assert_eq!(activities(one), activities(other), "seed {seed}, {version}");
            }
        }
    }
}

#[test]
fn a_thread_has_only_what_its_samples_refer_to() {
    let seeds = (0..RECORDINGS).map(|seed| recording(seed, 3));
    let of_three =
        seeds.map(|recording| read_text(written(&recording, Format::Firefox).as_bytes()));
    for recording in of_three {
        for event_loop in recording.event_loops() {
            let mut used = vec![false; event_loop.stacks().len()];
            for sample in event_loop.samples() {
                let mut next = sample.stack;
                while let Some(stack) = next {
                    used[stack.index()] = true;
                    next = event_loop.stack(stack).parent;
                }
            }
            assert!(used.iter().all(|used| *used));
        }
    }
}

/// Stacks that several threads have, each in its own order: what has been read for one thread says nothing about the next one.
#[test]
fn threads_that_share_stacks_have_their_own_samples() {
    for seed in 0..RECORDINGS {
        let mut random = Random(seed);
        let mut indices = |count: usize, of: usize| -> Vec<usize> {
            (0..count).map(|_| random.below(of)).collect()
        };
        let names: Vec<_> = (0..8).map(|name| format!("f{name}")).collect();
        let functions = indices(6, names.len());
        let frames = indices(9, functions.len());
        let stacks = indices(20, frames.len());
        let offsets: Vec<_> = (0..stacks.len()).map(|at| indices(1, at + 1)[0]).collect();
        let threads: Vec<_> = (0..5).map(|_| indices(12, stacks.len())).collect();
        let file = json!({
            "meta": { "preprocessedProfileVersion": 70, "interval": 1 },
            "shared": {
                "stringArray": names,
                "funcTable": { "name": functions, "isJS": vec![true; functions.len()] },
                "frameTable": { "func": frames },
                "stackTable": { "frame": stacks, "prefixOffset": offsets },
            },
            "threads": threads.iter().map(|samples| json!({
                "samples": {
                    "stack": samples,
                    "time": (0..samples.len()).collect::<Vec<_>>(),
                    "weight": vec![1; samples.len()],
                },
            })).collect::<Vec<_>>(),
        });
        let path = |mut stack: usize| {
            let mut path = Vec::new();
            loop {
                path.push(names[functions[frames[stacks[stack]]]].as_str());
                match offsets[stack] {
                    0 => break,
                    offset => stack -= offset,
                }
            }
            path.reverse();
            path.join(";")
        };
        let recording = read_text(file.to_string().as_bytes());
        for (event_loop, samples) in recording.event_loops().zip(&threads) {
            let read = event_loop.samples().iter().map(|sample| {
                let frames = event_loop.frames_of(sample.stack).into_iter();
                let names = frames.map(|frame| event_loop.function_of(frame).name.as_str());
                names.collect::<Vec<_>>().join(";")
            });
            let expected: Vec<_> = samples.iter().map(|stack| path(*stack)).collect();
            assert_eq!(read.collect::<Vec<_>>(), expected, "seed {seed}");
        }
    }
}

/// Of functions without a file: what is in parentheses in their names, as in Firefox's labels.
#[test]
fn parentheses_are_a_part_of_a_name() {
    let names = [
        "XRE_InitChildProcess (around Gecko Profiler)",
        "operator new (unsigned long)",
        "main ()",
        "(module)",
        "a (b:1:2)",
    ];
    let file = json!({
        "meta": { "preprocessedProfileVersion": 70, "interval": 1 },
        "shared": {
            "stringArray": names,
            "funcTable": { "name": [0, 1, 2, 3, 4] },
            "frameTable": { "func": [0, 1, 2, 3, 4] },
            "stackTable": { "frame": [0, 1, 2, 3, 4], "prefixOffset": [0, 0, 0, 0, 0] },
        },
        "threads": [{ "samples": { "stack": [0, 1, 2, 3, 4], "time": [0, 1, 2, 3, 4], "weight": [1, 1, 1, 1, 1] } }],
    });
    let recording = read_text(file.to_string().as_bytes());
    let expected: BTreeMap<_, _> = names.map(|name| (name.to_owned(), 1)).into();
    assert_eq!(itself(&recording), expected);
    // They are written as they are.
    let text = written(&recording, Format::Firefox);
    let file: Value = serde_json::from_str(&text).unwrap();
    let strings = file["shared"]["stringArray"].as_array().unwrap();
    for name in names {
        assert!(strings.contains(&name.into()), "{name}");
    }
    assert_eq!(itself(&read_text(text.as_bytes())), expected);
}

fn line(line: u32) -> Option<NonZeroU32> {
    NonZeroU32::new(line)
}

/// A function that was built from another file, and one that was not; both have texts.
fn built() -> Recording {
    let mut event_loop = EventLoop::new("page", EventLoopKind::Unknown);
    let original = event_loop.add_resource("https://a.test/work.ts").unwrap();
    let script = event_loop.add_resource("https://a.test/work.js").unwrap();
    let inline = event_loop.add_resource("https://a.test/").unwrap();
    let mut source = |name: &str, first: u32, text: &str, map_url: Option<&str>| {
        let source = Source {
            name: name.to_owned(),
            line: line(first).unwrap(),
            column: line(first + 1).unwrap(),
            text: Some(text.to_owned()),
            map_url: map_url.map(str::to_owned),
        };
        event_loop.add_source(source).unwrap()
    };
    let typescript = source("https://a.test/work.ts", 1, "function work() {}\n", None);
    let document = source("https://a.test/", 7, "\"</script>\u{1f600}", Some("a.map"));
    let work = event_loop.add_function(Function {
        name: "work".to_owned(),
        kind: FunctionKind::Script,
        resource: original,
        line: line(4),
        column: line(10),
        source: Some(typescript),
        generated: Some(Box::new(GeneratedPlace {
            name: "w".to_owned(),
            resource: script.unwrap(),
            line: line(1),
            column: line(77),
        })),
        ..Function::default()
    });
    let page = event_loop.add_function(Function {
        name: "page".to_owned(),
        kind: FunctionKind::Script,
        resource: inline,
        line: line(8),
        column: line(3),
        source: Some(document),
        ..Function::default()
    });
    let (work, page) = (work.unwrap(), page.unwrap());
    let mut frame = |function, place| event_loop.add_frame(Frame { function, place }).unwrap();
    let frames = [
        frame(page, Place::of_source(line(9), line(2))),
        frame(work, Place::of_source(line(6), line(5))),
        frame(work, Place::of_source(line(7), None)),
        frame(work, None),
    ];
    let root = event_loop.add_stack(None, frames[0]).unwrap();
    for (number, frame) in frames[1..].iter().enumerate() {
        let stack = event_loop.add_stack(Some(root), *frame).unwrap();
        let sample = Sample {
            time: number as f64,
            weight: 1,
            stack: Some(stack),
            activity: None,
        };
        event_loop.add_sample(sample).unwrap();
    }
    Recording::of_one(event_loop, 1., None)
}

#[test]
fn texts_and_built_places_are_in_the_file() {
    let recording = built();
    let text = written(&recording, Format::Firefox);
    let file: Value = serde_json::from_str(&text).unwrap();
    let shared = &file["shared"];
    let strings = &shared["stringArray"];
    let string = |index: &Value| strings[index.as_u64().unwrap() as usize].clone();
    let sources = &shared["sources"];
    let work = |name: &str| {
        let mut names = shared["funcTable"]["name"].as_array().unwrap().iter();
        names.position(|index| string(index) == name).unwrap()
    };
    // The built place is the function's own, the original one is beside it.
    let func = work("work");
    let column = |name: &str| &shared["funcTable"][name][func];
    let built = column("source").as_u64().unwrap() as usize;
    assert_eq!(
        string(&sources["filename"][built]),
        "https://a.test/work.js"
    );
    assert_eq!(sources["content"][built], Value::Null);
    assert_eq!(
        (column("lineNumber"), column("columnNumber")),
        (&json!(1), &json!(77))
    );
    let location = column("originalLocation").as_u64().unwrap() as usize;
    let locations = &shared["sourceLocationTable"];
    let original = locations["source"][location].as_u64().unwrap() as usize;
    assert_eq!(
        string(&sources["filename"][original]),
        "https://a.test/work.ts"
    );
    assert_eq!(sources["content"][original], "function work() {}\n");
    assert_eq!(locations["line"][location], 4);
    assert_eq!(locations["column"][location], 10);

    let read = read_text(text.as_bytes());
    assert_eq!(sorted_lines(&read), sorted_lines(&recording));
    let functions = |recording: &Recording| {
        let event_loop = recording.event_loops().next().unwrap().clone();
        let functions = event_loop.functions().map(|function| {
            let resource = |id| event_loop.resource(id).to_owned();
            let generated = function.generated.as_deref();
            let generated = generated.map(|one| (resource(one.resource), one.line, one.column));
            let source = function.source.map(|id| event_loop.source(id).clone());
            (
                function.name.clone(),
                function.line,
                function.column,
                generated,
                source,
            )
        });
        let mut functions: Vec<_> = functions.collect();
        functions.sort_by(|one, other| one.0.cmp(&other.0));
        functions
    };
    assert_eq!(functions(&read), functions(&recording));
}

#[test]
fn what_firefox_itself_writes() {
    let recording = read_text(&content("firefox-esr-153-raw.json"));
    let expected = [("", 1), ("(root)", 1), ("fib", 2)];
    let expected = expected.map(|(name, samples)| (name.to_owned(), samples));
    assert_eq!(itself(&recording), BTreeMap::from(expected));
    // In microseconds.
    assert_eq!(
        sorted_lines(&recording),
        [
            "(root) 1000",
            "(root);js::RunScript;(anonymous) (http://a.test/p.mjs:1:1):16 1000",
            "(root);js::RunScript;(anonymous) (http://a.test/p.mjs:1:1):16;fib (http://a.test/p.mjs:1:13):1 2000",
        ]
    );
    assert_eq!(recording.processes[0].name, "Web Content");
    assert_eq!(recording.event_loops().next().unwrap().name, "GeckoMain");
}

/// It has the address that was executing at the end of each stack, even if it did not walk stacks of machine code.
#[test]
fn an_address_alone_is_no_function() {
    let with_addresses = |stackwalk: u32| {
        let mut file: Value = serde_json::from_slice(&content("firefox-esr-153-raw.json")).unwrap();
        file["meta"]["stackwalk"] = stackwalk.into();
        let thread = &mut file["threads"][0];
        thread["stringTable"]
            .as_array_mut()
            .unwrap()
            .push("0x7f429086d932".into());
        let push = |table: &mut Value, row: Value| {
            let rows = table["data"].as_array_mut().unwrap();
            rows.push(row);
            rows.len() - 1
        };
        let frame = push(&mut thread["frameTable"], json!([4, false, 0]));
        for stack in 0..4 {
            let with_address = push(&mut thread["stackTable"], json!([stack, frame]));
            for row in thread["samples"]["data"].as_array_mut().unwrap() {
                if row[0] == stack {
                    row[0] = with_address.into();
                }
            }
        }
        // A stack of nothing else.
        let alone = push(&mut thread["stackTable"], json!([null, frame]));
        push(&mut thread["samples"], json!([alone, 14., 0]));
        itself(&read_text(file.to_string().as_bytes()))
    };
    let named = |expected: &[(&str, u64)]| {
        let expected = expected.iter();
        expected
            .map(|(name, samples)| ((*name).to_owned(), *samples))
            .collect::<BTreeMap<_, _>>()
    };
    let address = "0x7f429086d932";
    assert_eq!(
        with_addresses(0),
        named(&[("", 1), ("(root)", 1), ("fib", 2), (address, 1)])
    );
    assert_eq!(with_addresses(1), named(&[(address, 5)]));
}

/// A process with one thread.
fn process(version: &str, start: f64, pid: u32, time: f64, others: &[Value]) -> Value {
    json!({
        "meta": { "version": serde_json::from_str::<Value>(version).unwrap(), "startTime": start, "interval": 1 },
        "sources": {
            "schema": { "id": 0, "filename": 1, "startLine": 2, "startColumn": 3, "sourceMapURL": 4 },
            "data": [["a", "a.html", 30, 9, null]],
        },
        "threads": [{
            "name": "GeckoMain", "pid": pid,
            "stringTable": ["a.html[0]", "label", "0x7f00", "malloc (in libc.so.6)"],
            "frameTable": {
                // Columns may be in any order, and rows may be short.
                "schema": { "line": 0, "location": 1, "relevantForJS": 2, "category": 3 },
                "data": [[31, 0], [null, 1, true, 0], [null, 2, false, 0], [null, 3]],
            },
            "stackTable": { "schema": { "frame": 0, "prefix": 1 }, "data": [[0], [1, 0], [2, 1], [3, 2]] },
            "samples": { "schema": { "time": 0, "stack": 1 }, "data": [[time, 3], [time + 2., 0], [time + 3.]] },
            "markers": { "schema": {}, "data": [[{ "any": ["thing"] }]] },
        }],
        "processes": others,
    })
}

#[test]
fn processes_of_firefox_have_clocks_of_their_own() {
    let child = process("34", 1_500., 7, 20., &[]);
    let text = process("34", 1_000., 5, 10., &[child]).to_string();
    let recording = read_text(text.as_bytes());
    assert_eq!(recording.time_origin, Some(1_000.));
    let pids: Vec<_> = recording.processes.iter().map(|one| one.pid).collect();
    assert_eq!(pids, [Some(5), Some(7)]);
    let times = |event_loop: &EventLoop| -> Vec<_> {
        event_loop
            .samples()
            .iter()
            .map(|sample| sample.time)
            .collect()
    };
    let times: Vec<_> = recording.event_loops().map(times).collect();
    assert_eq!(times, [[10., 12., 13.], [520., 522., 523.]]);
    for event_loop in recording.event_loops() {
        let worths: Vec<_> = event_loop.worths(1.).collect();
        assert_eq!(worths, [2_000_000, 1_000_000, 1_000_000]);
        let functions: Vec<_> = event_loop.functions().collect();
        let names: Vec<_> = functions.iter().map(|one| (&*one.name, one.kind)).collect();
        assert_eq!(
            names,
            [
                ("", FunctionKind::Script),
                ("label", FunctionKind::BuiltIn),
                ("0x7f00", FunctionKind::Native),
                ("malloc", FunctionKind::Native),
            ]
        );
        assert_eq!(
            (functions[0].line, functions[0].column),
            (line(30), line(9))
        );
    }
    for version in ["37", "\"34\"", "-1"] {
        let text = process(version, 1_000., 5, 10., &[]).to_string();
        let error = read(text.as_bytes(), None, None).unwrap_err().to_string();
        assert!(error.starts_with("meta.version: "), "{error}");
    }
}
