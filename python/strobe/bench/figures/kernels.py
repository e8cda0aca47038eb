# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Kernels that run in pairs: a reference, and what is compared with it."""

import statistics
from dataclasses import dataclass

from ...errors import MachError
from .posted import median_ratio, positive, reading
from .report import Limit, Report, Table, at_most, shown_ratio


@dataclass
class KernelFigures:
    """The kernels of one browser: medians over all pairs of all visits."""

    # In ms, by kernel.
    reference: dict[str, float]
    # By comparison and by kernel.
    ratios: dict[str, dict[str, float]]
    notes: list[str]

    def mean(self, comparison: str) -> float:
        return statistics.geometric_mean(self.ratios[comparison].values())

    def worst(self, comparison: str) -> tuple[str, float]:
        return max(self.ratios[comparison].items(), key=lambda item: item[1])

    def worst_cell(self, comparison: str) -> str:
        name, ratio = self.worst(comparison)
        return f"{shown_ratio(ratio)} ({name})"


def read_kernels(results: list[dict], member: str = "kernels") -> KernelFigures:
    pairs: dict[str, dict[str, list[dict]]] = {}
    for result in results:
        for kernel in result[member]:
            for comparison in kernel["comparisons"]:
                pairs.setdefault(comparison["name"], {}).setdefault(kernel["name"], []).extend(comparison["pairs"])
    reference, ratios = {}, {}
    for comparison, kernels in pairs.items():
        ratios[comparison] = {name: median_ratio(of_kernel) for name, of_kernel in kernels.items()}
        for name, of_kernel in kernels.items():
            reference.setdefault(name, statistics.median(pair["reference"] for pair in of_kernel))
    return KernelFigures(reference, ratios, _sampling_notes(results))


def _sampling_notes(results: list[dict]) -> list[str]:
    """Notes the true interval of each comparison. Raises MachError for profilers without samples."""
    notes = []
    for comparison in results[0]["comparisons"]:
        name = comparison["name"]
        same = [other for result in results for other in result["comparisons"] if other["name"] == name]
        for state in ("reference", "measured"):
            if not comparison[state]["profilers"]:
                continue
            if not all(other["traces"][state]["samplesWithStack"] for other in same):
                raise MachError(f"{name}: the profilers gave no sample with a stack")
        if comparison["measured"]["profilers"]:
            traces = [other["traces"]["measured"] for other in same]
            samples, with_stack = (sum(trace[key] for trace in traces) for key in ("samples", "samplesWithStack"))
            intervals = sorted({positive(trace["sampleInterval"]) for trace in traces})
            notes.append(
                f"{name}: true interval {', '.join(f'{interval:g}' for interval in intervals)} ms, {samples} samples, "
                f"{100 * with_stack / samples:.0f} % of them with a stack"
            )
    return notes


def kernel_report(
    measurement: dict, count: int, row: str = "kernel", member: str = "kernels"
) -> tuple[Report, dict[str, KernelFigures], list[str]]:
    """A row for each kernel, the figures by browser, and the names of the comparisons. The first one is the control.

    The kernels are in a member of each result, and a row is for one of what `row` says. Raises MachError unless there
    are `count` comparisons.
    """
    figures: dict[str, KernelFigures] = {}
    for browser in measurement["browsers"]:
        with reading(measurement["suite"], browser["name"]):
            figures[browser["name"]] = read_kernels(browser["results"], member)
    comparisons = list(next(iter(figures.values())).ratios)
    if len(comparisons) != count:
        names = ", ".join(comparisons)
        raise MachError(f"{measurement['suite']}: {len(comparisons)} comparisons instead of {count}: {names}")
    header, rows = [row], {}
    for name, of_browser in figures.items():
        if list(of_browser.ratios) != comparisons or not of_browser.reference:
            raise MachError(f"{measurement['suite']}: {name} has other comparisons than the first browser, or none")
        header += [f"{name}, ms", *comparisons]
        for kernel, milliseconds in of_browser.reference.items():
            cells = [shown_ratio(of_browser.ratios[comparison][kernel]) for comparison in comparisons]
            rows.setdefault(kernel, [kernel]).extend([f"{positive(milliseconds):.1f}", *cells])
        means = [shown_ratio(of_browser.mean(comparison)) for comparison in comparisons]
        rows.setdefault("geometric mean", ["geometric mean"]).extend(["", *means])
    means = rows.pop("geometric mean")
    result = Report([Table([header, *rows.values(), means], f"Time of each {row}, medians of the pairs' ratios")])
    for name, of_browser in figures.items():
        result.add_control(comparisons[0], name, of_browser.mean(comparisons[0]))
        result.notes += [f"{name}, {note}" for note in of_browser.notes]
    return result, figures, comparisons


def kernel_limits(
    figures: dict[str, KernelFigures], control: str, comparison: str, most: float | None, most_worst: float | None
) -> list[Limit]:
    ours = next(iter(figures.values()))
    limits = [
        Limit(
            f"{comparison}, geometric mean",
            {name: shown_ratio(of_browser.mean(comparison)) for name, of_browser in figures.items()},
            {name: shown_ratio(of_browser.mean(control)) for name, of_browser in figures.items()},
            "" if most is None else f"≤ {most:g}",
            None if most is None else at_most(ours.mean(comparison), most),
            (ours.mean(control),),
        )
    ]
    if most_worst is not None:
        limits.append(
            Limit(
                f"{comparison}, worst kernel",
                {name: of_browser.worst_cell(comparison) for name, of_browser in figures.items()},
                {name: of_browser.worst_cell(control) for name, of_browser in figures.items()},
                f"≤ {most_worst:g}",
                at_most(ours.worst(comparison)[1], most_worst),
                (ours.mean(control),),
            )
        )
    return limits


def processor_time(result: Report, measurement: dict, most: float | None) -> Limit:
    """The limit of the processor time. Adds what else is to be said of it."""
    ratios: dict[str, list[float]] = {}
    for browser in measurement["browsers"]:
        name = browser["name"]
        with reading(measurement["suite"], name):
            blocks: dict[str, list[dict]] = {}
            for posted in browser["results"]:
                for comparison in posted["processorTime"]:
                    blocks.setdefault(comparison["name"], []).extend(comparison["pairs"])
            of_control, of_measured = blocks.values()
            ratios[name] = [median_ratio(of_control), median_ratio(of_measured)]
            seconds = statistics.median(pair["reference"] for pair in of_control)
        result.add_control("of the processor time", name, ratios[name][0])
        result.notes.append(f"{name}: a block of kernels takes {seconds:.2f} s of processor time while off")
    control, ours = next(iter(ratios.values()))
    return Limit(
        "1 ms/off, processor time of all processes",
        {name: shown_ratio(pair[1]) for name, pair in ratios.items()},
        {name: shown_ratio(pair[0]) for name, pair in ratios.items()},
        "" if most is None else f"≤ {most:g}",
        None if most is None else at_most(ours, most),
        (control,),
    )
