/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Reads a file on a thread of its own, a few blocks ahead, so that decompressing takes no time from what uses it.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread;

/// Bytes of a block. They stay in the processor's cache.
const BLOCK: usize = 1 << 18;

/// How many blocks may wait to be used.
const WAITING: usize = 4;

/// A part of a text, and how many bytes of its file were read for the text up to its end.
struct Part {
    block: Vec<u8>,
    read: u64,
}

/// What was read ahead. Each time that it needs more, it calls `progress`.
pub struct Ahead<F> {
    parts: Receiver<io::Result<Part>>,
    used: Sender<Vec<u8>>,
    part: Part,
    at: usize,
    progress: F,
}

/// Gives what is read ahead to `user`. `read_of` says how many bytes of the file were read for what the source has given.
/// A text that is longer than `most` bytes is an error.
pub fn ahead<S: Read + Send, F: FnMut(u64), T>(
    mut source: S,
    read_of: impl Fn(&S) -> u64 + Send,
    most: u64,
    progress: F,
    user: impl FnOnce(&mut Ahead<F>) -> T,
) -> T {
    thread::scope(|scope| {
        let (send, parts) = sync_channel(WAITING);
        let (used, blocks) = channel();
        scope.spawn(move || {
            let mut length = 0;
            loop {
                let block = blocks.try_recv().unwrap_or_else(|_| vec![0; BLOCK]);
                let mut part = filled(&mut source, block);
                if let Ok(block) = &part {
                    length += block.len() as u64;
                    if length > most {
                        let problem = format!("its text is longer than {most} bytes");
                        part = Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
                    }
                }
                let is_last = part.as_ref().map_or(true, |block| block.len() < BLOCK);
                let read = read_of(&source);
                let part = part.map(|block| Part { block, read });
                // The one who uses it may have had enough.
                if send.send(part).is_err() || is_last {
                    return;
                }
            }
        });
        let mut ahead = Ahead {
            parts,
            used,
            part: Part {
                block: Vec::new(),
                read: 0,
            },
            at: 0,
            progress,
        };
        let result = user(&mut ahead);
        // Ends the thread if it is not at the end.
        drop(ahead);
        result
    })
}

/// A block that is only shorter at the end of the source.
fn filled(source: &mut impl Read, mut block: Vec<u8>) -> io::Result<Vec<u8>> {
    block.resize(BLOCK, 0);
    let mut length = 0;
    while length < BLOCK {
        match source.read(&mut block[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {},
            Err(error) => return Err(error),
        }
    }
    block.truncate(length);
    Ok(block)
}

impl<F: FnMut(u64)> Read for Ahead<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.part.block.len() {
            // The thread has ended if there is none.
            let Ok(part) = self.parts.recv() else {
                return Ok(0);
            };
            let used = std::mem::replace(&mut self.part, part?);
            // If nobody takes it, the thread has ended.
            let _ = self.used.send(used.block);
            self.at = 0;
            (self.progress)(self.part.read);
        }
        let rest = &self.part.block[self.at..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

/// Counts what is read of a file.
pub struct CountedReader<R> {
    inner: R,
    pub count: u64,
}

impl<R> CountedReader<R> {
    pub fn new(inner: R) -> Self {
        Self { inner, count: 0 }
    }
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count += count as u64;
        Ok(count)
    }
}
