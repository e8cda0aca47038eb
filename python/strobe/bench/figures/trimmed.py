# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The average of values without the lowest tenth and the highest tenth, and its standard error."""

import math
import statistics
from collections.abc import Callable, Iterable


def trimmed(values: Iterable[float], average: Callable[[list[float]], float]) -> float:
    """The average of the values without the lowest tenth and the highest tenth."""
    return average(_trim(values)[0])


def _trim(values: Iterable[float]) -> tuple[list[float], int]:
    """The values in order, without the lowest tenth and the highest tenth, and the size of a tenth."""
    values = sorted(values)
    cut = len(values) // 10
    return values[cut : len(values) - cut], cut


def trimmed_error(values: Iterable[float]) -> float:
    """The standard error of `trimmed`: each outer tenth counts as the nearest of the other values."""
    kept, cut = _trim(values)
    moved = [kept[0]] * cut + kept + [kept[-1]] * cut
    count = len(moved)
    return statistics.stdev(moved) / (len(kept) / count) / math.sqrt(count) if count > 1 else math.nan
