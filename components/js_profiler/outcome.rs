/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How a sample went.

/// What a tick brought.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// The stack was walked.
    Stack,
    /// No JavaScript was running.
    Idle,
    /// Garbage was collected: the stack is what is still there of the last one.
    Collecting,
    /// JavaScript was running, but its stack could not be walked: it is what is still there of the last
    /// one.
    Unwalkable,
    /// The thread did not stop.
    Missed,
}
