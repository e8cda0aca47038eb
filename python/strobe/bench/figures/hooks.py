# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""hooks: what our hooks cost a page that never profiles, compared with the shell around the crates as published."""

from collections.abc import Callable
from dataclasses import replace

from .posted import positive, reading
from .report import CONTROL_BAND, Limit, Report, Table, shown_ratio
from .side_by_side import (
    SideBySide,
    bounded,
    least_side_by_side,
    mean_side_by_side,
    read_rounds,
    side_by_side,
    was_counted,
)

TITLE = "What the hooks cost a page that never profiles"
# The browsers: ours, and twice the shell around the crates as published.
BROWSERS = STROBE, PUBLISHED, AGAIN = "Strobe", "Servo", "Servo again"
# Limits are ratios.
MOST_TIME = 1.005
MOST_KERNEL = 1.03
MOST_LOAD = 1.03
MOST_INSTRUCTIONS = 1.003
MOST_MEMORY = 1.01
# The band for counts, whose limits are closer to 1.
COUNTED_BAND = 0.002
# The band for a single kernel and for a load, whose noise is larger than that of the mean of all kernels.
ROUGH_BAND = 0.03


def bounded_time(what: str, figure: SideBySide, most: float, band: float) -> Limit:
    """Too noisy also if the standard error of the control over the rounds is not within the band."""
    return replace(bounded(what, figure, most, band, STROBE), control_means=(figure.control, 1 + figure.error))


def _worst_time(kernels: dict[str, SideBySide]) -> Limit:
    """The worst kernel is the noisiest one if the controls of any are off."""
    worst = max(kernels, key=lambda name: kernels[name].ratio)
    limit = bounded_time("kernels, worst time", kernels[worst], MOST_KERNEL, ROUGH_BAND)
    of_all = tuple(mean for kernel in kernels.values() for mean in (kernel.control, 1 + kernel.error))
    return replace(limit, values={STROBE: f"{shown_ratio(kernels[worst].ratio)} ({worst})"}, control_means=of_all)


def report(measurement: dict) -> Report:
    """Compares Strobe with the shell around the crates as published. The control is that shell again."""
    strobe, servo = measurement["browsers"]
    posted = strobe["results"] + servo["results"]
    with reading("hooks", f"{strobe['name']} or {servo['name']}"):
        names = [kernel["name"] for kernel in posted[0]["kernels"]]

        def times(index: int) -> Callable[[dict], list]:
            return lambda result: result["kernels"][index]["milliseconds"]

        def figure(page: str, key: str) -> SideBySide:
            return side_by_side(read_rounds(posted, page, False, lambda result: [result[key]]), BROWSERS)

        def counted(page: str, key: str) -> SideBySide:
            return least_side_by_side(read_rounds(posted, page, True, lambda result: [result[key]]), BROWSERS)

        kernels = {
            name: side_by_side(read_rounds(posted, "kernels", False, times(index)), BROWSERS)
            for index, name in enumerate(names)
        }
        mean = mean_side_by_side(kernels.values())
        load = side_by_side(read_rounds(posted, "load", False, lambda result: result["milliseconds"]), BROWSERS)
        memory = {
            "peak memory with the kernels": figure("kernels", "peakMemory"),
            "peak memory with the loads": figure("load", "peakMemory"),
            "memory in use after the loads": figure("load", "memory"),
        }
        instructions = {
            "instructions of the engine, kernels": counted("kernels", "instructions"),
            "instructions of the engine, load": counted("load", "instructions"),
            "instructions of documents, kernels": counted("kernels", "documentInstructions"),
            "instructions of documents, load": counted("load", "documentInstructions"),
        }
        loads = [result for result in posted if result["page"] == "load" and not was_counted(result)]
        [script_count] = {positive(result["scripts"]) for result in loads}
        sizes = [positive(browser["bytes"]) for browser in (strobe, servo)]
    result = Report()
    rows = [["kernel", "Servo, ms", "Servo again/Servo", "Strobe/Servo"]]
    rows += [[name, f"{of_kernel.reference:.1f}", *of_kernel.cells()] for name, of_kernel in kernels.items()]
    rows.append(["geometric mean", "", *mean.cells()])
    result.tables.append(Table(rows, "Time of each kernel: medians of the rounds, the least round and the greatest"))
    rows = [["what", "Servo", "Servo again/Servo", "Strobe/Servo"]]
    rows.append(["time of a load", f"{load.reference:.0f} ms", *load.cells()])
    rows += [[what, f"{of_memory.reference / 1e6:.1f} MB", *of_memory.cells()] for what, of_memory in memory.items()]
    rows += [
        [what, f"{of_count.reference / 1e6:.0f} million", *of_count.cells()] for what, of_count in instructions.items()
    ]
    rows.append(["size of the program", f"{sizes[1] / 1e6:.1f} MB", "", shown_ratio(sizes[0] / sizes[1])])
    result.tables.append(Table(rows, "Loads, memory, instructions (the least of the rounds), and the program's file"))
    result.limits += [
        bounded_time("kernels, geometric mean of the time", mean, MOST_TIME, CONTROL_BAND),
        _worst_time(kernels),
        bounded_time("time of a load", load, MOST_LOAD, ROUGH_BAND),
        *(bounded(what, of, MOST_INSTRUCTIONS, COUNTED_BAND, STROBE) for what, of in instructions.items()),
        *(bounded(what, of, MOST_MEMORY, CONTROL_BAND, STROBE) for what, of in memory.items()),
    ]
    result.add_control("of the kernels' time", PUBLISHED, mean.control)
    result.add_control("of the time of a load", PUBLISHED, load.control, ROUGH_BAND)
    for what, of in instructions.items():
        result.add_control(f"of the {what}", PUBLISHED, of.control, COUNTED_BAND)
    for what, of in memory.items():
        result.add_control(f"of the {what}", PUBLISHED, of.control)
    in_use = memory["memory in use after the loads"]
    more = (in_use.ratio - 1) * in_use.reference / script_count
    result.notes.append(
        f"after {script_count:.0f} scripts Strobe has {more:+.0f} bytes more in use for each, of which the control is "
        f"good to ±{in_use.noise * in_use.reference / script_count:.0f}"
    )
    return result
