# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""A browser under stress: its processes, what is done to them from outside, and what they leave when they fail."""

import contextlib
import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from .. import build, crashes, process, process_tree

# The sampler takes the highest real-time signal that is free.
SAMPLER_SIGNAL = signal.SIGRTMAX
# In /proc/PID/task/TID/status.
SLEEPS = re.compile(r"^voluntary_ctxt_switches:\s+(\d+)$", re.MULTILINE)

# <linux/ptrace.h>, <linux/wait.h>, <sys/prctl.h>
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
PTRACE_EVENT_STOP = 128
WAIT_ALL = 0x40000000
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


class Browser:
    """A started browser and the processes that it has started."""

    def __init__(self, command: list[str], environment: dict[str, str], output: Path, folder: Path):
        """Starts it in a folder in which nothing else works."""
        self.watch = crashes.Watch(folder)
        self._output = open(output, "wb")
        self.process = process.start(
            command,
            env={**build.browser_environment(), **environment},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            # Ctrl-C must reach only us: we then end all processes.
            start_new_session=True,
            preexec_fn=_before_start,
        )
        self.pid = self.process.pid
        # All processes that were ever seen.
        self.seen = {self.pid}
        self.killed = set()
        self._spinners = []

    def pids(self) -> list[int]:
        """Its processes, the browser's own first."""
        pids = [self.pid, *children(self.pid)]
        self.seen.update(pids)
        return pids

    def content_pids(self) -> list[int]:
        return self.pids()[1:]

    def poll(self) -> int | None:
        return self.process.poll()

    def end(self):
        """Kills all processes that are left of it."""
        self.feed()
        crashes.await_cores(self.pids())
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGCONT)
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()
        self._output.close()

    def left_behind(self) -> list[int]:
        """Processes that outlive it."""
        return [pid for pid in self.seen if pid != self.pid and is_running(pid)]

    # From outside

    def send(self, name: str):
        """Sends a signal to the browser's own process."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, getattr(signal, name))

    def send_if_harmless(self, name: str, pick: float, thread: bool, burst: int) -> bool:
        """Sends a signal to a process if it ignores or handles it. Returns whether it was sent."""
        pid = _picked(self.pids(), pick)
        number = SAMPLER_SIGNAL if name == "SAMPLER" else getattr(signal, name)
        with contextlib.suppress(OSError):
            by_default = name in ("SIGCHLD", "SIGWINCH", "SIGCONT", "SIGURG")
            if not by_default and not handles(pid, number):
                return False
            for i in range(burst):
                if thread:
                    threads = threads_of(pid)
                    _libc.tgkill(pid, _picked(threads, (pick * 997 + i * 0.618) % 1), int(number))
                else:
                    os.kill(pid, number)
            return True
        return False

    def kill_content(self, pick: float) -> bool:
        """Kills a content process, as the kernel does when it is out of memory."""
        pids = self.content_pids()
        if not pids:
            return False
        pid = _picked(pids, pick)
        self.killed.add(pid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        return True

    def stop(self, stretches: list[float], pick: float | None):
        """Stops one process or all for each of these numbers of seconds, and lets them run in between."""
        pids = self.pids() if pick is None else [_picked(self.pids(), pick)]
        for stretch in stretches:
            for number, pause in ((signal.SIGSTOP, stretch), (signal.SIGCONT, stretch / 2)):
                for pid in pids:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, number)
                time.sleep(pause)

    def stop_thread(self, seconds: float, pick: float) -> bool:
        """Stops one thread, as a debugger does, while the others run."""
        pid = _picked(self.pids(), pick)
        with contextlib.suppress(OSError):
            # Not the first thread: we wait for that one as the process itself.
            threads = [task for task in threads_of(pid) if task != pid]
            return bool(threads) and hold_thread(_picked(threads, pick * 997 % 1), seconds)
        return False

    def starve(self, spinners: int, nice: int, one_core: bool):
        """Lets other programs take the processors until `feed` is called."""
        core = {min(os.sched_getaffinity(0))}
        for _ in range(spinners):
            spinner = subprocess.Popen(
                [sys.executable, "-c", "while True: pass"], preexec_fn=_die_with_parent, start_new_session=True
            )
            self._spinners.append(spinner)
            if one_core:
                os.sched_setaffinity(spinner.pid, core)
        for pid in self.pids():
            with contextlib.suppress(OSError):
                for task in threads_of(pid):
                    with contextlib.suppress(OSError):
                        if one_core:
                            os.sched_setaffinity(task, core)
                        if nice:
                            os.setpriority(os.PRIO_PROCESS, task, nice)

    def feed(self):
        for spinner in self._spinners:
            spinner.kill()
            spinner.wait()
        if self._spinners:
            cores = range(os.cpu_count() or 1)
            for pid in self.pids():
                with contextlib.suppress(OSError):
                    for task in threads_of(pid):
                        with contextlib.suppress(OSError):
                            os.sched_setaffinity(task, cores)
        self._spinners = []

    # What can be seen of it

    def switches_of(self, beginning: str) -> dict[int, int]:
        """How often each thread whose name has this beginning has gone to sleep, by its id."""
        return {task: int(SLEEPS.search(text)[1]) for task, text in self._of_threads(beginning, "status").items()}

    def processor_time_of(self, beginning: str) -> dict[int, float]:
        """The processor time of each thread whose name has this beginning, in seconds, by its id."""
        return {task: int(text.split()[0]) / 1e9 for task, text in self._of_threads(beginning, "schedstat").items()}

    def thread_names(self) -> set[str]:
        """The names of its threads, as the kernel cuts them."""
        return {text.rstrip("\n") for text in self._of_threads("", "comm").values()}

    def _of_threads(self, beginning: str, file: str) -> dict[int, str]:
        """A file in /proc of each thread whose name has this beginning, by the thread's id."""
        texts = {}
        for pid in self.pids():
            with contextlib.suppress(OSError):
                for task in threads_of(pid):
                    folder = Path(f"/proc/{pid}/task/{task}")
                    with contextlib.suppress(OSError):
                        if (folder / "comm").read_text(errors="replace").startswith(beginning):
                            texts[task] = (folder / file).read_text(errors="replace")
        return texts

    def cores(self) -> list[crashes.Core]:
        """The cores of its processes that crashed."""
        return self.watch.cores(self.seen)

    def crashes(self, binary: Path) -> list[crashes.Crash]:
        """The crashes of its processes, when all have ended."""
        return self.watch.crashes(self.seen, self.pid, self.process.returncode, binary)


