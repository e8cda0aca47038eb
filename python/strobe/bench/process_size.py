# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The size of a running process: threads, memory and files, from /proc."""

import contextlib
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import MachError
from ..table import text_table

# There is no event when another process ends a thread or closes a file, so we poll it: every INTERVAL seconds until
# nothing has changed for QUIET seconds, or BOUND seconds have passed.
INTERVAL = 0.25
QUIET = 5.0
BOUND = 60.0


@dataclass(frozen=True)
class ProcessSize:
    threads: int
    # Resident, in kB as the kernel counts them: 1024 bytes.
    memory: int
    # Open file descriptors, except for connections to the page's server, which the browser keeps for some time.
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
    """The TCP sockets in /proc/PID/net/tcp, by the link of their descriptors."""
    return {f"socket:[{line.split()[9]}]" for line in table.splitlines()[1:]}


def _links(folder: Path) -> Iterator[str]:
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            # A descriptor may have been closed meanwhile.
            yield os.readlink(folder / name)


def settled_size(pid: int, read=read_size, clock=time.monotonic, sleep=time.sleep) -> ProcessSize:
    """The size once threads and files have stopped changing. Memory is measured then."""
    start = quiet_since = clock()
    size = read(pid)
    while clock() - quiet_since < QUIET and clock() - start < BOUND:
        sleep(INTERVAL)
        before, size = size, read(pid)
        if (before.threads, before.files) != (size.threads, size.files):
            quiet_since = clock()
    return size


def size_table(sizes: dict[str, ProcessSize]) -> str:
    """A table with a row for each kind and a column for each moment."""
    rows = [["browser", *sizes]]
    rows.append(["threads", *(str(size.threads) for size in sizes.values())])
    rows.append(["memory, MB", *(f"{size.memory * 1024 / 1e6:.0f}" for size in sizes.values())])
    rows.append(["files", *(str(size.files) for size in sizes.values())])
    return text_table(rows, left=(0,))
