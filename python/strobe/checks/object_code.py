# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""What compiled functions refer to, as LLVM's tools read it from static libraries.

Compilers put each function into its own section. The linker fills in references to other sections: a relocation names
the place and the symbol. Calls to an address in a register show only in the instructions.
"""

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from .. import process
from ..errors import MachError
from ..setup import toolchain


@dataclass(frozen=True, order=True)
class Place:
    """The place where a function or a variable begins."""

    # The number of the object file.
    file: int
    section: str
    offset: int

    @property
    def is_code(self) -> bool:
        return self.section.startswith(".text")

    @property
    def is_variable(self) -> bool:
        """Whether it is a variable, rather than a constant."""
        is_constant = self.section.startswith(".data.rel.ro")
        return self.section.startswith((".data", ".bss", ".tdata", ".tbss", "*COM*")) and not is_constant


@dataclass(frozen=True)
class Symbol:
    # The linker's name.
    name: str
    place: Place


@dataclass
class Body:
    """What the code of a function refers to, and what is special about it."""

    # Symbols or sections, each with an offset from its beginning.
    references: list[tuple[str, int]] = field(default_factory=list)
    # Calls and jumps to an address in a register or in memory.
    indirect_calls: int = 0
    # Instructions that change memory atomically, such as those of locks and of reference counts.
    atomic_writes: int = 0


class Program:
    """The object files of static libraries. The code of a function is read when it is asked for."""

    # How many functions one command may name, because the system limits the length of an argument.
    NAMES_AT_ONCE = 100

    def __init__(self, archives: list[Path], scratch: Path):
        self._scratch = scratch
        # For each object file: its archive, its name there, and the number of earlier files of the same name.
        self._members: list[tuple[Path, str, int]] = []
        # The first object file of each archive.
        self._firsts: list[int] = []
        # The symbols that all object files can refer to.
        self._globals: dict[str, list[Symbol]] = defaultdict(list)
        # The symbols of each object file, by name and by section.
        self._symbols: list[dict[str, Symbol]] = []
        self._sections: list[dict[str, list[Symbol]]] = []
        for archive in archives:
            self._firsts.append(len(self._members))
            self._read_symbols(archive)

    def _read_symbols(self, archive: Path):
        seen: dict[str, int] = defaultdict(int)
        for line in _llvm("nm", "--format=sysv", str(archive)).splitlines():
            if match := re.fullmatch(r"Symbols from (.*):", line):
                self._members.append((archive, match[1], seen[match[1]]))
                seen[match[1]] += 1
                self._symbols.append({})
                self._sections.append(defaultdict(list))
                continue
            parts = [part.strip() for part in line.split("|")]
            if len(parts) != 7 or parts[6] in ("*UND*", "Section"):
                continue
            name, value, letter, _, _, _, section = parts
            symbol = Symbol(name, Place(len(self._members) - 1, section, int(value or "0", 16)))
            self._symbols[-1][name] = symbol
            self._sections[-1][section].append(symbol)
            # Lower-case letters mark local symbols, except `u` for unique ones.
            if letter.isupper() or letter == "u":
                self._globals[name].append(symbol)

    def archive(self, place: Place) -> int:
        """The number of the archive that something is in."""
        return sum(first <= place.file for first in self._firsts) - 1

    def name(self, place: Place) -> str:
        """The linker's name of what begins at a place. If there are several, it is always the same one."""
        names = [symbol.name for symbol in self._sections[place.file][place.section] if symbol.place == place]
        return min(names, default=place.section)

    def find(self, name: str) -> list[Place]:
        """The definitions of a name that all object files can refer to.

        Several files may define the same name, as with inline functions. The linker takes any of them.
        """
        return [symbol.place for symbol in self._globals.get(name, ())]

    def resolve(self, file: int, target: str, distance: int) -> list[Place]:
        """The places that a reference in an object file may lead to; none if no archive defines it."""
        own = self._symbols[file].get(target)
        if own and own not in self._globals.get(target, ()):
            return [own.place]
        if target.startswith(".") and not own:
            return [self._at(file, target, distance)]
        return self.find(target)

    def _at(self, file: int, section: str, distance: int) -> Place:
        """What is at an offset of a section, which is how the compiler refers to local symbols."""
        before = [symbol.place for symbol in self._sections[file][section] if symbol.place.offset <= distance]
        # The jump table of a `switch` has no name.
        return max(before, default=Place(file, section, 0))

    def bodies(self, functions: Iterable[Place]) -> dict[Place, Body]:
        """The code of functions."""
        wanted = sorted(set(functions))
        bodies: dict[Place, Body] = {}
        for start in range(0, len(wanted), self.NAMES_AT_ONCE):
            some = wanted[start : start + self.NAMES_AT_ONCE]
            names = ",".join(sorted({self.name(place) for place in some}))
            objects = {str(self._object(file)): file for file in sorted({place.file for place in some})}
            options = ("-d", "-r", "--no-show-raw-insn", f"--disassemble-symbols={names}")
            bodies |= read_bodies(_llvm("objdump", *options, *objects), objects)
        for place in wanted:
            if place not in bodies:
                raise MachError(f"{self.name(place)}: llvm-objdump does not show its code")
        return {place: bodies[place] for place in wanted}

    def _object(self, file: int) -> Path:
        """A copy of an object file."""
        archive, name, before = self._members[file]
        folder = self._scratch / str(file)
        if not folder.exists():
            folder.mkdir()
            _llvm("ar", "xN", str(before + 1), f"--output={folder}", str(archive), name)
        return folder / name


