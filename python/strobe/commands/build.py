# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach build"""

import argparse

from ..errors import MachError
from .arguments import add_build

SUMMARY = "build the browser, or strobe-tool"
MORE = "The last line of its output is the path of the binary."


def add_arguments(parser: argparse.ArgumentParser):
    add_build(parser)
    parser.add_argument(
        "--tool",
        action="store_true",
        help="build strobe-tool instead, which reads saved profiles: a release, without the engine, in two minutes",
    )


def run(options, _):
    from .. import build

    if options.tool:
        if options.asan:
            raise MachError("--tool cannot be used with --asan, which is for the browser")
        print(build.tool())
    else:
        print(build.chosen(options.release, options.asan))
