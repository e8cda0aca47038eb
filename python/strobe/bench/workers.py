# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach bench workers: starts and terminates workers that profile themselves, at random."""

from pathlib import Path
from urllib.parse import urlencode

from ..table import text_table
from .measurement import Measurement, finish, measure
from .process_size import ProcessSize, size_table

# How much more memory may grow than without profilers, in % of its size at the start. What Servo and the allocator
# keep of ended workers differs from run to run. A leak in each of a run's thousands of sessions would be many times
# this.
MORE_MEMORY = 5.0
BOUND_FACTOR = 2.0
# The warm-up, two checkpoints, and room for slow machines.
BOUND_BEYOND = 300.0


def workers(binary: Path, saved: Path, seconds: float):
    """Measures first without profilers, as the control, and then with them."""
    control = run(binary, saved.with_name(f"{saved.stem}-control.json"), seconds, profile=False)
    measured = run(binary, saved, seconds, profile=True)
    finish(*report(control, measured), saved)


def run(binary: Path, saved: Path, seconds: float, profile: bool) -> Measurement:
    what = "with" if profile else "without"
    print(f"workers: {seconds:g} s {what} profilers with the {binary.parent.name} build")
    page = "/workers/workers.html?" + urlencode({"seconds": seconds, "profile": "yes" if profile else "no"})
    return measure(binary, page, {}, BOUND_FACTOR * seconds + BOUND_BEYOND, saved)


def report(control: Measurement, measured: Measurement) -> tuple[str, list[str]]:
    """The tables, and the limits that are missed. The page's result is what workers.js posts."""
    parts, missed = [], []
    for name, measurement in (("without profilers", control), ("with profilers", measured)):
        if measurement.result is not None:
            parts.append(f"{name}: {_what_was_done(measurement.result)}")
            if measurement is measured and not measurement.result["workers"]["stacks"]:
                missed.append("no worker gave a trace with a stack")
        if measurement.sizes:
            parts.append(size_table(measurement.sizes))
        parts.append(measurement.ending)
    moments = {"start", "end"}
    if moments <= control.sizes.keys() and moments <= measured.sizes.keys():
        missed += leaks(control.sizes, measured.sizes)
    return "\n\n".join(parts), missed + control.failures() + measured.failures()


def _what_was_done(result: dict) -> str:
    sums = result["workers"]
    rows = [["event loops", "samples", "with stack", "in known root"]]
    rows.append(["page", *(str(result["page"][name]) for name in ("samples", "stacks", "right"))])
    rows.append(["workers", *(str(sums[name]) for name in ("samples", "stacks", "right"))])
    return (
        f"{sums['workersStarted']} workers started by the page, {sums['terminated']} terminated by it; "
        f"{sums['started']} sessions begun in workers, {sums['finished']} finished\n\n{text_table(rows, left=(0,))}"
    )


def leaks(control: dict[str, ProcessSize], sizes: dict[str, ProcessSize]) -> list[str]:
    """What the process has more of at the end than at the start."""
    start, end = sizes["start"], sizes["end"]
    problems = []
    for name in ("threads", "files"):
        before, after = getattr(start, name), getattr(end, name)
        if after > before:
            problems.append(f"{after} {name} at the end, {before} at the start")
    grown = _growth(sizes)
    grown_without = _growth(control)
    if grown > grown_without + MORE_MEMORY:
        problems.append(f"memory has grown by {grown:.0f} %, and by {grown_without:.0f} % without profilers")
    return problems


def _growth(sizes: dict[str, ProcessSize]) -> float:
    """The growth of memory in % of its size at the start."""
    return 100 * (sizes["end"].memory / sizes["start"].memory - 1)
