# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from strobe.lock import cache_lock

PYTHON = Path(__file__).resolve().parents[1]
# Holds the lock until its standard input closes.
HOLDER = """
import sys
from strobe.lock import cache_lock
with cache_lock("build"):
    print("held", flush=True)
    sys.stdin.read()
"""


class LockTest(unittest.TestCase):
    def test_a_process_that_waits_reports_the_holder(self):
        with tempfile.TemporaryDirectory() as cache, mock.patch.dict(os.environ, STROBE_CACHE_DIR=cache):
            holder = subprocess.Popen(
                [sys.executable, "-c", HOLDER], cwd=PYTHON, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            with holder:
                self.assertEqual(holder.stdout.readline(), "held\n")
                reports = []

                def report(text):
                    reports.append(text)
                    holder.stdin.close()

                with cache_lock("test", report):
                    self.assertEqual(holder.wait(), 0)
            self.assertEqual(len(reports), 1)
            self.assertRegex(
                reports[0], rf"^waiting for `\./mach build` in .* \(process {holder.pid}\), which uses {cache}$"
            )
            # The lock is free again.
            with cache_lock("test", reports.append):
                pass
            self.assertEqual(len(reports), 1)
