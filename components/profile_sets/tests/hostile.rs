/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Lines that visitors send to take memory without end: each file is merged and compared in a process that may have 1 GB of
//! addresses. A good line behind them counts, and no value becomes part of a path.

#![cfg(all(unix, not(miri)))]

use std::env;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use profile_formats::{EventLoop, Format};
use profile_sets::{
    Input, Inputs, Merge, Options, REPLICATES, Session, SessionReport, Sessions, diff,
};

/// kB of addresses that a process may have, as `ulimit` counts them: 1,000,000,000 bytes.
const MAX_ADDRESSES: u32 = 976_562;

/// Seconds of processor time that it may take.
const MAX_SECONDS: u32 = 120;

/// What a child process is to read.
const FILE: &str = "STROBE_HOSTILE_FILE";

const TRACE: &str = r#"{"resources":[],"frames":[{"name":"good"}],"stacks":[{"frameId":0}],"samples":[{"timestamp":1,"stackId":0},{"timestamp":2,"stackId":0}]}"#;

/// Writes lines of envelopes.
type Shape = fn(&mut dyn Write);

const SHAPES: [(&str, Shape); 9] = [
    ("a line without an end", long_line),
    ("a gzip of zeros", zeros),
    ("values of a label", values),
    ("labels of an envelope", labels),
    ("long values", long_values),
    ("sessions", sessions),
    ("a long session", long_session),
    ("arrays in each other", nested),
    ("a release that is a path", path),
];

fn envelope(lines: &mut dyn Write, members: &str, trace: &str) {
    writeln!(lines, r#"{{"v":1,{members}"trace":{trace}}}"#).unwrap();
}

fn long_line(lines: &mut dyn Write) {
    let part = "a".repeat(1_000_000);
    write!(lines, r#"{{"v":1,"session":""#).unwrap();
    for _ in 0..150 {
        lines.write_all(part.as_bytes()).unwrap();
    }
    writeln!(lines, r#"","trace":{TRACE}}}"#).unwrap();
}

fn zeros(lines: &mut dyn Write) {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..600 {
        encoder.write_all(&[b' '; 1_000_000]).unwrap();
    }
    let text = STANDARD.encode(encoder.finish().unwrap());
    envelope(lines, "", &format!("\"{text}\""));
}

fn values(lines: &mut dyn Write) {
    for number in 0..100_000 {
        let members = format!(r#""session":"s{}","page":"/{number}","#, number % 100);
        // Pieces that are the same would count once.
        let trace = TRACE.replace(r#""timestamp":1,"#, &format!(r#""timestamp":{number},"#));
        let trace = trace.replace(
            r#""timestamp":2,"#,
            &format!(r#""timestamp":{},"#, number + 1),
        );
        envelope(lines, &members, &trace);
    }
}

fn labels(lines: &mut dyn Write) {
    let mut members = r#""labels":{"#.to_owned();
    for number in 0..500_000 {
        let comma = if number == 0 { "" } else { "," };
        write!(members, r#"{comma}"l{number}":{number}"#).unwrap();
    }
    members += "},";
    envelope(lines, &members, TRACE);
}

fn long_values(lines: &mut dyn Write) {
    let value = "v".repeat(100_000);
    for number in 0..1_000 {
        let members = format!(r#""release":"{number}{value}","page":"{value}{number}","#);
        envelope(lines, &members, TRACE);
    }
}

fn sessions(lines: &mut dyn Write) {
    for number in 0..150_000 {
        envelope(lines, &format!(r#""session":"s{number}","#), TRACE);
    }
}

fn long_session(lines: &mut dyn Write) {
    let id = "s".repeat(1_000_000);
    for number in 0..100 {
        envelope(lines, &format!(r#""session":"{id}{number}","#), TRACE);
    }
}

fn nested(lines: &mut dyn Write) {
    let depth = 1_000_000;
    let array = "[".repeat(depth) + &"]".repeat(depth);
    envelope(lines, &format!(r#""labels":{{"a":{array}}},"#), TRACE);
    envelope(lines, "", &array);
}

fn path(lines: &mut dyn Write) {
    for release in ["../../../../etc", "/etc", "..", "a/../../b", "\\u0000"] {
        envelope(lines, &format!(r#""release":"{release}","#), TRACE);
    }
}

fn inputs(file: PathBuf) -> Inputs {
    Inputs {
        inputs: vec![Input::Path(file)],
        options: Options::default(),
    }
}

/// What a child process does with a hostile file; it says what became of it.
#[test]
#[ignore = "A process of other tests"]
fn child_reads() {
    let file = PathBuf::from(env::var_os(FILE).expect("other tests run this one"));
    let mut merge = Merge::new(None, true, true);
    let outcome = inputs(file.clone()).read(
        |profile| merge.add(&profile),
        |line| {
            assert!(line.len() < 5_000, "a long line is told");
        },
    );
    let outcome = outcome.unwrap();
    let (merged, counts) = merge.finish().unwrap();
    let mut text = Vec::new();
    Format::Pprof.write(&merged, &mut text).unwrap();
    let weights = merged.event_loops().map(EventLoop::weight);
    println!(
        "\nmerged: {} profiles, {} left out, {} samples, {} bytes",
        outcome.profiles,
        outcome.skipped,
        weights.sum::<u64>(),
        text.len()
    );
    println!("\ncounts: {counts:?}");
    drop((merged, text));

    let mut sessions = Sessions::new(None);
    let read = inputs(file).read(|profile| sessions.add(0, profile), |_| ());
    read.unwrap();
    sessions.finish().unwrap();
    SessionReport::of(&sessions, None, 10).unwrap().text();
    if let Ok(by_page) = SessionReport::of(&sessions, Some("page"), 10) {
        assert!(by_page.groups.len() <= 1_002, "{}", by_page.groups.len());
    }
    // One half with the other: there are enough sessions, or a sentence says that there are none.
    let names = ["base", "new"].map(str::to_owned);
    let side_of = |_, session: &Session| Some(usize::from(session.time.is_multiple_of(2)));
    if let Ok(compared) = diff(&sessions, names, side_of, REPLICATES) {
        assert!(compared.text(10).len() < 10_000);
    }
}

fn child(file: &Path) -> Output {
    let program = env::current_exe().unwrap();
    let limits = format!("ulimit -v {MAX_ADDRESSES}; ulimit -t {MAX_SECONDS}");
    Command::new("sh")
        .args(["-c", &format!("{limits}; exec \"$0\" \"$@\"")])
        .arg(program)
        .args([
            "--exact",
            "child_reads",
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

#[test]
fn no_shape_takes_more_than_the_memory_and_nothing_else_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("traces.ndjson");
    for (name, shape) in SHAPES {
        let mut lines = BufWriter::new(File::create(&file).unwrap());
        shape(&mut lines);
        envelope(&mut lines, r#""session":"the last one","#, TRACE);
        lines.flush().unwrap();
        let output = child(&file);
        let text = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{name}: {}\n{text}\n{errors}",
            output.status
        );
        let merged = text.lines().find(|line| line.starts_with("merged: "));
        let merged = merged.unwrap_or_else(|| panic!("{name}: {text}"));
        println!("{name}: {merged}");
        let profiles = merged.split(' ').nth(1).unwrap();
        assert_ne!(profiles, "0", "{name}: the last line is lost");
    }
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 1, "only the file of the test");
}
