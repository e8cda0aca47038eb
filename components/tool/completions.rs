/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! `completions`: prints the script that completes the tool's arguments in a shell.

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;

use crate::PROGRAM;

pub const NAME: &str = "completions";

const AFTER_HELP: &str = "\
For bash, for example:  strobe-tool completions bash > ~/.local/share/bash-completion/completions/strobe-tool
For zsh, write the file _strobe-tool in a folder of fpath. For fish, write
~/.config/fish/completions/strobe-tool.fish.

Exit status: 0 if all went well; 2 if the command line is wrong.";

/// The subcommand.
pub fn command() -> Command {
    Command::new(NAME)
        .about("Print a script that completes arguments in a shell")
        .after_help(AFTER_HELP)
        .arg(
            Arg::new("SHELL")
                .required(true)
                .value_parser(value_parser!(Shell))
                .help("The shell"),
        )
}

pub fn print(matches: &mut ArgMatches) -> Result<(), String> {
    let shell: Shell = matches.remove_one("SHELL").expect("clap requires it");
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::command(), PROGRAM, &mut script);
    profile_commands::print(&String::from_utf8_lossy(&script))
}
