/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The original standard output, when a profile is written to it. Its file descriptor then leads to standard error,
//! so that no other output of the process gets into the profile.

use std::fs::File;
use std::io;
use std::sync::OnceLock;

static FILE: OnceLock<File> = OnceLock::new();

/// Keeps the original standard output. Only the first call has an effect.
pub fn keep(file: File) {
    FILE.get_or_init(|| file);
}

/// The original standard output.
pub fn file() -> io::Result<&'static File> {
    let file = FILE.get();
    file.ok_or_else(|| io::Error::other("it was not reserved for the profile"))
}
