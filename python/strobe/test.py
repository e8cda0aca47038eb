# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach test and its parts."""

import re
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import build, npm, paths, process, quarantine, suites, tidy
from .checks import walk_calls
from .errors import MachError
from .lock import cache_lock
from .setup import bootstrap, workspace
from .tally import NODE_OK, UNITTEST_OK, Tally, read_cargo_test, read_node_test, read_unittest
from .wpt import wpt

BROWSER_TESTS = "browser_tests"
VIEWER_TESTS = paths.ROOT / "tests" / "viewer"
# The tests choose from this many which one may have a browser next: see tests/browser/turns.rs.
BROWSER_TEST_THREADS = "8"


def test(no_skips: bool = False, release: bool = False):
    """Runs every suite, even after one has failed. The last line counts the tests of all.

    `no_skips` makes a failure of each test that is skipped without a reason in suites.toml. With `release` only the
    suites that start the browser are run, on the optimised build.
    """
    with cache_lock("test"):
        # Otherwise every suite would fail for the same reason.
        bootstrap.ensure()
    tally = Tally()
    all_suites = {
        "test-tidy": lambda: _counted("test-tidy", tidy.test_tidy()),
        "test-unit": test_unit,
        "test-browser": test_browser,
    }
    if release:
        all_suites = {"test-browser": lambda: test_browser(release=True)}
    if with_wpt := wpt.available():
        all_suites["test-wpt"] = lambda: _counted("test-wpt", wpt.test_wpt(list(wpt.FIRST_PATHS), release=release))
    for name, suite in all_suites.items():
        print(f"\n{name}\n{'=' * len(name)}")
        try:
            result = suite()
        except MachError as error:
            print(f"mach {name}: {error}", file=sys.stderr)
            result = Tally(failures=[f"{name}: {str(error).splitlines()[0]}"])
        print(f"{name}: {result.count()}")
        tally.add(result)
    print("\nsummary\n=======")
    if not with_wpt:
        tally.skip("test-wpt: WPT_DIR names no checkout of web-platform-tests; ./mach test-wpt clones one")
    if no_skips:
        suites.refuse_skips(tally)
    tally.finish()


def _counted(suite: str, tally: Tally) -> Tally:
    suites.check_count(suite, tally)
    return tally


def test_unit() -> Tally:
    tally = Tally()
    # The checks of the fuzz targets run over the committed inputs.
    folders = ("components/", "packaging/", "tests/fuzz/")
    names = [name for folder in folders for name in workspace.crates(under=folder)]
    packages = workspace.package_arguments(names)
    with cache_lock("test-unit"):
        bootstrap.ensure()
        folder = paths.ROOT / "python"
        command = [sys.executable, "-m", "unittest", "discover", "-v", "-t", str(folder), "-s", str(folder / "tests")]
        # The others are compiled meanwhile. What is wrong with them is shown when they are run.
        with ThreadPoolExecutor() as beside:
            beside.submit(process.stream, ["cargo", "test", "--locked", "--no-run", *packages])
            tally.add(_counted("test-unit, python", _run(command, read_unittest, merge_errors=True, hides=UNITTEST_OK)))
            tally.add(_test_viewer())
        of_crates = _run(["cargo", "test", "--locked", "--no-fail-fast", *packages], read_cargo_test)
        of_crates.add(_run(build.tool_command(["test", "--no-fail-fast"]), read_cargo_test, **build.tool_place()))
        tally.add(_counted("test-unit, crates", of_crates))
    # This checks what has just been built.
    tally.add(_check_walk_calls(["cargo", "test", "--locked", "--no-run", *packages]))
    return tally


def _test_viewer() -> Tally:
    """Runs the tests of the scripts of about:profiling that need no document."""
    try:
        npm.check_node()
    except MachError as error:
        return Tally(skipped=[f"test-unit, viewer: {str(error).splitlines()[0]}"])
    files = sorted(str(file) for file in VIEWER_TESTS.glob("*.test.mjs"))
    command = ["node", "--test", "--test-reporter=tap", *files]
    return _counted("test-unit, viewer", _run(command, read_node_test, hides=NODE_OK))


def _check_walk_calls(build_command: list[str]) -> Tally:
    """Counts the check of what the walk calls as one test."""
    try:
        walk_calls.check(build_command)
    except MachError as error:
        print(error)
        return Tally(failures=[f"walk-calls: {str(error).splitlines()[0]}"])
    return Tally(passed=1)


def test_browser(filter: str | None = None, release: bool = False, sanitized: bool = False) -> Tally:
    """Runs the tests that start the browser; `filter` is a part of their names."""
    binary = build.chosen(release, sanitized)
    build.build_tests([BROWSER_TESTS])
    command = ["cargo", "test", "--locked", "--no-fail-fast", *workspace.package_arguments([BROWSER_TESTS])]
    if filter is not None:
        command += ["--", filter]
    environment = {"RUST_TEST_THREADS": BROWSER_TEST_THREADS, **build.browser_environment()}
    environment |= quarantine.for_tests(binary)
    tally = _run(command, read_cargo_test, env={**environment, build.BINARY_VARIABLE: str(binary)})
    if filter is None:
        return _counted("test-browser", tally)
    if not tally.tests:
        raise MachError(f"no browser test has {filter!r} in its name")
    return tally


def _run(
    command: list[str],
    read,
    *,
    env: dict[str, str] | None = None,
    cwd: Path = paths.ROOT,
    merge_errors: bool = False,
    hides: re.Pattern | None = None,
) -> Tally:
    """Runs a test command, shows its output as it comes, without the lines that are hidden, and reads its results."""
    lines = []

    def on_line(line: str):
        if hides is None or not hides.match(line.rstrip("\n")):
            sys.stdout.write(line)
        lines.append(line.rstrip("\n"))

    status = process.stream(command, cwd=cwd, env=env, on_line=on_line, merge_errors=merge_errors)
    return read(lines, status, shlex.join(command))
