# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The commands of ./mach, a file for each.

A command's file has SUMMARY and run(options, for_browser), and may have MORE, USAGE and EPILOG for its help,
add_arguments(parser), and what it does with arguments that its parser does not know: own_arguments() or take_unknown().
It imports what it runs when it is run, so that `./mach --help` is quick.
"""

import importlib
from types import ModuleType

NAMES = (
    "bootstrap",
    "build",
    "run",
    "profile",
    "test",
    "test-unit",
    "test-browser",
    "test-wpt",
    "test-formats",
    "fuzz",
    "stress",
    "check",
    "test-tidy",
    "bench",
    "update-hooks",
)


def load(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
