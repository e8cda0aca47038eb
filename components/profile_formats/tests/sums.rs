/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What is read for a report says the same as what is read with all samples: of every file that there is for tests, whole and cut
//! off anywhere, compressed, and in small pieces.

#[path = "random_recording/random.rs"]
mod random;

use std::fs;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use profile_formats::{
    By, Error, Format, ReadOptions, Recording, WriteError, json_report, line_report,
    markdown_report, read_sums, read_with, report_by,
};

use self::random::Random;

/// Everything that reports say.
fn reports(recording: Recording) -> String {
    let files = [(String::new(), recording)];
    let by = By::ALL.map(|by| report_by(&files, by, 1_000)).concat();
    let by = by
        + &json_report(&files, By::Function, 1_000, true)
        + &markdown_report(&files, By::Function, 100);
    by + &report_by(&files, By::Function, 3)
        + &line_report(&files[0].1, 1_000)
        + &line_report(&files[0].1, 2)
}

fn options(format: Option<Format>) -> ReadOptions {
    ReadOptions {
        format,
        ..ReadOptions::default()
    }
}

/// A file that is read in pieces of a few bytes.
struct Pieces(Cursor<Vec<u8>>, usize);

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = self.1 % 7 + 1;
        let most = self.1.min(buffer.len());
        self.0.read(&mut buffer[..most])
    }
}

impl Seek for Pieces {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.0.seek(position)
    }
}

fn pieces(content: &[u8]) -> Pieces {
    Pieces(Cursor::new(content.to_vec()), 0)
}

fn compressed(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn read_for_report(
    file: impl Read + Seek + Send,
    path: &Path,
    format: Option<Format>,
) -> Result<(Recording, Format), Error> {
    let (mut last, mut all) = (0, 0);
    let (recording, format, _) = read_sums(file, Some(path), options(format), |read, of| {
        (last, all) = (read, of);
    })?;
    assert!(
        all > 0 && last == all,
        "{}: {last} of {all} bytes",
        path.display()
    );
    Ok((recording, format))
}

/// Checks that both say the same. Returns whether the file is read.
fn check(content: &[u8], path: &Path, format: Option<Format>) -> bool {
    let what = path.display();
    let expected = read_with(content, Some(path), options(format));
    let read = read_for_report(pieces(content), path, format);
    match (expected, read) {
        (Ok((recording, format, _)), Ok((summed, summed_as))) => {
            assert_eq!(summed_as, format, "{what}");
            assert_eq!(
                reports(summed),
                reports(recording),
                "{what}, {} bytes",
                content.len()
            );
            true
        },
        (Err(expected), Err(error)) => {
            // Behind a value that is skipped, only one of them looks.
            let places = [expected.place(), error.place()];
            let is_alike = places[0].starts_with(places[1]) || places[1].starts_with(places[0]);
            assert!(is_alike, "{what}: {expected}, and {error}");
            println!("{what} is refused: {error}");
            false
        },
        (Ok(_), Err(error)) => panic!("{what}, {} bytes: {error}", content.len()),
        (Err(expected), Ok(_)) => panic!(
            "{what}, {} bytes: is read in spite of: {expected}",
            content.len()
        ),
    }
}

/// The files in a folder and in those within.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.path() {
            path if path.is_dir() => files.extend(files_in(&path)),
            path => files.push(path),
        }
    }
    files.sort();
    files
}

fn all_files() -> Vec<PathBuf> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/corpus");
    let formats = [
        "any_profile",
        "chrome_trace",
        "collapsed",
        "cpuprofile",
        "firefox",
        "hermes",
        "html",
        "speedscope",
    ];
    let mut files: Vec<_> = ["cases", "golden", "others", "tools"]
        .map(|name| files_in(&tests.join(name)))
        .concat();
    files.extend(formats.iter().flat_map(|name| files_in(&corpus.join(name))));
    files
}

/// The format that is read as a stream.
fn streamed(path: &Path) -> Option<Format> {
    let path = path.to_string_lossy();
    match () {
        () if path.contains("cpuprofile") => Some(Format::Cpuprofile),
        () if path.contains("firefox") => Some(Format::Firefox),
        () => None,
    }
}

#[test]
fn a_report_says_the_same_of_every_file() {
    let mut read = 0;
    for path in all_files() {
        let content = fs::read(&path).unwrap();
        read += usize::from(check(&content, &path, None));
        check(&compressed(&content), &path, None);
        if let Some(format) = streamed(&path) {
            check(&content, &path, Some(format));
        }
    }
    assert!(read > 300, "{read} files are read");
}

#[test]
fn a_report_says_the_same_of_a_part_of_a_file() {
    for path in all_files() {
        let content = fs::read(&path).unwrap();
        let Some(format) = streamed(&path).filter(|_| content.len() < 2_500) else {
            continue;
        };
        // Of a longer file, the ends of blocks of other lengths.
        let step = if content.len() < 700 { 1 } else { 13 };
        for length in (0..content.len()).step_by(step) {
            check(&content[..length], &path, Some(format));
        }
    }
}

#[test]
fn a_report_says_the_same_of_a_changed_file() {
    const BYTES: &[u8] = br#"0123456789-.e,:"[]{}\nulltrue "#;
    let mut random = Random(7);
    let mut read = 0;
    for path in all_files() {
        let content = fs::read(&path).unwrap();
        let Some(format) = streamed(&path).filter(|_| content.len() < 8_000) else {
            continue;
        };
        for _ in 0..60 {
            let mut changed = content.clone();
            for _ in 0..if random.once_in(2) { 2 } else { 1 } {
                if let Some(byte) = changed.get_mut(random.below(content.len().max(1))) {
                    *byte = *random.of(BYTES);
                }
            }
            read += usize::from(check(&changed, &path, Some(format)));
        }
    }
    assert!(read > 300, "{read} changed files are read");
}

