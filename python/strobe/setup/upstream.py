# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The upstream trees: published crates with our hooks applied and our files added.

For every folder of components/ with a `hooks.patch`, the crate of that name is taken at the version and
checksum that upstream/Cargo.lock pins. It is unpacked into the shared cache, hooked with `git apply` and
completed with our other files of that folder. The generated .cargo/config.toml points Cargo's
`[patch.crates-io]` at the trees.

A tree's path has a digest of its checksum and hooks. So two checkouts with the same hooks share one compiled
copy, and a changed hook never meets a half-patched tree. Our own files are copied into the tree only if their
content differs, so preparing twice does not make Cargo rebuild.
"""

import filecmp
import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from .. import paths, process
from ..errors import MachError
from . import toolchain

HOOKS = "hooks.patch"
LOCK = paths.ROOT / "upstream" / "Cargo.lock"
# To be raised when trees are made in a new way, so that old trees are not used.
TREE_FORMAT = 1
PREPARED = ".prepared"

# Files that preparing and Cargo leave in a tree. A dependency's own lock file has no effect.
NOT_SOURCE = (PREPARED, ".cargo-ok", "Cargo.lock", "target")

MANIFEST = "Cargo.toml"
VERSION_LINE = re.compile(r'^version = "[^"]*"$')
HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$")


@dataclass(frozen=True)
class UpstreamCrate:
    """A hooked crate: the folder with its hooks and files, and the published crate that they are for."""

    folder: Path
    name: str
    version: str
    checksum: str
    # The lock file that pins it.
    lock: Path = LOCK

    @property
    def hooks(self) -> Path:
        return self.folder / HOOKS

    @property
    def tree(self) -> Path:
        """The tree with our hooks and files."""
        return self._tree(self.hooks.read_bytes())

    @property
    def published_tree(self) -> Path | None:
        """The tree for a build without our hooks, if the published crate asks for another engine than the pins have."""
        moved = moved_pins(_text(self.hooks))
        return self._tree(moved.encode(), "published-") if moved else None

    def _tree(self, hooks: bytes, kind: str = "") -> Path:
        digest = hashlib.sha256()
        for part in (str(TREE_FORMAT).encode(), self.checksum.encode(), hooks):
            digest.update(hashlib.sha256(part).digest())
        return paths.cache_dir() / "upstream" / f"{self.name}-{self.version}-{kind}{digest.hexdigest()[:12]}"

    def our_files(self) -> list[Path]:
        """Our files of this folder, relative to it. Each has the same place in the tree."""
        return sorted(
            path.relative_to(self.folder)
            for path in self.folder.rglob("*")
            if path.is_file() and path.name != HOOKS
        )


def pinned_packages(lock: Path = LOCK) -> dict[str, dict]:
    """The packages of the lock file by name. Of several versions the last one is taken, which is the newest."""
    with open(lock, "rb") as file:
        return {package["name"]: package for package in tomllib.load(file)["package"]}


def hooked_crates(components: Path = paths.COMPONENTS, lock: Path = LOCK) -> list[UpstreamCrate]:
    """Every crate with hooks."""
    return [crate_of(hooks.parent, lock) for hooks in sorted(components.glob(f"*/{HOOKS}"))]


def crate_of(folder: Path, lock: Path = LOCK) -> UpstreamCrate:
    """The crate that a folder of components/ is for. The folder's name is Servo's: `script` is `servo-script`."""
    pins = pinned_packages(lock)
    candidates = [f"servo-{folder.name.replace('_', '-')}", folder.name]
    name = next((name for name in candidates if name in pins), None)
    if name is None:
        raise MachError(
            f"{paths.shown(folder)}: {paths.shown(lock)} pins no crate named {' or '.join(candidates)}; "
            "a hooked crate's folder must be named as Servo names it"
        )
    package = pins[name]
    if "checksum" not in package:
        raise MachError(f"{paths.shown(lock)}: {name} has no checksum; only crates from the registry can be hooked")
    return UpstreamCrate(folder, name, package["version"], package["checksum"], lock)


def prepare(
    report=print,
    components: Path = paths.COMPONENTS,
    lock: Path = LOCK,
    cargo_config: Path = paths.CARGO_CONFIG,
) -> bool:
    """Makes every tree and the Cargo configuration. Returns True if anything had to be made."""
    changed = False
    crates = hooked_crates(components, lock)
    for crate in crates:
        if not (crate.tree / PREPARED).exists():
            report(f"preparing {crate.name} {crate.version} with {paths.shown(crate.hooks)}")
            _make_tree(crate, crate_archive(crate, report), crate.tree, _text(crate.hooks))
            changed = True
        changed |= _place_our_files(crate)
    return _write_if_changed(cargo_config, _cargo_config(crates)) or changed


def prepare_published(report=print, components: Path = paths.COMPONENTS, lock: Path = LOCK) -> dict[str, Path]:
    """Makes the trees for a build without our hooks, and returns them by the names of their crates.

    Only crates whose pins are moved have one. Cargo takes the others from the registry.
    """
    trees = {}
    for crate in hooked_crates(components, lock):
        if (tree := crate.published_tree) is not None:
            if not (tree / PREPARED).exists():
                _make_tree(crate, crate_archive(crate, report), tree, moved_pins(_text(crate.hooks)))
            trees[crate.name] = tree
    return trees


def crate_archive(crate: UpstreamCrate, report=print) -> Path:
    """The published .crate file in Cargo's registry cache, checked against the pinned checksum."""
    archive = _cached_archive(crate)
    if archive is None:
        report(f"fetching {crate.name} {crate.version} from the crate registry")
        _fetch(crate)
        archive = _cached_archive(crate)
    if archive is None:
        raise MachError(f"{crate.name} {crate.version}: not in Cargo's registry cache after `cargo info`")
    check_archive(crate, archive)
    return archive


