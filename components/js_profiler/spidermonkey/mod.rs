/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The Rust face of the C++ glue: the engine's side of a profiler group, and the walk of a stack.
//!
//! The structures and functions here are declared in `glue.h`: change both together.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_void};
use std::mem::offset_of;
use std::ptr::NonNull;
use std::sync::Arc;

use js_profiler_traits::{RealmId, preferences};
use malloc_size_of_derive::MallocSizeOf;
use mozjs_sys::jsapi::JSContext;

use crate::stop::Stopped;

mod native_code;

pub use native_code::NativeCode;
use native_code::{Native, Unwinder};

/// Enough for the names and URLs of most stacks; see [`StackBuffer::grow_text`].
const TEXT_CAPACITY: usize = 256 * 1024;
/// The script of a `data:` URL has all of itself for a URL.
const MAX_TEXT_CAPACITY: usize = 64 * 1024 * 1024;

#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(dead_code, reason = "C++ makes them")]
enum TextEncoding {
    Latin1 = 0,
    Utf16 = 1,
    Utf8 = 2,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Text {
    offset: u32,
    length: u32,
    encoding: TextEncoding,
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

const FRAME_MUTED: u8 = 1;
const FRAME_NO_TEXT: u8 = 2;

/// What identifies a function for as long as the process lives.
#[repr(C)]
#[derive(Clone, Copy, Debug, Eq, Hash, MallocSizeOf, PartialEq)]
pub struct FunctionKey {
    realm: u64,
    source_id: u32,
    source_start: u32,
    source_end: u32,
    line: u32,
    column: u32,
    kind: FrameKind,
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

/// Functions that have been seen, for the walk to recognise.
#[derive(Clone, Default, MallocSizeOf)]
pub struct KnownFunctions {
    keys: Vec<FunctionKey>,
    /// A hash table with linear probing, at most half full: one more than a place in `keys`, or 0.
    slots: Vec<u32>,
}

impl KnownFunctions {
    pub const fn new() -> Self {
        Self {
            keys: Vec::new(),
            slots: Vec::new(),
        }
    }

    /// The slot that the function has, or would have.
    fn slot(&self, key: &FunctionKey) -> usize {
        let last = self.slots.len() - 1;
        let mut slot = key.hashed() as usize & last;
        while self.slots[slot] != 0 && self.keys[self.slots[slot] as usize - 1] != *key {
            slot = (slot + 1) & last;
        }
        slot
    }

    /// Its place in the order in which functions were inserted.
    pub fn find(&self, key: &FunctionKey) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        (self.slots[self.slot(key)] as usize).checked_sub(1)
    }

    /// Adds a function that is not there, and returns its place.
    pub fn insert(&mut self, key: FunctionKey) -> usize {
        if (self.keys.len() + 1) * 2 > self.slots.len() {
            self.slots = vec![0; (self.slots.len() * 2).max(64)];
            for place in 0..self.keys.len() {
                let slot = self.slot(&self.keys[place]);
                self.slots[slot] = place as u32 + 1;
            }
        }
        let slot = self.slot(&key);
        self.keys.push(key);
        self.slots[slot] = self.keys.len() as u32;
        self.keys.len() - 1
    }
}

/// Where a frame is on the stack, to see later whether it is still there.
#[repr(C)]
#[derive(Clone, Copy, Debug, Eq, MallocSizeOf, PartialEq)]
pub struct FramePlace {
    address: usize,
    return_address: usize,
    callee: usize,
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
struct GlueFrame {
    function: FunctionKey,
    known: u32,
    name: Text,
    resource: Text,
    place: FramePlace,
    flags: u8,
}

#[repr(C)]
struct GlueKnownFunctions {
    functions: *const FunctionKey,
    slots: *const u32,
    slots_length: usize,
}

#[repr(C)]
struct GlueNativeCode {
    natives: *const Native,
    natives_length: usize,
    program_begin: usize,
    program_end: usize,
    exception_begin: usize,
    exception_end: usize,
    unwinder: *mut c_void,
}

#[repr(C)]
struct GlueStack {
    frames: *mut GlueFrame,
    frames_capacity: usize,
    max_frames: usize,
    realms: *const u64,
    realms_length: usize,
    realm_frames: *mut usize,
    everything: bool,
    known: GlueKnownFunctions,
    native_code: GlueNativeCode,
    frames_length: usize,
    complete_length: usize,
    text: *mut u8,
    text_capacity: usize,
    truncated: bool,
    complete_truncated: bool,
    text_lost: bool,
    contradiction: *const c_char,
}

// `glue.h` asserts the same.
const _: () = {
    assert!(size_of::<Text>() == 12 && offset_of!(Text, encoding) == 8);
    assert!(size_of::<FunctionKey>() == 32 && offset_of!(FunctionKey, kind) == 28);
    assert!(size_of::<FramePlace>() == 24);
    assert!(size_of::<GlueFrame>() == 96 && offset_of!(GlueFrame, known) == 32);
    assert!(offset_of!(GlueFrame, place) == 64 && offset_of!(GlueFrame, flags) == 88);
    assert!(size_of::<GlueKnownFunctions>() == 24);
    assert!(size_of::<GlueNativeCode>() == 56);
    assert!(size_of::<GlueStack>() == 184 && offset_of!(GlueStack, known) == 56);
    assert!(offset_of!(GlueStack, native_code) == 80 && offset_of!(GlueStack, text) == 152);
    assert!(offset_of!(GlueStack, contradiction) == 176);
    assert!(size_of::<Stopped>() == 48 && offset_of!(Stopped, stack) == 32);
};

#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(dead_code, reason = "C++ makes them")]
enum GlueWalk {
    Stack = 0,
    Idle = 1,
    Collecting = 2,
    Inconsistent = 3,
}

unsafe extern "C" {
    fn strobe_hash_function(function: *const FunctionKey) -> u64;
    fn strobe_is_idle(cx: *mut JSContext) -> bool;
    #[cfg(target_arch = "x86_64")]
    fn strobe_walk_table(
        cx: *mut JSContext,
        stopped: *const Stopped,
        stack: *mut GlueStack,
    ) -> GlueWalk;
    fn strobe_walk_stock(
        cx: *mut JSContext,
        stopped: *const Stopped,
        stack: *mut GlueStack,
    ) -> GlueWalk;
    fn strobe_count_kept(
        cx: *mut JSContext,
        stopped: *const Stopped,
        code: *const GlueNativeCode,
        places: *const FramePlace,
        length: usize,
    ) -> usize;
    fn strobe_install_stock(cx: *mut JSContext) -> *mut c_void;
    fn strobe_set_stock_enabled(cx: *mut JSContext, enabled: bool);
    fn strobe_uninstall_stock(cx: *mut JSContext, stack: *mut c_void);
    fn strobe_current_realm(cx: *mut JSContext) -> u64;
}

/// A frame of a walked stack, and a view of its text.
pub struct WalkedFrame<'a> {
    frame: &'a GlueFrame,
    text: &'a [u8],
}

impl WalkedFrame<'_> {
    pub fn key(&self) -> FunctionKey {
        self.frame.function
    }

    pub fn realm(&self) -> RealmId {
        RealmId(self.frame.function.realm)
    }

    pub fn kind(&self) -> FrameKind {
        self.frame.function.kind
    }

    pub fn place(&self) -> FramePlace {
        self.frame.place
    }

    /// Whether the script was fetched from another origin without CORS, so that nothing of it may
    /// be shown.
    pub fn muted(&self) -> bool {
        self.frame.flags & FRAME_MUTED != 0
    }

    /// The place of the function among those that were known to the walk; it has no text then.
    pub fn known(&self) -> Option<usize> {
        (self.frame.known as usize).checked_sub(1)
    }

    /// False if name and resource were lost for want of room.
    pub fn has_text(&self) -> bool {
        self.frame.flags & FRAME_NO_TEXT == 0
    }

    /// The function's own name, empty if it has none.
    pub fn name(&self) -> String {
        self.decode(self.frame.name)
    }

    /// The URL of the script, empty if it came from none.
    pub fn resource(&self) -> String {
        self.decode(self.frame.resource)
    }

    /// Where the function is defined: 1-based line and column. None for what is in no script.
    pub fn position(&self) -> Option<(u32, u32)> {
        let function = &self.frame.function;
        (function.line != 0).then_some((function.line, function.column))
    }

    fn decode(&self, text: Text) -> String {
        let bytes = &self.text[text.offset as usize..][..text.length as usize];
        match text.encoding {
            TextEncoding::Latin1 => bytes.iter().map(|&byte| char::from(byte)).collect(),
            TextEncoding::Utf8 => String::from_utf8_lossy(bytes).into_owned(),
            TextEncoding::Utf16 => {
                let units = bytes
                    .chunks_exact(2)
                    .map(|pair| u16::from_ne_bytes([pair[0], pair[1]]));
                char::decode_utf16(units)
                    .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
                    .collect()
            },
        }
    }
}

/// How a walk went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Walk {
    /// The frames are in the [`StackBuffer`].
    Stack,
    /// No JavaScript is running.
    Idle,
    /// The engine is collecting garbage.
    Collecting,
    /// The stack contradicts itself, or the engine forbids walking at this moment. Says what is wrong.
    Unwalkable(&'static CStr),
}

/// Room for one walked stack, made beforehand: the walk must not allocate.
pub struct StackBuffer {
    frames: Vec<GlueFrame>,
    text: Vec<u8>,
    truncated: bool,
    complete_truncated: bool,
    text_lost: bool,
    /// Of the frames, so many from the leaf are without anything left out.
    complete: usize,
    max_frames: usize,
    /// Whom the stack is for: see [`StackBuffer::set_audience`].
    realms: Vec<u64>,
    realm_frames: Vec<usize>,
    everything: bool,
    unwinder: Unwinder,
}

impl StackBuffer {
    /// For somebody who may see everything.
    pub fn new() -> Self {
        let mut buffer = Self {
            frames: Vec::new(),
            text: vec![0; TEXT_CAPACITY],
            truncated: false,
            complete_truncated: false,
            text_lost: false,
            complete: 0,
            max_frames: preferences::max_stack_depth(),
            realms: Vec::new(),
            realm_frames: Vec::new(),
            everything: true,
            unwinder: Unwinder::new(),
        };
        buffer.set_audience([], true);
        buffer
    }

