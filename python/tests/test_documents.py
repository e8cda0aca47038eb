# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Documents that must agree with the code, or stay short. Their links and commands are checked by ./mach test-tidy."""

import re
import unittest

from strobe import paths

DOCS = paths.ROOT / "docs"
# What a newcomer reads first.
MOST_BYTES = 8000
# The section of docs/formats-changelog.md on each of our formats that has a version, and the code that has it.
VERSIONS = {
    "Viewer data": "profile_formats/viewer_data.rs",
    "Report for programs": "profile_formats/report_json.rs",
    "Envelope of a trace": "profile_sets/envelope.rs",
}


class DocumentsTest(unittest.TestCase):
    def test_contributing_stays_short(self):
        self.assertLessEqual(len((paths.ROOT / "CONTRIBUTING.md").read_bytes()), MOST_BYTES)

    def test_the_changelog_has_each_version_of_our_formats(self):
        sections = re.split(r"^## ", (DOCS / "formats-changelog.md").read_text(), flags=re.MULTILINE)
        for name, file in VERSIONS.items():
            code = (paths.COMPONENTS / file).read_text()
            version = int(re.search(r"^const VERSION: u\d+ = (\d+);$", code, re.MULTILINE)[1])
            [section] = [section for section in sections if section.startswith(name)]
            with self.subTest(name):
                # Each version has a row in bold, from the newest to the first.
                said = [int(number) for number in re.findall(r"^\| \*\*(\d+)\*\* \|", section, re.MULTILINE)]
                self.assertEqual(said, list(range(version, 0, -1)))
