/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The commands that read saved profiles. The browser has them as subcommands, and so has `strobe-tool`, which is built
//! without Servo and the engine.

#![deny(unsafe_code)]

// Built anew in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

pub mod arguments;
mod convert;
mod diff;
mod failure;
mod merge;
mod merged_sessions;
mod output;
mod progress;
mod report;
pub mod saved_file;
mod saved_recording;
mod session_report;
mod sets;
mod task;

pub use crate::convert::Conversion;
pub use crate::diff::DiffTask;
pub use crate::failure::Failure;
pub use crate::merge::MergeTask;
pub use crate::merged_sessions::{MergedSessions, arguments as merged_arguments};
pub use crate::output::{print, write};
pub use crate::report::{Form, SavedReport};
pub use crate::saved_recording::{STANDARD_STREAM, SavedRecording, SourceMaps};
pub use crate::session_report::SavedSessions;
pub use crate::task::Task;
