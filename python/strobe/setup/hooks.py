# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach update-hooks: makes a tree to edit, and a hook file from the edited tree."""

import tempfile
from pathlib import Path

from .. import paths, tidy
from ..errors import MachError
from ..lock import cache_lock
from . import upstream


def checkout(folder: str, destination: Path, components: Path = paths.COMPONENTS, lock: Path = upstream.LOCK):
    """Unpacks the pristine crate with the current hooks, but without our own files, into a new folder."""
    crate = upstream.crate_of(_crate_folder(folder, components), lock)
    if destination.exists():
        raise MachError(f"{destination}: already exists; name a new folder")
    with tempfile.TemporaryDirectory(dir=_parent(destination)) as scratch:
        tree = upstream.unpack(crate, upstream.crate_archive(crate), Path(scratch))
        unplaced = upstream.place_hooks(crate.hooks, tree) if crate.hooks.exists() else []
        tree.rename(destination)
    print(f"{crate.name} {crate.version} with its hooks is in {destination}; edit it and then run")
    print(f"  ./mach update-hooks {crate.folder.name} --from {destination}")
    if unplaced:
        lines = "\n".join(f"  {hook}" for hook in unplaced)
        raise MachError(f"these hooks of {paths.shown(crate.hooks)} must be placed by hand:\n{lines}")


def update(folder: str, edited: Path, components: Path = paths.COMPONENTS, lock: Path = upstream.LOCK):
    """Rewrites hooks.patch from an edited tree. A tree that breaks the rules for hooks changes nothing."""
    crate = upstream.crate_of(_crate_folder(folder, components), lock)
    if not (edited / "Cargo.toml").is_file():
        raise MachError(f"{edited}: has no Cargo.toml; it must be an edited copy of {crate.name}")
    with tempfile.TemporaryDirectory() as scratch:
        pristine = upstream.unpack(crate, upstream.crate_archive(crate), Path(scratch))
        patch = upstream.make_hooks(pristine, edited.resolve(), crate.our_files())
    if not patch:
        raise MachError(
            f"{edited}: does not differ from {crate.name} {crate.version}; to have no hooks, remove hooks.patch"
        )
    if problems := list(tidy.hook_problems(patch)):
        lines = patch.split("\n")
        shown = "\n".join(f"  {what}:\n    {_file_of(lines, line)}: {lines[line - 1]}" for line, what in problems)
        raise MachError(f"{edited}: these changes cannot be hooks:\n{shown}")
    crate.hooks.write_text(patch, encoding="utf-8")
    print(f"{paths.shown(crate.hooks)}: {len(upstream.read_hunks(patch))} hooks")


def update_hooks(folder: str, checkout_to: Path | None, edited: Path | None):
    with cache_lock("update-hooks"):
        if checkout_to is not None:
            checkout(folder, checkout_to)
        else:
            update(folder, edited)


def _crate_folder(name: str, components: Path) -> Path:
    """`script` and `components/script/` mean the same folder."""
    folder = components / name.rstrip("/").removeprefix("components/")
    if folder.parent != components or not folder.is_dir():
        known = ", ".join(hooks.parent.name for hooks in sorted(components.glob(f"*/{upstream.HOOKS}")))
        raise MachError(f"{name}: no such folder in components/; the folders with hooks are {known or 'none'}")
    return folder


def _parent(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.parent


def _file_of(patch_lines: list[str], number: int) -> str:
    """The upstream file that a line of a hook file is about."""
    names = [line.removeprefix("+++ b/") for line in patch_lines[:number] if line.startswith("+++ b/")]
    return names[-1] if names else "?"
