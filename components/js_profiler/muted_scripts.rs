/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The scripts of an event loop whose errors are muted. A WebAssembly function does not say whether such a
//! script made it, but it knows the URL of the script that did.

use js_profiler_traits::RealmId;
use rustc_hash::{FxHashMap, FxHashSet};

/// The URLs of muted scripts, by their realms.
#[derive(Default)]
pub struct MutedScripts(FxHashMap<RealmId, FxHashSet<String>>);

impl MutedScripts {
    /// Notes that a muted script with this URL is about to run. Another script of the realm may have the same
    /// URL and not be muted; the WebAssembly of both is hidden then.
    ///
    /// Returns whether that was not known.
    pub fn add(&mut self, realm: RealmId, url: &str) -> bool {
        let urls = self.0.entry(realm).or_default();
        // For code that was made from text, the engine appends a space to the URL, and then how the code was
        // made.
        let url = url.split(' ').next().unwrap_or_default();
        !urls.contains(url) && urls.insert(url.to_owned())
    }

    /// Whether a script with this URL is muted in the realm.
    pub fn contains(&self, realm: RealmId, url: &str) -> bool {
        self.0.get(&realm).is_some_and(|urls| urls.contains(url))
    }

    /// Notes that the realm goes away. Another realm may get the same address later. Returns whether it had muted scripts.
    pub fn forget_realm(&mut self, realm: RealmId) -> bool {
        self.0.remove(&realm).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_muted_in_their_realm_until_it_goes_away() {
        let mut muted = MutedScripts::default();
        let (realm, other_realm) = (RealmId(1), RealmId(2));
        let url = "https://a.example/a.js";
        assert!(muted.add(realm, url));
        assert!(!muted.add(realm, url));
        assert!(muted.add(other_realm, "data:text/javascript,a b"));
        assert!(muted.contains(realm, url));
        assert!(muted.contains(other_realm, "data:text/javascript,a"));
        assert!(!muted.contains(realm, "https://a.example/b.js"));
        assert!(!muted.contains(other_realm, url));
        assert!(muted.forget_realm(realm));
        assert!(!muted.forget_realm(realm));
        assert!(!muted.contains(realm, url));
        assert!(muted.contains(other_realm, "data:text/javascript,a"));
    }
}
