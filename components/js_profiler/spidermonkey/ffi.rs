/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The structures and functions of the C++ glue, as `glue.h` declares them: change both together.

use std::ffi::{c_char, c_void};
use std::mem::offset_of;

use malloc_size_of_derive::MallocSizeOf;
use mozjs_sys::jsapi::{JSContext, JSObject};

use crate::arch::FrameRegisters;
use crate::stop::Stopped;

#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(dead_code, reason = "C++ makes them")]
pub enum TextEncoding {
    Latin1 = 0,
    Utf16 = 1,
    Utf8 = 2,
}

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

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    pub offset: u32,
    pub length: u32,
    pub encoding: TextEncoding,
}

/// The kind of code that a frame belongs to.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Eq, Hash, MallocSizeOf, PartialEq)]
#[allow(dead_code, reason = "C++ makes them")]
pub enum FrameKind {
    /// A function or top-level script of a page.
    Script = 0,
    /// A function of the engine that is written in JavaScript: a built-in or a helper of one.
    SelfHosted = 1,
    /// A built-in or DOM function that is written in C++ or Rust.
    Native = 2,
    /// A function of a WebAssembly module.
    Wasm = 3,
}

pub const FRAME_MUTED: u8 = 1;
pub const FRAME_NO_TEXT: u8 = 2;
pub const FRAME_GUESSED_NAME: u8 = 8;

/// Identifies a function for as long as the process lives.
#[repr(C)]
#[derive(Clone, Copy, Debug, Eq, Hash, MallocSizeOf, PartialEq)]
pub struct FunctionKey {
    pub realm: u64,
    pub source_id: u32,
    pub source_start: u32,
    pub source_end: u32,
    pub line: u32,
    pub column: u32,
    pub kind: FrameKind,
}

impl FunctionKey {
    pub fn hashed(&self) -> u64 {
        // SAFETY: the function only reads the key.
        unsafe { strobe_hash_function(self) }
    }

    /// Whether both keys stand for the same function. The realms of natives are not compared, because a
    /// built-in may enter another realm while it runs.
    #[cfg(test)]
    pub fn is_function_of(&self, other: &Self) -> bool {
        let realm = match self.kind {
            FrameKind::Native => other.realm,
            _ => self.realm,
        };
        Self { realm, ..*self } == *other
    }
}

/// Where a frame is on the stack. A later walk can check by it whether the frame is still there.
#[repr(C)]
#[derive(Clone, Copy, Debug, Eq, MallocSizeOf, PartialEq)]
pub struct FramePlace {
    pub address: usize,
    pub return_address: usize,
    pub callee: usize,
}

#[cfg(test)]
impl FramePlace {
    /// The addresses that lead into the engine's memory.
    pub fn addresses(&self) -> [usize; 2] {
        [self.address, self.callee]
    }
}

/// The tables that say which functions are where in an event loop's JIT code. Sizes are in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CodeTables {
    /// The pieces of code that Ion has compiled.
    pub ion_entries: usize,
    /// The tables of these.
    pub ion_size: usize,
    /// Other pieces of code: of Baseline, and of inline caches.
    pub other_entries: usize,
    /// The tables of these, and what all pieces share.
    pub other_size: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GlueFrame {
    pub function: FunctionKey,
    pub known: u32,
    pub name: Text,
    pub resource: Text,
    pub place: FramePlace,
    pub flags: u8,
    pub code_offset: u32,
    pub position: Position,
}

/// The position of a frame in its source: that of the call that it was making or, in the leaf, of the code
/// that it was executing.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Eq, Hash, MallocSizeOf, PartialEq)]
pub struct Position {
    /// 1-based; 0 if it is not known, and for WebAssembly.
    pub line: u32,
    /// 1-based, in UTF-16 code units. For WebAssembly, the offset in the module, in bytes. 0 if it is not
    /// known.
    pub column: u32,
}

impl Position {
    pub const UNKNOWN: Self = Self { line: 0, column: 0 };
}

/// A slot of the table of known positions.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, MallocSizeOf)]
pub struct KnownPosition {
    /// One more than the function's index; 0 for a free slot.
    pub function: u32,
    pub code_offset: u32,
    pub position: Position,
}

impl KnownPosition {
    pub fn hashed(function: u32, code_offset: u32) -> u64 {
        // SAFETY: the function only computes with two numbers.
        unsafe { strobe_hash_position(function, code_offset) }
    }
}

/// The greatest number of functions that a [`CallSite`] holds.
const MAX_INLINED: usize = 11;

