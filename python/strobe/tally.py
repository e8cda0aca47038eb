# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Counts the tests of several tools."""

import re
import textwrap
from dataclasses import dataclass, field

from .errors import MachError

CARGO_RESULT = re.compile(r"^test result: \S+ (\d+) passed; (\d+) failed;")
CARGO_FAILURE = re.compile(r"^test (.+) \.\.\. FAILED")
CARGO_IGNORED = re.compile(r"^test (.+) \.\.\. ignored(?:, (.*))?$")
# Why a test is ignored that is no test by itself: others run it in a process of its own, or people run it by hand.
HELPERS = (
    "A process of other tests",
    "writes into docs/",
    "By hand: Servo loses the end of responses",
    "By hand: 20,000 recordings of each program",
)
# What the test runner repeats of a test that failed, and the beginning of a panic in it.
CARGO_OUTPUT = re.compile(r"^---- (.+) stdout ----$")
CARGO_PANIC = re.compile(r"^thread '.*' (?:\(\d+\) )?panicked at (.+):$")
CARGO_PANIC_END = re.compile(r"^(?:note: |stack backtrace:|thread '|---- |failures:$)")
# skip() of tests/browser/lib.rs prints this. The test runner counts such a test as passed.
CARGO_SKIPPED = re.compile(r"^SKIPPED (.+)")
UNITTEST_COUNT = re.compile(r"^Ran (\d+) tests? in ")
UNITTEST_RESULT = re.compile(r"^(?:OK|FAILED)(?: \((.*)\))?$")
# With -v, each test has a line, or one with its name and one with the first line of its documentation.
UNITTEST_OK = re.compile(r"^(?:.+ \.\.\. ok|test\w* \([\w.]+\))$")
UNITTEST_BEGUN = re.compile(r"^(test\w* \([\w.]+\))(?: \.\.\. |$)")
# What a test or its programs print comes between its name and this.
UNITTEST_SKIPPED = re.compile(r"""(?:^| \.\.\. )skipped (['"])(.*)\1$""")
UNITTEST_FAILURE = re.compile(r"^(?:FAIL|ERROR): (.+)")
UNITTEST_TRACEBACK = "Traceback (most recent call last):"
UNITTEST_LINE = re.compile(r"^(?:={70}|-{70})$")

# In the output of `node --test --test-reporter=tap`. What a test gives beside its result is indented below it.
NODE_RESULT = re.compile(r"^ *(not )?ok \d+ - (.+?)(?: # (SKIP|TODO)(?: (.*))?)?$")
# A file of tests, which older versions report as a test around its own.
NODE_FILE = re.compile(r"\.m?js$")
# What is printed of tests that pass.
NODE_OK = re.compile(r"^ *(?:# Subtest: .*|ok \d+ - .*|---|\.\.\.|duration_ms: .*|type: .*)$")
NODE_ERROR = re.compile(r"^ *error: (.+)$")

# A reason is cut after so many lines. The whole output of the test is above the summary.
REASON_LINES = 5


@dataclass
class Tally:
    passed: int = 0
    # One entry per failed test, with a name to search for.
    failures: list[str] = field(default_factory=list)
    # One entry per test that could not run here, with the reason if it is known.
    skipped: list[str] = field(default_factory=list)
    # Why a test failed, by its entry in `failures`, if the output says it.
    reasons: dict[str, str] = field(default_factory=dict)

    def fail(self, what: str):
        self.failures.append(what)

    def skip(self, what: str):
        self.skipped.append(what)

    @property
    def tests(self) -> int:
        return self.passed + len(self.failures) + len(self.skipped)

    def add(self, other: "Tally"):
        self.passed += other.passed
        self.failures += other.failures
        self.skipped += other.skipped
        self.reasons |= other.reasons

    def count(self) -> str:
        text = f"{self.passed} passed, {len(self.failures)} failed"
        return f"{text}, {len(self.skipped)} skipped" if self.skipped else text

    def finish(self):
        """Prints what was skipped, what failed and why, and last the count; MachError if anything failed."""
        for test in self.skipped:
            print(f"SKIPPED {test}")
        for failure in self.failures:
            print(f"FAILED {failure}")
            if reason := self.reasons.get(failure):
                print(textwrap.indent(reason, "    "))
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
            if match.group(2) not in HELPERS:
                tally.skip(": ".join(filter(None, match.groups())))
        elif match := CARGO_SKIPPED.match(line):
            tally.skip(match.group(1))
            tally.passed -= 1
    # A test that writes to the terminal can hide its own line.
    named = named[:failed] + [f"a test of `{command}`"] * (failed - len(named))
    for name in named:
        tally.fail(name)
    tally.reasons = panics(lines)
    if status != 0 and not failed:
        tally.fail(f"`{command}` (status {status}, without a test result)")
    return tally


