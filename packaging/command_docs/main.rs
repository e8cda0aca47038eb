/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Writes the man pages and the shell completions of `strobe`.
//!
//! They are made from the same `clap::Command` as `strobe --help`. `fuzz_parts` compiles it without Servo.

#![deny(unsafe_code)]

// Rebuilt in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

const PROGRAM: &str = "strobe";
const SECTION: &str = "1";
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// The text after the options has no headings. This begins the part of it that man pages have under a heading.
const EXIT_STATUS: &str = "Exit status: ";

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let [folder, date] = &arguments[..] else {
        eprintln!("usage: command_docs FOLDER YYYY-MM-DD");
        return ExitCode::from(2);
    };
    let folder = Path::new(folder);
    match write(folder, &date.to_string_lossy()) {
        Ok(files) => {
            for file in files {
                println!("{}", file.display());
            }
            ExitCode::SUCCESS
        },
        Err(error) => {
            eprintln!("command_docs: {}: {error}", folder.display());
            ExitCode::FAILURE
        },
    }
}

/// Writes all files into an existing or a new folder, and returns their paths. `date` is in the footer of the man
/// pages.
fn write(folder: &Path, date: &str) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(folder)?;
    let mut files = Vec::new();
    for shell in SHELLS {
        files.push(clap_complete::generate_to(
            shell,
            &mut fuzz_parts::command(),
            PROGRAM,
            folder,
        )?);
    }
    for (name, page) in man_pages(date)? {
        let file = folder.join(name);
        fs::write(&file, page)?;
        files.push(file);
    }
    Ok(files)
}

/// The names and the texts of the man pages: one of `strobe`, and one of each subcommand.
fn man_pages(date: &str) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut command = fuzz_parts::command();
    command.build();
    let subcommands = command.get_subcommands().filter(|one| !one.is_hide_set());
    let mut pages = vec![page(command.clone(), date)?];
    for subcommand in subcommands {
        pages.push(page(subcommand.clone(), date)?);
    }
    Ok(pages)
}

fn page(command: Command, date: &str) -> io::Result<(String, Vec<u8>)> {
    let notes = command.get_after_help().map(ToString::to_string);
    let is_program = command.get_name() == PROGRAM;
    let man = Man::new(command)
        .section(SECTION)
        .date(date)
        .source(format!("Strobe {}", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if is_program {
        man.render_subcommands_section(&mut text)?;
    }
    render_notes(notes.as_deref().unwrap_or_default(), &mut text)?;
    if !is_program {
        section("SEE ALSO", &format!("{PROGRAM}({SECTION})"), &mut text)?;
    }
    Ok((man.get_filename(), text))
}

/// Renders what `--help` prints after the options. `clap_mangen` itself would make one section "EXTRA" of it.
fn render_notes(notes: &str, text: &mut dyn Write) -> io::Result<()> {
    let (notes, status) = match notes.split_once(&format!("\n{EXIT_STATUS}")) {
        Some((notes, status)) => (notes, Some(status)),
        None => (notes, None),
    };
    section("NOTES", notes, text)?;
    match status {
        Some(status) => section("EXIT STATUS", status, text),
        None => Ok(()),
    }
}

/// Renders paragraphs under a heading. Their lines are filled anew.
fn section(heading: &str, paragraphs: &str, text: &mut dyn Write) -> io::Result<()> {
    let mut roff = Roff::new();
    roff.control("SH", [heading]);
    for (number, paragraph) in paragraphs.trim().split("\n\n").enumerate() {
        if number > 0 {
            roff.control("PP", []);
        }
        for line in paragraph.lines() {
            roff.text([roman(line)]);
        }
    }
    roff.to_writer(text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The texts of all files by their names.
    fn files() -> BTreeMap<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let files = write(folder.path(), "2026-01-31").unwrap();
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
        assert_eq!(commands.len(), 5);
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