/// The functions of a frame that has called something. Only walks use it.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct CallSite {
    return_address: usize,
    script: usize,
    removals: u64,
    length: u8,
    flags: [u8; MAX_INLINED],
    known: [u32; MAX_INLINED],
    code_offsets: [u32; MAX_INLINED],
}

impl CallSite {
    /// A free slot. The count of removals never gets as high as this.
    pub const FREE: Self = Self {
        return_address: 0,
        script: 0,
        removals: u64::MAX,
        length: 0,
        flags: [0; MAX_INLINED],
        known: [0; MAX_INLINED],
        code_offsets: [0; MAX_INLINED],
    };
}

#[repr(C)]
pub struct GlueKnownFunctions {
    pub functions: *const FunctionKey,
    pub functions_length: usize,
    pub slots: *const u32,
    pub slots_length: usize,
    pub positions: *const KnownPosition,
    pub positions_length: usize,
    pub call_sites: *mut CallSite,
    pub call_sites_length: usize,
}

/// The code of a native function that scripts can call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Native {
    pub begin: usize,
    pub end: usize,
    pub name: *const u8,
    pub name_length: u32,
    pub hash: u32,
}

// SAFETY: the name is never changed, and lives as long as the process.
unsafe impl Send for Native {}
// SAFETY: as above.
unsafe impl Sync for Native {}

/// Addresses of code, from the first one up to the one after the last.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct CodeRange {
    pub begin: usize,
    pub end: usize,
}

#[repr(C)]
pub struct GlueNativeCode {
    pub natives: *const Native,
    pub natives_length: usize,
    pub blocks: *const u32,
    pub blocks_length: usize,
    pub program_begin: usize,
    pub exception_handler: CodeRange,
    pub calls: [CodeRange; 2],
    pub unwinder: *mut c_void,
    pub natives_version: u64,
    pub newest_native: usize,
}

#[repr(C)]
pub struct GlueStack {
    pub frames: *mut GlueFrame,
    pub frames_capacity: usize,
    pub max_frames: usize,
    pub realms: *const u64,
    pub realms_length: usize,
    pub realm_frames: *mut usize,
    pub everything: bool,
    pub known: GlueKnownFunctions,
    pub native_code: GlueNativeCode,
    pub frames_length: usize,
    pub complete_length: usize,
    pub text: *mut u8,
    pub text_capacity: usize,
    pub truncated: bool,
    pub complete_truncated: bool,
    pub text_lost: bool,
    pub contradiction: *const c_char,
}

/// Stands for an index that a row does not have.
pub const ABSENT: u32 = u32::MAX;

/// A sample of a trace.
#[repr(C)]
pub struct SampleRow {
    /// In milliseconds.
    pub timestamp: f64,
    /// May be [`ABSENT`].
    pub stack_id: u32,
    /// Index of the marker's name, or [`ABSENT`].
    pub marker: u32,
}

/// A stack of a trace.
#[repr(C)]
pub struct StackRow {
    pub frame_id: u32,
    /// May be [`ABSENT`].
    pub parent_id: u32,
}

/// A script, as the engine has its source.
#[repr(C)]
pub struct GlueSource {
    /// UTF-8.
    pub name: *const u8,
    pub name_length: usize,
    pub realm: u64,
    /// Null if there is none.
    pub map_url: *const u16,
    pub map_url_length: usize,
    pub length: usize,
    pub id: u32,
    pub line: u32,
    pub column: u32,
    pub has_text: bool,
}

/// Asserts the size of a structure and where its fields are.
macro_rules! assert_layout {
    ($type:ident, $size:literal, { $($field:ident: $offset:literal),+ }) => {
        const _: () = {
            assert!(size_of::<$type>() == $size);
            $(assert!(offset_of!($type, $field) == $offset);)+
        };
    };
}

