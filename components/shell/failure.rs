/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How the person at the terminal learns what went wrong: a line on standard error, and the exit status.

use profile_formats::Notice;
use terminal_text::on_one_line;

use crate::console;

/// The exit status of a run in which something went wrong: a page crashed or could not be loaded, a page
/// to profile was answered with an HTTP error, a screenshot could not be taken, or a profile could not be
/// written, converted or shown.
pub const FAILURE: u8 = 1;

/// The exit status for a wrong command line.
pub const BAD_USAGE: u8 = 2;

/// Tells the person at the terminal of a source map that is not used.
pub fn warn(notice: &Notice) {
    report(&format!("warning: {notice}"));
}

/// Tells the person at the terminal what went wrong, on one line.
pub fn report(message: &str) {
    console::clear_status();
    eprintln!("strobe: {}", on_one_line(message));
}
