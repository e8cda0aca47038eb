/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How much memory tables may take that pages fill. Samples are not counted: a page's `maxBufferSize` limits those.
//!
//! A session's tables are its own (trace builder, subscriber) and those of its event loop (functions, positions, sources).
//! Each half may take 32 MiB, so that a session has 64 MiB at most. All of a process take 256 MiB at most.

use std::sync::atomic::{AtomicUsize, Ordering};

use malloc_size_of_derive::MallocSizeOf;

/// What a session's own tables may take, and what the tables of an event loop may.
pub const OWN_BYTES: usize = 32 << 20;
/// What all of them in the process may take.
pub const PROCESS_BYTES: usize = 256 << 20;
/// What the tables of a recording in this process may take before they start over. The recorder has them then.
pub const RECORDING_BYTES: usize = 32 << 20;

static PROCESS: AtomicUsize = AtomicUsize::new(0);

/// The bytes of some tables.
#[derive(Debug, MallocSizeOf)]
pub struct Budget {
    used: usize,
    limit: usize,
    /// Whether they count for the process, too.
    is_of_session: bool,
}

impl Budget {
    /// For the tables of a session, or of an event loop.
    pub fn of_session() -> Self {
        Self {
            used: 0,
            limit: OWN_BYTES,
            is_of_session: true,
        }
    }

    /// For the tables of a recording.
    pub fn of_recording() -> Self {
        Self {
            used: 0,
            limit: RECORDING_BYTES,
            is_of_session: false,
        }
    }

    /// Takes bytes for a row. False if there are not so many left: then the row must not be added.
    pub fn take(&mut self, bytes: usize) -> bool {
        if self.used + bytes > self.limit {
            return false;
        }
        if self.is_of_session {
            let taken = PROCESS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                let used = used + bytes;
                (used <= PROCESS_BYTES).then_some(used)
            });
            if taken.is_err() {
                return false;
            }
        }
        self.used += bytes;
        true
    }

    /// The tables are empty again.
    pub fn clear(&mut self) {
        if self.is_of_session {
            PROCESS.fetch_sub(self.used, Ordering::Relaxed);
        }
        self.used = 0;
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::of_session()
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        self.clear();
    }
}
