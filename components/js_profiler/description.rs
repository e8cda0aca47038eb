/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What is known of an event loop and its realms: told by its thread, read by the sampling thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;

use js_profiler_traits::RealmId;
use js_profiler_traits::recording::{Description, Realm};
use rustc_hash::FxHashMap;

use crate::muted_scripts::MutedScripts;

/// An event loop's description. The event loop writes it, a few times in the life of a document.
pub struct SharedDescription {
    /// Counts the changes, so that a reader need not take the lock to know that there are none.
    version: AtomicU64,
    state: Mutex<Described>,
    muted_scripts: Mutex<MutedScripts>,
}

#[derive(Clone, Default)]
pub struct Described {
    pub event_loop: Description,
    /// Realms of documents and workers.
    pub realms: FxHashMap<RealmId, Realm>,
}

impl SharedDescription {
    /// Of the calling thread, of which nothing is known yet but its name.
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
            muted_scripts: Mutex::default(),
        }
    }

    pub fn muted_scripts(&self) -> MutexGuard<'_, MutedScripts> {
        self.muted_scripts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub fn lock(&self) -> MutexGuard<'_, Described> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn change(&self, change: impl FnOnce(&mut Described)) {
        let mut state = self.lock();
        change(&mut state);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// What it is now, with its version, if it is not of the version `known`. None as well if the event
    /// loop is changing it: its thread may have been stopped meanwhile, and is not waited for.
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
