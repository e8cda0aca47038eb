/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Host names of this machine.

use std::fs;

use tempfile::NamedTempFile;

use crate::Site;

/// Host names that lead a browser to this machine. Each is a separate site. Unlike 127.0.0.1 they are not
/// potentially trustworthy, so the rules about mixed content do not affect them.
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

    /// The environment variable that makes them known to a browser.
    pub fn variable(&self) -> (&str, &str) {
        let file = self.0.path().to_str();
        ("HOST_FILE", file.expect("a path that is text"))
    }

    /// The URL of a path on a site, with another host name.
    pub fn url(&self, site: &Site, name: &str, path: &str) -> String {
        site.url(path).replacen("127.0.0.1", name, 1)
    }
}
