# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The commands of ./mach, a file for each.

A command's file defines SUMMARY and run(options, for_browser). It may define MORE, USAGE and EPILOG for its help,
add_arguments(parser), and one of own_arguments() and take_unknown() for arguments that its parser does not know.
run() imports the module that does the work, so that `./mach --help` is quick.
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
    "test-source-maps",
    "package",
    "test-package",
    "fuzz",
    "stress",
    "check",
    "test-tidy",
    "bench",
    "update-hooks",
    "update-upstream",
)


def load(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
