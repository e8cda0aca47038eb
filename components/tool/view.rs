/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! `view`: a page that shows a profile in any browser, as a file or on a port of this machine.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use profile_commands::arguments::{
    event_loop_argument, input_argument, input_format_argument, input_or_output, inputs,
    saved_source_maps_argument, unit_argument,
};
use profile_commands::{
    Failure, MergedSessions, STANDARD_STREAM, SavedRecording, merged_arguments, saved_file,
};
use profile_formats::{Format, Recording};
use url::Url;

use crate::loopback;

const AFTER_HELP: &str = "\
The page holds the viewer and the profile, and loads nothing. Without -o it is a new file in the working directory, with
the profile's name and .html. The command prints where it is.

--where, --by LABEL and --label show many profiles as one: FILE is what merge takes, such as a folder. With --by LABEL the profiles of
each value are a process, at most 20.

--serve writes no file. It serves the page to this machine alone, below an address that cannot be guessed, until Ctrl-C.

Exit status: 0 if all went well; 1 if a file could not be read or written, or the port is taken; 2 if the command line
is wrong.";

/// The subcommand.
pub fn command() -> Command {
    Command::new("view")
        .about("Make a page that shows a profile in any browser")
        .after_help(AFTER_HELP)
        .arg(input_argument("FILE"))
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("OUT")
                .value_parser(value_parser!(PathBuf))
                .help(
                    "The file to write, which is replaced if it is there, or - for standard output",
                ),
        )
        .arg(
            Arg::new("serve")
                .long("serve")
                .action(ArgAction::SetTrue)
                .conflicts_with("output")
                .help("Serve the page on a port of this machine instead"),
        )
        .arg(
            Arg::new("port")
                .long("port")
                .value_name("PORT")
                .value_parser(value_parser!(u16).range(1..))
                .requires("serve")
                .help("The port (default: any that is free)"),
        )
        .arg(input_format_argument())
        .arg(unit_argument())
        .arg(event_loop_argument(
            "Show only the event loop with this number (the first one is 0)",
        ))
        .arg(saved_source_maps_argument())
        .args(merged_arguments())
}

/// Where the page goes.
#[derive(Debug, PartialEq)]
enum Place {
    /// A new file in this folder.
    NewFile(PathBuf),
    File(PathBuf),
    Stdout,
    /// A port of the loopback interface; 0 for any.
    Port(u16),
}

#[derive(Debug, PartialEq)]
pub struct View {
    input: SavedRecording,
    /// If it is not one recording.
    merged: Option<MergedSessions>,
    place: Place,
}

impl View {
    /// The error is one line that names the argument and what is wrong with it.
    pub fn of(matches: &mut ArgMatches, working_directory: &Path) -> Result<Self, String> {
        let place = if matches.get_flag("serve") {
            Place::Port(matches.remove_one("port").unwrap_or(0))
        } else if matches.contains_id("output") {
            let file = input_or_output(matches, "output", working_directory);
            match file == OsStr::new(STANDARD_STREAM) {
                true => Place::Stdout,
                false => {
                    saved_file::check_place(&file)
                        .map_err(|complaint| format!("-o: {complaint}"))?;
                    Place::File(file)
                },
            }
        } else {
            Place::NewFile(working_directory.to_owned())
        };
        let merged = MergedSessions::of(&mut matches.clone(), "FILE", working_directory);
        let merged = merged.transpose()?;
        let event_loop = matches.remove_one("event-loop");
        let mut inputs = inputs(matches, event_loop, working_directory);
        let input = inputs.pop().expect("clap requires it");
        Ok(Self {
            input,
            merged,
            place,
        })
    }

    /// The error is one line that names the file that is wrong. `tell` is called with a line for each source map that is not
    /// used, and for each input that is left out.
    pub fn run(&self, mut tell: impl FnMut(&str)) -> Result<(), String> {
        let recording = match &self.merged {
            None => self
                .input
                .read(|notice| tell(&format!("warning: {notice}")))?,
            Some(merged) => merged.read(tell).map_err(Failure::message)?,
        };
        let file = match &self.place {
            Place::Port(port) => return self.serve(&recording, *port),
            Place::Stdout => {
                return profile_commands::write(Format::Html, &recording)
                    .map_err(|error| format!("standard output: {error}"));
            },
            Place::File(file) => {
                let written = profile_formats::replace(file, Format::Html, &recording);
                written.map_err(|error| format!("{}: {error}", file.display()))?;
                file.clone()
            },
            Place::NewFile(folder) => {
                let name = self.input.name();
                // What is before the first dot: a.cpuprofile.gz is a profile of a.
                let stem = name.split('.').find(|part| !part.is_empty());
                let stem = saved_file::as_file_stem(stem.unwrap_or_default());
                let extension = Format::Html.extension();
                let html = Format::Html;
                profile_formats::create_numbered(folder, &stem, extension, html, &recording)
                    .map_err(|(file, error)| format!("{}: {error}", file.display()))?
            },
        };
        // An address that people can click on in a terminal.
        let address = Url::from_file_path(&file).map(String::from);
        let place = address.unwrap_or_else(|()| file.display().to_string());
        profile_commands::print(&format!(
            "The page is {}\n",
            terminal_text::on_one_line(&place)
        ))
    }

    fn serve(&self, recording: &Recording, port: u16) -> Result<(), String> {
        let mut page = Vec::new();
        Format::Html
            .write(recording, &mut page)
            .map_err(|error| self.input.problem(&error))?;
        loopback::serve(page, port, |address| {
            profile_commands::print(&format!("The page is {address}\nCtrl-C ends the server.\n"))
        })
    }
}
