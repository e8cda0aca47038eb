# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

from strobe import paths, profile
from strobe.errors import MachError


class ProfileTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def browser(self, code: str) -> Path:
        """A program that is run in place of the browser."""
        file = self.folder / "strobe"
        file.write_text(f"#!{sys.executable}\n" + textwrap.dedent(code))
        file.chmod(0o755)
        return file

    def mach(self, browser: Path, arguments: list[str], **options) -> subprocess.Popen:
        """A process that becomes the browser."""
        code = "import sys; from pathlib import Path; from strobe import profile; "
        code += "profile.run(Path(sys.argv[1]), sys.argv[2:])"
        environment = os.environ | {"PYTHONPATH": str(paths.ROOT / "python")}
        command = [sys.executable, "-c", code, str(browser), *arguments]
        return subprocess.Popen(command, cwd=self.folder, env=environment, **options)

    def test_the_browser_has_the_arguments_and_our_folder(self):
        browser = self.browser(
            """
            import os, pathlib, sys
            pathlib.Path(__file__).with_name("seen").write_text(repr((sys.argv[1:], os.getcwd())))
            """
        )
        self.assertEqual(self.mach(browser, ["--interval", "2", "a b.html"]).wait(), 0)
        seen = (["profile", "--interval", "2", "a b.html"], os.path.realpath(self.folder))
        self.assertEqual((self.folder / "seen").read_text(), repr(seen))

    def test_the_exit_status_is_the_browsers(self):
        self.assertEqual(self.mach(self.browser("raise SystemExit(2)"), []).wait(), 2)

    def test_the_browser_is_the_command_that_was_typed(self):
        browser = self.browser("import os; raise SystemExit(os.getpgrp() != os.getpid())")
        self.assertEqual(self.mach(browser, [], start_new_session=True).wait(), 0)

    def test_a_browser_that_is_not_there(self):
        with self.assertRaisesRegex(MachError, "^/nowhere/strobe: cannot be run: No such file or directory"):
            profile.run(Path("/nowhere/strobe"), [])
        # A later write to a closed pipe is an error as before, and does not end the process.
        self.assertEqual(signal.getsignal(signal.SIGPIPE), signal.SIG_IGN)

    def test_ctrl_c_lets_the_browser_save(self):
        browser = self.browser(
            """
            import signal, sys
            # The blocked signal stays pending until it is waited for, however early it comes.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            # Any other signal would make this program fail.
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
            print("recording", flush=True)
            signal.sigwait([signal.SIGINT])
            print("saved", flush=True)
            """
        )
        mach = self.mach(
            browser,
            [],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # A shell starts background jobs with the signal ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        with mach:
            self.assertEqual(mach.stdout.readline(), "recording\n")
            os.killpg(mach.pid, signal.SIGINT)
            self.assertEqual(mach.stdout.read(), "saved\n")
        self.assertEqual(mach.returncode, 0)
