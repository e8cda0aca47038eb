/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The texts of scripts and their links to source maps, as the engine has them.

use std::ffi::c_void;
use std::ptr;
use std::slice;

use js_profiler_traits::RealmId;

use super::EngineContext;
use super::ffi::{GlueSource, TextEncoding, strobe_each_source};

/// A script, without its text.
pub struct ScriptFacts {
    /// The engine's number for it: [`super::FunctionKey::source_id`].
    pub id: u32,
    /// The URL, or what made the script from text.
    pub name: String,
    /// The realm that it runs in. It lives until the taker has taken the text.
    pub realm: RealmId,
    /// The link to the source map, from the comment in the text.
    pub map_url: Option<String>,
    /// 1-based line at which the text begins.
    pub line: u32,
    /// 1-based, in UTF-16 code units.
    pub column: u32,
    /// The text takes at least this many bytes in UTF-8. `None` if the engine does not have the text.
    pub least_bytes: Option<usize>,
}

/// Takes what the engine has of scripts. Its functions may cause a collection of garbage.
pub trait TakeSources {
    /// Takes a script, and says whether its text is wanted. If not, the text is neither copied nor decompressed.
    fn wants(&mut self, script: ScriptFacts) -> bool;
    /// Takes the text of the script that [`wants`](Self::wants) was called with last. It is not empty.
    fn take(&mut self, text: String);
}

impl EngineContext {
    /// Passes the scripts with these ids that still exist to `taker`. The ids are in ascending order. Garbage may be
    /// collected.
    pub fn each_source(&self, ids: &[u32], mut taker: &mut dyn TakeSources) {
        let cx = self.sampled.cx.as_ptr();
        let taker = ptr::from_mut(&mut taker).cast();
        // SAFETY: we are on the context's thread, outside of a walk. The glue calls the two functions only during this
        // call, with the taker.
        unsafe {
            strobe_each_source(
                cx,
                ids.as_ptr(),
                ids.len(),
                Some(wants_text),
                Some(take_text),
                taker,
            );
        }
    }
}

unsafe extern "C" fn wants_text(taker: *mut c_void, source: *const GlueSource) -> bool {
    // SAFETY: the glue passes the taker of `each_source`, and a source that it has filled in.
    let (taker, source) = unsafe { (&mut *taker.cast::<&mut dyn TakeSources>(), &*source) };
    // SAFETY: the glue says how long they are.
    let (name, map_url) = unsafe {
        (
            units(source.name, source.name_length),
            units(source.map_url, source.map_url_length),
        )
    };
    taker.wants(ScriptFacts {
        id: source.id,
        name: String::from_utf8_lossy(name).into_owned(),
        realm: RealmId(source.realm),
        map_url: (!map_url.is_empty()).then(|| String::from_utf16_lossy(map_url)),
        line: source.line,
        column: source.column,
        least_bytes: source.has_text.then_some(source.length),
    })
}

unsafe extern "C" fn take_text(
    taker: *mut c_void,
    text: *const u8,
    length: usize,
    encoding: TextEncoding,
) {
    // SAFETY: as above.
    let (taker, bytes) = unsafe {
        (
            &mut *taker.cast::<&mut dyn TakeSources>(),
            units(text, length),
        )
    };
    taker.take(encoding.decode(bytes));
}

/// # Safety
///
/// The pointer must be null, or lead to `length` values that live for `'a`.
unsafe fn units<'a, T>(pointer: *const T, length: usize) -> &'a [T] {
    match pointer.is_null() {
        true => &[],
        // SAFETY: promised by the caller.
        false => unsafe { slice::from_raw_parts(pointer, length) },
    }
}
