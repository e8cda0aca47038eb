# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Running other programs. Their output streams through, and a failure names the command."""

import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from . import paths
from .errors import MachError

# Seconds between lines in a log that show that a program still runs; SpiderMonkey's build prints nothing for minutes.
HEARTBEAT = 30.0
# Seconds that an interrupted program has to end by itself before it is killed.
GRACE = 10.0


def run(
    command: list[str],
    *,
    cwd: Path = paths.ROOT,
    env: dict[str, str] | None = None,
    on_line: Callable[[str], None] | None = None,
):
    """Runs a command to its end, or raises MachError naming it. `stream` says what `on_line` is."""
    status = stream(command, cwd=cwd, env=env, on_line=on_line)
    if status != 0:
        place = "" if cwd == paths.ROOT else f" in {paths.shown(cwd)}"
        raise MachError(f"`{shlex.join(command)}`{place} {describe_status(status)}")


def stream(
    command: list[str],
    *,
    cwd: Path = paths.ROOT,
    env: dict[str, str] | None = None,
    on_line: Callable[[str], None] | None = None,
    merge_errors: bool = False,
    heartbeat: bool = True,
) -> int:
    """Runs a command and returns its exit status, negative for a signal.

    Its output goes where ours goes. With `on_line`, each line of its standard output (and of its standard
    error with `merge_errors`) goes to that function instead. If our standard error is not a terminal, a line every
    HEARTBEAT seconds shows that the command still runs.
    """
    process = start(
        command,
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE if on_line else None,
        stderr=subprocess.STDOUT if merge_errors else None,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    reader = None
    if on_line:
        reader = read_lines(process.stdout, on_line)
    started = time.monotonic()
    try:
        while True:
            try:
                status = process.wait(HEARTBEAT)
                break
            except subprocess.TimeoutExpired:
                # On a terminal the program shows its own progress.
                if heartbeat and not sys.stderr.isatty():
                    elapsed = time.monotonic() - started
                    print(f"  ... {' '.join(command[:2])}: {elapsed:.0f} s", file=sys.stderr, flush=True)
    finally:
        end(process)
    if reader:
        reader.join()
        process.stdout.close()
    return status


def start(command: list[str], **options) -> subprocess.Popen:
    """Popen, with a clear error if the program does not exist."""
    try:
        return subprocess.Popen(command, **options)
    except (FileNotFoundError, PermissionError) as error:
        raise MachError(f"{command[0]}: cannot be run: {error.strerror}; needed for `{shlex.join(command)}`") from None


def read_lines(stream: IO[str], on_line: Callable[[str], None]) -> threading.Thread:
    """Passes each line to a function, on a new thread that ends with the stream."""
    reader = threading.Thread(target=lambda: [on_line(line) for line in stream], daemon=True)
    reader.start()
    return reader


def end(process: subprocess.Popen):
    """Ends a program that still runs: first asks, then kills. Ctrl-C may have reached it already."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def output(command: list[str], *, any_status: bool = False) -> str | None:
    """The standard output of a short command, or None if it fails or does not exist."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError:
        return None
    return result.stdout if result.returncode == 0 or any_status else None


def describe_status(status: int) -> str:
    """How a program failed, in words; a negative status is a signal, as in subprocess."""
    if status < 0:
        return f"was ended by signal {-status} ({signal.strsignal(-status)})"
    return f"failed with status {status}"
