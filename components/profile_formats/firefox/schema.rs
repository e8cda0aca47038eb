/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What the reader and the writer of the format have in common: its version, units and names.

use crate::recording::{Activity, FunctionKind};

pub const WRITTEN_VERSION: u32 = 70;
/// The newest one that is read.
pub const NEWEST_VERSION: u32 = 75;

/// The category of functions whose activity was not recorded, of callers, and of a leaf that was running.
pub const JAVASCRIPT: &str = "JavaScript";
/// Its subcategories: leaves that were recorded as running, functions of the engine or the DOM, and both.
pub const RUNNING: &str = "Running";
pub const BUILT_IN: &str = "Built-in";
pub const RUNNING_BUILT_IN: &str = "Running built-in";

/// Categories by Firefox's names, where it has one, and its colours.
pub const CATEGORIES: [(Activity, &str, &str); 7] = [
    (Activity::Idle, "Idle", "transparent"),
    (Activity::Gc, "GC / CC", "orange"),
    (Activity::Style, "Style", "lightblue"),
    (Activity::Layout, "Layout", "purple"),
    (Activity::Paint, "Graphics", "green"),
    (Activity::Other, "Other work", "darkgray"),
    (Activity::Program, "Program", "brown"),
];

/// How the format writes a function's kind.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct Flags {
    pub is_js: bool,
    /// It does not belong to JavaScript, but is shown among functions that do.
    pub relevant_for_js: bool,
}

impl Flags {
    pub const fn new(is_js: bool, relevant_for_js: bool) -> Self {
        Self {
            is_js,
            relevant_for_js,
        }
    }
}

/// How kinds are told apart.
pub const KINDS: [(FunctionKind, Flags); 4] = [
    (FunctionKind::Script, Flags::new(true, false)),
    (FunctionKind::BuiltIn, Flags::new(false, true)),
    (FunctionKind::Unknown, Flags::new(true, true)),
    (FunctionKind::Native, Flags::new(false, false)),
];

/// In `misc`, before the version of the product.
pub const REVISION: &str = "rv:";

/// The section of `extra` with the versions of the engines.
pub const ENGINES: &str = "Engines";

pub const EVENT_LOOP: &str = "EventLoop";
pub const DOCUMENT: &str = "Document";
pub const MISSED_SAMPLES: &str = "MissedSamples";
pub const PAGE: &str = "page";
pub const WORKER: &str = "worker";

/// The type of weights that are numbers of samples.
pub const SAMPLES: &str = "samples";
/// That of weights that are milliseconds.
pub const TRACING_MS: &str = "tracing-ms";
