/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Man pages and completions, from the `clap::Command` that a program itself reads its arguments by.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

const SECTION: &str = "1";
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// The text after the options has no headings. This begins the part of it that man pages have under a heading.
pub const EXIT_STATUS: &str = "Exit status: ";

/// The program: writes into the folder that its arguments name. `command` is what is documented.
pub fn main(command: fn() -> Command) -> ExitCode {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let [folder, date] = &arguments[..] else {
        eprintln!("usage: command_docs FOLDER YYYY-MM-DD");
        return ExitCode::from(2);
    };
    let folder = Path::new(folder);
    match write(folder, &date.to_string_lossy(), command) {
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
pub fn write(folder: &Path, date: &str, command: fn() -> Command) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(folder)?;
    let program = command().get_name().to_owned();
    let mut files = Vec::new();
    for shell in SHELLS {
        files.push(clap_complete::generate_to(
            shell,
            &mut command(),
            &program,
            folder,
        )?);
    }
    for (name, page) in man_pages(date, command())? {
        let file = folder.join(name);
        fs::write(&file, page)?;
        files.push(file);
    }
    Ok(files)
}

/// The names and the texts of the man pages: one of the program, and one of each subcommand.
fn man_pages(date: &str, mut command: Command) -> io::Result<Vec<(String, Vec<u8>)>> {
    let program = command.get_name().to_owned();
    command.build();
    let subcommands = command.get_subcommands().filter(|one| !one.is_hide_set());
    let mut pages = vec![page(command.clone(), date, &program)?];
    for subcommand in subcommands {
        pages.push(page(subcommand.clone(), date, &program)?);
    }
    Ok(pages)
}

fn page(command: Command, date: &str, program: &str) -> io::Result<(String, Vec<u8>)> {
    let notes = command.get_after_help().map(ToString::to_string);
    let is_program = command.get_name() == program;
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
        section("SEE ALSO", &format!("{program}({SECTION})"), &mut text)?;
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
