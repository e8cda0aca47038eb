/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Where the profiles of a set come from: files in any format, folders of them, lines of NDJSON, and standard input, each of
//! them perhaps compressed by gzip. Several are read at a time, and given on in the order in which they were found.

use std::cell::Cell;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use flate2::read::MultiGzDecoder;
use profile_formats::{
    Format, MAX_TEXT_BYTES, ReadOptions, apply_map_folders, content, deadline_of_maps, read_with,
    value_by_clock,
};
use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};

use crate::bounds::{BATCH_BYTES, BATCH_PROFILES, MAX_FOLDER_DEPTH, MAX_NOTICES};
use crate::envelope::{Envelope, is_envelope};
use crate::functions::normalised_url;
use crate::labels::{Labels, NamePattern};
use crate::profile::Profile;

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];

/// Bytes that are read at once.
const BUFFER: usize = 1 << 16;

/// The name of standard input on the command line.
const STANDARD_STREAM: &str = "-";

/// Where profiles are.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Input {
    /// A file, or a folder whose files are all read, also those in folders in it.
    Path(PathBuf),
    StandardInput,
}

impl Input {
    /// What an argument of a command line means.
    pub fn of_argument(argument: PathBuf) -> Self {
        match argument.as_os_str() == STANDARD_STREAM {
            true => Self::StandardInput,
            false => Self::Path(argument),
        }
    }

    /// For people.
    pub fn name(&self) -> String {
        match self {
            Self::Path(path) => {
                let name = path.file_name().unwrap_or(path.as_os_str());
                name.to_string_lossy().into_owned()
            },
            Self::StandardInput => "standard input".to_owned(),
        }
    }
}

/// How they are read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// That of all files; without it, the content shows the format.
    pub read: ReadOptions,
    /// What a person says about all profiles. It counts more than what they say themselves.
    pub labels: Labels,
    /// Labels in the names of files. They count less.
    pub names: Option<NamePattern>,
    /// Folders of source maps, each perhaps for one release alone.
    pub source_maps: Vec<(Option<String>, PathBuf)>,
    /// Whether a bad input ends it all.
    pub is_strict: bool,
}

/// What has been read.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Outcome {
    pub profiles: u64,
    pub skipped: u64,
}

#[derive(Debug, PartialEq)]
pub struct Inputs {
    pub inputs: Vec<Input>,
    pub options: Options,
}

/// The content of one profile.
struct Piece {
    /// For people.
    name: String,
    /// Of its file.
    path: Option<PathBuf>,
    content: Vec<u8>,
    is_line: bool,
}

/// Whoever gets the profiles.
struct Batch<'a> {
    options: &'a Options,
    pieces: Vec<Piece>,
    bytes: usize,
    outcome: Outcome,
    /// Notices that were told, and how many were not.
    told: HashSet<String>,
    untold: u64,
    each: &'a mut dyn FnMut(Profile) -> Result<(), String>,
    warn: &'a mut dyn FnMut(&str),
    /// How many bytes have been read.
    read: Rc<Cell<u64>>,
    shown: &'a dyn Fn(u64),
}

impl Inputs {
    /// Gives each profile to `each`, whose error ends it. `warn` is called with a line for each input that is left out, and
    /// each notice about one that is not.
    pub fn read(
        &self,
        each: impl FnMut(Profile) -> Result<(), String>,
        warn: impl FnMut(&str),
    ) -> Result<Outcome, String> {
        self.read_shown(each, warn, |_| ())
    }

    /// The same. `shown` is called with how many bytes have been read.
    pub fn read_shown(
        &self,
        mut each: impl FnMut(Profile) -> Result<(), String>,
        mut warn: impl FnMut(&str),
        shown: impl Fn(u64),
    ) -> Result<Outcome, String> {
        let mut batch = Batch::new(&self.options, &mut each, &mut warn, &shown);
        for input in &self.inputs {
            match input {
                Input::Path(path) => batch.add_path(path, 0)?,
                Input::StandardInput => batch.add_stream(
                    BufReader::with_capacity(BUFFER, batch.counted(io::stdin().lock())),
                    "standard input",
                    None,
                )?,
            }
        }
        batch.finish()
    }

