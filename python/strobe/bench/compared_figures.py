# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The report of ./mach bench compare: the new build's figures, divided by the old one's, and their limits.

A measurement has the browsers `new` and `old`. Each result has a `part`, a `page`, a `round`, and a `variant`, which is
one of VARIANTS. A control may be as far from 1 as the limit, and its standard error as large. What is too noisy is
measured in more rounds, so a part may have more of them than others.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist, geometric_mean

from ..errors import MachError
from .confidence import CONFIDENCE
from .figures.hooks import COUNTED_BAND
from .figures.kernels import read_kernels
from .figures.posted import reading
from .figures.report import Limit, Report, Table
from .figures.side_by_side import (
    SideBySide,
    bounded,
    least_side_by_side,
    mean_side_by_side,
    read_rounds,
    side_by_side,
)
from .figures.trace import growth_per_sample
from .stops import CHAINS, Chain

# The measured browser, the reference, and the reference again, which is the control.
VARIANTS = NEW, OLD, OLD_AGAIN = "new", "old", "old again"
# The part whose pages are run under valgrind.
COUNTED = "instructions"
# Ratios of new and old, as far from 1 as their controls may be.
MOST_OVERHEAD, OVERHEAD_BAND = 1.005, 0.005
MOST_STOPS, STOPS_BAND = 1.05, 0.05
MOST_SPACING, SPACING_BAND = 1.05, 0.05
MEAN_BAND = 0.01
MOST_MEMORY, MEMORY_BAND = 1.01, 0.01
MOST_INSTRUCTIONS = 1.005
# Of the columns for the browsers.
HEADER = ["old", "old again/old", "new/old"]


def compare_report(measurement: dict) -> Report:
    """Raises MachError if the results are not what the pages post."""
    result = Report()
    new, old = measurement["browsers"]
    for browser in (new, old):
        result.notes.append(
            f"{browser['name']}: version {browser['version']}, {browser['build']} build, SHA-256 {browser['sha256']}"
        )
    if new["sha256"] == old["sha256"]:
        result.notes.append("new and old are the same program, so all ratios should be 1")
    result.notes.append(f"the load of the machine in the minute before was {measurement['load']:.2f}")
    for part in dict.fromkeys(posted["part"] for posted in new["results"]):
        of_part = part_report(measurement, part)
        result.tables += of_part.tables
        result.limits += of_part.limits
        result.notes += of_part.notes
    return result


def part_report(measurement: dict, part: str) -> Report:
    posted = [result for browser in measurement["browsers"] for result in browser["results"] if result["part"] == part]
    if part not in PART_REPORTS:
        raise MachError(f"the measurement has a part {part!r}, which has no report")
    with reading(f"compare, {part}", f"{NEW} or {OLD}"):
        return PART_REPORTS[part](posted)


def page_of_chain(chain: Chain) -> str:
    return f"stops at depth {chain.depth}"


def _figure(posted: list[dict], page: str, read: Callable[[dict], list]) -> SideBySide:
    return side_by_side(read_rounds(posted, page, False, read), VARIANTS)


def _bounded(what: str, figure: SideBySide, most: float, band: float) -> Limit:
    """A limit that is too noisy unless both the control and its standard error are within the band.

    On a busy machine a control that varies much may be near 1 by chance.
    """
    control = {NEW: f"{figure.control:.3f} ± {figure.error:.3f}"}
    means = (figure.control, 1 + figure.error)
    return replace(bounded(what, figure, most, band, NEW), controls=control, control_means=means)


def _rounds(posted: list[dict]) -> str:
    count = len({result["round"] for result in posted})
    return f"medians of {count} rounds, the least and the greatest" if count > 1 else "one round"


# Overhead


