# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach package"""

SUMMARY = "build a release, and make packages that can be installed elsewhere"
MORE = (
    "In target/package: a package for Debian and Ubuntu, an archive with the same files, and for each another one with "
    "the symbols of the program. Prints their sizes, and the largest parts of the program. STROBE_BINARY names a "
    "release build to use instead of building one."
)


def run(options, _):
    from ..packaging import package

    package.package()