def _fetch(crate: UpstreamCrate):
    """Brings one crate into Cargo's registry cache, without its dependencies.

    `cargo fetch` would need a lock file that Cargo agrees to. It does not agree to the pins, because they have another
    engine than the published servo-script asks for. It runs outside the checkout, because the checkout's generated
    configuration may refer to our own crates.
    """
    with tempfile.TemporaryDirectory() as scratch:
        command = ["cargo", "info", "--quiet", "--registry", "crates-io", f"{crate.name}@{crate.version}"]
        if process.stream(command, cwd=Path(scratch), on_line=lambda _: None) != 0:
            _fetch_yanked(crate, Path(scratch, "package"))


def _fetch_yanked(crate: UpstreamCrate, package: Path):
    """Brings a crate into the cache that may be yanked: `cargo info` does not find it, but a lock file may name it.

    Its dependencies come with it, in any version.
    """
    package.mkdir()
    (package / "lib.rs").touch()
    head = '[package]\nname = "yanked"\nversion = "0.0.0"\nedition = "2024"\n\n[lib]\npath = "lib.rs"\n'
    dependency = f'\n[dependencies]\n{crate.name} = "={crate.version}"\n\n[workspace]\n'
    (package / MANIFEST).write_text(head + dependency, encoding="utf-8")
    source = pinned_packages(crate.lock)[crate.name]["source"]
    (package / "Cargo.lock").write_text(
        f'version = 4\n\n[[package]]\nname = "{crate.name}"\nversion = "{crate.version}"\nsource = "{source}"\n'
        f'checksum = "{crate.checksum}"\n\n[[package]]\nname = "yanked"\nversion = "0.0.0"\n'
        f'dependencies = [\n "{crate.name}",\n]\n',
        encoding="utf-8",
    )
    process.run(["cargo", "fetch"], cwd=package)


def check_archive(crate: UpstreamCrate, archive: Path):
    """Raises MachError unless the lock file pins this archive."""
    actual = hashlib.sha256(archive.read_bytes()).hexdigest()
    if actual != crate.checksum:
        raise MachError(
            f"{crate.name} {crate.version}: checksum differs\n"
            f"  file     {archive}\n  actual   {actual}\n  expected {crate.checksum} ({paths.shown(crate.lock)})"
        )


