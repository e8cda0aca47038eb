/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The subcommands `merge` and `diff` alone: `cargo run --release --example sets -- merge IN… -o OUT`.

use std::env;
use std::process::ExitCode;

use clap::Command;
use profile_formats::Format;
use profile_sets::{DiffTask, Failure, MergeTask, diff_command, merge_command};

fn main() -> ExitCode {
    let command = Command::new("sets")
        .subcommand_required(true)
        .subcommands([merge_command(), diff_command()]);
    let mut matches = command.get_matches();
    let Some((name, mut matches)) = matches.remove_subcommand() else {
        return ExitCode::from(2);
    };
    let folder = env::current_dir().unwrap_or_default();
    let warn = |line: &str| eprintln!("{}", terminal_text::shortened(line, 1_000));
    let ended = match &*name {
        "merge" => match MergeTask::of(&mut matches, &folder, Format::by_file_name) {
            Ok(task) => task.run(warn),
            Err(problem) => Err(Failure::Refused(problem)),
        },
        _ => match DiffTask::of(&mut matches, &folder) {
            Ok(task) => task.run(warn),
            Err(problem) => Err(Failure::Refused(problem)),
        },
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Failed(problem)) => {
            warn(&problem);
            ExitCode::from(1)
        },
        Err(Failure::Refused(problem)) => {
            warn(&problem);
            ExitCode::from(2)
        },
    }
}
