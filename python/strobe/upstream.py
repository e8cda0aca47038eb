# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The upstream trees: published crates with our hooks applied and our files added.

For every folder of components/ that holds a `hooks.patch`, the crate of that name is taken at the
version and checksum that upstream/Cargo.lock pins, unpacked into the shared cache, hooked with
`git apply` and completed with our other files of that folder. The generated .cargo/config.toml
points Cargo's `[patch.crates-io]` at the trees.

A tree's path holds a digest of what made it (checksum and hooks), so two checkouts that agree share
one compiled copy, and a changed hook never meets a half-patched tree. Our own files are copied into
the tree only where their content differs, so preparing twice does not make Cargo rebuild.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from . import paths
from .errors import MachError

HOOKS = "hooks.patch"
PINS = paths.ROOT / "upstream"
# Raised when the way a tree is made changes, so that trees made the old way are not used.
TREE_FORMAT = 1
PREPARED = ".prepared"
FETCH_TARGET = "x86_64-unknown-linux-gnu"

HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$")


@dataclass(frozen=True)
class UpstreamCrate:
    """One hooked crate: where its hooks and files are, and which published crate they are for."""

    folder: Path
    name: str
    version: str
    checksum: str

    @property
    def hooks(self) -> Path:
        return self.folder / HOOKS

    @property
    def key(self) -> str:
        digest = hashlib.sha256()
        for part in (str(TREE_FORMAT).encode(), self.checksum.encode(), self.hooks.read_bytes()):
            digest.update(hashlib.sha256(part).digest())
        return digest.hexdigest()[:12]

    @property
    def tree(self) -> Path:
        return paths.cache_dir() / "upstream" / f"{self.name}-{self.version}-{self.key}"

    def our_files(self) -> list[Path]:
        """Our files of this folder, relative to it: each stands at the same place in the tree."""
        return sorted(
            path.relative_to(self.folder)
            for path in self.folder.rglob("*")
            if path.is_file() and path.name != HOOKS
        )


def pinned_packages(lock: Path = PINS / "Cargo.lock") -> dict[str, dict]:
    """The packages of the lock file by name; of several versions the one named last (the newest)."""
    with open(lock, "rb") as file:
        return {package["name"]: package for package in tomllib.load(file)["package"]}


def hooked_crates(components: Path = paths.COMPONENTS, lock: Path = PINS / "Cargo.lock") -> list[UpstreamCrate]:
    """Every crate with hooks. A folder is named as Servo names it: `script` is crate `servo-script`."""
    pins = pinned_packages(lock)
    crates = []
    for hooks in sorted(components.glob(f"*/{HOOKS}")):
        folder = hooks.parent
        candidates = [f"servo-{folder.name.replace('_', '-')}", folder.name]
        name = next((name for name in candidates if name in pins), None)
        if name is None:
            raise MachError(
                f"{_shown(hooks)}: {lock} pins no crate named {' or '.join(candidates)}; "
                "a hooked crate's folder must be named as Servo names it"
            )
        package = pins[name]
        crates.append(UpstreamCrate(folder, name, package["version"], package["checksum"]))
    return crates


def prepare(report=print) -> bool:
    """Makes every tree and the Cargo configuration. True if anything had to be made."""
    changed = False
    crates = hooked_crates()
    for crate in crates:
        if not (crate.tree / PREPARED).exists():
            report(f"preparing {crate.name} {crate.version} with {_shown(crate.hooks)}")
            _make_tree(crate, _crate_archive(crate, report))
            changed = True
        changed |= _place_our_files(crate)
    return _write_if_changed(paths.CARGO_CONFIG, _cargo_config(crates)) or changed


def _shown(path: Path) -> str:
    return str(path.relative_to(paths.ROOT)) if path.is_relative_to(paths.ROOT) else str(path)


def _crate_archive(crate: UpstreamCrate, report) -> Path:
    """The published .crate file, from Cargo's registry cache, checked against the pinned checksum."""
    archive = _cached_archive(crate)
    if archive is None:
        report("fetching Servo and its dependencies from the crate registry")
        command = ["cargo", "fetch", "--locked", "--target", FETCH_TARGET]
        result = subprocess.run(command, cwd=PINS)
        if result.returncode != 0:
            raise MachError(f"`{' '.join(command)}` in {_shown(PINS)} failed with status {result.returncode}")
        archive = _cached_archive(crate)
    if archive is None:
        raise MachError(f"{crate.name} {crate.version}: not in Cargo's registry cache after `cargo fetch`")
    check_archive(crate, archive)
    return archive


def check_archive(crate: UpstreamCrate, archive: Path):
    """Raises MachError unless the archive is the one that upstream/Cargo.lock pins."""
    actual = hashlib.sha256(archive.read_bytes()).hexdigest()
    if actual != crate.checksum:
        raise MachError(
            f"{crate.name} {crate.version}: checksum differs\n"
            f"  file     {archive}\n  actual   {actual}\n  expected {crate.checksum} (upstream/Cargo.lock)"
        )


def _cached_archive(crate: UpstreamCrate) -> Path | None:
    cargo_home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    found = sorted(cargo_home.glob(f"registry/cache/*/{crate.name}-{crate.version}.crate"))
    return found[0] if found else None


