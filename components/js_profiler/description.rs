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

use crate::spidermonkey::{CUT, MAX_URL};

/// More realms of an event loop are not described, and more of its documents are not named.
pub const MAX_REALMS: usize = 10_000;

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

impl Described {
    /// Says what the event loop is for.
    pub fn describe(&mut self, mut description: Description) {
        description.urls.truncate(MAX_REALMS);
        description.urls = description.urls.into_iter().map(cut_url).collect();
        self.event_loop = description;
    }

    /// Says which document or worker a realm belongs to. A realm that was not known is left out if there are too many.
    pub fn describe_realm(&mut self, id: RealmId, realm: Realm) {
        if self.realms.len() < MAX_REALMS || self.realms.contains_key(&id) {
            let realm = Realm {
                url: cut_url(realm.url),
                origin: realm.origin.map(cut_url),
            };
            self.realms.insert(id, realm);
        }
    }
}

/// A URL or an origin, of which [`MAX_URL`] bytes are kept at most.
fn cut_url(mut url: String) -> String {
    if url.len() > MAX_URL {
        url.truncate(url.floor_char_boundary(MAX_URL));
        url.push(CUT);
    }
    url
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

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;

    #[test]
    fn what_pages_describe_is_cut() {
        let mut described = Described::default();
        let long = |letter: &str| letter.repeat(MAX_URL);
        described.describe(Description {
            urls: iter::once(long("é"))
                .chain((0..MAX_REALMS).map(|_| String::new()))
                .collect(),
            ..Description::default()
        });
        let urls = &described.event_loop.urls;
        assert_eq!(urls.len(), MAX_REALMS);
        assert_eq!(urls[0], "é".repeat(MAX_URL / 2) + "…");
        let realm = |url: String| Realm {
            url,
            origin: Some(long("ab")),
        };
        for id in 0..MAX_REALMS as u64 {
            let nameless = Realm {
                url: String::new(),
                origin: None,
            };
            described.describe_realm(RealmId(id), nameless);
        }
        described.describe_realm(RealmId(7), realm(long("x") + "y"));
        described.describe_realm(RealmId(u64::MAX), realm(long("x")));
        assert_eq!(described.realms.len(), MAX_REALMS);
        let known = &described.realms[&RealmId(7)];
        assert_eq!(known.url, long("x") + "…");
        assert_eq!(known.origin, Some("ab".repeat(MAX_URL / 2) + "…"));
        described.realms.remove(&RealmId(0));
        described.describe_realm(RealmId(u64::MAX), realm(long("x")));
        assert_eq!(described.realms[&RealmId(u64::MAX)].url, long("x"));
    }
}
