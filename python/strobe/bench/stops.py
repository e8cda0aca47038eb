# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach bench stops: measures how long a sample stops its thread."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlencode

from ..table import text_table
from .measurement import Measurement, finish, measure, read_measurement

# The page works for one second longer than it is told. The rest is for slow machines.
BOUND_FACTOR = 6.0
BOUND_BEYOND = 300.0
NOTE = (
    "These are times in the signal's handler. The time that the kernel takes to deliver the signal and to return\n"
    "from it is not included. It is a part of what `./mach bench overhead` measures."
)


@dataclass(frozen=True)
class Chain:
    """A chain of nested calls, and the limits of a stop within it."""

    depth: int
    preferences: dict[str, str]
    # In µs.
    most_median: float
    most_percentile_99: float | None


CHAINS = (
    Chain(10, {}, 1.5, 6.0),
    # More frames than are walked of a stack by default.
    Chain(1000, {"js_profiling_max_stack_depth": "4096"}, 30.0, None),
)


def stops(binary: Path, saved: Path, seconds: float):
    """Measures a visit for each chain, which has its own file. The file `saved` has them all."""
    depths = " and ".join(str(chain.depth) for chain in CHAINS)
    print(f"stops: {seconds:g} s each at depth {depths} with the {binary.parent.name} build; leave the machine idle")
    measured = {}
    for chain in CHAINS:
        of_chain = saved.with_name(f"{saved.stem}-{chain.depth}.json")
        measured[chain.depth] = measure_chain(binary, chain, seconds, of_chain)
    save(measured, saved)
    finish(*report(measured), saved)


def measure_chain(binary: Path, chain: Chain, seconds: float, saved: Path) -> Measurement:
    page = "/stops/stops.html?" + urlencode({"depth": chain.depth, "seconds": seconds})
    return measure(binary, page, chain.preferences, BOUND_FACTOR * seconds + BOUND_BEYOND, saved)


def save(measured: dict[int, Measurement], saved: Path):
    first = next(iter(measured.values()))
    measurement = {
        "suite": "stops",
        "when": first.when,
        "machine": first.machine,
        "browsers": first.browsers,
        "chains": {str(depth): asdict(of_chain) for depth, of_chain in measured.items()},
    }
    saved.write_text(json.dumps(measurement, indent=1) + "\n", encoding="utf-8")


def read_chains(saved: dict) -> dict[int, Measurement]:
    """The measurements by depth that `save` has written, from their JSON."""
    return {chain.depth: read_measurement(saved["chains"][str(chain.depth)]) for chain in CHAINS}


def report(measured: dict[int, Measurement]) -> tuple[str, list[str]]:
    """The table and the missed limits of measurements by depth. Their results are what stops.js posts."""
    rows = [["depth", "frames, median", "stops", "median, µs", "99th, µs", "longest, µs"]]
    limits, endings, missed = [], [], []
    for chain in CHAINS:
        measurement, what = measured[chain.depth], f"depth {chain.depth}"
        rows.append([str(chain.depth), *_cells(measurement)])
        wanted = [f"median {chain.most_median:g} µs"]
        if chain.most_percentile_99 is not None:
            wanted.append(f"99th percentile {chain.most_percentile_99:g} µs")
        limits.append(f"{what} {', '.join(wanted)}")
        given = "".join(f", {name}={value}" for name, value in chain.preferences.items())
        load = f"load of the machine in the last minute {measurement.load:.2f}"
        endings.append(f"{what}{given}: {load}. {measurement.ending}")
        missed += [f"{what}: {problem}" for problem in [*_problems(chain, measurement), *measurement.failures()]]
    table = f"{text_table(rows)}\nlimits: {'; '.join(limits)}"
    return "\n\n".join([table, NOTE, "\n".join(endings)]), missed


def _cells(measurement: Measurement) -> list[str]:
    depth = str(measurement.result["medianDepth"]) if measurement.result else ""
    times = measurement.stops
    if times is None:
        return [depth, "", "", "", ""]
    nanoseconds = (times.median, times.percentile_99, times.longest)
    return [depth, str(times.count), *(f"{time / 1000:.2f}" for time in nanoseconds)]


def faults(chain: Chain, measurement: Measurement) -> list[str]:
    """Why the measurement says nothing of the chain's stops."""
    problems = []
    if measurement.result is not None and measurement.result["medianDepth"] < chain.depth:
        problems.append(f"the samples have {measurement.result['medianDepth']} frames: the stacks are not whole")
    if measurement.stops is None:
        problems.append("the sampler logged no stop")
    return problems


def _problems(chain: Chain, measurement: Measurement) -> list[str]:
    problems = faults(chain, measurement)
    times = measurement.stops
    if times is None:
        return problems
    if noise := measurement.noise():
        return problems + noise
    for name, nanoseconds, most in (
        ("median", times.median, chain.most_median),
        ("99th percentile", times.percentile_99, chain.most_percentile_99),
    ):
        if most is not None and nanoseconds > 1000 * most:
            problems.append(f"{name} {nanoseconds / 1000:.2f} µs, more than {most:g} µs")
    return problems
