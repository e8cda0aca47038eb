# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import contextlib
import importlib
import io
import re
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path
from unittest import mock

from strobe import paths, suites, test, tidy
from strobe.errors import MachError
from strobe.tally import HELPERS, NODE_OK, UNITTEST_OK, Failed, Tally, read_cargo_test, read_node_test, read_unittest

CARGO = """\
running 3 tests
test interval::gcd ... ok
test interval::rounding ... FAILED
test slow ... ignored

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

running 2 tests
test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
""".split("\n")

NODE = """\
TAP version 13
# Subtest: a sum is right
ok 1 - a sum is right
  ---
  duration_ms: 0.5
  ...
# Subtest: a place is right
not ok 2 - a place is right
  ---
  duration_ms: 1.5
  failureType: 'testCodeFailure'
  error: |-
    Expected values to be strictly equal:

    1 !== 2

  code: 'ERR_ASSERTION'
  stack: |-
    error: this is none
  ...
# Subtest: a name is right
not ok 3 - a name is right
  ---
  error: 'no name'
  ...
# Subtest: a socket
ok 4 - a socket # SKIP no network
  ---
  duration_ms: 0.1
  ...
1..4
# tests 4
""".split("\n")


class TallyTest(unittest.TestCase):
    def test_cargo(self):
        self.assertEqual(read_cargo_test(CARGO, 101, "cargo test"), Tally(3, ["interval::rounding"], ["slow"]))

    def test_cargo_that_does_not_compile(self):
        self.assertEqual(
            read_cargo_test([], 101, "cargo test -p a"),
            Tally(0, ["`cargo test -p a` (status 101, without a test result)"]),
        )

    def test_cargo_with_a_failure_that_has_no_line(self):
        lines = ["test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured"]
        self.assertEqual(read_cargo_test(lines, 101, "cargo test"), Tally(4, ["a test of `cargo test`"]))

    def test_cargo_with_a_test_that_says_that_it_cannot_be_run(self):
        # The runner writes text before and after it on the line.
        lines = ["test a ... ", "SKIPPED a: b is not installed", "ok", CARGO[-2]]
        self.assertEqual(read_cargo_test(lines, 0, "cargo test"), Tally(1, [], ["a: b is not installed"]))

    def test_cargo_with_ignored_helpers(self):
        lines = [
            "test child ... ignored, A process of other tests",
            "test large ... ignored, it is too large",
            "test pictures ... ignored, writes into docs/",
            CARGO[-2],
        ]
        self.assertEqual(read_cargo_test(lines, 0, "cargo test"), Tally(2, [], ["large: it is too large"]))

    def test_every_helper_of_the_sources_is_known_as_one(self):
        """And nothing else is always ignored."""
        reasons = set()
        for folder in ("components", "packaging", "tests"):
            for file in (paths.ROOT / folder).rglob("*.rs"):
                for line in file.read_text(encoding="utf-8").splitlines():
                    if line.strip().startswith(("#[ignore]", "#[ignore =")):
                        reasons.add(line.partition('"')[2].partition('"')[0])
        self.assertEqual(reasons, set(HELPERS))

    def test_why_a_test_of_cargo_failed(self):
        lines = [
            "test a::b ... FAILED",
            "failures:",
            "",
            "---- a::b stdout ----",
            "a line of the test itself",
            "",
            "thread 'a::b' (17) panicked at tests/a.rs:4:5:",
            "assertion `left == right` failed: c",
            "  left: 1",
            " right: 2",
            "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
            "",
            "thread 'a::b' panicked at tests/a.rs:9:5:",
            "another",
            "",
            "",
            "failures:",
            "    a::b",
            "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured",
        ]
        message = "assertion `left == right` failed: c\n  left: 1\n right: 2"
        reasons = {"a::b": f"tests/a.rs:4:5:\n{message}"}
        self.assertEqual(read_cargo_test(lines, 101, "cargo test"), Tally(1, ["a::b"], reasons=reasons))

    def test_a_long_reason_is_cut(self):
        panic = ["---- a stdout ----", "thread 'a' panicked at a.rs:1:1:", *"123456", "failures:"]
        lines = ["test a ... FAILED", *panic, "test result: FAILED. 0 passed; 1 failed;"]
        self.assertEqual(read_cargo_test(lines, 101, "cargo test").reasons, {"a": "a.rs:1:1:\n1\n2\n3\n4\n…"})

    def test_why_a_test_of_unittest_failed(self):
        lines = [
            "=" * 70,
            "FAIL: test_a (tests.A)",
            "-" * 70,
            "Traceback (most recent call last):",
            '  File "a.py", line 4, in test_a',
            "    self.assertEqual(1, 2)",
            "AssertionError: 1 != 2 : b",
            "",
            "=" * 70,
            "ERROR: test_b (tests.B)",
            "-" * 70,
            "Traceback (most recent call last):",
            '  File "b.py", line 4, in test_b',
            "ValueError",
            "",
            "-" * 70,
            "Ran 3 tests in 0.1s",
            "",
            "FAILED (failures=1, errors=1)",
        ]
        names = ["test_a (tests.A)", "test_b (tests.B)"]
        reasons = {names[0]: "AssertionError: 1 != 2 : b", names[1]: "ValueError"}
        self.assertEqual(read_unittest(lines, 1, "u"), Tally(1, names, reasons=reasons))

    def test_unittest(self):
        ok = ["..s", "Ran 3 tests in 0.1s", "", "OK (skipped=1)"]
        self.assertEqual(read_unittest(ok, 0, "u"), Tally(2, [], ["a test of `u`"]))
        named = ["test_a (tests.A.test_a) ... skipped 'no b: \"c\"'", *ok[1:]]
        self.assertEqual(read_unittest(named, 0, "u"), Tally(2, [], ['test_a (tests.A.test_a): no b: "c"']))
        # The test has printed something meanwhile, or has documentation.
        for between in (["test_a (tests.A.test_a) ... d"], ["test_a (tests.A.test_a)", "What is promised. ... d"]):
            hidden = [*between, "skipped 'no b'", *ok[1:]]
            self.assertEqual(read_unittest(hidden, 0, "u"), Tally(2, [], ["test_a (tests.A.test_a): no b"]))
        documented = ["test_a (tests.A.test_a)", "What is promised. ... skipped 'no b'", *ok[1:]]
        self.assertEqual(read_unittest(documented, 0, "u"), Tally(2, [], ["test_a (tests.A.test_a): no b"]))
        # Not a line of the runner.
        self.assertEqual(read_unittest(["a ... skipped 'b'", *ok[1:3], "OK"], 0, "u"), Tally(3))
        failed = ["ERROR: test_a (tests.A)", "FAIL: test_b (tests.B)", "Ran 5 tests in 1s", "FAILED (failures=2)"]
        self.assertEqual(read_unittest(failed, 1, "u"), Tally(3, ["test_a (tests.A)", "test_b (tests.B)"]))
        self.assertEqual(read_unittest([], 1, "u"), Tally(0, ["`u` (status 1, without a test result)"]))

    def test_tests_of_unittest_that_pass_are_not_shown(self):
        names = ("test_a (tests.A.test_a)", "What is promised.")
        for line in (f"{names[0]} ... ok", names[0], f"{names[1]} ... ok"):
            self.assertRegex(line, UNITTEST_OK)
        for line in (f"{names[0]} ... FAIL", f"FAIL: {names[0]}", f"{names[0]} ... skipped 'a'", "OK"):
            self.assertNotRegex(line, UNITTEST_OK)
        script = "print('test_a (A.test_a) ... ok\\nb\\ntest_c (A.test_c) ... FAIL')"
        read = []
        with contextlib.redirect_stdout(io.StringIO()) as output:
            tally = test._run(
                [sys.executable, "-c", script], lambda lines, *_: read.extend(lines) or Tally(), hides=UNITTEST_OK
            )
        self.assertEqual(tally, Tally())
        self.assertEqual(output.getvalue(), "b\ntest_c (A.test_c) ... FAIL\n")
        self.assertEqual(len(read), 3)

    def test_node(self):
        tally = read_node_test(NODE, 1, "node --test")
        self.assertEqual((tally.passed, tally.failures), (1, ["a place is right", "a name is right"]))
        self.assertEqual(tally.skipped, ["a socket: no network"])
        self.assertEqual(
            tally.reasons,
            {"a place is right": "Expected values to be strictly equal:\n\n1 !== 2", "a name is right": "no name"},
        )

    def test_node_reports_a_file_as_a_test_around_its_own(self):
        inside = [f"    {line}" for line in NODE]
        tally = read_node_test([*inside, "not ok 1 - /a/sums.test.mjs", "ok 2 - /a/b.test.mjs"], 1, "node --test")
        self.assertEqual((tally.tests, len(tally.failures)), (4, 2))
        # It has no tests, because it cannot be read.
        tally = read_node_test(["not ok 1 - /a/sums.test.mjs", "ok 2 - a sum"], 1, "node --test")
        self.assertEqual((tally.passed, tally.failures), (1, ["/a/sums.test.mjs"]))
        self.assertEqual(
            read_node_test([], 1, "node").failures, ["`node` (status 1, without a test result)"]
        )

    def test_only_tests_of_node_that_do_not_pass_are_shown(self):
        shown = [line for line in NODE if not NODE_OK.match(line)]
        self.assertIn("not ok 2 - a place is right", shown)
        self.assertIn("    1 !== 2", shown)
        self.assertFalse([line for line in shown if "a sum is right" in line])

    def test_the_last_line(self):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            Tally(2).finish()
            with self.assertRaises(Failed):
                Tally(2, ["b", "e"], reasons={"b": "f:\ng"}).finish()
            Tally(2, [], ["c: d"]).finish()
        self.assertEqual(
            output.getvalue(),
            "2 passed, 0 failed\n"
            "FAILED b\n    f:\n    g\nFAILED e\n2 passed, 2 failed\n"
            "SKIPPED c: d\n2 passed, 0 failed, 1 skipped\n",
        )


