/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Standard output.

use std::io::{self, ErrorKind, Write};

use profile_formats::{Format, Recording, WriteError};

/// Writes to standard output. A reader that closes the pipe has seen enough.
pub fn print(text: &str) -> Result<(), String> {
    let mut output = io::stdout().lock();
    match output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
    {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("standard output: {error}"))
        },
        _ => Ok(()),
    }
}

/// Writes a recording to standard output. A reader that closes the pipe has seen enough.
pub fn write(format: Format, recording: &Recording) -> Result<(), WriteError> {
    match profile_formats::write_to_stream(io::stdout().lock(), format, recording) {
        Err(WriteError::Io(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
