/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What is recorded, and where it goes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command, value_parser};
use profile_commands::arguments::{
    format_parser, source_map_folders, source_maps_argument, top_argument,
};
use profile_formats::Format;
use profile_recorder::{EventLoops, Options, Wanted};

use super::Output;
use crate::arguments::ExitAfter;
use crate::duration::{milliseconds, seconds};

const DEFAULT_INTERVAL: &str = "1";

/// The duration of a recording if no option says when it ends.
const DEFAULT_DURATION: Duration = Duration::from_secs(10);

const ABOUT: &str = "\
Profile a page's JavaScript and the other work of its event loops

Functions of all origins are recorded, from before the page is opened. The page needs no header.";

const AFTER_HELP: &str = "\
Options of `strobe` itself have the same meaning here.

A recording lasts 10 seconds, unless --duration, --until-load, --until-js or --keep-last is given. It
also ends, and is saved, when its page closes or crashes, and on SIGINT (Ctrl-C) and SIGTERM.

The end of the file's name selects the format: .firefox.json, for profiler.firefox.com; .speedscope.json;
.speedscope-lines.json, the same with a frame for each line of a function; .cpuprofile, for Chrome's
DevTools; .collapsed or .folded, for flame graphs; .collapsed-lines, the same with a line number for each
function; .trace.json, the result of Profiler.stop() in a page; .html, a page that shows the profile in
any browser; .pb.gz, for `go tool pprof`. A file whose name ends in .gz is compressed with gzip. The
ending .json.gz without a format before it is for profiler.firefox.com. A trace or a cpuprofile holds only one event loop: if several were
sampled, each has a file of its own.
Without -o, the profile goes to a new file in the working directory, named strobe-profile with the
ending of its format. With -o, an existing file is replaced. `strobe view FILE` shows the profile;
at a terminal the command offers to do so, unless it is part of a script.
If a source map of --source-maps is missing or wrong, a warning says so, and the profile is complete without it.
The source maps that the sampled scripts link to are fetched as their pages could fetch them, and are applied
in every format. A map that does not come is a warning. With --no-linked-maps nothing is fetched, and scripts
are shown as they ran.
With --sources, .html and .firefox.json keep the text of each script whose functions were sampled, and the
original texts that maps have; the other formats do not.

The table of functions goes to standard output. So do the pages' console messages and dialogs, each
marked: log, warning, error, alert, confirm or prompt. With `-o -` only the profile goes to standard
output, and the rest goes to standard error.
Exit status: 0 if all went well, even after a signal; 1 if the page crashed, could not be loaded, was
answered with an HTTP error or has not come before the end, an event loop could not be recorded to the
end, or the profile could not be written; 2 if the command line is wrong.";

/// What a person asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileOptions {
    pub recording: Options,
    /// The recording ends when this expression is true in the page.
    pub until_js: Option<String>,
    pub format: Format,
    pub output: Output,
    /// How many functions are listed.
    pub top: usize,
    /// Folders whose source maps are applied to the recording.
    pub source_maps: Vec<PathBuf>,
}

impl ProfileOptions {
    /// The subcommand. `shared` are the options that it has in common with the browser.
    pub fn command(shared: impl IntoIterator<Item = Arg>) -> Command {
        Command::new("profile")
            .about("Profile a page's JavaScript and the other work of its event loops")
            .long_about(ABOUT)
            .after_help(AFTER_HELP)
            .arg(
                Arg::new("interval")
                    .long("interval")
                    .value_name("MS")
                    .value_parser(milliseconds)
                    .default_value(DEFAULT_INTERVAL)
                    .help("Milliseconds from one sample of an event loop to the next"),
            )
            .arg(
                Arg::new("duration")
                    .long("duration")
                    .value_name("S")
                    .value_parser(seconds)
                    .help("Record for this many seconds (default: 10)"),
            )
            .arg(
                Arg::new("until-load")
                    .long("until-load")
                    .action(ArgAction::SetTrue)
                    .help("Record until the page has loaded"),
            )
            .arg(
                Arg::new("until-js")
                    .long("until-js")
                    .value_name("EXPR")
                    .allow_hyphen_values(true)
                    .help("Record until this expression is true in the page"),
            )
            .group(ArgGroup::new("until").args(["duration", "until-load", "until-js"]))
            .arg(
                Arg::new("keep-last")
                    .long("keep-last")
                    .value_name("S")
                    .value_parser(seconds)
                    .help("Keep only the last S seconds, and record until stopped"),
            )
            .arg(
                Arg::new("long-tasks")
                    .long("long-tasks")
                    .value_name("MS")
                    .value_parser(milliseconds)
                    .help(
                        "Keep only the periods in which an event loop was busy for longer than this",
                    ),
            )
            .arg(
                Arg::new("sources")
                    .long("sources")
                    .action(ArgAction::SetTrue)
                    .help(
                        "Record the texts of the scripts, too: at most 16 MiB each, and 64 MiB in all",
                    ),
            )
            .arg(
                Arg::new("no-linked-maps")
                    .long("no-linked-maps")
                    .action(ArgAction::SetTrue)
                    .help("Do not fetch or apply the source maps that scripts link to"),
            )
            .arg(
                Arg::new("event-loops")
                    .long("event-loops")
                    .value_name("all|main")
                    .value_parser(["all", "main"])
                    .hide_possible_values(true)
                    .default_value("all")
                    .help("Record all event loops, or only those of documents (no workers)"),
            )
            .arg(
                Arg::new("format")
                    .long("format")
                    .value_name("FORMAT")
                    .value_parser(format_parser())
                    .help("The format of the file (default: chosen by its name, or else firefox)"),
            )
            .arg(
                Arg::new("output")
                    .short('o')
                    .long("output")
                    .value_name("FILE")
                    .value_parser(value_parser!(PathBuf))
                    .help("The file to write, or - for standard output"),
            )
            .arg(top_argument())
            .arg(source_maps_argument())
            .args(shared)
    }

    /// Reads the subcommand's arguments. The second value says when the run ends by itself.
    pub fn of(
        matches: &mut ArgMatches,
        working_directory: &Path,
    ) -> Result<(Self, Option<ExitAfter>), String> {
        let keep_last = matches.remove_one("keep-last");
        let until_js: Option<String> = matches.remove_one("until-js");
        let exit_after = if let Some(duration) = matches.remove_one("duration") {
            Some(ExitAfter::Elapsed(duration))
        } else if matches.get_flag("until-load") {
            Some(ExitAfter::Load)
        } else if until_js.is_some() || keep_last.is_some() {
            None
        } else {
            Some(ExitAfter::Elapsed(DEFAULT_DURATION))
        };
        let event_loops: String = matches
            .remove_one("event-loops")
            .expect("clap has a default");
        let (output, format) = Output::new(
            matches.remove_one("output"),
            matches.remove_one("format"),
            working_directory,
        )?;
        let options = Self {
            recording: Options {
                interval: matches.remove_one("interval").expect("clap has a default"),
                event_loops: match &*event_loops {
                    "main" => EventLoops::Main,
                    _ => EventLoops::All,
                },
                kept: Wanted {
                    keep_last,
                    long_tasks: matches.remove_one("long-tasks"),
                    ..Wanted::default()
                },
                sources: matches.get_flag("sources"),
                linked_maps: !matches.get_flag("no-linked-maps"),
            },
            until_js,
            format,
            output,
            top: matches.remove_one("top").expect("clap has a default"),
            source_maps: source_map_folders(matches, working_directory),
        };
        Ok((options, exit_after))
    }
}
