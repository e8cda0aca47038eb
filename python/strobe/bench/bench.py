# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach bench: measures what profiling costs, as ratios within one page load, and whether samples are right."""

import argparse
from collections.abc import Callable
from pathlib import Path

from .. import build, paths
from ..errors import MachError
from ..run import shown_from_here
from ..server import ALLOWING_HEADERS
from . import browsers, compared_builds, performance_docs
from .accuracy import accuracy
from .browsers import Browser
from .busy import busy
from .figures import report
from .figures.report import judge
from .floor import floor
from .formats import formats
from .generated_script import Prepared, bundles, hot_functions
from .hooks import hooks
from .hostile import hostile
from .merge import merge
from .real import chosen, real
from .soak import soak
from .stops import stops
from .visits import (
    COUNTING_FACTOR,
    SECONDS_PER_VISIT,
    Generated,
    Visit,
    duration,
    measure_apart,
    measure_rounds,
    measure_together,
)
from .workers import workers

POLICY_BYTES = 5_000_000
# As in policy.html.
POLICY_PARTS = 10
# The others are compared with the first two, which are also each other's control.
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
# The page asks for the shortest interval, so that a long trace takes a short time.
TRACE_PREFERENCES = {"js_profiling_base_interval_us": "100"}


def bench(options: argparse.Namespace):
    """Runs the suite that the options of commands/bench.py name."""
    folder = paths.target_dir() / "bench"
    if options.suite == "docs":
        performance_docs.write(folder, options.suites)
        return
    saved = folder / f"{options.suite}.json"
    if options.suite == "hooks":
        settings = {name: getattr(options, name) for name in ("rounds", "pairs", "loads", "counts")}
        print_report(hooks(options.release, options.base_binary, settings, saved), saved)
        return
    if options.suite == "floor":
        names = ("rounds", "pairs", "blocks", "library pairs")
        settings = {name: getattr(options, name.replace(" ", "_")) for name in names}
        print_report(floor(options.release, settings, saved), saved)
        return
    if options.suite == "formats":
        formats(options.tool or build.tool(), options.old, options.rounds, saved)
        return
    if options.suite == "merge":
        settings = {name: getattr(options, name) for name in ("rounds", "sessions", "samples")}
        merge(options.tool or build.tool(), options.recording, settings, saved)
        return
    if options.suite == "compare":
        names = ("rounds", "most rounds", "pairs", "blocks", "loads", "stop seconds", "accuracy seconds", "counts")
        settings = {name: getattr(options, name.replace(" ", "_")) for name in names}
        # The old build and the tools are checked first, because a build takes longer to fail.
        old = compared_builds.check(options.old)
        parts = compared_builds.chosen(options.part, options.libraries, options.counts > 0)
        pages = {suite: (preferences_of(suite), visits_of(suite, settings)[0]) for suite in ("overhead", "trace")}
        new = build.find(options.release)
        comparison = compared_builds.prepare(new, old, settings, pages, parts, saved)
        compared_builds.finish(compared_builds.compare(comparison, parts, saved), saved)
        return
    # These are checked first, because a build takes longer to fail.
    other = browsers.chromium() if getattr(options, "vs", None) else None
    libraries = chosen(options.library) if options.suite == "real" else []
    binary = build.build(options.release)
    if options.suite == "soak":
        soak(binary, saved, options.minutes, options.base_interval_us)
    elif options.suite == "accuracy":
        accuracy(binary, saved, options.seconds)
    elif options.suite == "stops":
        stops(binary, saved, options.seconds)
    elif options.suite == "hostile":
        hostile(binary, saved, options.seconds, options.page)
    elif options.suite == "busy":
        busy([browsers.strobe(binary)] + ([other] if other else []), saved, options.seconds, options.rounds)
    elif options.suite == "workers":
        workers(binary, saved, options.seconds)
    elif options.suite == "real":
        settings = {name: getattr(options, name) for name in ("rounds", "long", "short", "seconds")}
        print_report(real(binary, other, settings, libraries, saved), saved)
    else:
        ours = browsers.strobe(binary, preferences_of(options.suite))
        measured = [ours, other] if other else [ours]
        names = ("rounds", "pairs", "blocks", "loads")
        settings = {name: getattr(options, name) for name in names if hasattr(options, name)}
        if options.suite == "instructions":
            compare(options.suite, [browsers.counted(ours)], settings, saved, measure_apart)
        else:
            compare(options.suite, measured, settings, saved)