    /// Walks are for pages in these realms from now on, and for somebody who may see everything if `everything` says
    /// so. What no page may see is left out for pages, and does not count: one frame without text stands for it.
    pub fn set_audience(&mut self, realms: impl IntoIterator<Item = RealmId>, everything: bool) {
        self.realms.clear();
        self.realms.extend(realms.into_iter().map(|realm| realm.0));
        self.realms.sort_unstable();
        self.realms.dedup();
        self.realm_frames.clear();
        self.realm_frames.resize(self.realms.len(), 0);
        self.everything = everything;
        // Between any two frames that a page may see there may be one that is hidden, and before the caller of
        // built-ins is known there may be that many of them.
        let for_pages = self.realms.len() * (2 * self.max_frames + 1) + self.max_frames;
        self.frames.clear();
        self.frames.reserve(self.max_frames + for_pages);
        self.complete = 0;
    }

    /// Walks go by what is known of native code now.
    pub fn set_native_code(&mut self, code: Arc<NativeCode>) {
        self.unwinder.set_code(code);
    }

    fn native_code(&mut self) -> GlueNativeCode {
        let native_code = self.unwinder.code();
        let (program, exception) = (native_code.program(), native_code.exception_handler());
        GlueNativeCode {
            natives: native_code.natives().as_ptr(),
            natives_length: native_code.natives().len(),
            program_begin: program.start,
            program_end: program.end,
            exception_begin: exception.start,
            exception_end: exception.end,
            unwinder: (&raw mut self.unwinder).cast(),
        }
    }

