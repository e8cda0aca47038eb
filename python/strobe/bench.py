# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach bench: what profiling costs, as ratios measured within one page load, and whether it keeps its promises."""

import argparse
import json
import math
from pathlib import Path

from . import build, paths
from .accuracy import accuracy
from .errors import MachError
from .measurement import PAGES
from .run import read_result, shown_from_here, visit
from .server import PageServer
from .soak import soak
from .table import text_table
from .workers import workers

# A pair takes about 0.3 s, and a round has three of them for each of nine kernels; the rest is room for slow machines.
SECONDS_PER_PAIR = 30.0
SECONDS_BEFORE = 300.0


def bench(options: argparse.Namespace):
    """Runs the suite that the options name; they are those of its command in door.py."""
    binary = build.build(options.release)
    saved = paths.target_dir() / "bench" / f"{options.suite}.json"
    if options.suite == "overhead":
        overhead(binary, options.pairs, saved)
    elif options.suite == "soak":
        soak(binary, saved, options.minutes, options.base_interval_us, options.walker)
    elif options.suite == "accuracy":
        accuracy(binary, saved, options.seconds)
    elif options.suite == "workers":
        workers(binary, saved, options.seconds)


def overhead(binary: Path, pairs: int, saved: Path):
    """Opens the page of the suite, saves the result that it posts and prints its table."""
    print(f"overhead: {pairs} pairs of runs per kernel and interval with the {binary.parent.name} build")

    def received(body: bytes):
        result = read_result(body, "overhead.html")
        text = report(result)
        saved.parent.mkdir(parents=True, exist_ok=True)
        saved.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        print(f"\n{text}\n\nThe figures are in {shown_from_here(saved)}")

    with PageServer(PAGES, inbox="/result") as server:
        bound = SECONDS_BEFORE + SECONDS_PER_PAIR * pairs
        visit(binary, [], server, f"/overhead.html?pairs={pairs}", received, bound)


def report(result: dict) -> str:
    """The table: a row per kernel, a column per comparison, and the geometric means.

    `result` is what overhead.js posts: `comparisons` (name and sampleInterval, null for off/off, and what its
    profilers gave), `kernels` (name, offMs, and a ratio per comparison) and `geometricMeans`.
    """
    try:
        comparisons = result["comparisons"]
        header = ["kernel", "ms off", *(comparison["name"] for comparison in comparisons)]
        rows = [
            [kernel["name"], f"{_positive(kernel['offMs']):.1f}", *(f"{_positive(x):.3f}" for x in kernel["ratios"])]
            for kernel in result["kernels"]
        ]
        means = ["geometric mean", "", *(f"{_positive(mean):.3f}" for mean in result["geometricMeans"])]
        lines = [text_table([header, *rows, means], left=(0,)), ""]
        for comparison in comparisons:
            if comparison["sampleInterval"] is None:
                continue
            samples, with_stack = comparison["samples"], comparison["samplesWithStack"]
            # The ratio of a profiler that takes no samples says nothing.
            if not with_stack:
                raise MachError(f"overhead.html: {comparison['name']}: the profiler gave no sample with a stack")
            lines.append(
                f"{comparison['name']}: true interval {comparison['sampleInterval']:g} ms, {samples} samples, "
                f"{with_stack} of them with a stack"
            )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise MachError(f"overhead.html posted a result of the wrong form: {type(error).__name__}: {error}") from None
    lines.append("A ratio is the median over the pairs of the time on over the time off; off/off is the noise.")
    return "\n".join(lines)


def _positive(value) -> float:
    if not math.isfinite(value) or value <= 0:
        raise ValueError(f"{value} is not a positive number")
    return value
