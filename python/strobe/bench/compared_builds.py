# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach bench compare: whether a build is no worse than the build of the commit before.

Each page is opened in three browsers: the new build, the old one, and the old one again, which is the control.
"""

import hashlib
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from .. import npm
from ..errors import MachError
from ..run import shown_from_here
from ..setup import toolchain
from . import accuracy, browsers, hooks, real, stops, visits
from .browsers import Browser
from .compared_figures import COUNTED, NEW, OLD, OLD_AGAIN, VARIANTS, compare_report, page_of_chain, part_report
from .figures.report import judge
from .hooks import visit_all
from .measurement import Measurement
from .visits import SECONDS_PER_VISIT, Generated, Visit, duration, measure_apart, measure_together

# What is compared unless parts are named, in this order. Each is a suite whose pages are visited.
PARTS = ("overhead", "stops", "accuracy", "trace", "hooks")
# These take so long, or need so much, that they must be asked for.
LIBRARIES = "real"
# In a round and for each depth: short visits in turns, because stops differ from one start of a browser to the next.
STOP_VISITS = 3
# As in stops.js and accuracy.js: what a visit takes beyond its seconds, and how many times its seconds it takes.
STOP_WARM_UP = 1.0
ACCURACY_FACTOR = 3.7
# The browsers that are not open at once come in these orders, one after the other. In each three of them, and in all
# six, each browser comes as often at each place.
ORDERS = (
    (NEW, OLD, OLD_AGAIN),
    (OLD, OLD_AGAIN, NEW),
    (OLD_AGAIN, NEW, OLD),
    (OLD_AGAIN, OLD, NEW),
    (NEW, OLD_AGAIN, OLD),
    (OLD, NEW, OLD_AGAIN),
)


def check(old: Path) -> Path:
    """The path of the old build, or MachError if it is none."""
    if not old.is_file() or not os.access(old, os.X_OK):
        raise MachError(f"--old: {old}: no such program")
    return old.resolve()


def chosen(parts: list[str], with_libraries: bool, is_counted: bool) -> list[str]:
    """The parts in their order. Raises MachError if they cannot be measured here."""
    if unknown := sorted(set(parts) - set(PARTS)):
        raise MachError(f"there is no part {', '.join(unknown)}; these are there: {', '.join(PARTS)}")
    found = [part for part in PARTS if part in parts or not parts]
    if with_libraries:
        npm.check_node()
        found.append(LIBRARIES)
    if is_counted:
        toolchain.valgrind()
        found.append(COUNTED)
    return found


@dataclass(frozen=True)
class Comparison:
    """The two builds, and what their measurement needs."""

    # The program of each browser.
    binaries: dict[str, Path]
    # Numbers of rounds, of what each page does in a round, and of seconds.
    settings: dict[str, int]
    # The pages that are opened as in the suite of their name: the browser's preferences, and the visit.
    pages: dict[str, tuple[dict[str, str], Visit]]
    # It gets what the sampler logs, visit by visit.
    folder: Path
    # The bundled libraries, if they are compared.
    scripts: dict[str, Path]
    # How many units of each kernel of `hooks` make a run, if that is compared.
    units: list[int]

    def browsers(self, preferences: dict[str, str] | None = None) -> dict[str, Browser]:
        return {
            variant: replace(browsers.strobe(binary, preferences), name=variant)
            for variant, binary in self.binaries.items()
        }

    def described(self) -> list[dict]:
        of_variant = self.browsers()
        return [{**of_variant[name].described(), "sha256": _digest(self.binaries[name])} for name in (NEW, OLD)]

    def measure(self, part: str, number: int, log: Path) -> list[dict]:
        """The results of a part in a round, each with its variant and its page."""
        if part == "stops":
            return [result for chain in stops.CHAINS for result in self.measure_chain(chain, number)]
        if part == LIBRARIES:
            return [result for library in self.scripts for result in self.measure_library(library, number)]
        if part == "accuracy":
            return self.measure_accuracy(number)
        if part == "hooks":
            of_variant = self.browsers()
            return [
                result for page in self.hooks_pages() for result in visit_all(of_variant, page, log, measure_together)
            ]
        if part == COUNTED:
            of_variant = self.browsers(hooks.COUNTED_PREFERENCES)
            of_variant = {variant: browsers.counted(browser) for variant, browser in of_variant.items()}
            return [
                result for page in self.counted_pages() for result in visit_all(of_variant, page, log, measure_apart)
            ]
        preferences, visit = self.pages[part]
        of_variant = self.browsers(preferences)
        members = [(of_variant[variant], _labelled(visit, part, variant)) for variant in order(number)]
        return measure_apart(members, log, Generated)

    def measure_chain(self, chain: stops.Chain, number: int) -> list[dict]:
        def measure(variant: str, saved: Path) -> Measurement:
            measured = stops.measure_chain(self.binaries[variant], chain, self.settings["stop seconds"], saved)
            _check(f"stops at depth {chain.depth} in {variant}", measured, stops.faults(chain, measured))
            return measured

        return self._in_turns(page_of_chain(chain), STOP_VISITS, number, measure)

    def measure_library(self, library: str, number: int) -> list[dict]:
        results = []
        for interval in real.STOP_INTERVALS:
            page = f"{library} at {interval} ms"

            def measure(variant: str, saved: Path, page=page, interval=interval) -> Measurement:
                seconds, script = self.settings["stop seconds"], self.scripts[library]
                folder = saved.with_suffix("")
                measured = real.measure_stops(self.binaries[variant], library, interval, seconds, script, folder)
                missing = [] if measured.stops else ["the sampler logged no stop"]
                _check(f"stops of {page} in {variant}", measured, missing)
                return measured

            results += self._in_turns(page, 1, number, measure)
        return results

    def _in_turns(self, page: str, count: int, number: int, measure: Callable[[str, Path], Measurement]) -> list[dict]:
        """A result for each browser, with the stops of some visits of each, in turns."""
        measured: dict[str, list[dict]] = {variant: [] for variant in VARIANTS}
        for visit in range(count):
            for variant in order(count * number + visit):
                saved = self.folder / f"{page}, {variant}, {number + 1}-{visit + 1}.json"
                measured[variant].append(asdict(measure(variant, saved).stops))
        return [{"page": page, "variant": variant, "stops": of} for variant, of in measured.items()]

    def measure_accuracy(self, number: int) -> list[dict]:
        results = []
        for variant in order(number):
            saved = self.folder / f"accuracy, {variant}, {number + 1}.json"
            measured = accuracy.measure_page(self.binaries[variant], self.settings["accuracy seconds"], saved)
            _check(f"accuracy in {variant}", measured, [])
            results.append({"page": "accuracy", "variant": variant, **_counts(measured.result)})
        return results

    def hooks_pages(self) -> list[Visit]:
        return hooks.visits(self.units, self.settings["pairs"], self.settings["loads"])

    def counted_pages(self) -> list[Visit]:
        return hooks.visits(self.units, hooks.COUNTED_PAIRS, hooks.COUNTED_LOADS, visits.COUNTING_FACTOR)

    def expected_seconds(self, parts: list[str]) -> float:
        """About how long a round takes."""
        settings, total = self.settings, 0.0
        for part in parts:
            if part == "stops":
                visit = settings["stop seconds"] + STOP_WARM_UP + SECONDS_PER_VISIT
                total += len(stops.CHAINS) * STOP_VISITS * visit
            elif part == LIBRARIES:
                visit = real.SECONDS_BEFORE + settings["stop seconds"] + SECONDS_PER_VISIT
                total += len(real.LIBRARIES) * len(real.STOP_INTERVALS) * visit
            elif part == "accuracy":
                total += ACCURACY_FACTOR * settings["accuracy seconds"] + SECONDS_PER_VISIT
            elif part in ("hooks", COUNTED):
                pages = self.counted_pages() if part == COUNTED else self.hooks_pages()
                total += sum(page.seconds + SECONDS_PER_VISIT for page in pages)
            else:
                total += self.pages[part][1].seconds + SECONDS_PER_VISIT
        return len(VARIANTS) * total


def order(number: int) -> tuple[str, str, str]:
    """The order of the browsers in a round, or in a visit, with this number."""
    return ORDERS[number % len(ORDERS)]


def prepare(
    new: Path, old: Path, settings: dict[str, int], pages: dict[str, tuple[dict, Visit]], parts: list[str], saved: Path
) -> Comparison:
    """Makes what the parts need before their first round."""
    builds = {path.parent.name for path in (new, old)}
    if builds == {"debug", "release"}:
        raise MachError(f"{new} and {old} are not builds of the same kind; --release makes the new one a release build")
    folder = saved.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    scripts = real.bundle(list(real.LIBRARIES), folder / "scripts") if LIBRARIES in parts else {}
    needs_units = "hooks" in parts or COUNTED in parts
    units = hooks.calibrate(browsers.strobe(old), folder / "units.log") if needs_units else []
    settings = {**settings, "counts": min(settings["counts"], settings["rounds"])}
    return Comparison({NEW: new, OLD: old, OLD_AGAIN: old}, settings, pages, folder, scripts, units)


def compare(comparison: Comparison, parts: list[str], saved: Path) -> dict:
    """Measures the parts in each round, and then what is too noisy in more rounds. All is saved after each round."""
    settings, described = comparison.settings, comparison.described()
    timed = [part for part in parts if part != COUNTED]
    seconds = settings["rounds"] * comparison.expected_seconds(timed)
    if COUNTED in parts:
        seconds += settings["counts"] * comparison.expected_seconds([COUNTED])
    shown = ", ".join(f"{number} {name}" for name, number in settings.items())
    names = " and ".join(f"{browser['name']} ({browser['version']}, {browser['build']})" for browser in described)
    print(f"compare: {shown}, in {names}; takes about {duration(seconds)}", flush=True)
    load = os.getloadavg()[0]
    measurement, log = visits.begin("compare", described, settings, saved)
    measurement["load"] = load
    for number in range(max(settings["rounds"], settings["most rounds"])):
        of_round = timed
        if number >= settings["rounds"]:
            of_round = [part for part in timed if is_noisy(measurement, part)]
            if not of_round:
                break
        elif number < settings["counts"] and COUNTED in parts:
            of_round = [*timed, COUNTED]
        results = [{**result, "part": part} for part in of_round for result in comparison.measure(part, number, log)]
        of_new = [result for result in results if result["variant"] == NEW]
        of_old = [result for result in results if result["variant"] != NEW]
        visits.add_round(measurement, number, [of_new, of_old], saved)
        print(f"round {number + 1} is done: {', '.join(of_round)}", flush=True)
    return measurement


def is_noisy(measurement: dict, part: str) -> bool:
    return any(limit.verdict == "too noisy" for limit in part_report(measurement, part).limits)


def finish(measurement: dict, saved: Path):
    """Prints the report. Raises MachError unless it shows that the new build is no worse."""
    report = compare_report(measurement)
    print(f"\n{report.text()}\n\nThe figures are in {shown_from_here(saved)}")
    try:
        judge(report)
    except MachError as error:
        raise MachError(f"the new build is not shown to be no worse: {error}") from None


def _digest(program: Path) -> str:
    with program.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _labelled(visit: Visit, page: str, variant: str) -> Visit:
    return replace(visit, labels={**visit.labels, "page": page, "variant": variant})


def _check(what: str, measured: Measurement, faults: list[str]):
    """Raises MachError if a visit failed, because then there is nothing to compare."""
    if problems := [*measured.failures(), *faults]:
        raise MachError(f"{what}: {'; '.join(problems)}")


def _counts(result: dict) -> dict:
    """What the report needs of the result of accuracy.js, without the time of each sample."""
    splits = [{key: split[key] for key in ("name", "shares", "samples", "leaves")} for split in result["splits"]]
    busy = []
    for run in result["busy"]:
        apart = accuracy.spacing(run["timestamps"], run["interval"], run["milliseconds"])
        samples, wrong = len(run["timestamps"]), sum(run["wrong"].values())
        busy.append(
            {"name": run["name"], "interval": run["interval"], "samples": samples, "wrong": wrong, **asdict(apart)}
        )
    return {"splits": splits, "busy": busy}
