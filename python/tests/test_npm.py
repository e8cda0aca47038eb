# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import json
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from strobe import npm, tidy
from strobe.bench import real
from strobe.checks import formats, source_maps
from strobe.errors import MachError


class NodeTest(unittest.TestCase):
    def check(self, **programs: str):
        """Makes a PATH that has only programs which print a text."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in programs.items():
                program = Path(folder, name)
                program.write_text(f"#!/bin/sh\necho {text}\n")
                program.chmod(0o755)
            with mock.patch.dict(os.environ, PATH=folder):
                npm.check_node()

    def test_a_new_one(self):
        self.check(node="v18.20.4", npm="9.2.0")

    def test_none(self):
        with self.assertRaisesRegex(MachError, "^there is no node and no npm here; .* apt-get install nodejs npm"):
            self.check()

    def test_no_npm(self):
        with self.assertRaisesRegex(MachError, "^there is no npm here"):
            self.check(node="v20.0.0")

    def test_an_old_one(self):
        with self.assertRaisesRegex(MachError, "18 or newer is needed; this one is v16.1.0"):
            self.check(node="v16.1.0", npm="8.0.0")


class InstallTest(unittest.TestCase):
    def test_packages_are_installed_once_for_a_lock_file(self):
        with tempfile.TemporaryDirectory() as scratch:
            scripts = Path(scratch, "scripts")
            scripts.mkdir()
            (scripts / "programs").mkdir()
            (scripts / "programs" / "main.js").write_text("1")
            (scripts / "check.mjs").write_text("1")
            (scripts / "package-lock.json").write_text("{}")
            cache = {"STROBE_CACHE_DIR": str(Path(scratch, "cache"))}
            with (
                mock.patch.dict(os.environ, cache),
                mock.patch("strobe.process.run") as run,
            ):
                folder = npm.install(scripts)
                (scripts / "check.mjs").write_text("2")
                (scripts / "programs" / "main.js").write_text("2")
                npm.install(scripts)
                self.assertEqual((folder / "check.mjs").read_text(), "2")
                self.assertEqual((folder / "programs" / "main.js").read_text(), "2")
                self.assertEqual(run.call_count, 1)
                (scripts / "package-lock.json").write_text("{ }")
                run.side_effect = MachError("no network")
                for _ in range(2):
                    with self.assertRaises(MachError):
                        npm.install(scripts)
                self.assertEqual(run.call_count, 3)

    def test_versions_are_exact(self):
        ours = (formats.SCRIPTS, formats.TOOLS, formats.BUILDERS, source_maps.SCRIPTS, tidy.ESLINT, real.SOURCES)
        for folder in ours:
            packages = json.loads((folder / "package.json").read_text())
            locked = json.loads((folder / "package-lock.json").read_text())["packages"]
            for name, version in packages["dependencies"].items():
                # One of several versions of a package has its own name and the package's: npm:package@version.
                self.assertEqual(locked[f"node_modules/{name}"]["version"], version.rpartition("@")[2])
