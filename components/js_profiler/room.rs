/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How much a recording may hold of what pages give it.

use std::sync::atomic::{AtomicUsize, Ordering};

/// What the texts, or the source maps, in the part of a recording that this process makes may still take, in bytes.
pub struct Room(AtomicUsize);

impl Room {
    pub fn of(bytes: usize) -> Self {
        Self(AtomicUsize::new(bytes))
    }

    pub fn has(&self, bytes: usize) -> bool {
        self.0.load(Ordering::Relaxed) >= bytes
    }

    /// Whether there is so much.
    pub fn take(&self, bytes: usize) -> bool {
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| {
                room.checked_sub(bytes)
            });
        taken.is_ok()
    }

    pub fn give_back(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}
