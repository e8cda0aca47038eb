# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The licences of everything in the binary that others have written.

cargo-about finds those of the crates. Hooked ones are among them: for Cargo they are crates in the cache.
packaging/about.toml says which licences crates may have. What they contain of others, such as C code, is listed in
packaging/bundled.toml.
"""

import json
import os
import re
import shutil
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .. import build, paths, process
from ..errors import MachError
from ..setup.programs import ensure_program
from . import notices

# From crates.io.
CARGO_ABOUT = "0.9.3"
ACCEPTED = paths.ROOT / "packaging" / "about.toml"
BUNDLED = paths.ROOT / "packaging" / "bundled.toml"
SHELL_MANIFEST = paths.COMPONENTS / "shell" / "Cargo.toml"
# The crates that strobe-tool is built from, and their workspace, from which they have their versions.
TOOL_CRATES = ("profile_commands", "profile_formats", "profile_sets", "source_maps", "terminal_text", "tool")
TOOL_MANIFEST = Path("components", "tool", "Cargo.toml")

BUNDLED_KEYS = ("files", "notices", "left_out", "own")
# Compiled by build scripts. Headers alone are not.
C_SOURCES = (".S", ".asm", ".c", ".cc", ".cpp", ".cxx", ".s")
# Files that hold a licence, by their names.
LICENCE_FILE = re.compile(r"(?:licen[cs]e|copying|copyright|notice|ofl|ftl|patents)(?:[.-].*)?$", re.I)

RULE = "=" * 80


@dataclass(frozen=True)
class Crate:
    name: str
    version: str
    # As in its manifest.
    licence: str
    folder: Path
    has_build_script: bool = False

    def __str__(self):
        return f"{self.name} {self.version}"


@dataclass(frozen=True)
class Text:
    """The text of a licence, and the crates that have it."""

    title: str
    text: str
    crates: tuple[str, ...]


About = tuple[list[Crate], list[Text]]


def third_party_licences() -> str:
    """The text of all licences, or MachError that names the crate whose licence is unknown."""
    browser, tool = read_about(_run_cargo_about(SHELL_MANIFEST)), read_about(_run_about_of_tool())
    return _document(*merged(browser, tool), read_bundled(BUNDLED.read_text(encoding="utf-8")))


def licences_of_tool() -> str:
    """The same for strobe-tool alone."""
    crates, texts = read_about(_run_about_of_tool())
    names = {crate.name for crate in crates}
    entries = read_bundled(BUNDLED.read_text(encoding="utf-8"))
    return _document(crates, texts, {name: entry for name, entry in entries.items() if name in names})


def _document(crates: list[Crate], texts: list[Text], entries: dict[str, dict]) -> str:
    return render(crates, texts, bundled_texts(crates, entries))


def merged(one: About, other: About) -> About:
    """The crates of two programs and the texts of their licences, each once."""
    crates = {str(crate): crate for crate in (*other[0], *one[0])}
    users: dict[tuple[str, str], set[str]] = {}
    for text in (*one[1], *other[1]):
        users.setdefault((text.title, text.text), set()).update(text.crates)
    texts = [Text(title, text, tuple(sorted(names))) for (title, text), names in users.items()]
    return sorted(crates.values(), key=lambda crate: (crate.name, crate.version)), texts


def standard_library_licences() -> Path:
    """The file with the licences of Rust's standard library, which comes with the compiler."""
    root = (process.output(["rustc", "--print", "sysroot"]) or "").strip()
    file = Path(root, "share", "doc", "rust", "COPYRIGHT-library.html")
    if not file.is_file():
        raise MachError(f"{file}: no such file; this installation of Rust lacks the licences of its standard library")
    return file


# Crates


def _run_about_of_tool() -> str:
    """Reads a copy outside the checkout: cargo-about goes to the manifest, and would find the hooked crates there."""
    place = build.tool_place()
    root = place["cwd"] / "sources"
    for crate in TOOL_CRATES:
        build.mirror(paths.COMPONENTS / crate, root / "components" / crate)
    shutil.copyfile(paths.ROOT / "Cargo.toml", root / "Cargo.toml")
    return _run_cargo_about(root / TOOL_MANIFEST, **place)


def _run_cargo_about(manifest: Path, cwd: Path = paths.ROOT, env: dict[str, str] | None = None) -> str:
    program = ensure_program("cargo-about", CARGO_ABOUT, "--features=cli")
    # It asks Cargo about all systems. Without the network it looks for licences only in the crates themselves.
    process.run(["cargo", "fetch", "--locked", f"--manifest-path={manifest}"], cwd=cwd, env=env)
    output = paths.target_dir() / "package" / "about.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    print(f"reading the licences of all crates of {manifest.parent.name}")
    command = [str(program), "generate", "--fail", "--frozen", "--format=json", f"--config={ACCEPTED}"]
    process.run([*command, f"--manifest-path={manifest}", f"--output-file={output}"], cwd=cwd, env=env)
    return output.read_text(encoding="utf-8")


