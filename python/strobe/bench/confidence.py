# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""How sure a figure is: the interval that it has if the measurements are drawn again, with replacement."""

import random
from collections.abc import Callable

DRAWS = 1000
# The share of the draws within the interval.
CONFIDENCE = 0.95


def interval(groups: list[list[float]], figure: Callable[[list[list[float]]], float]) -> tuple[float, float]:
    """The interval of a figure that is calculated from some groups of measurements. Each group keeps its size."""
    # The draws are always the same, so that a report of the same measurements is the same.
    draw = random.Random(len(groups))
    drawn = sorted(figure([draw.choices(group, k=len(group)) for group in groups]) for _ in range(DRAWS))
    cut = round(DRAWS * (1 - CONFIDENCE) / 2)
    return drawn[cut], drawn[-1 - cut]
