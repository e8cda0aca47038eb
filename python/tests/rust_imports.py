# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Which files of a Rust crate import which, read from their text.

An import leads to the file that defines the name, also if another file re-exports it. Tests may import anything, so
they are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

# A declaration of a module keeps the string that names its file.
KEPT_STRING = r'path = "[^"\n]*"'
COMMENT = r"//[^\n]*|/\*.*?\*/"
STRING = r'r(?P<hashes>#*)".*?"(?P=hashes)|"(?:[^"\\]|\\.)*"'
CHARACTER = r"'(?:[^'\\\n]|\\[^'\n]+|\\')'"
NOT_CODE = re.compile(rf"(?P<kept>{KEPT_STRING})|{COMMENT}|{STRING}|{CHARACTER}", re.DOTALL)

TEST = re.compile(r"#\[cfg\((?:test|all\(test\b[^\]]*\))\)\]")
FILE = re.compile(r'path = "([^"]*)"')
ATTRIBUTES = r"(?:#\[[^\]]*\]\s*)*"
VISIBILITY = r"(?:pub(?:\([^)]*\))?\s+)?"
MODULE = re.compile(rf"^({ATTRIBUTES}){VISIBILITY}mod\s+(\w+);", re.MULTILINE)
ITEM = re.compile(
    rf"^{VISIBILITY}(?:async\s+|const\s+|unsafe\s+)*"
    r"(?:const|enum|fn|macro_rules!|static|struct|trait|type|union)\s+(\w+)",
    re.MULTILINE,
)
USE = re.compile(r"\buse\s+([^;<>]+);")
PATH = re.compile(r"(?<![\w:])\w+(?:::\w+)+")
TOKEN = re.compile(r"\w+|[{},*]|::")

ROOTS = ("lib.rs", "main.rs", "mod.rs")

Segments = tuple[str, ...]


@dataclass(eq=False)
class Module:
    path: Segments
    parent: Module | None
    # Without comments, strings and tests.
    text: str = ""
    children: dict[str, Module] = field(default_factory=dict)
    items: set[str] = field(default_factory=set)
    # What each imported name stands for.
    uses: dict[str, Segments] = field(default_factory=dict)
    # The modules of which all names are imported.
    globs: list[Segments] = field(default_factory=list)

    def name(self) -> str:
        return "::".join(self.path) or "crate"


def imports(folder: Path, prefix: Segments = ()) -> dict[str, set[str]]:
    """The modules that each module of a crate imports, by their paths. The root is "crate".

    `folder` has the crate's lib.rs or main.rs, or the mod.rs of its module `prefix`. A module is one file, or two if
    features choose between them.
    """
    root = Module((), None)
    read(root, next(folder / name for name in ROOTS if (folder / name).is_file()))
    return {module.name(): imported(module, root, prefix) for module in modules_of(root)}


def levels(graph: dict[str, set[str]]) -> Iterator[dict[str, set[str]]]:
    """For each folder, the imports among what is in it: files, and other folders as wholes."""
    paths = {name: tuple(name.split("::")) for name in graph if name != "crate"}
    for folder in sorted({path[:-1] for path in paths.values()}):
        depth = len(folder) + 1
        inside = {name: "::".join(path[:depth]) for name, path in paths.items() if path[:-1][: depth - 1] == folder}
        level: dict[str, set[str]] = {member: set() for member in inside.values()}
        for name, member in inside.items():
            level[member] |= {inside[other] for other in graph[name] if other in inside} - {member}
        yield level


def modules_of(module: Module) -> Iterator[Module]:
    yield module
    for child in module.children.values():
        yield from modules_of(child)


