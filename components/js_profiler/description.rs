/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What is known about an event loop and its realms. The event loop's thread writes it, and the sampling
//! thread reads it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;

use js_profiler_traits::RealmId;
use js_profiler_traits::recording::{Description, Realm};
use rustc_hash::FxHashMap;

/// An event loop's description. The event loop changes it a few times in the life of a document.
pub struct SharedDescription {
    /// The number of changes. A reader that finds it unchanged need not take the lock.
    version: AtomicU64,
    state: Mutex<Described>,
}

/// What an event loop has said about itself.
#[derive(Clone, Default)]
pub struct Described {
    /// The part that is shown to people.
    pub event_loop: Description,
    /// Its documents and workers, by their realms.
    pub realms: FxHashMap<RealmId, Realm>,
}

impl SharedDescription {
    /// A description of the calling thread's event loop. Nothing but the thread's name is known yet.
    pub fn of_this_thread() -> Self {
        let name = thread::current().name().unwrap_or_default().to_owned();
        Self {
            version: AtomicU64::new(1),
            state: Mutex::new(Described {
                event_loop: Description {
                    name,
                    ..Description::default()
                },
                ..Described::default()
            }),
        }
    }

    /// What is known now, locked.
    pub fn lock(&self) -> MutexGuard<'_, Described> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is known, under the lock.
    pub fn change(&self, change: impl FnOnce(&mut Described)) {
        let mut state = self.lock();
        change(&mut state);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// What is known now, and its version. `None` if that version is `known`, and while the event loop is
    /// changing the description: its thread may be stopped in the middle of a change, so this does not wait
    /// for the lock.
    pub fn newer_than(&self, known: u64) -> Option<(u64, MutexGuard<'_, Described>)> {
        if self.version.load(Ordering::Acquire) == known {
            return None;
        }
        let state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(state)) => state.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some((self.version.load(Ordering::Acquire), state))
    }
}
