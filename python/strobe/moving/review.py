# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""What a move to newer versions means for the hooks, and for what the walk of a stack knows of the engine."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from .. import paths
from ..setup import upstream
from ..setup.upstream import Placement, UpstreamCrate
from .engine import CPP, SOURCES, EngineChanges, compare
from .registry import Release

ENGINE = "mozjs_sys"
# What Cargo reads to find the versions of dependencies: manifests, and whether the files of programs are there.
FOR_CARGO = (".toml", ".rs")


@dataclass
class Hooked:
    """A hooked crate before and after the move, and what becomes of its hooks."""

    before: UpstreamCrate
    after: UpstreamCrate
    # The unpacked crate after the move, without hooks.
    tree: Path
    # Without the hooks that move a pin, which are made anew.
    placements: list[Placement]
    # Files of ours for which the crate has one of the same name by now.
    replaced: list[Path]

    @property
    def unchanged(self) -> list[Placement]:
        return [one for one in self.placements if one.start is not None and not one.is_moved]

    @property
    def moved(self) -> list[Placement]:
        return [one for one in self.placements if one.is_moved]

    @property
    def lost(self) -> list[Placement]:
        return [one for one in self.placements if one.start is None]

    @property
    def doubtful(self) -> list[Placement]:
        return [one for one in self.placements if one.start is not None and one.problem]


@dataclass
class Review:
    hooked: list[Hooked] = field(default_factory=list)
    # None if the engine does not move.
    engine: EngineChanges | None = None
    # The folders of both versions of the engine, as Cargo has unpacked them, if it has.
    sources: tuple[Path, Path] | None = None

    def lines(self) -> Iterator[str]:
        for crate in self.hooked:
            counts = f"{len(crate.unchanged)} apply unchanged, {len(crate.moved)} moved, {len(crate.lost)} are lost"
            yield f"hooks of {crate.before.name} {crate.before.version} on {crate.after.version}: {counts}"
            for place, count in Counter(one.hunk.place for one in crate.unchanged).items():
                yield f"  unchanged: {place}: {count}"
            for one in crate.moved:
                doubt = f" ({one.problem})" if one.problem else ""
                yield f"  moved: {one.hunk.place}: line {one.hunk.start} to {one.start}{doubt}"
            for one in crate.lost:
                yield f"  lost: {one}"
            for file in crate.replaced:
                yield f"  {paths.shown(crate.before.folder / file)}: the crate has a file of that name"
        if self.engine is not None:
            yield from self._engine_lines(self.engine)

    def _engine_lines(self, changes: EngineChanges) -> Iterator[str]:
        files = f"{len(changes.changed_files)} of {len(changes.files)} changed"
        yield f"files of the engine that the walk relies on: {files}"
        yield from (f"  {file}: {how}" for file, how in changes.changed_files.items())
        functions = f"{len(changes.changed_functions)} of {len(changes.functions)} changed"
        yield f"functions of the engine on the list of the walk's calls: {functions}"
        yield from (f"  {name}: {how}" for name, how in changes.changed_functions.items())
        if changes.unknown:
            yield f"not compared: {len(changes.unknown)}"
            yield from (f"  {what}" for what in changes.unknown)
        if self.sources and changes.changed_files | changes.changed_functions:
            before, after = self.sources
            yield f"to read a file's changes: git diff --no-index {before}/FILE {after}/FILE"

    def tasks(self) -> Iterator[str]:
        """What a person has to do before the new versions can be trusted."""
        for crate in self.hooked:
            folder = crate.before.folder.name
            if crate.lost:
                yield (
                    f"place {_counted(crate.lost, 'lost hook')} of {crate.before.name} by hand: "
                    f"./mach update-hooks {folder} --checkout DIR"
                )
            if crate.doubtful:
                yield f"look at {_counted(crate.doubtful, 'hook')} of {folder} whose neighbours were changed"
            if crate.replaced:
                yield f"rename {_counted(crate.replaced, 'file')} of components/{folder}"
        if (changes := self.engine) is not None:
            if changes.changed_files:
                yield f"read the differences of {_counted(changes.changed_files, 'file')} of the engine"
            if changes.changed_functions:
                functions = _counted(changes.changed_functions, "function")
                yield f"read {functions} again, and what walk_calls.toml says of each"
            if changes.unknown:
                yield f"find what was not compared: {_counted(changes.unknown, 'name')}"


def _counted(things, word: str) -> str:
    return f"{len(things)} {word}{'' if len(things) == 1 else 's'}"


def review(targets: dict[str, Release], scratch: Path, components: Path, lock: Path) -> Review:
    """Compares the pinned version of each hooked crate with the one that it is to move to, in the folder `scratch`."""
    result = Review()
    for crate in upstream.hooked_crates(components, lock):
        target = targets.get(crate.name)
        if target is None or str(target.version) == crate.version:
            continue
        after = replace(crate, version=str(target.version), checksum=target.checksum)
        wanted = for_cargo(crate)
        before_archive, after_archive = upstream.crate_archive(crate), upstream.crate_archive(after)
        before_tree = upstream.unpack(crate, before_archive, scratch / "before", wanted)
        tree = upstream.unpack(after, after_archive, scratch / "after", wanted)
        placed = upstream.placements(crate.hooks.read_bytes().decode(), tree, before_tree)
        replaced = [file for file in crate.our_files() if (tree / file).exists() and not (before_tree / file).exists()]
        placed = [one for one in placed if not one.hunk.moves_pin]
        result.hooked.append(Hooked(crate, after, tree, placed, replaced))
        if crate.name == ENGINE:
            result.engine = compare(before_tree, tree, components)
            unpacked = (upstream.unpacked_by_cargo(before_archive), upstream.unpacked_by_cargo(after_archive))
            result.sources = unpacked if all(unpacked) else None
    return result


def for_cargo(crate: UpstreamCrate) -> Callable[[str], bool]:
    """Which files of a crate are compared or changed, or read by Cargo when it looks for versions."""
    places = {hunk.place for hunk in upstream.read_hunks(crate.hooks.read_bytes().decode())}
    places |= {str(file) for file in crate.our_files()}
    return lambda file: file in places or file.endswith(FOR_CARGO) or (file.startswith(SOURCES) and file.endswith(CPP))
