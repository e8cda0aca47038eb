# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""What the walk of a stack relies on in the engine's source, and what of it differs between two versions."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from .. import paths
from ..checks import walk_calls
from ..errors import MachError
from ..setup import upstream
from .cpp_source import Name, Source, Sources, code_of

# In the crate.
ENGINE = "mozjs/js/src/"
PUBLIC_HEADERS = "mozjs/js/public/"
# Where the headers `mozilla/NAME.h` come from: in the first folder that has one of the name.
FOUNDATION = ("mozjs/mfbt/", "mozjs/mozglue/", "mozjs/memory/")
SOURCES = (ENGINE, PUBLIC_HEADERS, *FOUNDATION)
CPP = (".h", ".cpp")

# How frames look, and the code that makes and leaves them. docs/hooks.md names them, too.
FRAMES = (
    "jit/JitFrames.h",
    "jit/JitcodeMap.h",
    "jit/VMFunctionList-inl.h",
    "jit/x64/Trampoline-x64.cpp",
    "vm/Activation.h",
    "wasm/WasmFrameIter.cpp",
    "wasm/WasmFrameIter.h",
    "wasm/WasmStubs.cpp",
)

GLUE = Path("js_profiler") / "spidermonkey"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


@dataclass
class EngineChanges:
    # The files that were compared, and those of them that differ, each with how.
    files: list[str] = field(default_factory=list)
    changed_files: dict[str, str] = field(default_factory=dict)
    # The same for functions, each with the files that it is in.
    functions: list[str] = field(default_factory=list)
    changed_functions: dict[str, str] = field(default_factory=dict)
    # What could not be compared, because it was not found in the older version.
    unknown: list[str] = field(default_factory=list)


def compare(before: Path, after: Path, components: Path = paths.COMPONENTS) -> EngineChanges:
    """Compares two unpacked versions of mozjs_sys, without hooks."""
    changes = EngineChanges()
    _compare_files(before, after, components, changes)
    _compare_functions(before, after, components, changes)
    return changes


def _compare_files(before: Path, after: Path, components: Path, changes: EngineChanges):
    wanted: dict[str, str | None] = {ENGINE + name: ENGINE + name for name in FRAMES}
    for name in included_headers(components / GLUE):
        if (components / "mozjs_sys" / (ENGINE + name)).is_file():
            continue
        found = header(before, name)
        wanted[found or name] = found
    for name, place in sorted(wanted.items()):
        if place is None or not (before / place).is_file():
            changes.unknown.append(f"{name}: no such file in {before.name}")
            continue
        changes.files.append(name)
        if how := _how_it_differs(before / place, after / place):
            changes.changed_files[name] = how


def included_headers(glue: Path) -> list[str]:
    """The headers of the engine that our C++ names."""
    if not glue.is_dir():
        raise MachError(f"{glue}: no such folder; it has the C++ that walks a stack")
    files = [file for file in sorted(glue.iterdir()) if file.suffix in CPP]
    own = {file.name for file in files}
    return sorted({name for file in files for name in INCLUDE.findall(file.read_text(encoding="utf-8"))} - own)


def header(tree: Path, name: str) -> str | None:
    """The file in the crate that the engine's build makes available as `name`."""
    candidates = [ENGINE + name]
    folder, _, rest = name.partition("/")
    if folder == "js":
        candidates.append(PUBLIC_HEADERS + rest)
    if folder == "mozilla":
        candidates += [str(file.relative_to(tree)) for root in FOUNDATION for file in sorted((tree / root).rglob(rest))]
    return next((place for place in candidates if (tree / place).is_file()), None)


def _how_it_differs(before: Path, after: Path) -> str:
    if not after.is_file():
        return "is gone"
    differences = upstream.differences(before, after)
    if not differences:
        return ""
    removed, added = (sum(difference[at] for difference in differences) for at in (1, 3))
    is_code = code_of(_text(before)) != code_of(_text(after))
    return f"+{added} -{removed}{'' if is_code else ', only comments'}"


def _compare_functions(before: Path, after: Path, components: Path, changes: EngineChanges):
    calls = walk_calls.Calls.load(components / walk_calls.LIST.relative_to(paths.COMPONENTS))
    old, new, ours = _sources(before, SOURCES), _sources(after, SOURCES), _sources(components / "mozjs_sys", ("",))
    places = old.files.keys() | new.files.keys()
    differing = sorted(place for place in places if _text_of(old, place) != _text_of(new, place))
    for readable in dict.fromkeys(entry.name for entry in calls.functions):
        # Functions in C are those of the system and our own.
        if (name := Name.parse(readable)) is None:
            continue
        was, now = old.definitions(name, differing), new.definitions(name, differing)
        if was or old.has(name):
            changes.functions.append(readable)
            if changed := sorted(place for place in was.keys() | now.keys() if was.get(place) != now.get(place)):
                changes.changed_functions[readable] = ", ".join(changed) if now or new.has(name) else "is gone"
        elif not ours.has(name):
            changes.unknown.append(f"{readable}: its source is not found in {before.name}")


def _text_of(sources: Sources, place: str) -> str | None:
    return sources.files[place].text if place in sources.files else None


def _sources(tree: Path, folders: tuple[str, ...]) -> Sources:
    return Sources(
        {
            str(file.relative_to(tree)): Source(_text(file))
            for folder in folders
            for file in sorted((tree / folder).rglob("*"))
            if file.suffix in CPP
        }
    )


def _text(file: Path) -> str:
    return file.read_bytes().decode(errors="replace")
