# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach test"""

SUMMARY = "run all tests"
MORE = (
    "The suites are test-tidy, test-unit, test-browser and, if WPT_DIR names a checkout of web-platform-tests, "
    "test-wpt. The last line says how many tests passed and failed."
)


def add_arguments(parser):
    parser.add_argument(
        "--no-skips",
        action="store_true",
        help="fail for each test that is skipped, unless python/strobe/suites.toml has a reason",
    )
    parser.add_argument(
        "--release",
        action="store_true",
        help="run only the suites that start the browser, on the optimised build, which takes longer to compile",
    )


def run(options, _):
    from .. import test

    test.test(options.no_skips, options.release)
