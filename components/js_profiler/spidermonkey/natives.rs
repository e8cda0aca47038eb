/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The native functions that scripts can call, in a table by the addresses of their code. By it the walk knows
//! which built-in an address belongs to.
//!
//! The engine's own table is read while no thread is stopped, and the ends of functions come from the tables for
//! unwinding (`modules.rs`). The walk uses a table that nobody changes. `natives.cpp` is the engine's side.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use log::debug;

use super::ffi::{NATIVE_BLOCK, Native, strobe_each_native, strobe_natives_version};
use super::modules::{LastCommon, Modules, loads};

/// What is known of native code at some time.
pub struct NativeCode {
    pub(super) modules: Arc<Modules>,
    /// The natives, ordered by their addresses and without overlap. All are in the program's own code.
    pub(super) natives: Vec<Native>,
    /// See `StrobeNativeCode::blocks`.
    pub(super) blocks: Vec<u32>,
    /// The version of the engine's table at that time.
    pub(super) version: u64,
    /// The code of the native that was added to the engine's table last.
    pub(super) newest: usize,
    /// When the table of natives was read.
    made: Instant,
}

/// What [`NativeCode::current`] returned last.
static CURRENT: Mutex<Option<Arc<NativeCode>>> = Mutex::new(None);

impl NativeCode {
    /// What is known now. Must not be called while a thread is stopped, because it takes a lock and
    /// allocates.
    pub fn current() -> Arc<Self> {
        Self::read(false)
    }

    /// What is known now, including libraries that were loaded since the last call.
    pub fn with_new_libraries() -> Arc<Self> {
        Self::read(true)
    }

    fn read(with_new_libraries: bool) -> Arc<Self> {
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: any thread may call it.
        let version = unsafe { strobe_natives_version() };
        let before = current.as_ref();
        let has_all = |known: &Modules| !with_new_libraries || known.loads == loads();
        let modules = match before.map(|before| &before.modules) {
            Some(known) if has_all(known) => known.clone(),
            known => Arc::new(Modules::read(known.map(Arc::as_ref))),
        };
        if let Some(before) = before
            && before.version == version
            && Arc::ptr_eq(&before.modules, &modules)
        {
            return before.clone();
        }
        let code = Self::make(modules, before.map(Arc::as_ref), version);
        current.insert(Arc::new(code)).clone()
    }

    /// Reads the engine's table, which has this version or a later one. `before` is what was known, to read
    /// only what was added.
    fn make(modules: Arc<Modules>, before: Option<&Self>, version: u64) -> Self {
        let made = Instant::now();
        let newest_before = before.map_or(0, |before| before.newest);
        let mut taken = Taken::read(newest_before);
        let mut natives = match before {
            // Nothing has changed except for what was added.
            Some(before) if version - before.version == taken.count => before.natives.clone(),
            Some(_) => {
                taken = Taken::read(0);
                Vec::new()
            },
            None => Vec::new(),
        };
        let mut last = LastCommon::default();
        // Reading the end of a function takes longer than all else.
        let known = before.map_or(&[][..], |before| &before.natives);
        let known_end = |begin| {
            let index = known.binary_search_by_key(&begin, |native| native.begin);
            Some(known[index.ok()?].end)
        };
        let with_ends = taken.natives.into_iter().filter_map(|native| {
            if !modules.program.contains(&native.begin) {
                return None;
            }
            let end = known_end(native.begin).or_else(|| modules.end_of(native.begin, &mut last));
            Some(Native {
                end: end?,
                ..native
            })
        });
        natives.extend(with_ends);
        natives.sort_by_key(|native| native.begin);
        Self {
            blocks: first_of_blocks(&natives, &modules.program),
            modules,
            natives,
            version,
            newest: taken.newest.unwrap_or(newest_before),
            made,
        }
    }

    /// Whether natives were defined a short while ago. A page that is loading defines some all the time.
    pub fn is_new(&self) -> bool {
        const SHORT: Duration = Duration::from_millis(50);
        self.made.elapsed() < SHORT
    }
}

/// Makes ready, on another thread, what the first session of the process would have to wait for: the tables of native
/// code. Most of them are memory that nobody has touched. Does this only once.
pub fn prepare() {
    static PREPARED: Once = Once::new();
    PREPARED.call_once(|| {
        let read = || {
            NativeCode::current();
            debug!("the tables of native code were read ahead");
        };
        let thread = thread::Builder::new().name("JsSamplerTables".to_owned());
        if let Err(error) = thread.spawn(read) {
            debug!("the first session will start later: {error}");
        }
    });
}

/// For each block of `program`, the index of the first native that ends after the block's begin.
fn first_of_blocks(natives: &[Native], program: &Range<usize>) -> Vec<u32> {
    let mut first = 0;
    let blocks = program.clone().step_by(NATIVE_BLOCK);
    let first_of = blocks.map(|block| {
        first += natives[first..]
            .iter()
            .take_while(|native| native.end <= block)
            .count();
        first as u32
    });
    first_of.collect()
}

/// Entries that were read of the engine's table.
struct Taken {
    natives: Vec<Native>,
    /// How many entries were read, including those without a name.
    count: u64,
    /// The code of the first one, which was added last.
    newest: Option<usize>,
    until: usize,
}

impl Taken {
    /// The entries that were added after the native whose code is `until`, or all for 0.
    fn read(until: usize) -> Self {
        unsafe extern "C" fn take(taken: *mut c_void, native: *const Native) -> bool {
            // SAFETY: the glue passes the pointer that it was given below, and a native that it has filled in.
            let (taken, native) = unsafe { (&mut *taken.cast::<Taken>(), &*native) };
            if native.begin == taken.until {
                return false;
            }
            taken.newest.get_or_insert(native.begin);
            taken.count += 1;
            if native.name_length > 0 {
                taken.natives.push(*native);
            }
            true
        }
        let mut taken = Self {
            natives: Vec::new(),
            count: 0,
            newest: None,
            until,
        };
        // SAFETY: `take` has the type that is expected, and its argument is a `Taken`.
        unsafe { strobe_each_native(Some(take), (&raw mut taken).cast()) };
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn natives_are_found_by_their_block() {
        let native = |begin: usize, end: usize| Native {
            begin,
            end,
            name: c"".as_ptr().cast(),
            name_length: 0,
            hash: 0,
        };
        let start = 0x10_0000;
        let program = start..start + 6 * NATIVE_BLOCK + 1;
        let natives = [
            native(start + 16, start + 32),
            // It ends in the next but one block.
            native(start + NATIVE_BLOCK - 8, start + 2 * NATIVE_BLOCK + 8),
            native(start + 2 * NATIVE_BLOCK + 8, start + 3 * NATIVE_BLOCK),
            native(start + 5 * NATIVE_BLOCK, start + 5 * NATIVE_BLOCK + 1),
        ];
        let blocks = first_of_blocks(&natives, &program);
        assert_eq!(blocks, [0, 1, 1, 3, 3, 3, 4]);
    }

    #[test]
    fn modules_are_read_again_only_if_others_were_loaded() {
        let before = NativeCode::with_new_libraries();
        // SAFETY: loading the library runs nothing of it that matters here.
        let library = unsafe { libc::dlopen(c"libanl.so.1".as_ptr(), libc::RTLD_LAZY) };
        assert!(!library.is_null());
        let after = NativeCode::with_new_libraries();
        assert!(!Arc::ptr_eq(&before.modules, &after.modules));
        let again = NativeCode::with_new_libraries();
        assert!(Arc::ptr_eq(&after.modules, &again.modules));
    }
}
