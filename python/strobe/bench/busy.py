# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach bench busy: the samples of a page beside programs that want all processors."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from ..server import ALLOWING_HEADERS
from ..table import text_table
from .browsers import Browser
from .measurement import finish
from .visits import SECONDS_PER_VISIT, Generated, Visit, add_round, begin, duration, measure_apart

# How many programs are busy beside the browser. Without any is the control.
PROGRAMS = (0, 2, 4, 8)
# In ms.
INTERVALS = (1, 10)
# Of the ticks at which the page's thread ran, in %, at the first interval.
LEAST_SAMPLES = 90.0
# In percentage points, beyond what chance allows.
MOST_OFF_SHARE = 1.0
# Without busy programs the thread runs at least for so much of the time, in %, on a machine that is idle otherwise.
LEAST_RUN = 90.0
# Half of the interval that has 95 % of a normal distribution, in standard deviations.
NORMAL_95 = 1.96
WARM_UP_SECONDS = 2.0


@dataclass(frozen=True)
class Run:
    """One number of programs in one browser, all rounds together."""

    browser: str
    programs: int
    # In ms, like the time of the clock. The others are in s.
    interval: int
    milliseconds: float
    ran: float
    samples: int
    # Of the functions whose shares are known.
    function: str
    true_share: float
    of_function: int

    @property
    def run_share(self) -> float:
        """For how much of the time the thread ran, in %."""
        return 100_000 * self.ran / self.milliseconds

    @property
    def of_ran(self) -> float:
        """The samples, in % of the ticks at which the thread ran."""
        return 100 * self.samples * self.interval / (1000 * self.ran)

    @property
    def of_all(self) -> float:
        """The samples, in % of all ticks."""
        return 100 * self.samples * self.interval / self.milliseconds

    @property
    def share(self) -> float:
        return 100 * self.of_function / self.samples if self.samples else 0.0

    @property
    def chance(self) -> float:
        """How far the share may be from the truth by chance, in percentage points."""
        return NORMAL_95 * (self.true_share * (100 - self.true_share) / max(1, self.samples)) ** 0.5


def busy(measured: list[Browser], saved: Path, seconds: float, rounds: int):
    visits = len(measured) * len(PROGRAMS) * len(INTERVALS) * rounds
    takes = duration(visits * (seconds + WARM_UP_SECONDS + SECONDS_PER_VISIT))
    names = " and ".join(f"{browser.name} {browser.version}" for browser in measured)
    build = measured[0].build
    print(f"busy: {seconds:g} s in {rounds} rounds, in {names}, the {build} build; takes about {takes}", flush=True)
    settings = {"rounds": rounds, "seconds": seconds}
    measurement, log = begin("busy", [browser.described() for browser in measured], settings, saved)
    for number in range(rounds):
        results = [measure(browser, seconds, log) for browser in measured]
        add_round(measurement, number, results, saved)
        print(f"round {number + 1} of {rounds} is done", flush=True)
    finish(*report(measurement), saved)


def measure(browser: Browser, seconds: float, log: Path) -> list[dict]:
    """The results of a browser in a round."""
    results = []
    for programs in PROGRAMS:
        for interval in INTERVALS:
            page = "/busy/busy.html?" + urlencode({"seconds": seconds, "interval": interval})
            visit = Visit(page, seconds * (1 + programs), ALLOWING_HEADERS, {"programs": programs})
            with busy_programs(programs):
                results += measure_apart([(browser, visit)], log, Generated)
    return results


@contextlib.contextmanager
def busy_programs(count: int) -> Iterator[None]:
    """Programs that do nothing but run."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for program in running:
            program.kill()
        for program in running:
            program.wait()


def runs(measurement: dict) -> list[Run]:
    found = []
    for browser in measurement["browsers"]:
        groups: dict[tuple[int, int], list[dict]] = {}
        for result in browser["results"]:
            groups.setdefault((result["interval"], result["programs"]), []).append(result)
        for (interval, programs), results in sorted(groups.items()):
            function, true_share = next(iter(results[0]["shares"].items()))
            found.append(
                Run(
                    browser["name"],
                    programs,
                    interval,
                    sum(result["milliseconds"] for result in results),
                    sum(ran(result) for result in results),
                    sum(sum(result["leaves"].values()) for result in results),
                    function,
                    true_share,
                    sum(result["leaves"].get(function, 0) for result in results),
                )
            )
    return found


def ran(result: dict) -> float:
    """For how long the page's thread ran, in s: it is the busiest one."""
    nothing = [0.0, 0.0]
    return max(after[0] - result["before"].get(thread, nothing)[0] for thread, after in result["after"].items())


def report(measurement: dict) -> tuple[str, list[str]]:
    """The table, and the limits that are missed. Those are of the first browser."""
    found = runs(measurement)
    rows = [["browser", "every", "busy programs", "thread ran, %", "samples", "of these ticks, %", "of all ticks, %"]]
    rows[0] += ["function", "true, %", "sampled, %", "by chance"]
    for run in found:
        rows.append(
            [
                run.browser,
                f"{run.interval} ms",
                str(run.programs),
                f"{run.run_share:.1f}",
                str(run.samples),
                f"{run.of_ran:.1f}",
                f"{run.of_all:.1f}",
                run.function,
                f"{run.true_share:g}",
                f"{run.share:.2f}",
                f"± {run.chance:.2f}",
            ]
        )
    limits = (
        f"limits: at {INTERVALS[0]} ms samples at {LEAST_SAMPLES:g} % of the ticks at which the thread ran; "
        f"shares within {MOST_OFF_SHARE:g} point beyond chance"
    )
    processors = f"{len(os.sched_getaffinity(0))} processors"
    return "\n".join([text_table(rows, left=(0, 7)), processors, limits]), missed_limits(found)


def missed_limits(found: list[Run]) -> list[str]:
    ours = [run for run in found if run.browser == found[0].browser]
    controls = [run for run in ours if not run.programs]
    noise = [
        f"too noisy: without busy programs the thread ran for {run.run_share:.1f} % of the time, not {LEAST_RUN:g} %"
        for run in controls
        if run.run_share < LEAST_RUN
    ]
    if noise:
        return noise
    missed = []
    for run in ours:
        what = f"{run.programs} busy programs, {run.interval} ms"
        if run.interval == INTERVALS[0] and run.of_ran < LEAST_SAMPLES:
            missed.append(f"{what}: samples at {run.of_ran:.1f} % of the ticks at which the thread ran")
        if abs(run.share - run.true_share) > MOST_OFF_SHARE + run.chance:
            missed.append(f"{what}: {run.function} has {run.share:.2f} % instead of {run.true_share:g} %")
    return missed
