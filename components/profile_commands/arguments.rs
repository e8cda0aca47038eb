/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Arguments that several commands have in common, and what they mean.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, value_parser};
use profile_formats::{By, Format, Unit};

use crate::saved_recording::{STANDARD_STREAM, SavedRecording, SourceMaps};

/// Parses one of these names. `by_name` knows each of them.
fn name_parser<T: Clone + Send + Sync + 'static>(
    names: impl IntoIterator<Item = &'static str>,
    by_name: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names).try_map(move |name| by_name(&name).ok_or("no such name"))
}

/// Parses the name of a format that is written.
pub fn format_parser() -> impl TypedValueParser<Value = Format> {
    name_parser(Format::ALL.map(Format::as_str), Format::by_name)
}

/// Parses the name of a format that is read.
pub fn read_format_parser() -> impl TypedValueParser<Value = Format> {
    name_parser(Format::all_read().map(Format::as_str), Format::by_name)
}

/// What the counts of collapsed stacks are.
pub fn unit_argument() -> Arg {
    Arg::new("unit")
        .long("unit")
        .value_name("UNIT")
        .value_parser(name_parser(Unit::ALL.map(Unit::as_str), Unit::by_name))
        .help("What the counts of collapsed stacks are; guessed by default")
}

/// What the functions of a written profile are named.
pub fn names_argument() -> Arg {
    Arg::new("names")
        .long("names")
        .value_name("HOW")
        .value_parser([PLAIN_NAMES, NAMES_WITH_PLACES])
        .default_value(PLAIN_NAMES)
        .help(
            "file: functions that share a name get the file and the line, for tools that add up functions of one name",
        )
}

const PLAIN_NAMES: &str = "plain";
const NAMES_WITH_PLACES: &str = "file";

/// Whether functions that share a name get the place of their definition.
pub fn names_with_places(matches: &mut ArgMatches) -> bool {
    let names: Option<String> = matches.remove_one("names");
    names.is_some_and(|names| names == NAMES_WITH_PLACES)
}

/// How many functions a report lists.
pub fn top_argument() -> Arg {
    Arg::new("top")
        .long("top")
        .value_name("N")
        .value_parser(value_parser!(usize))
        .default_value("10")
        .help("How many functions to list, those with the most self samples first")
}

/// What a report tells apart.
#[derive(Clone, Debug, PartialEq)]
pub enum ReportBy {
    /// Each row is one of these.
    Rows(By),
    /// Sessions by the value of a label.
    Label(String),
}

/// What a report tells apart.
pub fn by_argument() -> Arg {
    let parse = |text: &str| match (By::by_name(text), text) {
        (Some(by), _) => Ok(ReportBy::Rows(by)),
        (None, "") => Err("no name of a label"),
        (None, label) => Ok(ReportBy::Label(label.to_owned())),
    };
    Arg::new("by")
        .long("by")
        .value_name("WHAT|LABEL")
        .value_parser(parse)
        .default_value(By::default().as_str())
        .help(
            "What to list: each function, each file, each package of node_modules, or the functions for each value of a label: function, file, package, or the label",
        )
}

/// Where the source maps of scripts are.
pub fn source_maps_argument() -> Arg {
    Arg::new("source-maps")
        .long("source-maps")
        .value_name("DIR")
        .action(ArgAction::Append)
        .value_parser(value_parser!(PathBuf))
        .help("Apply the source maps in this folder to scripts; may be repeated")
}

/// The same for the commands that read saved profiles.
pub fn saved_source_maps_argument() -> Arg {
    source_maps_argument()
        .value_name("DIR|auto")
        .help(
            "Apply the source maps in this folder to scripts, or with auto those that file: scripts link to in their own folders; may be repeated",
        )
}

/// The value that stands for the maps that scripts link to, and not for a folder of this name.
const LINKED: &str = "auto";

/// Where the maps for a saved profile are.
pub fn source_maps(matches: &mut ArgMatches, working_directory: &Path) -> Vec<SourceMaps> {
    let places = matches.remove_many::<PathBuf>("source-maps");
    let places = places.into_iter().flatten();
    places
        .map(|place| match place.as_os_str() == LINKED {
            true => SourceMaps::Linked,
            false => SourceMaps::Folder(working_directory.join(place)),
        })
        .collect()
}

pub fn source_map_folders(matches: &mut ArgMatches, working_directory: &Path) -> Vec<PathBuf> {
    let folders = matches.remove_many::<PathBuf>("source-maps");
    let folders = folders.into_iter().flatten();
    folders
        .map(|folder| working_directory.join(folder))
        .collect()
}

/// The argument for a profile to read.
pub fn input_argument(name: &'static str) -> Arg {
    Arg::new(name)
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .help("The file to read, which may be compressed with gzip, or - for standard input")
}

pub fn input_format_argument() -> Arg {
    Arg::new("from")
        .long("from")
        .value_name("FORMAT")
        .value_parser(read_format_parser())
        .help(
            "The format of the file to read (default: recognised by its content or else by its name)",
        )
}

pub fn event_loop_argument(help: &'static str) -> Arg {
    Arg::new("event-loop")
        .long("event-loop")
        .value_name("N")
        .value_parser(value_parser!(usize))
        .help(help)
}

pub fn input_or_output(matches: &mut ArgMatches, name: &str, working_directory: &Path) -> PathBuf {
    let file: PathBuf = matches.remove_one(name).expect("clap requires it");
    file_or_stream(file, working_directory)
}

pub fn file_or_stream(file: PathBuf, working_directory: &Path) -> PathBuf {
    match file.as_os_str() == STANDARD_STREAM {
        true => file,
        false => working_directory.join(file),
    }
}

/// The profiles of a command that reads several files.
pub fn inputs(
    matches: &mut ArgMatches,
    event_loop: Option<usize>,
    working_directory: &Path,
) -> Vec<SavedRecording> {
    let format: Option<Format> = matches.remove_one("from");
    let unit: Option<Unit> = matches.remove_one("unit");
    let source_maps = source_maps(matches, working_directory);
    let files = matches.remove_many("FILE").into_iter().flatten();
    files
        .map(|file: PathBuf| SavedRecording {
            file: file_or_stream(file, working_directory),
            format,
            unit,
            event_loop,
            source_maps: source_maps.clone(),
        })
        .collect()
}
