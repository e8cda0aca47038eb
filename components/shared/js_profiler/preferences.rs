/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Strobe's own preferences, by name: those that begin with `js_profiling_`.

use std::sync::atomic::{AtomicBool, Ordering};

static JS_PROFILING_ALLOW: AtomicBool = AtomicBool::new(false);

/// `js_profiling_allow`: whether top-level documents may profile whatever their headers say, for
/// people without control of headers. Off by default.
pub fn js_profiling_allow() -> bool {
    JS_PROFILING_ALLOW.load(Ordering::Relaxed)
}

/// Sets a preference for this process. The error is ready to be shown.
pub fn set(name: &str, value: &str) -> Result<(), String> {
    match name {
        "js_profiling_allow" => {
            let value = value
                .parse()
                .map_err(|_| format!("preference {name} takes true or false, not '{value}'"))?;
            JS_PROFILING_ALLOW.store(value, Ordering::Relaxed);
            Ok(())
        },
        _ => Err(format!(
            "unknown preference {name}; the js_profiling_ preferences are: js_profiling_allow"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preference_is_set_by_name_and_bad_input_is_named() {
        assert_eq!(set("js_profiling_allow", "true"), Ok(()));
        assert!(js_profiling_allow());
        assert_eq!(
            set("js_profiling_allow", "yes"),
            Err("preference js_profiling_allow takes true or false, not 'yes'".to_owned())
        );
        assert!(js_profiling_allow(), "a bad value must change nothing");
        assert_eq!(set("js_profiling_allow", "false"), Ok(()));
        assert!(!js_profiling_allow());
        assert!(set("js_profiling_alow", "true").is_err());
    }
}
