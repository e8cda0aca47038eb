# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach package"""

import argparse

SUMMARY = "build a release, and make packages that can be installed elsewhere"
MORE = (
    "In target/package: a package for Debian and Ubuntu, an archive with the same files, and for each another one with "
    "the symbols of the program; and an archive of strobe-tool alone. Prints their sizes, and the largest parts of the "
    "program. STROBE_BINARY names a release build to use instead of building one."
)


def add_arguments(parser: argparse.ArgumentParser):
    parser.add_argument(
        "--tool",
        action="store_true",
        help="make only the archive of strobe-tool, which needs no build of the browser",
    )


def run(options, _):
    from ..packaging import package

    if options.tool:
        package.package_tool()
    else:
        package.package()
