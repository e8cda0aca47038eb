# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Figures that are measured in three browsers side by side."""

import math
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from .posted import positive
from .report import Limit, at_most, shown_ratio


@dataclass(frozen=True)
class SideBySide:
    """A figure that is measured in three browsers side by side, in each round.

    The ratios compare the first browser with the geometric mean of the other two, which are the same one twice. The
    controls compare these two.
    """

    reference: float
    ratio: float
    control: float
    # By round.
    ratios: list[float]
    controls: list[float]

    @property
    def noise(self) -> float:
        """How far from 1 the control was in its worst round."""
        return max(abs(control - 1) for control in self.controls)

    @property
    def error(self) -> float:
        """The standard error of the mean of the controls. One round says nothing of it."""
        count = len(self.controls)
        return statistics.stdev(self.controls) / math.sqrt(count) if count > 1 else math.inf

    def cells(self) -> list[str]:
        return [with_range(self.control, self.controls), with_range(self.ratio, self.ratios)]


# The measured values, by round and by variant. Values at the same index were measured in turns.
Rounds = list[dict[str, list[float]]]
# The measured variant, the reference, and the reference again.
Variants = tuple[str, str, str]


def read_rounds(posted: list[dict], page: str, is_counted: bool, read: Callable[[dict], list]) -> Rounds:
    rounds: dict[int, dict[str, list[float]]] = {}
    for result in posted:
        if result["page"] == page and was_counted(result) == is_counted:
            values = [positive(value) for value in read(result)]
            rounds.setdefault(result["round"], {})[result["variant"]] = values
    if not rounds:
        raise ValueError(f"there is no result of the page {page}{', counted' if is_counted else ''}")
    return [rounds[number] for number in sorted(rounds)]


def was_counted(result: dict) -> bool:
    """Whether it is the result of a visit under valgrind, whose times and memory mean nothing."""
    return "instructions" in result


def side_by_side(rounds: Rounds, variants: Variants) -> SideBySide:
    """The medians over the rounds of the medians over the pairs of each round."""
    measured, reference, again = variants
    ratios, controls, of_reference = [], [], []
    for of_variant in rounds:
        both = _of_both(of_variant, variants)
        ratios.append(_median_of_ratios(of_variant[measured], both))
        controls.append(_median_of_ratios(of_variant[again], of_variant[reference]))
        of_reference.append(statistics.median(both))
    medians = (statistics.median(values) for values in (of_reference, ratios, controls))
    return SideBySide(*medians, ratios, controls)


def least_side_by_side(rounds: Rounds, variants: Variants) -> SideBySide:
    """The figure for counts. The lowest round counts, because it has the least unrelated work."""
    figure = side_by_side(rounds, variants)
    least = {variant: [min(value for of in rounds for value in of[variant])] for variant in variants}
    [both] = _of_both(least, variants)
    [measured], [reference], [again] = least.values()
    return replace(figure, reference=both, ratio=measured / both, control=again / reference)


def mean_side_by_side(figures: Iterable[SideBySide]) -> SideBySide:
    """The figure for all kernels: the geometric mean of each round."""
    figures = list(figures)
    ratios = [statistics.geometric_mean(of_round) for of_round in zip(*(figure.ratios for figure in figures))]
    controls = [statistics.geometric_mean(of_round) for of_round in zip(*(figure.controls for figure in figures))]
    return SideBySide(math.nan, statistics.median(ratios), statistics.median(controls), ratios, controls)


def _of_both(of_variant: dict[str, list[float]], variants: Variants) -> list[float]:
    """The values that the first browser is compared with."""
    _, reference, again = variants
    return [statistics.geometric_mean(pair) for pair in zip(of_variant[reference], of_variant[again], strict=True)]


def _median_of_ratios(measured: list[float], reference: list[float]) -> float:
    return statistics.median(value / other for value, other in zip(measured, reference, strict=True))


def with_range(ratio: float, of_rounds: list[float]) -> str:
    return f"{shown_ratio(ratio)} ({shown_ratio(min(of_rounds))} to {shown_ratio(max(of_rounds))})"


def bounded(what: str, figure: SideBySide, most: float, band: float, browser: str) -> Limit:
    ratio, control = shown_ratio(figure.ratio), shown_ratio(figure.control)
    met = at_most(figure.ratio, most)
    return Limit(what, {browser: ratio}, {browser: control}, f"≤ {most:g}", met, (figure.control,), band)
