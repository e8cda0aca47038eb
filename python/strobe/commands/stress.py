# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach stress"""

import argparse

from .arguments import add_release, amount, count, number

SUMMARY = "make the browser's life hard at random, and see whether it survives"
MORE = (
    "Episodes follow one another: each is a browser with random pages, to which something is done. Fails if it "
    "crashes, hangs or leaks, if a thread of it panics, or if a page finds a profile that cannot be. What fails is "
    "printed with the command that does the same episode again; logs and stacks are in target/stress. STROBE_BINARY "
    "names another browser than the one that is built."
)
USAGE = (
    "mach stress [-h] [--release] [--minutes N] [--seed S] [--feature NAME ...] [--no-profilers]\n"
    "       mach stress [-h] [--release] --seed S --episode K [--no-profilers]"
)


def add_arguments(parser: argparse.ArgumentParser):
    add_release(parser)
    parser.add_argument("--minutes", metavar="N", type=amount, default=10.0, help="how long (default: 10)")
    parser.add_argument("--seed", metavar="S", type=count, help="where the plan begins (default: anywhere)")
    parser.add_argument("--episode", metavar="K", type=number, help="this episode of the plan alone")
    parser.add_argument(
        "--feature",
        metavar="NAME",
        action="append",
        default=[],
        dest="features",
        help="only episodes about this, such as workers or kills; may be repeated",
    )
    parser.add_argument(
        "--no-profilers",
        action="store_true",
        help="without profilers, to see whether something is Servo's own failure",
    )


def run(options, _):
    from ..stress import stress

    profile = not options.no_profilers
    stress.stress(options.minutes, options.seed, options.episode, options.features, options.release, profile)