def overhead_report(posted: list[dict]) -> Report:
    """On/off in each browser, as in the suite overhead; a round's figure is the mean over the kernels."""
    comparisons = [comparison["name"] for comparison in posted[0]["comparisons"]]
    _, *measured = comparisons

    def kernels(name: str) -> Callable[[dict], list]:
        return lambda result: [read_kernels([result]).mean(name)]

    of_comparison = {name: _figure(posted, "overhead", kernels(name)) for name in comparisons}
    processor = _figure(posted, "overhead", lambda result: [_processor_time(result)])
    shown = {f"{name}, kernels": figure for name, figure in of_comparison.items()}
    shown["1 ms/off, processor time of all processes"] = processor
    rows = [["what", *HEADER]]
    rows += [[what, f"{figure.reference:.3f}", *figure.cells()] for what, figure in shown.items()]
    result = Report([Table(rows, f"Cost of profiling, on/off: {_rounds(posted)}")])
    of_variant = {name: read_kernels([one for one in posted if one["variant"] == name]) for name in VARIANTS}
    rows = [["kernel", *(f"{variant}, {name}" for name in measured for variant in (OLD, OLD_AGAIN, NEW))]]
    for kernel in of_variant[NEW].reference:
        ratios = (of_variant[variant].ratios[name][kernel] for name in measured for variant in (OLD, OLD_AGAIN, NEW))
        rows.append([kernel, *(f"{ratio:.3f}" for ratio in ratios)])
    result.tables.append(Table(rows, "Cost of profiling by kernel, medians of all pairs' ratios"))
    result.limits += [
        _bounded(f"overhead, {what}", figure, MOST_OVERHEAD, OVERHEAD_BAND)
        for what, figure in shown.items()
        if what != f"{comparisons[0]}, kernels"
    ]
    return result


def _processor_time(result: dict) -> float:
    """On/off of all blocks together, because the kernel counts the time of each in hundredths of a second."""
    _, of_measured = result["processorTime"]
    return math.fsum(pair["measured"] for pair in of_measured["pairs"]) / math.fsum(
        pair["reference"] for pair in of_measured["pairs"]
    )


# Stops


def stops_report(posted: list[dict]) -> Report:
    """The sampler logs the percentiles of each visit, not each stop. So the medians over visits are compared."""
    rows = [["what", "visits of each", *HEADER]]
    result = Report([Table(rows, f"How long a sample stops its thread: {_rounds(posted)}")])
    for chain in CHAINS:
        page = page_of_chain(chain)
        of_new = [one for one in posted if one["page"] == page and one["variant"] == NEW]
        count = str(sum(len(one["stops"]) for one in of_new))
        for what, figure in _percentiles(posted, page).items():
            rows.append([f"{page}, {what}", count, f"{figure.reference / 1000:.2f} µs", *figure.cells()])
            result.limits.append(_bounded(f"{page}, {what}", figure, MOST_STOPS, STOPS_BAND))
    return result


def libraries_report(posted: list[dict]) -> Report:
    """Stops of real libraries. The limits are for the mean over the libraries, because each alone has few stops."""
    rows = [["library", *(f"{what}, {column}" for what in ("median", "99th") for column in HEADER)]]
    result = Report([Table(rows, f"How long a sample stops a library: {_rounds(posted)}")])
    of_interval: dict[str, dict[str, list[SideBySide]]] = {}
    for page in dict.fromkeys(one["page"] for one in posted):
        cells = [page]
        for what, figure in _percentiles(posted, page).items():
            cells += [f"{figure.reference / 1000:.1f} µs", *figure.cells()]
            of_interval.setdefault(page.partition(" at ")[2], {}).setdefault(what, []).append(figure)
        rows.append(cells)
    for interval, of_what in of_interval.items():
        means = {what: mean_side_by_side(of) for what, of in of_what.items()}
        cells = [cell for mean in means.values() for cell in ("", *mean.cells())]
        rows.append([f"geometric mean at {interval}", *cells])
        result.limits += [
            _bounded(f"stops of libraries at {interval}, {what}", mean, MOST_STOPS, STOPS_BAND)
            for what, mean in means.items()
        ]
    return result


