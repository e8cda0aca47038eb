/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The URLs of scripts and of WebAssembly modules, by the numbers that walks note. Each is read once in an event loop, while
//! no thread is stopped, and shared after that.

use std::ffi::c_void;
use std::slice;
use std::sync::{Arc, Mutex, PoisonError};

use malloc_size_of_derive::MallocSizeOf;
use rustc_hash::FxHashMap;

use super::ffi::{
    FrameKind, FunctionKey, TextEncoding, strobe_read_source, strobe_remember_sources,
};
use crate::budget::Budget;

/// The most bytes of a URL that are kept. What is longer ends with [`CUT`](super::ffi::CUT).
pub const MAX_URL: usize = 64 << 10;

/// Identifies a source for as long as the process lives.
#[derive(Clone, Copy, Debug, Eq, Hash, MallocSizeOf, PartialEq)]
pub struct SourceNumber {
    is_wasm: bool,
    number: u32,
}

impl SourceNumber {
    /// The source that has a function; `None` for one of the engine or the browser.
    pub fn of(key: &FunctionKey) -> Option<Self> {
        match key.kind {
            FrameKind::Script => Some(Self {
                is_wasm: false,
                number: key.source_id,
            }),
            FrameKind::Wasm => Some(Self {
                is_wasm: true,
                number: key.source_id,
            }),
            FrameKind::SelfHosted | FrameKind::Native => None,
        }
    }
}

/// The URL of a source.
#[derive(Clone, Debug, MallocSizeOf)]
pub struct Resource {
    /// The source.
    pub source: SourceNumber,
    /// Empty if the source did not come from a URL, or if it is gone and its URL with it.
    #[conditional_malloc_size_of]
    pub url: Arc<String>,
}

#[cfg(test)]
impl Resource {
    /// The URL of a script, for tests without an engine.
    pub fn of_test(number: u32, url: &str) -> Self {
        Self {
            source: SourceNumber {
                is_wasm: false,
                number,
            },
            url: Arc::new(url.to_owned()),
        }
    }
}

/// The URLs that have been read.
#[derive(Default, MallocSizeOf)]
pub struct Resources(FxHashMap<SourceNumber, Resource>);

impl Resources {
    /// The URL of a source. `None` if it was not known and there is no room for it. Must not be called while a thread is
    /// stopped.
    pub fn of(&mut self, source: SourceNumber, budget: &mut Budget) -> Option<Resource> {
        if let Some(known) = self.0.get(&source) {
            return Some(known.clone());
        }
        let resource = Resource {
            source,
            url: read(source).into(),
        };
        let bytes = size_of::<(SourceNumber, Resource)>() * 2 + resource.url.len();
        if !budget.take(bytes) {
            return None;
        }
        self.0.insert(source, resource.clone());
        Some(resource)
    }
}

fn read(source: SourceNumber) -> String {
    struct Taken {
        is_wasm: bool,
        url: String,
    }
    unsafe extern "C" fn take(
        taken: *mut c_void,
        name: *const u8,
        length: usize,
        whole: usize,
        is_introduced: bool,
    ) {
        // SAFETY: the glue passes the pointer that it was given below, and a text of this length.
        let (taken, name) = unsafe {
            (
                &mut *taken.cast::<Taken>(),
                slice::from_raw_parts(name, length),
            )
        };
        // What made a module from bytes: the URL of the script, a space, and how.
        let name = match taken.is_wasm && is_introduced {
            true => name.split(|&byte| byte == b' ').next().unwrap_or_default(),
            false => name,
        };
        let is_cut = name.len() == length && whole > length;
        taken.url = match is_cut {
            true => TextEncoding::Utf8.decode_cut(name),
            false => TextEncoding::Utf8.decode(name),
        };
    }
    let mut taken = Taken {
        is_wasm: source.is_wasm,
        url: String::new(),
    };
    // SAFETY: `take` has the type that is expected, and its argument is a `Taken`.
    unsafe {
        strobe_read_source(
            u8::from(source.is_wasm),
            source.number,
            MAX_URL,
            Some(take),
            (&raw mut taken).cast(),
        )
    };
    taken.url
}

/// While one of these lives, the engine remembers for a while the URLs of sources that go away, so that they can be read when
/// the walks that have met them are collected.
pub struct Remembering(());

/// How many there are. The engine is told under the lock, so that it is told the last change last.
static REMEMBERING: Mutex<usize> = Mutex::new(0);

impl Remembering {
    /// From now on.
    pub fn begin() -> Self {
        change(|count| count + 1);
        Self(())
    }
}

impl Drop for Remembering {
    fn drop(&mut self) {
        change(|count| count - 1);
    }
}

fn change(next: impl FnOnce(usize) -> usize) {
    let mut count = REMEMBERING.lock().unwrap_or_else(PoisonError::into_inner);
    let before = *count;
    *count = next(before);
    if (before == 0) != (*count == 0) {
        // SAFETY: any thread may call it.
        unsafe { strobe_remember_sources(*count > 0) };
    }
}
