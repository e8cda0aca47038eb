# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach update-hooks"""

import argparse
from pathlib import Path

SUMMARY = "change the hooks of an upstream crate"
MORE = "Run it with --checkout, edit the tree, and run it with --from. A hook inserts lines, or replaces a single line."


def add_arguments(parser: argparse.ArgumentParser):
    parser.add_argument("folder", metavar="CRATE_FOLDER", help="the crate's folder in components/, such as script")
    direction = parser.add_mutually_exclusive_group(required=True)
    direction.add_argument(
        "--checkout", metavar="DIR", type=Path, help="unpack the crate with its current hooks into a new folder"
    )
    direction.add_argument(
        "--from", metavar="DIR", type=Path, dest="edited", help="write hooks.patch from an edited copy of the crate"
    )


def run(options, _):
    from ..setup import hooks

    hooks.update_hooks(options.folder, options.checkout, options.edited)
