# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach check walk-calls: compares what the compiled walk of a stack calls with the list of what it may call.

The walk runs in a signal handler, between any two instructions of the engine. So walk_calls.toml lists each function
that it can reach, and why the function is safe there. This check reads the compiled code: our glue, the Rust code that
the glue calls, and SpiderMonkey. From the walk's entry points it follows every call, every jump and every address that
is taken. It reports functions that are not listed, with their chains of callers, and entries that nothing reaches.

It does not see what an inlined function reads, what is written through a pointer, and where an indirect call leads.
It counts indirect calls, and the list says where they lead.
"""

import json
import re
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .. import build, paths, process
from ..errors import MachError
from ..lock import cache_lock
from ..setup import bootstrap
from .object_code import Body, Place, Program, readable

LIST = paths.COMPONENTS / "js_profiler" / "spidermonkey" / "walk_calls.toml"

# The functions that the signal handler calls.
ROOTS = ("strobe_walk_table",)

# The crates whose code is read: our own with the glue, SpiderMonkey, and the one that unwinds native frames.
CRATES = ("js_profiler", "mozjs_sys", "gimli")


# What the engine may be in the middle of. A class of reasons says for each why it does no harm.
HAZARDS = {
    "property_tables": "a property table is being rehashed",
    "slots": "an object's slots or elements grow",
    "accessors": "an accessor is redefined",
    "shapes": "a shape or a prototype changes",
    "collection": "garbage is collected: the nursery's, or a part of the heap's",
    "code_table": "the table of JIT code is swept",
    "linking": "code that another thread has compiled is linked",
    "discarding": "JIT code is discarded",
    "tier_up": "code of WebAssembly is replaced by better code",
    "teardown": "a realm or a worker goes away",
}
# The key of one reason for all hazards.
EVERY_HAZARD = "every_hazard"


def check(command: Iterable[str] | None = None):
    """Runs a build command, by default the dev build's, and checks the result. MachError if anything is wrong."""
    with cache_lock("check"):
        bootstrap.ensure()
        archives = built(command or build.command())
    calls = Calls.load(LIST)
    with tempfile.TemporaryDirectory() as scratch:
        walk = Walk(Program(archives, Path(scratch)), calls, ROOTS)
    problems = walk.problems()
    for problem in problems:
        print(problem)
    print(walk.summary())
    if problems:
        count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
        raise MachError(f"{count} in what the walk of a stack calls; the list is {paths.shown(LIST)}")


def built(command: Iterable[str]) -> list[Path]:
    """Runs a build command of Cargo, and returns the libraries of CRATES, which also contain C++ code."""
    messages: list[str] = []
    command = [*command, "--message-format=json-render-diagnostics"]
    status = process.stream(command, on_line=messages.append)
    if status != 0:
        raise MachError(f"the code to check could not be built: cargo {process.describe_status(status)}")
    found: dict[str, list[Path]] = {}
    for line in messages:
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("reason") == "compiler-artifact" and not message["profile"]["test"]:
            libraries = [Path(name) for name in message["filenames"] if name.endswith(".rlib")]
            found.setdefault(message["target"]["name"], []).extend(libraries)
    for crate in CRATES:
        if not found.get(crate):
            raise MachError(f"the build has no library of the crate {crate}")
    # There may be several versions of the other crates.
    if len(found[CRATES[0]]) > 1:
        raise MachError(f"the build has several libraries of the crate {CRATES[0]}")
    return [library for crate in CRATES for library in found[crate]]


# The list


@dataclass
class Reasons:
    """A class of reasons that several functions share."""

    name: str
    # By hazard, or one for EVERY_HAZARD.
    hazards: dict[str, str]
    # Such a function does not return, so what it calls does not matter.
    ends_process: bool = False


@dataclass
class Entry:
    """A function, or a variable, that the walk may refer to."""

    # As a debugger shows it. A `*` at the end stands for the rest of the name.
    name: str
    reasons: Reasons | None
    indirect_calls: int = 0
    # Which memory its atomic instructions write.
    atomic_writes: str = ""

    def matches(self, name: str) -> bool:
        return name.startswith(self.name[:-1]) if self.is_pattern else name == self.name

    @property
    def is_pattern(self) -> bool:
        return self.name.endswith("*")

    @property
    def ends_process(self) -> bool:
        return self.reasons is not None and self.reasons.ends_process