    pub fn clear(&mut self) {
        self.frames.clear();
        self.truncated = false;
        self.complete_truncated = false;
        self.text_lost = false;
        self.complete = 0;
    }

    /// There is room for so many frames.
    pub fn capacity(&self) -> usize {
        self.frames.capacity()
    }

    /// What it has allocated, in bytes.
    pub fn memory(&self) -> usize {
        self.frames.capacity() * size_of::<GlueFrame>()
            + self.text.capacity()
            + self.realms.capacity() * size_of::<u64>()
            + self.realm_frames.capacity() * size_of::<usize>()
    }

    /// Makes more room for text, for the next walk, if there was too little.
    pub fn grow_text(&mut self) {
        if self.text_lost && self.text.len() < MAX_TEXT_CAPACITY {
            self.text = vec![0; self.text.len() * 2];
        }
    }

    /// Whether older frames were left out for want of room.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// Whether there were more frames than [`complete`](Self::complete).
    pub fn complete_truncated(&self) -> bool {
        self.complete_truncated
    }

    /// Of the frames, so many from the leaf are without anything left out, for who may see everything.
    pub fn complete(&self) -> usize {
        self.complete
    }

    /// The frames from the root to the leaf.
    pub fn frames(&self) -> impl Iterator<Item = WalkedFrame<'_>> {
        self.frames.iter().rev().map(|frame| WalkedFrame {
            frame,
            text: &self.text,
        })
    }
}

