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
                Tally(2, ["b"]).finish()
            Tally(2, [], ["c: d"]).finish()
        self.assertEqual(
            output.getvalue(),
            "2 passed, 0 failed\nFAILED b\n2 passed, 1 failed\nSKIPPED c: d\n2 passed, 0 failed, 1 skipped\n",
        )
