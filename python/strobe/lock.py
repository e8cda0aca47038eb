# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The lock on the shared cache: checkouts share the upstream trees and Cargo's intermediate files.

Preparing places this checkout's files in trees that another one may share, so preparing and the Cargo
command that reads the trees are one critical section.
"""

import fcntl
import os
from contextlib import contextmanager

from . import paths


@contextmanager
def cache_lock(purpose: str, report=print, name: str = "lock"):
    """Holds the lock of the cache, or another lock of this `name`, for `purpose` (the mach command).

    If it has to wait, it reports who holds the lock.
    """
    path = paths.cache_dir() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "another mach"
            report(f"waiting for {holder}, which uses {path.parent}")
            fcntl.flock(file, fcntl.LOCK_EX)
        # The text is for processes that wait. The lock itself is the kernel's, and ends with the process.
        file.truncate(0)
        file.write(f"`./mach {purpose}` in {paths.ROOT} (process {os.getpid()})\n")
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)
