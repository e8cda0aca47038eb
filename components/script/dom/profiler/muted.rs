/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Scripts whose errors are muted, and code that they make. No page may see either in a profile. The engine knows who makes
//! code: see `vm/HiddenCode.h` of the hooked engine.

use js::rust::CompileOptionsWrapper;
use servo_url::ServoUrl;

use crate::dom::globalscope::GlobalScope;
use crate::dom::script_execution::ScriptOptions;

const ABOUT_BLANK: &str = "about:blank";

#[expect(unsafe_code)]
unsafe extern "C" {
    fn strobe_note_hidden_code();
}

/// Called when a classic script from `url` has been compiled. Returns its base URL, by step 1 of
/// <https://html.spec.whatwg.org/multipage/#creating-a-classic-script>: if mutedErrors is true, then set
/// baseURL to about:blank.
#[expect(unsafe_code)]
pub(crate) fn enter_script(_: &GlobalScope, url: ServoUrl, options: ScriptOptions) -> ServoUrl {
    if !options.contains(ScriptOptions::MutedErrors) {
        return url;
    }
    // SAFETY: the function sets a flag of this thread's context.
    unsafe { strobe_note_hidden_code() };
    ServoUrl::parse(ABOUT_BLANK).expect("about:blank is a URL")
}

/// The options of a script made from text that was given to a timer.
pub(crate) fn options_of_timer(is_hidden: bool) -> ScriptOptions {
    let mut options = ScriptOptions::empty();
    options.set(ScriptOptions::HiddenFromProfilers, is_hidden);
    options
}

/// Tells the engine that a script is hidden. Its errors are not muted for that.
#[expect(unsafe_code)]
pub(crate) fn hide_if_wanted(compile: &mut CompileOptionsWrapper, options: ScriptOptions) {
    if options.contains(ScriptOptions::HiddenFromProfilers) {
        // SAFETY: the wrapper owns the options.
        unsafe { (*compile.ptr)._base.hiddenFromProfilers_ = true };
    }
}