#[test]
fn sums_of_samples_are_written_in_no_format() {
    let text = br#"{"nodes":[{"id":1,"callFrame":{"functionName":"f"}}],"startTime":0,"samples":[1],"timeDeltas":[5]}"#;
    let (recording, _) =
        read_for_report(Cursor::new(text), Path::new("a.cpuprofile"), None).unwrap();
    for format in Format::ALL {
        let mut written = Vec::new();
        let error = format.write(&recording, &mut written).unwrap_err();
        assert!(
            matches!(error, WriteError::Unfit(_)) && written.is_empty(),
            "{error}"
        );
        assert!(error.to_string().contains("added up"), "{error}");
    }
}

#[test]
fn an_error_says_where_it_is() {
    let nodes = r#"{"nodes":[{"id":1,"callFrame":{"functionName":"f"}}],"#;
    for (rest, expected) in [
        (
            r#""samples":[1,"x"]}"#,
            r#"samples[1]: invalid type: string "x", expected u64 at byte 69"#,
        ),
        (
            r#""samples":[1,-1]}"#,
            "samples[1]: invalid value: integer `-1`, expected u64 at byte 68",
        ),
        (r#""samples":[1,]}"#, "samples: trailing comma at byte 66"),
        (
            r#""samples":[7],"timeDeltas":[1]}"#,
            "samples[0]: 7 is the id of no node",
        ),
        (
            r#""samples":[1],"timeDeltas":[1]}x"#,
            "trailing characters at byte 84",
        ),
        (
            r#""samples":[1],"timeDeltas":[01]}"#,
            "timeDeltas[0]: invalid number at byte 81",
        ),
    ] {
        let text = format!("{nodes}{rest}").into_bytes();
        let error = read_for_report(
            Cursor::new(text),
            Path::new("a.cpuprofile"),
            Some(Format::Cpuprofile),
        );
        assert_eq!(error.unwrap_err().to_string(), expected, "{rest}");
    }
}

#[test]
fn an_interval_that_a_file_does_not_say_is_that_of_its_samples() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/others");
    for name in [
        "firefox-profiler-df31314e-version-70.firefox.json",
        "firefox-esr-153-raw.json",
    ] {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        assert!(text.contains(r#""interval":"#), "{name}");
        let text = text.replacen(r#""interval":"#, r#""other":"#, 1);
        assert!(check(text.as_bytes(), Path::new(name), None), "{name}");
    }
}

/// Each has the sums of its own samples. No thread has so many samples that their number overflows; all together have.
#[test]
fn threads_that_share_tables_have_sums_of_their_own() {
    let thread = |number: u64| {
        let (stack, weight) = (number % 3, (1_u64 << 53) - number % 2);
        format!(
            r#"{{"name":"{number}","pid":{},"samples":{{"stack":[null,{stack}],"timeDeltas":[0,1],"weight":[{},{weight}]}}}}"#,
            number % 2,
            number % 2
        )
    };
    let threads: Vec<_> = (0..2_100).map(thread).collect();
    let text = format!(
        r#"{{"meta":{{"preprocessedProfileVersion":70,"interval":1}},"threads":[{}],"shared":{{"stackTable":{{"frame":[0,1,2],"prefixOffset":[0,0,1]}},"frameTable":{{"func":[0,1,2]}},"funcTable":{{"name":[0,1,2]}},"stringArray":["f","g","h"]}}}}"#,
        threads.join(",")
    );
    let path = Path::new("a.json");
    assert!(check(text.as_bytes(), path, None));
    let (recording, _) = read_for_report(Cursor::new(text), path, None).unwrap();
    let report = report_by(&[(String::new(), recording)], By::Function, 3);
    assert!(report.contains("18,446,744,073,709,551,615"), "{report}");
}

/// What a file with many samples says does not depend on where a block of it ends.
#[test]
fn a_long_file_says_the_same() {
    for (is_whole, goes_back) in [(true, false), (true, true), (false, false)] {
        let count = 60_000_u64;
        let node = |id: usize| {
            format!(
                r#"{{"id":{id},"callFrame":{{"functionName":"f\u00e9{}","url":"file:///{}.js","lineNumber":{id}}},"hitCount":{},"parent":{},"positionTicks":[{{"line":3,"ticks":9}},{{"line":{id},"ticks":1}}]}}"#,
                id % 70,
                "long/".repeat(id % 40),
                count / 120,
                id / 2
            )
        };
        let root = r#"{"id":1,"callFrame":{"functionName":"(root)"}}"#.to_owned();
        let nodes: Vec<_> = [root].into_iter().chain((2..100).map(node)).collect();
        let samples = (0..count).map(|index| (1 + index * index / 7 % 99).to_string());
        let deltas = (0..count).map(|index| match index % 1_000 {
            0 if goes_back => "-40".to_owned(),
            7 if !is_whole => "12.75".to_owned(),
            rest => (1_000 + rest * index % 613).to_string(),
        });
        let [samples, deltas] = [samples.collect::<Vec<_>>(), deltas.collect()];
        let text = format!(
            r#"{{"nodes":[{}],"startTime":5000,"endTime":90000000,"samples":[{}],"timeDeltas":[{}]}}"#,
            nodes.join(","),
            samples.join(","),
            deltas.join(", ")
        );
        assert!(check(text.as_bytes(), Path::new("a.cpuprofile"), None));
    }
}
