# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach update-upstream: moves the pins, the lock files and the hooks to other versions of Servo or of the engine.

Cargo finds the versions of all other crates, in a copy of the checkout's manifests. The checkout is changed at the end,
all files or none.
"""

import re
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

from .. import paths, tidy
from ..errors import MachError
from ..setup import lock_file, upstream
from ..setup.upstream import MANIFEST, VERSION_LINE, Hunk, Placement
from . import targets
from .checkout import LOCK_FILE, Copy
from .registry import Registry, Release
from .review import Review, for_cargo, review
from .targets import SERVO, Pins
from .versions import Version, lowest, satisfies

UPSTREAM = Path("upstream")
REST = "the rest of docs/hooks.md, How to move to a new version"


def update_upstream(name: str, version: str, root: Path = paths.ROOT):
    """Moves everything that follows from this version of a crate. On an error nothing is changed."""
    wanted = Version.parse(version)
    components, lock = root / "components", root / UPSTREAM / LOCK_FILE
    packages = upstream.pinned_packages(lock)
    pins, registry = Pins(packages), Registry()
    releases = targets.of_move(registry, pins, name, wanted)
    if pins.version(name) == wanted:
        print(f"the pins have {name} {wanted} already; nothing is changed")
        return
    with tempfile.TemporaryDirectory() as scratch:
        found = review(releases, Path(scratch), components, lock)
        copy = Copy(root, Path(scratch, "checkout"))
        versions = {crate: (pins.version(crate), release.version) for crate, release in releases.items()}
        versions = {crate: (old, new) for crate, (old, new) in versions.items() if old != new}
        copy.set_requirements(versions)
        hooked = _hooked_trees(found, releases, Path(scratch), components, lock)
        _move_locks(copy, hooked, releases, packages)
        for tree in hooked:
            (copy.folder / tree.hooks.relative_to(root)).write_bytes(tree.text().encode())
        changes = copy.changes()
        differences = list(lock_differences(lock, copy.folder / UPSTREAM / LOCK_FILE))
        copy.write()
    _report("moved", differences)
    _report("changed", sorted(map(str, changes)))
    for line in found.lines():
        print(line)
    doubts = [doubt for tree in hooked for doubt in tree.doubts]
    mentions = _mentions(root, {str(old) for old, _ in versions.values()})
    _report("for a person to do", [*doubts, *found.tasks(), *mentions, REST])


def _report(heading: str, lines: list[str]):
    print(f"{heading}:")
    for line in lines:
        print(f"  {line}")


class HookedTree:
    """A hooked crate in the version that it is to have: first only with the hooks that move a pin, then with all."""

    def __init__(self, hooks: Path, name: str, tree: Path, placements: list[Placement], releases: dict[str, Release]):
        self.hooks = hooks
        self.name = name
        self.tree = tree
        self.doubts: list[str] = []
        self._placements = placements
        self._pins = list(self._moved_pins(releases))
        upstream.insert(self._pins, tree)

    @property
    def moves_pin(self) -> bool:
        return bool(self._pins)

    def insert_hooks(self):
        # The hooks that move a pin have added no line.
        upstream.insert(self._placements, self.tree)

    def text(self) -> str:
        """The hook file. A hook that has lost its place stays as it is, so that each command names it."""
        return upstream.write_hunks(upstream.renumbered([*self._pins, *self._placements]))

    def _moved_pins(self, releases: dict[str, Release]) -> Iterator[Placement]:
        """A hook for each dependency of the published crate that does not take the version of these releases."""
        lines = (self.tree / MANIFEST).read_bytes().decode().split("\n")
        for key, entry in tomllib.loads("\n".join(lines)).get("dependencies", {}).items():
            entry = {"version": entry} if isinstance(entry, str) else entry
            release = releases.get(entry.get("package", key))
            if release is None or satisfies(release.version, entry["version"]):
                continue
            start = _version_line(lines, key)
            if start is None:
                raise MachError(f"{self.name}: its {MANIFEST} has no line with the version of {key}")
            moved = (f'version = "={release.version}"',)
            digest = upstream.anchor_of(lines, start, 1)
            yield Placement(Hunk(MANIFEST, start, 1, start, 1, digest, (lines[start - 1],), moved), start)
            if not release.version.is_compatible_with(lowest(entry["version"])):
                asked = f"{release.name} {entry['version']}"
                self.doubts.append(f"find what differs for {self.name}, which asks for {asked}")


def _version_line(lines: list[str], dependency: str) -> int | None:
    """The number of the line with the version in a dependency's table."""
    head = f"[dependencies.{dependency}]"
    if head not in lines:
        return None
    for number, line in enumerate(lines[lines.index(head) + 1 :], lines.index(head) + 2):
        if VERSION_LINE.match(line):
            return number
        if line.startswith("["):
            break
    return None


