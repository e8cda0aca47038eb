/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Reads what a report needs of a file: its functions, its stacks, and the sums of its samples.
//!
//! Files of V8's and Firefox's profilers are the large ones. They are read as a stream, of which a block at a time is in memory.
//! All other files are read as a text, with all samples.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde::de::DeserializeOwned;
use source_maps::Notice;

use crate::bounds::{MAX_REPORT_BYTES, MAX_REPORTED_TEXT_BYTES};
use crate::codecs::by_members;
use crate::error::Error;
use crate::format::Format;
use crate::input::{BYTE_ORDER_MARK, Bounds, GZIP_MAGIC, ReadOptions, read_bounded, up_to};
use crate::json_stream::{self, Stream};
use crate::read_ahead::{CountedReader, ahead};
use crate::recording::Recording;
use crate::text::check_encoding;
use crate::{cpuprofile, firefox, json};

/// Bytes at the start of a text by which its format may be known.
const START: usize = 1 << 12;

/// Reads a file as [`crate::read_with`] does, but for the times of samples, which are added up: the recording is for reports, and
/// no format writes it. Files of up to 2 GB are read, and less than 3 GB of memory are taken.
///
/// `progress` is called now and then with the bytes that were read, and with those that there are in the file. It starts from 0
/// again if a file is read twice.
pub fn read_sums(
    mut file: impl Read + Seek + Send,
    name: Option<&Path>,
    options: ReadOptions,
    mut progress: impl FnMut(u64, u64),
) -> Result<(Recording, Format, Vec<Notice>), Error> {
    let length = file.seek(SeekFrom::End(0)).map_err(Error::of_file)?;
    if length > MAX_REPORTED_TEXT_BYTES {
        let problem = format!("{length} bytes; more than {MAX_REPORTED_TEXT_BYTES} are not read");
        return Err(Error::of_file(problem));
    }
    let mut source = Source {
        file: &mut file,
        is_compressed: false,
        progress: &mut |read| progress(read, length),
        memory: MAX_REPORT_BYTES,
    };
    let mut magic = [0; GZIP_MAGIC.len()];
    let is_compressed = source
        .rewound()
        .and_then(|file| file.read_exact(&mut magic));
    source.is_compressed = is_compressed.is_ok() && magic == GZIP_MAGIC;
    if let Some((recording, format)) = source.streamed(options.format)? {
        return Ok((recording, format, Vec::new()));
    }
    let bounds = Bounds::of_reports();
    let content = source.rewound().and_then(|file| up_to(file, bounds.text));
    let content = content.map_err(Error::of_file)?.unwrap_or_default();
    (source.progress)(length);
    read_bounded(content, name, options, bounds)
}

/// A file, which is read from its start each time.
struct Source<'a, F> {
    file: &'a mut F,
    is_compressed: bool,
    progress: &'a mut dyn FnMut(u64),
    memory: u64,
}

impl<F: Read + Seek + Send> Source<'_, F> {
    fn rewound(&mut self) -> io::Result<&mut F> {
        self.file.rewind()?;
        Ok(self.file)
    }

    /// Gives the text to a function as a stream, without its mark of the order of bytes.
    fn text<T>(
        &mut self,
        user: impl FnOnce(&mut dyn Read) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.file.rewind().map_err(Error::of_file)?;
        let counted = CountedReader::new(&mut *self.file);
        let progress = &mut *self.progress;
        let without_mark = |text: &mut dyn Read| {
            let mut start = Vec::new();
            let mark = text.take(BYTE_ORDER_MARK.len() as u64);
            { mark }.read_to_end(&mut start).map_err(Error::of_file)?;
            let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&start);
            user(&mut start.chain(text))
        };
        match self.is_compressed {
            true => {
                let unpacked = Unpacked(MultiGzDecoder::new(counted));
                let read_of = |unpacked: &Unpacked<CountedReader<_>>| unpacked.0.get_ref().count;
                ahead(
                    unpacked,
                    read_of,
                    MAX_REPORTED_TEXT_BYTES,
                    progress,
                    |text| without_mark(text),
                )
            },
            false => ahead(
                counted,
                |counted| counted.count,
                MAX_REPORTED_TEXT_BYTES,
                progress,
                |text| without_mark(text),
            ),
        }
    }

    /// `None` if it is not a file that is read as a stream.
    fn streamed(&mut self, format: Option<Format>) -> Result<Option<(Recording, Format)>, Error> {
        let memory = self.memory;
        let start = self.text(|text| {
            let mut start = Vec::new();
            let read = text.take(START as u64).read_to_end(&mut start);
            read.map(|_| start).map_err(Error::of_file)
        })?;
        check_encoding(&start)?;
        if !start.trim_ascii_start().starts_with(b"{") {
            return Ok(None);
        }
        if format.is_none() && begins_as_cpuprofile(&start) {
            // Its other members come behind most of it.
            let recording = self.text(|text| cpuprofile::read_sums(text, memory));
            if let Ok(Some(recording)) = recording {
                return Ok(Some((recording, Format::Cpuprofile)));
            }
        }
        let format = match format {
            Some(format) => Some(format),
            None => self.text(|text| Ok(by_members(&mut Stream::new(text, memory)).format()))?,
        };
        let recording = match format {
            Some(Format::Cpuprofile) => self.text(|text| cpuprofile::read_sums(text, memory))?,
            Some(Format::Firefox) => Some(firefox::read_sums(self, memory)?),
            _ => None,
        };
        Ok(recording.zip(format))
    }
}

impl<F: Read + Seek + Send> json::Source for Source<'_, F> {
    fn read<T: DeserializeOwned>(&mut self, memory: &mut u64) -> Result<T, Error> {
        self.text(|text| json_stream::read(text, memory))
    }
}

/// Whether the first member of an object is a list of calls, as V8 writes it.
fn begins_as_cpuprofile(start: &[u8]) -> bool {
    let start = start.trim_ascii_start();
    let words: [&[u8]; 5] = [b"{", b"\"nodes\"", b":", b"[", b"{"];
    let rest = words.iter().try_fold(start, |rest, word| {
        rest.trim_ascii_start().strip_prefix(*word)
    });
    rest.is_some_and(|rest| {
        let mut parts = rest.windows(11);
        parts.any(|part| part == b"\"callFrame\"")
    })
}

/// A decoder whose errors say that the file is not sound.
struct Unpacked<R>(MultiGzDecoder<R>);

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            kind => io::Error::new(kind, format!("not a sound gzip file: {error}")),
        })
    }
}
