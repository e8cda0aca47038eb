# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Writes the figures in docs/figures/ from those that ./mach bench has saved."""

import json
import re
from pathlib import Path

from .. import paths
from ..errors import MachError
from ..run import shown_from_here
from . import accuracy, figures, formats, merge, stops
from .figures.report import Report, Table
from .measurement import read_measurement

# A document for each suite, in which the section between BEGIN and END is written.
FIGURES = paths.ROOT / "docs" / "figures"
# The titles of the documents.
SUITES = {
    **{name: suite.TITLE for name, suite in figures.SUITES.items()},
    # These find the missed limits by themselves.
    "stops": "For how long a sample stops its thread",
    "accuracy": "Whether samples are right",
    "formats": "A report on a large profile, beside other tools",
    "merge": "Thousands of profiles, beside Go's tool",
}
BEGIN = "<!-- begin {suite}: written by ./mach bench docs -->"
END = "<!-- end {suite} -->"


def document_of(suite: str, folder: Path = FIGURES) -> Path:
    return folder / f"{suite}.md"


def write(folder: Path, suites: list[str], documents: Path = FIGURES):
    """Writes the documents of these suites, or of all that have figures in the folder."""
    known = [suite for suite in SUITES if (folder / f"{suite}.json").exists()]
    for suite in suites:
        if suite not in SUITES:
            raise MachError(f"{suite} has no document in {shown_from_here(documents)}; these have: {', '.join(SUITES)}")
        if suite not in known:
            raise MachError(f"{shown_from_here(folder / suite)}.json is not there; `./mach bench {suite}` makes it")
    # All are made before one is written.
    texts = {}
    for suite in suites or known:
        file = folder / f"{suite}.json"
        try:
            measurement = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise MachError(f"{shown_from_here(file)} is not JSON: {error}") from None
        try:
            section = make_section(measurement, suite)
        except (KeyError, TypeError, AttributeError) as error:
            problem = f"{type(error).__name__}: {error}"
            raise MachError(f"{shown_from_here(file)} is not what ./mach bench {suite} saves: {problem}") from None
        document = document_of(suite, documents)
        texts[document] = replace_section(_read(document, suite), suite, section, document)
        print(f"{shown_from_here(document)}: measured {measurement['when']}")
    if not texts:
        raise MachError(f"there are no figures in {shown_from_here(folder)}; `./mach bench SUITE` makes them")
    for document, text in texts.items():
        document.write_text(text, encoding="utf-8")


def _read(document: Path, suite: str) -> str:
    """The document, or that of a new suite, in which nothing is said of the figures yet."""
    if document.exists():
        return document.read_text(encoding="utf-8")
    return f"# {SUITES[suite]}\n\n{BEGIN.format(suite=suite)}\n{END.format(suite=suite)}\n"


def replace_section(text: str, suite: str, section: str, document: Path) -> str:
    begin, end = BEGIN.format(suite=suite), END.format(suite=suite)
    pattern = re.compile(f"{re.escape(begin)}\n.*?{re.escape(end)}\n", re.S)
    replaced, count = pattern.subn(lambda _: f"{begin}\n{section}\n{end}\n", text)
    if count != 1:
        raise MachError(f"{document}: {count} sections from `{begin}` to `{end}`, instead of 1")
    return replaced


def make_section(measurement: dict, suite: str) -> str:
    if suite == "accuracy":
        return judged_section(measurement, suite, *accuracy.report(read_measurement(measurement)))
    if suite == "stops":
        return judged_section(measurement, suite, *stops.report(stops.read_chains(measurement)))
    if suite == "formats":
        return judged_section(measurement, suite, *formats.judge(measurement))
    if suite == "merge":
        return judged_section(measurement, suite, *merge.judge(measurement))
    return figures_section(measurement, suite)


def figures_section(measurement: dict, suite: str) -> str:
    if measurement["suite"] != suite:
        raise MachError(f"the figures of {suite} are those of {measurement['suite']}")
    settings = ", ".join(f"{number} {name}" for name, number in measurement["settings"].items())
    how = f"`./mach bench {suite}`: {settings}. {describe(measurement)}"
    return "\n\n".join([how, *tables(figures.report(measurement))])


def judged_section(measurement: dict, suite: str, text: str, missed: list[str]) -> str:
    """The section of a suite that finds the missed limits by itself."""
    judged = "\n".join(f"- missed: {what}" for what in missed) if missed else "All limits are met."
    return f"`./mach bench {suite}`. {describe(measurement)}\n\n```\n{text}\n```\n\n{judged}"


def describe(measurement: dict) -> str:
    """When, in which browsers and where it was measured."""
    names = []
    for browser in measurement["browsers"]:
        parts = [browser["name"], browser["version"], f"({browser['build']} build)" if browser["build"] else ""]
        names.append(" ".join(part for part in parts if part))
    machine = measurement["machine"]
    cores = f"{machine['cores']} core{'' if machine['cores'] == 1 else 's'}"
    return (
        f"Measured {measurement['when'][:10]} in {' and '.join(names)} on {machine['processor']}, {cores}, "
        f"{machine['memory'] / 2**30:.1f} GiB of memory, {machine['kernel']}; virtualised: {machine['virtualised']}."
    )


def tables(found: Report) -> list[str]:
    parts = [f"{table.caption}:\n\n{markdown(table)}" for table in (found.limit_table(), *found.tables)]
    if found.notes:
        parts.append("\n".join(f"- {note}" for note in found.notes))
    return parts


def markdown(table: Table) -> str:
    header, *rows = [[cell.replace("|", "\\|") for cell in row] for row in table.rows]
    rule = ["---", *("---:" for _ in header[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *rows))
