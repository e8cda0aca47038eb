# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Where things are: the checkout, and the cache that all checkouts of one user share."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPONENTS = ROOT / "components"
CARGO_CONFIG = ROOT / ".cargo" / "config.toml"


def cache_dir() -> Path:
    """The folder for what is expensive to make and the same for every checkout.

    It holds the prepared upstream trees and Cargo's intermediate files. STROBE_CACHE_DIR moves it.
    """
    if override := os.environ.get("STROBE_CACHE_DIR"):
        return Path(override).resolve()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base).resolve() / "strobe"
