# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach bench: what profiling costs, as ratios measured within one page load, and whether it keeps its promises."""

import argparse
import datetime
import json
import math
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from .. import build, paths, process_tree
from ..errors import MachError
from ..run import shown_from_here
from ..server import ALLOWING_HEADERS, PageServer
from . import browsers, performance_docs
from .accuracy import accuracy
from .browsers import Browser
from .figures import report
from .generated_script import Prepared, bundles, hot_functions
from .machine import describe_machine
from .measurement import PAGES
from .soak import soak
from .stops import stops
from .turns import Turns
from .workers import workers

PROCESSORS = os.cpu_count() or 1
# A slow machine, and a build that is not optimised, may take this much longer than is said before, and this much more.
BOUND_FACTOR = 10.0
BOUND_BEYOND = 300.0

POLICY_BYTES = 5_000_000
# As policy.html has them.
POLICY_PARTS = 10
# The first two are what the others are compared with, and the control of that.
POLICIES = {
    "no header": {},
    "no header again": {},
    "Document-Policy: js-profiling": {"Document-Policy": "js-profiling"},
    "Document-Policy: js-profiling-mode=eager": {"Document-Policy": "js-profiling-mode=eager"},
    "Document-Policy: js-profiling-mode=lazy": {"Document-Policy": "js-profiling-mode=lazy"},
    "Permissions-Policy: js-profiling=(self)": {"Permissions-Policy": "js-profiling=(self)"},
    "Feature-Policy: js-profiling 'self'": {"Feature-Policy": "js-profiling 'self'"},
}
HOT_FUNCTIONS = 8000
WARM_UP_SECONDS = 6.0
TRACE_SAMPLES = 100_000
# So that a long trace is there soon, and the page's interval is the browser's.
TRACE_PREFERENCES = {"js_profiling_base_interval_us": "100"}
# What is counted takes so many times as long.
COUNTING_FACTOR = 30
# Starting a browser and ending it.
SECONDS_PER_VISIT = 1.5


@dataclass(frozen=True)
class Visit:
    page: str
    # What it takes about, on a machine of 2020.
    seconds: float
    headers: dict[str, str]
    # Goes into the page's result.
    labels: dict[str, str]
    # How often it waits until no other page of the round is at work.
    turns: int = 0


def bench(options: argparse.Namespace):
    """Runs the suite that the options name; they are those of commands/bench.py."""
    folder = paths.target_dir() / "bench"
    if options.suite == "docs":
        performance_docs.write(folder, options.suites)
        return
    saved = folder / f"{options.suite}.json"
    # Before a build, which takes longer to fail.
    other = browsers.chromium() if getattr(options, "vs", None) else None
    stock_walk = True if getattr(options, "walker", None) == "stock" else None
    binary = build.build(options.release, stock_walk)
    if options.suite == "soak":
        soak(binary, saved, options.minutes, options.base_interval_us, options.walker)
    elif options.suite == "accuracy":
        accuracy(binary, saved, options.seconds)
    elif options.suite == "stops":
        stops(binary, saved, options.seconds)
    elif options.suite == "workers":
        workers(binary, saved, options.seconds)
    else:
        ours = browsers.strobe(binary, TRACE_PREFERENCES if options.suite == "trace" else {})
        measured = [ours, other] if other else [ours]
        names = ("rounds", "pairs", "blocks", "loads")
        settings = {name: getattr(options, name) for name in names if hasattr(options, name)}
        if options.suite == "instructions":
            compare(options.suite, [browsers.counted(ours)], settings, saved, measure_apart)
        else:
            compare(options.suite, measured, settings, saved)


def visits_of(suite: str, settings: dict[str, int]) -> list[Visit]:
    """What each browser visits in a round."""
    if suite == "overhead":
        pairs, blocks = settings["pairs"], settings["blocks"]
        # Two runs of 0.15 s make a pair, of which nine kernels have three each, and one before; a block takes 2.3 s.
        seconds = 4 + 8.1 * (pairs + 1) + 4 * 2.3 * blocks
        return [Visit(f"/overhead.html?pairs={pairs}&blocks={blocks}", seconds, ALLOWING_HEADERS, {})]
    if suite == "scale":
        pairs = settings["pairs"]
        return [Visit(f"/scale/scale.html?pairs={pairs}", 4 + 8.5 * (pairs + 1), ALLOWING_HEADERS, {})]
    if suite in ("policy", "instructions"):
        page = f"/policy/policy.html?parts={POLICY_PARTS}&loads={settings['loads']}"
        loads = settings["loads"]
        seconds = 1.2 * (loads + 1)
        # Side by side, or with the others in turn.
        seconds *= COUNTING_FACTOR * math.ceil(len(POLICIES) / PROCESSORS) if suite == "instructions" else len(POLICIES)
        return [Visit(page, seconds, headers, {"variant": variant}, loads) for variant, headers in POLICIES.items()]
    if suite == "trace":
        # For each format with and without samples.
        return [Visit(f"/trace/trace.html?samples={TRACE_SAMPLES}", 46.0, ALLOWING_HEADERS, {})]
    if suite == "start":
        return [Visit(f"/start/start.html?seconds={WARM_UP_SECONDS:g}", WARM_UP_SECONDS + 1, ALLOWING_HEADERS, {})]
    raise MachError(f"there is no suite {suite}")


