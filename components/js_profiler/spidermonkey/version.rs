/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The version of the engine.

use std::ffi::CStr;

use mozjs_sys::jsapi::JS_GetImplementationVersion;

/// What the engine writes before its version.
const NAME: &str = "JavaScript-C";

/// The version of the SpiderMonkey that is in this program, such as `153.6.0`, as the engine itself says it. `None` if it
/// says it in another form.
pub fn engine_version() -> Option<&'static str> {
    // SAFETY: the engine returns a string literal, and needs nothing for that, not even to be initialised.
    let text = unsafe { CStr::from_ptr(JS_GetImplementationVersion()) };
    text.to_str().ok()?.strip_prefix(NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_says_its_version() {
        let version = engine_version().expect("the engine says it as before");
        let numbers: Vec<Result<u32, _>> = version.split('.').map(str::parse).collect();
        assert!(numbers.len() >= 2, "{version}");
        assert!(numbers.iter().all(Result::is_ok), "{version}");
    }
}
