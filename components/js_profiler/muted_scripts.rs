/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The scripts whose errors are muted, of all event loops. A function of WebAssembly does not say whether
//! such a script has made it; but it knows that script's URL.

use std::sync::{Mutex, MutexGuard, PoisonError};

use js_profiler_traits::{GroupId, RealmId};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

type Urls = FxHashMap<RealmId, FxHashSet<String>>;

static MUTED: Mutex<FxHashMap<GroupId, Urls>> = Mutex::new(FxHashMap::with_hasher(FxBuildHasher));

fn muted() -> MutexGuard<'static, FxHashMap<GroupId, Urls>> {
    MUTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A muted script of this URL is about to run. Another one in the same realm may have the same URL, and not
/// be muted: then the WebAssembly of both is hidden.
pub fn add(group: GroupId, realm: RealmId, url: &str) {
    let mut muted = muted();
    let urls = muted.entry(group).or_default().entry(realm).or_default();
    // The engine adds to the URL, after a space, how the code was made of text.
    let url = url.split(' ').next().unwrap_or_default();
    if !urls.contains(url) {
        urls.insert(url.to_owned());
    }
}

/// Whether a script of this URL is muted in the realm.
pub fn contains(group: GroupId, realm: RealmId, url: &str) -> bool {
    let muted = muted();
    let urls = muted.get(&group).and_then(|realms| realms.get(&realm));
    urls.is_some_and(|urls| urls.contains(url))
}

/// The realm goes away; another one may come to be at its place.
pub fn forget_realm(group: GroupId, realm: RealmId) {
    if let Some(realms) = muted().get_mut(&group) {
        realms.remove(&realm);
    }
}

/// The event loop ends.
pub fn forget(group: GroupId) {
    muted().remove(&group);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_muted_in_their_realm_until_that_goes() {
        let (group, other_group) = (GroupId(u64::MAX), GroupId(u64::MAX - 1));
        let (realm, other_realm) = (RealmId(1), RealmId(2));
        let url = "https://a.example/a.js";
        add(group, realm, url);
        add(group, other_realm, "data:text/javascript,a b");
        assert!(contains(group, realm, url));
        assert!(contains(group, other_realm, "data:text/javascript,a"));
        assert!(!contains(group, realm, "https://a.example/b.js"));
        assert!(!contains(group, other_realm, url));
        assert!(!contains(other_group, realm, url));
        forget_realm(group, realm);
        assert!(!contains(group, realm, url));
        forget(group);
        assert!(!contains(group, other_realm, "data:text/javascript,a"));
    }
}
