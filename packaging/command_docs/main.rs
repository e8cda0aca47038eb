/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Writes the man pages and the shell completions of `strobe`.
//!
//! They are made from the same `clap::Command` as `strobe --help`. `fuzz_parts` compiles it without Servo. Those of
//! `strobe-tool` are made by an example of its own workspace.

#![deny(unsafe_code)]

// Rebuilt in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

mod docs;

use std::process::ExitCode;

fn main() -> ExitCode {
    docs::main(fuzz_parts::command)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use clap::Command;

    use super::docs::{EXIT_STATUS, write};

    /// The texts of all files by their names.
    fn files() -> BTreeMap<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let files = write(folder.path(), "2026-01-31", fuzz_parts::command).unwrap();
        files
            .iter()
            .map(|file| {
                let name = file.file_name().unwrap().to_str().unwrap();
                (name.to_owned(), fs::read_to_string(file).unwrap())
            })
            .collect()
    }

    /// `strobe` and its subcommands, with the names of their man pages.
    fn commands() -> Vec<(String, Command)> {
        let mut command = fuzz_parts::command();
        command.build();
        let mut commands = vec![("strobe.1".to_owned(), command.clone())];
        for subcommand in command.get_subcommands() {
            commands.push((
                format!("strobe-{}.1", subcommand.get_name()),
                subcommand.clone(),
            ));
        }
        assert_eq!(commands.len(), 7);
        commands
    }

    #[test]
    fn every_option_is_in_its_man_page_and_in_every_completion() {
        let files = files();
        for (page, command) in commands() {
            for option in command.get_arguments().filter_map(|one| one.get_long()) {
                let in_roff = format!("\\-\\-{}", option.replace('-', "\\-"));
                assert!(files[&page].contains(&in_roff), "{page}: {option}");
                for (name, as_written) in [
                    ("strobe.bash", format!("--{option}")),
                    ("_strobe", format!("--{option}")),
                    ("strobe.fish", format!("-l {option}")),
                ] {
                    assert!(files[name].contains(&as_written), "{name}: {option}");
                }
            }
        }
    }

    #[test]
    fn every_man_page_says_what_the_help_says() {
        let files = files();
        for (page, command) in commands() {
            // In roff, a hyphen and an apostrophe are escaped.
            let text = files[&page]
                .replace("\\-", "-")
                .replace("\\*(Aq", "'")
                .replace("\\\\", "\\");
            let notes = command.get_after_help().unwrap().to_string();
            for line in notes.lines().filter(|line| !line.is_empty()) {
                let line = line.strip_prefix(EXIT_STATUS).unwrap_or(line);
                assert!(text.contains(line), "{page}: {line}\n{text}");
            }
            for heading in ["NAME", "SYNOPSIS", "OPTIONS", "NOTES", "EXIT STATUS"] {
                let quoted = format!("\n.SH \"{heading}\"\n");
                let bare = format!("\n.SH {heading}\n");
                assert!(
                    text.contains(&quoted) || text.contains(&bare),
                    "{page}: {heading}"
                );
            }
            assert!(!text.contains("EXTRA"), "{page}");
        }
    }

    #[test]
    fn the_footer_has_the_date_and_the_version() {
        let title = format!(
            "\n.TH strobe 1 2026-01-31 \"Strobe {}\" \"User Commands\"\n",
            env!("CARGO_PKG_VERSION")
        );
        assert!(files()["strobe.1"].contains(&title));
    }
}
