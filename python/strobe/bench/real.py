# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach bench real: what profiling costs libraries from npm at work, and for how long samples stop them.

Each library has a workload, tests/bench/real/LIBRARY.mjs. The two are bundled as for a web site, and measured in a page
of their own. The ratios are measured in both browsers, which take turns. The stops are measured in ours, by the
sampler's own clock.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path

from .. import npm, process
from ..errors import MachError
from ..lock import cache_lock
from ..server import ALLOWING_HEADERS
from . import browsers
from .browsers import Browser
from .measurement import PAGES, Measurement, measure
from .visits import SECONDS_PER_VISIT, Generated, Visit, duration, measure_rounds, measure_together

SOURCES = PAGES / "real"
LIBRARIES = (
    "typescript-transpile",
    "typescript-check",
    "acorn",
    "terser",
    "marked",
    "highlight",
    "react",
    "preact",
    "mathjs",
    "dayjs",
    "lodash",
)
# These update a document.
NEED_DOCUMENT = ("react", "preact")
SCRIPT = "/generated/library.js"
STOP_INTERVALS = (1, 10)  # ms
# As in real.js: four sessions in each set, with what is between them. Calibration and warming up come before.
SECONDS_BEFORE = 4.5
SECONDS_PER_LONG_SET = 4.2
SECONDS_PER_SHORT_SET = 0.65
# A visit may take this many times as long, plus these seconds.
BOUND_FACTOR = 10.0
BOUND_BEYOND = 300.0


def real(binary: Path, other: Browser | None, settings: dict[str, int], libraries: list[str], saved: Path) -> dict:
    """Measures the libraries in the built browser and in the other one.

    `settings` are the numbers of rounds, of sets of long and of short sessions in each, and of seconds for which stops
    are measured at each interval.
    """
    # The scripts, and what was measured of the stops of each library, with the browser's log.
    folder = saved.with_suffix("")
    scripts = bundle(libraries, folder / "scripts")
    ours = browsers.strobe(binary)
    measured = [ours, other] if other else [ours]
    of_libraries = visits(libraries, settings)
    names = " and ".join(f"{browser.name} {browser.version}" for browser in measured)
    shown = ", ".join(f"{number} {name}" for name, number in settings.items())
    seconds = duration(expected_seconds(of_libraries, len(measured), settings))
    print(f"real: {shown}, in {names}, the {ours.build} build; takes about {seconds}", flush=True)

    def measure_round(number: int, log: Path) -> list[list[dict]]:
        results = [[] for _ in measured]
        for position, visit in enumerate(of_libraries):
            files = {SCRIPT: scripts[visit.labels["library"]].read_text}
            # The browsers take turns in being first, so that any drift affects both.
            for index in sorted(range(len(measured)), reverse=(number + position) % 2 == 1):
                results[index] += measure_together([(measured[index], visit)], log, partial(Generated, files))
        return results

    described = [browser.described() for browser in measured]
    load = os.getloadavg()[0]
    measurement = measure_rounds("real", described, settings, saved, measure_round)
    measurement["load"] = load
    measurement["packages"] = json.loads((SOURCES / "package.json").read_text(encoding="utf-8"))["dependencies"]
    measurement["stops"] = {
        f"{interval} ms": {
            library: asdict(measure_stops(binary, library, interval, settings["seconds"], scripts[library], folder))
            for library in libraries
        }
        for interval in STOP_INTERVALS
    }
    saved.write_text(json.dumps(measurement) + "\n", encoding="utf-8")
    return measurement


def chosen(libraries: list[str]) -> list[str]:
    """These libraries, or all if there are none. Raises MachError if they cannot be measured here."""
    npm.check_node()
    if unknown := sorted(set(libraries) - set(LIBRARIES)):
        raise MachError(f"there is no library {', '.join(unknown)}; these are there: {', '.join(LIBRARIES)}")
    return libraries or list(LIBRARIES)


def bundle(libraries: list[str], folder: Path) -> dict[str, Path]:
    """Installs the libraries in the cache, and writes one script for each to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with cache_lock("bench real", name="real-lock"):
        installed = npm.install(SOURCES)
        process.run(["node", str(installed / "bundle.mjs"), str(folder), *libraries])
    return {library: folder / f"{library}.js" for library in libraries}


def visits(libraries: Iterable[str], settings: dict[str, int]) -> list[Visit]:
    """The pages that each browser visits in a round."""
    long, short = settings["long"], settings["short"]
    seconds = SECONDS_BEFORE + SECONDS_PER_LONG_SET * long + SECONDS_PER_SHORT_SET * short
    page = f"/real/real.html?long={long}&short={short}"
    return [Visit(page, seconds, ALLOWING_HEADERS, {"library": library}) for library in libraries]


def expected_seconds(of_libraries: list[Visit], browser_count: int, settings: dict[str, int]) -> float:
    of_round = sum(visit.seconds + SECONDS_PER_VISIT for visit in of_libraries)
    of_stops = len(of_libraries) * (SECONDS_BEFORE + settings["seconds"] + SECONDS_PER_VISIT)
    return settings["rounds"] * browser_count * of_round + len(STOP_INTERVALS) * of_stops


def measure_stops(binary: Path, library: str, interval: int, seconds: float, script: Path, folder: Path) -> Measurement:
    page = f"/real/real.html?interval={interval}&seconds={seconds}"
    bound = BOUND_FACTOR * (SECONDS_BEFORE + seconds) + BOUND_BEYOND
    saved = folder / f"stops-{library}-{interval}-ms.json"
    return measure(binary, page, {}, bound, saved, {SCRIPT: script.read_text})
