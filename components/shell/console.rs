/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Lines on standard output and standard error, including those with text of pages.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::stdio::dup2_stdout;
use servo::{ConsoleLogLevel, SimpleDialog};
use terminal_text::{on_one_line, shortened};

use crate::reserved_output;

/// Whether standard output has both our lines and lines of pages. Then each line of a page is marked.
static IS_SHARED: AtomicBool = AtomicBool::new(false);

/// The line for a console message. Errors and warnings are always marked. Other messages are marked only if
/// standard output has our lines too.
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

/// The line for a dialog that a page opened. Nobody answers the dialog, but the output shows what it
/// asked.
pub fn dialog_line(dialog: &SimpleDialog) -> String {
    let kind = match dialog {
        SimpleDialog::Alert(_) => "alert",
        SimpleDialog::Confirm(_) => "confirm",
        SimpleDialog::Prompt(_) => "prompt",
    };
    format!("{kind}: {}", on_one_line(dialog.message()))
}

/// Text of a page, for use within one of our sentences.
pub fn quoted(text: &str) -> String {
    /// In characters. A longer text would hide the sentence.
    const MAX_LENGTH: usize = 200;
    shortened(text, MAX_LENGTH)
}

/// Lines that a page may have influenced. Each is indented, so that none looks like one of ours.
pub fn paragraph(text: &str) -> String {
    let lines = text.lines();
    lines
        .map(|line| format!("    {}\n", on_one_line(line)))
        .collect()
}

/// Says that standard output will have lines of ours too.
pub fn share_standard_output() {
    IS_SHARED.store(true, Ordering::Relaxed);
}

/// Reserves standard output for [`reserved_output`]. From now on, everything else that this process or its children
/// write to standard output goes to standard error.
pub fn reserve_standard_output() -> io::Result<()> {
    share_standard_output();
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    dup2_stdout(io::stderr())?;
    reserved_output::keep(output.into());
    Ok(())
}

/// Whether the last line on the terminal is a status line, which will be overwritten.
static HAS_STATUS: AtomicBool = AtomicBool::new(false);

/// Writes a line to standard output and flushes it, even to a pipe or a file.
pub fn print(line: &str) -> io::Result<()> {
    clear_status();
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}

/// Shows a status line on the terminal, in place of the previous one.
pub fn show_status(text: &str) {
    HAS_STATUS.store(true, Ordering::Relaxed);
    let mut terminal = io::stderr().lock();
    // It does not matter if the terminal is gone.
    let _ = write!(terminal, "\r\x1b[K{text}").and_then(|()| terminal.flush());
}

/// Removes the status line, if there is one.
pub fn clear_status() {
    if HAS_STATUS.swap(false, Ordering::Relaxed) {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_warnings_are_marked_and_beside_our_lines_all_messages() {
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