// `glue.h` asserts the same layouts.
assert_layout!(Text, 12, { offset: 0, length: 4, encoding: 8 });
assert_layout!(FunctionKey, 32, {
    realm: 0, source_id: 8, source_start: 12, source_end: 16, line: 20, column: 24, kind: 28
});
assert_layout!(FramePlace, 24, { address: 0, return_address: 8, callee: 16 });
assert_layout!(Position, 8, { line: 0, column: 4 });
assert_layout!(GlueFrame, 104, {
    function: 0, known: 32, name: 36, resource: 48, place: 64, flags: 88, code_offset: 92, position:
    96
});
assert_layout!(KnownPosition, 16, { function: 0, code_offset: 4, position: 8 });
assert_layout!(CallSite, 128, {
    return_address: 0, script: 8, removals: 16, length: 24, flags: 25, known: 36, code_offsets: 80
});
assert_layout!(GlueKnownFunctions, 64, {
    functions: 0, functions_length: 8, slots: 16, slots_length: 24, positions: 32, positions_length:
    40, call_sites: 48, call_sites_length: 56
});
assert_layout!(Native, 32, { begin: 0, end: 8, name: 16, name_length: 24, hash: 28 });
assert_layout!(GlueNativeCode, 112, {
    natives: 0, natives_length: 8, blocks: 16, blocks_length: 24, program_begin: 32,
    exception_handler: 40, calls: 56, unwinder: 88, natives_version: 96, newest_native: 104
});
assert_layout!(GlueStack, 280, {
    frames: 0, frames_capacity: 8, max_frames: 16, realms: 24, realms_length: 32, realm_frames: 40,
    everything: 48, known: 56, native_code: 120, frames_length: 232, complete_length: 240, text:
    248, text_capacity: 256, truncated: 264, complete_truncated: 265, text_lost: 266, contradiction:
    272
});
assert_layout!(FrameRegisters, 24, { pc: 0, sp: 8, fp: 16 });
assert_layout!(CodeTables, 32, { ion_entries: 0, ion_size: 8, other_entries: 16, other_size: 24 });
assert_layout!(SampleRow, 16, { timestamp: 0, stack_id: 8, marker: 12 });
assert_layout!(StackRow, 8, { frame_id: 0, parent_id: 4 });
assert_layout!(GlueSource, 64, {
    name: 0, name_length: 8, realm: 16, map_url: 24, map_url_length: 32, length: 40, id: 48, line:
    52, column: 56, has_text: 60
});

#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(dead_code, reason = "C++ makes them")]
pub enum GlueWalk {
    Stack = 0,
    Idle = 1,
    Collecting = 2,
    Inconsistent = 3,
}

unsafe extern "C" {
    pub fn strobe_hash_function(function: *const FunctionKey) -> u64;
    pub fn strobe_hash_position(function: u32, code_offset: u32) -> u64;
    pub fn strobe_each_native(
        take: unsafe extern "C" fn(*mut c_void, *const Native) -> bool,
        taker: *mut c_void,
    );
    pub fn strobe_exception_handler() -> usize;
    pub fn strobe_call() -> usize;
    pub fn strobe_construct() -> usize;
    pub fn strobe_natives_version() -> u64;
    pub fn strobe_is_idle(cx: *mut JSContext) -> bool;
    pub fn strobe_walk_table(
        cx: *mut JSContext,
        stopped: *const Stopped,
        stack: *mut GlueStack,
    ) -> GlueWalk;
    pub fn strobe_count_kept(
        cx: *mut JSContext,
        stopped: *const Stopped,
        code: *const GlueNativeCode,
        places: *const FramePlace,
        length: usize,
    ) -> usize;
    pub fn strobe_measure_code_tables(cx: *mut JSContext) -> CodeTables;
    pub fn strobe_new_table(cx: *mut JSContext, length: usize) -> *mut JSObject;
    pub fn strobe_add_samples(
        cx: *mut JSContext,
        table: *mut JSObject,
        rows: *const SampleRow,
        length: usize,
        markers: *const *const c_char,
        markers_length: usize,
    ) -> bool;
    pub fn strobe_add_stacks(
        cx: *mut JSContext,
        table: *mut JSObject,
        rows: *const StackRow,
        length: usize,
    ) -> bool;
    pub fn strobe_table_length(table: *mut JSObject) -> usize;
    pub fn strobe_each_source(
        cx: *mut JSContext,
        ids: *const u32,
        ids_length: usize,
        wants: unsafe extern "C" fn(*mut c_void, *const GlueSource) -> bool,
        take: unsafe extern "C" fn(*mut c_void, *const u8, usize, TextEncoding),
        taker: *mut c_void,
    );
}

#[cfg(feature = "stock_walk")]
unsafe extern "C" {
    pub fn strobe_walk_stock(
        cx: *mut JSContext,
        stopped: *const Stopped,
        stack: *mut GlueStack,
    ) -> GlueWalk;
    pub fn strobe_install_stock(cx: *mut JSContext) -> *mut c_void;
    pub fn strobe_uninstall_stock(cx: *mut JSContext, stack: *mut c_void);
}
