# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach test"""

SUMMARY = "run all tests"
MORE = (
    "test-tidy, test-unit, test-browser and, where WPT_DIR names a checkout, test-wpt; the last line counts what "
    "passed and failed."
)


def run(options, _):
    from .. import test

    test.test()
