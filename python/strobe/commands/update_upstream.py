# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach update-upstream"""

import argparse

SUMMARY = "move to another version of Servo or of the engine"
MORE = (
    "Moves the pins, the lock files and the hooks, and prints what a person has to do. What follows from the version "
    "moves too: mozjs and mozjs_sys belong together. If anything goes wrong, nothing is changed. "
    "`./mach check upstream` lists the versions that there are."
)


def add_arguments(parser: argparse.ArgumentParser):
    parser.add_argument("crate", metavar="CRATE", help="servo, mozjs or mozjs_sys")
    parser.add_argument("version", metavar="VERSION", help="a published version, such as 0.26.14 or 153.6.0-2")


def run(options, _):
    from ..moving import move
    from ..setup import bootstrap

    bootstrap.ensure_rust()
    move.update_upstream(options.crate, options.version)