def _cached_archive(crate: UpstreamCrate) -> Path | None:
    found = sorted(paths.cargo_home().glob(f"registry/cache/*/{crate.name}-{crate.version}.crate"))
    return found[0] if found else None


def unpacked_by_cargo(archive: Path) -> Path | None:
    """The folder in which Cargo keeps the sources of an archive of its cache, if it has unpacked it."""
    folder = archive.parents[2] / "src" / archive.parent.name / archive.stem
    return folder if folder.is_dir() else None


def _make_tree(crate: UpstreamCrate, archive: Path, tree: Path, patch: str):
    """Makes a tree in a folder beside the final one, and renames it when it is complete."""
    scratch = tree.with_name(tree.name + ".partial")
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.rmtree(tree, ignore_errors=True)
    try:
        unpacked = unpack(crate, archive, scratch)
        apply_hooks(crate.hooks, unpacked, patch)
        (unpacked / PREPARED).write_text(f"{crate.checksum}\n")
        unpacked.rename(tree)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def unpack(crate: UpstreamCrate, archive: Path, folder: Path, wanted: Callable[[str], bool] = lambda _: True) -> Path:
    """The pristine crate in a new folder of its name and version inside `folder`, or the files that are wanted."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as tar:
        members = [member for member in tar if wanted(member.name.partition("/")[2])]
        # Debian 12's Python 3.11 has extraction filters, but older releases of 3.11 do not.
        if hasattr(tarfile, "data_filter"):
            tar.extractall(folder, members, filter="data")
        else:
            tar.extractall(folder, members)
    return folder / f"{crate.name}-{crate.version}"


def archive_files(archive: Path) -> set[str]:
    """The files of a published crate, relative to its root."""
    with tarfile.open(archive) as tar:
        return {member.name.partition("/")[2] for member in tar if member.isfile()}


def archive_text(archive: Path, file: str) -> str:
    """A file of a published crate."""
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isfile() and member.name.partition("/")[2] == file:
                return tar.extractfile(member).read().decode()
    raise MachError(f"{archive.name}: has no {file}")


@dataclass(frozen=True)
class Hunk:
    """One place of a hook file: the lines to insert into an upstream file, and the line that they replace, if any."""

    # The upstream file, relative to the crate's root.
    place: str
    # For a pure insertion (`count` is 0) the 1-based line before it, otherwise the first replaced line.
    start: int
    count: int
    new_start: int
    new_count: int
    # The digest of the upstream neighbours: see anchor_of.
    anchor: str
    removed: tuple[str, ...] = ()
    inserted: tuple[str, ...] = ()

    @property
    def moves_pin(self) -> bool:
        """Whether it replaces the version of a dependency: see moved_pins."""
        return self.place == MANIFEST and self.count == 1 and len(self.inserted) == 1

    @property
    def text(self) -> str:
        lines = [self.header, *(f"-{line}" for line in self.removed), *(f"+{line}" for line in self.inserted)]
        return "".join(f"{line}\n" for line in lines)

    @property
    def header(self) -> str:
        return f"@@ -{self.start},{self.count} +{self.new_start},{self.new_count} @@ at {self.anchor}"


def read_hunks(patch: str) -> list[Hunk]:
    """The hunks of a hook file. `./mach test-tidy` checks that it contains nothing else."""
    result, place = [], None
    for line in patch.split("\n"):
        if line.startswith("+++ b/"):
            place = line.removeprefix("+++ b/")
        elif match := HUNK.match(line):
            result.append(Hunk(place, *_hunk_numbers(match), match.group(5).removeprefix("at ")))
        elif line.startswith("-") and result and len(result[-1].removed) < result[-1].count:
            result[-1] = replace(result[-1], removed=(*result[-1].removed, line[1:]))
        elif line.startswith("+") and result:
            result[-1] = replace(result[-1], inserted=(*result[-1].inserted, line[1:]))
    return result


def renumbered(placed: list["Placement"]) -> list[Hunk]:
    """The hunks at their places. A hunk without one stays as it is."""
    result = [one.hunk for one in placed if one.start is None]
    for place in dict.fromkeys(one.hunk.place for one in placed):
        of_file = [one for one in placed if one.hunk.place == place and one.start is not None]
        moved_by = 0
        for one in sorted(of_file, key=lambda one: one.start):
            # What is inserted begins after the line that it is inserted at.
            new_start = one.start + moved_by + (1 if one.hunk.count == 0 else 0)
            result.append(replace(one.hunk, start=one.start, new_start=new_start))
            moved_by += one.hunk.new_count - one.hunk.count
    return result


def write_hunks(hunks: list[Hunk]) -> str:
    """A hook file with these hunks, sorted as by make_hooks."""
    output = []
    for place in sorted({hunk.place for hunk in hunks}):
        of_file = sorted((hunk for hunk in hunks if hunk.place == place), key=lambda hunk: hunk.start)
        output += [f"--- a/{place}\n+++ b/{place}\n", *(hunk.text for hunk in of_file)]
    return "".join(output)


def moved_pins(patch: str) -> str:
    """The hooks that replace the version of a dependency in Cargo.toml, as a hook file; empty if there is none.

    A build without our other hooks needs them, too, so that both builds have the same engine.
    """
    moved = [hunk for hunk in read_hunks(patch) if hunk.moves_pin]
    for line in (line for hunk in moved for line in (*hunk.removed, *hunk.inserted)):
        if not VERSION_LINE.match(line):
            what = f"a hook replaces {line!r}; only the version of a dependency may be replaced"
            raise MachError(f"{MANIFEST}: {what}")
    # Without the hunks before it, the line stays where it is.
    return write_hunks([replace(hunk, new_start=hunk.start) for hunk in moved])


def _hunk_numbers(match: re.Match) -> tuple[int, int, int, int]:
    """(old start, old count, new start, new count); an omitted count is 1."""
    return tuple(1 if group is None else int(group) for group in match.groups()[:4])


def anchor_of(lines: list[str], start: int, count: int) -> str:
    """The digest of the upstream lines at a hunk: the replaced lines, the one before and the one after."""
    first = start if count == 0 else start - 1
    neighbours = lines[max(first - 1, 0) : first + count + 1]
    return hashlib.sha256("\n".join(line.strip() for line in neighbours).encode()).hexdigest()[:8]


def apply_hooks(hooks: Path, tree: Path, patch: str | None = None):
    """Applies a hook file, or its part `patch`, to an unpacked crate, or raises MachError naming the hook.

    Hunks without context have only a line number to say where they belong. So each hunk header has the
    digest of its upstream neighbours, which is checked first: a hook never lands at a wrong place.
    """
    patch = _text(hooks) if patch is None else patch
    for hunk in read_hunks(patch):
        if not (tree / hunk.place).is_file():
            raise MachError(f"{paths.shown(hooks)}: hook does not apply: {hunk.place} is not in {tree.name}")
        found = anchor_of(_text(tree / hunk.place).split("\n"), hunk.start, hunk.count)
        if hunk.anchor != found:
            raise MachError(
                f"{paths.shown(hooks)}: hook does not apply: {hunk.place} line {hunk.start} is not the line it was "
                f"made for\n  hunk {hunk.header}\n  the neighbours' digest is now {found}; "
                "see docs/hooks.md, 'Changing a hook'"
            )
    command = ["git", "apply", "--unidiff-zero", "--whitespace=nowarn", "-"]
    environment = dict(os.environ, GIT_CEILING_DIRECTORIES=str(tree.resolve().parent))
    result = subprocess.run(command, cwd=tree, env=environment, input=patch.encode(), capture_output=True)
    if result.returncode != 0:
        raise MachError(f"{paths.shown(hooks)}: hook does not apply:\n{result.stderr.decode().strip()}")


@dataclass(frozen=True)
class Placement:
    """Where a hunk belongs in another version of its crate."""

    hunk: Hunk
    # As Hunk.start; None if no place can be found.
    start: int | None
    # Why there is none, or why a person should look at this one.
    problem: str = ""

    @property
    def is_moved(self) -> bool:
        return self.start not in (None, self.hunk.start)

    def __str__(self):
        return f"{self.hunk.place}: {self.hunk.header}: {self.problem}"


def placements(patch: str, tree: Path, before: Path | None = None) -> list[Placement]:
    """Finds the place of each hunk of a hook file in another version of its crate, by the digest of its neighbours.

    That is the line that the hunk was made for, or the only other line with such neighbours. `before` is the crate that
    the hunks were made for. If it is given, the differences between the two versions tell where a line has gone, so
    that a hunk may have neighbours of which there are several.
    """
    hunks = read_hunks(patch)
    result = []
    for place in dict.fromkeys(hunk.place for hunk in hunks):
        of_file = [hunk for hunk in hunks if hunk.place == place]
        if not (tree / place).is_file():
            result += [Placement(hunk, None, f"not in {tree.name}") for hunk in of_file]
            continue
        lines = _text(tree / place).split("\n")
        changes = differences(before / place, tree / place) if before else None
        for hunk in of_file:
            first_line = 0 if hunk.count == 0 else 1
            found = [at for at in range(first_line, len(lines)) if anchor_of(lines, at, hunk.count) == hunk.anchor]
            expected = hunk.start if changes is None else _moved_line(hunk, changes)
            if expected in found:
                found = [expected]
            if len(found) == 1:
                doubt = "" if expected is not None else "its neighbours were changed, and are found at another place"
                result.append(Placement(hunk, found[0], doubt))
            else:
                why = f"its neighbours are found at {len(found)} places" if found else "its neighbours are not found"
                result.append(Placement(hunk, None, why))
    return result


def insert(placed: list[Placement], tree: Path):
    """Inserts the hunks that have a place into a tree."""
    for place in dict.fromkeys(placement.hunk.place for placement in placed if placement.start is not None):
        lines = _text(tree / place).split("\n")
        of_file = [one for one in placed if one.hunk.place == place and one.start is not None]
        # From the end, so that a hunk does not move the lines of earlier hunks.
        for one in sorted(of_file, key=lambda one: one.start, reverse=True):
            first = one.start if one.hunk.count == 0 else one.start - 1
            lines[first : first + one.hunk.count] = one.hunk.inserted
        (tree / place).write_bytes("\n".join(lines).encode())


def place_hooks(hooks: Path, tree: Path) -> list[Placement]:
    """Inserts the hunks whose place can be found into a tree for editing, and returns the others."""
    placed = placements(_text(hooks), tree)
    insert(placed, tree)
    return [one for one in placed if one.start is None]


def _moved_line(hunk: Hunk, changes: list[tuple[int, int, int, int]]) -> int | None:
    """Where a hunk's line is after these differences; None if they change its neighbours or come between them."""
    first = hunk.start if hunk.count == 0 else hunk.start - 1
    last = hunk.start + 1 if hunk.count == 0 else hunk.start + hunk.count
    moved_by = 0
    for start, count, _, new_count in changes:
        # What is inserted comes after the line `start`.
        if (start < first) if count == 0 else (start + count <= first):
            moved_by += new_count - count
        elif (start < last) if count == 0 else (start <= last):
            return None
    return hunk.start + moved_by