HEADER = re.compile(r"^(?P<file>.*):\s+file format .*$|^Disassembly of section (?P<section>.*):$")
FUNCTION = re.compile(r"^(?P<offset>[0-9a-f]{16}) <(?P<name>.*)>:$")
INSTRUCTION = re.compile(r"^ *[0-9a-f]+: +\t(?P<text>.*)$")
RELOCATION = re.compile(r"^\t\t[0-9a-f]+:  (?P<kind>\S+)\t(?P<target>.+?)(?P<distance>[+-]0x[0-9a-f]+)?$")
INDIRECT = re.compile(r"^(?:notrack )?(?:call|jmp)q? \*(?P<operand>.*)$")
# A place in the same section: the target of a call or a jump, or an address relative to the instruction.
NEAR = re.compile(r"(?:^(?:callq?|j[a-z]+)|#) 0x[0-9a-f]+ <(?P<name>[^>+]+)(?:\+0x(?P<distance>[0-9a-f]+))?>")
# An exchange of a word of memory with a register is atomic without a prefix.
ATOMIC = re.compile(r"^lock\b|^xchg[bwlq]? .*\(")
SYSTEM_CALL = re.compile(r"^(?P<name>syscall|sysenter|int)\b")
# How many instructions before the jump of a `switch` its address may be computed.
SWITCH_DISTANCE = 12
# A relative address counts from the end of its instruction, and is the instruction's last field.
ADDRESS_SIZE = 4
RELATIVE = ("R_X86_64_PC32", "R_X86_64_PLT32")


def read_bodies(disassembly: str, files: dict[str, int]) -> dict[Place, Body]:
    """The functions in llvm-objdump's output for object files, whose numbers `files` has."""
    lines_of: dict[Place, tuple[str, list[str]]] = {}
    file, section, lines = -1, "", []
    for line in disassembly.splitlines():
        if header := HEADER.match(line):
            file = files[header["file"]] if header["file"] else file
            section = header["section"] or ""
        elif match := FUNCTION.match(line):
            lines = []
            lines_of[Place(file, section, int(match["offset"], 16))] = match["name"], lines
        else:
            lines.append(line)
    return {place: read_body(name, lines) for place, (name, lines) in lines_of.items()}


def read_body(name: str, lines: list[str]) -> Body:
    """A function, from llvm-objdump's lines for its instructions and their relocations."""
    body = Body()
    before: list[str] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if match := RELOCATION.match(line):
            distance = int(match["distance"] or "0", 16) + (ADDRESS_SIZE if match["kind"] in RELATIVE else 0)
            body.references.append((match["target"], distance))
            continue
        if not (match := INSTRUCTION.match(line)):
            continue
        text = " ".join(match["text"].split())
        if RELOCATION.match(following):
            # A call through the table of addresses leads to the symbol of the relocation, too.
            pass
        elif indirect := INDIRECT.match(text):
            body.indirect_calls += not is_switch(before, indirect["operand"])
        elif near := NEAR.search(text):
            if near["name"] != name:
                body.references.append((near["name"], int(near["distance"] or "0", 16)))
        elif call := SYSTEM_CALL.match(text):
            body.references.append((call["name"], 0))
        body.atomic_writes += bool(ATOMIC.match(text))
        before.append(text)
    return body


def is_switch(before: list[str], operand: str) -> bool:
    """Whether a jump leads to one of the places in a jump table, which has offsets from its own address."""
    table = None
    for text in reversed(before[-SWITCH_DISTANCE:]):
        if table is None and (match := re.fullmatch(rf"addq (%\w+), {re.escape(operand)}", text)):
            table = match[1]
        elif table and re.fullmatch(rf"movslq \({table},%\w+,4\), {re.escape(operand)}", text):
            return True
    return False


# Names

# Rust's names end in a number that differs from build to build.
RUST_NAME = re.compile(r"^(?P<name>.*)::h[0-9a-f]{16}(?: \(\.llvm\.\d+\))?$")
RUST_CHARACTERS = {
    "$LT$": "<",
    "$GT$": ">",
    "$RF$": "&",
    "$BP$": "*",
    "$C$": ",",
    "$LP$": "(",
    "$RP$": ")",
    "$u20$": " ",
    "$u27$": "'",
    "$u5b$": "[",
    "$u5d$": "]",
    "$u7b$": "{",
    "$u7d$": "}",
    "..": "::",
}


def readable(symbols: Iterable[str]) -> dict[str, str]:
    """The linker's names, as a debugger shows them."""
    symbols = sorted(symbols)
    if not symbols:
        return {}
    names = _llvm("cxxfilt", text="\n".join(symbols)).splitlines()
    return {symbol: _rust_name(name) for symbol, name in zip(symbols, names, strict=True)}


def _rust_name(name: str) -> str:
    match = RUST_NAME.match(name)
    if not match:
        return name
    name = match["name"]
    for written, character in RUST_CHARACTERS.items():
        name = name.replace(written, character)
    return name.replace("_<", "<")


def _llvm(tool: str, *arguments: str, text: str = "") -> str:
    command = [f"llvm-{tool}-{toolchain.CLANG}", *arguments]
    pipe = subprocess.PIPE
    running = process.start(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, errors="replace")
    output, errors = running.communicate(text)
    if running.returncode != 0:
        status = process.describe_status(running.returncode)
        raise MachError(f"`{' '.join(command[:3])} ...` {status}\n{errors.strip()}")
    return output
