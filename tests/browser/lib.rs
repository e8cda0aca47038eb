/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Tests of the whole browser: the real program opens pages from a real local web server, and the
//! pages say what they saw.
//!
//! A [`Site`] serves pages; [`Site::visit`] opens one of them in the browser, waits for the browser
//! to end, and gives the result that the page posted. `tests/pages/harness.js` is the page's side of
//! it. A trace in a result is read by [`Trace::read`], which checks all that holds of every trace.
//!
//! A [`Driver`] drives the browser from outside, as a person would by clicks and keys. A [`BrowserWindow`]
//! does have keys and a mouse, on a [`Display`] of its own.
//!
//! However it is started, a browser one of whose threads panicked fails the test: `panics.rs`.
//!
//! The tests themselves are in `tests/`, one file for each thing that may break.

#![deny(unsafe_code)]

// Built anew in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

mod command;
mod display;
mod hosts;
mod panics;
mod site;
mod source;
mod trace;
mod visit;
mod webdriver;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::thread;

pub use command::{Command, Output, signal};
pub use display::{BrowserWindow, CHROME_HEIGHT, Display};
pub use hosts::Hosts;
pub use panics::KnownPanic;
pub use site::{Site, SiteContent, path_with_header, visit_allowed};
pub use source::{Position, Source};
pub use trace::{Edges, Frame, Marker, Sample, Stack, Trace};
pub use visit::{BrowserProcess, Visit, run_browser};
pub use webdriver::{Driver, Failure};

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

/// Tells the person at the terminal a figure that a test measured, also if the test passes.
pub fn report(line: &str) {
    // Not by eprintln!, which the test runner holds back.
    let _ = writeln!(io::stderr(), "{line}");
}

/// Tells why the calling test cannot be run here, after which it returns. The test runner counts it as passed;
/// `./mach test` reads this line and counts it as skipped.
pub fn skip(why: &str) {
    let thread = thread::current();
    let test = thread.name().unwrap_or("a browser test");
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    // Not by println!, as above. The test runner may have begun a line.
    let _ = writeln!(io::stdout(), "\nSKIPPED {test}: {why}");
}
