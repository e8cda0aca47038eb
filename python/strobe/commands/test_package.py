# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach test-package"""

import argparse
from pathlib import Path

SUMMARY = "check that the packages work on a fresh Debian"
MORE = (
    "Makes the packages as `./mach package` does. Installs each in a fresh Debian without a compiler, by debootstrap, "
    "records a page there, reads the profile, and tries the man pages, the completions, the desktop entry and the "
    "symbols. Removes the package, and looks that nothing is left. Needs root and the network. `./mach test` does not "
    "run it."
)


def add_arguments(parser: argparse.ArgumentParser):
    parser.add_argument("--suite", default="bookworm", help="the release of Debian (default: bookworm, Debian 12)")
    parser.add_argument(
        "--from", metavar="DIR", type=Path, dest="folder", help="take the packages in this folder, and make none"
    )


def run(options, _):
    from ..packaging import test_package

    test_package.test_package(options.suite, options.folder)
