/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! An argument that several commands have in common.

use std::time::Duration;

/// When to end even if pages are still open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExitAfter {
    /// When every page of the command line has loaded and the screenshot is written.
    Load,
    /// This long after the pages were opened.
    Elapsed(Duration),
}
