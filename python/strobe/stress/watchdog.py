# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""A watchdog that tells a hang from a delay.

A process may be late because we have stopped it, or because the machine has no processor for it. So the watchdog
counts only the time in which the process could have run. It leaves out the time in which the process was stopped, and
the time that its threads waited for a processor, as the kernel counts it.
"""

import contextlib
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from .. import process_tree
from ..slowness import scaled

# A process hangs if it could have run for more seconds than this without the sign of life that is watched.
BOUND = 60.0
# After more seconds of real time than this, waiting for a processor does not excuse it. Time while stopped is
# left out.
HARD_BOUND = 300.0
# Begins each verdict.
HANG = "hang: "
# Stands in the verdict of a browser that used its processors.
BUSY = "; it was busy: "
# What takes more than this share of the time is busy.
BUSY_SHARE = 0.25
# States in /proc/PID/stat of a process that is stopped, by a signal or by a debugger.
STOPPED = ("T", "t")


@dataclass(frozen=True)
class Activity:
    """What a group of processes has done since it was started, in seconds."""

    # The processor time.
    ran: float
    # How long each thread has waited for a processor.
    waited: dict[int, float]
    # Whether one of the processes is stopped.
    stopped: bool = False


def read_activity(pids: list[int], proc: Path = Path("/proc")) -> Activity:
    """The activity of processes, without those that have ended."""
    ran = 0.0
    waited = {}
    stopped = False
    for pid in pids:
        with contextlib.suppress(OSError):
            stat = process_tree.read_stat(pid, proc)
            stopped |= stat[0] in STOPPED
            ran += (int(stat[11]) + int(stat[12])) / process_tree.CLOCK_TICKS
            for task in os.listdir(proc / str(pid) / "task"):
                with contextlib.suppress(OSError, IndexError):
                    schedule = (proc / str(pid) / "task" / task / "schedstat").read_text(encoding="utf-8").split()
                    waited[int(task)] = int(schedule[1]) / 1e9
    return Activity(ran, waited, stopped)


@dataclass
class Watchdog:
    """Watches for signs of life of a browser, such as the heartbeats of one of its pages."""

    what: str
    bound: float = BOUND
    clock: object = time.monotonic
    # Seconds since the last sign of life: those in which it could have run, and all in which it was not stopped.
    counted: float = 0.0
    elapsed: float = 0.0
    # The processor time that it took meanwhile.
    ran: float = 0.0
    # The time of the last sign of life, for a caller that learns of it later.
    last_seen: float | None = None
    _last: tuple[float, Activity] | None = field(default=None, repr=False)

    def alive(self):
        """Notes a sign of life."""
        self.counted = self.elapsed = self.ran = 0.0

    def look(self, activity: Activity) -> str | None:
        """Returns what is wrong if the browser hangs. To be called several times a second."""
        now = self.clock()
        if self._last is not None:
            then, before = self._last
            passed = now - then
            if not activity.stopped and not before.stopped:
                lost = max(
                    (waited - before.waited.get(thread, waited) for thread, waited in activity.waited.items()),
                    default=0.0,
                )
                self.counted += max(0.0, passed - lost)
                self.elapsed += passed
                self.ran += max(0.0, activity.ran - before.ran)
        self._last = (now, activity)
        return self.verdict()

    def verdict(self) -> str | None:
        if self.counted <= scaled(self.bound) and self.elapsed <= scaled(HARD_BOUND):
            return None
        how = BUSY if self.ran > self.elapsed * BUSY_SHARE else "; it was idle: "
        return (
            f"{HANG}{self.what} has not come in {self.elapsed:.0f} s, in {self.counted:.0f} of which the browser could "
            f"have run{how}{self.ran:.1f} s of processor time"
        )
