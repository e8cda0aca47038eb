# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach bench hostile: pages that try to hold up whoever profiles or records them."""

import json
import queue
import signal
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlencode

from .. import build, crashes, process
from ..errors import MachError
from ..server import PageServer
from ..slowness import scaled
from ..table import text_table
from .measurement import PAGES, Measurement, finish, measure

# The longest stop of a thread.
MOST_STOP_MS = 2.0
# The memory that the profiler takes for a function of the page, beyond what it takes with short names. Of a page with
# fewer functions, the memory of them all.
MOST_BYTES = 2048
MANY_FUNCTIONS = 1000
# What the process holds varies by so much.
MOST_MEMORY = 16 * 1024 * 1024
# From the signal that ends a recording to its file, which is complete as soon as it is there, and to the browser's end.
MOST_END_SECONDS = 3.0
# The median stop, compared with that of the same page with short names.
MOST_RATIO = 1.2
# The part of the samples that must have a stack, compared with that of the same page with short names.
LEAST_STACKS = 0.8

NO_JIT = {"js_baseline_interpreter_enabled": "false", "js_baseline_jit_enabled": "false", "js_ion_enabled": "false"}
# The recording is ended by a signal long before.
RECORDED_SECONDS = 600
BOUND_FACTOR = 6.0
BOUND_BEYOND = 300.0
# The time until a page is ready, and until a browser that does not end is killed.
READY_BOUND = 120.0
END_BOUND = 60.0
FILE_POLL = 0.01


@dataclass(frozen=True)
class Kind:
    """A page of tests/bench/hostile."""

    name: str
    preferences: dict[str, str]
    # Whether a sample without a stack is expected for the long one: such a stack is too deep for a walk.
    may_be_missed: bool = False


KINDS = (
    Kind("long name", {}),
    Kind("names that differ in the last byte", {}),
    Kind("functions of a long URL", {}),
    Kind("functions with long names", {}),
    Kind("a stack of a long URL", {}),
    Kind("a deep stack of the interpreter", NO_JIT, may_be_missed=True),
)


@dataclass
class End:
    """The seconds from a signal to the recording's file, and to the browser's end; None if it had to be killed."""

    file: float | None
    browser: float | None


@dataclass
class Measured:
    """The page of a kind with short and with long names, and how long the end of its recording takes."""

    short: Measurement
    long: Measurement
    end: End


def hostile(binary: Path, saved: Path, seconds: float, chosen: list[str]):
    """Measures each kind. The file `saved` has them all, and each visit has its own file."""
    kinds = [kind for kind in KINDS if not chosen or kind.name in chosen]
    print(f"hostile: {len(kinds)} pages, {seconds:g} s each, with the {binary.parent.name} build", flush=True)
    measured = {}
    for kind in kinds:
        name = kind.name.replace(" ", "-")
        visits = [
            measure(
                binary,
                address(kind, size, seconds),
                kind.preferences,
                BOUND_FACTOR * seconds + BOUND_BEYOND,
                saved.with_name(f"{saved.stem}-{name}-{size}.json"),
            )
            for size in ("short", "long")
        ]
        measured[kind.name] = Measured(*visits, end_of_recording(binary, kind, saved.with_name(f"{name}.profile.json")))
    text = {name: asdict(of_kind) for name, of_kind in measured.items()}
    saved.write_text(json.dumps({"suite": "hostile", "kinds": text}, indent=1) + "\n", encoding="utf-8")
    finish(*report(measured), saved)


def address(kind: Kind, size: str, seconds: float, *, profile: bool = True) -> str:
    settings = {"kind": kind.name, "size": size, "seconds": seconds, "profile": "yes" if profile else "no"}
    return "/hostile/hostile.html?" + urlencode(settings)


def end_of_recording(binary: Path, kind: Kind, output: Path) -> End:
    """How long the end of a recording of the page takes after a signal."""
    output.parent.mkdir(parents=True, exist_ok=True)
    output.unlink(missing_ok=True)
    arguments = [
        "profile",
        "--duration",
        str(RECORDED_SECONDS),
        "--format",
        "firefox",
        "--output",
        str(output.resolve()),
    ]
    preferences = [word for name, value in kind.preferences.items() for word in ("--pref", f"{name}={value}")]
    # The page has no permission.
    with PageServer(PAGES, inbox="/ready", document_headers={}) as server, crashes.watched(binary, None) as watched:
        url = server.origin + address(kind, "long", 1, profile=False)
        command = [str(binary), *arguments, "--headless", *preferences, url]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        browser = process.start(command, env=build.browser_environment(), cwd=watched.folder, **quiet)
        watched.process = browser
        try:
            try:
                server.posts.get(timeout=scaled(READY_BOUND))
            except queue.Empty:
                raise MachError(f"the page {kind.name!r} is not ready within {READY_BOUND:g} s") from None
            # The signal comes while the page works.
            start = time.monotonic()
            browser.send_signal(signal.SIGINT)
            end = _end(browser, output, start)
        finally:
            process.end(browser)
    if not output.is_file():
        raise MachError(f"the recording of the page {kind.name!r} has left no file")
    output.unlink()
    return end


