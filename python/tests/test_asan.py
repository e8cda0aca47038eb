# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import os
import subprocess
import tempfile
import tomllib
import unittest
from pathlib import Path
from unittest import mock

from strobe import asan, build, paths, slowness
from strobe.checks import faults
from strobe.errors import MachError

HOST = "x86_64-unknown-linux-gnu"
REPORT = """\
==12==ERROR: AddressSanitizer: heap-use-after-free on address 0x1 at pc 0x2
WRITE of size 1 at 0x1 thread T0
    #0 0x2 in sanitizer_faults::rust_write_after_free::h0a /a/faults.rs:1:2

SUMMARY: AddressSanitizer: heap-use-after-free /a/faults.rs:1:2 in sanitizer_faults::rust_write_after_free::h0a
"""


class BuildTest(unittest.TestCase):
    def test_the_configuration_reaches_every_compiler(self):
        folder = Path("/cache/asan")
        values = tomllib.loads(asan.configuration(folder))
        variables = {name: entry["value"] for name, entry in values["env"].items()}
        # The checkout's configuration sets these by force, too.
        self.assertTrue(all(entry["force"] for entry in values["env"].values()))
        self.assertEqual((variables["CC"], variables["CXX"]), ("/cache/asan/cc", "/cache/asan/cxx"))
        self.assertIn("--enable-address-sanitizer", Path(variables["MAKEFILES"]).read_text())
        flags = variables["STROBE_GLUE_FLAGS"].split()
        self.assertEqual(flags[0], "-fsanitize=address,undefined")
        self.assertTrue(Path(flags[flags.index("-include") + 1]).is_file())
        self.assertFalse(values["profile"]["dev"]["package"]["mozjs_sys"]["debug"])

    def test_make_adds_the_engines_option(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        # As in mozjs_sys: the flags are set by the file itself.
        rules = "CONFIGURE_FLAGS := --one\nall: maybe-configure\n\nmaybe-configure:\n\t@echo $(CONFIGURE_FLAGS)\n"
        (folder / "makefile").write_text(rules)
        environment = {**os.environ, "MAKEFILES": str(asan.SANITIZERS / "engine.mk")}
        command = ["make", "-R", "-f", "makefile"]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        self.assertEqual(done.stdout.split(), ["--one", "--enable-address-sanitizer"])

    def test_only_what_is_compiled_for_the_browser_has_the_flags(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        script = folder / "cc"
        script.write_text(asan.compiler("echo", HOST))
        for place, expected in (
            (f"/a/{HOST}/debug/build/ots/out", [*asan.C_FLAGS, "-c", "a b.c"]),
            ("/a/debug/build/glslopt/out", ["-c", "a b.c"]),
        ):
            done = subprocess.run(
                ["sh", script, "-c", "a b.c"], env={**os.environ, "OUT_DIR": place}, capture_output=True, text=True
            )
            self.assertEqual(done.stdout.strip(), " ".join(expected))

    def test_it_shares_nothing_with_other_builds(self):
        environment = asan.build_environment(Path("/cache/asan"))
        self.assertEqual(environment["CARGO_BUILD_BUILD_DIR"], "/cache/asan/build")
        self.assertEqual(environment["CARGO_TARGET_DIR"], str(paths.target_dir() / "asan"))
        command = asan.command(HOST, Path("/cache/asan/config.toml"))
        self.assertIn(f"--target={HOST}", command)
        # One command: so the program with mistakes has the browser's engine.
        self.assertEqual([command[at + 1] for at, word in enumerate(command) if word == "-p"], ["strobe", asan.FAULTS])

    def test_a_toolchain_can_be_named(self):
        with (
            mock.patch.dict(os.environ, {asan.TOOLCHAIN_VARIABLE: "nightly-2026-05-19"}),
            mock.patch.object(asan.shutil, "which", lambda name: f"/bin/{name}"),
        ):
            self.assertEqual(asan.command(HOST, Path("c"))[:3], ["cargo", "+nightly-2026-05-19", "build"])

    def test_the_builds_that_commands_choose(self):
        self.enterContext(mock.patch.object(asan, "use", lambda: Path("sanitized")))
        with mock.patch.object(build, "build", lambda *_: Path("dev")):
            self.assertEqual(build.chosen(), Path("dev"))
            self.assertEqual(build.chosen(sanitized=True), Path("sanitized"))


class RunTest(unittest.TestCase):
    def test_options_of_the_person_come_last(self):
        with mock.patch.dict(os.environ, {"ASAN_OPTIONS": "detect_leaks=0", slowness.VARIABLE: "9"}):
            environment = asan.environment()
        self.assertTrue(environment["ASAN_OPTIONS"].endswith(":detect_leaks=0"))
        self.assertIn("detect_leaks=1:", environment["ASAN_OPTIONS"])
        self.assertEqual(environment[slowness.VARIABLE], "9")
        for options in ("ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS"):
            self.assertIn(f"exitcode={asan.STATUS}", environment[options])

    def test_bounds_grow_by_one_factor(self):
        with mock.patch.dict(os.environ, {slowness.VARIABLE: "6"}):
            self.assertEqual(slowness.scaled(2.5), 15.0)
        with mock.patch.dict(os.environ):
            os.environ.pop(slowness.VARIABLE, None)
            self.assertEqual(slowness.scaled(2.5), 2.5)
        wrong = mock.patch.dict(os.environ, {slowness.VARIABLE: "0"})
        with wrong, self.assertRaisesRegex(MachError, "TIME_FACTOR=0: not"):
            slowness.scaled(1)

    def test_reports_are_found_in_a_log(self):
        undefined = "a.cpp:1:2: runtime error: signed integer overflow: 1 + 2\n"
        leak = "==12==ERROR: LeakSanitizer: detected memory leaks\nSUMMARY: AddressSanitizer: 64 byte(s) leaked\n"
        found = asan.reports(f"a line\n{REPORT}{undefined}{leak}")
        self.assertEqual(len(found), 3)
        self.assertRegex(found[0], r"^==12==ERROR: .*\n  SUMMARY: .*rust_write_after_free")
        self.assertRegex(found[2], "LeakSanitizer")
        self.assertEqual(asan.reports("[ERROR strobe] a runtime error\n"), [])


class FaultsTest(unittest.TestCase):
    def test_a_fault_is_found_by_its_kind_and_its_function(self):
        self.assertIsNone(faults.judge("rust-write-after-free", asan.STATUS, REPORT))
        for fault, status, text in (
            # Another kind, another function, another status, and no report.
            ("rust-overflow", asan.STATUS, REPORT),
            ("rust-write-after-free", asan.STATUS, REPORT.replace("rust_write", "write")),
            ("rust-write-after-free", 0, REPORT),
            ("rust-write-after-free", asan.STATUS, ""),
            ("rust-write-after-free", 0, ""),
        ):
            self.assertRegex(faults.judge(fault, status, text), f"^{fault}: ")

    def test_what_has_no_fault_has_no_report(self):
        self.assertIsNone(faults.judge(faults.NOTHING, 0, ""))
        problem = faults.judge(faults.NOTHING, asan.STATUS, REPORT)
        self.assertRegex(problem, "^nothing: failed with status 86; it printed:")

    def test_the_program_has_every_fault(self):
        text = (asan.SANITIZERS / "faults.rs").read_text(encoding="utf-8")
        for fault in (*faults.FAULTS, faults.NOTHING):
            self.assertIn(f'"{fault}" => ', text)
