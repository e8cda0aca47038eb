# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from strobe import asan, paths, process, quarantine
from strobe.errors import MachError


class LibraryTest(unittest.TestCase):
    def find(self, named: str | None, binary: Path = Path("/a/strobe")) -> Path | None:
        self.commands = []
        environment = {} if named is None else {quarantine.VARIABLE: named}
        with (
            mock.patch.dict(os.environ, environment),
            mock.patch.object(quarantine.bootstrap, "ensure"),
            mock.patch.object(process, "run", self.commands.append),
        ):
            if named is None:
                os.environ.pop(quarantine.VARIABLE, None)
            return quarantine.find(binary)

    def test_it_is_built_unless_it_is_named_or_switched_off(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch.dict(os.environ, {"STROBE_CACHE_DIR": str(folder)}))
        self.assertEqual(self.find(None), paths.target_dir() / "debug" / "libquarantine.so")
        self.assertEqual(len(self.commands), 1)
        self.assertIsNone(self.find(quarantine.OFF))
        self.assertEqual(self.find(quarantine.ON), paths.target_dir() / "debug" / "libquarantine.so")
        self.assertEqual(len(self.commands), 1)
        library = folder / "library.so"
        library.touch()
        self.assertEqual(self.find(str(library)), library.resolve())
        self.assertEqual(self.commands, [])
        with self.assertRaisesRegex(MachError, "^STROBE_QUARANTINE=.*: no such file; 0 switches"):
            self.find(f"{library}.no")
        self.assertEqual(self.commands, [])

    def test_addresssanitizer_has_an_allocator_of_its_own(self):
        binary = asan.target_dir() / "host" / "debug" / "strobe"
        self.assertIsNone(self.find("/a/library.so", binary))

    def test_variables(self):
        with mock.patch.object(quarantine, "find", lambda binary: None):
            self.assertEqual(quarantine.for_tests(Path("strobe")), {quarantine.VARIABLE: quarantine.OFF})
        with mock.patch.object(quarantine, "find", lambda binary: Path("/a.so")):
            for wanted, given in ((None, "0"), ("0", "0"), ("1", "/a.so")):
                with mock.patch.dict(os.environ, {} if wanted is None else {quarantine.VARIABLE: wanted}):
                    if wanted is None:
                        os.environ.pop(quarantine.VARIABLE, None)
                    self.assertEqual(quarantine.for_tests(Path("strobe")), {quarantine.VARIABLE: given}, wanted)
        self.assertEqual(quarantine.preloaded(None), {})
        self.assertEqual(quarantine.preloaded(Path("/a.so")), {"LD_PRELOAD": "/a.so"})
