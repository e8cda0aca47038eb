# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach check asan-build: mistakes on purpose, each of which the sanitizers of `./mach build --asan` must find.

tests/sanitizers/faults.rs makes them in Rust, in our C++ and in the engine. It is linked with the engine and the glue
of that build.
"""

import os
import re
import subprocess
from pathlib import Path

from .. import asan, process
from ..errors import MachError

# Seconds that one of them may take: the symbols of the engine are read for the report.
BOUND = 300.0
# What a report says first, and a function on its stack, by fault.
FAULTS = {
    "rust-write-after-free": ("heap-use-after-free", "rust_write_after_free"),
    "rust-overflow": ("heap-buffer-overflow", "rust_overflow"),
    "rust-leak": ("detected memory leaks", "rust_leak"),
    "glue-write-after-free": ("heap-use-after-free", "strobe_fault_write_after_free"),
    "glue-overflow": ("heap-buffer-overflow", "strobe_fault_overflow"),
    "glue-leak": ("detected memory leaks", "strobe_fault_leak"),
    "glue-undefined": ("runtime error: signed integer overflow", "strobe_fault_undefined"),
    # A loop of the engine writes.
    "engine-write-after-free": ("heap-use-after-free", "JS_EncodeStringToBuffer(JSContext"),
    "engine-overflow": ("heap-buffer-overflow", "JS_EncodeStringToBuffer(JSContext"),
    "engine-leak": ("detected memory leaks", "JS_malloc"),
}
# Does the same as the engine's faults, without a mistake.
NOTHING = "nothing"


def check():
    """Builds the browser and the program with mistakes, and runs each. Raises MachError for what is not found."""
    asan.build()
    program = asan.faults_program()
    missed = [problem for name in (NOTHING, *FAULTS) if (problem := run(program, name))]
    if missed:
        raise MachError("\n  ".join([f"{len(missed)} of {len(FAULTS) + 1} are not as they should be:", *missed]))
    print(f"all {len(FAULTS)} faults are found")


def run(program: Path, fault: str) -> str | None:
    """Makes a mistake. Returns what is wrong with its report."""
    environment = {**os.environ, **asan.environment()}
    command = [str(program), fault]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", timeout=BOUND)
    except subprocess.TimeoutExpired:
        return f"{fault}: does not end within {BOUND:.0f} s"
    except OSError as error:
        raise MachError(f"{program}: cannot be run: {error.strerror}") from None
    return judge(fault, done.returncode, done.stderr)


def judge(fault: str, status: int, text: str) -> str | None:
    ended = process.describe_status(status) if status else "ended well"
    shown = f"{fault}: {ended}; it printed:\n{text}"
    if fault == NOTHING:
        return None if status == 0 and not asan.reports(text) else shown
    kind, function = FAULTS[fault]
    frames = re.findall(r"^ +#\d+ .*$", text, re.M)
    is_found = any(kind in report for report in asan.reports(text)) and any(function in frame for frame in frames)
    return None if status == asan.STATUS and is_found else shown
