# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import os
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from strobe import crashes, paths, process
from strobe.errors import MachError

SHELL = Path("/bin/sh")


class CrashCase(unittest.TestCase):
    def setUp(self):
        self.scratch = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.kept = self.scratch / "target"
        self.enterContext(mock.patch.object(paths, "target_dir", lambda: self.kept))

    def watch(self, **options) -> crashes.Watch:
        folder = self.scratch / "work"
        folder.mkdir(exist_ok=True)
        return crashes.Watch(folder, **options)

    def pattern(self, text: str):
        file = self.scratch / "core_pattern"
        file.write_text(text)
        self.enterContext(mock.patch.object(crashes, "CORE_PATTERN", file))


class WatchTest(CrashCase):
    def crash(self, script: str) -> tuple[crashes.Watch, list[crashes.Crash]]:
        watch = self.watch()
        shell = subprocess.Popen([SHELL, "-c", script], cwd=self.scratch / "work")
        shell.wait()
        return watch, watch.crashes(set(), shell.pid, shell.returncode, SHELL)

    def test_a_crash_leaves_its_core_and_stacks_or_the_reason_why_not(self):
        watch, (crash,) = self.crash("kill -SEGV $$")
        self.assertEqual(crash.signal, signal.SIGSEGV)
        self.assertRegex(str(crash), r"^crash of process \d+ by SIGSEGV\n")
        self.assertIn("kernel", crash.told)
        if watch.no_core:
            self.assertIn(f"no core: {watch.no_core}", crash.told)
            return
        (core,) = self.kept.glob("crashes/*.core")
        self.assertIn(str(core), crash.told)
        if stacks := list(self.kept.glob("crashes/*.txt")):
            self.assertIn("Program terminated with signal SIGSEGV", crash.stack)
            self.assertIn(str(stacks[0]), crash.told)
            self.assertIn("Thread 1 ", stacks[0].read_text())
        else:
            self.assertIn("gdb is not installed", crash.told)

    def test_a_process_that_it_has_started(self):
        watch, found = self.crash("sh -c 'kill -ABRT $$'; exit 0")
        self.assertEqual([crash.signal for crash in found], [] if watch.no_core else [signal.SIGABRT])

    def test_other_ends_are_no_crashes(self):
        for script in ("exit 0", "exit 1", "kill -KILL $$", "kill -TERM $$"):
            self.assertEqual(self.crash(script)[1], [])

    def test_where_the_kernel_writes_cores(self):
        for text, reason in (
            ("\n", "core_pattern is empty$"),
            ("|/usr/bin/handler %p\n", r"gives cores to a program: .* is `\|/usr/bin/handler %p`"),
            ("/tmp/%e/core\n", "has a variable folder"),
        ):
            self.pattern(text)
            self.assertRegex(self.watch().no_core, reason)
        for text in ("core\n", "core.%p\n", "/tmp/%e.%p\n"):
            self.pattern(text)
            self.assertIsNone(self.watch().no_core)

    def test_a_file_that_is_not_a_core_is_neither_taken_nor_replaced(self):
        self.pattern("core\n")
        self.assertIsNone(self.watch(is_own=False).no_core)
        file = self.scratch / "work" / "core"
        watch = self.watch()
        file.write_text("of somebody")
        self.assertEqual(watch.cores({1}), [])
        self.assertRegex(self.watch(is_own=False).no_core, "work/core is there, and would be replaced$")

    def test_only_new_ones_of_its_processes_count(self):
        self.pattern(f"{self.scratch}/core.%p\n")
        (self.scratch / "core.1").touch()
        watch = self.watch()
        # By file: the process, its parent.
        known = {"core.1": (1, 0), "core.2": (2, 0), "core.3": (3, 2), "core.4": (4, 0)}
        for name in known:
            (self.scratch / name).touch(exist_ok=False) if name != "core.1" else None

        def read(file: Path) -> crashes.Core:
            return crashes.Core(file, *known[file.name], signal.SIGSEGV)

        with mock.patch.object(crashes, "read_core", read):
            self.assertEqual([core.pid for core in watch.cores({1, 2})], [2, 3])

    def test_only_the_newest_are_kept(self):
        def debug(debugger: str, commands: tuple[str, ...], *arguments: str | Path) -> str:
            return "#0  here ()\n"

        for pid in range(crashes.MOST_CORES + 2):
            file = self.scratch / "core"
            file.write_text("a core")
            os.utime(file, (pid, pid))
            with mock.patch.object(crashes, "debug", debug):
                crash = crashes.keep(crashes.Core(file, pid, 1, signal.SIGSEGV), SHELL, "gdb")
            self.assertEqual(crash.stack, "#0  here ()")
        cores = sorted(int(core.stem.partition("-")[2]) for core in self.kept.glob("crashes/*.core"))
        self.assertEqual(cores, list(range(2, crashes.MOST_CORES + 2)))
        self.assertEqual(len(list(self.kept.glob("crashes/*.txt"))), crashes.MOST_CORES + 2)


class WatchedTest(CrashCase):
    def run_shell(self, script: str, error: MachError | None = None):
        with crashes.watched(SHELL) as watched:
            watched.process = process.start([str(SHELL), "-c", script], cwd=watched.folder)
            watched.process.wait()
            if error is not None:
                raise error

    def test_a_crash_is_told_whatever_else_has_failed(self):
        with self.assertRaisesRegex(crashes.Crashed, r"^crash of process \d+ by SIGSEGV\n(?s:.*)core: "):
            self.run_shell("kill -SEGV $$")
        with self.assertRaisesRegex(crashes.Crashed, r"^no bricks\ncrash of process \d+ by SIGABRT\n"):
            self.run_shell("kill -ABRT $$", MachError("no bricks"))

    def test_other_failures_stay_as_they_are(self):
        self.run_shell("exit 3")
        with self.assertRaisesRegex(MachError, "^no bricks$") as raised:
            self.run_shell("exit 3", MachError("no bricks"))
        self.assertNotIsInstance(raised.exception, crashes.Crashed)
