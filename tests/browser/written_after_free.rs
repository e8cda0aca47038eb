/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Makes a mistake with a block of memory, for the test of `tests/quarantine/`:
//!
//! ```text
//! written_after_free nothing|write|free
//! ```
//!
//! Then it frees enough blocks for the first one to be given back.

// The mistakes are not possible in safe code.
#![allow(unsafe_code)]

use std::env;
use std::hint::black_box;
use std::process::ExitCode;

const SIZE: usize = 100;

fn main() -> ExitCode {
    let block = black_box(Box::into_raw(Box::new([1_u8; SIZE])));
    this_one_frees(block);
    match env::args().nth(1).as_deref() {
        Some("nothing") => {},
        // SAFETY: there is none, on purpose.
        Some("write") => unsafe { block.cast::<u8>().add(8).cast::<u32>().write_unaligned(0) },
        Some("free") => this_one_frees(block),
        _ => return ExitCode::from(2),
    }
    for _ in 0..1 << 16 {
        drop(black_box(vec![2_u8; 2000]));
    }
    ExitCode::SUCCESS
}

#[inline(never)]
fn this_one_frees(block: *mut [u8; SIZE]) {
    // SAFETY: the block is a box's. That it is freed once is up to the caller.
    drop(unsafe { Box::from_raw(block) });
}
