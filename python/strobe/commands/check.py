# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach check"""

import argparse

from .arguments import count

SUMMARY = "look for faults that tests do not show"
MORE = (
    "models: runs the handshake between threads in every order, with loom. miri: runs it with ordinary threads, and "
    "the tests of crates without unsafe code, under Miri, which needs a nightly toolchain. valgrind: runs the tests of "
    "those crates under memcheck. sanitizers: runs the sampling component in SpiderMonkey without Servo, under "
    "AddressSanitizer and UndefinedBehaviorSanitizer. asan-build: builds the browser as `./mach build --asan` does, "
    "and checks that mistakes on purpose are found in its Rust, our C++ and the engine. walk-calls: compares the "
    "functions that the compiled walk of a stack calls with the list of those that it may call. upstream: asks the "
    "registry for newer versions of Servo and the engine, says what a move to them means, and fails if there is one; "
    "all does not ask. Only walk-calls is a part of `./mach test`."
)
SUITES = ("models", "miri", "valgrind", "sanitizers", "asan-build", "walk-calls", "upstream", "all")


def add_arguments(parser: argparse.ArgumentParser):
    parser.add_argument("suites", metavar="SUITE", nargs="+", choices=SUITES, help=", ".join(SUITES))
    parser.add_argument(
        "--seconds", metavar="N", type=count, default=60, help="how long the sanitizers' program runs (default: 60)"
    )


def run(options, _):
    from ..checks import check

    check.check(options.suites, options.seconds)
