# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach bench accuracy: checks that samples are right, come in time, and have the right shares."""

import statistics
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlencode

from ..table import text_table
from .measurement import Measurement, finish, measure

# In %.
LEAST_RIGHT = 99.5
# Samples come at random distances. One in a hundred is longer than 2.9 intervals: see js_profiler `ticks.rs`.
MOST_OFF_MEAN = 2.0
MOST_99TH = 3.5
MOST_MISSING = 1.0
CROWD_BAND = (99.0, 101.0)
# In percentage points.
MOST_OFF_SHARE = 2.0
# The interval at which the spacing is judged, in ms.
JUDGED_INTERVAL = 10

# The page works for about three times the seconds of its splits; the rest is room for slow machines.
BOUND_FACTOR = 6.0
BOUND_BEYOND = 300.0
# The most wrong stacks of a program that are shown. All of them are saved.
WRONG_SHOWN = 3


@dataclass(frozen=True)
class Spacing:
    """The spacing of the samples of a busy run, in ms, and the percentage of due samples that are missing."""

    mean: float
    percentile_99: float
    missing: float


def accuracy(binary: Path, saved: Path, seconds: float):
    print(f"accuracy: {seconds:g} s of splits and more with the {binary.parent.name} build; leave the machine idle")
    finish(*report(measure_page(binary, seconds, saved)), saved)


def measure_page(binary: Path, seconds: float, saved: Path) -> Measurement:
    page = "/accuracy/accuracy.html?" + urlencode({"seconds": seconds})
    return measure(binary, page, {}, BOUND_FACTOR * seconds + BOUND_BEYOND, saved)


def report(measurement: Measurement) -> tuple[str, list[str]]:
    """The tables, and the limits that are missed. The page's result is what accuracy.js posts."""
    parts, missed = [], []
    if measurement.result is not None:
        # Beside other programs samples come late or not at all, but they are as right.
        noise = measurement.noise()
        for part in (partial(report_busy, noise=noise), report_splits, partial(report_crowd, noise=noise)):
            text, more = part(measurement.result)
            parts.append(text)
            missed += more
    counts = measurement.counts
    shares = ", ".join(f"{counts.share(name):.3f} % {name}" for name in ("missed", "collecting", "unwalkable"))
    parts.append(f"Load of the machine in the last minute: {measurement.load:.2f}; about 1 is our own")
    parts.append(f"The sampler: {counts.taken} samples in {measurement.sessions} sessions, {shares}")
    parts.append(measurement.ending)
    return "\n\n".join(parts), missed + measurement.failures()


def spacing(timestamps: list[float], interval: float, milliseconds: float) -> Spacing:
    """The spacing of samples, taken at an interval during a time, all in ms. Fewer than three samples have none."""
    due = milliseconds / interval
    missing = 100 * max(0.0, 1 - len(timestamps) / due)
    if len(timestamps) < 3:
        return Spacing(float("inf"), float("inf"), missing)
    differences = [after - before for before, after in pairwise(timestamps)]
    return Spacing(statistics.fmean(differences), statistics.quantiles(differences, n=100)[98], missing)


