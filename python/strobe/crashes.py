# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""What is kept of a browser that crashes: its core, the stacks of all threads, and what the kernel says.

tests/browser/crashes.rs does the same for the browsers of the browser tests.
"""

import contextlib
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from . import paths
from .errors import MachError

# The signals that end a program because of an error in it.
SIGNALS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT, signal.SIGTRAP)
CORE_PATTERN = Path("/proc/sys/kernel/core_pattern")
KERNEL_LOG = Path("/dev/kmsg")
# The kernel cuts a core at this size, in bytes.
LARGEST_CORE = 4 << 30
# How many cores and how many files with stacks are kept, the newest ones.
MOST_CORES = 3
MOST_STACKS = 50
# Seconds that gdb may take to read the stacks of one process.
DEBUGGER_BOUND = 300.0
# Seconds in which a core is written: that of the largest browser takes some.
CORE_BOUND = 60.0
# How many lines of gdb, and of the kernel, are shown.
MOST_LINES = 20
# What the kernel logs about a crash has one of these.
KERNEL_SIGNS = ("segfault", "traps: ", "general protection", "Code: ", "Out of memory")
# What gdb writes of a core: first of the thread that crashed.
STACKS = ("backtrace 40", "info registers", "x/12i $pc-24", "thread apply all backtrace 30")
# Begins what is told of a crash.
CRASH = "crash of process "
# Lines of gdb that are shown.
SHOWN = ("#", "Program terminated")

# <elf.h>, <sys/procfs.h>
CORE_HEADER = re.compile(rb"\x7fELF\x02\x01.{10}\x04\x00", re.DOTALL)
NOTES_OFFSET, NOTES_SIZE = 8, 32
MOST_NOTES = 1 << 16
NT_PRSTATUS, NT_PRPSINFO = 1, 3


class Crashed(MachError):
    """A browser crashed. No caller may go on as if it had not."""


@dataclass(frozen=True)
class Core:
    """A core, and what it says of its process."""

    file: Path
    pid: int
    parent: int
    signal: int


@dataclass(frozen=True)
class Crash:
    """A process that one of SIGNALS has ended."""

    pid: int
    signal: int
    # The stack of the thread that crashed, as gdb prints it; "" if there is no core or no debugger.
    stack: str
    # What was kept and where, or why there is nothing.
    told: str = ""

    def __str__(self):
        return f"{CRASH}{self.pid} by {_name(self.signal)}\n{self.told}"


class Watch:
    """Watches for crashes of a program and of the processes that it starts. It is made before the program is started.

    The program works in `folder`. `is_own` says whether nothing else works there.
    """

    def __init__(self, folder: Path, is_own: bool = True):
        self.no_core: str | None = None
        self._is_own = False
        self._folder = folder
        self._prefix = ""
        try:
            self._find_place(folder, is_own)
            allow_cores()
        except MachError as reason:
            self.no_core = str(reason)
        self._old = set(self._files())
        self._kernel_log = None
        with contextlib.suppress(OSError):
            self._kernel_log = os.open(KERNEL_LOG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self._kernel_log, 0, os.SEEK_END)

    def __del__(self):
        if self._kernel_log is not None:
            os.close(self._kernel_log)

    def _find_place(self, folder: Path, is_own: bool):
        """Where the kernel writes cores of a program that works in a folder: see core(5)."""
        pattern = CORE_PATTERN.read_text(encoding="utf-8").strip() if CORE_PATTERN.exists() else ""
        if not pattern:
            raise MachError(f"{CORE_PATTERN} is empty")
        if pattern.startswith("|"):
            raise MachError(
                f"the kernel gives cores to a program: {CORE_PATTERN} is `{pattern}`; with a file name there, such as "
                "core.%p, they are kept"
            )
        file = folder / pattern
        if "%" in str(file.parent):
            raise MachError(f"{CORE_PATTERN} has a variable folder: {pattern}")
        if not pattern.startswith("/") and not is_own and file.exists():
            raise MachError(f"{file} is there, and would be replaced")
        self._folder = file.parent
        self._prefix = file.name.partition("%")[0]
        self._is_own = is_own and not pattern.startswith("/")

    def _files(self) -> Iterator[tuple[Path, int]]:
        """The files that may be cores, with their times."""
        if self.no_core is not None:
            return
        with contextlib.suppress(OSError):
            for file in sorted(self._folder.iterdir()):
                with contextlib.suppress(OSError):
                    if file.name.startswith(self._prefix) and file.is_file():
                        yield file, file.stat().st_mtime_ns

    def cores(self, pids: set[int]) -> list[Core]:
        """The new cores of these processes and of those that they have started."""
        new = [file for file, when in self._files() if (file, when) not in self._old]
        cores = [core for file in new if (core := read_core(file)) is not None]
        return [core for core in cores if self._is_own or core.pid in pids or core.parent in pids]

    def crashes(self, pids: set[int], own: int, status: int | None, binary: Path) -> list[Crash]:
        """The crashes of a program that has ended, and of its processes. What is known of them is kept.

        `own` is the process of the program, and `status` its status, as in subprocess.
        """
        cores = self.cores({own, *pids})
        crashes = [keep(core, binary) for core in cores]
        if status is not None and -status in SIGNALS and own not in (core.pid for core in cores):
            why = self.no_core or f"none was written to {self._folder}"
            crashes.append(Crash(own, -status, "", f"  no core: {why}"))
        if not crashes:
            return []
        more = "\n".join(self._kernel_lines())
        return [Crash(one.pid, one.signal, one.stack, f"{one.told}\n{more}") for one in crashes]

    def _kernel_lines(self) -> list[str]:
        if self._kernel_log is None:
            return ["  the kernel's log may not be read"]
        lines = []
        while True:
            try:
                record = os.read(self._kernel_log, 8192)
            except BrokenPipeError:
                # Older records were replaced by newer ones.
                continue
            except OSError:
                break
            if not record:
                break
            # What is before the text are numbers.
            line = record.decode(errors="replace").partition(";")[2].partition("\n")[0]
            if any(sign in line for sign in KERNEL_SIGNS):
                lines.append(f"  kernel: {line}")
        return lines[:MOST_LINES] or ["  the kernel has logged nothing about it"]


class Watched:
    """A program that may crash. `process` is set when it is started."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.process: subprocess.Popen | None = None


