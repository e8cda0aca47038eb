# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""A small published crate, with a components/ folder of hooks for it and the pins, all in a temporary folder."""

import hashlib
import io
import os
import tarfile
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from strobe.setup import upstream

NAME = "servo-paint"
VERSION = "0.7.0"
FILES = {
    "Cargo.toml": '[package]\nname = "servo-paint"\n',
    "lib.rs": "mod brush;\nmod canvas;\n\npub fn paint() {\n    brush::dip();\n    canvas::fill();\n}\n",
    "brush.rs": "pub fn dip() {}\n",
    "canvas.rs": "pub fn fill() {}\n",
}
# lib.rs with one insertion and one replaced line.
EDITED_LIB = (
    "mod brush;\nmod canvas;\nmod easel;\n\npub fn paint() {\n    easel::set_up();\n    brush::dip_twice();\n"
    "    canvas::fill();\n}\n"
)


class FakeCrateTest(unittest.TestCase):
    """`self.components` has the folder `paint` for the crate servo-paint; cache and registry are temporary."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name).resolve()
        environment = {"STROBE_CACHE_DIR": str(self.root / "cache"), "CARGO_HOME": str(self.root / "cargo")}
        patch = mock.patch.dict(os.environ, environment)
        patch.start()
        self.addCleanup(patch.stop)
        self.components = self.root / "components"
        self.folder = self.components / "paint"
        self.folder.mkdir(parents=True)
        self.lock = self.root / "upstream" / "Cargo.lock"
        self.lock.parent.mkdir()
        self.cargo_config = self.root / ".cargo" / "config.toml"
        self.reports: list[str] = []
        self.publish(FILES)

    def publish(self, files: dict[str, str], pin: bool = True):
        """Puts the crate into the registry's cache. Without `pin` the lock file keeps its checksum."""
        self.archive = self.root / "cargo" / "registry" / "cache" / "index" / f"{NAME}-{VERSION}.crate"
        self.archive.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(self.archive, "w:gz") as tar:
            for name, text in files.items():
                member = tarfile.TarInfo(f"{NAME}-{VERSION}/{name}")
                member.size = len(text.encode())
                tar.addfile(member, io.BytesIO(text.encode()))
        if pin:
            checksum = hashlib.sha256(self.archive.read_bytes()).hexdigest()
            self.lock.write_text(
                f'[[package]]\nname = "{NAME}"\nversion = "{VERSION}"\nchecksum = "{checksum}"\n', encoding="utf-8"
            )

    def write_tree(self, name: str, files: dict[str, str]) -> Path:
        tree = self.root / name
        for file, text in files.items():
            (tree / file).parent.mkdir(parents=True, exist_ok=True)
            (tree / file).write_text(text, encoding="utf-8")
        return tree

    def hook_lib(self, edited_lib: str = EDITED_LIB):
        """Writes the hook file that turns lib.rs into `edited_lib`."""
        pristine = self.write_tree("pristine", FILES)
        edited = self.write_tree("edited", {**FILES, "lib.rs": edited_lib})
        (self.folder / upstream.HOOKS).write_text(upstream.make_hooks(pristine, edited), encoding="utf-8")

    def prepare(self) -> bool:
        return upstream.prepare(self.reports.append, self.components, self.lock, self.cargo_config)

    def crate(self) -> upstream.UpstreamCrate:
        return upstream.crate_of(self.folder, self.lock)
