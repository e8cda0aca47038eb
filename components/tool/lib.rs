/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What `strobe-tool` does. The commands that the browser has too are in `profile_commands`.

#![deny(unsafe_code)]

mod completions;
mod loopback;
mod view;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::Command;
use profile_commands::{Failure, Task};
use terminal_text::on_one_line;

/// The name of the program.
pub const PROGRAM: &str = "strobe-tool";

/// The exit status if something could not be done.
const FAILURE: u8 = 1;

/// The exit status for a wrong command line.
const BAD_USAGE: u8 = 2;

const AFTER_HELP: &str = "\
Reads profiles of Chrome, Node.js, Bun, Deno, Hermes, Firefox, speedscope, py-spy and Strobe, also compressed with gzip.

Colours of messages follow NO_COLOR and CLICOLOR. Names in profiles are printed with control characters and invisible
characters as escapes, such as \\u{1b}.

Exit status: 0 if all went well, also if the reader of the output has seen enough; 1 if a file could not be read or
written; 2 if the command line is wrong.";

/// What it understands.
pub fn command() -> Command {
    Command::new(PROGRAM)
        .about("Reports on, converts and shows profiles of JavaScript")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommands(Task::commands())
        .subcommand(view::command())
        .subcommand(completions::command())
        .after_help(AFTER_HELP)
}

/// Does what the arguments say. The first one is the name of the program.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let matches = command().try_get_matches_from(arguments);
    let done = match matches {
        Ok(mut matches) => {
            let (name, mut matches) = matches.remove_subcommand().expect("clap requires one");
            of_subcommand(&name, &mut matches)
        },
        Err(error) => {
            // Help and the version go to standard output, and their reader may have seen enough.
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        },
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err((status, message)) => {
            tell(&message);
            ExitCode::from(status)
        },
    }
}

/// The error is the exit status with the message for the person.
fn of_subcommand(name: &str, matches: &mut clap::ArgMatches) -> Result<(), (u8, String)> {
    let failed = |message| (FAILURE, message);
    let wrong = |message| (BAD_USAGE, message);
    if name == completions::NAME {
        return completions::print(matches).map_err(failed);
    }
    let working_directory = env::current_dir()
        .map_err(|error| failed(format!("cannot find the working directory: {error}")))?;
    if let Some(task) = Task::of(name, matches, &working_directory) {
        return task
            .map_err(wrong)?
            .run(tell)
            .map_err(|failure| match failure {
                Failure::Failed(message) => failed(message),
                Failure::Refused(message) => wrong(message),
            });
    }
    let view = view::View::of(matches, &working_directory).map_err(wrong)?;
    view.run(tell).map_err(failed)
}

/// One line on standard error.
fn tell(message: &str) {
    eprintln!("{PROGRAM}: {}", on_one_line(message));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
    }
}
