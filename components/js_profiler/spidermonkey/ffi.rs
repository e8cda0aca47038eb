/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The structures and functions of the C++ glue, as `glue.h` declares them: change both together.

use std::ffi::{c_char, c_void};
use std::mem::offset_of;

use malloc_size_of_derive::MallocSizeOf;
use mozjs_sys::jsapi::JSContext;

use super::native_code::Native;
use crate::stop::Stopped;

#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(dead_code, reason = "C++ makes them")]
pub enum TextEncoding {
    Latin1 = 0,
    Utf16 = 1,
    Utf8 = 2,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    pub offset: u32,
    pub length: u32,
    pub encoding: TextEncoding,
}

/// What a frame is of.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Eq, Hash, MallocSizeOf, PartialEq)]
#[allow(dead_code, reason = "C++ makes them")]
pub enum FrameKind {
    /// A function or top-level script of a page.
    Script = 0,
    /// A function of the engine that is written in JavaScript: a built-in or a helper of one.
    SelfHosted = 1,
    /// A built-in or DOM function that is not.
    Native = 2,
    /// A function of a WebAssembly module.
    Wasm = 3,
}

pub const FRAME_MUTED: u8 = 1;
pub const FRAME_NO_TEXT: u8 = 2;
pub const FRAME_GUESSED_NAME: u8 = 8;

/// What identifies a function for as long as the process lives.
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
        // SAFETY: reads the key.
        unsafe { strobe_hash_function(self) }
    }

    /// Whether these are one function. A built-in may enter another realm while it runs.
    #[cfg(test)]
    pub fn is_function_of(&self, other: &Self) -> bool {
        let realm = match self.kind {
            FrameKind::Native => other.realm,
            _ => self.realm,
        };
        Self { realm, ..*self } == *other
    }
}

/// Where a frame is on the stack, to see later whether it is still there.
#[repr(C)]
#[derive(Clone, Copy, Debug, Eq, MallocSizeOf, PartialEq)]
pub struct FramePlace {
    pub address: usize,
    pub return_address: usize,
    pub callee: usize,
}

#[cfg(test)]
impl FramePlace {
    /// What it has of addresses that lead into the engine's memory.
    pub fn addresses(&self) -> [usize; 2] {
        [self.address, self.callee]
    }
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

/// What a frame was executing, at the leaf, or calling.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Eq, Hash, MallocSizeOf, PartialEq)]
pub struct Position {
    /// 1-based; 0 if it is not known, and for WebAssembly.
    pub line: u32,
    /// 1-based, in UTF-16 code units. Of WebAssembly the offset in the module, in bytes. 0 if it is not known.
    pub column: u32,
}

impl Position {
    pub const UNKNOWN: Self = Self { line: 0, column: 0 };
}

/// A slot of the table of positions that are known.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, MallocSizeOf)]
pub struct KnownPosition {
    /// One more than the function's place; 0 for a free slot.
    pub function: u32,
    pub code_offset: u32,
    pub position: Position,
}

impl KnownPosition {
    pub fn hashed(function: u32, code_offset: u32) -> u64 {
        // SAFETY: it computes with two numbers.
        unsafe { strobe_hash_position(function, code_offset) }
    }
}

#[repr(C)]
pub struct GlueKnownFunctions {
    pub functions: *const FunctionKey,
    pub slots: *const u32,
    pub slots_length: usize,
    pub positions: *const KnownPosition,
    pub positions_length: usize,
}

#[repr(C)]
pub struct GlueNativeCode {
    pub natives: *const Native,
    pub natives_length: usize,
    pub program_begin: usize,
    pub program_end: usize,
    pub exception_begin: usize,
    pub exception_end: usize,
    pub unwinder: *mut c_void,
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

// `glue.h` asserts the same.
const _: () = {
    assert!(size_of::<Text>() == 12 && offset_of!(Text, encoding) == 8);
    assert!(size_of::<FunctionKey>() == 32 && offset_of!(FunctionKey, kind) == 28);
    assert!(size_of::<FramePlace>() == 24);
    assert!(size_of::<GlueFrame>() == 104 && offset_of!(GlueFrame, known) == 32);
    assert!(offset_of!(GlueFrame, place) == 64 && offset_of!(GlueFrame, flags) == 88);
    assert!(offset_of!(GlueFrame, code_offset) == 92 && offset_of!(GlueFrame, position) == 96);
    assert!(size_of::<KnownPosition>() == 16 && offset_of!(KnownPosition, position) == 8);
    assert!(size_of::<GlueKnownFunctions>() == 40);
    assert!(size_of::<GlueNativeCode>() == 56);
    assert!(size_of::<GlueStack>() == 200 && offset_of!(GlueStack, known) == 56);
    assert!(offset_of!(GlueStack, native_code) == 96 && offset_of!(GlueStack, text) == 168);
    assert!(offset_of!(GlueStack, contradiction) == 192);
    assert!(size_of::<Stopped>() == 48 && offset_of!(Stopped, stack) == 32);
};

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
    pub fn strobe_current_realm(cx: *mut JSContext) -> u64;
}

#[cfg(feature = "stock_walk")]
unsafe extern "C" {
    pub fn strobe_walk_stock(
        cx: *mut JSContext,
        stopped: *const Stopped,
        stack: *mut GlueStack,
    ) -> GlueWalk;
    pub fn strobe_install_stock(cx: *mut JSContext) -> *mut c_void;
    pub fn strobe_set_stock_enabled(cx: *mut JSContext, enabled: bool);
    pub fn strobe_uninstall_stock(cx: *mut JSContext, stack: *mut c_void);
}