@dataclass
class Calls:
    """What the walk may call and refer to, as walk_calls.toml lists it."""

    # Functions of the engine, of libraries and of the system.
    functions: list[Entry]
    # Variables that have an address of their own.
    variables: list[Entry]
    # Our own functions that do something that needs a reason.
    own: list[Entry]

    @staticmethod
    def load(file: Path) -> "Calls":
        try:
            with open(file, "rb") as opened:
                return Calls.read(tomllib.load(opened))
        except (tomllib.TOMLDecodeError, MachError) as error:
            raise MachError(f"{paths.shown(file)}: {error}") from None

    @staticmethod
    def read(content: dict) -> "Calls":
        _refuse_others(content, "the list", {"classes", "functions", "variables", "own"})
        classes = {name: _read_class(name, values) for name, values in content.get("classes", {}).items()}

        def read_all(key: str, needed: set[str], more: set[str]) -> list[Entry]:
            entries = [_read_entry(values, classes, needed, more) for values in content.get(key, [])]
            names = [entry.name for entry in entries]
            for name in names:
                if names.count(name) > 1:
                    raise MachError(f"{name}: listed twice")
            return entries

        code = {"indirect_calls", "leads_to", "atomic_writes"}
        calls = Calls(
            functions=read_all("functions", {"name", "class", "reads", "reason"}, code),
            variables=read_all("variables", {"name", "class", "reason"}, set()),
            own=read_all("own", {"name", "reason"}, code),
        )
        used = [entry.reasons for entry in (*calls.functions, *calls.variables)]
        for reasons in classes.values():
            if reasons not in used:
                raise MachError(f"class {reasons.name}: no entry is of this class")
        return calls


def _read_class(name: str, values: dict) -> Reasons:
    where = f"class {name}"
    _refuse_others(values, where, {"hazards", "ends_process"})
    hazards = {}
    # A key may name several hazards.
    for keys, text in values.get("hazards", {}).items():
        hazards |= {key: text for key in keys.split()}
    _refuse_others(hazards, where, {*HAZARDS, EVERY_HAZARD})
    for key in hazards if EVERY_HAZARD in hazards else HAZARDS:
        if not hazards.get(key, "").strip():
            missing = f"does not say why it is safe while {HAZARDS[key]}" if key in HAZARDS else "no reason"
            raise MachError(f"{where}: {missing}")
    return Reasons(name, hazards, values.get("ends_process", False))


def _read_entry(values: dict, classes: dict[str, Reasons], needed: set[str], more: set[str]) -> Entry:
    name = values.get("name", "an entry without a name")
    _refuse_others(values, name, needed | more)
    reasons = classes.get(values.get("class"))
    if "class" in needed and not reasons:
        raise MachError(f"{name}: there is no class {values.get('class')!r}")
    if reasons and reasons.ends_process:
        needed = needed - {"reads"}
    for key in sorted(needed):
        if not values.get(key, "").strip():
            raise MachError(f"{name}: no `{key}`")
    if bool(values.get("indirect_calls")) != bool(values.get("leads_to")):
        raise MachError(f"{name}: `indirect_calls` and `leads_to` need each other")
    return Entry(name, reasons, values.get("indirect_calls", 0), values.get("atomic_writes", ""))


def _refuse_others(values: dict, where: str, known: set[str]):
    for key in values:
        if key not in known:
            raise MachError(f"{where}: unknown key {key!r}")


# What is reached


