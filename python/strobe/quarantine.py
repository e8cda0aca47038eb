# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The library by which a tested browser looks whether freed memory is written to: tests/quarantine/."""

import os
from pathlib import Path

from . import asan, paths, process
from .errors import MachError
from .lock import cache_lock
from .setup import bootstrap

# Names the library for tests/browser. A person sets it to 0 to switch the library off, or to 1 to switch it on where it
# is off by default.
VARIABLE = "STROBE_QUARANTINE"
OFF, ON = "0", "1"
PACKAGE = "quarantine"


def find(binary: Path) -> Path | None:
    """The library for a browser, which is built unless STROBE_QUARANTINE names one. None if it is switched off.

    AddressSanitizer has its own allocator.
    """
    named = os.environ.get(VARIABLE)
    if named == OFF or binary.is_relative_to(asan.target_dir()):
        return None
    if named and named != ON:
        library = Path(named).resolve()
        if not library.is_file():
            raise MachError(f"{VARIABLE}={named}: no such file; {OFF} switches the library off")
        return library
    with cache_lock("build"):
        bootstrap.ensure()
        process.run(["cargo", "build", "--locked", "-p", PACKAGE])
    return paths.target_dir() / "debug" / f"lib{PACKAGE}.so"


def for_tests(binary: Path) -> dict[str, str]:
    """The variable for tests/browser, whose browsers have the library only if a person asks for it.

    A write to freed memory ends the browser, and may be Servo's. `./mach test` must not fail by it before it is known.
    """
    wanted = os.environ.get(VARIABLE, OFF) != OFF
    return {VARIABLE: str(find(binary) or OFF) if wanted else OFF}


def preloaded(library: Path | None) -> dict[str, str]:
    """The variable for a browser."""
    return {} if library is None else {"LD_PRELOAD": str(library)}
