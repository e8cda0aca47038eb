# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""A visit of a page of tests/bench: what it posts, what the sampler counts, and the size of the process."""

import datetime
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .. import paths
from ..errors import MachError
from ..run import read_result, shown_from_here, visit
from ..server import PageServer
from . import browsers
from .machine import MOST_LOAD, describe_machine, noise_of
from .process_size import ProcessSize, settled_size
from .sample_counts import LOG_FILTER, LOGGED, PANIC, SampleCounts, StopDurations, read_counts, read_reasons, read_stops

PAGES = paths.ROOT / "tests" / "bench"


@dataclass
class Measurement:
    """The results of a visit, even of one that failed."""

    result: dict | None = None
    # The counts of the sessions that ended normally, and the number of these sessions.
    counts: SampleCounts = field(default_factory=SampleCounts)
    sessions: int = 0
    # By checkpoint.
    sizes: dict[str, ProcessSize] = field(default_factory=dict)
    # How many samples could not be walked, by reason.
    reasons: dict[str, int] = field(default_factory=dict)
    # The stops of the event loop that was stopped most often.
    stops: StopDurations | None = None
    # Panics of the browser's threads.
    panics: list[str] = field(default_factory=list)
    failure: str | None = None
    # Where, in which browsers and when it was measured.
    machine: dict = field(default_factory=dict)
    browsers: list[dict] = field(default_factory=list)
    when: str = ""
    # The load of the machine in the minute before the end.
    load: float = 0.0

    @property
    def ending(self) -> str:
        """How the browser ended, for a table."""
        return f"The browser: {self.failure or 'status 0'}"

    def failures(self) -> list[str]:
        """The failures that can happen in any measurement."""
        panics = [f"{len(self.panics)} threads panicked, the first: {self.panics[0]}"] if self.panics else []
        return panics + ([self.failure] if self.failure else [])

    def noise(self) -> list[str]:
        """Why times of the measurement mean nothing."""
        return [f"too noisy: {noise_of(self.load)}"] if self.load > MOST_LOAD else []

    def save(self, place: Path):
        place.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def read_measurement(saved: dict) -> Measurement:
    """The measurement that `save` has written, from its JSON."""
    sizes = {name: ProcessSize(**size) for name, size in saved["sizes"].items()}
    stops = StopDurations(**saved["stops"]) if saved.get("stops") else None
    return Measurement(**{**saved, "counts": SampleCounts(**saved["counts"]), "sizes": sizes, "stops": stops})


def measure(
    binary: Path,
    page: str,
    preferences: dict[str, str],
    bound: float,
    saved: Path,
    generated: dict[str, Callable[[], str]] | None = None,
) -> Measurement:
    """Visits a page, headless and allowed to profile, that posts one result within `bound` seconds.

    The measurement is saved in the file `saved`, and the browser's log in a file beside it.
    `generated` has files of the page that are not in the folder of the pages.
    """
    measurement = Measurement(machine=asdict(describe_machine()))
    measurement.browsers = [browsers.strobe(binary).described()]
    measurement.when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    arguments = ["--headless"]
    for name, value in {"js_profiling_allow": "true", **preferences}.items():
        arguments += ["--pref", f"{name}={value}"]
    pids = []

    def at_checkpoint(name: str):
        measurement.sizes[name] = settled_size(pids[0])

    def received(body: bytes):
        measurement.result = read_result(body, page.partition("?")[0])

    saved.parent.mkdir(parents=True, exist_ok=True)
    log = saved.with_suffix(".log")
    with log.open("w", encoding="utf-8") as log_file:

        def on_log(line: str):
            log_file.write(line)
            for why, count in read_reasons(line).items():
                measurement.reasons[why] = measurement.reasons.get(why, 0) + count
            stops = read_stops(line)
            if stops and (measurement.stops is None or stops.count > measurement.stops.count):
                measurement.stops = stops
            if counts := read_counts(line):
                measurement.counts.add(counts)
                measurement.sessions += 1
            elif panic := PANIC.match(line):
                measurement.panics.append(panic.group(1))
            elif not LOGGED.match(line):
                sys.stderr.write(line)

        with PageServer(PAGES, inbox="/result", at_checkpoint=at_checkpoint, generated=generated) as server:
            try:
                visit(
                    binary,
                    arguments,
                    server,
                    page,
                    received,
                    bound,
                    started=pids.append,
                    on_log=on_log,
                    log_filter=LOG_FILTER,
                )
            except MachError as error:
                measurement.failure = str(error)
    measurement.load = os.getloadavg()[0]
    measurement.save(saved)
    return measurement


def finish(text: str, missed: list[str], saved: Path):
    """Prints the report, and raises MachError if a limit is missed."""
    print(f"\n{text}\n\nThe figures are in {shown_from_here(saved)}, the browser's log is beside them")
    if missed:
        raise MachError("\n  ".join([f"{len(missed)} of the limits missed:", *missed]))
