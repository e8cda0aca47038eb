# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach check"""

import argparse

from .arguments import count

SUMMARY = "look for what tests do not see"
MORE = (
    "models: every order of the threads of a handshake, by loom. miri: the same with ordinary threads, and crates "
    "without unsafe code, by Miri, which needs a nightly toolchain. valgrind: the tests of those crates. sanitizers: "
    "the sampling component, C++ and Rust, in an embedding of SpiderMonkey without Servo, by AddressSanitizer and "
    "UndefinedBehaviorSanitizer. walk-calls: what the compiled walk of a stack calls, against the list with the "
    "reasons. Only the last is a part of test."
)
SUITES = ("models", "miri", "valgrind", "sanitizers", "walk-calls", "all")


def add_arguments(parser: argparse.ArgumentParser):
    parser.add_argument("suites", metavar="SUITE", nargs="+", choices=SUITES, help=", ".join(SUITES))
    parser.add_argument(
        "--seconds", metavar="N", type=count, default=60, help="how long the sanitizers' program runs (default: 60)"
    )


def run(options, _):
    from ..checks import check

    check.check(options.suites, options.seconds)