def read_about(text: str) -> tuple[list[Crate], list[Text]]:
    """The crates of the binary, and the texts of their licences, from the output of cargo-about."""
    about = json.loads(text)
    crates = []
    for entry in about["crates"]:
        package = entry["package"]
        kinds = {kind for target in package["targets"] for kind in target["kind"]}
        folder = Path(package["manifest_path"]).parent
        licence = entry["license"]
        crates.append(Crate(package["name"], package["version"], licence, folder, "custom-build" in kinds))
    texts = []
    for entry in about["licenses"]:
        users = tuple(sorted(f"{user['crate']['name']} {user['crate']['version']}" for user in entry["used_by"]))
        texts.append(Text(entry["name"], entry["text"], users))
    return sorted(crates, key=lambda crate: (crate.name, crate.version)), texts


# What crates contain of others


def read_bundled(text: str) -> dict[str, dict]:
    """The entries of packaging/bundled.toml by crate."""
    entries = tomllib.loads(text)
    for name, entry in entries.items():
        if wrong := sorted(entry.keys() - set(BUNDLED_KEYS)):
            raise MachError(f"{paths.shown(BUNDLED)}: {name}: no such key: {wrong[0]}")
    return entries


def bundled_texts(crates: list[Crate], entries: dict[str, dict]) -> list[tuple[str, str]]:
    """(title, text) of each licence of bundled code, or MachError that names all crates with something unknown."""
    problems = [
        f"{name}: is listed, but is no crate of the browser"
        for name in sorted(entries.keys() - {crate.name for crate in crates})
    ]
    texts = []
    for crate in crates:
        try:
            texts += _bundled_in(crate, entries.get(crate.name))
        except MachError as error:
            problems.append(f"{crate}: {error}")
    if problems:
        raise MachError(f"{paths.shown(BUNDLED)} is not complete:\n  " + "\n  ".join(problems))
    return texts


def _bundled_in(crate: Crate, entry: dict | None) -> list[tuple[str, str]]:
    sources, licence_files = _look_through(crate.folder)
    if sources and crate.has_build_script and entry is None:
        raise MachError(f"has C code, such as {sources[0]}, whose licence is unknown")
    entry = entry or {}
    files = _matching(crate.folder, entry.get("files", []))
    left_out = {file for file in _matching(crate.folder, entry.get("left_out", []))}
    if unknown := [file for file in licence_files if crate.folder / file not in {*files, *left_out}]:
        raise MachError(f"{unknown[0]}: neither in `files` nor in `left_out`")
    result = [
        (f"{crate}: {file.relative_to(crate.folder)}", file.read_text(encoding="utf-8", errors="replace").strip("\n"))
        for file in files
    ]
    sources = [file for file in _matching(crate.folder, entry.get("notices", [])) if file.suffix in notices.SOURCES]
    for holders, terms in notices.notices(sources):
        result.append((f"{crate}: notices in source files", "\n".join([*holders, "", terms]).strip("\n")))
    return result


def _look_through(folder: Path) -> tuple[list[Path], list[Path]]:
    """The C sources of a crate, and the licence files in its folders, which cargo-about does not read."""
    sources, licences = [], []
    for place, subfolders, names in os.walk(folder):
        subfolders.sort()
        here = Path(place).relative_to(folder)
        for name in sorted(names):
            suffix = Path(name).suffix
            if suffix in C_SOURCES:
                sources.append(here / name)
            elif here.parts and suffix not in (".py", ".rs") and LICENCE_FILE.match(name):
                licences.append(here / name)
    return sources, licences


def _matching(folder: Path, patterns: list[str]) -> list[Path]:
    """The files that the patterns name; a folder stands for its files. MachError names a pattern without any."""
    found = []
    for pattern in patterns:
        places = sorted(folder.glob(pattern))
        files = [file for place in places for file in ([place] if place.is_file() else sorted(place.rglob("*")))]
        files = [file for file in files if file.is_file()]
        if not files:
            raise MachError(f"{pattern}: no such file")
        found += files
    return list(dict.fromkeys(found))


# The document


def render(crates: list[Crate], texts: list[Text], bundled: Iterable[tuple[str, str]]) -> str:
    """One document: all crates with their licences, the texts of these, and those of the code in the crates."""
    parts = [
        f"Strobe holds code of these {len(crates)} crates, which are listed with their licences. The texts of the\n"
        "licences follow, first those of the crates, then those of other code and of data in them.\n"
    ]
    parts += ["".join(f"  {crate}: {crate.licence}\n" for crate in crates)]
    for text in texts:
        users = "".join(f"  {name}\n" for name in text.crates)
        parts.append(f"{RULE}\n{text.title}, for:\n{users}\n{_tidy(text.text)}")
    parts += [f"{RULE}\n{title}\n\n{_tidy(text)}" for title, text in bundled]
    return "\n".join(parts)


def _tidy(text: str) -> str:
    lines = (line.rstrip() for line in text.replace("\r\n", "\n").split("\n"))
    return "\n".join(lines).strip("\n") + "\n"
