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
    "By the upstream runner, unmodified, of the checkout that WPT_DIR names, or else of a clone of the folders "
    "needed, which is made in the cache. Ends with totals per directory and fails if anything is not as "
    "tests/wpt/meta expects. Options --log-NAME=FILE are the runner's, such as --log-raw=FILE."
)
USAGE = "mach test-wpt [-h] [--release] [--repeat N] [--log-NAME=FILE ...] [--compare-base] [PATH ...]"
# What the runner of web-platform-tests takes for its log.
RUNNER_LOG = re.compile(r"--log-[a-z-]+(=|$)")


def add_arguments(parser: argparse.ArgumentParser):
    add_release(parser)
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="a file or folder of the checkout, or below tests/wpt/tests (default: js-self-profiling "
        "performance-timeline user-timing hr-time tests/wpt/tests)",
    )
    parser.add_argument("--repeat", metavar="N", type=count, default=1, help="run everything N times (default: 1)")
    parser.add_argument(
        "--compare-base",
        action="store_true",
        help="run the tests on Servo without our hooks, too, which is built first, and print what changed",
    )
    parser.add_argument(
        "--base-binary", metavar="FILE", type=Path, help="for --compare-base, another browser, which is there already"
    )


def take_unknown(options: argparse.Namespace, unknown: list[str]) -> list[str]:
    """Takes what is for the runner's log, and paths: argparse takes these from one place only. Gives the rest."""
    options.log = [argument for argument in unknown if RUNNER_LOG.match(argument)]
    options.paths += [argument for argument in unknown if not argument.startswith("-")]
    if options.base_binary and not options.compare_base:
        options.parser.error("--base-binary is for --compare-base")
    if options.compare_base and (options.log or options.repeat != 1):
        options.parser.error("--compare-base takes neither --repeat nor --log")
    return [argument for argument in unknown if argument not in (*options.log, *options.paths)]


def run(options, _):
    from ..wpt import wpt

    if options.compare_base:
        wpt.compare_base(options.paths, options.base_binary, options.release)
    else:
        wpt.test_wpt(options.paths, options.repeat, options.log, options.release).finish()
