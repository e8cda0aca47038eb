/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How the bindings read and write the members of a dictionary, as Web IDL says.
//!
//! The functions of the same names in `utils.rs` ask first whether a property exists, which a proxy can observe, and
//! assign it, which runs setters of `Object.prototype`.

use std::ffi::CStr;

use js::context::JSContext;
use js::rust::wrappers2::JS_GetProperty;
use js::rust::{HandleObject, MutableHandleValue};

/// <https://webidl.spec.whatwg.org/#dictionary-to-js>, step 4: CreateDataProperty.
pub(crate) use crate::utils::define_dictionary_property as set_dictionary_property;

/// Gets a member. `Ok(false)` if there is no object, and `Err(())` if an exception is pending.
///
/// <https://webidl.spec.whatwg.org/#js-to-dictionary>, step 4.1.2.2: "Otherwise, let jsMemberValue be ? Get(jsDict, key)".
pub(crate) fn get_dictionary_property(
    cx: &mut JSContext,
    object: HandleObject,
    property: &CStr,
    value: MutableHandleValue,
) -> Result<bool, ()> {
    if object.get().is_null() {
        return Ok(false);
    }
    // SAFETY: the handles are of this context, and the name ends in a zero.
    match unsafe { JS_GetProperty(cx, object, property.as_ptr(), value) } {
        true => Ok(true),
        false => Err(()),
    }
}
