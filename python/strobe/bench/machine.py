# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The machine on which figures were measured, for readers elsewhere."""

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from .. import process

# What the kernel calls the load of a machine counts our own work, about 1, and that of at most one other program then.
MOST_LOAD = 2.0


def noise_of(load: float) -> str:
    return f"the load of the machine was {load:.2f}, of which about 1 was our own"


@dataclass(frozen=True)
class Machine:
    processor: str
    # The processors that this process may use.
    cores: int
    # In bytes.
    memory: int
    kernel: str
    # The name of the hypervisor, or "yes", "no" or "unknown".
    virtualised: str


def describe_machine(proc: Path = Path("/proc")) -> Machine:
    processors = (proc / "cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"^(?:model name|Hardware|CPU part)\s*:\s*(.*)$", processors, re.M)
    memory = re.search(r"^MemTotal:\s+(\d+) kB$", (proc / "meminfo").read_text(encoding="utf-8"), re.M)
    return Machine(
        processor=model[1] if model else platform.machine(),
        cores=len(os.sched_getaffinity(0)),
        memory=1024 * int(memory[1]) if memory else 0,
        kernel=f"{platform.system()} {platform.release()}",
        virtualised=_virtualisation(processors),
    )


def _virtualisation(processors: str) -> str:
    # Prints the hypervisor. Without one its exit status is not 0.
    vendor = process.output(["systemd-detect-virt", "--vm"], any_status=True)
    if vendor and vendor.strip() not in ("", "none"):
        return vendor.strip()
    if re.search(r"^flags\s*:.*\bhypervisor\b", processors, re.M):
        return "yes"
    return "no" if vendor else "unknown"
