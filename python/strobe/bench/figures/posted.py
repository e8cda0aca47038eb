# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Reading what a page has posted, whatever it is."""

import math
import statistics
from collections.abc import Iterable
from contextlib import contextmanager

from ...errors import MachError


@contextmanager
def reading(suite: str, browser: str):
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise MachError(
            f"{suite}: {browser} posted a result of the wrong form: {type(error).__name__}: {error}"
        ) from None


def positive(value) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        raise ValueError(f"{value!r} is not a positive number")
    return value


def amount(value) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise ValueError(f"{value!r} is not a number from 0")
    return value


def median_ratio(pairs: Iterable[dict]) -> float:
    return statistics.median(positive(pair["measured"]) / positive(pair["reference"]) for pair in pairs)


def median(of: list[dict], key: str) -> float:
    return statistics.median(amount(one[key]) for one in of)