def differences(before: Path, after: Path) -> list[tuple[int, int, int, int]]:
    """What `git diff` says of two files, as in the headers of its hunks. From a file that is not there, all differs."""
    if not before.is_file():
        return [(0, 1 << 32, 0, 0)]
    return [_hunk_numbers(match) for line in _diff(before, after) if (match := HUNK.match(line))]


def _diff(before: Path, after: Path) -> list[str]:
    """The lines of the differences between two files, without context. The headers of the files are left out."""
    # The options override a person's own Git configuration.
    command = ["git", "diff", "--no-index", "--no-color", "--no-ext-diff", "--diff-algorithm=myers"]
    command += ["--indent-heuristic", "--text", "-U0", str(before), str(after)]
    result = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", errors="replace")
    if result.returncode not in (0, 1):
        raise MachError(f"{after}: `git diff` failed:\n{result.stderr.strip()}")
    # The lines before the first hunk are headers with paths of this machine.
    changes = result.stdout.partition("\n@@ ")[2]
    return ("@@ " + changes).removesuffix("\n").split("\n") if changes else []


def make_hooks(pristine: Path, edited: Path, ours: list[Path] = ()) -> str:
    """A hook file from two trees: differences without context, headers with digests, files sorted.

    `ours` are the files that we add, relative to the tree; the edited tree may contain them. Any other file that
    is in only one tree raises MachError, because a hook cannot add or remove upstream files.
    """
    before, after = _sources(pristine), _sources(edited)
    if removed := sorted(before - after):
        raise MachError(f"{edited}: {removed[0]} is gone; a hook inserts lines, it cannot remove a file")
    if added := sorted(after - before - set(ours)):
        raise MachError(f"{edited}: {added[0]} is not in the upstream crate; our files go to components/")
    output = []
    for place in sorted(before, key=str):
        if filecmp.cmp(pristine / place, edited / place):
            continue
        lines = _text(pristine / place).split("\n")
        if changes := _diff(pristine / place, edited / place):
            output += [f"--- a/{place}", f"+++ b/{place}"]
            output += [_with_anchor(line, lines) for line in changes]
    return "".join(line + "\n" for line in output)


