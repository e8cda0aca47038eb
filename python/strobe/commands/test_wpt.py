# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach test-wpt"""

import argparse
import re
from pathlib import Path

from .arguments import add_release, count

SUMMARY = "build the browser and run web-platform-tests in it"
MORE = (
    "Uses the unmodified upstream runner of the checkout that WPT_DIR names, or else of a sparse clone in the cache. "
    "At the end prints totals per directory, and fails if a result differs from what tests/wpt/meta expects. Options "
    "--log-NAME=FILE, such as --log-raw=FILE, are those of the runner."
)
USAGE = "mach test-wpt [-h] [--release] [--repeat N] [--log-NAME=FILE ...] [--compare-base] [PATH ...]"
# The runner's options for its log.
RUNNER_LOG = re.compile(r"--log-[a-z-]+(=|$)")


def add_arguments(parser: argparse.ArgumentParser):
    add_release(parser)
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="a file or folder in the checkout or in tests/wpt/tests (default: js-self-profiling "
        "performance-timeline user-timing hr-time tests/wpt/tests)",
    )
    parser.add_argument("--repeat", metavar="N", type=count, default=1, help="run everything N times (default: 1)")
    parser.add_argument(
        "--compare-base",
        action="store_true",
        help="also build Servo without our hooks, run the tests on it, and print the differences",
    )
    parser.add_argument(
        "--base-binary", metavar="FILE", type=Path, help="compare with this browser instead of building Servo"
    )


def take_unknown(options: argparse.Namespace, unknown: list[str]) -> list[str]:
    """Takes the runner's log options, and paths, which argparse takes from one place only. Returns the rest."""
    options.log = [argument for argument in unknown if RUNNER_LOG.match(argument)]
    options.paths += [argument for argument in unknown if not argument.startswith("-")]
    if options.base_binary and not options.compare_base:
        options.parser.error("--base-binary needs --compare-base")
    if options.compare_base and (options.log or options.repeat != 1):
        options.parser.error("--compare-base takes neither --repeat nor --log")
    return [argument for argument in unknown if argument not in (*options.log, *options.paths)]


def run(options, _):
    from ..wpt import wpt

    if options.compare_base:
        wpt.compare_base(options.paths, options.base_binary, options.release)
    else:
        wpt.test_wpt(options.paths, options.repeat, options.log, options.release).finish()
