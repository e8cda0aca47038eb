# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach run"""

import argparse

from .arguments import add_release

SUMMARY = "build the browser and open a page"
MORE = (
    "Without URL, opens a bundled demo page that profiles its own JavaScript. Then prints its functions with their "
    "self and total time, and where the trace was saved."
)
USAGE = "mach run [-h] [--release] [URL] [-- BROWSER_ARGUMENT ...]"


def add_arguments(parser: argparse.ArgumentParser):
    add_release(parser)
    parser.add_argument("url", metavar="URL", nargs="?", help="http, https, file or data URL, or a path")


def run(options, for_browser):
    from .. import run

    run.run(options.url, for_browser, options.release)
