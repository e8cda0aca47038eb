/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How much memory tables may take that pages fill. Samples are not counted: a page's `maxBufferSize` limits those.
//!
//! A session's tables are its own (trace builder, subscriber) and those of its event loop (functions, sources). Each half
//! has a budget, and all budgets of a process together have a limit, too.

use js_profiler_traits::Room;
use malloc_size_of_derive::MallocSizeOf;

/// What a session's own tables may take, and what those of an event loop may, in bytes.
pub const MAX_BYTES: usize = 32 << 20;
/// What all of them in the process may take, in bytes.
pub const MAX_PROCESS_BYTES: usize = 256 << 20;

static PROCESS: Room = Room::of(MAX_PROCESS_BYTES);

/// The bytes of some tables.
#[derive(Debug, Default, MallocSizeOf)]
pub struct Budget {
    used: usize,
}

impl Budget {
    /// Takes bytes for a row. False if there are not so many left: then the row must not be added.
    pub fn take(&mut self, bytes: usize) -> bool {
        let is_taken = self.used + bytes <= MAX_BYTES && PROCESS.take(bytes);
        if is_taken {
            self.used += bytes;
        }
        is_taken
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        PROCESS.give_back(self.used);
    }
}

#[cfg(test)]
impl Budget {
    /// A budget of which so many bytes are left.
    pub fn with_left(bytes: usize) -> Self {
        let mut budget = Self::default();
        assert!(budget.take(MAX_BYTES - bytes));
        budget
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_has_a_limit_and_gives_back_what_it_took() {
        let mut budget = Budget::with_left(100);
        let taken = MAX_BYTES - 100;
        assert!(!PROCESS.has(MAX_PROCESS_BYTES - taken + 1));
        assert!(!budget.take(101));
        assert!(budget.take(60));
        assert!(!budget.take(41));
        assert!(budget.take(40));
        assert!(!budget.take(1));
        drop(budget);
        for _ in 0..2 * MAX_PROCESS_BYTES / MAX_BYTES {
            drop(Budget::with_left(0));
        }
    }

    #[test]
    fn all_budgets_of_a_process_have_a_limit_together() {
        let process = Room::of(MAX_PROCESS_BYTES);
        for _ in 0..MAX_PROCESS_BYTES / MAX_BYTES {
            assert!(process.take(MAX_BYTES));
        }
        assert!(!process.take(1));
        process.give_back(10);
        assert!(!process.take(11));
        assert!(process.take(10));
    }
}
