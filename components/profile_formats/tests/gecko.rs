/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Whatever Firefox itself has written: each sample is read with its time and its stack. What is right is made together with
//! the file, not read from it.

#[path = "random_recording/random.rs"]
mod random;

use std::num::NonZeroU32;

use profile_formats::{Activity, EventLoop, Format, FrameId, FunctionKind, read};
use serde_json::{Map, Value, json};

use self::random::Random;

/// Under Miri each takes as long as thousands do otherwise.
const FILES: u64 = if cfg!(miri) { 1 } else { 100 };

const CATEGORIES: [(&str, Option<Activity>); 4] = [
    ("Other", None),
    ("Idle", Some(Activity::Idle)),
    ("JavaScript", None),
    ("GC / CC", Some(Activity::Gc)),
];

/// A function as it is read.
#[derive(Clone, Debug, PartialEq)]
struct Function {
    name: String,
    url: Option<String>,
    /// A line and a column.
    definition: [Option<u32>; 2],
    kind: FunctionKind,
}

/// A frame as it is read.
#[derive(Clone, Debug, PartialEq)]
struct Frame {
    function: Function,
    place: [Option<u32>; 2],
}

/// A sample as it is read: from the outermost frame to the innermost one.
#[derive(Debug, PartialEq)]
struct Sample {
    time: f64,
    frames: Vec<Frame>,
    activity: Option<Activity>,
}

/// A row of the table of frames.
struct FrameRow {
    frame: Frame,
    activity: Option<Activity>,
    is_address: bool,
}

/// A file in the making.
struct File {
    random: Random,
    /// What is right, for each thread in the order of the file.
    threads: Vec<(String, Vec<Sample>)>,
    pids: u32,
}

impl File {
    fn number(&mut self) -> Option<u32> {
        let number = 1 + self.random.below(5) as u32;
        (!self.random.once_in(4)).then_some(number)
    }

