/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Names of this machine.

use std::fs;

use tempfile::NamedTempFile;

use crate::Site;

/// Names by which a browser finds this machine, each of a site of its own. Unlike 127.0.0.1 they are not
/// potentially trustworthy: what keeps mixed content away from that keeps nothing from them.
pub struct Hosts(NamedTempFile);

impl Hosts {
    pub const NAMES: [&str; 4] = ["a.test", "b.test", "c.test", "d.test"];

    #[expect(clippy::new_without_default, reason = "it makes a file")]
    pub fn new() -> Self {
        let file = NamedTempFile::new().expect("there is room for temporary files");
        let lines = Self::NAMES.map(|name| format!("127.0.0.1 {name}\n"));
        fs::write(&file, lines.concat()).expect("there is room for temporary files");
        Self(file)
    }

    /// The variable of the environment that tells a browser of them.
    pub fn variable(&self) -> (&str, &str) {
        let file = self.0.path().to_str();
        ("HOST_FILE", file.expect("a path that is text"))
    }

    /// The URL of a path on a site by another name.
    pub fn url(&self, site: &Site, name: &str, path: &str) -> String {
        site.url(path).replacen("127.0.0.1", name, 1)
    }
}
