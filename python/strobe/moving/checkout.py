# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""A copy of what decides the versions of a checkout's dependencies: manifests, lock files and hooks."""

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from .. import tidy
from ..errors import MachError
from ..setup import lock_file, upstream
from . import cargo
from .versions import Version

LOCK_FILE = "Cargo.lock"
# Cargo finds programs and tests by their files, so it needs those too.
COPIED = (".lock", ".rs", ".toml")
DEPENDENCY = re.compile(r"^([\w-]+) *= *[\"{]")
PACKAGE = re.compile(r'\bpackage *= *"([^"]+)"')
DEPENDENCY_TABLES = ("dependencies", "dev-dependencies", "build-dependencies")


class Copy:
    """The copy is changed first. If all went well, `write` changes the checkout."""

    def __init__(self, root: Path, folder: Path):
        self.root = root
        self.folder = folder
        self._before = {
            file: (root / file).read_bytes()
            for file in tidy.our_files(root)
            if file.suffix in COPIED or file.name == upstream.HOOKS
        }
        for file, content in self._before.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(content)

    def locks(self) -> list[Path]:
        """The folders with a lock file, relative to the checkout."""
        return sorted(file.parent for file in self._before if file.name == LOCK_FILE)

    def set_requirements(self, versions: dict[str, tuple[Version, Version]]):
        """Makes our packages ask for other versions, which are given by crate: the old one and the new one."""
        for file in self._before:
            if file.name == upstream.MANIFEST:
                path = self.folder / file
                text = "\n".join(_moved(line, versions) for line in _text(path).split("\n"))
                for package, requirement in requirements(tomllib.loads(text)):
                    if package in versions and requirement == f"={versions[package][0]}":
                        what = f"asks for {package} {requirement} in a form that is not understood"
                        raise MachError(f"{file}: {what}; write it on one line")
                path.write_bytes(text.encode())

    def update_lock(self, package: Path, trees: dict[str, Path], published: dict[str, dict] | None = None):
        """Makes a lock file follow the manifests, where these trees stand for the crates of their names.

        With `published`, the packages of a lock file, the crates in trees are named as they are published.
        """
        path = self.folder / package / LOCK_FILE

        def in_tree(text: str) -> str:
            return lock_file.without_source(text) if lock_file.value(text, "name") in trees else text

        def as_published(text: str) -> str:
            name = lock_file.value(text, "name")
            if name not in trees:
                return text
            return lock_file.with_source(text, published[name]["source"], published[name]["checksum"])

        if published is not None:
            path.write_bytes(lock_file.changed(_text(path), in_tree).encode())
        cargo.update_lock(self.folder / package, trees)
        if published is not None:
            path.write_bytes(lock_file.changed(_text(path), as_published).encode())

    def changes(self) -> dict[Path, bytes]:
        """The files that differ from the checkout, relative to it."""
        contents = {file: (self.folder / file).read_bytes() for file in self._before}
        return {file: content for file, content in contents.items() if content != self._before[file]}

    def write(self):
        """Changes the checkout: all files, or none if one of them cannot be written."""
        changes = self.changes()
        for file in changes:
            if (self.root / file).read_bytes() != self._before[file]:
                raise MachError(f"{file}: was changed by somebody else meanwhile; nothing is changed")
        written = []
        try:
            for file, content in changes.items():
                beside = (self.root / file).with_name(f"{file.name}.new")
                written.append(beside)
                beside.write_bytes(content)
            for file in changes:
                os.replace((self.root / file).with_name(f"{file.name}.new"), self.root / file)
        except BaseException as error:
            for file in changes:
                if (self.root / file).read_bytes() != self._before[file]:
                    (self.root / file).write_bytes(self._before[file])
            for file in written:
                file.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise MachError(f"{error.filename}: {error.strerror}; nothing is changed") from None
            raise


def requirements(manifest: dict) -> Iterator[tuple[str, str]]:
    """(crate, requirement) of each dependency of a manifest that has a version."""
    tables = [manifest, manifest.get("workspace", {}), *manifest.get("target", {}).values()]
    for table in tables:
        for kind in DEPENDENCY_TABLES:
            for key, value in table.get(kind, {}).items():
                entry = {"version": value} if isinstance(value, str) else value
                if "version" in entry:
                    yield entry.get("package", key), entry["version"]


def _moved(line: str, versions: dict[str, tuple[Version, Version]]) -> str:
    if not (match := DEPENDENCY.match(line)):
        return line
    renamed = PACKAGE.search(line)
    before, after = versions.get(renamed[1] if renamed else match[1], (None, None))
    return line.replace(f'"={before}"', f'"={after}"')


def _text(path: Path) -> str:
    return path.read_bytes().decode()
