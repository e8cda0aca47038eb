# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The results of a run of web-platform-tests.

The log is the runner's raw log: a JSON object per line, see <https://mozbase.readthedocs.io/en/latest/mozlog.html>. An
object names the expected status only if it differs from the actual one.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import MachError
from ..table import text_table
from ..tally import Tally

PASSING = ("PASS", "OK")
SUITE = "the suite"


@dataclass(frozen=True)
class Result:
    """The result of a subtest, or of a whole test."""

    test: str
    # Empty for the whole test.
    subtest: str
    status: str
    expected: str
    message: str = ""

    @property
    def name(self) -> str:
        return f"{self.test} | {self.subtest}" if self.subtest else self.test

    @property
    def is_expected(self) -> bool:
        return self.status == self.expected

    @property
    def passes(self) -> bool:
        return self.status in PASSING


@dataclass
class Results:
    # The tests that were started, in order. With --repeat a test is listed more than once.
    tests: list[str] = field(default_factory=list)
    # The results that count: of subtests, of tests without subtests, and of tests that did not end normally.
    counted: list[Result] = field(default_factory=list)
    own_url_base: str = "/_strobe/"
    # What has begun and not ended: a test, or the suite of all tests.
    begun: set[str] = field(default_factory=set)

    @property
    def unexpected(self) -> list[Result]:
        return [result for result in self.counted if not result.is_expected]

    def table(self) -> str:
        rows = [["directory", "tests", "results", "passed", "failed as expected", "unexpected"]]
        directories = dict.fromkeys(self._directory(test) for test in self.tests)
        for directory in directories:
            tests = [test for test in self.tests if self._directory(test) == directory]
            rows.append(
                _row(directory, tests, [result for result in self.counted if self._directory(result.test) == directory])
            )
        if len(directories) > 1:
            rows.append(_row("together", self.tests, self.counted))
        return text_table(rows, left=(0,))

    def _directory(self, test: str) -> str:
        if test.startswith(self.own_url_base):
            return "tests/wpt/tests"
        return test.lstrip("/").partition("/")[0]

    def tally(self) -> Tally:
        """A result that fails as expected counts as passed, because the metadata explains the failure."""
        tally = Tally(passed=len(self.counted) - len(self.unexpected))
        for result in self.unexpected:
            message = f": {result.message.splitlines()[0]}" if result.message.strip() else ""
            tally.fail(f"wpt: {result.name}: {result.status}, expected {result.expected}{message}")
        return tally


def _row(name: str, tests: list[str], results: list[Result]) -> list[str]:
    expected = [result for result in results if result.is_expected]
    passed = sum(result.passes for result in expected)
    return [
        name,
        *map(str, (len(tests), len(results), passed, len(expected) - passed, len(results) - len(expected))),
    ]


def read_log(log: Path, own_url_base: str) -> Results:
    with open(log, encoding="utf-8") as file:
        return read_lines(file, own_url_base)


def read_lines(lines: Iterable[str], own_url_base: str) -> Results:
    results = Results(own_url_base=own_url_base)
    with_subtests = set()
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
        except ValueError as error:
            what = "is not JSON, as if it had been cut off"
            raise MachError(f"line {number} of the runner's log {what}: {error}") from None
        action = entry.get("action")
        if action == "suite_start":
            results.begun.add(SUITE)
        elif action == "suite_end":
            results.begun.discard(SUITE)
        elif action == "test_start":
            results.tests.append(entry["test"])
            results.begun.add(entry["test"])
            with_subtests.discard(entry["test"])
        elif action == "test_status":
            with_subtests.add(entry["test"])
            results.counted.append(_result(entry, entry["subtest"]))
        elif action == "test_end":
            results.begun.discard(entry["test"])
            result = _result(entry, "")
            # The results of a test that ended normally are those of its subtests.
            if not (result.passes and result.is_expected and result.test in with_subtests):
                results.counted.append(result)
    return results


def _result(entry: dict, subtest: str) -> Result:
    status = entry["status"]
    expected = entry.get("expected", status)
    if status in entry.get("known_intermittent", ()):
        expected = status
    return Result(entry["test"], subtest, status, expected, entry.get("message") or "")


@dataclass
class Comparison:
    """How the results of a second run differ from those of a first."""

    # (name, status before, status after), by the kind of change.
    lost: list[tuple[str, str, str]] = field(default_factory=list)
    won: list[tuple[str, str, str]] = field(default_factory=list)
    other: list[tuple[str, str, str]] = field(default_factory=list)
    same: int = 0

    def report(self) -> str:
        lines = []
        for title, changes in (
            ("pass on Servo and not on Strobe", self.lost),
            ("pass on Strobe and not on Servo", self.won),
            ("fail in another way", self.other),
        ):
            lines.append(f"{len(changes)} {title}")
            lines += [f"  {name}: {before} -> {after}" for name, before, after in changes]
        return "\n".join([*lines, f"{self.same} the same"])


def compared(before: Results, after: Results) -> Comparison:
    comparison = Comparison()
    old, new = ({result.name: result for result in results.counted} for results in (before, after))
    for name in dict.fromkeys([*old, *new]):
        statuses = [results[name].status if name in results else "absent" for results in (old, new)]
        passed, passes = (status in PASSING for status in statuses)
        if statuses[0] == statuses[1]:
            comparison.same += 1
        elif passed:
            comparison.lost.append((name, *statuses))
        elif passes:
            comparison.won.append((name, *statuses))
        else:
            comparison.other.append((name, *statuses))
    return comparison
