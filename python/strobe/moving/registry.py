# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""What the crate registry has, asked through Cargo, which knows from its configuration where the registry is.

No command of Cargo lists the versions of a crate. Cargo writes the index of each crate that it looks for into its home
folder, as the registry has it. So it is made to look for a version that does not exist, in a new home folder with the
person's configuration.
"""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .. import paths
from ..errors import MachError
from . import cargo
from .versions import Version, satisfies

# The files of Cargo's home folder that say how to reach the registry.
CONFIGURATION = ("config.toml", "config", "credentials.toml", "credentials")
# The first byte of an index that Cargo has written.
INDEX_FORMAT = b"\x03"
# A version that no crate has.
NO_VERSION = "=0.0.0-0.looked-up-by-mach"

# Each of these crates asks for a version of the next one, down to the crate whose versions name their line.
CHAIN = ("servo", "servo-script", "mozjs", "mozjs_sys")


@dataclass(frozen=True)
class Release:
    """A published version of a crate."""

    name: str
    version: Version
    checksum: str
    is_yanked: bool
    # The requirements of its ordinary dependencies, by their crates' names.
    requirements: dict[str, str]

    def __str__(self):
        return f"{self.name} {self.version}"


class Registry:
    """The index of the registry. Each crate is looked up once."""

    def __init__(self):
        self._releases: dict[str, list[Release]] = {}

    def releases(self, name: str) -> list[Release]:
        """All published versions, the oldest one first. MachError if the registry cannot be asked."""
        if name not in self._releases:
            found = (_release(json.loads(line)) for line in _index(name))
            self._releases[name] = sorted(found, key=lambda release: release.version)
        return self._releases[name]

    def release(self, name: str, version: Version) -> Release:
        for release in self.releases(name):
            if release.version == version:
                return release
        newest = ", ".join(str(release.version) for release in self.releases(name)[-3:])
        raise MachError(f"{name} {version}: no such version; the newest are {newest}")

    def newest(self, name: str, requirement: str) -> Release | None:
        """The newest version for a requirement that is not yanked."""
        found = (
            release
            for release in reversed(self.releases(name))
            if not release.is_yanked and satisfies(release.version, requirement)
        )
        return next(found, None)

    def is_lts(self, release: Release) -> bool:
        """Whether it is of the line with long-term support: by its own number, or by the engine that it asks for."""
        if release.version.is_lts or release.name not in CHAIN[:-1]:
            return release.version.is_lts
        following = CHAIN[CHAIN.index(release.name) + 1]
        requirement = release.requirements.get(following)
        found = self.newest(following, requirement) if requirement else None
        return found is not None and self.is_lts(found)


def _release(entry: dict) -> Release:
    requirements = {
        dependency.get("package") or dependency["name"]: dependency["req"]
        for dependency in entry["deps"]
        if dependency["kind"] == "normal"
    }
    return Release(entry["name"], Version.parse(entry["vers"]), entry["cksum"], entry["yanked"], requirements)


def _index(name: str) -> Iterator[str]:
    """The lines of a crate's index, which are JSON: one for each version."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch, "home")
        home.mkdir()
        for file in CONFIGURATION:
            if (paths.cargo_home() / file).is_file():
                (home / file).symlink_to((paths.cargo_home() / file).resolve())
        package = Path(scratch, "package")
        package.mkdir()
        (package / "lib.rs").touch()
        (package / "Cargo.toml").write_text(
            '[package]\nname = "looked-up-by-mach"\nversion = "0.0.0"\nedition = "2024"\n\n[lib]\npath = "lib.rs"\n\n'
            f'[dependencies]\n{name} = "{NO_VERSION}"\n\n[workspace]\n',
            encoding="utf-8",
        )
        # This always fails.
        errors = cargo.run(["generate-lockfile"], package, home).stderr.strip()
        written = sorted(home.glob(f"registry/index/*/.cache/**/{name.lower()}"))
        if not written:
            raise MachError(f"{name}: Cargo wrote no index of it; it says:\n{errors}")
        content = written[0].read_bytes()
    if not content.startswith(INDEX_FORMAT):
        raise MachError(f"{name}: this version of Cargo writes its index in another form, which mach does not know")
    return (part.decode() for part in content.split(b"\0") if part.startswith(b"{"))