class SuitesTest(unittest.TestCase):
    """What is expected of suites."""

    def setUp(self):
        file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "suites.toml"
        file.write_text(
            '[least]\na = 3\n[[skip]]\ntest = "tidy: b"\nstates = ["no node", "old"]\nreason = "C."\n', encoding="utf-8"
        )
        self.enterContext(mock.patch.object(suites, "EXPECTED", file))

    def test_a_suite_may_not_lose_tests(self):
        for tally, failures in (
            (Tally(3), 0),
            (Tally(2, [], ["d"]), 0),
            (Tally(2), 1),
            (Tally(), 1),
            # It may not have come to the others.
            (Tally(1, ["e"]), 1),
        ):
            suites.check_count("a", tally)
            self.assertEqual(len(tally.failures), failures)
        tally = Tally(2)
        suites.check_count("a", tally)
        self.assertRegex(tally.failures[0], "^a: 2 tests, fewer than the 3 that .*suites.toml asks for$")

    def test_only_listed_tests_may_be_skipped(self):
        unknown = ["tidy: best: no node", "g", "tidy: b: new", "tidy: b", "g tidy: b: no node"]
        tally = Tally(1, ["f"], ["tidy: b: no node here", "tidy: b: old", *unknown])
        suites.refuse_skips(tally)
        self.assertEqual(tally.skipped, ["tidy: b: no node here", "tidy: b: old"])
        self.assertEqual(len(tally.failures), 1 + len(unknown))
        refused = r"^tidy: best: no node \(skipped, but .*suites.toml has no reason for it\)$"
        self.assertRegex(tally.failures[1], refused)
        self.assertRegex(tally.failures[2], "^g ")

    def run_test(self, no_skips: bool, tallies: dict[str, Tally]) -> str:
        with (
            contextlib.redirect_stdout(io.StringIO()) as output,
            mock.patch.object(test, "cache_lock"),
            mock.patch.object(test.bootstrap, "ensure"),
            mock.patch.object(test.tidy, "test_tidy", lambda: tallies["tidy"]),
            mock.patch.object(test, "test_unit", lambda: tallies["unit"]),
            mock.patch.object(test, "test_browser", lambda: tallies["browser"]),
            mock.patch.object(test.wpt, "available", lambda: False),
        ):
            try:
                test.test(no_skips)
            except MachError:
                return f"{output.getvalue()}failed"
        return output.getvalue()

    def test_all_suites_together(self):
        suites.EXPECTED.write_text(
            "[least]\ntest-tidy = 2\ntest-wpt = 1\n"
            '[[skip]]\ntest = "test-wpt"\nstates = ["WPT_DIR names no checkout"]\nreason = "C."\n'
        )

        def tallies(tidy: int, skipped: list[str]) -> dict[str, Tally]:
            return {"tidy": Tally(tidy), "unit": Tally(1, [], skipped), "browser": Tally(1)}

        self.assertTrue(self.run_test(True, tallies(2, [])).endswith("\n4 passed, 0 failed, 1 skipped\n"))
        self.assertTrue(self.run_test(False, tallies(2, ["h"])).endswith("\n4 passed, 0 failed, 2 skipped\n"))
        self.assertTrue(self.run_test(True, tallies(2, ["h"])).endswith("1 failed, 1 skipped\nfailed"))
        self.assertTrue(self.run_test(False, tallies(1, [])).endswith("1 failed, 1 skipped\nfailed"))


