/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What a reader of JSON cannot do without, each measured alone and on one thread: `json_floor FILE` prints the seconds as an
//! object in JSON.
//!
//! - `reading`: the bytes of the file, a piece at a time.
//! - `unpacking`: the same bytes from gzip of level 6, in memory.
//! - `parsing`: `simd-json` finds all values of the text, which is in memory, and makes nothing of them.

use std::env;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::time::Instant;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// Bytes that are read at once. They stay in the processor's cache.
const PIECE: usize = 1 << 18;

/// The seconds until everything is read.
fn drain(mut input: impl Read) -> io::Result<f64> {
    let start = Instant::now();
    let mut piece = vec![0; PIECE];
    while input.read(&mut piece)? > 0 {}
    Ok(start.elapsed().as_secs_f64())
}

fn main() -> io::Result<()> {
    let path = env::args_os().nth(1).ok_or(io::ErrorKind::InvalidInput)?;
    let reading = drain(File::open(&path)?)?;
    let mut text = fs::read(&path)?;
    let mut packed = GzEncoder::new(Vec::new(), Compression::new(6));
    packed.write_all(&text)?;
    let unpacking = drain(MultiGzDecoder::new(&*packed.finish()?))?;
    let start = Instant::now();
    let tape = simd_json::to_tape(&mut text).map_err(io::Error::other)?;
    let parsing = start.elapsed().as_secs_f64();
    black_box(&tape);
    println!(r#"{{"reading":{reading},"unpacking":{unpacking},"parsing":{parsing}}}"#);
    Ok(())
}