def preferences_of(suite: str) -> dict[str, str]:
    """The preferences that Strobe has for the pages of a suite."""
    return TRACE_PREFERENCES if suite == "trace" else {}


def visits_of(suite: str, settings: dict[str, int]) -> list[Visit]:
    """The pages that each browser visits in a round."""
    if suite == "overhead":
        pairs, blocks = settings["pairs"], settings["blocks"]
        # A pair is two runs of 0.15 s. Nine kernels have three pairs each, after a warm-up. A block takes 2.3 s.
        seconds = 4 + 8.1 * (pairs + 1) + 4 * 2.3 * blocks
        return [Visit(f"/overhead.html?pairs={pairs}&blocks={blocks}", seconds, ALLOWING_HEADERS, {})]
    if suite == "scale":
        pairs = settings["pairs"]
        return [Visit(f"/scale/scale.html?pairs={pairs}", 4 + 8.5 * (pairs + 1), ALLOWING_HEADERS, {})]
    if suite in ("policy", "instructions"):
        page = f"/policy/policy.html?parts={POLICY_PARTS}&loads={settings['loads']}"
        loads = settings["loads"]
        seconds = 1.2 * (loads + 1)
        # The pages take turns, or are counted one after the other.
        seconds *= len(POLICIES) * (COUNTING_FACTOR if suite == "instructions" else 1)
        return [Visit(page, seconds, headers, {"variant": variant}, loads) for variant, headers in POLICIES.items()]
    if suite == "trace":
        # This is done for each format, with and without samples.
        return [Visit(f"/trace/trace.html?samples={TRACE_SAMPLES}", 46.0, ALLOWING_HEADERS, {})]
    if suite == "start":
        return [Visit(f"/start/start.html?seconds={WARM_UP_SECONDS:g}", WARM_UP_SECONDS + 1, ALLOWING_HEADERS, {})]
    raise MachError(f"there is no suite {suite}")


def compare(
    suite: str,
    measured: list[Browser],
    settings: dict[str, int],
    saved: Path,
    measure: Callable[[list[tuple[Browser, Visit]], Path, Callable[[], Generated]], list[dict]] = measure_together,
):
    """Measures each page in each browser, round by round, saves the results, and prints a report."""
    visits = visits_of(suite, settings)
    seconds = settings["rounds"] * len(measured) * (max(visit.seconds for visit in visits) + SECONDS_PER_VISIT)
    names = " and ".join(f"{browser.name} {browser.version}" for browser in measured)
    shown = ", ".join(f"{number} {name}" for name, number in settings.items())
    print(f"{suite}: {shown}, in {names}, the {measured[0].build} build; takes about {duration(seconds)}", flush=True)

    def measure_round(number: int, log: Path) -> list[list[dict]]:
        results = {}
        # The browsers take turns in being first, so that any drift affects both.
        for index in sorted(range(len(measured)), reverse=number % 2 == 1):
            results[index] = measure([(measured[index], visit) for visit in visits], log, generated_scripts)
        return [results[index] for index in range(len(measured))]

    described = [browser.described() for browser in measured]
    print_report(measure_rounds(suite, described, settings, saved, measure_round), saved)


def print_report(measurement: dict, saved: Path):
    """Raises MachError unless every limit is met."""
    suite = measurement["suite"]
    found = report(measurement)
    print(f"\n{found.text()}\n\nThe figures are in {shown_from_here(saved)}; ", end="")
    print(f"`./mach bench docs {suite}` puts them into docs/figures/")
    judge(found)


def generated_scripts() -> Generated:
    """The same texts for each page. A page gets no text twice."""
    texts = Prepared(bundles(POLICY_BYTES // POLICY_PARTS))
    files = {"/generated/policy.js": texts, "/generated/hot.js": hot_functions(HOT_FUNCTIONS)}
    # Each part needs one text when the page loads, and one when as much script is run by itself.
    return Generated(files, lambda: texts.prepare(2 * POLICY_PARTS))
