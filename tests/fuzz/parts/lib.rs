/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Files of crates that depend on all of Servo or on the engine, compiled without it. A fuzz target with all of
//! that would take half an hour to build. The files are those of the product, unchanged. `packaging/command_docs`
//! takes the command line from here, too.
//!
//! In these files `crate`, `servo` and `profile_recorder` mean this crate, which has everything that they use.

#![deny(unsafe_code)]
// Much of the code in these files is used only by other parts of the browser.
#![allow(dead_code, unused_imports)]

// Rebuilt in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

extern crate self as profile_recorder;
extern crate self as servo;

mod about_profiling;
#[path = "../../../components/shell/arguments.rs"]
mod arguments;
#[path = "../../../components/shell/command_line.rs"]
mod command_line;
#[path = "../../../components/shell/duration.rs"]
mod duration;
#[path = "../../../components/profile_recorder/kept.rs"]
mod kept;
#[path = "../../../components/profile_recorder/options.rs"]
mod options;
#[path = "../../../components/shell/preferences.rs"]
pub mod preferences;
mod profile;
#[path = "../../../components/shell/reserved_output.rs"]
mod reserved_output;
#[path = "../../../components/shell/url_argument.rs"]
pub mod url_argument;
mod window;

pub use self::about_profiling::{Query, recording_options};
pub use self::arguments::ExitAfter;
pub use self::command_line::{CommandLine, Parsed, command};
pub use self::kept::{Kept, Nonsense, kind};
pub use self::options::{BrowserEventLoopId, EventLoops, Options, Wanted};
pub use self::window::interpret;

// The items of the crate servo that the files use.
pub use servo_config::prefs::{PrefValue, Preferences};

pub type DeviceIntSize = euclid::default::Size2D<i32>;

/// The same type as in `servo-embedder-traits`, which depends on half of Servo.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Theme {
    Light,
    Dark,
}
