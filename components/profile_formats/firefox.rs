/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The Firefox Profiler's processed format, version 70,
//! <https://github.com/firefox-devtools/profiler/blob/main/docs-developer/processed-profile-format.md>.
//!
//! It has everything but realms. If a process has no id, or a recording no time origin, one is made up. Times and the
//! interval are rounded to whole nanoseconds. A function that is in no script is written as `label.rs` says. The flag
//! for JavaScript tells the kinds of functions apart. A frame has the line and column of its place, or its offset in a
//! WebAssembly module as the address. The leaf's category is the activity, and several samples in a row with the same
//! activity are a marker. A sample that has an activity and no stack has a frame of that name. A stretch of missed
//! samples is a marker that says how many and why.
//!
//! What recorded it is the product, whose version is in `misc`, as of Firefox. The versions of its engines are a section of
//! `extra`, which the Firefox Profiler shows with the rest. If it is unknown, the product is empty. In a file that the
//! Firefox Profiler has imported, the product may be the program that was recorded, and `importedFrom` is the tool.
//!
//! If samples are worth times of their own, these are the weights, in milliseconds (`tracing-ms`). If not, the weights
//! are numbers of samples.
//!
//! In a file without weights, as Firefox writes them, a sample is worth the time until the next one: `worth.rs`. A sample
//! whose weight is 0 stands for none, as in files of samply. Profiles of differences, whose weights are less than 0, are
//! refused.
//!
//! The threads share their tables. A function of a script that was built from other files has its built place, and its
//! original one in `originalLocation`. A built place of a frame is not known: only the original one is written. The name is
//! the original one, so the built one is lost. Texts of scripts are the `content` of `sources`.
//!
//! We read files up to version 75, also those of Firefox: `tables.rs` says what older versions have in other places. What
//! Firefox itself writes, before the Firefox Profiler has processed it, is read by `gecko.rs`. Native functions have only
//! their names and lines, because their addresses are in machine code.

mod flags;
mod gecko;
mod meta;
mod samples;
mod schema;
mod tables;
mod threads;
mod writer;

use serde::Deserialize;
use serde_json::Value;

use self::meta::Meta;
use self::samples::Keep;
use self::schema::NEWEST_VERSION;
use self::tables::{Reader, Shared, Tables};
use self::threads::{Processes, Thread, Wanted, read_thread};
pub use self::writer::prepare;
use crate::bounds::MAX_READ_BYTES;
use crate::error::Error;
use crate::json::Source;
use crate::recording::Recording;

/// Where tables are that all threads share.
const SHARED: &str = "shared";

#[derive(Deserialize)]
struct File {
    meta: Meta,
    threads: Vec<Thread>,
    #[serde(default)]
    shared: Shared,
}

/// The part that is the same in all versions.
#[derive(Deserialize)]
struct Head {
    meta: Meta,
}

pub fn read(mut text: &[u8], memory: u64) -> Result<Recording, Error> {
    read_from(&mut text, memory, Keep::All)
}

/// Reads the sums of the samples alone.
pub fn read_sums(source: &mut impl Source, memory: u64) -> Result<Recording, Error> {
    read_from(source, memory, Keep::Sums)
}

fn read_from(source: &mut impl Source, mut memory: u64, keep: Keep) -> Result<Recording, Error> {
    let before = memory;
    let file = source.read(&mut memory);
    let version = match &file {
        Ok(File { meta, .. }) => check_version(meta),
        // More likely, the file is of another version.
        Err(_) => head(source).map_or(Ok(Version::Processed), |meta| check_version(&meta)),
    };
    if version? == Version::Raw {
        drop(file);
        return gecko::read(source, before, keep);
    }
    let File {
        meta,
        threads,
        mut shared,
    } = file?;
    shared.apply_flags(&meta)?;
    let keep = keep.for_file(&meta);
    let mut shared = SharedTables::of(&shared, &meta, &mut memory)?;
    let mut shared_sums = keep.sums();
    let mut processes = Processes::default();
    for (index, thread) in threads.iter().enumerate() {
        let place = format!("threads[{index}]");
        let event_loop = match &mut shared {
            SharedTables::All(reader) => {
                reader.begin();
                read_thread(
                    thread,
                    reader,
                    (Wanted::OfSamples, shared_sums.as_mut()),
                    &meta,
                    &mut memory,
                    &place,
                )
            },
            SharedTables::Some(shared) => {
                let tables = own_tables(thread, shared, &place)?;
                tables.check()?;
                let mut reader = Reader::new(tables, &meta);
                let mut sums = keep.sums();
                let wanted = (Wanted::All, sums.as_mut());
                read_thread(thread, &mut reader, wanted, &meta, &mut memory, &place)
            },
        };
        processes.add(thread, event_loop?);
    }
    processes.into_recording(&meta)
}

