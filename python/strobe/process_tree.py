# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The processor time and memory of all processes of a browser, and the time of their threads, from /proc.

Chromium, and Strobe with --multiprocess, have several processes.
"""

import contextlib
import os
import re
from pathlib import Path

from .errors import MachError

PROC = Path("/proc")
# Positions of numbers in /proc/PID/stat, counted from the state; see proc(5).
PARENT = 1
# User and system time of the process itself, then of its children that have ended.
PROCESSOR_TIMES = slice(11, 15)
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


def read_stat(pid: int, proc: Path = PROC) -> list[str]:
    """The fields of a process' stat file, from the state on."""
    # The name of the program, in parentheses, may contain any characters.
    return (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def tree(pid: int, proc: Path = PROC) -> dict[int, list[str]]:
    """A process and its descendants, each with the fields of its stat file, from the state on."""
    stats = {}
    for folder in proc.iterdir():
        if folder.name.isdecimal():
            # A process may have ended meanwhile.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                stats[int(folder.name)] = read_stat(int(folder.name), proc)
    if pid not in stats:
        raise MachError(f"{proc / str(pid)}: no such process; has the browser ended?")
    found = {pid}
    added = True
    while added:
        more = {process for process, fields in stats.items() if int(fields[PARENT]) in found} - found
        found |= more
        added = bool(more)
    return {process: stats[process] for process in sorted(found)}


def processor_time(pid: int, proc: Path = PROC) -> float:
    """The processor time, in seconds, of all threads of all processes of the tree. The kernel counts hundredths."""
    ticks = sum(int(ticks) for fields in tree(pid, proc).values() for ticks in fields[PROCESSOR_TIMES])
    return ticks / CLOCK_TICKS


def thread_times(pid: int, proc: Path = PROC) -> dict[str, list[float]]:
    """For each thread of the tree, for how long it has run, and for how long it has waited for a processor, in s."""
    times = {}
    for process in tree(pid, proc):
        # A process or thread may have ended meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for thread in (proc / str(process) / "task").iterdir():
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    ran, waited, _ = (thread / "schedstat").read_text(encoding="utf-8").split()
                    times[thread.name] = [int(ran) / 1e9, int(waited) / 1e9]
    return times


def own_memory(pid: int, proc: Path = PROC) -> int:
    """The resident memory of the tree that is not backed by a file, in bytes."""
    return _memory("RssAnon", pid, proc)


def peak_memory(pid: int, proc: Path = PROC) -> int:
    """The sum of the peaks of the processes' resident memory, in bytes, including files."""
    return _memory("VmHWM", pid, proc)


def _memory(name: str, pid: int, proc: Path) -> int:
    """The sum of a line in the status files of the tree, in bytes."""
    total = 0
    for process in tree(pid, proc):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            match = re.search(rf"^{name}:\s+(\d+) kB$", (proc / str(process) / "status").read_text(), re.M)
            # A process that is just ending has no such line.
            total += 1024 * int(match[1]) if match else 0
    return total
