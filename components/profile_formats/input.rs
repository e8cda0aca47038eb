/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! From the bytes of a file to a recording.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use source_maps::Notice;

use crate::bounds::{MAX_READ_BYTES, MAX_REPORT_BYTES, MAX_REPORTED_TEXT_BYTES, MAX_TEXT_BYTES};
use crate::collapsed::Unit;
use crate::error::Error;
use crate::format::Format;
use crate::pprof;
use crate::recording::Recording;
use crate::source_mapped::{apply_own_maps, deadline_of_maps};
use crate::text::{check_encoding, has_lone_surrogates, replace_lone_surrogates};

/// <https://www.rfc-editor.org/rfc/rfc1952#page-6>
pub const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];

pub const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Everything in a file or a stream, for [`read`]. It is an error if that is more than may be read of a file.
pub fn content(reader: impl Read) -> io::Result<Vec<u8>> {
    content_within(reader, MAX_TEXT_BYTES)
}

/// Everything in a stream, for [`read_sums`](crate::read_sums). A file need not be read into memory for it.
pub fn content_for_report(reader: impl Read) -> io::Result<Vec<u8>> {
    content_within(reader, MAX_REPORTED_TEXT_BYTES)
}

fn content_within(reader: impl Read, max_bytes: u64) -> io::Result<Vec<u8>> {
    let content = up_to(reader, max_bytes)?;
    content.ok_or_else(|| {
        let problem = format!("longer than {max_bytes} bytes");
        io::Error::new(ErrorKind::FileTooLarge, problem)
    })
}

/// None if there is more.
pub fn up_to(reader: impl Read, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    // A vector doubles its room by itself. Of a long text that would be more than may be taken.
    const LEAST: usize = 1 << 16;
    const MOST: usize = 1 << 26;
    let mut content = Vec::new();
    let mut reader = reader.take(max_bytes.saturating_add(1));
    loop {
        let room = content.len().clamp(LEAST, MOST);
        content.try_reserve_exact(room)?;
        let read = reader
            .by_ref()
            .take(room as u64)
            .read_to_end(&mut content)?;
        if read == 0 {
            break;
        }
    }
    Ok((content.len() as u64 <= max_bytes).then_some(content))
}

/// What a person says about a file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReadOptions {
    /// `None` if the content shows it, or else the name.
    pub format: Option<Format>,
    /// What the counts of collapsed stacks are; guessed if it is `None`.
    pub unit: Option<Unit>,
}

/// Reads a file's content, which may be compressed by gzip. The format is the one given, or else the one that the
/// content shows, or else the one that the name shows.
pub fn read(
    content: &[u8],
    file: Option<&Path>,
    format: Option<Format>,
) -> Result<(Recording, Format), Error> {
    let options = ReadOptions {
        format,
        ..ReadOptions::default()
    };
    let (recording, format, _) = read_with(content, file, options)?;
    Ok((recording, format))
}

/// Reads a file's content as [`read`] does. Each notice is about what was guessed, or about a source map in the file that is
/// not used. Maps in the file have the time of [`deadline_of_maps`].
pub fn read_with(
    content: &[u8],
    file: Option<&Path>,
    options: ReadOptions,
) -> Result<(Recording, Format, Vec<Notice>), Error> {
    read_bounded(content, file, options, Bounds::default())
}

/// How much may be read of a file, in bytes.
#[derive(Clone, Copy)]
pub struct Bounds {
    /// The text, and the file if that is compressed.
    pub text: u64,
    /// Memory for these, and for what is made of them.
    memory: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            text: MAX_TEXT_BYTES,
            memory: MAX_READ_BYTES,
        }
    }
}

impl Bounds {
    pub fn of_reports() -> Self {
        Self {
            text: MAX_REPORTED_TEXT_BYTES,
            memory: MAX_REPORT_BYTES,
        }
    }
}

pub fn read_bounded<'a>(
    content: impl Into<Cow<'a, [u8]>>,
    file: Option<&Path>,
    options: ReadOptions,
    bounds: Bounds,
) -> Result<(Recording, Format, Vec<Notice>), Error> {
    let mut text = content.into();
    let mut held = text.len() as u64;
    if text.starts_with(GZIP_MAGIC) {
        // Both are in memory.
        let decompressed = decompress(&text, bounds.text.saturating_sub(held))?;
        held += decompressed.len() as u64;
        text = decompressed.into();
    }
    if !pprof::is_pprof(&text) {
        check_encoding(&text)?;
    }
    if has_lone_surrogates(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text)) {
        if let Cow::Borrowed(text) = &text {
            held += text.len() as u64;
            if held > bounds.memory {
                let most = bounds.memory;
                let problem = format!(
                    "it has escapes of halves of characters, and with a copy that has none it takes {held} bytes; \
                     more than {most} are not taken"
                );
                return Err(Error::of_file(problem));
            }
        }
        replace_lone_surrogates(text.to_mut());
    }
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
    let format = match options.format.or_else(|| Format::by_content(text)) {
        Some(format) => format,
        None => match Format::known_file(text) {
            Some(what) => return Err(Error::of_file(format!("no profile of time: {what}"))),
            None => file
                .and_then(Format::by_file_name)
                .ok_or_else(|| Error::of_file(unknown_format(text)))?,
        },
    };
    let memory = bounds.memory.saturating_sub(held);
    let mut guesses = Vec::new();
    let mut recording = format.read(text, memory, options.unit, &mut guesses)?;
    let name = file.map_or_else(|| "the profile".into(), Path::to_string_lossy);
    let guesses = guesses.iter().map(|guess| Notice::new(&name, guess));
    let mut notices: Vec<_> = guesses.collect();
    if format == Format::ChromeTrace {
        notices.extend(apply_own_maps(&mut recording, &deadline_of_maps()));
    }
    Ok((recording, format, notices))
}

fn decompress(content: &[u8], max_text_bytes: u64) -> Result<Vec<u8>, Error> {
    let text = up_to(MultiGzDecoder::new(content), max_text_bytes)
        .map_err(|error| Error::of_file(format!("not a sound gzip file: {error}")))?;
    text.ok_or_else(|| {
        let bound = max_text_bytes + content.len() as u64;
        let problem = format!("with what it is decompressed to it is longer than {bound} bytes");
        Error::of_file(problem)
    })
}

/// More likely, the text ends too early, or is not JSON although it looks like it.
fn unknown_format(text: &[u8]) -> String {
    if text.trim_ascii().is_empty() {
        return "the file is empty".to_owned();
    }
    if text.trim_ascii_start().starts_with(b"{")
        && let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(text)
    {
        return format!("not JSON: {error}");
    }
    let names = Format::names_of_read();
    format!("it looks like none of the formats {names}")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn compressed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_compressed_file_is_read_up_to_a_bound() {
        let content = compressed(b"a;b 3\n");
        let (recording, format) = read(&content, None, None).unwrap();
        assert_eq!(format, Format::Collapsed);
        assert_eq!(recording.event_loops().next().unwrap().weight(), 3);
        // The file and its text.
        let length = content.len() as u64 + 6;
        let options = ReadOptions::default();
        let bounds = |text| Bounds {
            text,
            ..Bounds::default()
        };
        assert!(read_bounded(&content, None, options, bounds(length)).is_ok());
        let error = read_bounded(&content, None, options, bounds(length - 1)).unwrap_err();
        let bound = format!("longer than {} bytes", length - 1);
        assert!(error.to_string().contains(&bound), "{error}");
        let error = read(&content[..content.len() - 9], None, None).unwrap_err();
        assert!(error.to_string().contains("gzip"), "{error}");
    }
}
