# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Rounds of visits: opens pages of tests/bench in browsers, apart or in turns, and saves what they post."""

import datetime
import json
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from .. import process_tree
from ..errors import MachError
from ..server import PageServer
from .browsers import Browser
from .machine import describe_machine
from .measurement import PAGES
from .turns import Turns

# A slow machine, or a build that is not optimised, may take this many times as long as announced, plus these seconds.
BOUND_FACTOR = 10.0
BOUND_BEYOND = 300.0
# The time to start a browser and to end it.
SECONDS_PER_VISIT = 1.5
# A visit under valgrind takes this many times as long.
COUNTING_FACTOR = 30

# What a page may ask for of its browser.
CHECKPOINTS = {
    "processor-time": process_tree.processor_time,
    "memory": process_tree.own_memory,
    "peak-memory": process_tree.peak_memory,
    "thread-times": process_tree.thread_times,
}


@dataclass(frozen=True)
class Visit:
    page: str
    # About how long it takes on a machine of 2020.
    seconds: float
    headers: dict[str, str]
    # These are added to the page's result.
    labels: dict[str, str]
    # How often the page waits until no other page of the round is working.
    turns: int = 0


@dataclass(frozen=True)
class Generated:
    """The files that the server generates for one page: the functions that make their texts, by path."""

    files: dict[str, Callable[[], str]] = field(default_factory=dict)
    # Called at the beginning of each turn of the page, to make texts before they are needed.
    prepare: Callable[[], None] = lambda: None


def measure_rounds(
    suite: str,
    browsers: list[dict],
    settings: dict[str, int],
    saved: Path,
    measure_round: Callable[[int, Path], list[list[dict]]],
) -> dict:
    """The measurement of settings["rounds"] rounds, which is saved after each round.

    `browsers` are the descriptions to save. `measure_round` gets the number of the round, from 0, and the file for the
    browsers' logs, and returns the results of each browser.
    """
    rounds = settings["rounds"]
    measurement, log = begin(suite, browsers, settings, saved)
    for number in range(rounds):
        add_round(measurement, number, measure_round(number, log), saved)
        print(f"round {number + 1} of {rounds} is done", flush=True)
    return measurement


def begin(suite: str, browsers: list[dict], settings: dict[str, int], saved: Path) -> tuple[dict, Path]:
    """A measurement without results, and the empty file for the browsers' logs, beside the file `saved`."""
    saved.parent.mkdir(parents=True, exist_ok=True)
    log = saved.with_suffix(".log")
    log.write_text("", encoding="utf-8")
    measurement = {
        "suite": suite,
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "settings": settings,
        "machine": asdict(describe_machine()),
        "browsers": [{**browser, "results": []} for browser in browsers],
    }
    return measurement, log


def add_round(measurement: dict, number: int, of_browsers: list[list[dict]], saved: Path):
    """Adds the results of each browser in a round, and saves the measurement: they are kept if a later round fails."""
    for browser, results in zip(measurement["browsers"], of_browsers, strict=True):
        browser["results"] += [{**result, "round": number} for result in results]
    measurement["settings"] = {**measurement["settings"], "rounds": number + 1}
    saved.write_text(json.dumps(measurement) + "\n", encoding="utf-8")


def measure_apart(visits: list[tuple[Browser, Visit]], log: Path, generate: Callable[[], Generated]) -> list[dict]:
    """The results of pages of which only one is open at a time.

    Instructions are counted so: a browser beside another was counted with up to 3 % more than one that ran alone.
    """
    return [result for visit in visits for result in measure_together([visit], log, generate)]


def measure_together(visits: list[tuple[Browser, Visit]], log: Path, generate: Callable[[], Generated]) -> list[dict]:
    """The results of pages that are open at the same time, each in its own browser.

    They take turns. The number of turns of each is that of the first visit.
    """
    turns = Turns(len(visits), visits[0][1].turns)
    pids: dict[int, int] = {}
    has_failed = threading.Event()

    def end(pid: int):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)

    def measure(member: int) -> dict:
        generated = generate()

        def take_turn():
            turns.take(member)
            generated.prepare()

        def started(pid: int):
            pids[member] = pid
            if has_failed.is_set():
                end(pid)

        browser, visit = visits[member]
        return {**measure_visit(browser, visit, generated.files, log, take_turn, started), **visit.labels}

    with ThreadPoolExecutor(len(visits)) as threads:
        running = [threads.submit(measure, member) for member in range(len(visits))]
        try:
            # The first failure is reported: later visits fail because they are ended.
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


def duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