class Walk:
    """Everything that some functions can reach, and how it differs from the list."""

    def __init__(self, program: Program, calls: Calls, roots: Iterable[str]):
        self._program = program
        self._calls = calls
        self._names: dict[str, str] = {}
        # The first caller found of each function.
        self._callers: dict[Place, Place | None] = {}
        # Names that are not listed, with their chains of callers.
        self._unlisted: dict[str, str] = {}
        # What is special about a function's code, by its readable name.
        self._special: dict[str, Body] = {}
        self._reached: dict[str, set[str]] = {"functions": set(), "variables": set(), "own": set()}
        starts = []
        for root in roots:
            places = program.find(root)
            if not places:
                raise MachError(f"{root}: no library defines it")
            starts += places
        self._callers.update(dict.fromkeys(starts))
        self._go(starts)

    def problems(self) -> list[str]:
        """The problems, each a text of one or more lines."""
        problems = [
            f"{name}: not listed\n{chain}"
            for name, chain in sorted(self._unlisted.items(), key=lambda problem: problem[1])
        ]
        return problems + list(self._special_problems()) + list(self._stale())

    def summary(self) -> str:
        counts = {kind: len(names) for kind, names in self._reached.items()}
        return (
            f"the walk has {counts['own']} functions of its own, "
            f"and reaches {counts['functions']} others and {counts['variables']} variables"
        )

    def _go(self, level: list[Place]):
        while level:
            bodies = self._program.bodies(level)
            references = [
                (place, target, self._program.resolve(place.file, target, distance))
                for place, body in bodies.items()
                for target, distance in body.references
            ]
            symbols = {target for _, target, found in references if not found}
            symbols |= {self._program.name(place) for _, _, found in references for place in found}
            symbols |= {self._program.name(place) for place in level}
            self._names |= readable(symbols - self._names.keys())
            for place, body in bodies.items():
                self._note(place, body)
            level = []
            for caller, target, found in references:
                if not found:
                    self._is_followed(self._names[target], caller)
                for place in found:
                    if place.is_variable:
                        self._refer(self._name(place), caller)
                    elif place.is_code and place not in self._callers:
                        self._callers[place] = caller
                        if self._is_own(place) or self._is_followed(self._name(place), caller):
                            level.append(place)

    def _name(self, place: Place) -> str:
        return self._names[self._program.name(place)]

    def _is_own(self, place: Place) -> bool:
        return self._program.archive(place) == 0 and is_own(self._program.name(place), self._name(place))

    def _note(self, place: Place, body: Body):
        kind = "own" if self._is_own(place) else "functions"
        name = self._name(place)
        self._reached[kind].add(name)
        # A function that several files define may have different code in each.
        special = self._special.setdefault(name, Body())
        special.indirect_calls = max(special.indirect_calls, body.indirect_calls)
        special.atomic_writes = max(special.atomic_writes, body.atomic_writes)

    def _is_followed(self, name: str, caller: Place) -> bool:
        """Whether a function's callees matter. Those of an unlisted function would add nothing."""
        self._reached["functions"].add(name)
        entry = _entry(self._calls.functions, name)
        if not entry:
            self._unlisted.setdefault(name, self._chain(caller, name))
        return entry is not None and not entry.ends_process

    def _refer(self, name: str, caller: Place):
        self._reached["variables"].add(name)
        if not _entry(self._calls.variables, name):
            self._unlisted.setdefault(f"variable {name}", self._chain(caller, name))

    def _chain(self, caller: Place | None, name: str) -> str:
        names = [name]
        while caller:
            names.append(self._name(caller))
            caller = self._callers[caller]
        return "\n".join(f"    {'→ ' if number else ''}{name}" for number, name in enumerate(reversed(names)))

    def _special_problems(self) -> Iterator[str]:
        atomic: set[str] = set()
        for name, body in self._special.items():
            is_own = name in self._reached["own"]
            entry = _entry(self._calls.own if is_own else self._calls.functions, name) or Entry(name, None)
            where = "" if is_own else f"\n{self._chain_of(name)}"
            if body.indirect_calls != entry.indirect_calls:
                counts = f"{body.indirect_calls} in the code, {entry.indirect_calls} in the list"
                yield f"{name}: indirect calls: {counts}{where}"
            if body.atomic_writes and not entry.atomic_writes:
                yield f"{name}: writes memory atomically, and the list does not say which memory{where}"
            if body.atomic_writes:
                atomic.add(entry.name)
        for entry in (*self._calls.functions, *self._calls.own):
            is_reached = any(entry.matches(name) for name in self._special)
            if entry.atomic_writes and is_reached and entry.name not in atomic:
                yield f"{entry.name}: does not write memory atomically, though the list says so"

    def _chain_of(self, name: str) -> str:
        place = next(place for place in self._callers if self._name(place) == name)
        return self._chain(self._callers[place], name)

    def _stale(self) -> Iterator[str]:
        # Unlisted functions are not followed, and may reach any entry.
        if self._unlisted:
            return
        for kind in self._reached:
            for entry in getattr(self._calls, kind):
                if not any(entry.matches(name) for name in self._reached[kind]):
                    yield f"{entry.name}: listed, but nothing reaches it"
        for entry in self._calls.own:
            if not entry.indirect_calls and not entry.atomic_writes:
                yield f"{entry.name}: a function of the walk itself, which needs no entry"


def _entry(entries: list[Entry], name: str) -> Entry | None:
    """The entry for exactly this name, or else one with a `*`."""
    found = [entry for entry in entries if entry.matches(name)]
    return min(found, key=lambda entry: entry.is_pattern, default=None)


def is_own(symbol: str, name: str) -> bool:
    """Whether a function in our library is our own, and not an inline function of the engine."""
    # The first word is a namespace, a crate or a function. A file's local function outside all namespaces is ours.
    first = re.match(r"_Z+N?[KVrOR]*L?(\d+)", symbol)
    word = symbol[first.end() :][: int(first[1])] if first else name.lstrip("<")
    return symbol.startswith("_ZL") or word.startswith(("strobe", "js_profiler", "_$LT$js_profiler", "_GLOBAL__N"))