/// How a stack is walked, and what the engine must do for it while there are sessions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Walker {
    /// From the registers, with tables of what is inlined where, with which all code is compiled.
    #[cfg(target_arch = "x86_64")]
    Table,
    /// As `Table`, and each stack is also walked by `Stock`, to compare the two.
    #[cfg(target_arch = "x86_64")]
    Both,
    /// By the engine's stock profiling mode, which instruments the code: it costs speed while it is
    /// on, and switching it discards all JIT code.
    Stock,
}

impl Walker {
    /// The one that the preferences ask for, where it can be used.
    pub fn preferred() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if preferences::compare_walkers() {
                return Self::Both;
            }
            if !preferences::stock_walker() {
                return Self::Table;
            }
        }
        Self::Stock
    }
}

impl Walker {
    fn is_stock(self) -> bool {
        match self {
            Self::Stock => true,
            #[cfg(target_arch = "x86_64")]
            Self::Both => true,
            #[cfg(target_arch = "x86_64")]
            Self::Table => false,
        }
    }

    fn is_stock_alone(self) -> bool {
        self == Self::Stock
    }
}

/// An event loop's JavaScript context, as other threads see it.
#[derive(Clone)]
pub struct SampledContext {
    cx: NonNull<JSContext>,
    walker: Walker,
}

// SAFETY: other threads only ask `is_idle`, which reads one word, and what takes a `Stopped`, which
// says that the context's own thread stands still. Who has made it says that the context outlives it.
unsafe impl Send for SampledContext {}
// SAFETY: as above; and a walk is lent it while the sampling thread waits for that.
unsafe impl Sync for SampledContext {}

