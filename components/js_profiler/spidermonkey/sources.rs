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
            url: Arc::new(read(source)),
        };
        let bytes = size_of::<(SourceNumber, Resource)>() * 2 + resource.url.len();
        if !budget.take(bytes) {
            return None;
        }
        self.0.insert(source, resource.clone());
        Some(resource)
    }
}

/// What the engine calls a source.
struct SourceName<'a> {
    /// As much of it as was wanted.
    begin: &'a [u8],
    /// The length of all of it, in bytes.
    length: usize,
    /// Whether it says what has made the source, and not where that is.
    is_introduced: bool,
}

impl SourceName<'_> {
    /// The URL of the source; empty if it did not come from one.
    fn url(&self, is_wasm: bool) -> String {
        match is_wasm {
            // Behind the URL of the script that has made the module there is a space, and how.
            true => match self.begin.iter().position(|&byte| byte == b' ') {
                Some(end) => TextEncoding::Utf8.decode(&self.begin[..end]),
                None => self.all(),
            },
            // The URL of the script that has called `eval` or `new Function` does not say where the code is.
            false if self.is_introduced => String::new(),
            false => self.all(),
        }
    }

    fn all(&self) -> String {
        match self.length > self.begin.len() {
            true => TextEncoding::Utf8.decode_cut(self.begin),
            false => TextEncoding::Utf8.decode(self.begin),
        }
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
        // SAFETY: the engine passes the pointer that it was given below, and a text of this length.
        let (taken, begin) = unsafe {
            let begin = slice::from_raw_parts(name, length);
            (&mut *taken.cast::<Taken>(), begin)
        };
        let name = SourceName {
            begin,
            length: whole,
            is_introduced,
        };
        taken.url = name.url(taken.is_wasm);
    }
    let mut taken = Taken {
        is_wasm: source.is_wasm,
        url: String::new(),
    };
    // SAFETY: `take` has the type that is expected, and its argument is a `Taken`. It stops no thread.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_source_is_in_its_name_and_is_cut_at_a_character() {
        let url = |is_wasm, is_introduced, text: &str, length| {
            let begin = &text.as_bytes()[..length];
            let length = text.len();
            let name = SourceName {
                begin,
                length,
                is_introduced,
            };
            name.url(is_wasm)
        };
        let script = "https://a.example/é.js";
        let length = script.len();
        assert_eq!(url(false, false, script, length), script);
        assert_eq!(url(true, false, script, length), script);
        assert_eq!(
            url(false, false, script, length - 1),
            "https://a.example/é.j…"
        );
        for end in [19, 18] {
            // Within the character, and before it.
            assert_eq!(url(false, false, script, end), "https://a.example/…");
        }
        let made = "https://a.example/a.js line 3 > WebAssembly.Module";
        assert_eq!(url(true, false, made, made.len()), "https://a.example/a.js");
        assert_eq!(url(true, false, made, 30), "https://a.example/a.js");
        let evaluated = "https://a.example/a.js line 3 > eval";
        // The engine passes nothing of such a name.
        assert_eq!(url(false, true, evaluated, 0), "");
    }

    #[test]
    fn a_source_that_does_not_exist_has_no_url_and_is_read_once_for_each_event_loop() {
        let source = SourceNumber {
            is_wasm: false,
            number: u32::MAX,
        };
        let mut resources = Resources::default();
        let mut budget = Budget::with_left(100);
        let first = resources.of(source, &mut budget).unwrap();
        assert_eq!(*first.url, "");
        let again = resources.of(source, &mut budget).unwrap();
        assert!(Arc::ptr_eq(&first.url, &again.url));
        let other = SourceNumber {
            is_wasm: true,
            ..source
        };
        let mut without_room = Budget::with_left(10);
        assert!(resources.of(other, &mut without_room).is_none());
    }
}
