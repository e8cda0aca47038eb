# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Running Cargo where its answer is wanted, and not its output."""

import os
import shlex
import subprocess
from pathlib import Path

from ..errors import MachError


def run(arguments: list[str], cwd: Path, home: Path | None = None) -> subprocess.CompletedProcess:
    """Runs Cargo in a folder, with another home folder if one is given. It may fail."""
    environment = {**os.environ, **({"CARGO_HOME": str(home)} if home else {})}
    command = ["cargo", *arguments]
    try:
        return subprocess.run(
            command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
    except OSError as error:
        raise MachError(f"cargo: cannot be run: {error.strerror}; needed for `{shlex.join(command)}`") from None


def update_lock(package: Path, patches: dict[str, Path]):
    """Makes the lock file of a package or workspace follow its manifests, and leaves all else in it as it is.

    `patches` are folders with crates that replace published ones.
    """
    arguments = ["update", "--workspace"]
    for name, tree in patches.items():
        arguments += ["--config", f'patch.crates-io.{name}.path="{tree}"']
    result = run(arguments, package)
    if result.returncode != 0:
        raise MachError(f"Cargo finds no versions for the lock file of {package.name}:\n{result.stderr.strip()}")
