# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Arguments that several commands share."""

import argparse
import math


def add_release(parser):
    parser.add_argument("--release", action="store_true", help="use the optimised build, which takes longer to compile")


def add_asan(parser):
    parser.add_argument(
        "--asan",
        action="store_true",
        help="use the build with all code under AddressSanitizer, which is several times slower",
    )


def add_build(parser: argparse.ArgumentParser):
    """The arguments that choose one of the builds."""
    builds = parser.add_mutually_exclusive_group()
    add_release(builds)
    add_asan(builds)


def count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


def number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return int(text)


def amount(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number