def _before_start():
    # If we were started with such a signal ignored, it would be lost until the browser has its own handler.
    for ending in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.SIG_DFL)
    _die_with_parent()


def _die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _picked(items: list, pick: float):
    return items[int(pick * len(items))]


def threads_of(pid: int) -> list[int]:
    """The threads of a process, in the order of their ids. Raises OSError if it has ended."""
    return sorted(int(task) for task in os.listdir(f"/proc/{pid}/task"))


def children(pid: int) -> list[int]:
    found = []
    with contextlib.suppress(OSError):
        for task in threads_of(pid):
            with contextlib.suppress(OSError):
                found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text(encoding="utf-8").split())
    return sorted(found)


def is_running(pid: int) -> bool:
    try:
        return process_tree.read_stat(pid)[0] not in ("Z", "X")
    except OSError:
        return False


def handles(pid: int, number: int) -> bool:
    """Whether a process handles or ignores a signal."""
    masks = {}
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name in ("SigIgn", "SigCgt"):
            masks[name] = int(value, 16)
    return bool((masks["SigIgn"] | masks["SigCgt"]) >> (number - 1) & 1)


def hold_thread(thread: int, seconds: float) -> bool:
    """Stops a thread for some time by ptrace. A signal that stops it first is passed on to it."""
    ptrace = _libc.ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if ptrace(PTRACE_SEIZE, thread, None, None) != 0:
        return False
    pending = 0
    if ptrace(PTRACE_INTERRUPT, thread, None, None) == 0:
        with contextlib.suppress(ChildProcessError):
            _, status = os.waitpid(thread, WAIT_ALL)
            if not os.WIFSTOPPED(status):
                # The thread has ended.
                return False
            if status >> 16 != PTRACE_EVENT_STOP:
                pending = os.WSTOPSIG(status)
        time.sleep(seconds)
    if ptrace(PTRACE_DETACH, thread, None, pending) != 0:
        # The thread was killed meanwhile. Its process cannot end until we have waited for the thread.
        with contextlib.suppress(ChildProcessError):
            os.waitpid(thread, WAIT_ALL)
    return True


def save_stacks(browser: Browser, place: Path, debugger: str | None = shutil.which("gdb")) -> str:
    """Writes the stacks of all threads of the browser to a file, and returns them."""
    parts = []
    for pid in browser.pids():
        parts.append(f"process {pid}\n")
        if debugger is None:
            parts.append(_kernel_stacks(pid))
            continue
        parts.append(crashes.debug(debugger, ("thread apply all backtrace 60",), "-p", str(pid)))
        # A debugger that took too long was killed, and may have left the process stopped.
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    text = "".join(parts)
    place.write_text(text, encoding="utf-8")
    return text


def _kernel_stacks(pid: int) -> str:
    lines = []
    with contextlib.suppress(OSError):
        for task in threads_of(pid):
            facts = []
            for name in ("comm", "wchan", "syscall"):
                with contextlib.suppress(OSError):
                    facts.append(Path(f"/proc/{pid}/task/{task}/{name}").read_text(errors="replace").strip())
            lines.append(f"  thread {task}: {', '.join(facts)}")
    return "\n".join(lines) + "\n"


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