def read(module: Module, file: Path) -> None:
    """Adds what is in a file to its module, and the modules that it declares."""
    text = without_tests(NOT_CODE.sub(lambda match: match["kept"] or '""', file.read_text()))
    module.text += text
    module.items.update(ITEM.findall(text))
    for tree in USE.findall(text):
        for path, name in imported_names(TOKEN.findall(tree)):
            if name == "*":
                module.globs.append(path)
            else:
                module.uses[name] = path
    folder = file.parent if file.name in ROOTS else file.with_suffix("")
    for attributes, name in MODULE.findall(text):
        child = module.children.setdefault(name, Module((*module.path, name), module))
        files = [file.parent / path for path in FILE.findall(attributes)]
        if not files or "cfg_attr" in attributes:
            own = [folder / f"{name}.rs", folder / name / "mod.rs"]
            files.append(next(file for file in own if file.is_file()))
        for of_child in files:
            read(child, of_child)


def without_tests(text: str) -> str:
    """Removes what is compiled only for tests: items that end with a semicolon or with a closing brace."""
    while match := TEST.search(text):
        end = re.compile("[;{]").search(text, match.end())
        at = end.end() if end else len(text)
        depth = 1 if end and end[0] == "{" else 0
        while depth and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        text = text[: match.start()] + text[at:]
    return text


def imported_names(tokens: list[str]) -> Iterator[tuple[Segments, str]]:
    """The paths of a `use`, each with the name that it gets in the file. The name is "*" for all names of a module."""
    # The path up to each open brace.
    outer: list[Segments] = []
    path: Segments = ()
    alias = None
    position = 0
    while position <= len(tokens):
        token = tokens[position] if position < len(tokens) else ","
        if token == "{":
            outer.append(path)
        elif token == "as":
            position += 1
            alias = tokens[position]
        elif token in (",", "}"):
            if path and path != (outer[-1] if outer else ()):
                is_itself = path[-1] == "self" and len(path) > 1
                path = path[:-1] if is_itself else path
                yield (path[:-1], "*") if path[-1] == "*" else (path, alias or path[-1])
            alias = None
            if token == "}":
                # What follows the group is a comma or the end, and adds nothing.
                outer.pop()
            path = outer[-1] if outer else ()
        elif token != "::":
            path = (*path, token)
        position += 1


def imported(module: Module, root: Module, prefix: Segments) -> set[str]:
    """The modules that define what a module names."""
    paths = [*module.uses.values(), *module.globs]
    paths += [tuple(path.split("::")) for path in PATH.findall(USE.sub("", module.text))]
    found = set()
    for path in paths:
        found |= defining(module, path, root, prefix, frozenset())
    return {other.name() for other in found - {module}}


def defining(
    module: Module,
    path: Segments,
    root: Module,
    prefix: Segments,
    tried: frozenset[tuple[Module, Segments]],
) -> set[Module]:
    """The modules that define what a path stands for in a module. None if it leads out of the crate."""
    if (module, path) in tried:
        return set()
    tried |= {(module, path)}
    at = module
    if path[0] == "crate":
        path = path[1:]
        if path[: len(prefix)] != prefix:
            return set()
        at, path = root, path[len(prefix) :]
        is_relative = False
    else:
        is_relative = True
    for number, name in enumerate(path):
        rest = path[number + 1 :]
        if name == "self":
            continue
        if name == "super":
            if at.parent is None:
                return set()
            at = at.parent
        elif name in at.children and rest:
            at = at.children[name]
        elif name in at.children:
            # A function may have the name of a module.
            return {at.children[name]} | ({at} if name in at.items else set())
        elif name in at.uses and at.uses[name][0] != name:
            return defining(at, at.uses[name] + rest, root, prefix, tried)
        elif name in at.items:
            return {at}
        else:
            for glob in at.globs:
                for source in defining(at, glob, root, prefix, tried):
                    if name in source.items | source.uses.keys() | source.children.keys():
                        return defining(source, (name, *rest), root, prefix, tried)
            # A name that comes from nowhere is another crate's or a type's own, unless a module is named before it.
            return set() if is_relative and number == 0 else {at}
    return {at}
