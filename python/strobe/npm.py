# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Tools from npm, at the versions of a lock file of ours."""

import hashlib
import os
import re
import shutil
from pathlib import Path

from . import paths, process
from .errors import MachError

OLDEST_NODE = 18
# Names the lock file whose packages are installed.
STAMP = "installed"


def check_node():
    """Raises MachError unless the tools can run here."""
    version = process.output(["node", "--version"])
    missing = [name for name in ("node", "npm") if shutil.which(name) is None]
    if missing or version is None:
        what = " and no ".join(missing) or "node that runs"
        raise MachError(f"there is no {what} here; on Debian or Ubuntu: sudo apt-get install nodejs npm")
    match = re.match(r"v(\d+)", version)
    if not match or int(match.group(1)) < OLDEST_NODE:
        raise MachError(f"Node.js {OLDEST_NODE} or newer is needed; this one is {version.strip()}")


def install(source: Path, lacks_optional: bool = False) -> Path:
    """A folder of the cache with the files and folders of `source` and the packages of its lock file.

    If that file lacks optional packages for other systems, because the registry it was made with did not have them,
    `npm ci` would refuse it (`lacks_optional`).

    The files are beside the packages, because a script looks for its imports in the folders above it.
    """
    folder = paths.cache_dir() / source.name
    folder.mkdir(parents=True, exist_ok=True)
    for file in source.iterdir():
        if file.is_dir():
            shutil.copytree(file, folder / file.name, dirs_exist_ok=True)
        else:
            shutil.copy(file, folder)
    digest = hashlib.sha256((source / "package-lock.json").read_bytes()).hexdigest()
    stamp = folder / STAMP
    if not stamp.exists() or stamp.read_text() != digest:
        stamp.unlink(missing_ok=True)
        # No package needs its install scripts.
        environment = {**os.environ, "npm_config_update_notifier": "false"}
        command = ["install", "--no-save"] if lacks_optional else ["ci"]
        process.run(["npm", *command, "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, env=environment)
        stamp.write_text(digest)
    return folder
