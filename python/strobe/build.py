# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach build: the browser."""

import os
from pathlib import Path

from . import bootstrap, paths, process, workspace
from .lock import cache_lock


def build(release: bool = False) -> Path:
    """Builds the browser, with whatever is needed before, and returns the path of its binary."""
    command = ["cargo", "build", "--locked", "-p", "strobe"]
    profile = "debug"
    if release:
        command.append("--release")
        profile = "release"
    with cache_lock("build"):
        bootstrap.ensure()
        process.run(command)
    return paths.target_dir() / profile / "strobe"


def build_tests(names: list[str]):
    """Compiles the tests of our crates without running them."""
    with cache_lock("test"):
        bootstrap.ensure()
        process.run(["cargo", "test", "--locked", "--no-run", *workspace.package_arguments(names)])


def browser_environment() -> dict[str, str]:
    """What the browser is started with: a place for its sockets where the session gives none.

    libwayland prints an error without one, even where there is no Wayland.
    """
    environment = dict(os.environ)
    if "XDG_RUNTIME_DIR" not in environment:
        place = paths.cache_dir() / "runtime"
        place.mkdir(parents=True, exist_ok=True)
        place.chmod(0o700)
        environment["XDG_RUNTIME_DIR"] = str(place)
    return environment
