/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How large a profile may be. Files come from anywhere, and a small file may need a very long text or very large
//! tables. A line of collapsed stacks stands for any number of samples. A few stacks may become as many lines as
//! there are samples. One URL may be repeated for every function.
//!
//! Reading and writing together take less than 1 GB of memory, whatever is in the file. That is what viewing, converting and
//! about:profiling may take. A report is for larger files, and has bounds of its own ([`MAX_REPORT_BYTES`]). The text and everything
//! that is made of it take at most [`MAX_READ_BYTES`]. The recording, which is a part of that and stays, takes at
//! most [`MAX_TABLES_BYTES`]. Writing needs at most [`MAX_WRITE_BYTES`] more.

use crate::calls;
use crate::error::WriteError;
use crate::format::Format;
use crate::recording::{EventLoop, Recording};

/// Bytes of a text that is read or written. Chrome's engine has no longer strings, so tools could not read a longer
/// text. The bound also keeps a small compressed file from filling the memory.
pub const MAX_TEXT_BYTES: u64 = 1 << 29;

/// Bytes of memory for a file's content, its text if it was compressed, and what is made of it.
pub const MAX_READ_BYTES: u64 = 800_000_000;

/// Bytes of memory for the tables of a recording that is read: 10,000,000 samples take 320 MB.
pub const MAX_TABLES_BYTES: u64 = 450_000_000;

/// Bytes of a text of which a report is made. A report needs no samples, only their sums.
pub const MAX_REPORTED_TEXT_BYTES: u64 = 1 << 31;

/// Bytes of memory for a report: a part of the file's content, and what is made of it. Together with the rest of the process
/// that is less than 3 GB.
pub const MAX_REPORT_BYTES: u64 = 2_700_000_000;

/// Bytes of memory for the tables of a recording that is read for a report. The report takes as much again.
const MAX_REPORT_TABLES_BYTES: u64 = 1_300_000_000;

/// How many of the bytes that are left after a text was read are for tables. `all` is how many there were for both.
pub fn tables(all: u64, left: u64) -> u64 {
    match all > MAX_READ_BYTES {
        true => left.min(MAX_REPORT_TABLES_BYTES),
        false => left.min(MAX_TABLES_BYTES),
    }
}

/// Bytes of memory for what source maps say about the functions of a recording, beside the recording itself.
pub const MAX_ORIGINAL_BYTES: u64 = 200_000_000;

/// Bytes of all maps in folders that are read for a recording. A page may name any number of scripts.
pub const MAX_MAPS_BYTES: u64 = 2_000_000_000;

/// Bytes of memory for writing a recording, beside the recording itself.
const MAX_WRITE_BYTES: u64 = 450_000_000;

/// Refuses a text if this is too long, in bytes. It may be less than the length of the text.
pub fn check_length(format: Format, at_least: u64) -> Result<(), WriteError> {
    if at_least <= MAX_TEXT_BYTES {
        return Ok(());
    }
    Err(WriteError::TooLarge(format!(
        "in the format {format} it would be {at_least} bytes or more; more than {MAX_TEXT_BYTES} bytes are not written"
    )))
}

/// Refuses what would take too much memory while it is written.
pub fn check_memory(format: Format, recording: &Recording) -> Result<(), WriteError> {
    if format == Format::Firefox {
        let lengths = recording.event_loops().map(firefox_samples_length);
        check_length(format, lengths.fold(0, u64::saturating_add))?;
    }
    let needed = recording.event_loops().map(|one| memory(format, one));
    let needed = needed.fold(0, u64::saturating_add);
    if needed <= MAX_WRITE_BYTES {
        return Ok(());
    }
    Err(WriteError::TooLarge(format!(
        "to write it in the format {format} would take {needed} bytes of memory; more than {MAX_WRITE_BYTES} are not taken"
    )))
}

/// An upper bound in bytes. The numbers are for the formats' own tables, including the room that these reserve for
/// more entries.
fn memory(format: Format, event_loop: &EventLoop) -> u64 {
    let functions = event_loop.functions().len() as u64;
    let frames = event_loop.frames().len() as u64;
    let stacks = event_loop.stacks().len() as u64;
    let calls = calls::BYTES_OF_STACK * stacks;
    let samples = event_loop.samples().len() as u64;
    // Escaped text may be three times as long.
    let escaped = || {
        let names = event_loop.functions().map(|function| function.name.len());
        let length: usize = names.chain(event_loop.resources().map(str::len)).sum();
        3 * length as u64
    };
    match format {
        // They are written from the tables, or not at all.
        Format::Html | Format::ChromeTrace | Format::Hermes => 0,
        Format::Trace => calls,
        Format::Pprof => {
            let resources = event_loop.resources().len() as u64;
            // No more than there are stacks with different activities and labels.
            let sets = 1 + event_loop.label_sets().len() as u64;
            let rows = samples.min(9 * (stacks + 1) * sets);
            calls
                + 330 * functions
                + 100 * frames
                + 90 * stacks
                + 120 * (rows + resources)
                + escaped()
        },
        Format::Collapsed | Format::CollapsedLines => {
            calls + 24 * stacks + 80 * functions + 8 * samples + escaped()
        },
        Format::Speedscope | Format::SpeedscopeLines => {
            // For each frame, the number of its function or line. A line has an entry of its own.
            let of_frame = match format {
                Format::SpeedscopeLines => 100,
                _ => 8,
            };
            let resources = event_loop.resources().len() as u64;
            calls + 150 * functions + 80 * resources + of_frame * frames
        },
        Format::Cpuprofile => calls + 150 * stacks + 8 * samples + 24 * functions + escaped(),
        Format::Firefox => {
            // A stack has an entry for each activity at its leaf, and so has a frame.
            let with_activity = event_loop.samples().iter();
            let with_activity = with_activity.filter(|sample| sample.activity.is_some());
            let leaves = (with_activity.count() as u64).min(8 * stacks);
            let resources = event_loop.resources().len() as u64;
            // Each is in the table of strings, and in a label that is made of it.
            let texts = 2 * escaped();
            2_000
                + 300 * functions
                + 140 * resources
                + 84 * (frames + leaves)
                + 72 * (stacks + leaves)
                + 8 * samples
                + texts
        },
    }
}

/// Entries for samples in the Firefox Profiler's format.
fn firefox_parts(event_loop: &EventLoop) -> u64 {
    let weights = event_loop.samples().iter().map(|sample| sample.weight);
    weights
        .map(|weight| weight.div_ceil(MAX_FIREFOX_WEIGHT))
        .sum()
}

/// The least length of the text of all samples, in bytes.
fn firefox_samples_length(event_loop: &EventLoop) -> u64 {
    // Four numbers with their commas; all but the last one of a sample have the greatest weight, of ten digits.
    let samples = event_loop.samples().len() as u64;
    8 * samples + 17 * (firefox_parts(event_loop) - samples)
}

/// As many samples as the writer of the Firefox Profiler's format takes for one entry.
pub const MAX_FIREFOX_WEIGHT: u64 = i32::MAX as u64;
