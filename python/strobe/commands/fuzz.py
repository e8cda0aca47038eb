# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach fuzz"""

import argparse
from pathlib import Path

from .arguments import count

SUMMARY = "run parsers on random input"
MORE = (
    "The targets are the programs of tests/fuzz. A target ends at the first input that makes it fail, which is saved "
    "in target/fuzz/TARGET. Inputs that reach new code are kept in the cache for the next run."
)
USAGE = (
    "mach fuzz [-h] [--seconds N] [--jobs N] [--seed S] [TARGET ...]\n"
    "       mach fuzz TARGET --replay FILE"
)


def add_arguments(parser: argparse.ArgumentParser):
    parser.add_argument("targets", metavar="TARGET", nargs="*", help="what to run (default: all targets)")
    parser.add_argument("--seconds", metavar="N", type=count, default=60, help="seconds for each target (default: 60)")
    parser.add_argument("--jobs", metavar="N", type=count, help="targets that run at once (default: one per processor)")
    parser.add_argument("--seed", metavar="S", type=count, help="seed of the random numbers (default: a random one)")
    parser.add_argument("--replay", metavar="FILE", type=Path, help="run TARGET once, on this input")


def run(options, _):
    from ..checks import fuzz

    if options.replay:
        fuzz.replay(options.targets, options.replay)
    else:
        fuzz.fuzz(options.targets, options.seconds, options.jobs, options.seed)
