# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import contextlib
import io
import sys
import unittest
from pathlib import Path
from unittest import mock

from strobe import process
from strobe.errors import MachError


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


class ProcessTest(unittest.TestCase):
    def test_a_failure_names_the_command(self):
        with self.assertRaisesRegex(MachError, r"^`sh -c 'exit 3'` failed with status 3$"):
            process.run(["sh", "-c", "exit 3"])
        with self.assertRaisesRegex(MachError, r"^`sh -c 'exit 3'` in / failed with status 3$"):
            process.run(["sh", "-c", "exit 3"], cwd=Path("/"))
        with self.assertRaisesRegex(MachError, r"^`sh -c 'kill -9 \$\$'` was ended by signal 9 \(Killed\)$"):
            process.run(["sh", "-c", "kill -9 $$"])
        with self.assertRaisesRegex(MachError, "^no-such-tool: cannot be run: No such file or directory; needed for"):
            process.run(["no-such-tool"])

    def test_lines_come_in_order_and_complete(self):
        lines = []
        program = "import os\nfor i in range(2000): os.write(1 + i % 2, b'%d\\n' % i)"
        self.assertEqual(process.stream(python(program), on_line=lines.append, merge_errors=True), 0)
        self.assertEqual(lines, [f"{i}\n" for i in range(2000)])

    def test_a_silent_program_shows_that_it_lives(self):
        with mock.patch.object(process, "HEARTBEAT", 0.01), contextlib.redirect_stderr(io.StringIO()) as errors:
            process.stream(["sleep", "0.2"])
        self.assertRegex(errors.getvalue(), r"^  \.\.\. sleep 0\.2: 0 s\n")

    def test_an_interrupt_ends_the_program(self):
        started = []
        real_start = process.start

        def start(*arguments, **options):
            child = real_start(*arguments, **options)
            # Ctrl-C comes while mach waits. Its next wait is the real one.
            child.wait = mock.Mock(side_effect=[KeyboardInterrupt, mock.DEFAULT], wraps=child.wait)
            started.append(child)
            return child

        with mock.patch.object(process, "start", start), self.assertRaises(KeyboardInterrupt):
            process.stream(["sleep", "1000"])
        self.assertIsNotNone(started[0].poll())