def _hooked_trees(
    found: Review, releases: dict[str, Release], scratch: Path, components: Path, lock: Path
) -> list[HookedTree]:
    moved = {crate.before.name: crate for crate in found.hooked}
    result = []
    for crate in upstream.hooked_crates(components, lock):
        if crate.name in moved:
            tree, placements = moved[crate.name].tree, moved[crate.name].placements
        else:
            patch = crate.hooks.read_bytes().decode()
            tree = upstream.unpack(crate, upstream.crate_archive(crate), scratch / "as-pinned", for_cargo(crate))
            placements = [one for one in upstream.placements(patch, tree) if not one.hunk.moves_pin]
            if lost := [one for one in placements if one.start is None]:
                raise MachError(f"{paths.shown(crate.hooks)}: hook does not apply: {lost[0]}")
        result.append(HookedTree(crate.hooks, crate.name, tree, placements, releases))
    return result


def _move_locks(copy: Copy, hooked: list[HookedTree], releases: dict[str, Release], packages: dict[str, dict]):
    """The lock file of the pins knows published crates, all others know the hooked ones."""
    published = {
        name: {**package, "checksum": releases[name].checksum} if name in releases else package
        for name, package in packages.items()
    }
    others = [package for package in copy.locks() if package != UPSTREAM]
    if SERVO in releases:
        _take_published_lock(copy, releases[SERVO], [UPSTREAM, *others])
    copy.update_lock(UPSTREAM, {tree.name: tree.tree for tree in hooked if tree.moves_pin}, published)
    _check_lock(copy, UPSTREAM, releases)
    for tree in hooked:
        tree.insert_hooks()
    trees = {tree.name: tree.tree for tree in hooked}
    for package in others:
        pinned = upstream.pinned_packages(copy.root / package / LOCK_FILE)
        if not pinned.keys() & releases.keys():
            continue
        # Only the workspace has hooked crates.
        copy.update_lock(package, trees if package == Path() else {})
        _check_lock(copy, package, releases)


def _take_published_lock(copy: Copy, servo: Release, packages: list[Path]):
    """Puts what Servo's own lock file has into those with Servo's crates. Cargo removes what is not needed."""
    crate = upstream.UpstreamCrate(Path(), servo.name, str(servo.version), servo.checksum)
    theirs = upstream.archive_text(upstream.crate_archive(crate), LOCK_FILE)
    header, texts = lock_file.packages(theirs)
    names = {lock_file.value(text, "name") for text in texts}
    for package in packages:
        path = copy.folder / package / LOCK_FILE
        _, ours = lock_file.packages(path.read_bytes().decode())
        if any(lock_file.value(text, "name").startswith(SERVO) for text in ours):
            kept = [text for text in ours if lock_file.value(text, "name") not in names]
            path.write_bytes(lock_file.joined(header, [*texts, *kept]).encode())


def _check_lock(copy: Copy, package: Path, releases: dict[str, Release]):
    file = package / LOCK_FILE
    with open(copy.folder / file, "rb") as opened:
        locked = [(entry["name"], entry["version"]) for entry in tomllib.load(opened)["package"]]
    for name, version in locked:
        if name in releases and version != str(releases[name].version):
            raise MachError(f"{file}: Cargo takes {name} {version}, though {releases[name].version} is asked for")


def lock_differences(before: Path, after: Path) -> Iterator[str]:
    """What was moved, added or removed between two lock files."""
    versions = []
    for file in (before, after):
        found: dict[str, list[str]] = {}
        with open(file, "rb") as opened:
            for entry in tomllib.load(opened)["package"]:
                found.setdefault(entry["name"], []).append(entry["version"])
        versions.append(found)
    for name in sorted(versions[0].keys() | versions[1].keys()):
        old, new = (", ".join(found.get(name, ())) for found in versions)
        if old != new:
            yield f"{name} {old or 'is added:'} {'to ' if old else ''}{new}" if new else f"{name} {old} is removed"


def _mentions(root: Path, versions: set[str]) -> Iterator[str]:
    """Lines of documents that name a version that was moved."""
    words = re.compile("|".join(rf"(?<![\d.]){re.escape(version)}(?![\d.]*\d)" for version in sorted(versions)))
    for document in tidy.documents(root):
        for number, line in enumerate((root / document).read_text(encoding="utf-8").split("\n"), 1):
            if match := words.search(line):
                yield f"{document}:{number} names {match[0]}"
