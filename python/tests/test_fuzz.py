# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import contextlib
import io
import os
import re
import tempfile
import tomllib
import unittest
from pathlib import Path
from unittest import mock

from strobe import paths
from strobe.checks import fuzz
from strobe.errors import MachError

# Logs of libFuzzer, shortened.
CLEAN = """\
INFO: Seed: 123
#32\tINITED cov: 4253 ft: 6453 corp: 31/1047b exec/s: 0 rss: 29Mb
#512\tNEW    cov: 4301 ft: 6500 corp: 32/1080b lim: 71 exec/s: 256 rss: 29Mb L: 33/71 MS: 1 CrossOver-
#1735\tREDUCE cov: 4425 ft: 8652 corp: 166/6239b lim: 71 exec/s: 108 rss: 32Mb L: 3/71 MS: 1 EraseBytes-
#3000\tDONE   cov: 4425 ft: 8652 corp: 166/6239b lim: 71 exec/s: 1500 rss: 32Mb
Done 3000 runs in 2 second(s)
stat::number_of_executed_units: 3000
stat::average_exec_per_sec:     1500
stat::new_units_added:          150
stat::slowest_unit_time_sec:    0
"""
CRASH = """\
#32\tINITED cov: 4253 ft: 6453 corp: 31/1047b exec/s: 0 rss: 29Mb

thread '<unnamed>' (32519) panicked at checks/response.rs:233:5:
granted beside document-policy: js-profiling=?0
stack backtrace:
==32519== ERROR: libFuzzer: deadly signal
SUMMARY: libFuzzer: deadly signal
artifact_prefix='FOUND/'; Test unit written to FOUND/crash-104f
stat::number_of_executed_units: 77
stat::average_exec_per_sec:     38
stat::new_units_added:          2
"""
TIMEOUT = """\
ALARM: working on the last Unit for 11 seconds
==1== ERROR: libFuzzer: timeout after 11 seconds
SUMMARY: libFuzzer: timeout
artifact_prefix='x/'; Test unit written to x/timeout-104f
stat::number_of_executed_units: 5
"""


class LogTest(unittest.TestCase):
    def test_a_clean_run(self):
        self.assertEqual(fuzz.read_log("a", CLEAN), fuzz.Outcome("a", 3000, 1500, 4425, 150))

    def test_a_panic(self):
        outcome = fuzz.read_log("a", CRASH)
        self.assertEqual(outcome.findings, [Path("FOUND/crash-104f")])
        reason = "checks/response.rs:233:5: granted beside document-policy: js-profiling=?0"
        self.assertEqual((outcome.executions, outcome.coverage, outcome.reason), (77, 4253, reason))

    def test_a_timeout(self):
        outcome = fuzz.read_log("a", TIMEOUT)
        self.assertEqual((outcome.findings, outcome.reason), ([Path("x/timeout-104f")], "libFuzzer: timeout"))


class RunTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)
        places = {"STROBE_CACHE_DIR": str(self.root / "cache"), "CARGO_TARGET_DIR": str(self.root / "target")}
        environment = mock.patch.dict(os.environ, places)
        environment.start()
        self.addCleanup(environment.stop)

    def program(self, name: str, log: str, status: int) -> Path:
        """Writes a program that prints a log where a target would work."""
        text = self.root / f"{name}.log"
        text.write_text(log.replace("FOUND", str(self.root / "target" / "fuzz" / name)))
        program = self.root / name
        program.write_text(f'#!/bin/sh\necho "$@" > {self.root}/{name}.arguments\ncat {text} >&2\nexit {status}\n')
        program.chmod(0o755)
        return program

    def fuzz(self, *wanted: str, **programs: Path) -> tuple[str, str]:
        """(the output, the error's text)."""
        output, error = io.StringIO(), ""
        with (
            mock.patch.object(fuzz, "build", lambda: self.root),
            mock.patch.object(fuzz, "target_names", lambda: list(programs)),
            contextlib.redirect_stdout(output),
        ):
            try:
                fuzz.fuzz(list(wanted), seconds=7, jobs=1, seed=42)
            except MachError as failure:
                error = str(failure)
        return output.getvalue(), error

    def test_targets_run_on_both_corpora(self):
        output, error = self.fuzz(a=self.program("a", CLEAN, 0), b=self.program("b", CLEAN, 0))
        self.assertEqual(error, "")
        self.assertTrue(output.startswith("fuzz: a, b; 7 s each, 1 at once, --seed 42\n"), output)
        arguments = (self.root / "b.arguments").read_text().split()
        self.assertEqual(arguments[-2:], [f"{self.root}/cache/fuzz/corpus/b", f"{fuzz.FUZZ}/corpus/b"])
        for argument in ("-seed=42", "-max_total_time=7", f"-dict={fuzz.FUZZ}/dictionaries/b.dict"):
            self.assertIn(argument, arguments)
        self.assertTrue((self.root / "cache" / "fuzz" / "corpus" / "b").is_dir())

    def test_a_finding_fails_and_can_be_run_again(self):
        output, error = self.fuzz(a=self.program("a", CRASH, 77), b=self.program("b", CLEAN, 0))
        self.assertEqual(error, "1 finding, see above")
        table = output.partition("\n\n")[2].split("\n")
        self.assertEqual(
            table[:3],
            [
                "target  executions  executions/s  coverage  new inputs  findings",
                "a               77            38      4253           2         1",
                "b             3000          1500      4425         150         0",
            ],
        )
        place = os.path.relpath(self.root / "target" / "fuzz" / "a" / "crash-104f")
        self.assertEqual(
            table[-3:-1],
            [
                "a: checks/response.rs:233:5: granted beside document-policy: js-profiling=?0",
                f"  ./mach fuzz a --replay {place}",
            ],
        )

    def test_a_target_that_does_not_start_is_no_clean_one(self):
        _, error = self.fuzz(a=self.program("a", "ParseDictionaryFile: error in line 1\n", 1))
        self.assertRegex(error, r"^a failed with status 1; its output is in .*target/fuzz/a/log$")

    def test_a_target_that_is_named(self):
        output, error = self.fuzz("b", "b", a=self.root / "a", b=self.program("b", CLEAN, 0))
        self.assertEqual(error, "")
        self.assertIn("fuzz: b; 7 s each", output)
        _, error = self.fuzz("c", a=self.root / "a")
        self.assertEqual(error, "c: no such target; the targets are a")

    def test_an_input_again(self):
        self.program("a", CRASH, 77)
        file = self.root / "input"
        file.touch()
        with (
            mock.patch.object(fuzz, "build", lambda: self.root),
            mock.patch.object(fuzz, "target_names", lambda: ["a"]),
            mock.patch.object(fuzz.process, "stream", side_effect=[77, 0]) as stream,
            mock.patch("builtins.print"),
        ):
            with self.assertRaisesRegex(MachError, "^a failed with status 77 with .*input$"):
                fuzz.replay(["a"], file)
            fuzz.replay(["a"], file)
            self.assertIn(str(file), stream.call_args.args[0])
            for wanted, missing, message in ((["a"], self.root / "x", "no such file"), ([], file, "one TARGET")):
                with self.assertRaisesRegex(MachError, message):
                    fuzz.replay(wanted, missing)


class TargetsTest(unittest.TestCase):
    """The committed targets."""

    def test_every_target_has_a_check_a_corpus_and_a_dictionary(self):
        names = fuzz.target_names()
        self.assertEqual(sorted(folder.name for folder in (fuzz.FUZZ / "corpus").iterdir()), names)
        self.assertEqual(sorted(file.stem for file in (fuzz.FUZZ / "dictionaries").iterdir()), names)
        checks = (fuzz.FUZZ / "checks" / "lib.rs").read_text()
        for name in names:
            self.assertIn(f"fuzz_checks::{name}(input)", (fuzz.FUZZ / "targets" / f"{name}.rs").read_text())
            self.assertRegex(re.sub(r"\s+", " ", checks), rf'check_corpus\("{name}", {name}, \d+\);')

    def test_crates_are_those_of_the_workspace(self):
        def locked(lock: Path) -> set[tuple[str, str]]:
            packages = tomllib.loads(lock.read_text())["package"]
            return {(package["name"], package["version"]) for package in packages if "checksum" in package}

        unknown = locked(fuzz.FUZZ / "Cargo.lock") - locked(paths.ROOT / "Cargo.lock")
        self.assertEqual(unknown, set(), "make tests/fuzz/Cargo.lock anew, see tests/fuzz/README.md")
