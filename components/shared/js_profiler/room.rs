/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A limit on how much pages can put into a recording, or into the tables of a process.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many bytes something may still take, such as the texts of scripts in a process's part of a recording.
#[derive(Debug)]
pub struct Room(AtomicUsize);

impl Room {
    /// Room for this many bytes.
    pub const fn of(bytes: usize) -> Self {
        Self(AtomicUsize::new(bytes))
    }

    /// Whether this many bytes are left. Another thread may take them before the caller does.
    pub fn has(&self, bytes: usize) -> bool {
        self.0.load(Ordering::Relaxed) >= bytes
    }

    /// Takes this many bytes. False if there are not so many left.
    pub fn take(&self, bytes: usize) -> bool {
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| {
                room.checked_sub(bytes)
            });
        taken.is_ok()
    }

    /// Makes room again for bytes that were taken.
    pub fn give_back(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}
