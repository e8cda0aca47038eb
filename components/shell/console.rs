/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What a page says, as lines on standard output.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use servo::{ConsoleLogLevel, SimpleDialog};

/// The line for a console message. Errors and warnings are marked; the rest stands as it is.
pub fn message_line(level: &ConsoleLogLevel, message: &str) -> String {
    let mark = match level {
        ConsoleLogLevel::Error => "error: ",
        ConsoleLogLevel::Warn => "warning: ",
        ConsoleLogLevel::Log
        | ConsoleLogLevel::Debug
        | ConsoleLogLevel::Info
        | ConsoleLogLevel::Trace
        | ConsoleLogLevel::Dir => "",
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

/// `message` on one line: line breaks and other control characters are escaped as in a Rust string,
/// so that a page can neither begin a line of its own making nor drive the terminal.
pub fn on_one_line(message: &str) -> String {
    let mut line = String::with_capacity(message.len());
    for character in message.chars() {
        match character {
            '\t' => line.push('\t'),
            // Line and paragraph separators are no control characters, and yet end a line for some
            // readers.
            '\u{2028}' | '\u{2029}' => {
                let _ = write!(line, "{}", character.escape_unicode());
            },
            character if character.is_control() => {
                let _ = write!(line, "{}", character.escape_default());
            },
            character => line.push(character),
        }
    }
    line
}

/// Whether standard output is for something else than what pages say.
static IS_DIVERTED: AtomicBool = AtomicBool::new(false);

/// Whether the last line of the terminal is one that will be written over.
static HAS_STATUS: AtomicBool = AtomicBool::new(false);

/// From now on, what pages say goes to standard error.
pub fn divert_to_standard_error() {
    IS_DIVERTED.store(true, Ordering::Relaxed);
}

/// Writes a line to standard output, at once also where that is a pipe or a file.
pub fn print(line: &str) -> io::Result<()> {
    clear_status();
    if IS_DIVERTED.load(Ordering::Relaxed) {
        return writeln!(io::stderr(), "{line}");
    }
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
    fn errors_and_warnings_are_marked() {
        assert_eq!(message_line(&ConsoleLogLevel::Error, "no"), "error: no");
        assert_eq!(message_line(&ConsoleLogLevel::Warn, "hm"), "warning: hm");
        for level in [
            ConsoleLogLevel::Log,
            ConsoleLogLevel::Debug,
            ConsoleLogLevel::Info,
            ConsoleLogLevel::Trace,
            ConsoleLogLevel::Dir,
        ] {
            assert_eq!(message_line(&level, "yes"), "yes", "{level:?}");
        }
    }

    #[test]
    fn a_message_is_one_line_and_cannot_drive_the_terminal() {
        assert_eq!(
            on_one_line("a\nerror: b\r\u{1b}[2J\u{85}\u{2028}\u{2029}\0"),
            "a\\nerror: b\\r\\u{1b}[2J\\u{85}\\u{2028}\\u{2029}\\u{0}"
        );
        assert_eq!(on_one_line("tab\tand ünïcödé 😀"), "tab\tand ünïcödé 😀");
    }
}
