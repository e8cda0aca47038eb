# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach test-formats: our profiles in the tools that they are for.

The tools come from npm and stand in the cache, with the scripts of tests/formats beside them, for a script looks
for what it imports in the folders above it.
"""

import hashlib
import os
import re
import shutil
from pathlib import Path

from .. import paths, process
from ..errors import MachError
from ..lock import cache_lock
from ..run import shown_from_here
from ..setup import bootstrap

SCRIPTS = paths.ROOT / "tests" / "formats"
OLDEST_NODE = 18
# Of what is installed.
STAMP = "installed"


def test_formats(profiles: list[Path]):
    """Writes recordings in every format, those of `profiles` or else random ones, and has the tools read them."""
    for profile in profiles:
        if not profile.is_file():
            raise MachError(f"{profile}: no such file")
    check_node()
    with cache_lock("test-formats"):
        bootstrap.ensure()
        folder = paths.target_dir() / "formats"
        shutil.rmtree(folder, ignore_errors=True)
        command = ["cargo", "run", "--quiet", "--locked", "--package=profile_formats", "--example=every_format", "--"]
        process.run([*command, str(folder), *(str(profile.resolve()) for profile in profiles)])
        tools = install()
    status = process.stream(["node", str(tools / "check.mjs"), str(folder)])
    if status == 1:
        raise MachError(f"see above; the files are in {shown_from_here(folder)}")
    if status != 0:
        raise MachError(f"the checks {process.describe_status(status)}")


def check_node():
    """MachError unless the tools can run here."""
    version = process.output(["node", "--version"])
    missing = [name for name in ("node", "npm") if shutil.which(name) is None]
    if missing or version is None:
        what = " and no ".join(missing) or "node that runs"
        raise MachError(f"there is no {what} here; on Debian or Ubuntu: sudo apt-get install nodejs npm")
    match = re.match(r"v(\d+)", version)
    if not match or int(match.group(1)) < OLDEST_NODE:
        raise MachError(f"Node.js {OLDEST_NODE} or newer is needed; this one is {version.strip()}")


def install() -> Path:
    """The folder of the scripts, with the packages of their lock file."""
    folder = paths.cache_dir() / "formats"
    folder.mkdir(parents=True, exist_ok=True)
    for script in SCRIPTS.iterdir():
        shutil.copy(script, folder)
    digest = hashlib.sha256((SCRIPTS / "package-lock.json").read_bytes()).hexdigest()
    stamp = folder / STAMP
    if not stamp.exists() or stamp.read_text() != digest:
        stamp.unlink(missing_ok=True)
        # None of them needs its own scripts.
        environment = {**os.environ, "npm_config_update_notifier": "false"}
        process.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, env=environment)
        stamp.write_text(digest)
    return folder
