# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach bench merge: how soon thousands of profiles are one, and the memory for it, beside `go tool pprof -proto`.

The sessions are made of recordings by an example of profile_sets, each with a bundle and a release by chance: as files
of pprof, and as traces that visitors of a page send, which Go does not read. The programs take turns. A figure is the
ratio of two programs in one round. Unpacking alone is measured beside them. Each function must have the same time in
all that the programs write, by Go's own table.
"""

import datetime
import gzip
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

from .. import paths, process
from ..errors import MachError
from ..run import shown_from_here
from ..table import text_table
from .formats import AGAIN, MOST_NOISE, TOOL, Run, ratios, run
from .machine import MOST_LOAD, describe_machine, noise_of

GO, UNPACKING, TRACES = "go tool pprof", "unpacking", "traces"
LEAST_GO = (1, 26)
SESSIONS, SAMPLES = 10_000, 2_000
FORMATS_TESTS = paths.COMPONENTS / "profile_formats" / "tests"
# Of Chromium and of Strobe.
RECORDINGS = (
    FORMATS_TESTS / "cases" / "chromium-156.0.8078.108.cpuprofile",
    FORMATS_TESTS / "golden" / "page_and_worker.firefox.json",
)
# The tool's part of what Go takes.
MOST_TIME, MOST_MEMORY = 1 / 4, 1 / 4
# Bytes that the traces may take, which are read without source maps.
MOST_MEMORY_OF_TRACES = 300_000_000


def merge(tool: Path, recordings: list[Path], settings: dict[str, int], saved: Path):
    """Measures the programs and saves the figures. Raises MachError unless every limit is met."""
    go = find_go()
    pprof = program_of(go)
    saved.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=saved.parent) as scratch:
        folder = Path(scratch)
        print(f"merge: makes {settings['sessions']:,} sessions", flush=True)
        make(folder, recordings or list(RECORDINGS), settings)
        profiles = sorted((folder / "pprof").iterdir())
        traces = folder / "traces.ndjson"
        merged = {name: folder / f"{name}.pb.gz" for name in (TOOL, GO, TRACES)}
        programs: dict[str, Callable[[], Run]] = {
            TOOL: partial(merged_by_tool, tool, folder / "pprof", merged[TOOL]),
            AGAIN: partial(merged_by_tool, tool, folder / "pprof", merged[TOOL]),
            GO: partial(merged_by_go, pprof, profiles, merged[GO]),
            UNPACKING: partial(unpack, profiles),
            TRACES: partial(merged_by_tool, tool, traces, merged[TRACES]),
        }
        print(f"merge: {settings['rounds']} rounds with {', '.join(programs)}; leave the machine idle", flush=True)
        measurement = {
            "suite": "merge",
            "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "machine": asdict(describe_machine()),
            "browsers": [{"name": "strobe-tool", "version": "", "build": tool.parent.name}],
            "go": version_of(go),
            **settings,
            "bytes": {"pprof": sum(file.stat().st_size for file in profiles), TRACES: traces.stat().st_size},
            "runs": measure(programs, settings["rounds"]),
            "sums": compared({name: times_of_functions(pprof, file) for name, file in merged.items()}),
            "load": os.getloadavg()[0],
        }
    saved.write_text(json.dumps(measurement, indent=1) + "\n", encoding="utf-8")
    text, missed = judge(measurement)
    print(f"\n{text}\n\nThe figures are in {shown_from_here(saved)}")
    if missed:
        raise MachError("\n  ".join([f"{len(missed)} of the limits missed:", *missed]))


def find_go() -> str:
    go = shutil.which("go")
    least = ".".join(map(str, LEAST_GO))
    if go is None:
        raise MachError(f"`go` is not on the PATH; Go {least} or newer is needed to compare with")
    version = version_of(go)
    if tuple(map(int, version.split(".")[:2])) < LEAST_GO:
        raise MachError(f"{go} is Go {version}; {least} or newer is needed to compare with")
    return go


def program_of(go: str) -> str:
    """The program that `go tool pprof` runs. Go 1.25 and newer compile it when it is first asked for."""
    found = process.output([go, "tool", "-n", "pprof"])
    if not found:
        raise MachError(f"`{go} tool -n pprof` does not name a program")
    return found.strip()


def version_of(go: str) -> str:
    said = subprocess.run([go, "version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\bgo(\d+\.\d+(?:\.\d+)?)", said)
    if found is None:
        raise MachError(f"`{go} version` does not say its version: {said.strip()[:100]!r}")
    return found[1]


def make(folder: Path, recordings: list[Path], settings: dict[str, int]):
    """Makes the sessions in a folder: `traces.ndjson`, and the files of `pprof`."""
    command = ["cargo", "run", "--release", "--locked", "--package=profile_sets", "--example=made_set", "--"]
    numbers = [str(settings["sessions"]), str(settings["samples"])]
    process.run([*command, str(folder), *numbers, *(str(file.resolve()) for file in recordings)], cwd=paths.ROOT)


def measure(programs: dict[str, Callable[[], Run]], rounds: int) -> dict[str, list[dict]]:
    """The runs of each program. They take turns in being first."""
    runs: dict[str, list[dict]] = {name: [] for name in programs}
    for number in range(rounds):
        names = list(programs)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            runs[name].append(asdict(programs[name]()))
    return runs


def merged_by_tool(tool: Path, profiles: Path, merged: Path) -> Run:
    return run([str(tool), "merge", str(profiles), "-o", str(merged)])[0]


def merged_by_go(pprof: str, profiles: list[Path], merged: Path) -> Run:
    return run([pprof, "-proto", f"-output={merged}", *map(str, profiles)])[0]


# Nothing is left out, and nothing is rounded.
TOP = ("-top", "-nodecount=1000000000", "-nodefraction=0", "-edgefraction=0", "-unit=nanoseconds")


def times_of_functions(pprof: str, merged: Path) -> dict[str, int]:
    """The own time of each function by its name, in nanoseconds, as Go reads the file."""
    command = [pprof, *TOP, str(merged)]
    table = process.output(command)
    if table is None:
        raise MachError(f"`{' '.join(command)}` failed")
    _, _, rows = table.partition("cum%\n")
    found = (re.fullmatch(r"\s*(\d+)(?:ns)?\s+\S+%\s+\S+%\s+\S+\s+\S+%\s+(.*)", row) for row in rows.splitlines())
    return {one[2]: int(one[1]) for one in found if one is not None}


def compared(times: dict[str, dict[str, int]]) -> dict[str, int]:
    """The number of functions, and the functions that have another time than by Go in what a program has written."""
    by_go = times[GO]
    differ = {
        name: sum(of_program.get(function) != by_go.get(function) for function in of_program | by_go)
        for name, of_program in times.items()
        if name != GO
    }
    return {"functions": len(by_go), "nanoseconds": sum(by_go.values()), **differ}


def unpack(profiles: list[Path]) -> Run:
    """How long it takes to unpack the files, one after another."""
    start = time.monotonic()
    most = max(len(gzip.decompress(file.read_bytes())) for file in profiles)
    return Run(time.monotonic() - start, most)


def judge(measurement: dict) -> tuple[str, list[str]]:
    """The table and the missed limits."""
    runs = measurement["runs"]
    rows = [["program", "s", "the tool's part of it", "memory, MB", "the tool's part of it"]]
    for name, of_program in runs.items():
        seconds, memory = (statistics.median(one[figure] for one in of_program) for figure in ("seconds", "memory"))
        parts = ["", ""]
        if name in (AGAIN, GO):
            parts = [f"{part(runs, name, figure):.2f}" for figure in ("seconds", "memory")]
        rows.append([name, f"{seconds:.2f}", parts[0], f"{memory / 1e6:.0f}", parts[1]])
    missed = []
    for figure, most, what in (("seconds", MOST_TIME, "time"), ("memory", MOST_MEMORY, "memory")):
        if part(runs, GO, figure) > most:
            missed.append(f"it takes {part(runs, GO, figure):.2f} of the {what} of {GO}, more than {most:.2f}")
    memory = max(one["memory"] for one in runs[TRACES])
    if memory > MOST_MEMORY_OF_TRACES:
        missed.append(f"{TRACES}: {memory / 1e6:.0f} MB of memory, more than {MOST_MEMORY_OF_TRACES / 1e6:.0f}")
    control = part(runs, AGAIN, "seconds")
    if abs(control - 1) > MOST_NOISE:
        missed.append(f"too noisy: the tool takes {control:.2f} of its own time")
    if measurement["load"] > MOST_LOAD:
        missed.append(f"too noisy: {noise_of(measurement['load'])}")
    sums = measurement["sums"]
    missed += [
        f"{name}: {sums[name]:,} functions have another time than by {GO}" for name in (TOOL, TRACES) if sums[name] > 0
    ]
    if sums["functions"] == 0:
        missed.append(f"{GO} shows no function")
    sizes = {name: f"{count / 1e6:,.0f} MB" for name, count in measurement["bytes"].items()}
    what = (
        f"{measurement['sessions']:,} sessions of {measurement['samples']:,} samples: {sizes['pprof']} of pprof and "
        f"{sizes[TRACES]} of traces; Go {measurement['go']}\n"
        f"{sums['functions']:,} functions have {sums['nanoseconds']:,} ns by {GO}"
    )
    limits = (
        f"limits: {MOST_TIME:.2f} of the time and {MOST_MEMORY:.2f} of the memory of {GO}; "
        f"{MOST_MEMORY_OF_TRACES / 1e6:.0f} MB of memory for {TRACES}; the same time for each function"
    )
    return f"{what}\n\n{text_table(rows)}\n{limits}", missed


def part(runs: dict[str, list[dict]], other: str, figure: str) -> float:
    """The tool's part of what another program takes."""
    return statistics.median(ratios(runs[TOOL], runs[other], figure))
