# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""What a suite finds: tables, limits, and notes."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...errors import MachError
from ...table import text_table

# How far the geometric mean of a control may be from 1.
CONTROL_BAND = 0.005
# A time in ms means nothing if its control, which should be near 0, is more than this share of its limit.
CONTROL_SHARE = 0.5


@dataclass(frozen=True)
class Table:
    # The first row is the header, and the first column names each row.
    rows: list[list[str]]
    caption: str


@dataclass(frozen=True)
class Limit:
    what: str
    # By browser, each with its control. They are texts, because they have units and names.
    values: dict[str, str]
    controls: dict[str, str]
    wanted: str
    # None if there is nothing to compare with.
    met: bool | None
    # The ratios of the control on which the figure depends, and how far from 1 they may be.
    control_means: tuple[float, ...] = ()
    band: float = CONTROL_BAND
    # Whether something else than such a ratio shows that the figure means nothing.
    is_noisy: bool = False

    @property
    def verdict(self) -> str:
        if self.is_noisy or not all(in_band(mean, self.band) for mean in self.control_means):
            return "too noisy"
        return {True: "met", False: "missed", None: "not compared"}[self.met]


@dataclass
class Report:
    tables: list[Table] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_control(self, what: str, browser: str, mean: float, band: float = CONTROL_BAND):
        """Notes a control that is too far from 1, because the figures beside it are as uncertain."""
        if not in_band(mean, band):
            self.notes.append(
                f"{browser}: the control {what} is {mean:.3f}, not within {100 * band:g}% of 1: the figures beside "
                "it are as uncertain; measure more rounds, on an idle machine"
            )

    def limit_table(self) -> Table:
        browsers = list(dict.fromkeys(name for limit in self.limits for name in limit.values))
        header = ["limit", *(cell for name in browsers for cell in (name, "control")), "wanted", ""]
        rows = [
            [
                limit.what,
                *(cell for name in browsers for cell in (limit.values.get(name, ""), limit.controls.get(name, ""))),
                limit.wanted,
                limit.verdict,
            ]
            for limit in self.limits
        ]
        return Table([header, *rows], "What is wanted")

    def text(self) -> str:
        tables = (*self.tables, self.limit_table())
        parts = [f"{table.caption}:\n{text_table(table.rows, left=(0,))}" for table in tables]
        return "\n\n".join([*parts, "\n".join(self.notes)]).rstrip()


def judge(report: Report):
    """Raises MachError unless every limit is shown to be met, as far as there is something to compare with."""
    missed = [limit for limit in report.limits if limit.verdict == "missed"]
    noisy = [limit for limit in report.limits if limit.verdict == "too noisy"]
    if not missed and not noisy:
        return
    lines = [f"{len(missed)} of the limits missed, {len(noisy)} too noisy:"]
    # The first browser is ours.
    lines += [f"{limit.what}: {_first(limit.values)}, wanted {limit.wanted}" for limit in missed]
    for limit in noisy:
        control = f", the control is {_first(limit.controls)}" if limit.controls else f": {_first(limit.values)}"
        lines.append(f"{limit.what}: too noisy{control}")
    raise MachError("\n  ".join(lines))


def _first(cells: dict[str, str]) -> str:
    return next(iter(cells.values()), "")


def in_band(mean: float, band: float) -> bool:
    return at_most(abs(mean - 1), band)


def shown_ratio(value: float) -> str:
    return f"{value:.3f}"


def at_most(value: float, most: float) -> bool:
    # A ratio is compared as it is shown.
    return round(value, 3) <= most


def by_browser(names: Iterable[str], cells: Iterable[str]) -> dict[str, str]:
    return dict(zip(names, cells, strict=True))
