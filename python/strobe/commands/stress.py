# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach stress"""

import argparse

from .arguments import add_build, amount, count, number

SUMMARY = "put the browser under random stress, and check that it survives"
MORE = (
    "Runs episodes one after the other. Each starts a browser with random pages and disturbs it. An episode fails if "
    "the browser crashes, hangs or leaks, if one of its threads panics, or if a page finds a profile that cannot be "
    "right. Each failure is printed with the command that repeats its episode; logs and stacks are in target/stress. "
    "STROBE_BINARY names a browser to use instead of building one."
)
USAGE = (
    "mach stress [-h] [--release | --asan] [--minutes N] [--seed S] [--feature NAME ...] [--no-profilers]\n"
    "       mach stress [-h] [--release | --asan] --seed S --episode K [--no-profilers]"
)


def add_arguments(parser: argparse.ArgumentParser):
    add_build(parser)
    parser.add_argument("--minutes", metavar="N", type=amount, default=10.0, help="how long to run (default: 10)")
    parser.add_argument("--seed", metavar="S", type=count, help="seed of the plan (default: a random one)")
    parser.add_argument("--episode", metavar="K", type=number, help="run only this episode of the plan")
    parser.add_argument(
        "--feature",
        metavar="NAME",
        action="append",
        default=[],
        dest="features",
        help="run only episodes about NAME, such as workers or kills; may be repeated",
    )
    parser.add_argument(
        "--no-profilers",
        action="store_true",
        help="run without profilers, to see whether a failure is Servo's own",
    )


def run(options, _):
    from ..stress import stress

    profile = not options.no_profilers
    seeds = (options.seed, options.episode)
    stress.stress(options.minutes, *seeds, options.features, options.release, profile, options.asan)
