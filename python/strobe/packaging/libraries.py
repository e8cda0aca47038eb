# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The libraries that the browser opens by name while it runs. `dpkg-shlibdeps` sees only those that it is linked to."""

import re
import subprocess
from pathlib import Path

from .. import process
from ..errors import MachError

# The packages that have them in Debian 12 and in Ubuntu 24.04.
OPENED = {
    "libEGL": ("libegl1", "libgl1-mesa-dri"),
    "libX11": ("libx11-6",),
    "libX11-xcb": ("libx11-xcb1",),
    "libXcursor": ("libxcursor1",),
    "libXi": ("libxi6",),
    "libwayland-client": ("libwayland-client0",),
    "libwayland-egl": ("libwayland-egl1",),
    "libxcb": ("libxcb1",),
    "libxkbcommon": ("libxkbcommon0",),
    "libxkbcommon-x11": ("libxkbcommon-x11-0",),
}

# Constants in Rust stand one after the other, so a name may follow the end of another text. It begins with the last
# "lib" before its end.
LIBRARY_NAME = re.compile(rb"(lib(?:(?!lib)[\w+-])+)\.so\b")
NEEDED = re.compile(r"\(NEEDED\)\s+Shared library: \[(lib[\w+-]+)\.so")


def opened_packages(binary: Path) -> list[str]:
    """The packages of the libraries whose names are in the binary, or MachError that names an unknown library."""
    names = library_names(binary.read_bytes()) - linked_libraries(binary)
    if unknown := sorted(names - OPENED.keys()):
        raise MachError(
            f"{binary}: has the name of {', '.join(f'{name}.so' for name in unknown)}, of which no package is known; "
            "add it to OPENED in python/strobe/packaging/libraries.py"
        )
    return sorted({package for name in names for package in OPENED[name]})


def library_names(content: bytes) -> set[str]:
    return {name.decode() for name in LIBRARY_NAME.findall(content)}


def linked_libraries(binary: Path) -> set[str]:
    """The libraries that the loader opens for the binary."""
    command = ["readelf", "--dynamic", "--wide", str(binary)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise MachError(f"{binary}: {result.stderr.strip() or process.describe_status(result.returncode)}")
    return set(NEEDED.findall(result.stdout))