def _percentiles(posted: list[dict], page: str) -> dict[str, SideBySide]:
    return {
        what: _figure(posted, page, lambda result, key=key: [stops[key] for stops in result["stops"]])
        for what, key in (("median", "median"), ("99th percentile", "percentile_99"))
    }


# Samples


@dataclass(frozen=True)
class Difference:
    """By how many percentage points a share is larger than another one, and the interval that chance gives it."""

    what: str
    value: float
    least: float
    most: float

    @property
    def excess(self) -> float:
        """The distance from 0, divided by what chance allows in that direction."""
        allowed = self.value - self.least if self.value > 0 else self.most - self.value
        return abs(self.value) / allowed if allowed else 0.0

    def shown(self) -> str:
        return f"{self.value:+.2f} ({self.least:+.2f} to {self.most:+.2f})"


# How many of the samples have something.
Count = tuple[int, int]


def difference(what: str, measured: Count, reference: Count, comparisons: int) -> Difference:
    """The interval has CONFIDENCE for this and all other comparisons together (Bonferroni's correction)."""
    # Newcombe's interval for the difference of two shares, from Wilson's for each. It holds for rare things, too.
    z = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / comparisons / 2)
    (share, least, most), (other, other_least, other_most) = (_wilson(*count, z) for count in (measured, reference))
    value = share - other
    below = math.hypot(share - least, other_most - other)
    above = math.hypot(most - share, other - other_least)
    return Difference(what, 100 * value, 100 * (value - below), 100 * (value + above))


def _wilson(count: int, samples: int, z: float) -> tuple[float, float, float]:
    """A share, and its interval."""
    if not samples:
        raise ValueError("there are no samples")
    share = count / samples
    scale = 1 + z * z / samples
    centre = (share + z * z / (2 * samples)) / scale
    half = z * math.sqrt(share * (1 - share) / samples + z * z / (4 * samples * samples)) / scale
    return share, max(0.0, centre - half), min(1.0, centre + half)


def accuracy_report(posted: list[dict]) -> Report:
    """Shares of samples are compared over all rounds, and the spacing of samples by rounds."""
    shares, rights = _shares(posted), _rights(posted)
    comparisons = len(shares) + len(rights)
    rows = [["split", "function", "true, %", "old, %", "new, %", "old again − old", "new − old"]]
    split_differences = _add_differences(rows, shares, comparisons)
    result = Report([Table(rows, "Shares of samples, all rounds; differences in points, with what chance gives")])
    rows = [["busy with", "every", "", "old, right, %", "new, right, %", "old again − old", "new − old"]]
    right_differences = _add_differences(rows, rights, comparisons)
    result.tables.append(Table(rows, "Samples with the right function, all rounds"))
    result.limits += [
        _by_chance("shares of samples", *split_differences, lambda found: found.excess),
        # More right samples are no worse.
        _by_chance(
            "samples with the right function",
            *right_differences,
            lambda found: found.excess if found.value < 0 else 0.0,
        ),
    ]
    _add_spacing(result, posted)
    result.notes.append(
        f"the intervals of shares have {CONFIDENCE:.0%} for all {comparisons} comparisons together, if each sample is "
        "drawn by chance"
    )
    return result


# By the first cells of a row and by variant.
Counts = dict[tuple[str, str, str], dict[str, Count]]


def _shares(posted: list[dict]) -> Counts:
    shares: Counts = {}
    for result in posted:
        for split in result["splits"]:
            leaves = {function: split["leaves"].get(function, 0) for function in split["shares"]}
            leaves["others"] = split["samples"] - sum(leaves.values())
            for function, count in leaves.items():
                true = split["shares"].get(function, 0)
                _add(shares, (split["name"], function, f"{true:g}"), result["variant"], count, split["samples"])
    return shares


