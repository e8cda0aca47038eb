# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach test-browser"""

import argparse

from .arguments import add_build

SUMMARY = "build the browser and run the tests that start it"


def add_arguments(parser: argparse.ArgumentParser):
    add_build(parser)
    parser.add_argument("filter", metavar="FILTER", nargs="?", help="run only tests with this text in their name")


def run(options, _):
    from .. import test

    test.test_browser(options.filter, options.release, options.asan).finish()