/// Reads only what is the same in all versions.
fn head(source: &mut impl Source) -> Option<Meta> {
    let mut memory = MAX_READ_BYTES;
    let head = source.read(&mut memory);
    head.ok().map(|Head { meta }| meta)
}

/// What the threads of a file share.
enum SharedTables<'a> {
    All(Box<Reader<'a>>),
    /// No more than strings and sources.
    Some(&'a Shared),
}

impl<'a> SharedTables<'a> {
    fn of(shared: &'a Shared, meta: &'a Meta, memory: &mut u64) -> Result<Self, Error> {
        let Some(stacks) = &shared.stack_table else {
            return Ok(Self::Some(shared));
        };
        let tables = Tables {
            place: SHARED,
            stacks,
            frames: wanted(shared.frame_table.as_ref(), SHARED, "frameTable")?,
            funcs: wanted(shared.func_table.as_ref(), SHARED, "funcTable")?,
            strings: wanted(shared.string_array.as_deref(), SHARED, "stringArray")?,
            sources: &shared.sources,
            locations: &shared.source_location_table,
        };
        tables.check()?;
        *memory = memory.saturating_sub(Reader::bytes(tables));
        Ok(Self::All(Box::new(Reader::new(tables, meta))))
    }
}

impl Shared {
    /// Makes the tables the same for all versions.
    fn apply_flags(&mut self, meta: &Meta) -> Result<(), Error> {
        let version = meta.preprocessed_profile_version.unwrap_or_default();
        if let Some(frames) = &mut self.frame_table {
            frames.apply_flags(version, &format!("{SHARED}.frameTable"))?;
        }
        if let Some(funcs) = &mut self.func_table {
            funcs.apply_flags(version, &format!("{SHARED}.funcTable"))?;
        }
        Ok(())
    }
}

/// A table that must be there.
fn wanted<T>(table: Option<T>, place: &str, name: &str) -> Result<T, Error> {
    table.ok_or_else(|| Error::new(place, format!("missing field `{name}`")))
}

/// Those of a thread that shares no more than strings and sources.
fn own_tables<'a>(
    thread: &'a Thread,
    shared: &'a Shared,
    place: &'a str,
) -> Result<Tables<'a>, Error> {
    let strings = shared
        .string_array
        .as_ref()
        .or(thread.string_array.as_ref());
    Ok(Tables {
        place,
        stacks: wanted(thread.stack_table.as_ref(), place, "stackTable")?,
        frames: wanted(thread.frame_table.as_ref(), place, "frameTable")?,
        funcs: wanted(thread.func_table.as_ref(), place, "funcTable")?,
        strings: wanted(strings, place, "stringArray")?,
        sources: &shared.sources,
        locations: &shared.source_location_table,
    })
}

/// Whether the Firefox Profiler has processed a file.
#[derive(PartialEq)]
enum Version {
    Processed,
    Raw,
}

fn check_version(meta: &Meta) -> Result<Version, Error> {
    let Some(version) = meta.preprocessed_profile_version else {
        return match meta.version {
            Value::Null => {
                let problem = "missing field `preprocessedProfileVersion`";
                Err(Error::new("meta", problem))
            },
            _ => Ok(Version::Raw),
        };
    };
    if version <= NEWEST_VERSION {
        return Ok(Version::Processed);
    }
    let problem =
        format!("{version} is newer than {NEWEST_VERSION}, the newest version that is read");
    Err(Error::new("meta.preprocessedProfileVersion", problem))
}
