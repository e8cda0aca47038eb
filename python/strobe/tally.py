# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Counts the tests of several tools."""

import re
from dataclasses import dataclass, field

from .errors import MachError

CARGO_RESULT = re.compile(r"^test result: \S+ (\d+) passed; (\d+) failed;")
CARGO_FAILURE = re.compile(r"^test (.+) \.\.\. FAILED")
CARGO_IGNORED = re.compile(r"^test (.+) \.\.\. ignored")
# skip() of tests/browser/lib.rs prints this. The test runner counts such a test as passed.
CARGO_SKIPPED = re.compile(r"^SKIPPED (.+)")
UNITTEST_COUNT = re.compile(r"^Ran (\d+) tests? in ")
UNITTEST_RESULT = re.compile(r"^(?:OK|FAILED)(?: \((.*)\))?$")
UNITTEST_FAILURE = re.compile(r"^(?:FAIL|ERROR): (.+)")


@dataclass
class Tally:
    passed: int = 0
    # One entry per failed test, with a name to search for.
    failures: list[str] = field(default_factory=list)
    # One entry per test that could not run here, with the reason if it is known.
    skipped: list[str] = field(default_factory=list)

    def fail(self, what: str):
        self.failures.append(what)

    def skip(self, what: str):
        self.skipped.append(what)

    def add(self, other: "Tally"):
        self.passed += other.passed
        self.failures += other.failures
        self.skipped += other.skipped

    def count(self) -> str:
        text = f"{self.passed} passed, {len(self.failures)} failed"
        return f"{text}, {len(self.skipped)} skipped" if self.skipped else text

    def finish(self):
        """Prints what failed or was skipped and, as the last line, the count; MachError if anything failed."""
        for test in self.skipped:
            print(f"SKIPPED {test}")
        for failure in self.failures:
            print(f"FAILED {failure}")
        print(self.count(), flush=True)
        if self.failures:
            raise Failed()


class Failed(MachError):
    """Tests failed, and their names have been printed."""

    def __init__(self):
        super().__init__("")


def read_cargo_test(lines: list[str], status: int, command: str) -> Tally:
    """The tally of a `cargo test` run. A failure without a result line (of a build, or a crash) counts as one."""
    tally = Tally()
    named = [match.group(1) for line in lines if (match := CARGO_FAILURE.match(line))]
    failed = 0
    for line in lines:
        if match := CARGO_RESULT.match(line):
            tally.passed += int(match.group(1))
            failed += int(match.group(2))
        elif match := CARGO_IGNORED.match(line):
            tally.skip(match.group(1))
        elif match := CARGO_SKIPPED.match(line):
            tally.skip(match.group(1))
            tally.passed -= 1
    # A test that writes to the terminal can hide its own line.
    named = named[:failed] + [f"a test of `{command}`"] * (failed - len(named))
    for name in named:
        tally.fail(name)
    if status != 0 and not failed:
        tally.fail(f"`{command}` (status {status}, without a test result)")
    return tally


def read_unittest(lines: list[str], status: int, command: str) -> Tally:
    """The tally of a `python -m unittest` run. It does not name the tests that it skips."""
    tally = Tally()
    ran = 0
    skipped = 0
    for line in lines:
        if match := UNITTEST_COUNT.match(line):
            ran = int(match.group(1))
        elif match := UNITTEST_FAILURE.match(line):
            tally.fail(match.group(1))
        elif match := UNITTEST_RESULT.match(line):
            counts = dict(re.findall(r"([a-z ]+)=(\d+)", match.group(1) or ""))
            skipped = int(counts.get("skipped", 0))
    tally.skipped = [f"a test of `{command}`"] * skipped
    tally.passed = max(ran - skipped - len(tally.failures), 0)
    if status != 0 and not tally.failures:
        tally.fail(f"`{command}` (status {status}, without a test result)")
    return tally
