# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Programs of crates.io for our commands, compiled in the cache."""

from pathlib import Path

from .. import paths, process
from ..lock import cache_lock


def ensure_program(crate: str, version: str, *options: str, program: str | None = None) -> Path:
    """The program of a crate, which has the crate's name unless `program` is another. `options` are those of Cargo."""
    folder = paths.cache_dir() / f"{crate}-{version}"
    file = folder / "bin" / (program or crate)
    # This is another lock than the cache's own, which commands hold when they call this.
    with cache_lock("bootstrap", name=f"{crate}-lock"):
        if not file.exists():
            print(f"installing {crate} {version}")
            install = ["cargo", "install", "--locked", f"--version={version}", *options]
            # Outside the checkout, whose configuration is for the browser.
            process.run([*install, f"--root={folder}", crate], cwd=paths.cache_dir())
    return file
