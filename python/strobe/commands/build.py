# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach build"""

import argparse

from .arguments import add_build

SUMMARY = "build the browser"
MORE = "The last line of its output is the path of the binary."


def add_arguments(parser: argparse.ArgumentParser):
    add_build(parser)


def run(options, _):
    from .. import build

    print(build.chosen(options.release, options.asan))
