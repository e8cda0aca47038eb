/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Files of profiles: whole or not at all.
//!
//! A new file is written beside the old one and then takes its place. So the old file, which may be the one that was
//! read, does not change until everything is written. If that fails, for example because the disk is full, no part of
//! the new file is left. Pipes and devices cannot be replaced, and are written directly.
//!
//! A file whose name ends in `.gz` is compressed. The bounds of a text are for the text before that.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::{Builder, NamedTempFile};

use crate::error::WriteError;
use crate::format::Format;
use crate::recording::Recording;
use crate::terminal::ForTerminal;

/// Linux follows as many.
const MAX_LINKS: usize = 40;

/// Whether a file with this name holds its text compressed by gzip.
pub fn is_compressed(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

/// How a file holds its text.
enum Encoded<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
}

impl<W: Write> Encoded<W> {
    fn new(writer: W, is_compressed: bool) -> Self {
        match is_compressed {
            true => Self::Gzip(GzEncoder::new(writer, Compression::default())),
            false => Self::Plain(writer),
        }
    }

    /// Writes what is left to write.
    fn finish(self) -> io::Result<W> {
        match self {
            Self::Plain(writer) => Ok(writer),
            Self::Gzip(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Encoded<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(writer) => writer.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(writer) => writer.flush(),
            // This would only make the result larger; `finish` writes everything.
            Self::Gzip(_) => Ok(()),
        }
    }
}

/// What is written of a recording.
#[derive(Clone, Copy)]
enum Content {
    In(Format),
    /// The page that compares its first process with its second one.
    Comparison,
}

impl Content {
    fn write_to<W: Write>(
        self,
        recording: &Recording,
        open: impl FnOnce() -> io::Result<W>,
    ) -> Result<W, WriteError> {
        match self {
            Self::In(format) => format.write_to(recording, open),
            Self::Comparison => Format::write_comparison_to(recording, open),
        }
    }
}

/// Where a path leads.
#[derive(Debug, PartialEq)]
enum Place {
    /// A file that may or may not exist. Not a link.
    File(PathBuf),
    /// A pipe, a device, or a file that a process has open, such as `/dev/stdout`.
    Special(PathBuf),
}

/// Writes a recording to a file, in place of the one that may be there, or to a pipe or a device.
///
/// A link stays, and leads to the new file. A file that was there has the permissions that it had; it must be one
/// that may be written.
pub fn replace(path: &Path, format: Format, recording: &Recording) -> Result<(), WriteError> {
    replace_with(path, Content::In(format), recording)
}

/// The same with a page that compares the recording's first process, the base, with its second one.
pub fn replace_comparison(path: &Path, recording: &Recording) -> Result<(), WriteError> {
    replace_with(path, Content::Comparison, recording)
}

fn replace_with(path: &Path, content: Content, recording: &Recording) -> Result<(), WriteError> {
    let is_compressed = is_compressed(path);
    match place(path)? {
        Place::Special(path) => {
            // After what others have written there.
            let open = || {
                let special = for_stream(File::options().append(true).open(&path)?);
                Ok(Encoded::new(special, is_compressed))
            };
            let mut special = content.write_to(recording, open)?.finish()?;
            special.flush()?;
        },
        Place::File(path) => {
            let permissions = match File::options().write(true).open(&path) {
                Ok(old) => Some(old.metadata()?.permissions()),
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                Err(error) => return Err(error.into()),
            };
            let folder = folder_of(&path);
            let new = write_beside(folder, permissions, content, is_compressed, recording)?;
            new.persist(&path).map_err(|error| error.error)?;
        },
    }
    Ok(())
}

/// Writes a recording to a stream such as standard output. If that is a terminal, which would obey control
/// characters in names, these are escaped as in JSON: `\u001b`.
pub fn write_to_stream(
    stream: impl Write + IsTerminal,
    format: Format,
    recording: &Recording,
) -> Result<(), WriteError> {
    format.write(recording, for_stream(stream))
}

/// A writer to a stream, which may be a terminal.
fn for_stream<'a>(stream: impl Write + IsTerminal + 'a) -> Box<dyn Write + 'a> {
    match stream.is_terminal() {
        true => Box::new(ForTerminal::new(stream)),
        false => Box::new(stream),
    }
}

/// Writes a recording to a file that is not there yet; the error is one of [`ErrorKind::AlreadyExists`] if it is.
pub fn create_new(path: &Path, format: Format, recording: &Recording) -> Result<(), WriteError> {
    if path.symlink_metadata().is_ok() {
        let problem = "there is such a file already";
        return Err(io::Error::new(ErrorKind::AlreadyExists, problem).into());
    }
    let new = write_beside(
        folder_of(path),
        None,
        Content::In(format),
        is_compressed(path),
        recording,
    )?;
    new.persist_noclobber(path).map_err(|error| error.error)?;
    Ok(())
}

