/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Errors of the window system.

use std::fmt::Display;

/// Winit's message for an error of the window system, without the place in winit's source.
pub fn message(error: &dyn Display) -> String {
    let message = error.to_string();
    message
        .strip_prefix("os error at ")
        .and_then(|message| message.split_once(".rs:"))
        .and_then(|(_, message)| message.split_once(": "))
        .map_or(message.clone(), |(_, message)| message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_systems_words_are_kept_without_the_place_in_winit() {
        assert_eq!(
            message(&"os error at /src/linux/mod.rs:788: Failed: no X server"),
            "Failed: no X server"
        );
        assert_eq!(message(&"not supported"), "not supported");
    }
}