def report_busy(result: dict, noise: list[str] = ()) -> tuple[str, list[str]]:
    """Busy programs: how many samples have the right function, and when they came, unless there is too much noise."""
    rows = [["busy with", "every", "samples", "right, %", "mean, ms", "99th, ms", "missing, %"]]
    wrong_lines, missed = [], []
    for run in result["busy"]:
        interval, samples = run["interval"], len(run["timestamps"])
        what = f"{run['name']} at {interval:g} ms"
        wrong = sum(run["wrong"].values())
        right = 100 * (1 - wrong / samples) if samples else 0.0
        apart = spacing(run["timestamps"], interval, run["milliseconds"])
        rows.append(
            [
                run["name"],
                f"{interval:g} ms",
                str(samples),
                f"{right:.2f}",
                f"{apart.mean:.2f}",
                f"{apart.percentile_99:.2f}",
                f"{apart.missing:.2f}",
            ]
        )
        for stack, count in sorted(run["wrong"].items(), key=lambda item: -item[1])[:WRONG_SHOWN]:
            wrong_lines.append(f"wrong in {what}: {count} samples, as {stack}")
        if right < LEAST_RIGHT:
            missed.append(f"{what}: {right:.2f} % of the samples right, fewer than {LEAST_RIGHT:g} %")
        if interval == JUDGED_INTERVAL:
            missed += [f"{what}: {problem}" for problem in noise or _spacing_problems(apart, interval)]
    limits = (
        f"limits: right {LEAST_RIGHT:g} %; at {JUDGED_INTERVAL} ms mean within {MOST_OFF_MEAN:g} %, "
        f"99th percentile {MOST_99TH:g} intervals, missing {MOST_MISSING:g} %"
    )
    return "\n".join([text_table(rows, left=(0,)), limits, *wrong_lines]), missed


def _spacing_problems(apart: Spacing, interval: float) -> list[str]:
    problems = []
    if abs(apart.mean - interval) > interval * MOST_OFF_MEAN / 100:
        problems.append(f"mean spacing {apart.mean:.2f} ms, not within {MOST_OFF_MEAN:g} % of the interval")
    if apart.percentile_99 > MOST_99TH * interval:
        percentile = f"{apart.percentile_99:.2f} ms"
        problems.append(f"99th percentile of the spacing {percentile}, more than {MOST_99TH:g} intervals")
    if apart.missing > MOST_MISSING:
        problems.append(f"{apart.missing:.2f} % of the samples missing, more than {MOST_MISSING:g} %")
    return problems


def report_splits(result: dict) -> tuple[str, list[str]]:
    """Programs with known shares of time: the shares of the samples that end in each function."""
    rows = [["split", "samples", "function", "true, %", "sampled, %"]]
    missed = []
    for split in result["splits"]:
        samples = split["samples"]
        for function, true_share in split["shares"].items():
            share = 100 * split["leaves"].get(function, 0) / samples if samples else 0.0
            rows.append([split["name"], str(samples), function, f"{true_share:g}", f"{share:.2f}"])
            if abs(share - true_share) > MOST_OFF_SHARE:
                missed.append(f"{split['name']}: {function} has {share:.2f} % instead of {true_share:g} %")
        others = sum(count for leaf, count in split["leaves"].items() if leaf not in split["shares"])
        rows.append(["", "", "others", "", f"{100 * others / samples if samples else 0.0:.2f}"])
    text = text_table(rows, left=(0, 2))
    return f"{text}\nlimit: within {MOST_OFF_SHARE:g} points", missed


def report_crowd(result: dict, noise: list[str] = ()) -> tuple[str, list[str]]:
    """Many profilers at once: the samples of each, in % of those that were due, by interval."""
    shares: dict[float, list[float]] = {}
    for member in result["crowd"]:
        due = member["milliseconds"] / member["interval"]
        shares.setdefault(member["interval"], []).append(100 * member["samples"] / due)
    rows = [["profilers", "every", "least, %", "median, %", "most, %"]]
    missed = []
    least, most = CROWD_BAND
    for interval, group in sorted(shares.items()):
        figures = [min(group), statistics.median(group), max(group)]
        rows.append([str(len(group)), f"{interval:g} ms", *(f"{figure:.2f}" for figure in figures)])
        outside = [share for share in group if not least <= share <= most]
        if noise:
            missed += [f"{len(group)} profilers at {interval:g} ms: {problem}" for problem in noise]
        elif outside:
            missed.append(
                f"{len(outside)} of {len(group)} profilers at {interval:g} ms got {min(outside):.2f} to "
                f"{max(outside):.2f} % of their samples"
            )
    return f"{text_table(rows)}\nlimits: {least:g} to {most:g} %", missed
