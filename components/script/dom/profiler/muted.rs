/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Scripts whose errors are muted. Scripts that they make from text are muted as well.

use servo_url::ServoUrl;

use super::{description, event_loop};
use crate::dom::globalscope::GlobalScope;
use crate::dom::script_execution::ScriptOptions;

const ABOUT_BLANK: &str = "about:blank";

/// Called when a classic script from `url` has been compiled. Returns its base URL, by step 1 of
/// <https://html.spec.whatwg.org/multipage/#creating-a-classic-script>: if mutedErrors is true, then set
/// baseURL to about:blank.
pub(crate) fn enter_script(
    global: &GlobalScope,
    url: ServoUrl,
    options: ScriptOptions,
) -> ServoUrl {
    if !options.contains(ScriptOptions::MutedErrors) {
        return url;
    }
    if let Some(realm) = description::realm_of(global) {
        event_loop::with(|one| one.add_muted_script(realm, url.as_str()));
    }
    ServoUrl::parse(ABOUT_BLANK).expect("about:blank is a URL")
}

/// The options of a script made from text that a script with this base URL gave to a timer.
pub(crate) fn options_of_timer(global: &GlobalScope, base_url: &ServoUrl) -> ScriptOptions {
    // The only other scripts with this base URL are those of a document that has no better one.
    let is_of_muted_script = base_url.as_str() == ABOUT_BLANK && global.api_base_url() != *base_url;
    let mut options = ScriptOptions::empty();
    options.set(ScriptOptions::MutedErrors, is_of_muted_script);
    options
}
