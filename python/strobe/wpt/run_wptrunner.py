# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Starts the runner of the checkout of web-platform-tests that the first argument names.

It is run by a Python that has the runner's packages, with -P, so that no module beside this file is taken for one of
the standard library. The runner could also be started
by `wpt run`, but that writes into the checkout and needs an entry in /etc/hosts.
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
