# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""What the binary consists of, by its sections and by the names of its symbols."""

import re
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from .. import process
from ..errors import MachError
from ..table import text_table

# How many rows a table has, and how many bytes the smallest part has that is shown. The others are added up.
SHOWN = 20
SMALLEST = 50_000

# What rustc makes of names: the older form, which ends in a hash, and the newer one.
RUST_LEGACY = re.compile(r"_ZN(\d+)(.*)17h[0-9a-f]{16}E")
RUST_PATH = re.compile(r"([A-Za-z_]\w*)::")
RUST_CRATE = re.compile(r"C(?:s[0-9A-Za-z]*_)?(\d+)_?(.*)")
RUST_ESCAPES = {"$LT$": "<", "$GT$": ">", "$RF$": "&", "$BP$": "*", "$C$": ",", "$u20$": " ", "..": "::"}
STANDARD_LIBRARY = ("alloc", "core", "std", "compiler_builtins")
CPP = re.compile(r"_Z(?:TV|TI|TS|GV|ZN|L)?N?[KR]*(?:St)?(\d+)(.*)")

# How names of functions in C begin, and of namespaces in C++. Many functions have no such name.
PREFIXES = {
    "aws_lc": "aws-lc",
    "icu_": "ICU",
    "js": "SpiderMonkey",
    "JS": "SpiderMonkey",
    "mozilla": "SpiderMonkey",
    "hb_": "harfbuzz",
    "OT": "harfbuzz",
    "AAT": "harfbuzz",
    "FT_": "FreeType",
    "sqlite3": "SQLite",
    "ZSTD": "zstd",
}
RUST_LIBRARY = "Rust's standard library"
OTHER_C = "other C and C++"
CONSTANTS = "constants without a name"


def report(binary: Path) -> str:
    """Two tables of a binary that is not stripped: its largest sections, and the largest parts of what has names."""
    sections = read_sections(_output(["size", "--format=sysv", str(binary)]))
    symbols = read_symbols(_output(["nm", "--print-size", str(binary)]))
    return f"{_table('section', sections)}\n\n{_table('part, by the names of symbols', symbols)}"


def read_sections(text: str) -> Counter[str]:
    """The sizes of the sections that are in memory, from the output of `size`."""
    sizes: Counter[str] = Counter()
    for line in text.splitlines():
        fields = line.split()
        # Those that are only in the file have the address 0.
        if len(fields) == 3 and fields[1].isdecimal() and fields[2].isdecimal() and fields[2] != "0":
            sizes[fields[0]] += int(fields[1])
    return sizes


def read_symbols(text: str) -> Counter[str]:
    """The sizes of parts of the binary, from the output of `nm`. Symbols at one address count once."""
    sizes: Counter[str] = Counter()
    seen = set()
    for line in text.splitlines():
        fields = line.split(maxsplit=3)
        if len(fields) == 4 and fields[0] not in seen:
            seen.add(fields[0])
            sizes[part_of(fields[3])] += int(fields[1], 16)
    return sizes


def part_of(symbol: str) -> str:
    """The crate of a function or constant in Rust, or the library of one in C or C++."""
    if match := RUST_LEGACY.match(symbol):
        return _rust_part(_legacy_crate(match[2][: int(match[1])]))
    if symbol.startswith("_R"):
        match = RUST_CRATE.search(symbol)
        return _rust_part(match[2][: int(match[1])] if match else "")
    if symbol.startswith(("anon.", ".L", "str.", "switch.table", "__const")):
        return CONSTANTS
    match = CPP.match(symbol)
    name = match[2][: int(match[1])] if match else symbol
    return next((part for prefix, part in PREFIXES.items() if name.startswith(prefix)), OTHER_C)


def _legacy_crate(first: str) -> str:
    """The crate in the first part of a name: `alloc`, or `<script::dom::Node as core::fmt::Debug>`."""
    for escape, text in RUST_ESCAPES.items():
        first = first.replace(escape, text)
    match = RUST_PATH.search(first)
    return match[1] if match else first


def _rust_part(crate: str) -> str:
    return RUST_LIBRARY if crate in STANDARD_LIBRARY or not crate.isidentifier() else crate


def _table(heading: str, sizes: Counter[str]) -> str:
    rows = [(name, size) for name, size in sizes.most_common(SHOWN) if size >= SMALLEST]
    total = sizes.total()
    rest = total - sum(size for _, size in rows)
    if rest:
        rows.append(("all others", rest))
    rows.append(("total", total))
    cells = [[name, f"{size / 1e6:.1f}", f"{100 * size / max(total, 1):.1f}"] for name, size in rows]
    return text_table([[heading, "MB", "%"], *cells], left=(0,))


def megabytes(files: Iterable[Path]) -> str:
    """A table of files and their sizes."""
    rows = [[file.name, f"{file.stat().st_size / 1e6:.1f}"] for file in files]
    return text_table([["file", "MB"], *rows], left=(0,))


def _output(command: list[str]) -> str:
    result = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if result.returncode != 0:
        raise MachError(f"`{' '.join(command)}` {process.describe_status(result.returncode)}: {result.stderr.strip()}")
    return result.stdout