def _end(browser: subprocess.Popen, output: Path, start: float) -> End:
    """Waits for the browser's end. The signal was sent at `start`."""
    file_seconds = None
    bound = start + scaled(END_BOUND)
    while (now := time.monotonic()) < bound:
        if file_seconds is None and output.is_file():
            file_seconds = now - start
        try:
            browser.wait(FILE_POLL)
        except subprocess.TimeoutExpired:
            continue
        seconds = time.monotonic() - start
        return End(seconds if file_seconds is None else file_seconds, seconds)
    return End(file_seconds, None)


def report(measured: dict[str, Measured]) -> tuple[str, list[str]]:
    """The table, and the limits that are missed."""
    head = ["page", "longest stop, ms", "median, µs", "with short names", "functions", "more memory, kB"]
    rows = [[*head, "file after, s", "end after, s"]]
    missed = []
    by_name = {kind.name: kind for kind in KINDS}
    for name, of_kind in measured.items():
        stops = ("" if cell is None else f"{cell:.2f}" for cell in _stops(of_kind))
        functions, memory = _functions(of_kind), more_memory(of_kind)
        sizes = (functions, None if memory is None else round(memory / 1024))
        sizes = ("" if cell is None else str(cell) for cell in sizes)
        ends = ("-" if end is None else f"{end:.1f}" for end in (of_kind.end.file, of_kind.end.browser))
        rows.append([name, *stops, *sizes, *ends])
        missed += [f"{name}: {problem}" for problem in _problems(by_name[name], of_kind)]
    limits = (
        f"limits: longest stop {MOST_STOP_MS:g} ms, median stop {MOST_RATIO:g} times that with short names, "
        f"{MOST_BYTES} bytes more than with short names for a function of a page with {MANY_FUNCTIONS}, "
        f"else {MOST_MEMORY // 1024} kB, "
        f"file and end {MOST_END_SECONDS:g} s after the signal"
    )
    return f"{text_table(rows, left=(0,))}\n{limits}", missed


def _stops(measured: Measured) -> tuple[float | None, float | None, float | None]:
    """The longest stop in ms, and the medians of the long page and of the short one in µs."""
    of_long, of_short = measured.long.stops, measured.short.stops
    return (
        of_long and of_long.longest / 1e6,
        of_long and of_long.median / 1e3,
        of_short and of_short.median / 1e3,
    )


def _functions(measured: Measured) -> int | None:
    return (measured.long.result or {}).get("functions")


def more_memory(measured: Measured) -> int | None:
    """How many bytes more the page takes while it is profiled than with short names."""
    growths = []
    for visit in (measured.long, measured.short):
        if not {"start", "end"} <= visit.sizes.keys():
            return None
        growths.append(1024 * (visit.sizes["end"].memory - visit.sizes["start"].memory))
    return growths[0] - growths[1]


def _problems(kind: Kind, measured: Measured) -> list[str]:
    problems = [*measured.short.failures(), *measured.long.failures()]
    longest, median, short_median = _stops(measured)
    if longest is None or short_median is None:
        return [*problems, "the sampler logged no stop"]
    if noise := measured.long.noise():
        problems += noise
    elif longest > MOST_STOP_MS:
        problems.append(f"longest stop {longest:.2f} ms, more than {MOST_STOP_MS:g} ms")
    # A deep stack is not a long name.
    if not kind.may_be_missed and median > MOST_RATIO * short_median:
        problems.append(f"median stop {median:.2f} µs, {median / short_median:.1f} times that with short names")
    functions, memory = _functions(measured), more_memory(measured)
    if functions is None or memory is None:
        problems.append("the page's memory is not known")
    elif memory > MOST_MEMORY:
        if functions < MANY_FUNCTIONS:
            problems.append(f"{memory // 1024} kB more than with short names, more than {MOST_MEMORY // 1024} kB")
        elif memory > MOST_BYTES * functions:
            bytes_more = f"{memory // functions} bytes more for a function than with short names"
            problems.append(f"{bytes_more}, more than {MOST_BYTES}")
    of_long, of_short = measured.long.result, measured.short.result
    if of_long and of_short and not kind.may_be_missed:
        share, short_share = (one["stacks"] / max(one["samples"], 1) for one in (of_long, of_short))
        if share < LEAST_STACKS * short_share:
            problems.append(f"{share:.0%} of the samples have a stack, {short_share:.0%} with short names")
    for what, seconds in (("its file", measured.end.file), ("its end", measured.end.browser)):
        if seconds is None:
            problems.append(f"{what} does not come within {END_BOUND:g} s after the signal")
        elif seconds > MOST_END_SECONDS:
            problems.append(f"{what} comes {seconds:.1f} s after the signal, more than {MOST_END_SECONDS:g} s")
    return problems