    /// How many bytes there are to read, if that is known.
    pub fn bytes(&self) -> Option<u64> {
        let lengths = self.inputs.iter().map(|input| match input {
            Input::Path(path) => length_of(path, 0),
            Input::StandardInput => None,
        });
        lengths.sum()
    }
}

/// Of a file, or of all in a folder. What cannot be read has none.
fn length_of(path: &Path, depth: usize) -> Option<u64> {
    let Ok(known) = fs::metadata(path) else {
        return Some(0);
    };
    if known.is_file() {
        return Some(known.len());
    }
    if !known.is_dir() {
        return None;
    }
    match fs::read_dir(path) {
        Ok(entries) if depth < MAX_FOLDER_DEPTH => {
            let paths = entries.flatten().map(|entry| entry.path());
            paths.map(|path| length_of(&path, depth + 1)).sum()
        },
        _ => Some(0),
    }
}

/// A reader that tells how much has been read of all inputs.
struct Counted<'a, R> {
    reader: R,
    read: Rc<Cell<u64>>,
    shown: &'a dyn Fn(u64),
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.read.set(self.read.get() + count as u64);
        (self.shown)(self.read.get());
        Ok(count)
    }
}

impl Options {
    /// The same for a stream, with a name for people.
    pub fn read_stream(
        &self,
        stream: impl BufRead,
        name: &str,
        mut each: impl FnMut(Profile) -> Result<(), String>,
        mut warn: impl FnMut(&str),
    ) -> Result<Outcome, String> {
        let mut batch = Batch::new(self, &mut each, &mut warn, &|_| ());
        batch.add_stream(stream, name, None)?;
        batch.finish()
    }
}

impl<'a> Batch<'a> {
    fn new(
        options: &'a Options,
        each: &'a mut dyn FnMut(Profile) -> Result<(), String>,
        warn: &'a mut dyn FnMut(&str),
        shown: &'a dyn Fn(u64),
    ) -> Self {
        Self {
            options,
            pieces: Vec::new(),
            bytes: 0,
            outcome: Outcome::default(),
            told: HashSet::new(),
            untold: 0,
            each,
            warn,
            read: Rc::default(),
            shown,
        }
    }

