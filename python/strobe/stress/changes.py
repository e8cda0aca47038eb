# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Runs of `./mach stress` that run only tests/stress/engine_changes.js, in exactly one configuration.

Its programs change the engine's data while profilers walk the stack, and check every value that they read.
"""

import itertools
from dataclasses import dataclass

from .report import Totals

FEATURE = "engine-changes"
# In µs.
INTERVALS = {"100us": 100, "1ms": 1000}
# The event loops that run the programs: those of documents, or only those of their workers.
PLACES = ("page", "worker")
PROCESSES = ("single", "multiprocess")
# How long one browser runs, in seconds.
EPISODE_SECONDS = 60.0
# In less time than this a browser cannot start and its pages cannot do anything.
LEAST_SECONDS = 5.0
# The counts of pages have this before the name of each program.
READS_OF = "checkedReads of "


@dataclass(frozen=True)
class Configuration:
    interval: str
    place: str
    processes: str

    @property
    def name(self) -> str:
        return f"{FEATURE}:{self.interval},{self.place},{self.processes}"

    def options(self) -> list[str]:
        """The options of the browser."""
        interval = f"--pref=js_profiling_base_interval_us={INTERVALS[self.interval]}"
        return [interval, *(["--multiprocess"] if self.processes == "multiprocess" else [])]


# By the name that --feature takes.
CONFIGURATIONS = {
    configuration.name: configuration
    for configuration in itertools.starmap(Configuration, itertools.product(INTERVALS, PLACES, PROCESSES))
}
# The form of such a name.
FORM = f"{FEATURE}:{','.join('|'.join(names) for names in (INTERVALS, PLACES, PROCESSES))}"


def reads_by_program(totals: Totals) -> dict[str, int]:
    return {
        name.removeprefix(READS_OF): reads for name, reads in sorted(totals.counts.items()) if name.startswith(READS_OF)
    }


def what_was_not_done(totals: Totals, profile: bool) -> list[str]:
    """What a run of a configuration should have done but has not. Without it the other results mean nothing."""
    missing = [f"{program} has read nothing" for program, reads in reads_by_program(totals).items() if not reads]
    if not totals.counts.get("checkedReads"):
        missing.append("no value was read")
    if profile and not totals.counts.get("samplesWithStack"):
        missing.append("no sample has a stack")
    return missing


def summary(configuration: Configuration, totals: Totals) -> str:
    """The result in a few lines. The last line sums it up."""
    counts = totals.counts
    lines = [f"  {program}: {reads:,}" for program, reads in reads_by_program(totals).items()]
    failures = len(totals.failures)
    lines.append(
        f"{configuration.name}: {totals.seconds:.0f} s, {counts.get('checkedReads', 0):,} checked reads, "
        f"{counts.get('wrongValues', 0):,} wrong values, {counts.get('samples', 0):,} samples "
        f"({counts.get('samplesWithStack', 0):,} with a stack), {counts.get('crashes', 0)} crashes, {failures} failures"
    )
    return "\n".join(["Checked reads by program:", *lines])
