# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The notices of copyright in the comments of source files in C and C++."""

import re
from collections.abc import Iterable
from pathlib import Path

SOURCES = (".S", ".asm", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".inc", ".msm", ".s")

COMMENT = re.compile(r"/\*.*?\*/|(?:^[ \t]*//[^\n]*\n)+", re.S | re.M)
# What a line of a comment begins and ends with, beside its text.
DECORATION = re.compile(r"^[ \t]*(?:/\*+|\*+/|\*+|//+)?[ \t]?|[ \t*]*(?:\*/)?$")
# A line that says whose the code is.
HOLDER = re.compile(r"copyright\b.*\d{4}|©|\(c\) *\d{4}|^ *copyright (?:\(c\) )?[A-Z]", re.I)
# A comment with one of these says what one may do with the code.
TERMS = re.compile(r"permission|redistribut|licen[sc]e|warrant|disclaims copyright|public domain", re.I)
# Its text is among the licences of the crates.
MPL = re.compile(r"Mozilla\W+Public\W+License", re.I)


def notices(files: Iterable[Path]) -> list[tuple[list[str], str]]:
    """The holders and the terms of each licence in the files. Last, without terms, holders in comments without any.

    Files with the same terms have one entry, with the holders of all.
    """
    found: dict[str, tuple[set[str], str]] = {}
    without_terms: set[str] = set()
    for file in sorted(files):
        for comment in COMMENT.findall(file.read_text(encoding="utf-8", errors="replace")):
            lines = [DECORATION.sub("", line).rstrip() for line in comment.split("\n")]
            holders = {line.strip() for line in lines if HOLDER.search(line)}
            if MPL.search(comment) or not (holders or "disclaims copyright" in comment):
                continue
            if not TERMS.search(comment):
                without_terms |= holders
                continue
            terms = "\n".join(line for line in lines if line.strip() not in holders).strip("\n")
            key = re.sub(r"\W+", " ", terms).strip().lower()
            found.setdefault(key, (set(), terms))[0].update(holders)
    result = [(sorted(holders), terms) for holders, terms in found.values()]
    return result + ([(sorted(without_terms), "")] if without_terms else [])
