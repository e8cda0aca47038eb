/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Writes recordings in each format that has tools of its own, for `./mach test-formats`:
//!
//! ```text
//! every_format FOLDER [PROFILE…]
//! ```
//!
//! The recordings are those of the files, or else random ones. What must be found in the files that are
//! written is in `FOLDER/expected.json`.

#[path = "../tests/random_recording/mod.rs"]
mod random_recording;

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use profile_formats::{EventLoop, Format, FunctionTotals, Place, Recording, Totals, read};
use serde::Serialize;

use self::random_recording::recording_for_tools;

const RANDOM_RECORDINGS: u64 = 40;

const FORMATS: [Format; 6] = [
    Format::Speedscope,
    Format::SpeedscopeLines,
    Format::Cpuprofile,
    Format::Collapsed,
    Format::CollapsedLines,
    Format::Firefox,
];

/// A file and what is in it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Expected {
    file: String,
    format: &'static str,
    interval: f64,
    event_loops: Vec<ExpectedTotals>,
    /// Over all event loops.
    totals: ExpectedTotals,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExpectedTotals {
    samples: u64,
    with_stack: u64,
    functions: Vec<ExpectedFunction>,
    lines: Vec<ExpectedLine>,
}

/// Absent numbers are 0, and an absent resource is the empty URL.
#[derive(Serialize)]
struct ExpectedFunction {
    name: String,
    resource: String,
    line: u32,
    column: u32,
    itself: u64,
    total: u64,
}

/// Samples at a line of a leaf; of one line there may be several.
#[derive(Serialize)]
struct ExpectedLine {
    name: String,
    resource: String,
    line: u32,
    column: u32,
    /// The line.
    at: u32,
    itself: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let folder = arguments.next().ok_or("the folder is missing")?;
    let files: Vec<_> = arguments.collect();
    fs::create_dir_all(&folder)?;
    let mut expected = Vec::new();
    if files.is_empty() {
        for seed in 0..RANDOM_RECORDINGS {
            let recording = recording_for_tools(seed, 1 + seed as usize % 4);
            expected.extend(write(&recording, &format!("random{seed}"), &folder)?);
        }
    }
    for (number, file) in files.iter().enumerate() {
        let recording = read(&fs::read(file)?, Some(file), None);
        let (recording, _) = recording.map_err(|error| format!("{}: {error}", file.display()))?;
        expected.extend(write(&recording, &format!("file{number}"), &folder)?);
    }
    let file = BufWriter::new(File::create(folder.join("expected.json"))?);
    Ok(serde_json::to_writer(file, &expected)?)
}

fn write(
    recording: &Recording,
    name: &str,
    folder: &Path,
) -> Result<Vec<Expected>, Box<dyn Error>> {
    let mut expected = Vec::new();
    for format in FORMATS {
        let parts = match format.holds_one_event_loop() {
            false => vec![recording.clone()],
            true => recording
                .event_loops()
                .map(|event_loop| of_one(recording, event_loop))
                .collect(),
        };
        for (number, part) in parts.iter().enumerate() {
            let file = format!("{name}.{number}.{format}");
            format.write(part, File::create(folder.join(&file))?)?;
            expected.push(Expected {
                file,
                format: format.as_str(),
                interval: part.interval,
                event_loops: part
                    .event_loops()
                    .map(|event_loop| totals(&of_one(part, event_loop)))
                    .collect(),
                totals: totals(part),
            });
        }
    }
    Ok(expected)
}

fn of_one(recording: &Recording, event_loop: &EventLoop) -> Recording {
    Recording::of_one(
        event_loop.clone(),
        recording.interval,
        recording.time_origin,
    )
}

fn totals(recording: &Recording) -> ExpectedTotals {
    let Totals {
        samples,
        with_stack,
        functions,
        ..
    } = Totals::of(recording);
    let functions = functions.into_iter();
    ExpectedTotals {
        samples,
        with_stack,
        functions: functions
            .map(
                |(function, FunctionTotals { itself, total, .. })| ExpectedFunction {
                    name: function.name.to_owned(),
                    resource: function.resource.unwrap_or_default().to_owned(),
                    line: function.line.map_or(0, |line| line.get()),
                    column: function.column.map_or(0, |column| column.get()),
                    itself,
                    total,
                },
            )
            .collect(),
        lines: recording.event_loops().flat_map(lines).collect(),
    }
}

fn lines(event_loop: &EventLoop) -> impl Iterator<Item = ExpectedLine> {
    event_loop.samples().iter().filter_map(|sample| {
        let leaf = event_loop.stack(sample.stack?).frame;
        let at = event_loop.frame(leaf).place.and_then(Place::line)?;
        let function = event_loop.function_of(leaf);
        Some(ExpectedLine {
            name: function.name.clone(),
            resource: event_loop
                .resource_of(function)
                .unwrap_or_default()
                .to_owned(),
            line: function.line.map_or(0, |line| line.get()),
            column: function.column.map_or(0, |column| column.get()),
            at: at.get(),
            itself: sample.weight,
        })
    })
}
