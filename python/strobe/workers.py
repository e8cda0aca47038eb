# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach bench workers: workers that profile themselves, come and go at random."""

from pathlib import Path
from urllib.parse import urlencode

from .measurement import Measurement, finish, measure
from .process_size import ProcessSize, size_table
from .table import text_table

# In % of what it was at the start. An allocator gives back late what it has at hand; a leak of what a worker takes
# is many times this, with the hundreds of workers of a run.
MOST_MEMORY = 110.0
BOUND_FACTOR = 2.0
# The warm-up, two checkpoints, and room for slow machines.
BOUND_BEYOND = 300.0


def workers(binary: Path, saved: Path, seconds: float, profile: bool = True):
    what = "" if profile else " without profilers"
    print(f"workers: {seconds:g} s{what} with the {binary.parent.name} build")
    page = "/workers/workers.html?" + urlencode({"seconds": seconds, "profile": "yes" if profile else "no"})
    measurement = measure(binary, page, {}, BOUND_FACTOR * seconds + BOUND_BEYOND, saved)
    finish(*report(measurement, profile), saved)


def report(measurement: Measurement, profile: bool = True) -> tuple[str, list[str]]:
    """The tables, and the limits that are missed. The page's result is what workers.js posts."""
    parts, missed = [], []
    result = measurement.result
    if result is not None:
        sums = result["workers"]
        parts.append(
            f"{sums['workersStarted']} workers started by the page, {sums['terminated']} terminated by it; "
            f"{sums['started']} sessions begun in workers, {sums['finished']} finished"
        )
        rows = [["event loops", "samples", "with stack", "in known root"]]
        rows.append(["page", *(str(result["page"][name]) for name in ("samples", "stacks", "right"))])
        rows.append(["workers", *(str(sums[name]) for name in ("samples", "stacks", "right"))])
        parts.append(text_table(rows, left=(0,)))
        if profile and not sums["stacks"]:
            missed.append("no worker gave a trace with a stack")
    if {"start", "end"} <= measurement.sizes.keys():
        parts.append(size_table(measurement.sizes))
        missed += leaks(measurement.sizes["start"], measurement.sizes["end"])
    parts.append(measurement.ending)
    return "\n\n".join(parts), missed + measurement.failures()


def leaks(start: ProcessSize, end: ProcessSize) -> list[str]:
    """What the process holds more of at the end than at the start."""
    problems = []
    for name in ("threads", "files"):
        before, after = getattr(start, name), getattr(end, name)
        if after > before:
            problems.append(f"{after} {name} at the end, {before} at the start")
    if end.memory * 100 > start.memory * MOST_MEMORY:
        problems.append(f"memory at the end is {100 * end.memory / start.memory:.0f} % of that at the start")
    return problems
