# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach fuzz: runs parsers on random input, with libFuzzer.

The targets are the programs of tests/fuzz/Cargo.toml. A target has committed inputs in tests/fuzz/corpus/TARGET and
words in tests/fuzz/dictionaries/TARGET.dict. Inputs that it finds are kept in the cache.
"""

import contextlib
import os
import random
import re
import tempfile
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from .. import paths, process
from ..errors import MachError
from ..lock import cache_lock
from ..run import shown_from_here
from ..setup import bootstrap, toolchain
from ..table import text_table

FUZZ = paths.ROOT / "tests" / "fuzz"

# The options that `cargo fuzz` gives to the compiler without a sanitizer. A stable compiler knows all of them.
# https://llvm.org/docs/SanitizerCoverage.html
INSTRUMENTATION = (
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
)
# An input that takes more seconds than this is a finding.
SLOWEST_INPUT = 10
# Seconds between looks at the running targets.
LOOK = 0.2
LARGEST_SEED = 2**32 - 1

# Lines of libFuzzer's output. It also writes `cov:` lines while it runs.
COVERAGE = re.compile(r"^#(\d+)\t\S+ +cov: (\d+) ")
STATISTIC = re.compile(r"^stat::(\w+): +(\d+)$")
WRITTEN = re.compile(r"; Test unit written to (.+)$")
PANIC = re.compile(r"^thread .* panicked at (.+):$")
SUMMARY = re.compile(r"^SUMMARY: (.+)$")


@dataclass
class Outcome:
    """The result of running a target."""

    target: str
    executions: int = 0
    executions_per_second: int = 0
    # Edges of the control flow that the inputs took.
    coverage: int = 0
    new_inputs: int = 0
    # Inputs that made the target fail.
    findings: list[Path] = field(default_factory=list)
    # The place and the message of the panic, or libFuzzer's name for the failure.
    reason: str = ""

    @property
    def row(self) -> list[str]:
        numbers = (self.executions, self.executions_per_second, self.coverage, self.new_inputs, len(self.findings))
        return [self.target, *map(str, numbers)]


def fuzz(wanted: list[str], seconds: int, jobs: int | None, seed: int | None):
    """Runs targets for some seconds each, `jobs` at once, and prints the results. Raises MachError for a finding."""
    targets = checked(wanted)
    programs = build()
    jobs = jobs or os.cpu_count() or 1
    seed = seed or random.randint(1, LARGEST_SEED)
    print(f"fuzz: {', '.join(targets)}; {seconds} s each, {min(jobs, len(targets))} at once, --seed {seed}")
    outcomes = run({target: programs / target for target in targets}, seconds, jobs, seed)
    print(f"\n{report(outcomes)}")
    if found := sum(len(outcome.findings) for outcome in outcomes):
        raise MachError(f"{found} finding{'s' if found > 1 else ''}, see above")


def replay(wanted: list[str], file: Path):
    """Runs one input again, and shows the target's output."""
    if len(checked(wanted)) != 1 or not wanted:
        raise MachError("--replay needs exactly one TARGET")
    if not file.is_file():
        raise MachError(f"{file}: no such file")
    (target,) = wanted
    command = [str(build() / target), f"-timeout={SLOWEST_INPUT}", str(file.resolve())]
    with tempfile.TemporaryDirectory() as scratch:
        # Otherwise the target would save the input once more.
        status = process.stream([*command, f"-artifact_prefix={scratch}/"])
    if status != 0:
        raise MachError(f"{target} {process.describe_status(status)} with {shown_from_here(file)}")
    print(f"{target}: no failure with {shown_from_here(file)}")


def target_names() -> list[str]:
    with open(FUZZ / "Cargo.toml", "rb") as file:
        return [program["name"] for program in tomllib.load(file)["bin"]]


def checked(wanted: list[str]) -> list[str]:
    """The wanted targets, or all if none are given."""
    names = target_names()
    for name in wanted:
        if name not in names:
            raise MachError(f"{name}: no such target; the targets are {', '.join(names)}")
    return list(dict.fromkeys(wanted)) or names


