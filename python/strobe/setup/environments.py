# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Packages of PyPI for our commands, each set in an environment of its own in the cache."""

import hashlib
import shutil
import sys
import tempfile
from pathlib import Path

from .. import paths, process
from ..lock import cache_lock


def ensure_environment(name: str, packages: list[str]) -> Path:
    """The programs of an environment with these packages, as pip names them. One that is not complete is not kept."""
    text = "\n".join(packages) + "\n"
    digest = hashlib.sha256((text + sys.version).encode()).hexdigest()[:12]
    environment = paths.cache_dir() / f"{name}-{digest}"
    programs = environment / "bin"
    # Written last.
    complete = environment / "packages.txt"
    # Commands hold the cache's own lock when they ask for this.
    with cache_lock("bootstrap", name=f"{name}-lock"):
        if complete.exists():
            return programs
        print(f"installing {', '.join(packages) if len(packages) < 4 else f'{len(packages)} packages for {name}'}")
        # A virtual environment cannot be moved: it is made in place.
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
