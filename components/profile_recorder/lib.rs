/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Recordings: samples of the event loops of a browser, in all of its processes, as one
//! [`profile_formats::Recording`].
//!
//! A [`Recorder`] is the browser process' side. It makes the sampling thread of this process sample its event
//! loops. After [`Recorder::listen`] it does the same in the content processes. It keeps what they report.
//! Content processes call [`report_to_browser`].

#![deny(unsafe_code)]

// Reading the variable makes Cargo rebuild the crate in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

mod connection;
mod content_process;
mod kept;
mod options;
mod recorder;
mod status;
#[cfg(test)]
mod tests;

pub use js_profiler::engine_version;

pub use crate::content_process::report_to_browser;
pub use crate::options::{BrowserEventLoopId, EventLoops, Options, Wanted};
pub use crate::recorder::{Recorder, StartError};
pub use crate::status::{
    EventLoopStatus, ProcessStatus, Progress, RecordedStatus, SessionStatus, Status,
};
