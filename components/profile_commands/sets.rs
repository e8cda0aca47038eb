/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What the commands that read many profiles have in common: their arguments.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use profile_formats::ReadOptions;
use profile_sets::{Condition, Input, Inputs, Labels, NamePattern, Options, Outcome, Profile};

use crate::arguments::{input_format_argument, unit_argument};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::saved_recording::STANDARD_STREAM;

/// Adds the arguments that say what the inputs are, behind those that a command has alone.
pub fn with_inputs(command: Command) -> Command {
    command
        .arg(
            input_format_argument()
                .help("The format of all inputs (default: recognised by the content)"),
        )
        .arg(unit_argument())
        .arg(
            Arg::new("source-maps")
                .long("source-maps")
                .value_name("[RELEASE=]DIR")
                .action(ArgAction::Append)
                .value_parser(value_parser!(PathBuf))
                .help("Apply the source maps in this folder, perhaps to one release alone; may be repeated"),
        )
        .args(session_arguments())
}

/// Arguments that say whose the inputs are, and which of them count.
pub const SESSION_ARGUMENTS: [&str; 4] = ["label", "label-names", "where", "strict"];

/// These arguments.
pub fn session_arguments() -> [Arg; 4] {
    let [label, label_names, condition, strict] =
        SESSION_ARGUMENTS.map(|name| Arg::new(name).long(name));
    [
        label
            .value_name("NAME=VALUE")
            .action(ArgAction::Append)
            .help("A label of all inputs; may be repeated"),
        label_names
            .value_name("PATTERN")
            .value_parser(|text: &str| NamePattern::parse(text))
            .help("Labels in the names of files, such as '{release}/{browser}-*.json'"),
        condition
            .value_name("CONDITION")
            .value_parser(|text: &str| Condition::parse(text))
            .help("Only samples with these labels, such as release=2.1,page~/shop"),
        strict
            .action(ArgAction::SetTrue)
            .help("End at the first input that cannot be read"),
    ]
}

/// The error is a line that names the argument.
pub fn options(matches: &mut ArgMatches, folder: &Path) -> Result<Options, String> {
    let mut labels = Labels::default();
    for label in matches.remove_many::<String>("label").into_iter().flatten() {
        match label.split_once('=') {
            Some((name, value)) if !name.is_empty() => labels.set(name, value),
            _ => return Err(format!("--label {label}: no NAME=VALUE")),
        }
    }
    let maps = matches.remove_many::<PathBuf>("source-maps");
    let maps = maps.into_iter().flatten().map(|maps| {
        let of_release = maps.to_str().and_then(|maps| maps.split_once('='));
        match of_release {
            // A folder may have the character in its name.
            Some((release, path)) if !folder.join(&maps).exists() => {
                (Some(release.to_owned()), folder.join(path))
            },
            _ => (None, folder.join(&maps)),
        }
    });
    Ok(Options {
        read: ReadOptions {
            format: matches.remove_one("from"),
            unit: matches.remove_one("unit"),
        },
        labels,
        names: matches.remove_one("label-names"),
        source_maps: maps.collect(),
        is_strict: matches.get_flag("strict"),
    })
}

fn input(path: PathBuf, folder: &Path) -> Input {
    match path.as_os_str() == STANDARD_STREAM {
        true => Input::StandardInput,
        false => Input::Path(folder.join(path)),
    }
}

/// The inputs that an argument names.
pub fn inputs(matches: &mut ArgMatches, name: &str, folder: &Path) -> Vec<Input> {
    let paths = matches.remove_many::<PathBuf>(name).into_iter().flatten();
    paths.map(|path| input(path, folder)).collect()
}

/// Reads all inputs, and shows a person who waits at a terminal how far it is. `tell` is called with a line for each input
/// that is left out.
pub fn read(
    inputs: &Inputs,
    each: impl FnMut(Profile) -> Result<(), String>,
    mut tell: impl FnMut(&str),
) -> Result<Outcome, Failure> {
    let progress = Progress::of("profiles", inputs.bytes());
    let warn = |line: &str| progress.aside(|| tell(&format!("warning: {line}")));
    let outcome = inputs.read_shown(each, warn, |read| progress.set(read));
    outcome.map_err(Failure::Failed)
}