def build() -> Path:
    """Builds the targets and returns the folder of their programs."""
    with cache_lock("fuzz"):
        bootstrap.ensure()
        # Outside the checkout: Cargo takes configuration from the folders above, and the checkout's is for the browser.
        folder = paths.cache_dir() / "fuzz"
        folder.mkdir(parents=True, exist_ok=True)
        # With --target, build scripts are not instrumented.
        host = process.output(["rustc", "--print", "host-tuple"]).strip()
        target_dir = paths.target_dir() / "fuzz-build"
        environment = {
            **os.environ,
            **toolchain.build_environment(),
            "CARGO_BUILD_BUILD_DIR": str(folder / "build"),
            "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(INSTRUMENTATION),
            "CARGO_TARGET_DIR": str(target_dir),
            "STROBE_CHECKOUT": str(paths.ROOT),
        }
        command = ["cargo", "build", "--locked", f"--target={host}", f"--manifest-path={FUZZ / 'Cargo.toml'}"]
        process.run(command, cwd=folder, env=environment)
    return target_dir / host / "debug"


def run(programs: dict[str, Path], seconds: int, jobs: int, seed: int) -> list[Outcome]:
    """Runs the programs of the targets. A target ends early at its first finding."""
    waiting = list(programs)
    running = {}
    outcomes = {}
    looked = time.monotonic()
    with contextlib.ExitStack() as started:
        while waiting or running:
            while waiting and len(running) < jobs:
                target = waiting.pop(0)
                running[target] = _start(target, programs[target], seconds, seed)
                started.callback(process.end, running[target])
            time.sleep(LOOK)
            for target, program in list(running.items()):
                if (status := program.poll()) is not None:
                    del running[target]
                    outcomes[target] = _outcome(target, status)
            if running and time.monotonic() - looked > process.HEARTBEAT:
                looked = time.monotonic()
                print(f"  ... {', '.join(running)}")
    return [outcomes[target] for target in programs]


def _start(target: str, program: Path, seconds: int, seed: int):
    found = _findings_folder(target)
    # libFuzzer writes new inputs to the first corpus.
    corpora = [paths.cache_dir() / "fuzz" / "corpus" / target, FUZZ / "corpus" / target]
    for folder in (found, corpora[0]):
        folder.mkdir(parents=True, exist_ok=True)
    command = [
        str(program),
        f"-seed={seed}",
        f"-max_total_time={seconds}",
        f"-timeout={SLOWEST_INPUT}",
        f"-dict={FUZZ / 'dictionaries' / f'{target}.dict'}",
        f"-artifact_prefix={found}/",
        "-print_final_stats=1",
        *map(str, corpora),
    ]
    with open(_log(target), "wb") as log:
        return process.start(command, cwd=found, stdout=log, stderr=log)


def _findings_folder(target: str) -> Path:
    return paths.target_dir() / "fuzz" / target


def _log(target: str) -> Path:
    return _findings_folder(target) / "log"


def _outcome(target: str, status: int) -> Outcome:
    log = _log(target)
    outcome = read_log(target, log.read_text(encoding="utf-8", errors="replace"))
    if status != 0 and not outcome.findings:
        raise MachError(f"{target} {process.describe_status(status)}; its output is in {shown_from_here(log)}")
    return outcome


def read_log(target: str, log: str) -> Outcome:
    outcome = Outcome(target)
    statistics = {}
    lines = log.splitlines()
    for number, line in enumerate(lines):
        if match := COVERAGE.match(line):
            outcome.executions, outcome.coverage = int(match[1]), int(match[2])
        elif match := STATISTIC.match(line):
            statistics[match[1]] = int(match[2])
        elif match := WRITTEN.search(line):
            outcome.findings.append(Path(match[1]))
        elif match := PANIC.match(line):
            outcome.reason = ": ".join([match[1], *lines[number + 1 : number + 2]])
        elif (match := SUMMARY.match(line)) and not outcome.reason:
            outcome.reason = match[1]
    outcome.executions = statistics.get("number_of_executed_units", outcome.executions)
    outcome.executions_per_second = statistics.get("average_exec_per_sec", 0)
    outcome.new_inputs = statistics.get("new_units_added", 0)
    return outcome


def report(outcomes: list[Outcome]) -> str:
    header = ["target", "executions", "executions/s", "coverage", "new inputs", "findings"]
    parts = [text_table([header, *(outcome.row for outcome in outcomes)], left=(0,))]
    parts.append("Coverage: edges of the control flow, in the parsers and in the crates that they use.")
    for outcome in outcomes:
        for finding in outcome.findings:
            again = f"./mach fuzz {outcome.target} --replay {shown_from_here(finding)}"
            parts.append(f"{outcome.target}: {outcome.reason}\n  {again}")
    return "\n".join(parts)