    /// A table whose columns are in any order. A row may end where all that follows is nothing.
    fn table(&mut self, columns: &[&str], rows: &[Vec<Value>]) -> Value {
        let mut order: Vec<_> = (0..columns.len()).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, self.random.below(last + 1));
        }
        let schema: Map<String, Value> = order
            .iter()
            .enumerate()
            .map(|(at, column)| (columns[*column].to_owned(), at.into()))
            .collect();
        let rows = rows.iter().map(|row| {
            let mut row: Vec<_> = order.iter().map(|column| row[*column].clone()).collect();
            while row.last() == Some(&Value::Null) && self.random.once_in(2) {
                row.pop();
            }
            row
        });
        let rows: Vec<_> = rows.collect();
        json!({ "schema": schema, "data": rows })
    }

    /// A text of a frame and the function that it stands for, if the file has these sources. `is_label` is whether the frame
    /// is relevant for JavaScript.
    fn location(&mut self, sources: &[[Option<u32>; 2]], is_label: bool) -> (String, Function) {
        let names = ["f", "get size", "a (b)/<", "", "g:7", "x[3]"];
        let name = *self.random.of(&names);
        let urls = [
            "https://a.test:80/x.js",
            "a.js",
            "data:text/html,b;c:1:2:d",
            "resource://a/b:c.mjs",
        ];
        let url = *self.random.of(&urls);
        let native = |name: &str| Function {
            name: name.to_owned(),
            url: None,
            definition: [None; 2],
            kind: match is_label {
                true => FunctionKind::BuiltIn,
                false => FunctionKind::Native,
            },
        };
        let script = |name: &str, definition| Function {
            name: name.to_owned(),
            url: Some(url.to_owned()),
            definition,
            kind: FunctionKind::Script,
        };
        let source = (!sources.is_empty()).then(|| self.random.below(sources.len()));
        let suffix = source
            .map(|source| format!("[{source}]"))
            .unwrap_or_default();
        let line = 1 + self.random.below(9) as u32;
        match self.random.below(8) {
            0 => {
                let name = *self
                    .random
                    .of(&["(root)", "js::RunScript", "Array.sort", "0x"]);
                (name.to_owned(), native(name))
            },
            1 => {
                let address = format!("0x7f{:x}", self.random.below(3));
                (address.clone(), native(&address))
            },
            2 => {
                let name = *self.random.of(&["malloc", "JS_Call(JSContext*)"]);
                (format!("{name} (in libxul.so) + 12"), native(name))
            },
            // The top level of a source.
            3 if let Some(source) = source => {
                let start = sources[source].map(|number| number.or(Some(1)));
                (format!("{url}{suffix}"), script("", start))
            },
            4 => (
                format!("{name} ({url}:{line}){suffix}"),
                script(name, [Some(line), None]),
            ),
            5 => (
                format!("{url}:{line}:7{suffix}"),
                script("", [Some(line), Some(7)]),
            ),
            _ => {
                let text = format!("{name} ({url}:{line}:12){suffix}");
                (text, script(name, [Some(line), Some(12)]))
            },
        }
    }

    fn thread(
        &mut self,
        sources: &[[Option<u32>; 2]],
        since: f64,
        has_machine_stacks: bool,
    ) -> Value {
        let name = format!("thread {}", self.threads.len());
        // Whether a frame is a label is a matter of its text here.
        let locations = (0..1 + self.random.below(8)).map(|_| {
            let is_label = self.random.once_in(4);
            (self.location(sources, is_label), is_label)
        });
        let mut locations: Vec<_> = locations.collect();
        let mut texts: Vec<String> = Vec::new();
        locations.retain(|((text, _), _)| {
            let is_new = !texts.contains(text);
            texts.extend(is_new.then(|| text.clone()));
            is_new
        });
        let (mut frames, mut rows) = (Vec::new(), Vec::new());
        for _ in 0..1 + self.random.below(12) {
            let location = self.random.below(locations.len());
            let ((text, function), is_label) = locations[location].clone();
            let (line, column) = (self.number(), self.number());
            let category = self.random.below(CATEGORIES.len());
            let is_script = function.kind == FunctionKind::Script;
            frames.push(FrameRow {
                frame: Frame {
                    place: line.map_or([None; 2], |line| [Some(line), column]),
                    function,
                },
                activity: CATEGORIES[category].1,
                is_address: !is_script && text.starts_with("0x"),
            });
            rows.push(vec![
                location.into(),
                is_label.into(),
                line.into(),
                column.into(),
                category.into(),
                0.into(),
                json!({ "any": ["thing"] }),
            ]);
        }
        let columns = [
            "location",
            "relevantForJS",
            "line",
            "column",
            "category",
            "subcategory",
            "more",
        ];
        let frame_table = self.table(&columns, &rows);

        // Indices of frames, from the outermost one.
        let mut stacks: Vec<Vec<usize>> = Vec::new();
        let mut rows = Vec::new();
        for _ in 0..1 + self.random.below(20) {
            let frame = self.random.below(frames.len());
            let prefix = match stacks.len() {
                0 => None,
                length => (!self.random.once_in(4)).then(|| self.random.below(length)),
            };
            let mut stack = prefix
                .map(|prefix| stacks[prefix].clone())
                .unwrap_or_default();
            stack.push(frame);
            stacks.push(stack);
            rows.push(vec![prefix.into(), frame.into()]);
        }
        let stack_table = self.table(&["prefix", "frame"], &rows);

        let mut time = self.random.below(100) as f64 / 8.;
        let (mut samples, mut rows) = (Vec::new(), Vec::new());
        for _ in 0..self.random.below(40) {
            time += self.random.below(20) as f64 / 8.;
            let stack = (!self.random.once_in(8)).then(|| self.random.below(stacks.len()));
            rows.push(vec![stack.into(), time.into(), json!(0.25)]);
            let mut on_stack = stack.map(|stack| &stacks[stack][..]).unwrap_or_default();
            if let [callers @ .., last] = on_stack
                && !has_machine_stacks
                && frames[*last].is_address
                && !callers.is_empty()
            {
                on_stack = callers;
            }
            samples.push(Sample {
                time: time + since,
                frames: on_stack
                    .iter()
                    .map(|frame| frames[*frame].frame.clone())
                    .collect(),
                activity: on_stack.last().and_then(|frame| frames[*frame].activity),
            });
        }
        let samples_table = self.table(&["stack", "time", "eventDelay"], &rows);
        self.threads.push((name.clone(), samples));
        json!({
            "name": name,
            "processName": "Web Content",
            "pid": self.pids,
            "stringTable": texts,
            "frameTable": frame_table,
            "stackTable": stack_table,
            "samples": samples_table,
            "markers": { "schema": { "name": 0 }, "data": [[0]] },
        })
    }

    /// A process and those within it. `origin` is when the first one has started, if this is another one.
    fn process(&mut self, origin: Option<f64>, depth: usize) -> Value {
        self.pids += 1;
        // One may not say when it has started.
        let start = match origin {
            Some(_) if self.random.once_in(4) => 0.,
            // The first one starts the others.
            first => first.unwrap_or(1_000.) + self.random.below(5_000) as f64,
        };
        let first = origin.unwrap_or(start);
        let since = if start == 0. { 0. } else { start - first };
        let stackwalk = *self.random.of(&[Some(0), Some(1), None]);
        let sources: Vec<_> = (0..self.random.below(3))
            .map(|_| [self.number(), self.number()])
            .collect();
        let rows: Vec<_> = sources
            .iter()
            .map(|[line, column]| vec!["id".into(), (*line).into(), (*column).into()])
            .collect();
        let source_table = self.table(&["id", "startLine", "startColumn"], &rows);
        let threads = 1 + self.random.below(3);
        let threads: Vec<_> = (0..threads)
            .map(|_| self.thread(&sources, since, stackwalk != Some(0)))
            .collect();
        let others = if depth == 0 { 0 } else { self.random.below(3) };
        let others: Vec<_> = (0..others)
            .map(|_| self.process(Some(first), depth - 1))
            .collect();
        let categories = CATEGORIES
            .map(|(name, _)| json!({ "name": name, "color": "grey", "subcategories": ["Other"] }));
        let mut meta = json!({ "version": 34, "startTime": start, "categories": categories, "product": "Firefox" });
        if let Some(stackwalk) = stackwalk {
            meta["stackwalk"] = stackwalk.into();
        }
        if origin.is_none() {
            meta["interval"] = 1.into();
        }
        json!({ "meta": meta, "sources": source_table, "threads": threads, "processes": others })
    }
}

