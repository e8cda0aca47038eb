# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""What a running process holds: threads, memory and files, from /proc."""

import contextlib
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import MachError
from ..table import text_table

# Nothing tells when another process has ended a thread or closed a file, so we look at it again and again:
# every INTERVAL seconds until nothing has changed for QUIET, or BOUND have passed.
INTERVAL = 0.25
QUIET = 5.0
BOUND = 60.0


@dataclass(frozen=True)
class ProcessSize:
    threads: int
    # Resident, in kB as the kernel counts them: 1024 bytes.
    memory: int
    # Open file descriptors, but for the connections to the page's server, which are kept for a while to be used again.
    files: int


def read_size(pid: int, proc: Path = Path("/proc")) -> ProcessSize:
    folder = proc / str(pid)
    try:
        status = (folder / "status").read_text(encoding="utf-8")
        connections = _connections((folder / "net" / "tcp").read_text(encoding="utf-8"))
        files = sum(link not in connections for link in _links(folder / "fd"))
    except OSError as error:
        raise MachError(f"{folder}: {error.strerror}; has the browser ended?") from None
    numbers = dict(re.findall(r"^(Threads|VmRSS):\s+(\d+)", status, re.MULTILINE))
    return ProcessSize(int(numbers["Threads"]), int(numbers["VmRSS"]), files)


def _connections(table: str) -> set[str]:
    """The TCP sockets of /proc/PID/net/tcp, by what a descriptor of theirs links to."""
    return {f"socket:[{line.split()[9]}]" for line in table.splitlines()[1:]}


def _links(folder: Path) -> Iterator[str]:
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            # One that has been closed meanwhile is not there.
            yield os.readlink(folder / name)


def settled_size(pid: int, read=read_size, clock=time.monotonic, sleep=time.sleep) -> ProcessSize:
    """The size once threads and files have stopped to change. Memory is what it is then."""
    start = quiet_since = clock()
    size = read(pid)
    while clock() - quiet_since < QUIET and clock() - start < BOUND:
        sleep(INTERVAL)
        before, size = size, read(pid)
        if (before.threads, before.files) != (size.threads, size.files):
            quiet_since = clock()
    return size


def size_table(sizes: dict[str, ProcessSize]) -> str:
    """One row per kind of thing, one column per moment."""
    rows = [["browser", *sizes]]
    rows.append(["threads", *(str(size.threads) for size in sizes.values())])
    rows.append(["memory, MB", *(f"{size.memory * 1024 / 1e6:.0f}" for size in sizes.values())])
    rows.append(["files", *(str(size.files) for size in sizes.values())])
    return text_table(rows, left=(0,))
