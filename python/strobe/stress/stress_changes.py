# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Runs of `./mach stress` in which tests/stress/engine_changes.js alone is run, in exactly one configuration.

Its programs change what the engine holds while profilers look at the stack, and check every value that they read.
"""

import itertools
import json
from dataclasses import dataclass

from .stress_report import Totals

FEATURE = "engine-changes"
WALKERS = ("table", "stock")
# In µs.
INTERVALS = {"100us": 100, "1ms": 1000}
# The event loops that run the programs: those of documents, or of their workers alone.
PLACES = ("page", "worker")
PROCESSES = ("single", "multiprocess")
# Seconds in one browser.
EPISODE_SECONDS = 60.0
# Too little time for a browser to start and its pages to do something.
LEAST_SECONDS = 5.0
# In what pages count: of each program, before its name.
READS_OF = "checkedReads of "


@dataclass(frozen=True)
class Configuration:
    walker: str
    interval: str
    place: str
    processes: str

    @property
    def name(self) -> str:
        return f"{FEATURE}:{self.walker},{self.interval},{self.place},{self.processes}"

    def options(self) -> list[str]:
        """What the browser is started with."""
        preferences = {
            "js_profiling_stock_walker": self.walker == "stock",
            "js_profiling_base_interval_us": INTERVALS[self.interval],
        }
        options = [f"--pref={name}={json.dumps(value)}" for name, value in preferences.items()]
        return [*options, *(["--multiprocess"] if self.processes == "multiprocess" else [])]


# By name, as --feature has it.
CONFIGURATIONS = {
    configuration.name: configuration
    for configuration in itertools.starmap(Configuration, itertools.product(WALKERS, INTERVALS, PLACES, PROCESSES))
}
# How to write the name of one.
FORM = f"{FEATURE}:{','.join('|'.join(names) for names in (WALKERS, INTERVALS, PLACES, PROCESSES))}"


def reads_by_program(totals: Totals) -> dict[str, int]:
    return {
        name.removeprefix(READS_OF): reads for name, reads in sorted(totals.counts.items()) if name.startswith(READS_OF)
    }


def what_was_not_done(totals: Totals, profile: bool) -> list[str]:
    """What a run of a configuration must have done and has not; without that its other results say nothing."""
    missing = [f"{program} has read nothing" for program, reads in reads_by_program(totals).items() if not reads]
    if not totals.counts.get("checkedReads"):
        missing.append("no value was read")
    if profile and not totals.counts.get("samplesWithStack"):
        missing.append("no sample has a stack")
    return missing


def summary(configuration: Configuration, totals: Totals) -> str:
    """The result in a few lines, of which the last has it all."""
    counts = totals.counts
    lines = [f"  {program}: {reads:,}" for program, reads in reads_by_program(totals).items()]
    failures = len(totals.failures)
    lines.append(
        f"{configuration.name}: {totals.seconds:.0f} s, {counts.get('checkedReads', 0):,} checked reads, "
        f"{counts.get('wrongValues', 0):,} wrong values, {counts.get('samples', 0):,} samples "
        f"({counts.get('samplesWithStack', 0):,} with a stack), {counts.get('crashes', 0)} crashes, {failures} failures"
    )
    return "\n".join(["Checked reads by program:", *lines])