@contextlib.contextmanager
def watched(binary: Path, folder: Path | None = None) -> Iterator[Watched]:
    """Raises Crashed if the program that is started within crashes, whatever else has failed.

    The program works in `folder`, or else in a folder of its own.
    """
    with contextlib.ExitStack() as stack:
        if folder is None:
            own = tempfile.TemporaryDirectory(prefix="mach-browser-", ignore_cleanup_errors=True)
            place = Path(stack.enter_context(own))
        else:
            place = folder
        watch = Watch(place, is_own=folder is None)
        program = Watched(place)

        def told() -> str:
            process = program.process
            crashes = [] if process is None else watch.crashes(set(), process.pid, process.returncode, binary)
            return "\n".join(map(str, crashes))

        try:
            yield program
        except MachError as error:
            if evidence := told():
                raise Crashed(f"{error}\n{evidence}") from None
            raise
        if evidence := told():
            raise Crashed(evidence)


def await_cores(pids: list[int]):
    """Waits until the kernel has written the cores of processes that are just crashing."""
    deadline = time.monotonic() + CORE_BOUND
    while any(map(_writes_core, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)


def _writes_core(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return "\nCoreDumping:\t1\n" in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return False


def allow_cores():
    """Lets this process and those that it starts write cores, or raises MachError."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    size = LARGEST_CORE if hard == resource.RLIM_INFINITY else min(hard, LARGEST_CORE)
    if size == 0:
        raise MachError("the hard limit of cores is 0 (`ulimit -Hc`)")
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (size, hard))
    except (ValueError, OSError) as error:
        raise MachError(f"the limit of cores cannot be raised: {error}") from None


def read_core(file: Path) -> Core | None:
    """Reads what the kernel writes first into a core. None if the file is no core of this processor."""
    try:
        with file.open("rb") as core:
            header = core.read(64)
            if not CORE_HEADER.match(header):
                return None
            # The notes come first.
            core.seek(struct.unpack_from("<Q", header, 32)[0])
            segment = core.read(56)
            offset, size = (struct.unpack_from("<Q", segment, at)[0] for at in (NOTES_OFFSET, NOTES_SIZE))
            core.seek(offset)
            notes = core.read(min(size, MOST_NOTES))
    except (OSError, struct.error):
        return None
    number, ids, at = None, None, 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, at)
        at += 12 + (name_size + 3) // 4 * 4
        content = notes[at : at + size]
        at += (size + 3) // 4 * 4
        # The first thread is the one that crashed.
        if kind == NT_PRSTATUS and number is None and len(content) >= 16:
            number = struct.unpack_from("<h", content, 12)[0]
        elif kind == NT_PRPSINFO and len(content) >= 32:
            ids = struct.unpack_from("<ii", content, 24)
    return None if number is None or ids is None else Core(file, *ids, number)


def folder() -> Path:
    """Where cores and stacks are kept."""
    return paths.target_dir() / "crashes"


def keep(core: Core, binary: Path, debugger: str | None = None) -> Crash:
    """Moves a core to where it is kept, and writes the stacks of all threads beside it."""
    place = folder()
    kept = place / f"{time.time():.0f}-{core.pid}.core"
    try:
        place.mkdir(parents=True, exist_ok=True)
        shutil.move(core.file, kept)
    except OSError as error:
        return Crash(core.pid, core.signal, "", f"  its core {core.file} cannot be kept: {error}")
    told = [f"  core: {kept}"]
    stack = ""
    debugger = debugger or shutil.which("gdb")
    if debugger is None:
        told.append("  no stacks: gdb is not installed")
    else:
        stacks = kept.with_suffix(".txt")
        text = debug(debugger, STACKS, binary, kept)
        stacks.write_text(text, encoding="utf-8")
        stack = "\n".join([line for line in text.splitlines() if line.startswith(SHOWN)][:MOST_LINES])
        told += [f"  stacks of all threads: {stacks}", *(f"    {line}" for line in stack.splitlines())]
    for pattern, most in (("*.core", MOST_CORES), ("*.txt", MOST_STACKS)):
        files = sorted(place.glob(pattern), key=lambda file: file.stat().st_mtime_ns)
        for old in files[:-most]:
            old.unlink(missing_ok=True)
    return Crash(core.pid, core.signal, stack, "\n".join(told))


def debug(debugger: str, commands: tuple[str, ...], *arguments: str | Path) -> str:
    """What gdb prints for some of its commands."""
    asked = [argument for command in ("set pagination off", *commands) for argument in ("-ex", command)]
    command = [debugger, "-batch", "-nx", "-iex", "set debuginfod enabled off", *asked, *map(str, arguments)]
    try:
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=DEBUGGER_BOUND)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{error}\n"
    return result.stdout + result.stderr[-2000:]


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