    fn counted<R>(&self, reader: R) -> Counted<'a, R> {
        Counted {
            reader,
            read: self.read.clone(),
            shown: self.shown,
        }
    }

    fn add_path(&mut self, path: &Path, depth: usize) -> Result<(), String> {
        let name = path.display().to_string();
        if !path.is_dir() {
            return match File::open(path) {
                Ok(file) => {
                    let reader = BufReader::with_capacity(BUFFER, self.counted(file));
                    self.add_stream(reader, &name, Some(path))
                },
                Err(error) => self.skip(&name, &error.to_string()),
            };
        }
        if depth == MAX_FOLDER_DEPTH {
            return self.skip(
                &name,
                &format!("more than {MAX_FOLDER_DEPTH} folders in each other"),
            );
        }
        let entries = fs::read_dir(path).and_then(|entries| {
            let paths = entries.map(|entry| Ok(entry?.path()));
            paths.collect::<io::Result<Vec<_>>>()
        });
        match entries {
            Ok(mut paths) => {
                paths.sort();
                paths
                    .iter()
                    .try_for_each(|path| self.add_path(path, depth + 1))
            },
            Err(error) => self.skip(&name, &error.to_string()),
        }
    }

    fn add_stream(
        &mut self,
        mut reader: impl BufRead,
        name: &str,
        path: Option<&Path>,
    ) -> Result<(), String> {
        let is_gzip = match reader.fill_buf() {
            Ok(start) => start.starts_with(GZIP_MAGIC),
            Err(error) => return self.skip(name, &error.to_string()),
        };
        if !is_gzip {
            return self.add_text(reader, name, path);
        }
        // A profile is unpacked where it is read, several at a time. Only lines are unpacked here.
        let mut start = Vec::new();
        if let Err(error) = reader.by_ref().take(1 << 16).read_to_end(&mut start) {
            return self.skip(name, &error.to_string());
        }
        let mut unpacked = Vec::new();
        // What is cut off in the middle is an error, and its beginning is enough.
        let _ = MultiGzDecoder::new(&*start)
            .take(1 << 20)
            .read_to_end(&mut unpacked);
        let rest = io::Cursor::new(start).chain(reader);
        match unpacked.trim_ascii_start().starts_with(b"{") {
            true => self.add_text(BufReader::new(MultiGzDecoder::new(rest)), name, path),
            false => self.add_whole(rest, name, path),
        }
    }

    /// Lines of NDJSON, or one profile.
    fn add_text(
        &mut self,
        mut reader: impl BufRead,
        name: &str,
        path: Option<&Path>,
    ) -> Result<(), String> {
        let mut number = 1;
        let mut line = match self.line(&mut reader, name)? {
            Some(line) => line,
            None => return Ok(()),
        };
        let is_object = line.trim_ascii_start().starts_with(b"{")
            && serde_json::from_slice::<IgnoredAny>(&line).is_ok();
        let are_lines = is_object
            && (is_envelope(&line)
                || reader
                    .fill_buf()
                    .is_ok_and(|rest| rest.trim_ascii_start().starts_with(b"{")));
        if !are_lines {
            return self.add_whole(io::Cursor::new(line).chain(reader), name, path);
        }
        loop {
            if !line.trim_ascii().is_empty() {
                self.push(Piece {
                    name: format!("{name}: line {number}"),
                    path: path.map(Path::to_owned),
                    content: line,
                    is_line: true,
                })?;
            }
            line = match self.line(&mut reader, name)? {
                Some(line) if line.is_empty() => return Ok(()),
                Some(line) => line,
                None => return Ok(()),
            };
            number += 1;
        }
    }

    /// The next line with its end; empty behind the last one. None if the rest of the input is left out.
    fn line(&mut self, reader: &mut impl BufRead, name: &str) -> Result<Option<Vec<u8>>, String> {
        match line_of(reader) {
            Ok(line) if line.len() as u64 <= MAX_TEXT_BYTES => Ok(Some(line)),
            Ok(_) => {
                self.skip(name, &format!("a line of more than {MAX_TEXT_BYTES} bytes"))?;
                Ok(None)
            },
            Err(error) => {
                self.skip(name, &error.to_string())?;
                Ok(None)
            },
        }
    }

    fn add_whole(
        &mut self,
        reader: impl Read,
        name: &str,
        path: Option<&Path>,
    ) -> Result<(), String> {
        match content(reader) {
            Ok(content) => self.push(Piece {
                name: name.to_owned(),
                path: path.map(Path::to_owned),
                content,
                is_line: false,
            }),
            Err(error) => self.skip(name, &error.to_string()),
        }
    }

    fn push(&mut self, piece: Piece) -> Result<(), String> {
        self.bytes += piece.content.len();
        self.pieces.push(piece);
        match self.bytes >= BATCH_BYTES || self.pieces.len() == BATCH_PROFILES {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn skip(&mut self, name: &str, why: &str) -> Result<(), String> {
        // What comes before it is told first.
        self.flush()?;
        self.refuse(name, why)
    }

    fn refuse(&mut self, name: &str, why: &str) -> Result<(), String> {
        let line = format!("{name}: {why}");
        if self.options.is_strict {
            return Err(line);
        }
        self.outcome.skipped += 1;
        (self.warn)(&format!("{line}; it is left out"));
        Ok(())
    }

    fn finish(mut self) -> Result<Outcome, String> {
        self.flush()?;
        if self.untold > 0 {
            (self.warn)(&format!("{} more notices like these", self.untold));
        }
        Ok(self.outcome)
    }

    /// Tells a notice, unless the same was told of a URL with another query.
    fn tell(&mut self, notice: &str) {
        let words = notice.split(' ').map(normalised_url);
        let same = words.collect::<Vec<_>>().join(" ");
        if self.told.contains(&same) || self.told.len() == MAX_NOTICES {
            self.untold += 1;
            return;
        }
        self.told.insert(same);
        (self.warn)(notice);
    }

    /// Makes profiles of what has been read. This thread gives them on, in order, and while the next one is not there it makes
    /// some itself.
    fn flush(&mut self) -> Result<(), String> {
        let pieces = std::mem::take(&mut self.pieces);
        self.bytes = 0;
        let options = self.options;
        let next = AtomicUsize::new(0);
        let make_next = || {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let piece = pieces.get(index)?;
            Some((index, profile_of(piece, options)))
        };
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.min(pieces.len());
        thread::scope(|scope| {
            let (sender, made_by_others) = mpsc::channel();
            for _ in 1..threads {
                let sender = sender.clone();
                scope.spawn(move || {
                    // Nobody receives if the profiles are not wanted any more.
                    while let Some(made) = make_next()
                        && sender.send(made).is_ok()
                    {}
                });
            }
            drop(sender);
            let mut made: Vec<_> = pieces.iter().map(|_| None).collect();
            for (index, piece) in pieces.iter().enumerate() {
                while made[index].is_none() {
                    let received = made_by_others.try_recv().ok().or_else(make_next);
                    let (other, profile) = received
                        .or_else(|| made_by_others.recv().ok())
                        .expect("each piece is read by some thread");
                    made[other] = Some(profile);
                }
                if let Some(made) = made[index].take() {
                    self.give(piece, made)?;
                }
            }
            Ok(())
        })
    }

    fn give(
        &mut self,
        piece: &Piece,
        made: Result<(Profile, Vec<String>), String>,
    ) -> Result<(), String> {
        match made {
            Ok((profile, notices)) => {
                for notice in notices {
                    self.tell(&notice);
                }
                self.outcome.profiles += 1;
                (self.each)(profile).map_err(|problem| format!("{}: {problem}", piece.name))
            },
            Err(problem) => self.refuse(&piece.name, &problem),
        }
    }
}

/// The next line, or the beginning of one that is too long.
fn line_of(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    // A vector doubles its room by itself. Of a long line that would be more than may be taken.
    const LEAST: usize = 1 << 12;
    const MOST: usize = 1 << 26;
    let mut line = Vec::new();
    while line.len() as u64 <= MAX_TEXT_BYTES {
        let room = line.len().clamp(LEAST, MOST);
        line.try_reserve_exact(room)?;
        let read = reader
            .by_ref()
            .take(room as u64)
            .read_until(b'\n', &mut line)?;
        if read == 0 || line.ends_with(b"\n") {
            break;
        }
    }
    Ok(line)
}

/// The profile of a piece, and notices about it.
fn profile_of(piece: &Piece, options: &Options) -> Result<(Profile, Vec<String>), String> {
    let envelope = match piece.is_line {
        true => Envelope::read(&piece.content)?,
        false => Envelope::of_profile(&piece.content),
    };
    let mut labels = options.labels.clone();
    labels.add_missing(&envelope.labels);
    if let (Some(pattern), Some(path)) = (&options.names, &piece.path)
        && let Some(of_name) = pattern.labels_of(path)
    {
        labels.add_missing(&of_name);
    }
    let path = piece.path.as_deref().filter(|_| !piece.is_line);
    let (mut recording, format, notices) =
        read_with(&envelope.profile, path, options.read).map_err(|error| error.to_string())?;
    let mut notices: Vec<_> = notices.iter().map(ToString::to_string).collect();
    if format == Format::Trace {
        value_by_clock(&mut recording).map_err(|invalid| invalid.to_string())?;
    }
    let release = labels.get("release");
    let folders = options.source_maps.iter();
    let folders = folders.filter(|(of, _)| of.as_deref().is_none_or(|of| Some(of) == release));
    let folders: Vec<PathBuf> = folders.map(|(_, folder)| folder.clone()).collect();
    let of_maps = apply_map_folders(&mut recording, &folders, &deadline_of_maps());
    notices.extend(of_maps.iter().map(ToString::to_string));
    Ok((
        Profile {
            name: piece.name.clone(),
            format,
            session: envelope.session,
            labels,
            recording,
            digest: Sha256::digest(&envelope.profile).into(),
        },
        notices,
    ))
}
