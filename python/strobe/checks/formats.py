# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach test-formats: checks that other tools, which come from npm, can read our profiles."""

import shutil
from pathlib import Path

from .. import npm, paths, process
from ..errors import MachError
from ..lock import cache_lock
from ..run import shown_from_here
from ..setup import bootstrap

SCRIPTS = paths.ROOT / "tests" / "formats"


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
    status = process.stream(["node", str(tools / "check.mjs"), str(folder)])
    if status == 1:
        raise MachError(f"see above; the files are in {shown_from_here(folder)}")
    if status != 0:
        raise MachError(f"the checks {process.describe_status(status)}")