impl SampledContext {
    /// Why a recording, which begins without the context's thread, has no stacks of it, in one sentence.
    pub fn why_without_stacks(&self) -> Option<&'static str> {
        self.walker.is_stock_alone().then_some(
            "Stacks are walked by the engine's stock profiling mode, which only the event loop itself \
             can switch on.",
        )
    }

    /// Whether no JavaScript is on the context's stack.
    pub fn is_idle(&self) -> bool {
        // SAFETY: the context is alive: see `EngineMode::context`; the glue says what of the race.
        unsafe { strobe_is_idle(self.cx.as_ptr()) }
    }

    /// Whether both [`SampledContext::walk`] and [`SampledContext::walk_stock`] may be used.
    pub fn walks_both_ways(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self.walker == Walker::Both {
            return true;
        }
        false
    }

    /// Walks the stack into `buffer`, without the text of the functions that are `known`. `stopped` must be
    /// the context's own thread.
    pub fn walk(
        &self,
        stopped: &Stopped,
        buffer: &mut StackBuffer,
        known: &KnownFunctions,
    ) -> Walk {
        let walk = match self.walker {
            #[cfg(target_arch = "x86_64")]
            Walker::Table | Walker::Both => strobe_walk_table,
            Walker::Stock => strobe_walk_stock,
        };
        self.walk_with(walk, stopped, buffer, known)
    }

    /// Walks the stack by the stock walker, where the engine is in both modes.
    pub fn walk_stock(&self, stopped: &Stopped, buffer: &mut StackBuffer) -> Walk {
        self.walk_with(
            strobe_walk_stock,
            stopped,
            buffer,
            const { &KnownFunctions::new() },
        )
    }

    fn walk_with(
        &self,
        walk: unsafe extern "C" fn(*mut JSContext, *const Stopped, *mut GlueStack) -> GlueWalk,
        stopped: &Stopped,
        buffer: &mut StackBuffer,
        known: &KnownFunctions,
    ) -> Walk {
        let native_code = buffer.native_code();
        let mut glue_stack = GlueStack {
            frames: buffer.frames.as_mut_ptr(),
            frames_capacity: buffer.frames.capacity(),
            max_frames: buffer.max_frames,
            realms: buffer.realms.as_ptr(),
            realms_length: buffer.realms.len(),
            realm_frames: buffer.realm_frames.as_mut_ptr(),
            everything: buffer.everything,
            known: GlueKnownFunctions {
                functions: known.keys.as_ptr(),
                slots: known.slots.as_ptr(),
                slots_length: known.slots.len(),
            },
            native_code,
            frames_length: 0,
            complete_length: 0,
            text: buffer.text.as_mut_ptr(),
            text_capacity: buffer.text.len(),
            truncated: false,
            complete_truncated: false,
            text_lost: false,
            contradiction: c"".as_ptr(),
        };
        // SAFETY: a `Stopped` is lent by `stop` alone, and only while the thread
        // stands still; a group has one thread and its context. The buffers are as large as they say.
        let walk = unsafe { walk(self.cx.as_ptr(), stopped, &mut glue_stack) };
        match walk {
            GlueWalk::Stack => {
                // SAFETY: the glue wrote that many elements, and no more than the capacity.
                unsafe { buffer.frames.set_len(glue_stack.frames_length) };
                buffer.complete = glue_stack.complete_length;
                buffer.truncated = glue_stack.truncated;
                buffer.complete_truncated = glue_stack.complete_truncated;
                buffer.text_lost = glue_stack.text_lost;
                Walk::Stack
            },
            GlueWalk::Idle => Walk::Idle,
            GlueWalk::Collecting => Walk::Collecting,
            // SAFETY: the glue gives a string that lives as long as the process.
            GlueWalk::Inconsistent => {
                Walk::Unwalkable(unsafe { CStr::from_ptr::<'static>(glue_stack.contradiction) })
            },
        }
    }

    /// How many of the frames at `places`, which are from the root to the leaf, are still on the stack,
    /// counted from the root. `stopped` must be the context's own thread. The buffer's frames stay as they are.
    pub fn count_kept(
        &self,
        stopped: &Stopped,
        buffer: &mut StackBuffer,
        places: &[FramePlace],
    ) -> usize {
        let code = buffer.native_code();
        // SAFETY: as for `walk`.
        unsafe {
            strobe_count_kept(
                self.cx.as_ptr(),
                stopped,
                &code,
                places.as_ptr(),
                places.len(),
            )
        }
    }
}

/// What the engine does for a walker on one context: nothing until there is a session or a recording.
///
/// Stays on the context's thread.
pub struct EngineMode {
    cx: NonNull<JSContext>,
    walker: Walker,
    profiling_stack: Option<NonNull<c_void>>,
    enabled: bool,
}

impl EngineMode {
    /// # Safety
    ///
    /// `cx` must be this thread's context. It must be alive until this value is dropped, and with it the
    /// [`EventLoop`](crate::EventLoop) that it was given to, which has the sampling thread let go of the context.
    pub unsafe fn new(cx: NonNull<JSContext>, walker: Walker) -> Self {
        Self {
            cx,
            walker,
            profiling_stack: None,
            enabled: false,
        }
    }

    /// The context, for the sampling thread. See [`EngineMode::new`].
    pub(crate) fn context(&self) -> SampledContext {
        SampledContext {
            cx: self.cx,
            walker: self.walker,
        }
    }

    /// The realm that the context is in.
    pub fn current_realm(&self) -> Option<RealmId> {
        // SAFETY: we are on the context's thread.
        let realm = unsafe { strobe_current_realm(self.cx.as_ptr()) };
        (realm != 0).then_some(RealmId(realm))
    }

    /// Switches the mode. False if there is no memory for it.
    pub fn set_enabled(&mut self, enabled: bool) -> bool {
        if enabled == self.enabled {
            return true;
        }
        if self.walker.is_stock() && !self.set_stock_enabled(enabled) {
            return false;
        }
        self.enabled = enabled;
        true
    }

    fn set_stock_enabled(&mut self, enabled: bool) -> bool {
        if self.profiling_stack.is_none() {
            // SAFETY: we are on the context's thread.
            self.profiling_stack = NonNull::new(unsafe { strobe_install_stock(self.cx.as_ptr()) });
            if self.profiling_stack.is_none() {
                return false;
            }
        }
        // SAFETY: we are on the context's thread, and a profiling stack is installed.
        unsafe { strobe_set_stock_enabled(self.cx.as_ptr(), enabled) };
        true
    }
}

impl Drop for EngineMode {
    fn drop(&mut self) {
        if let Some(profiling_stack) = self.profiling_stack {
            // SAFETY: we are on the context's thread; an event loop drops this when it has left its
            // last script.
            unsafe { strobe_uninstall_stock(self.cx.as_ptr(), profiling_stack.as_ptr()) };
        }
    }
}

#[cfg(test)]
pub mod tests {
    use std::sync::LazyLock;

    use mozjs::conversions::jsstr_to_string;
    use mozjs::jsapi::{CallArgs, InitSelfHostedCode, JSObject, OnNewGlobalHookOption};
    use mozjs::jsval::{JSVal, ObjectValue, UndefinedValue};
    use mozjs::realm::AutoRealm;
    use mozjs::rooted;
    use mozjs::rust::wrappers2::{
        GetTestingFunctions, JS_DefineFunction, JS_DefineProperty, JS_NewGlobalObject,
    };
    use mozjs::rust::{CompileOptionsWrapper, RealmOptions, SIMPLE_GLOBAL_CLASS, evaluate_script};
    use mozjs_sys::jsapi::glue::JS_Init;
    use mozjs_sys::jsapi::{
        JS_DestroyContext, JS_NewContext, JS_SetGCParameter, JS_SetNativeStackQuota, JS_ShutDown,
        JSGCParamKey,
    };

    use super::*;

    /// A context of the thread that made it, which runs no script.
    pub struct TestContext(NonNull<JSContext>);

    impl TestContext {
        pub fn new() -> Self {
            // SAFETY: once in the process, before all contexts, which are gone when it ends.
            static ENGINE: LazyLock<bool> =
                LazyLock::new(|| unsafe { JS_Init() && libc::atexit(shut_down) == 0 });
            assert!(*ENGINE);
            const HEAP_SIZE: u32 = 32 * 1024 * 1024;
            // SAFETY: the engine is there.
            let cx = unsafe { JS_NewContext(HEAP_SIZE, std::ptr::null_mut()) };
            Self(NonNull::new(cx).unwrap())
        }

        /// Where what the engine allocates for it is.
        pub fn address(&self) -> usize {
            self.0.addr().get()
        }

        /// Gives `run` what evaluates a script, of which the URL and the first line are given, in a new realm.
        /// Once in a context. Scripts have the engine's functions for tests, as `engine`, and `inNewRealm()`.
        pub fn with_scripts(&self, run: impl FnOnce(&mut dyn FnMut(&CStr, u32, &str))) {
            const STACK_QUOTA: usize = 1 << 20;
            const NURSERY: u32 = 256 << 10;
            // SAFETY: the context is this thread's, and nothing has run in it yet.
            let mut cx = unsafe {
                JS_SetNativeStackQuota(self.0.as_ptr(), STACK_QUOTA, STACK_QUOTA, STACK_QUOTA);
                // Small, so that a short program fills it.
                for key in [
                    JSGCParamKey::JSGC_MIN_NURSERY_BYTES,
                    JSGCParamKey::JSGC_MAX_NURSERY_BYTES,
                ] {
                    JS_SetGCParameter(self.0.as_ptr(), key, NURSERY);
                }
                assert!(InitSelfHostedCode(
                    self.0.as_ptr(),
                    Default::default(),
                    None
                ));
                mozjs::context::JSContext::from_ptr(self.0)
            };
            let cx = &mut cx;
            rooted!(&in(cx) let global = new_global(cx));
            let mut realm = AutoRealm::new_from_handle(cx, global.handle());
            let cx = &mut *realm;
            // SAFETY: all are of this context, and rooted.
            unsafe {
                rooted!(&in(cx) let engine = ObjectValue(GetTestingFunctions(cx)));
                let (global, engine) = (global.handle(), engine.handle());
                assert!(JS_DefineProperty(cx, global, c"engine".as_ptr(), engine, 0));
                let name = c"inNewRealm".as_ptr();
                let defined = JS_DefineFunction(cx, global, name, Some(in_new_realm), 1, 0);
                assert!(!defined.is_null());
            }
            run(&mut |url, line, script| {
                rooted!(&in(cx) let mut value = UndefinedValue());
                let options = CompileOptionsWrapper::new(cx, url.to_owned(), line);
                evaluate_script(cx, global.handle(), script, value.handle_mut(), options)
                    .unwrap_or_else(|()| panic!("{script:.200} threw"));
            });
        }

        /// It must be gone before the context is.
        pub fn mode(&self, walker: Walker) -> EngineMode {
            // SAFETY: it is this thread's, and stays on it.
            unsafe { EngineMode::new(self.0, walker) }
        }
    }

    fn new_global(cx: &mut mozjs::context::JSContext) -> *mut JSObject {
        // SAFETY: the class and the options live as long as they are used.
        unsafe {
            JS_NewGlobalObject(
                cx,
                &SIMPLE_GLOBAL_CLASS,
                std::ptr::null_mut(),
                OnNewGlobalHookOption::FireOnNewGlobalHook,
                &*RealmOptions::default(),
            )
        }
    }

    /// Evaluates a text, for a number, in a realm that is not used any more when it returns.
    unsafe extern "C" fn in_new_realm(
        cx: *mut JSContext,
        argc: u32,
        arguments: *mut JSVal,
    ) -> bool {
        // SAFETY: the engine gives them.
        let (mut cx, arguments) = unsafe {
            let cx = NonNull::new(cx).expect("there is a context");
            (
                mozjs::context::JSContext::from_ptr(cx),
                CallArgs::from_vp(arguments, argc),
            )
        };
        let cx = &mut cx;
        let text = NonNull::new(arguments.get(0).to_string()).expect("it is a text");
        // SAFETY: it is alive.
        let text = unsafe { jsstr_to_string(cx, text) };
        rooted!(&in(cx) let global = new_global(cx));
        rooted!(&in(cx) let mut value = UndefinedValue());
        let options = CompileOptionsWrapper::new(cx, c"https://a.test/realm.js".to_owned(), 1);
        let result = evaluate_script(cx, global.handle(), &text, value.handle_mut(), options);
        assert!(value.is_number());
        arguments.rval().set(value.get());
        result.is_ok()
    }

    extern "C" fn shut_down() {
        // SAFETY: see above.
        unsafe { JS_ShutDown() };
    }

    impl Drop for TestContext {
        fn drop(&mut self) {
            // SAFETY: it is this thread's.
            unsafe { JS_DestroyContext(self.0.as_ptr()) };
        }
    }

    fn key(number: u32) -> FunctionKey {
        FunctionKey {
            realm: u64::from(number % 3),
            source_id: number % 7,
            source_start: number,
            source_end: number + 10,
            line: number / 2,
            column: 1,
            kind: FrameKind::Script,
        }
    }

    #[test]
    fn functions_are_known_by_all_of_their_key() {
        let mut known = KnownFunctions::new();
        assert_eq!(known.find(&key(0)), None);
        for number in 0..10_000 {
            assert_eq!(known.find(&key(number)), None);
            assert_eq!(known.insert(key(number)), number as usize);
        }
        for number in 0..10_000 {
            assert_eq!(known.find(&key(number)), Some(number as usize));
        }
        let of_another_kind = FunctionKey {
            kind: FrameKind::Wasm,
            ..key(5)
        };
        assert_eq!(known.find(&of_another_kind), None);
        let used = known.slots.iter().filter(|slot| **slot != 0).count();
        assert_eq!(used, 10_000);
        assert!(known.slots.len() >= 2 * used && known.slots.len().is_power_of_two());
    }
}
