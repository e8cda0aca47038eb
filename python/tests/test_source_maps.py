# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import re
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path
from unittest import mock

from strobe import paths
from strobe.checks import source_maps
from strobe.errors import MachError

OWN_SCRIPT = "strobe: warning: dist: no source map of http://127.0.0.1:8000/page.js"
OF_BUNDLE = OWN_SCRIPT.replace(" of ", " of http://127.0.0.1:8000/dist/list/app.js, ")


class WarningsTest(unittest.TestCase):
    def test_only_the_own_script_of_the_page_may_lack_a_map(self):
        self.assertEqual(source_maps.unexpected_warnings(f"1 sample\n{OWN_SCRIPT}\n"), [])
        for warning in (OF_BUNDLE, "strobe: warning: app.js.map: it is no source map"):
            self.assertEqual(source_maps.unexpected_warnings(f"{OWN_SCRIPT}\n{warning}\n"), [warning])


class RunTest(unittest.TestCase):
    def run_browser(self, code: str):
        """Runs a program in place of the browser."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "strobe")
            file.write_text(f"#!{sys.executable}\n" + textwrap.dedent(code))
            file.chmod(0o755)
            profiles = source_maps.Profiles(file, Path(folder), mock.Mock(origin=""), "list")
            profiles._run(["convert"])

    def test_all_is_well(self):
        self.run_browser(f"print({OWN_SCRIPT!r})")

    def test_a_failure_shows_what_was_said(self):
        with self.assertRaisesRegex(MachError, "^no such page\n`.*strobe convert` failed with status 1$"):
            self.run_browser("import sys; sys.exit('no such page')")

    def test_a_warning(self):
        with self.assertRaisesRegex(MachError, "strobe convert` warns: strobe: warning: dist: no source map of "):
            self.run_browser(f"print({OF_BUNDLE!r})")

    def test_one_that_does_not_end(self):
        with (
            mock.patch.object(source_maps, "BOUND", 0.2),
            self.assertRaisesRegex(MachError, "strobe convert` did not end within 0 s"),
        ):
            self.run_browser("import time; time.sleep(60)")


class FormatsTest(unittest.TestCase):
    def test_every_format_of_the_product_is_made(self):
        source = (paths.COMPONENTS / "profile_formats" / "format.rs").read_text()
        # Others are read, and not written.
        written = source[source.index("pub const ALL: ") :]
        written = re.findall(r"^ +Self::(\w+),$", written[: written.index("];")], re.M)
        body = source[source.index("pub fn as_str(self)") :]
        names = dict(re.findall(r'Self::(\w+) => "([^"]+)"', body[: body.index("\n    }\n")]))
        made = [*source_maps.ENDINGS, *source_maps.READ_BY_OTHERS]
        self.assertEqual(sorted(made), sorted(names[format] for format in written))
