/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Tests of the whole browser. The real program opens pages from a real local web server, and the
//! pages report what they saw.
//!
//! A [`Site`] serves pages; [`Site::visit`] opens one of them in the browser, waits for the browser
//! to end, and gives the result that the page posted. `tests/pages/harness.js` is the page's side of
//! it. [`Trace::read`] reads a trace in a result, and checks everything that must hold for every trace.
//!
//! A [`Driver`] drives the browser by WebDriver, as a person would by clicks and keys. A [`BrowserWindow`] has a
//! real keyboard and mouse, on its own [`Display`].
//!
//! Two browsers run at once, of different tests. A test that measures something calls [`alone`] first.
//!
//! A test fails if a thread of its browser panicked, or if the browser or one of its processes crashed, however the
//! browser was started: see `panics.rs` and `crashes.rs`.
//!
//! The tests themselves are in `tests/`, one file for each thing that may break.

#![deny(unsafe_code)]

// Rebuilt in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

mod command;
mod crashes;
mod display;
mod hosts;
mod panics;
mod quarantine;
mod site;
mod slowness;
mod source;
mod stopped_thread;
mod trace;
mod turns;
mod visit;
mod webdriver;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::thread;

pub use command::{Command, Output, record, signal};
pub use display::{BrowserWindow, CHROME_HEIGHT, Display, RETRY_INTERVAL};
pub use hosts::Hosts;
pub use panics::KnownPanic;
pub use quarantine::library as quarantine;
pub use site::{Site, SiteContent, path_with_header, visit_allowed};
pub use slowness::scaled;
pub use source::{Position, Source};
pub use stopped_thread::StoppedThread;
pub use trace::{Edges, Frame, Marker, Sample, Stack, Trace};
pub use turns::{Alone, alone};
pub use visit::{BrowserProcess, Visit, run_browser, threads_named};
pub use webdriver::{Driver, Failure, TIME_BOUND};

/// The top folder of the repository.
pub fn repository() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .canonicalize()
        .expect("the repository is there")
}

/// The folder of the test pages.
pub fn pages() -> PathBuf {
    repository().join("tests/pages")
}

/// Prints a figure that a test measured, even if the test passes.
pub fn report(line: &str) {
    // The test runner captures eprintln!.
    let _ = writeln!(io::stderr(), "{line}");
}

/// Prints why the calling test cannot run here. The test then returns. The test runner counts it as passed, but
/// `./mach test` reads this line and counts it as skipped.
pub fn skip(why: &str) {
    let thread = thread::current();
    let test = thread.name().unwrap_or("a browser test");
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    // The test runner captures println!. The empty line ends a line that the test runner may have begun.
    let _ = writeln!(io::stdout(), "\nSKIPPED {test}: {why}");
}
