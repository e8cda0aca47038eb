/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The structures and functions of the C++ glue, as `glue.h` declares them.

use std::mem::offset_of;

pub use self::glue::*;
pub use self::glue::{
    STROBE_ABSENT as ABSENT, STROBE_FRAME_GUESSED_NAME as FRAME_GUESSED_NAME,
    STROBE_FRAME_MUTED as FRAME_MUTED, STROBE_FRAME_NO_TEXT as FRAME_NO_TEXT,
    STROBE_MOST_WORK as MOST_WORK, STROBE_NATIVE_BLOCK as NATIVE_BLOCK, STROBE_SAME as SAME,
    StrobeCallSite as CallSite, StrobeCodeBlock as CodeBlock, StrobeCodeRange as CodeRange,
    StrobeCodeTables as CodeTables, StrobeFrame as GlueFrame, StrobeFrameKind as FrameKind,
    StrobeFunctionKey as FunctionKey, StrobeKeptFrame as KeptFrame,
    StrobeKnownFunctions as GlueKnownFunctions, StrobeKnownPosition as KnownPosition,
    StrobeLastWalk as LastWalk, StrobeNative as Native, StrobeNativeCode as GlueNativeCode,
    StrobeNewFunction as GlueNewFunction, StrobePosition as Position, StrobeSampleRow as SampleRow,
    StrobeSource as GlueSource, StrobeStack as GlueStack, StrobeStackRow as StackRow,
    StrobeText as Text, StrobeTextEncoding as TextEncoding, StrobeWalk as GlueWalk,
};
use crate::arch::FrameRegisters;

/// What bindgen has written: see `build.rs`. It asserts that the layouts are those of C++.
#[allow(dead_code, reason = "C++ uses the rest")]
#[allow(clippy::all, reason = "It is generated")]
mod glue {
    use malloc_size_of_derive::MallocSizeOf;
    use mozjs_sys::jsapi::{JSContext, JSObject};

    use crate::stop::Stopped as StrobeStopped;

    include!(concat!(env!("OUT_DIR"), "/glue.rs"));
}

// `glue.h` asserts the same layout of StrobeRegisters.
const _: () = {
    assert!(size_of::<FrameRegisters>() == 24);
    assert!(offset_of!(FrameRegisters, pc) == 0 && offset_of!(FrameRegisters, sp) == 8);
    assert!(offset_of!(FrameRegisters, fp) == 16);
};

impl TextEncoding {
    /// The text that these bytes encode. What is invalid in it becomes U+FFFD.
    pub fn decode(self, bytes: &[u8]) -> String {
        match self {
            Self::Latin1 => bytes.iter().copied().map(char::from).collect(),
            Self::Utf8 => String::from_utf8_lossy(bytes).into_owned(),
            Self::Utf16 => {
                let (units, _) = bytes.as_chunks();
                let units = units.iter().map(|unit| u16::from_ne_bytes(*unit));
                char::decode_utf16(units)
                    .map(|one| one.unwrap_or(char::REPLACEMENT_CHARACTER))
                    .collect()
            },
        }
    }
}

/// Marks where a name or a URL was cut.
pub const CUT: char = '…';

impl TextEncoding {
    /// The same for a text that goes on, which may end within a character. It ends with [`CUT`].
    pub fn decode_cut(self, bytes: &[u8]) -> String {
        let mut text = self.decode(bytes);
        // What was left of the last character.
        if text.ends_with(char::REPLACEMENT_CHARACTER) {
            text.pop();
        }
        text.push(CUT);
        text
    }
}

impl FunctionKey {
    pub fn hashed(&self) -> u64 {
        // SAFETY: the function only reads the key.
        unsafe { strobe_hash_function(self) }
    }
}

impl Position {
    pub const UNKNOWN: Self = Self { line: 0, column: 0 };
}

impl KnownPosition {
    pub fn hashed(function: u32, code_offset: u32) -> u64 {
        // SAFETY: the function only computes with two numbers.
        unsafe { strobe_hash_position(function, code_offset) }
    }
}

impl CodeBlock {
    /// A free slot. The count of removals never gets as high as this.
    pub const FREE: Self = Self {
        number: 0,
        entry: 0,
        removals: u64::MAX,
    };
}

impl CallSite {
    /// A free slot. The count of removals never gets as high as this.
    pub const FREE: Self = Self {
        return_address: 0,
        callee: 0,
        script: 0,
        removals: u64::MAX,
        length: 0,
        flags: [0; _],
        known: [0; _],
        code_offsets: [0; _],
        sweeps: 0,
    };
}

// SAFETY: the name is never changed, and lives as long as the process.
unsafe impl Send for Native {}
// SAFETY: as above.
unsafe impl Sync for Native {}
