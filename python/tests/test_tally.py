# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import contextlib
import io
import unittest

from strobe.tally import Failed, Tally, read_cargo_test, read_unittest

CARGO = """\
running 3 tests
test interval::gcd ... ok
test interval::rounding ... FAILED
test slow ... ignored

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

running 2 tests
test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
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
        failed = ["ERROR: test_a (tests.A)", "FAIL: test_b (tests.B)", "Ran 5 tests in 1s", "FAILED (failures=2)"]
        self.assertEqual(read_unittest(failed, 1, "u"), Tally(3, ["test_a (tests.A)", "test_b (tests.B)"]))
        self.assertEqual(read_unittest([], 1, "u"), Tally(0, ["`u` (status 1, without a test result)"]))

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