def _rights(posted: list[dict]) -> Counts:
    rights: Counts = {}
    for result in posted:
        for run in result["busy"]:
            right = run["samples"] - run["wrong"]
            _add(rights, (run["name"], f"{run['interval']:g} ms", ""), result["variant"], right, run["samples"])
    return rights


def _add(counts: Counts, row: tuple[str, str, str], variant: str, count: int, samples: int):
    before = counts.setdefault(row, dict.fromkeys(VARIANTS, (0, 0)))
    before[variant] = before[variant][0] + count, before[variant][1] + samples


def _add_differences(rows: list[list[str]], counts: Counts, comparisons: int) -> tuple[list, list]:
    """Adds a row for each, and returns the differences of the new build and of the control."""
    measured, controls = [], []
    for row, of_variant in counts.items():
        what = ", ".join(cell for cell in row[:2])
        both = tuple(map(sum, zip(of_variant[OLD], of_variant[OLD_AGAIN])))
        measured.append(difference(what, of_variant[NEW], both, comparisons))
        controls.append(difference(what, of_variant[OLD_AGAIN], of_variant[OLD], comparisons))
        shares = (f"{100 * count / samples:.2f}" for count, samples in (both, of_variant[NEW]))
        rows.append([*row, *shares, controls[-1].shown(), measured[-1].shown()])
    return measured, controls


def _by_chance(
    what: str, measured: list[Difference], controls: list[Difference], excess: Callable[[Difference], float]
) -> Limit:
    """The limit of the share that is the worst, compared with what chance allows. `excess` says how bad one is."""
    worst = max(measured, key=excess)
    control = max(controls, key=lambda found: found.excess)
    return Limit(
        f"{what}, new − old, points",
        {NEW: f"{worst.shown()}, {worst.what}"},
        {NEW: control.shown()},
        "0 within the interval",
        excess(worst) <= 1,
        # 1 if the control is within what chance allows.
        (max(1.0, control.excess),),
        0.0,
    )


def _add_spacing(result: Report, posted: list[dict]):
    programs = list(dict.fromkeys((run["name"], run["interval"]) for run in posted[0]["busy"]))
    rows = [["spacing", *HEADER]]
    for interval in dict.fromkeys(interval for _, interval in programs):
        for what, key in (("mean", "mean"), ("99th percentile", "percentile_99")):
            of_programs = [
                _figure(posted, "accuracy", lambda one, at=(name, interval), key=key: [_run(one, at)[key]])
                for name, of_program in programs
                if of_program == interval
            ]
            mean = mean_side_by_side(of_programs)
            milliseconds = geometric_mean(figure.reference for figure in of_programs)
            shown = f"spacing of samples at {interval:g} ms, {what}"
            rows.append([shown, f"{milliseconds:.3f} ms", *mean.cells()])
            limit = _bounded(shown, mean, MOST_SPACING, SPACING_BAND)
            if key == "mean":
                # The mean is the interval. Too small is as wrong as too large.
                met = round(abs(mean.ratio - 1), 3) <= MEAN_BAND
                result.limits.append(replace(limit, wanted=f"1 ± {MEAN_BAND:g}", met=met))
            else:
                result.limits.append(limit)
    result.tables.append(Table(rows, f"When samples come, means over the programs: {_rounds(posted)}"))


def _run(result: dict, program: tuple[str, float]) -> dict:
    [run] = (run for run in result["busy"] if (run["name"], run["interval"]) == program)
    return run


# Memory