class ViewerTest(unittest.TestCase):
    """The tests of the scripts of about:profiling that need no document."""

    def test_without_node_they_are_skipped_and_that_is_counted(self):
        with mock.patch("strobe.npm.check_node", side_effect=MachError("there is no node here\nmore")):
            tally = test._test_viewer()
        self.assertEqual(tally, Tally(skipped=["test-unit, viewer: there is no node here"]))

    def test_every_file_of_them_is_run(self):
        commands = []

        def run(command, read, **options):
            commands.append(command)
            return Tally(10_000)

        with mock.patch("strobe.npm.check_node"), mock.patch.object(test, "_run", run):
            test._test_viewer()
        files = {Path(argument).name for argument in commands[0] if argument.endswith(".mjs")}
        there = {file.name for file in (paths.ROOT / "tests" / "viewer").iterdir() if ".test." in file.name}
        self.assertEqual(files, there)
        self.assertTrue(files)


class ExpectedTest(unittest.TestCase):
    """suites.toml itself."""

    def test_it_can_be_read(self):
        expected = tomllib.loads(suites.EXPECTED.read_text(encoding="utf-8"))
        self.assertEqual(set(expected), {"least", "skip"})
        sources = "".join(file.read_text(encoding="utf-8") for file in (paths.ROOT / "python" / "strobe").rglob("*.py"))
        for suite, least in expected["least"].items():
            self.assertGreater(least, 0)
            self.assertIn(f'"{suite}"', sources)
        for entry in expected["skip"]:
            self.assertEqual(set(entry), {"test", "states", "reason"})
            self.assertTrue(entry["states"] and all(entry["states"]))
            self.assertRegex(entry["reason"], r"^[A-Z.].*\.$")

    def test_what_it_lists_is_there(self):
        checks = {"test-wpt", "test-unit, viewer", *(f"tidy: {name}" for name in tidy.CHECKS)}
        for entry in tomllib.loads(suites.EXPECTED.read_text(encoding="utf-8"))["skip"]:
            name = entry["test"]
            if match := re.fullmatch(r"(test\w+) \(tests\.(\w+)\.(\w+)\.(\w+)\)", name):
                self.assertEqual(match.group(1), match.group(4))
                module = importlib.import_module(f"tests.{match.group(2)}")
                self.assertTrue(hasattr(getattr(module, match.group(3)), match.group(1)), name)
            elif match := re.fullmatch(r"(\w+)::(\w+)", name):
                file = paths.ROOT / "tests" / "browser" / "tests" / f"{match.group(1)}.rs"
                self.assertIn(f"#[test]\nfn {match.group(2)}() {{", file.read_text(encoding="utf-8"))
            elif name not in checks:
                # A test of a crate, which is its own program.
                found = [
                    file
                    for file in (paths.ROOT / "components").rglob("tests/*.rs")
                    if f"#[test]\nfn {name}() {{" in file.read_text(encoding="utf-8")
                ]
                self.assertEqual(len(found), 1, name)

    def test_each_suite_has_a_least_number(self):
        parts = ("test-unit, python", "test-unit, viewer", "test-unit, crates")
        for suite in ("test-tidy", *parts, "test-browser", "test-wpt"):
            suites.check_count(suite, Tally(10_000))
