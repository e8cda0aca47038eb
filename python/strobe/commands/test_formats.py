# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach test-formats"""

import argparse
from pathlib import Path

SUMMARY = "check that other tools read our profiles, and that we read theirs"
MORE = (
    "Writes recordings in each format. speedscope, the model of Chrome's DevTools and the Firefox Profiler's own code, "
    "which come from npm, read them. Each function must keep its samples. Then engines and profilers write small "
    "files, and we must read what is in them. Then builders make source maps, and names and lines must be as they were "
    "written. Needs Node.js, npm, Chromium, Firefox ESR and perf. `./mach test` does not run it."
)


def add_arguments(parser: argparse.ArgumentParser):
    parser.add_argument(
        "profiles", metavar="PROFILE", nargs="*", type=Path, help="profiles to write in every format (default: random)"
    )


def run(options, _):
    from ..checks import formats

    formats.test_formats(options.profiles)