/// Writes a recording to a file in a folder that is not there yet: `STEM.EXTENSION`, or else `STEM-2.EXTENSION`
/// and so on. Returns its path; an error has the path that could not be written.
pub fn create_numbered(
    folder: &Path,
    stem: &str,
    extension: &str,
    format: Format,
    recording: &Recording,
) -> Result<PathBuf, (PathBuf, WriteError)> {
    let first = folder.join(format!("{stem}.{extension}"));
    let content = Content::In(format);
    let mut new = match write_beside(folder, None, content, is_compressed(&first), recording) {
        Ok(new) => new,
        Err(error) => return Err((first, error)),
    };
    for number in 1_u64.. {
        let path = match number {
            1 => first.clone(),
            _ => folder.join(format!("{stem}-{number}.{extension}")),
        };
        match new.persist_noclobber(&path) {
            Ok(_) => return Ok(path),
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => new = error.file,
            Err(error) => return Err((path, error.error.into())),
        }
    }
    unreachable!("there is always another number")
}

/// A file in a folder, which is removed when it is dropped. It has the permissions of a new file unless others are
/// given, and is on the disk. What cannot be written is found before it is made.
fn write_beside(
    folder: &Path,
    permissions: Option<Permissions>,
    content: Content,
    is_compressed: bool,
    recording: &Recording,
) -> Result<NamedTempFile<File>, WriteError> {
    let make = || {
        let mut builder = Builder::new();
        builder.prefix(".strobe-").suffix(".new");
        let new = builder
            .make_in(folder, |path| {
                let mut options = File::options();
                options.write(true).create_new(true);
                // Nobody opens it before it has the permissions that it is to have.
                #[cfg(unix)]
                if permissions.is_some() {
                    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
                }
                options.open(path)
            })
            .map_err(|error| match error.kind() {
                // The person may write the file itself, so the error names the folder.
                ErrorKind::PermissionDenied => {
                    let folder = folder.display();
                    let problem = format!("no file can be made in {folder}: {error}");
                    io::Error::new(ErrorKind::PermissionDenied, problem)
                },
                _ => error,
            })?;
        if let Some(permissions) = permissions {
            new.as_file().set_permissions(permissions)?;
        }
        Ok(Encoded::new(new, is_compressed))
    };
    let new = content.write_to(recording, make)?.finish()?;
    new.as_file().sync_all()?;
    Ok(new)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Follows links. Those of `/proc` lead to files that a process has open. Such a file cannot be replaced.
fn place(path: &Path) -> io::Result<Place> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Some(name) = path.file_name() else {
            return Err(ErrorKind::IsADirectory.into());
        };
        let folder = fs::canonicalize(folder_of(&path))?;
        let file = folder.join(name);
        if folder.starts_with("/proc") {
            return Ok(Place::Special(file));
        }
        match file.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => path = folder.join(fs::read_link(&file)?),
            Ok(metadata) if metadata.is_file() => return Ok(Place::File(file)),
            Ok(_) => return Ok(Place::Special(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Place::File(file)),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("too many links lead to each other"))
}

