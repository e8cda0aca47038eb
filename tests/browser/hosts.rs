/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Names of this machine.

use std::fs;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Site;

/// Names by which a browser finds this machine, each of a site of its own. Unlike 127.0.0.1 they are not
/// potentially trustworthy: what keeps mixed content away from that keeps nothing from them.
pub struct Hosts(PathBuf);

impl Hosts {
    pub const NAMES: [&str; 4] = ["a.test", "b.test", "c.test", "d.test"];

    #[expect(clippy::new_without_default, reason = "it makes a file")]
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("strobe-hosts-{}-{count}", process::id());
        let file = std::env::temp_dir().join(name);
        let lines = Self::NAMES.map(|name| format!("127.0.0.1 {name}\n"));
        fs::write(&file, lines.concat()).expect("there is room for temporary files");
        Self(file)
    }

    /// The variable of the environment that tells a browser of them.
    pub fn variable(&self) -> (&str, &str) {
        ("HOST_FILE", self.0.to_str().expect("our name is ASCII"))
    }

    /// The URL of a path on a site by another name.
    pub fn url(&self, site: &Site, name: &str, path: &str) -> String {
        site.url(path).replacen("127.0.0.1", name, 1)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
