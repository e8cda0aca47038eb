# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The program that starts the runner of a checkout of web-platform-tests, the first argument.

Run by a Python that has the runner's packages, with -P, so that no module beside this file is taken for one of the
standard library. The runner's `wpt run` is another way in,
but it wants to write into the checkout and into /etc/hosts.
"""

import sys


def main() -> int:
    checkout = sys.argv.pop(1)
    sys.path.insert(0, checkout)
    from tools import localpaths  # noqa: F401  It sets where the modules of the checkout are.
    from wptrunner import wptrunner

    return int(bool(wptrunner.main()))


if __name__ == "__main__":
    sys.exit(main())