def panics(lines: list[str]) -> dict[str, str]:
    """The place and the message of the first panic of each test that failed."""
    found: dict[str, list[str]] = {}
    # The test whose output this is, and the message that is being read.
    test, message = None, None
    for line in lines:
        if message is not None and CARGO_PANIC_END.match(line):
            message = None
        if match := CARGO_OUTPUT.match(line):
            test = match.group(1)
        elif message is not None:
            message.append(line)
        elif test is not None and test not in found and (match := CARGO_PANIC.match(line)):
            message = found[test] = [f"{match.group(1)}:"]
    return {test: reason(message) for test, message in found.items()}


def reason(lines: list[str]) -> str:
    lines = "\n".join(lines).rstrip().split("\n")
    return "\n".join(lines[:REASON_LINES] + ["…"] * (len(lines) > REASON_LINES))


def read_unittest(lines: list[str], status: int, command: str) -> Tally:
    """The tally of a `python -m unittest -v` run."""
    tally = Tally()
    ran = 0
    skipped = 0
    begun = None
    for line in lines:
        if match := UNITTEST_BEGUN.match(line):
            begun = match.group(1)
        if match := UNITTEST_COUNT.match(line):
            ran = int(match.group(1))
        elif match := UNITTEST_FAILURE.match(line):
            tally.fail(match.group(1))
        elif begun and (match := UNITTEST_SKIPPED.search(line)):
            tally.skip(f"{begun}: {match.group(2)}")
            begun = None
        elif match := UNITTEST_RESULT.match(line):
            counts = dict(re.findall(r"([a-z ]+)=(\d+)", match.group(1) or ""))
            skipped = int(counts.get("skipped", 0))
    tally.reasons = exceptions(lines)
    # What a test prints may end in the middle of a line, or look like such a line.
    tally.skipped = tally.skipped[:skipped] + [f"a test of `{command}`"] * (skipped - len(tally.skipped))
    tally.passed = max(ran - skipped - len(tally.failures), 0)
    if status != 0 and not tally.failures:
        tally.fail(f"`{command}` (status {status}, without a test result)")
    return tally


def exceptions(lines: list[str]) -> dict[str, str]:
    """The first exception of each test that failed: what follows its traceback."""
    found: dict[str, list[str]] = {}
    test, is_traceback = None, False
    for line in lines:
        if match := UNITTEST_FAILURE.match(line):
            test = match.group(1)
        elif test is None:
            continue
        elif test in found:
            if UNITTEST_LINE.match(line):
                test = None
            else:
                found[test].append(line)
        elif line == UNITTEST_TRACEBACK:
            is_traceback = True
        elif is_traceback and not line.startswith(" "):
            found[test], is_traceback = [line], False
    return {test: reason(message) for test, message in found.items()}


def read_node_test(lines: list[str], status: int, command: str) -> Tally:
    """The tally of a `node --test --test-reporter=tap` run."""
    tally = Tally()
    # The files that failed, which is news only if none of their tests did.
    files = []
    # The test whose result this is, and the lines of its error that are being read.
    failed, message = None, None
    for line in lines:
        if match := NODE_RESULT.match(line):
            not_ok, name, directive, reason_text = match.groups()
            failed, message = (name if not_ok else None), None
            if NODE_FILE.search(name):
                files += [name] * bool(not_ok)
            elif directive:
                tally.skip(": ".join(filter(None, (name, reason_text))))
            elif not_ok:
                tally.fail(name)
            else:
                tally.passed += 1
        elif message is not None:
            # Such a text ends where a line is not indented further than its key.
            if line.strip() and len(line) - len(line.lstrip()) <= message[0]:
                tally.reasons[failed] = reason(message[1])
                failed = message = None
            else:
                message[1].append(line.strip())
        elif failed and failed not in tally.reasons and (match := NODE_ERROR.match(line)):
            if match.group(1) in ("|-", "|"):
                message = (len(line) - len(line.lstrip()), [])
            else:
                tally.reasons[failed] = match.group(1).strip("'\"")
    if not tally.failures:
        for name in files:
            tally.fail(name)
    if status != 0 and not tally.failures:
        tally.fail(f"`{command}` (status {status}, without a test result)")
    return tally
