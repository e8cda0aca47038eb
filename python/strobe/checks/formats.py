# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach test-formats: checks that other tools, which come from npm, can read our profiles, and that we read theirs."""

import os
import shutil
import sys
from pathlib import Path

from .. import npm, paths, process
from ..errors import MachError
from ..lock import cache_lock
from ..run import shown_from_here
from ..setup import bootstrap
from ..setup.environments import ensure_environment

SCRIPTS = paths.ROOT / "tests" / "formats"
# What writes files that we read.
TOOLS = SCRIPTS / "tools"
# From PyPI.
PY_SPY = "py-spy==0.4.3"


def test_formats(profiles: list[Path]):
    """Writes recordings in every format, and runs the tools on them. Without `profiles` the recordings are random."""
    for profile in profiles:
        if not profile.is_file():
            raise MachError(f"{profile}: no such file")
    npm.check_node()
    with cache_lock("test-formats"):
        bootstrap.ensure()
        folder = paths.target_dir() / "formats"
        shutil.rmtree(folder, ignore_errors=True)
        command = ["cargo", "run", "--quiet", "--locked", "--package=profile_formats", "--example=every_format", "--"]
        process.run([*command, str(folder), *(str(profile.resolve()) for profile in profiles)])
        tools = npm.install(SCRIPTS)
        if not profiles:
            _check_files_of_tools(folder.with_name("formats-of-tools"))
    status = process.stream(["node", str(tools / "check.mjs"), str(folder)])
    if status == 1:
        raise MachError(f"see above; the files are in {shown_from_here(folder)}")
    if status != 0:
        raise MachError(f"the checks {process.describe_status(status)}")


def _check_files_of_tools(folder: Path):
    """Makes a file with each tool, and compares the self times that we read with those that a test computes."""
    shutil.rmtree(folder, ignore_errors=True)
    tools = npm.install(TOOLS)
    programs = ensure_environment("py-spy", [PY_SPY])
    process.run(["node", str(tools / "make.mjs"), str(folder), str(programs / "py-spy"), sys.executable])
    command = ["cargo", "test", "--quiet", "--locked", "--package=profile_formats", "--test=tools"]
    process.run(command, env={**os.environ, "STROBE_TOOLS": str(folder)})
