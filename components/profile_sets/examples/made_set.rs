/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Makes a set of sessions of real recordings, each with a bundle and a release by chance:
//! `cargo run --release --example made_set -- FOLDER SESSIONS SAMPLES RECORDING…` writes `FOLDER/traces.ndjson` with envelopes, and
//! `FOLDER/pprof/N.pb.gz` with the same profiles.

use std::env;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use profile_formats::{
    EventLoop, EventLoopKind, Format, Frame, Function, LabelSet, Recording, Sample, StackId, read,
    replace,
};

/// SplitMix64, <https://prng.di.unimi.it/splitmix64.c>.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut next = self.0;
        next = (next ^ (next >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        next = (next ^ (next >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((next ^ (next >> 31)) % end as u64) as usize
    }
}

const RELEASES: usize = 20;

/// The hash of each release in the names of its scripts.
fn hash(release: usize) -> String {
    format!(
        "{:08x}",
        0x9e37_79b9_u32.wrapping_mul(release as u32 + 1) | 1
    )
}

/// A session of the functions of a recording: samples of its stacks by chance, with bursts and holes.
fn session(of: &EventLoop, release: usize, samples: usize, random: &mut Random) -> EventLoop {
    let mut made = EventLoop::new("", EventLoopKind::Unknown);
    let functions: Vec<_> = of
        .functions()
        .map(|function| {
            let url = of.resource_of(function).unwrap_or_default();
            let url = match url.rsplit_once(".js") {
                Some((start, rest)) => format!("{start}.{}.js{rest}", hash(release)),
                None => url.to_owned(),
            };
            let function = Function {
                resource: made.add_resource(&url).unwrap(),
                realm: None,
                source: None,
                generated: None,
                ..function.clone()
            };
            made.add_function(function).unwrap()
        })
        .collect();
    let stacks: Vec<StackId> = of
        .samples()
        .iter()
        .filter_map(|sample| sample.stack)
        .collect();
    let mut labels = None;
    let mut time = 100.;
    let set: LabelSet = vec![("release".to_owned(), release.to_string())];
    for _ in 0..samples {
        time += match random.below(200) {
            0 => 0.05,
            1 => 90.,
            _ => 9. + random.below(2_000) as f64 / 1e3,
        };
        let mut stack = None;
        if !stacks.is_empty() && random.below(5) > 0 {
            for frame in of.frames_of(Some(stacks[random.below(stacks.len())])) {
                let function = functions[of.frame(frame).function.index()];
                let place = None;
                let frame = made.add_frame(Frame { function, place }).unwrap();
                stack = Some(made.add_stack(stack, frame).unwrap());
            }
        }
        let sample = Sample {
            time: (time * 1e3_f64).round() / 1e3,
            weight: 1,
            stack,
            activity: None,
        };
        made.add_sample(sample).unwrap();
        let labels = *labels.get_or_insert_with(|| made.add_label_set(set.clone()).unwrap());
        made.label_last_sample(labels).unwrap();
    }
    made
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [folder, sessions, samples, recordings @ ..] = &*arguments else {
        panic!("FOLDER SESSIONS SAMPLES RECORDING…");
    };
    let (sessions, samples): (usize, usize) = (sessions.parse().unwrap(), samples.parse().unwrap());
    let recordings: Vec<Recording> = recordings
        .iter()
        .map(|file| {
            read(&fs::read(file).unwrap(), Some(Path::new(file)), None)
                .unwrap()
                .0
        })
        .collect();
    let mut event_loops: Vec<&EventLoop> =
        recordings.iter().flat_map(Recording::event_loops).collect();
    event_loops.retain(|event_loop| event_loop.stacks().len() > 0);
    let folder = Path::new(folder);
    fs::create_dir_all(folder.join("pprof")).unwrap();
    let mut lines = BufWriter::new(File::create(folder.join("traces.ndjson")).unwrap());
    let mut random = Random(1);
    for number in 0..sessions {
        let release = random.below(RELEASES);
        let of = event_loops[random.below(event_loops.len())];
        let made = session(of, release, samples, &mut random);
        let mut recording = Recording::of_one(made, 10., None);
        write!(
            lines,
            r#"{{"v":1,"session":"{number}","release":"{release}","trace":"#
        )
        .unwrap();
        Format::Trace.write(&recording, &mut lines).unwrap();
        lines.write_all(b"}\n").unwrap();
        profile_formats::value_by_clock(&mut recording).unwrap();
        let file = folder.join("pprof").join(format!("{number}.pb.gz"));
        replace(&file, Format::Pprof, &recording).unwrap();
    }
    lines.flush().unwrap();
}