def _make_tree(crate: UpstreamCrate, archive: Path):
    """Unpacks and hooks in a folder beside the final one, and renames it when all went well."""
    tree = crate.tree
    scratch = tree.with_name(tree.name + ".partial")
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.rmtree(tree, ignore_errors=True)
    scratch.mkdir(parents=True)
    with tarfile.open(archive) as tar:
        # The Debian 12 release of Python has extraction filters; an older 3.11 has not.
        if hasattr(tarfile, "data_filter"):
            tar.extractall(scratch, filter="data")
        else:
            tar.extractall(scratch)
    unpacked = scratch / f"{crate.name}-{crate.version}"
    try:
        apply_hooks(crate.hooks, unpacked)
    except MachError:
        shutil.rmtree(scratch)
        raise
    (unpacked / PREPARED).write_text(f"{crate.checksum}\n")
    unpacked.rename(tree)
    scratch.rmdir()


def apply_hooks(hooks: Path, tree: Path):
    """Applies a hook file to an unpacked crate, or raises MachError naming the hook.

    Hunks without context say where they go by line number alone, so each hunk header carries the
    digest of its upstream neighbours, which is checked first: a hook never lands at a wrong place.
    """
    for place, header, anchor in _hunks(hooks.read_text()):
        try:
            lines = (tree / place).read_text().split("\n")
        except FileNotFoundError:
            raise MachError(f"{_shown(hooks)}: hook does not apply: {place} is not in {tree.name}") from None
        if anchor != anchor_of(lines, header):
            raise MachError(
                f"{_shown(hooks)}: hook does not apply: {place} line {header[0]} is not the line it was made "
                f"for\n  hunk {_hunk_header(header, anchor)}\n  the neighbours' digest is now "
                f"{anchor_of(lines, header)}; see CONTRIBUTING.md, 'Changing a hook'"
            )
    command = ["git", "apply", "--unidiff-zero", "--whitespace=nowarn", str(hooks.resolve())]
    environment = dict(os.environ, GIT_CEILING_DIRECTORIES=str(tree.resolve().parent))
    result = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    if result.returncode != 0:
        raise MachError(f"{_shown(hooks)}: hook does not apply:\n{result.stderr.strip()}")


def _hunks(patch: str):
    """(file, (old start, old count, new start, new count), anchor) of every hunk."""
    place = None
    for line in patch.splitlines():
        if line.startswith("+++ b/"):
            place = line.removeprefix("+++ b/")
        elif match := HUNK.match(line):
            start, count, new_start, new_count = (int(group or 1) for group in match.groups()[:4])
            if match.group(2) == "0":
                count = 0
            if match.group(4) == "0":
                new_count = 0
            yield place, (start, count, new_start, new_count), match.group(5).removeprefix("at ")


def _hunk_header(header: tuple[int, int, int, int], anchor: str) -> str:
    start, count, new_start, new_count = header
    return f"@@ -{start},{count} +{new_start},{new_count} @@ at {anchor}"


def anchor_of(lines: list[str], header: tuple[int, int, int, int]) -> str:
    """The digest of the upstream lines beside a hunk: replaced lines, the one before, the one after."""
    start, count = header[:2]
    # For a pure insertion `start` is the line before it; for a replacement it is the first line replaced.
    first = start if count == 0 else start - 1
    neighbours = lines[max(first - 1, 0) : first + count + 1]
    return hashlib.sha256("\n".join(line.strip() for line in neighbours).encode()).hexdigest()[:8]


def make_hooks(pristine: Path, edited: Path) -> str:
    """A hook file from two trees: `git diff` without context, headers with anchors, files sorted."""
    command = ["git", "diff", "--no-index", "--no-color", "-U0", "--no-prefix", str(pristine), str(edited)]
    diff = subprocess.run(command, capture_output=True, text=True).stdout
    output = []
    for line in diff.splitlines():
        if line.startswith(("diff --git", "index ")):
            continue
        if line.startswith("--- "):
            place = line.removeprefix("--- ").removeprefix(str(pristine).lstrip("/")).lstrip("/")
            place = place.removeprefix(str(pristine)).lstrip("/")
            lines = (pristine / place).read_text().split("\n")
            output.append(f"--- a/{place}")
        elif line.startswith("+++ "):
            output.append(f"+++ b/{place}")
        elif match := HUNK.match(line):
            start, count, new_start, new_count = (int(g) if g is not None else 1 for g in match.groups()[:4])
            header = (start, count, new_start, new_count)
            output.append(_hunk_header(header, anchor_of(lines, header)))
        else:
            output.append(line)
    return "\n".join(output) + "\n"


def _place_our_files(crate: UpstreamCrate) -> bool:
    """Copies our files of the folder into the tree, and removes those that are ours no more."""
    wanted = crate.our_files()
    record = crate.tree / PREPARED
    checksum, *before = record.read_text().splitlines()
    changed = False
    for place in wanted:
        target = crate.tree / place
        if str(place) not in before and target.exists():
            raise MachError(f"{_shown(crate.folder / place)}: {crate.name} has a file of that name; ours must not replace it")
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
    from . import toolchain

    lines = [
        "# Written by ./mach bootstrap; edits are overwritten.",
        "[build]",
        f'build-dir = "{paths.cache_dir() / "build"}"',
        "",
        "[env]",
    ]
    lines += [f'{name} = {{ value = "{value}", force = true }}' for name, value in toolchain.build_environment().items()]
    lines += ["", "[patch.crates-io]"]
    lines += [f'{crate.name} = {{ path = "{crate.tree}" }}' for crate in crates]
    return "\n".join(lines) + "\n"
