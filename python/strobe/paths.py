# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Where things are: the checkout, its build results, and the cache that all checkouts of one user share."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPONENTS = ROOT / "components"
# Reads saved profiles without the browser. It is outside the workspace, and has a lock file of its own.
TOOL = COMPONENTS / "tool"
CARGO_CONFIG = ROOT / ".cargo" / "config.toml"


def cache_dir() -> Path:
    """The folder for files that are expensive to make and the same for every checkout.

    It holds the prepared upstream trees and Cargo's intermediate files. STROBE_CACHE_DIR names another folder.
    """
    if override := os.environ.get("STROBE_CACHE_DIR"):
        return Path(override).resolve()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base).resolve() / "strobe"


def target_dir() -> Path:
    """Cargo's folder for the final artifacts of this checkout. Mach's own results go there too."""
    return ROOT / (os.environ.get("CARGO_TARGET_DIR") or "target")


def cargo_home() -> Path:
    return Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")


def shown(path: Path, base: Path = ROOT) -> str:
    """A path as a message shows it: relative to `base` if it is inside."""
    return str(path.relative_to(base)) if path.is_relative_to(base) else str(path)