def trace_report(posted: list[dict]) -> Report:
    """The memory of long traces, as in the suite trace."""
    rows = [["what", *HEADER]]
    result = Report([Table(rows, f"Memory with long traces: {_rounds(posted)}")])
    for index, what in enumerate(("memory per sample with tables", "memory per sample without tables")):
        grown = {(one["round"], one["variant"]): growth_per_sample(one)[index] for one in posted}
        # Memory that did not grow is noise, and has no ratio.
        noise = {number for (number, _), growth in grown.items() if growth <= 0}
        kept = [one for one in posted if one["round"] not in noise]
        if noise:
            result.notes.append(f"{what}: {len(noise)} rounds in which it did not grow are left out")
        if not kept:
            result.limits.append(Limit(what, {NEW: "none"}, {NEW: "none"}, f"≤ {MOST_MEMORY:g}", None, (math.inf,)))
            continue
        figure = _figure(kept, "trace", lambda one, index=index: [growth_per_sample(one)[index]])
        rows.append([what, f"{figure.reference:.1f} bytes", *figure.cells()])
        result.limits.append(_bounded(what, figure, MOST_MEMORY, MEMORY_BAND))
    _add_memory(result, rows, "peak memory with the traces", _figure(posted, "trace", _peak_memory))
    return result


def _peak_memory(result: dict) -> list:
    return [result["peakMemory"]]


def _add_memory(result: Report, rows: list[list[str]], what: str, figure: SideBySide, is_limited: bool = True):
    rows.append([what, f"{figure.reference / 1e6:.1f} MB", *figure.cells()])
    if is_limited:
        result.limits.append(_bounded(what, figure, MOST_MEMORY, MEMORY_BAND))


def unprofiled_report(posted: list[dict]) -> Report:
    """The pages of the suite hooks, where nobody profiles. Their times have no limit, because they are too noisy."""
    names = [kernel["name"] for kernel in posted[0]["kernels"]]
    kernels = {
        name: _figure(posted, "kernels", lambda result, index=index: result["kernels"][index]["milliseconds"])
        for index, name in enumerate(names)
    }
    rows = [["what", *HEADER]]
    rows += [[name, f"{figure.reference:.1f} ms", *figure.cells()] for name, figure in kernels.items()]
    rows.append(["geometric mean", "", *mean_side_by_side(kernels.values()).cells()])
    load = _figure(posted, "load", lambda result: result["milliseconds"])
    rows.append(["time of a load", f"{load.reference:.0f} ms", *load.cells()])
    result = Report([Table(rows, f"Time and memory where nobody profiles: {_rounds(posted)}")])
    # This one depends on when the garbage of the kernels is collected.
    _add_memory(result, rows, "peak memory with the kernels", _figure(posted, "kernels", _peak_memory), False)
    _add_memory(result, rows, "peak memory with the loads", _figure(posted, "load", _peak_memory))
    in_use = _figure(posted, "load", lambda one: [one["memory"]])
    _add_memory(result, rows, "memory in use after the loads", in_use)
    return result


# Instructions


def instructions_report(posted: list[dict]) -> Report:
    """The pages of the suite hooks under valgrind. The lowest count of all rounds is compared."""
    rows = [["what", *HEADER]]
    caption = f"Instructions where nobody profiles, the least of the rounds: {_rounds(posted)}"
    result = Report([Table(rows, caption)])
    # The page of the kernels has hardly a document.
    for page, key, what in (
        ("kernels", "instructions", "instructions of the engine, kernels"),
        ("load", "instructions", "instructions of the engine, load"),
        ("load", "documentInstructions", "instructions of documents, load"),
    ):
        figure = least_side_by_side(read_rounds(posted, page, True, lambda one, key=key: [one[key]]), VARIANTS)
        rows.append([what, f"{figure.reference / 1e6:.0f} million", *figure.cells()])
        result.limits.append(bounded(what, figure, MOST_INSTRUCTIONS, COUNTED_BAND, NEW))
    return result


PART_REPORTS: dict[str, Callable[[list[dict]], Report]] = {
    "overhead": overhead_report,
    "stops": stops_report,
    "accuracy": accuracy_report,
    "trace": trace_report,
    "hooks": unprofiled_report,
    "real": libraries_report,
    COUNTED: instructions_report,
}