// Miri knows no folders.
#[cfg(all(test, unix, not(miri)))]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;
    use std::thread;

    use tempfile::TempDir;

    use super::*;

    struct Folder(TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn text(&self, name: &str) -> String {
            fs::read_to_string(self.path(name)).unwrap()
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<_> = names.collect();
            names.sort();
            names
        }

        fn replace(&self, name: &str, text: &str) -> Result<(), WriteError> {
            replace(&self.path(name), Format::Collapsed, &recording(text))
        }

        fn mode(&self, name: &str) -> u32 {
            let metadata = fs::metadata(self.path(name)).unwrap();
            metadata.permissions().mode() & 0o7777
        }
    }

    fn recording(text: &str) -> Recording {
        let format = Some(Format::Collapsed);
        crate::read(text.as_bytes(), None, format).unwrap().0
    }

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let folder = Folder::new();
        folder.replace("a", "f 1\n").unwrap();
        assert_eq!(folder.text("a"), "f 1\n");
        // Who has the old file open has it on.
        let mut old = File::open(folder.path("a")).unwrap();
        folder.replace("a", "g 2\n").unwrap();
        let mut text = String::new();
        old.read_to_string(&mut text).unwrap();
        assert_eq!((&*text, &*folder.text("a")), ("f 1\n", "g 2\n"));
        assert_eq!(folder.names(), ["a"]);
    }

    #[test]
    fn what_cannot_be_written_leaves_all_as_it_was() {
        let folder = Folder::new();
        fs::write(folder.path("a"), "old").unwrap();
        let several = recording("[main];f 2\n[worker];g 1\n");
        let heavy = recording("f 9007199254740992\n");
        for (format, recording) in [(Format::Trace, &several), (Format::Cpuprofile, &heavy)] {
            assert!(replace(&folder.path("a"), format, recording).is_err());
            assert!(create_new(&folder.path("b"), format, recording).is_err());
            assert!(create_numbered(folder.0.path(), "c", "x", format, recording).is_err());
        }
        assert_eq!(folder.names(), ["a"]);
        assert_eq!(folder.text("a"), "old");
        let error = folder.replace("none/a", "f 1\n").unwrap_err();
        assert!(error.to_string().starts_with("No such file"), "{error}");
        let error = folder.replace(".", "f 1\n").unwrap_err();
        assert!(error.to_string().contains("directory"), "{error}");
    }

    #[test]
    fn a_file_has_the_permissions_of_a_new_one_or_those_that_it_had() {
        let folder = Folder::new();
        fs::write(folder.path("other"), "").unwrap();
        folder.replace("a", "f 1\n").unwrap();
        create_new(&folder.path("b"), Format::Collapsed, &recording("f 1\n")).unwrap();
        for name in ["a", "b"] {
            assert_eq!(folder.mode(name), folder.mode("other"), "{name}");
        }
        for mode in [0o600, 0o640, 0o664] {
            let permissions = Permissions::from_mode(mode);
            fs::set_permissions(folder.path("a"), permissions).unwrap();
            folder.replace("a", "f 2\n").unwrap();
            assert_eq!(folder.mode("a"), mode);
        }
    }

    #[test]
    fn a_link_stays_and_leads_to_the_new_file() {
        let folder = Folder::new();
        fs::create_dir(folder.path("real")).unwrap();
        symlink("real/a", folder.path("link")).unwrap();
        symlink("link", folder.path("second")).unwrap();
        for text in ["f 1\n", "f 2\n"] {
            folder.replace("second", text).unwrap();
            assert_eq!(folder.text("real/a"), text);
        }
        let kinds = ["link", "second"].map(|name| folder.path(name).is_symlink());
        assert_eq!(kinds, [true, true]);
        symlink("round", folder.path("round")).unwrap();
        let error = folder.replace("round", "f 1\n").unwrap_err();
        assert!(error.to_string().contains("links"), "{error}");
    }

    #[test]
    fn a_name_that_ends_in_gz_is_of_a_compressed_file() {
        let folder = Folder::new();
        let recording = recording("f;g 1\n");
        let format = Format::Collapsed;
        folder.replace("a.folded.gz", "f;g 1\n").unwrap();
        create_new(&folder.path("b.GZ"), format, &recording).unwrap();
        for number in 1..=2 {
            let path = create_numbered(folder.0.path(), "c", "folded.gz", format, &recording);
            assert_eq!(path.unwrap() == folder.path("c.folded.gz"), number == 1);
        }
        for name in folder.names() {
            let content = fs::read(folder.path(&name)).unwrap();
            let mut text = String::new();
            let mut decoder = flate2::read::GzDecoder::new(&*content);
            decoder.read_to_string(&mut text).unwrap();
            assert_eq!(text, "f;g 1\n", "{name}");
            assert_eq!(crate::read(&content, None, None).unwrap().1, format);
        }
        assert_eq!(folder.names().len(), 4);
        // The target of a link may have any name.
        symlink("target", folder.path("link.gz")).unwrap();
        folder.replace("link.gz", "f;g 1\n").unwrap();
        assert!(
            fs::read(folder.path("target"))
                .unwrap()
                .starts_with(b"\x1f\x8b")
        );
    }

    #[test]
    fn pipes_and_devices_are_written_as_they_are() {
        let folder = Folder::new();
        replace(Path::new("/dev/null"), Format::Html, &recording("f 1\n")).unwrap();
        let special = place(Path::new("/dev/null")).unwrap();
        assert_eq!(special, Place::Special("/dev/null".into()));

        let made = Command::new("mkfifo").arg(folder.path("pipe")).status();
        assert!(made.unwrap().success());
        let pipe = folder.path("pipe");
        let reader = thread::spawn(move || fs::read_to_string(pipe).unwrap());
        folder.replace("pipe", "f 1\n").unwrap();
        assert_eq!(reader.join().unwrap(), "f 1\n");
        assert_eq!(folder.names(), ["pipe"]);

        // Standard output is that of this process, whatever it is.
        for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            let place = place(Path::new(name)).unwrap();
            assert!(matches!(place, Place::Special(_)), "{name}: {place:?}");
        }
    }

    #[test]
    fn a_new_file_is_never_written_over_another() {
        let folder = Folder::new();
        let text = "f 1\n";
        for number in 1..=3 {
            let recording = recording(&format!("f {number}\n"));
            let format = Format::Collapsed;
            create_numbered(folder.0.path(), "a", format.extension(), format, &recording).unwrap();
        }
        assert_eq!(
            folder.names(),
            ["a-2.collapsed", "a-3.collapsed", "a.collapsed"]
        );
        let path = folder.path("a.collapsed");
        let error = create_new(&path, Format::Collapsed, &recording("f 9\n")).unwrap_err();
        let WriteError::Io(error) = error else {
            panic!("{error}")
        };
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert_eq!(folder.text("a.collapsed"), text);
        symlink("nothing", folder.path("b")).unwrap();
        assert!(create_new(&folder.path("b"), Format::Collapsed, &recording(text)).is_err());
    }
}
