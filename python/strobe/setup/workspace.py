# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Our own crates, as listed in the workspace's Cargo.toml."""

import tomllib
from pathlib import Path

from .. import paths


def rust_version(root: Path = paths.ROOT) -> str:
    """The oldest Rust that builds the workspace."""
    return _manifest(root)["workspace"]["package"]["rust-version"]


def version(root: Path = paths.ROOT) -> str:
    """The version of all our crates."""
    return _manifest(root)["workspace"]["package"]["version"]


def crates(root: Path = paths.ROOT, under: str = "") -> list[str]:
    """The names of the member crates whose folders are below `under`."""
    members = [member for member in _manifest(root)["workspace"]["members"] if member.startswith(under)]
    return [_manifest(root / member)["package"]["name"] for member in members]


def package_arguments(names: list[str]) -> list[str]:
    return [argument for name in names for argument in ("-p", name)]


def _manifest(folder: Path) -> dict:
    with open(folder / "Cargo.toml", "rb") as file:
        return tomllib.load(file)
