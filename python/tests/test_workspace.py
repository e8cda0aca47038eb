# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import tomllib
import unittest

from strobe import paths


class Checkouts(unittest.TestCase):
    def test_every_crate_of_ours_is_rebuilt_in_another_checkout(self):
        """Checkouts share Cargo's build folder, so a crate without the variable could be another checkout's."""
        workspace = tomllib.loads((paths.ROOT / "Cargo.toml").read_text())["workspace"]
        for member in workspace["members"]:
            manifest = tomllib.loads((paths.ROOT / member / "Cargo.toml").read_text())
            target = manifest.get("lib") or manifest["bin"][0]
            files = [paths.ROOT / member / target["path"], *(paths.ROOT / member).glob("build.rs")]
            for file in files:
                self.assertIn('option_env!("STROBE_CHECKOUT")', file.read_text(), file)


if __name__ == "__main__":
    unittest.main()
