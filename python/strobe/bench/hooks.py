# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach bench hooks: what our hooks cost a page that never profiles, compared with the crates as published.

Each page is open in three browsers at once, which take turns: Strobe, the same shell around the published crates, and
that shell again, which is the control. No page has a header that allows profiling.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from .. import build
from ..errors import MachError
from ..setup import toolchain
from . import browsers
from .browsers import Browser
from .figures.hooks import AGAIN, PUBLISHED, STROBE
from .generated_page import generated_page
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

# As in pairs.js and load.js.
WARM_UP_PAIRS = 1
WARM_UP_LOADS = 1
# As in kernels.js: a turn is two runs, whose length is set in pairs.js.
SECONDS_PER_TURN = 0.1
SECONDS_PER_LOAD = 1.0
CALIBRATION_SECONDS = 10.0

# Under valgrind, code is compiled on the thread that asks for it, and one thread does style and layout. With more
# threads, their timing would determine how long slower code is used, and which styles are shared.
COUNTED_PREFERENCES = {"js_offthread_compilation_enabled": "false", "layout_threads": "1"}
COUNTED_PAIRS = 1
COUNTED_LOADS = 1


def hooks(release: bool, base_binary: Path | None, settings: dict[str, int], saved: Path) -> dict:
    """Builds both browsers, unless `base_binary` names the one around the published crates, and measures them."""
    # This is checked first, because the builds take longer to fail.
    toolchain.valgrind()
    strobe, servo = build.build_both(base_binary, release)
    return measure(strobe, servo, settings, saved)


def measure(strobe: Path, servo: Path, settings: dict[str, int], saved: Path) -> dict:
    """`settings` are the numbers of rounds, of pairs and loads in each, and of rounds in which valgrind counts."""
    settings = {**settings, "counts": min(settings["counts"], settings["rounds"])}
    timed = variants(browsers.strobe(strobe), browsers.servo(servo))
    counted = variants(
        browsers.counted(browsers.strobe(strobe, COUNTED_PREFERENCES)),
        browsers.counted(browsers.servo(servo, COUNTED_PREFERENCES)),
    )
    saved.parent.mkdir(parents=True, exist_ok=True)
    units = calibrate(timed[PUBLISHED], saved.with_name(f"{saved.stem}-units.log"))
    pages = visits(units, settings["pairs"], settings["loads"])
    counted_pages = visits(units, COUNTED_PAIRS, COUNTED_LOADS, COUNTING_FACTOR)
    shown = ", ".join(f"{number} {name}" for name, number in settings.items())
    described = [timed[name].described() for name in (STROBE, PUBLISHED)]
    names = " and ".join(f"{browser['name']} {browser['version']}" for browser in described)
    builds = " and ".join(dict.fromkeys(browser["build"] for browser in described))
    seconds = duration(expected_seconds(pages, counted_pages, settings))
    print(f"hooks: {shown}, in {names}, the {builds} build; takes about {seconds}", flush=True)

    def measure_round(number: int, log: Path) -> list[list[dict]]:
        results = [result for page in pages for result in visit_all(timed, page, log, measure_together)]
        if number < settings["counts"]:
            results += [result for page in counted_pages for result in visit_all(counted, page, log, measure_apart)]
        check_browsers(results)
        ours = [result for result in results if result["variant"] == STROBE]
        return [ours, [result for result in results if result["variant"] != STROBE]]

    for browser, binary in zip(described, (strobe, servo), strict=True):
        browser["bytes"] = binary.stat().st_size
    return measure_rounds("hooks", described, settings, saved, measure_round)


def variants(strobe: Browser, servo: Browser) -> dict[str, Browser]:
    return {STROBE: strobe, PUBLISHED: servo, AGAIN: servo}


def visits(units: list[int], pairs: int, loads: int, factor: float = 1.0) -> list[Visit]:
    """The pages that each browser opens in a round. The last turn of each is for its end."""
    turns = (WARM_UP_PAIRS + pairs) * len(units) + 1
    kernels = f"/hooks/kernels.html?pairs={pairs}&units={','.join(map(str, units))}"
    load_seconds = factor * SECONDS_PER_LOAD * (WARM_UP_LOADS + loads)
    return [
        Visit(kernels, factor * SECONDS_PER_TURN * turns, {}, {"page": "kernels"}, turns),
        Visit(f"/hooks/load.html?loads={loads}", load_seconds, {}, {"page": "load"}, loads + 1),
    ]


def expected_seconds(pages: list[Visit], counted_pages: list[Visit], settings: dict[str, int]) -> float:
    # The three take turns, or are counted one after the other, so their times add up.
    of_round = sum(3 * page.seconds + SECONDS_PER_VISIT for page in pages)
    of_count = sum(3 * page.seconds for page in counted_pages)
    return settings["rounds"] * of_round + settings["counts"] * of_count


def visit_all(
    of_variant: dict[str, Browser],
    page: Visit,
    log: Path,
    measure_visits: Callable[[list[tuple[Browser, Visit]], Path, Callable[[], Generated]], list[dict]],
) -> list[dict]:
    """The page's result in each browser."""
    # The browsers wait for each other.
    page = replace(page, seconds=len(of_variant) * page.seconds)
    members = [
        (browser, replace(page, labels={**page.labels, "variant": variant})) for variant, browser in of_variant.items()
    ]
    return measure_visits(members, log, generated_page)


def calibrate(browser: Browser, log: Path) -> list[int]:
    """How many units of each kernel make a run. All browsers run the same number, so that they do the same work."""
    log.write_text("", encoding="utf-8")
    visit = Visit("/hooks/kernels.html", CALIBRATION_SECONDS, {}, {})
    [result] = measure_together([(browser, visit)], log, Generated)
    units = result.get("units")
    if not isinstance(units, list) or not units or not all(type(count) is int and count > 0 for count in units):
        raise MachError(f"{visit.page} in {browser.name} gave {units!r} as the units of the kernels")
    return units


def check_browsers(results: list[dict]):
    """Raises MachError unless only Strobe has profilers, because two browsers with hooks would cost the same."""
    for result in results:
        if result["hasProfiler"] != (result["variant"] == STROBE):
            what = "has a Profiler: it has our hooks" if result["hasProfiler"] else "has no Profiler: it has no hooks"
            raise MachError(f"the browser that should be {result['variant']} {what}")
