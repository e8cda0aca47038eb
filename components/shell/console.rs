/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Lines on standard output and standard error, and what pages say in them.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::stdio::dup2_stdout;
use servo::{ConsoleLogLevel, SimpleDialog};
use terminal_text::{on_one_line, shortened};

use crate::reserved_output;

/// Whether lines of pages stand between lines of ours, so that each says that it is a page's.
static IS_SHARED: AtomicBool = AtomicBool::new(false);

/// The line for a console message. Errors and warnings are marked; the rest stands as it is where all lines are
/// those of pages.
pub fn message_line(level: &ConsoleLogLevel, message: &str) -> String {
    marked_line(level, message, IS_SHARED.load(Ordering::Relaxed))
}

fn marked_line(level: &ConsoleLogLevel, message: &str, is_shared: bool) -> String {
    let mark = match level {
        ConsoleLogLevel::Error => "error: ",
        ConsoleLogLevel::Warn => "warning: ",
        ConsoleLogLevel::Log
        | ConsoleLogLevel::Debug
        | ConsoleLogLevel::Info
        | ConsoleLogLevel::Trace
        | ConsoleLogLevel::Dir => match is_shared {
            true => "log: ",
            false => "",
        },
    };
    format!("{mark}{}", on_one_line(message))
}

/// The line for a dialog that a page opened. Nobody answers it: a person who reads the output sees
/// what was asked.
pub fn dialog_line(dialog: &SimpleDialog) -> String {
    let kind = match dialog {
        SimpleDialog::Alert(_) => "alert",
        SimpleDialog::Confirm(_) => "confirm",
        SimpleDialog::Prompt(_) => "prompt",
    };
    format!("{kind}: {}", on_one_line(dialog.message()))
}

/// What a page says, within a sentence of ours.
pub fn quoted(text: &str) -> String {
    /// In characters. More would hide the sentence.
    const MAX_LENGTH: usize = 200;
    shortened(text, MAX_LENGTH)
}

/// Lines that a page may have a hand in, as a paragraph: each is indented, so that none looks like ours.
pub fn paragraph(text: &str) -> String {
    let lines = text.lines();
    lines
        .map(|line| format!("    {}\n", on_one_line(line)))
        .collect()
}

/// From now on there are lines of ours on standard output, too.
pub fn share_standard_output() {
    IS_SHARED.store(true, Ordering::Relaxed);
}

/// Keeps standard output for [`reserved_output`] alone. What anybody else writes to it from now on, in this process and
/// in those that it starts, goes to standard error.
pub fn reserve_standard_output() -> io::Result<()> {
    share_standard_output();
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    dup2_stdout(io::stderr())?;
    reserved_output::keep(output.into());
    Ok(())
}

/// Whether the last line of the terminal is one that will be written over.
static HAS_STATUS: AtomicBool = AtomicBool::new(false);

/// Writes a line to standard output, at once also where that is a pipe or a file.
pub fn print(line: &str) -> io::Result<()> {
    clear_status();
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}

/// Shows a person at the terminal how far it is, in place of what was shown before.
pub fn show_status(text: &str) {
    HAS_STATUS.store(true, Ordering::Relaxed);
    let mut terminal = io::stderr().lock();
    // A terminal that is gone shows nothing.
    let _ = write!(terminal, "\r\x1b[K{text}").and_then(|()| terminal.flush());
}

/// Makes place for a line.
pub fn clear_status() {
    if HAS_STATUS.swap(false, Ordering::Relaxed) {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_warnings_are_marked_and_all_messages_among_lines_of_ours() {
        for is_shared in [false, true] {
            let line = |level, text| marked_line(&level, text, is_shared);
            assert_eq!(line(ConsoleLogLevel::Error, "no"), "error: no");
            assert_eq!(line(ConsoleLogLevel::Warn, "hm"), "warning: hm");
            for level in [
                ConsoleLogLevel::Log,
                ConsoleLogLevel::Debug,
                ConsoleLogLevel::Info,
                ConsoleLogLevel::Trace,
                ConsoleLogLevel::Dir,
            ] {
                let line = line(level, "yes");
                assert_eq!(line, if is_shared { "log: yes" } else { "yes" });
            }
        }
    }

    #[test]
    fn a_message_is_one_line_and_cannot_drive_the_terminal() {
        assert_eq!(
            marked_line(
                &ConsoleLogLevel::Log,
                "a\nerror: b\u{1b}[2J\u{202e}\tc",
                false
            ),
            "a\\nerror: b\\u{1b}[2J\\u{202e}\tc"
        );
    }

    #[test]
    fn no_line_of_a_paragraph_begins_at_the_margin() {
        assert_eq!(
            paragraph("0: f\n  1: g\r\nstrobe: h\u{1b}[1A\ri\n"),
            "    0: f\n      1: g\n    strobe: h\\u{1b}[1A\\ri\n"
        );
        assert_eq!(paragraph(""), "");
    }

    #[test]
    fn a_long_quotation_is_cut() {
        assert_eq!(quoted("TypeError: x"), "TypeError: x");
        let text = quoted(&"x\n".repeat(1_000_000));
        assert_eq!(text.chars().count(), 200);
        assert!(text.starts_with("x\\nx") && text.contains('…'), "{text}");
    }
}
