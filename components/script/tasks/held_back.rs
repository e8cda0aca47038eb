/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How long the tasks of the performance timeline are held back. A busy event loop prefers other tasks, so a
//! page that always has some would never learn of an entry.

// Upstream allows all warnings of the crate.
#![warn(warnings)]

use std::cell::Cell;

use malloc_size_of_derive::MallocSizeOf;

/// After this many iterations of the event loop such a task is taken, whatever other tasks there are.
const MOST_ITERATIONS: u32 = 4;

/// For how many iterations tasks have been held back, since there were none.
#[derive(Default, MallocSizeOf)]
pub(crate) struct HeldBack {
    iterations: Cell<u32>,
}

impl HeldBack {
    /// Notes that an iteration of the event loop begins.
    pub(crate) fn note_iteration(&self) {
        self.iterations.set(self.iterations.get().saturating_add(1));
    }

    /// Whether `count` tasks, which are all that there are now, must be taken at once.
    pub(crate) fn were_held_too_long(&self, count: usize) -> bool {
        let held_too_long = count > 0 && self.iterations.get() > MOST_ITERATIONS;
        if count == 0 || held_too_long {
            self.iterations.set(0);
        }
        held_too_long
    }
}
