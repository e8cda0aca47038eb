/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How a sample went.

use js_profiler_traits::recording::MissedReason;

/// How a sample went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// The stack was walked.
    Stack,
    /// No JavaScript was running.
    Idle,
    /// Garbage was being collected, which was changing what a walk needs. There is no stack.
    Collecting,
    /// JavaScript was running, but its stack could not be walked. There is no stack.
    Unwalkable,
    /// There is no sample, for this reason: the thread did not stop, or nothing is known of its stack.
    Missed(MissedReason),
}
