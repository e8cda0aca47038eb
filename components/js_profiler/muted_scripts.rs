/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The scripts of an event loop whose errors are muted. A function of WebAssembly does not say whether such a script has
//! made it; but it knows that script's URL.

use js_profiler_traits::RealmId;
use rustc_hash::{FxHashMap, FxHashSet};

/// The URLs of muted scripts.
#[derive(Default)]
pub struct MutedScripts(FxHashMap<RealmId, FxHashSet<String>>);

impl MutedScripts {
    /// A muted script of this URL is about to run. Another one in the same realm may have the same URL, and not
    /// be muted: then the WebAssembly of both is hidden.
    pub fn add(&mut self, realm: RealmId, url: &str) {
        let urls = self.0.entry(realm).or_default();
        // The engine adds to the URL, after a space, how the code was made of text.
        let url = url.split(' ').next().unwrap_or_default();
        if !urls.contains(url) {
            urls.insert(url.to_owned());
        }
    }

    /// Whether a script of this URL is muted in the realm.
    pub fn contains(&self, realm: RealmId, url: &str) -> bool {
        self.0.get(&realm).is_some_and(|urls| urls.contains(url))
    }

    /// The realm goes away; another one may come to be at its place.
    pub fn forget_realm(&mut self, realm: RealmId) {
        self.0.remove(&realm);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_muted_in_their_realm_until_that_goes() {
        let mut muted = MutedScripts::default();
        let (realm, other_realm) = (RealmId(1), RealmId(2));
        let url = "https://a.example/a.js";
        muted.add(realm, url);
        muted.add(other_realm, "data:text/javascript,a b");
        assert!(muted.contains(realm, url));
        assert!(muted.contains(other_realm, "data:text/javascript,a"));
        assert!(!muted.contains(realm, "https://a.example/b.js"));
        assert!(!muted.contains(other_realm, url));
        muted.forget_realm(realm);
        assert!(!muted.contains(realm, url));
        assert!(muted.contains(other_realm, "data:text/javascript,a"));
    }
}
