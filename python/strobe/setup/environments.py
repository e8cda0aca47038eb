# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Packages of PyPI for our commands. Each set has its own virtual environment in the cache."""

import hashlib
import shutil
import sys
import tempfile
from pathlib import Path

from .. import paths, process
from ..lock import cache_lock


def ensure_environment(name: str, packages: list[str]) -> Path:
    """The folder of programs of an environment with these packages. An incomplete environment is not kept."""
    text = "\n".join(packages) + "\n"
    digest = hashlib.sha256((text + sys.version).encode()).hexdigest()[:12]
    environment = paths.cache_dir() / f"{name}-{digest}"
    programs = environment / "bin"
    # This file is written last.
    complete = environment / "packages.txt"
    # This is another lock than the cache's own, which commands hold when they call this.
    with cache_lock("bootstrap", name=f"{name}-lock"):
        if complete.exists():
            return programs
        print(f"installing {', '.join(packages) if len(packages) < 4 else f'{len(packages)} packages for {name}'}")
        # A virtual environment cannot be moved, so it is made in place.
        try:
            process.run([sys.executable, "-m", "venv", "--clear", str(environment)])
            with tempfile.TemporaryDirectory() as scratch:
                wanted = Path(scratch, "requirements.txt")
                wanted.write_text(text)
                pip = [str(programs / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
                process.run([*pip, "-r", str(wanted)])
            complete.write_text(text)
        except BaseException:
            shutil.rmtree(environment, ignore_errors=True)
            raise
    return programs
