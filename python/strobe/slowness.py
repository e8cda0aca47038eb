# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""How much slower than usual the browser may be. All bounds of tests and visits are multiplied by one factor."""

import os

from .errors import MachError

# tests/browser reads it, too.
VARIABLE = "STROBE_TIME_FACTOR"


def scaled(seconds: float) -> float:
    """A bound of time, for a browser that may be slower than usual."""
    text = os.environ.get(VARIABLE, "1")
    if not text.isdecimal() or int(text) < 1:
        raise MachError(f"{VARIABLE}={text}: not a whole number of 1 or more")
    return int(text) * seconds
