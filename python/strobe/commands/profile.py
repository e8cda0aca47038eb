# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach profile"""

import argparse

from .arguments import add_release

SUMMARY = "build the browser and profile a page"
MORE = (
    "Records all functions of all origins, from before the page is opened. At the end prints the functions with the "
    "most samples and saves the profile, which about:profiling and the tool of its format can open. Ctrl-C ends the "
    "recording and saves it."
)
USAGE = "mach profile [-h] [--release] [OPTION ...] URL"
EPILOG = (
    "Other options, which `strobe profile --help` describes: --interval MS, --duration S or --until-load or --until-js "
    "EXPR, --keep-last S, --long-tasks MS, --no-linked-maps, --sources, --event-loops all|main, --format FORMAT, "
    "-o FILE, --top N, --source-maps DIR, and those of the browser, such as --headless, --window-size WxH, "
    "--pref NAME=VALUE and --multiprocess. The formats are firefox, speedscope, speedscope-lines, "
    "cpuprofile, collapsed, collapsed-lines, trace, html and pprof."
)
OWN_OPTIONS = ("--release", "-h", "--help")


def add_arguments(parser: argparse.ArgumentParser):
    add_release(parser)


def own_arguments(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Splits arguments into mach's and the browser's. Only the browser knows which options take a value."""
    ours = [argument for argument in arguments if argument in OWN_OPTIONS]
    return ours, [argument for argument in arguments if argument not in OWN_OPTIONS]


def run(options, for_browser):
    from .. import profile

    profile.profile(for_browser, options.release)
