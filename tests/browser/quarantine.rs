/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Browsers keep freed memory for a while and look whether it was written to: see `tests/quarantine/`.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use crate::turns::is_alone;
use crate::visit::binary;

/// The library that finds it. `./mach test-browser` sets the variable; 0 means none.
const VARIABLE: &str = "STROBE_QUARANTINE";

/// The library, unless it is switched off.
pub fn library() -> Option<PathBuf> {
    env::var_os(VARIABLE)
        .filter(|value| !value.is_empty() && value != "0")
        .map(PathBuf::from)
}

/// Lets a browser use the library, unless something is measured, or another program starts the browser.
pub(crate) fn prepare(command: &mut Command) {
    if let Some(library) = library()
        && !is_alone()
        && command.get_program() == binary()
    {
        command.env("LD_PRELOAD", library);
    }
}