fn frame(event_loop: &EventLoop, id: FrameId) -> Frame {
    let frame = event_loop.frame(id);
    let function = event_loop.function(frame.function);
    let number = |number: Option<NonZeroU32>| number.map(NonZeroU32::get);
    let (line, column) = match frame.place {
        Some(place) => (place.line(), place.column()),
        None => (None, None),
    };
    Frame {
        function: Function {
            name: function.name.clone(),
            url: event_loop.resource_of(function).map(str::to_owned),
            definition: [number(function.line), number(function.column)],
            kind: function.kind,
        },
        place: [number(line), number(column)],
    }
}

fn samples(event_loop: &EventLoop) -> Vec<Sample> {
    let samples = event_loop.samples().iter();
    let samples = samples.map(|sample| {
        let frames = event_loop.frames_of(sample.stack).into_iter();
        Sample {
            time: sample.time,
            frames: frames.map(|id| frame(event_loop, id)).collect(),
            activity: sample.activity,
        }
    });
    samples.collect()
}

#[test]
fn every_sample_of_firefox_is_read() {
    let (mut with_stack, mut all) = (0, 0);
    for seed in 0..FILES {
        let random = Random(seed);
        let mut file = File {
            random,
            threads: Vec::new(),
            pids: 0,
        };
        let text = file.process(None, 2).to_string();
        let (recording, format) = read(text.as_bytes(), None, None)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(format, Format::Firefox);
        assert_eq!(recording.processes.len(), file.pids as usize, "seed {seed}");
        let event_loops: Vec<_> = recording.event_loops().collect();
        assert_eq!(event_loops.len(), file.threads.len(), "seed {seed}");
        for (event_loop, (name, expected)) in event_loops.into_iter().zip(&file.threads) {
            assert_eq!(event_loop.name, *name, "seed {seed}");
            let read = samples(event_loop);
            assert_eq!(read.len(), expected.len(), "seed {seed}, {name}");
            for (read, expected) in read.iter().zip(expected) {
                assert_eq!(read, expected, "seed {seed}, {name}");
                all += 1;
                with_stack += usize::from(!read.frames.is_empty());
            }
        }
    }
    // The files say something.
    assert!(
        all > 20 * FILES as usize && with_stack > all / 2,
        "{with_stack} of {all}"
    );
}
