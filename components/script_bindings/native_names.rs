/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The names of constructors of DOM interfaces, by the address of their code.
//!
//! Methods, getters and setters are functions of the engine, which adds them to its table of native names
//! itself. The constructor of an interface is a hook of a class, and the engine does not know its name.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use js::jsapi::JSClass;

unsafe extern "C" {
    /// Defined in `vm/NativeNames.cpp` of the hooked engine.
    fn strobe_note_constructor(code: *const c_void, name: *const c_char);
}

/// Adds the constructor of the interface object's class, under the interface's name.
pub(crate) fn note_constructor(class: &JSClass, name: &CStr) {
    // SAFETY: a class has either no operations or operations that live as long as the class.
    let operations = unsafe { class.cOps.as_ref() };
    let Some(construct) = operations.and_then(|operations| operations.construct) else {
        return;
    };
    let code = ptr::with_exposed_provenance(construct as usize);
    // SAFETY: the name ends with a zero, and the function keeps a copy of it.
    unsafe { strobe_note_constructor(code, name.as_ptr()) };
}
