/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Prints the functions of a profile, as JSON, once the source maps of a folder are applied: names, places of definitions, and
//! the lines at which samples were taken. `cargo run --example mapped_functions -- PROFILE MAPS`.

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::fs;
use std::io;
use std::path::PathBuf;

use profile_formats::{Deadline, apply_map_folders, read};
use serde::Serialize;

#[derive(Default, Serialize)]
struct Function {
    name: String,
    file: Option<String>,
    line: Option<u32>,
    /// In the function alone.
    samples: u64,
    /// First and last line, and samples.
    lines: Vec<(u32, u32, u64)>,
    /// Where it has no line.
    without_line: u64,
    /// The URL of the script that ran.
    script: Option<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args_os().skip(1).map(PathBuf::from).collect();
    let [profile, maps] = &*arguments else {
        return Err("a profile and a folder of maps are needed".into());
    };
    let read = read(&fs::read(profile)?, Some(profile), None);
    let (mut recording, _) = read.map_err(|error| format!("{}: {error}", profile.display()))?;
    for notice in apply_map_folders(
        &mut recording,
        std::slice::from_ref(maps),
        &Deadline::none(),
    ) {
        eprintln!("{notice}");
    }
    let mut all = Vec::new();
    for event_loop in recording.event_loops() {
        let mut functions = BTreeMap::new();
        for sample in event_loop.samples() {
            let frames = event_loop.frames_of(sample.stack);
            for (depth, frame) in frames.iter().rev().enumerate() {
                let frame = event_loop.frame(*frame);
                let entry: &mut (u64, BTreeMap<_, u64>) =
                    functions.entry(frame.function.index()).or_default();
                if depth == 0 {
                    entry.0 += sample.weight;
                    let of_one = |line| (line, line);
                    let lines = frame
                        .place
                        .and_then(|place| place.lines().or(place.line().map(of_one)));
                    *entry.1.entry(lines).or_default() += sample.weight;
                }
            }
        }
        for (id, function) in event_loop.functions().enumerate() {
            let Some((samples, places)) = functions.remove(&id) else {
                continue;
            };
            let generated = function.generated.as_ref();
            let script = generated.map(|place| event_loop.resource(place.resource).to_owned());
            let mut entry = Function {
                name: function.name.clone(),
                file: event_loop.resource_of(function).map(str::to_owned),
                line: function.line.map(u32::from),
                samples,
                script: script.or_else(|| event_loop.resource_of(function).map(str::to_owned)),
                ..Function::default()
            };
            for (lines, samples) in places {
                match lines {
                    Some((first, last)) => entry.lines.push((first.into(), last.into(), samples)),
                    None => entry.without_line += samples,
                }
            }
            all.push(entry);
        }
    }
    Ok(serde_json::to_writer(io::stdout().lock(), &all)?)
}
