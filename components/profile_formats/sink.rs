/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Formats write into a sink. It counts the bytes, and takes no more than a bound.

use std::io::{self, BufWriter, ErrorKind, Write};

/// Passes the bytes on in large pieces, or only counts them.
pub struct Sink<'a> {
    bytes: u64,
    max_bytes: u64,
    writer: Option<BufWriter<&'a mut dyn Write>>,
}

impl<'a> Sink<'a> {
    /// Counts what is written to it, and keeps nothing.
    pub fn counting(max_bytes: u64) -> Self {
        Self {
            bytes: 0,
            max_bytes,
            writer: None,
        }
    }

    pub fn writing(max_bytes: u64, writer: &'a mut dyn Write) -> Self {
        Self {
            writer: Some(BufWriter::new(writer)),
            ..Self::counting(max_bytes)
        }
    }

    /// How many have been written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let count = self.bytes + bytes.len() as u64;
        if count > self.max_bytes {
            let problem = format!("longer than {} bytes", self.max_bytes);
            return Err(io::Error::new(ErrorKind::FileTooLarge, problem));
        }
        self.bytes = count;
        match &mut self.writer {
            Some(writer) => writer.write_all(bytes),
            None => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.writer {
            Some(writer) => writer.flush(),
            None => Ok(()),
        }
    }
}
