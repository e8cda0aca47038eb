# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""A watchdog that tells a hang from a wait.

What is late may be so because we have stopped the process, or because the machine has no processor for it. So the
watchdog counts only the time in which the process could have run: none while it is stopped, and none of what its
threads waited for a processor, as the kernel counts it.
"""

import contextlib
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from .. import process_tree

# Seconds that a process could have run in which nothing of what it owes has come.
BOUND = 60.0
# Beyond so many seconds by the clock on the wall nothing excuses it but our having stopped it.
HARD_BOUND = 300.0
# A verdict begins with it.
HANG = "hang: "
# States of /proc/PID/stat of who cannot run: by a signal, or by a debugger.
STOPPED = ("T", "t")


@dataclass(frozen=True)
class Activity:
    """What a group of processes has done since it was started, in seconds."""

    # Of processor time.
    ran: float
    # The longest that one of the threads waited for a processor, by thread.
    waited: dict[int, float]
    # Whether one of the processes is stopped, or all that there are have ended.
    stopped: bool = False


def read_activity(pids: list[int], proc: Path = Path("/proc")) -> Activity:
    """The activity of processes; those that have ended are passed over."""
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
    """Watches whether something comes that a browser owes, such as the heartbeats of one of its pages."""

    what: str
    bound: float = BOUND
    clock: object = time.monotonic
    # In seconds, since the last sign of life: in which it could have run, and by the clock while it was not stopped.
    counted: float = 0.0
    elapsed: float = 0.0
    # Of processor time that it took meanwhile.
    ran: float = 0.0
    # When the last sign of life came, for who finds them later.
    last_seen: float | None = None
    _last: tuple[float, Activity] | None = field(default=None, repr=False)

    def alive(self):
        """A sign of life."""
        self.counted = self.elapsed = self.ran = 0.0

    def look(self, activity: Activity) -> str | None:
        """Says what is wrong if it hangs. To be called some times a second."""
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
        if self.counted <= self.bound and self.elapsed <= HARD_BOUND:
            return None
        how = "busy" if self.ran > self.elapsed / 4 else "idle"
        return (
            f"{HANG}{self.what} has not come in {self.elapsed:.0f} s, in {self.counted:.0f} of which the browser could "
            f"have run; it was {how}: {self.ran:.1f} s of processor time"
        )
