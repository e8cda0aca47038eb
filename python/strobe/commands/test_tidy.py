# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach test-tidy"""

SUMMARY = "check formatting, lints, licence headers and hook files"
MORE = "Prints each problem as FILE:LINE: PROBLEM."


def run(options, _):
    from .. import tidy

    tidy.test_tidy().finish()
