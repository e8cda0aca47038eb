/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Standard output where a profile goes there. By its usual name it is standard error then, so that nothing else
//! comes between the parts of the profile, whoever writes it.

use std::fs::File;
use std::io;
use std::sync::OnceLock;

static FILE: OnceLock<File> = OnceLock::new();

/// Keeps what standard output was. The first one stays.
pub fn keep(file: File) {
    FILE.get_or_init(|| file);
}

/// What standard output was.
pub fn file() -> io::Result<&'static File> {
    let file = FILE.get();
    file.ok_or_else(|| io::Error::other("it was not reserved for the profile"))
}