def measure_apart(browser: Browser, visits: list[Visit], log: Path) -> list[dict]:
    """The results of pages of which none waits for another, as many at once as there are processors."""
    with ThreadPoolExecutor(PROCESSORS) as threads:
        return [result for [result] in threads.map(lambda visit: measure_visits(browser, [visit], log), visits)]


def compare(
    suite: str,
    measured: list[Browser],
    settings: dict[str, int],
    saved: Path,
    measure: Callable[[Browser, list[Visit], Path], list[dict]] | None = None,
):
    """Round by round, each page in each browser; saves what they post, and prints what it says."""
    measure = measure or measure_visits
    visits = visits_of(suite, settings)
    rounds = settings["rounds"]
    seconds = rounds * len(measured) * (max(visit.seconds for visit in visits) + SECONDS_PER_VISIT)
    names = " and ".join(f"{browser.name} {browser.version}" for browser in measured)
    shown = ", ".join(f"{number} {name}" for name, number in settings.items())
    print(f"{suite}: {shown}, in {names}, the {measured[0].build} build; takes about {duration(seconds)}", flush=True)
    saved.parent.mkdir(parents=True, exist_ok=True)
    log = saved.with_suffix(".log")
    log.write_text("", encoding="utf-8")
    measurement = {
        "suite": suite,
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "settings": settings,
        "machine": asdict(describe_machine()),
        "browsers": [
            {"name": browser.name, "version": browser.version, "build": browser.build, "results": []}
            for browser in measured
        ],
    }
    for number in range(rounds):
        # None is always the first, so that whatever drifts meets both.
        for index in sorted(range(len(measured)), reverse=number % 2 == 1):
            results = measure(measured[index], visits, log)
            for visit, result in zip(visits, results, strict=True):
                measurement["browsers"][index]["results"].append({**result, **visit.labels, "round": number})
        # What there is stays if a later round fails.
        measurement["settings"] = {**settings, "rounds": number + 1}
        saved.write_text(json.dumps(measurement) + "\n", encoding="utf-8")
        print(f"round {number + 1} of {rounds} is done", flush=True)
    print(f"\n{report(measurement).text()}\n\nThe figures are in {shown_from_here(saved)}; ", end="")
    print(f"`./mach bench docs {suite}` puts them into docs/performance.md")


def measure_visits(browser: Browser, visits: list[Visit], log: Path) -> list[dict]:
    """The results of pages that are open at the same time, each in a browser of its own."""
    turns = Turns(len(visits), visits[0].turns)
    bundle = bundles(POLICY_BYTES // POLICY_PARTS)
    pids: dict[int, int] = {}
    has_failed = threading.Event()

    def end(pid: int):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)

    def measure(member: int) -> dict:
        texts = Prepared(bundle)

        def take_turn():
            turns.take(member)
            # One for each part when the page loads, and one when as much script is run alone.
            texts.prepare(2 * POLICY_PARTS)

        generated = {"/generated/policy.js": texts, "/generated/hot.js": hot_functions(HOT_FUNCTIONS)}

        def started(pid: int):
            pids[member] = pid
            if has_failed.is_set():
                end(pid)

        return measure_visit(browser, visits[member], generated, log, take_turn, started)

    with ThreadPoolExecutor(len(visits)) as threads:
        running = [threads.submit(measure, member) for member in range(len(visits))]
        try:
            # The first that failed, whose failure is not that it was ended.
            for measured in wait(running, return_when=FIRST_EXCEPTION).done:
                measured.result()
        except BaseException:
            has_failed.set()
            for member, pid in tuple(pids.items()):
                if not running[member].done():
                    end(pid)
            raise
        finally:
            turns.abandon()
    return [measured.result() for measured in running]


def measure_visit(
    browser: Browser,
    visit: Visit,
    generated: dict[str, Callable[[], str]],
    log: Path,
    take_turn: Callable[[], None],
    started: Callable[[int], None],
) -> dict:
    pids = []

    def at_checkpoint(name: str) -> str | None:
        if name == "turn":
            take_turn()
            return None
        if name not in CHECKPOINTS:
            raise MachError(f"{visit.page} asks for {name}, which ./mach bench does not have")
        return json.dumps(CHECKPOINTS[name](pids[0]))

    def at_start(pid: int):
        pids.append(pid)
        started(pid)

    make_server = partial(PageServer, document_headers=visit.headers, generated=generated)
    with make_server(PAGES, inbox="/result", at_checkpoint=at_checkpoint) as server:
        bound = BOUND_FACTOR * visit.seconds + BOUND_BEYOND
        return browser.measure(server, visit.page, bound, log, started=at_start)


# What a page may ask for of its browser.
CHECKPOINTS = {"processor-time": process_tree.processor_time, "memory": process_tree.own_memory}


def duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