def _with_anchor(line: str, upstream_lines: list[str]) -> str:
    """A line of `git diff`; a hunk's header gets the digest of its upstream neighbours."""
    if not (match := HUNK.match(line)):
        return line
    start, count, *new = _hunk_numbers(match)
    return Hunk("", start, count, *new, anchor_of(upstream_lines, start, count)).header


def _sources(tree: Path) -> set[Path]:
    files = (path.relative_to(tree) for path in tree.rglob("*") if path.is_file())
    return {file for file in files if file.parts[0] not in NOT_SOURCE}


def _text(path: Path) -> str:
    """A file's text with unchanged line endings."""
    return path.read_bytes().decode()


def _place_our_files(crate: UpstreamCrate) -> bool:
    """Copies our files of the folder into the tree, and removes those that the folder no longer has."""
    wanted = crate.our_files()
    record = crate.tree / PREPARED
    checksum, *before = record.read_text().splitlines()
    changed = False
    for place in wanted:
        target = crate.tree / place
        if str(place) not in before and target.exists():
            ours = paths.shown(crate.folder / place)
            raise MachError(f"{ours}: {crate.name} has a file of that name; ours must not replace it")
        target.parent.mkdir(parents=True, exist_ok=True)
        changed |= _write_if_changed(target, (crate.folder / place).read_bytes())
    for place in before:
        if Path(place) not in wanted:
            (crate.tree / place).unlink(missing_ok=True)
            changed = True
    _write_if_changed(record, "\n".join([checksum, *map(str, wanted)]) + "\n")
    return changed


def _write_if_changed(path: Path, content: str | bytes) -> bool:
    content = content.encode() if isinstance(content, str) else content
    if path.exists() and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return True


def _cargo_config(crates: list[UpstreamCrate]) -> str:
    lines = [
        "# Written by ./mach bootstrap; edits are overwritten.",
        "[build]",
        f'build-dir = "{paths.cache_dir() / "build"}"',
        "",
        "[env]",
    ]
    for name, value in toolchain.build_environment().items():
        lines.append(f'{name} = {{ value = "{value}", force = true }}')
    # Cargo tells the crates of two checkouts apart only by the age of their files, and the checkouts share
    # a build folder. Each of our crates reads this variable, and so is rebuilt in another checkout.
    lines.append(f'STROBE_CHECKOUT = {{ value = "{paths.ROOT}", force = true }}')
    lines += ["", "[patch.crates-io]"]
    lines += [f'{crate.name} = {{ path = "{crate.tree}" }}' for crate in crates]
    return "\n".join(lines) + "\n"
