# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach bench soak: runs programs whose stacks are hard to walk, for minutes."""

from pathlib import Path
from urllib.parse import urlencode

from ..table import text_table
from .measurement import Measurement, finish, measure
from .process_size import size_table

# In %.
MOST_UNWALKABLE = 0.1
LEAST_IN_ROOT = 99.9
# Seconds in addition to the soak itself: for the start, and for checking the traces.
BOUND_BEYOND = 300.0
# The most mistakes that are shown. All of them are saved.
MISTAKES_SHOWN = 20


def soak(binary: Path, saved: Path, minutes: float, base_interval_us: int):
    print(f"soak: {minutes:g} min at {base_interval_us} µs with the {binary.parent.name} build")
    page = "/soak/soak.html?" + urlencode({"minutes": minutes})
    preferences = {"js_profiling_base_interval_us": str(base_interval_us)}
    measurement = measure(binary, page, preferences, 60 * minutes * 1.5 + BOUND_BEYOND, saved)
    finish(*report(measurement), saved)


def report(measurement: Measurement) -> tuple[str, list[str]]:
    """The tables, and the limits that are missed.

    The page's result is what soak.js posts: `page` and `workers` are sums as callgraph.js makes them.
    """
    counts = measurement.counts
    rows = [["sampler", "samples", "%", "limit"], ["taken", str(counts.taken), "", ""]]
    for name in ("missed", "collecting", "unwalkable", "truncated"):
        limit = f"{MOST_UNWALKABLE:g}" if name == "unwalkable" else ""
        rows.append([name, str(getattr(counts, name)), f"{counts.share(name):.3f}", limit])
    parts = [f"{measurement.sessions} sessions ended in order", text_table(rows, left=(0,))]
    if measurement.reasons:
        reasons = sorted(measurement.reasons.items(), key=lambda item: -item[1])
        parts.append("\n".join(f"unwalkable: {why}: {count}" for why, count in reasons))
    missed = []
    if not counts.taken:
        missed.append("no session was logged: the sampler took no sample")
    if counts.share("unwalkable") > MOST_UNWALKABLE:
        missed.append(f"{counts.share('unwalkable'):.3f} % of the samples unwalkable, more than {MOST_UNWALKABLE:g} %")
    if measurement.result is not None:
        text, more = _report_stacks(measurement.result)
        parts.append(text)
        missed += more
    if measurement.sizes:
        parts.append(size_table(measurement.sizes))
    parts.append(measurement.ending)
    return "\n\n".join(parts), missed + measurement.failures()


def _report_stacks(result: dict) -> tuple[str, list[str]]:
    """The sums over the traces of the page and of the workers."""
    sums = {"page": result["page"], "workers": result["workers"]}
    rows = [["event loops", "sessions", "samples", "with stack", "cut at 512", "in known root", "%", "false edges"]]
    missed = []
    for name, loop in sums.items():
        whole = loop["stacks"] - loop["cut"]
        in_root = 100 * loop["inRoot"] / whole if whole else 0.0
        false = sum(edge["samples"] for edge in loop["falseEdges"].values())
        numbers = [loop["sessions"], loop["samples"], loop["stacks"], loop["cut"], loop["inRoot"]]
        rows.append([name, *map(str, numbers), f"{in_root:.3f}", str(false)])
        if not whole:
            missed.append(f"{name}: no stacks")
        elif in_root < LEAST_IN_ROOT:
            missed.append(f"{name}: {in_root:.3f} % of the stacks end in a known root, fewer than {LEAST_IN_ROOT:g} %")
        if false:
            missed.append(f"{name}: {false} samples with a false edge")
    rounds, started = result["rounds"], result["workersStarted"]
    parts = [
        text_table(rows, left=(0,)),
        f"{rounds} rounds of the page, {started} workers started, interval {result['sampleInterval']:g} ms",
    ]
    for kind, what in (("falseEdges", "false edge"), ("falseRoots", "false root")):
        for name, loop in sums.items():
            parts += mistake_lines(f"{name}: {what}", loop[kind])
    return "\n".join(parts), missed


def mistake_lines(what: str, mistakes: dict[str, dict]) -> list[str]:
    """A line for each mistake, the most frequent first, with the number of samples and an example."""
    lines = []
    for mistake, found in sorted(mistakes.items(), key=lambda item: -item[1]["samples"]):
        lines.append(f"{what} {mistake}: {found['samples']} samples, as {found['example']}")
    if len(lines) > MISTAKES_SHOWN:
        lines[MISTAKES_SHOWN:] = [f"{what}: {len(lines) - MISTAKES_SHOWN} more"]
    return lines
