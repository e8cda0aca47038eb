/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Files that are known and are not read. A person who takes one for a profile is told what it is, and what to do.

/// The first line of Callgrind's profiles. Behind a comment, they may look like collapsed stacks.
const CALLGRIND: &[u8] = b"# callgrind format";

/// What a text begins with.
const STARTS: [(&[u8], &str); 15] = [
    (
        b"PERFILE2",
        "the data of Linux's perf, which only perf reads: make collapsed stacks of it with `perf script` and inferno or \
         FlameGraph's stackcollapse-perf.pl",
    ),
    (
        CALLGRIND,
        "a profile of Callgrind, which has costs of lines and no stacks; KCachegrind shows it",
    ),
    (
        b"v8-version,",
        "V8's log of --prof; `node --cpu-prof` writes a .cpuprofile, which is read",
    ),
    (
        b"FLR\0",
        "a recording of Java Flight Recorder; its converter `jfrconv` makes collapsed stacks of it",
    ),
    (
        b"Nettrace",
        "a trace of .NET; `dotnet-trace convert --format Speedscope` makes a file of it that is read",
    ),
    (
        b"\xdc\xdfJSLB",
        "a profile of the Firefox Profiler in its binary form (.jslb): open it in profiler.firefox.com and save it, which \
         writes JSON",
    ),
    (b"PK\x03\x04", "a ZIP archive: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd: unpack it first"),
    (b"BZh", "compressed by bzip2: unpack it first"),
    (b"\xfd7zXZ\0", "compressed by xz: unpack it first"),
    (
        b"<svg",
        "a picture; a flame graph as a picture has no samples, but the collapsed stacks that it was made of do",
    ),
    (
        b"<?xml",
        "XML; a flame graph as a picture has no samples, but the collapsed stacks that it was made of do",
    ),
    (b"\x7fELF", "a program"),
    (b"\x89PNG", "a picture"),
    (b"SQLite format 3\0", "a database of SQLite"),
];

/// Members that together only one kind of file has.
const MEMBERS: [(&[&str], &str); 9] = [
    (
        &["snapshot", "nodes", "edges"],
        "a heap snapshot of V8, which has objects and no samples; DevTools' panel Memory shows it",
    ),
    (
        &["head", "samples"],
        "a sampling heap profile of V8, whose samples are bytes that were allocated; DevTools' panel Memory shows it",
    ),
    (
        &["code", "functions", "ticks"],
        "V8's log of --prof, preprocessed; `node --cpu-prof` writes a .cpuprofile, which is read",
    ),
    (
        &["version", "sources", "mappings"],
        "a source map, not a profile: pass its folder with --source-maps",
    ),
    (
        &["version", "sections"],
        "a source map, not a profile: pass its folder with --source-maps",
    ),
    (
        &["lighthouseVersion", "audits"],
        "a report of Lighthouse, which has no samples",
    ),
    (
        &["recording", "overview"],
        "a timeline of Safari's Web Inspector, which is not read",
    ),
    (
        &["timestamp", "result"],
        "coverage of V8, which counts calls and has no samples",
    ),
    (
        &["header", "javascriptStack"],
        "a diagnostic report of Node.js, which has one stack and no samples",
    ),
];

/// The names of members that [`by_members`] asks for.
pub fn members() -> impl Iterator<Item = &'static str> {
    MEMBERS.iter().flat_map(|(members, _)| *members).copied()
}

/// What a JSON object is, by the names of its members that are asked for.
pub fn by_members(names: &[&str]) -> Option<&'static str> {
    let has_all = |members: &&[&str]| members.iter().all(|name| names.contains(name));
    let found = MEMBERS.iter().find(|(members, _)| has_all(members));
    found.map(|(_, what)| *what)
}

/// Whether a text is a known file whose first line would be a comment of collapsed stacks.
pub fn begins_as_comment(text: &[u8]) -> bool {
    text.trim_ascii_start().starts_with(CALLGRIND)
}

/// What a file is that is no JSON.
pub fn by_start(text: &[u8]) -> Option<&'static str> {
    let trimmed = text.trim_ascii_start();
    let start = STARTS.iter().find(|(start, _)| trimmed.starts_with(start));
    if let Some((_, what)) = start {
        return Some(what);
    }
    is_perf_script(text).then_some(
        "the output of `perf script`: make collapsed stacks of it with inferno or FlameGraph's stackcollapse-perf.pl",
    )
}

/// A line that ends with the name of an event and a colon, and lines with addresses behind it.
fn is_perf_script(text: &[u8]) -> bool {
    let lines = text.split(|byte| *byte == b'\n');
    let mut lines = lines.filter(|line| !line.starts_with(b"#") && !line.trim_ascii().is_empty());
    let (Some(head), Some(frame)) = (lines.next(), lines.next()) else {
        return false;
    };
    let address = frame.trim_ascii_start().split(|byte| *byte == b' ').next();
    let is_address = |word: &[u8]| word.len() > 4 && word.iter().all(u8::is_ascii_hexdigit);
    head.trim_ascii_end().ends_with(b":")
        && frame.first().is_some_and(u8::is_ascii_whitespace)
        && address.is_some_and(is_address)
}
