# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach test-source-maps"""

import argparse

from .arguments import add_release

SUMMARY = "check that functions of bundles are shown as they were written"
MORE = (
    "Bundles programs and packages from npm with esbuild, and with Rollup and Terser, and records them in the browser. "
    "In every format each profile must have the original names, files and lines: those that are recorded with "
    "--source-maps, those that `strobe convert` maps, and those of traces that a page sent home. Needs Node.js and "
    "npm. `./mach test` does not run it. STROBE_BINARY names a browser to use instead of building one."
)


def add_arguments(parser: argparse.ArgumentParser):
    add_release(parser)


def run(options, _):
    from ..checks import source_maps

    source_maps.test_source_maps(options.release)
