# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The results of ./mach bench: tables of ratios, and limits.

A measurement has `suite`, `settings`, `machine`, `when` and `browsers`. Each browser has `name`, `version`, `build` and
`results`, the posts of its pages in order. Ours is the first browser. All pairs of a browser count alike, in whichever
visit they were measured.
"""

import math
import statistics
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from ..errors import MachError
from ..table import text_table
from . import confidence
from .machine import MOST_LOAD, noise_of

# How far the geometric mean of a control may be from 1.
CONTROL_BAND = 0.005
# Limits are ratios, unless a unit is given.
MOST_AT_10_MS = 1.01
MOST_OVER_OTHER = 0.002
MOST_KERNEL_AT_10_MS = 1.03
MOST_AT_1_MS = 1.015
MOST_KERNEL_AT_1_MS = 1.06
MOST_PROCESSOR_TIME = 1.03
POLICY_BAND = 0.01
TRACE_FORMATS = ("default", "json-gzip")
# In ms.
MOST_STOP, MOST_BLOCK = 20.0, 8.0
MOST_GZIP_STOP, MOST_GZIP_BLOCK = 120.0, 1.0
MOST_BYTES_PER_SAMPLE = 20.0
MOST_OF_MANY = 1.2
LEAST_AT_ONCE = 100
MOST_CREATION = 5.0  # ms
MOST_SLOWER_AFTER = 1.02
MOST_TIME_OF_HOOKS = 1.005
MOST_KERNEL_OF_HOOKS = 1.03
MOST_LOAD_OF_HOOKS = 1.03
MOST_INSTRUCTIONS_OF_HOOKS = 1.003
MOST_MEMORY_OF_HOOKS = 1.01
# The band for counts, whose limits are closer to 1.
COUNTED_BAND = 0.002
# The band for a single kernel and for a load, whose noise is larger than that of the mean of all kernels.
ROUGH_BAND = 0.03
# A time in ms means nothing if its control, which should be near 0, is more than this share of its limit.
CONTROL_SHARE = 0.5
MOST_REAL_OVER_OTHER = 0.002
MOST_REAL_AT_1_MS = 1.02
MOST_START = 0.2  # ms
# By interval: the limits of the median and of the 99th percentile, in µs.
MOST_REAL_STOPS = {"1 ms": (4.0, 25.0), "10 ms": (10.0, 60.0)}
# The states of a library's sessions: see real.js.
OFF, OFF_AGAIN, ON = "off", "off again", ("10 ms", "1 ms")
# Members of StopDurations.
STOP_KEYS = ("median", "percentile_99", "longest")
# The browsers of `hooks`: ours, and twice the shell around the crates as published.
STROBE, PUBLISHED, AGAIN = "Strobe", "Servo", "Servo again"


@dataclass(frozen=True)
class Table:
    # The first row is the header, and the first column names each row.
    rows: list[list[str]]
    caption: str


@dataclass(frozen=True)
class Limit:
    what: str
    # By browser, each with its control. They are texts, because they have units and names.
    values: dict[str, str]
    controls: dict[str, str]
    wanted: str
    # None if there is nothing to compare with.
    met: bool | None
    # The ratios of the control on which the figure depends, and how far from 1 they may be.
    control_means: tuple[float, ...] = ()
    band: float = CONTROL_BAND
    # Whether something else than such a ratio shows that the figure means nothing.
    is_noisy: bool = False

    @property
    def verdict(self) -> str:
        if self.is_noisy or not all(_in_band(mean, self.band) for mean in self.control_means):
            return "too noisy"
        return {True: "met", False: "missed", None: "not compared"}[self.met]


@dataclass
class Report:
    tables: list[Table] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_control(self, what: str, browser: str, mean: float, band: float = CONTROL_BAND):
        """Notes a control that is too far from 1, because the figures beside it are as uncertain."""
        if not _in_band(mean, band):
            self.notes.append(
                f"{browser}: the control {what} is {mean:.3f}, not within {100 * band:g}% of 1: the figures beside "
                "it are as uncertain; measure more rounds, on an idle machine"
            )

    def limit_table(self) -> Table:
        browsers = list(dict.fromkeys(name for limit in self.limits for name in limit.values))
        header = ["limit", *(cell for name in browsers for cell in (name, "control")), "wanted", ""]
        rows = [
            [
                limit.what,
                *(cell for name in browsers for cell in (limit.values.get(name, ""), limit.controls.get(name, ""))),
                limit.wanted,
                limit.verdict,
            ]
            for limit in self.limits
        ]
        return Table([header, *rows], "What is wanted")

    def text(self) -> str:
        tables = (*self.tables, self.limit_table())
        parts = [f"{table.caption}:\n{text_table(table.rows, left=(0,))}" for table in tables]
        return "\n\n".join([*parts, "\n".join(self.notes)]).rstrip()


def judge(report: Report):
    """Raises MachError unless every limit is shown to be met, as far as there is something to compare with."""
    missed = [limit for limit in report.limits if limit.verdict == "missed"]
    noisy = [limit for limit in report.limits if limit.verdict == "too noisy"]
    if not missed and not noisy:
        return
    lines = [f"{len(missed)} of the limits missed, {len(noisy)} too noisy:"]
    # The first browser is ours.
    lines += [f"{limit.what}: {_first(limit.values)}, wanted {limit.wanted}" for limit in missed]
    for limit in noisy:
        control = f", the control is {_first(limit.controls)}" if limit.controls else f": {_first(limit.values)}"
        lines.append(f"{limit.what}: too noisy{control}")
    raise MachError("\n  ".join(lines))


def _first(cells: dict[str, str]) -> str:
    return next(iter(cells.values()), "")


def _in_band(mean: float, band: float) -> bool:
    return _at_most(abs(mean - 1), band)


def report(measurement: dict) -> Report:
    """Raises MachError with the place if the measurement is not what the suite's pages post."""
    suite = measurement.get("suite")
    if suite not in REPORTS:
        raise MachError(f"the measurement is of the suite {suite!r}, which has no report")
    names = [browser["name"] for browser in measurement["browsers"]]
    if len(set(names)) != len(names):
        raise MachError(f"{suite}: two browsers have the same name: {', '.join(names)}")
    for browser in measurement["browsers"]:
        if not browser["results"]:
            raise MachError(f"{suite}: {browser['name']} has no results")
    return REPORTS[suite](measurement)


@contextmanager
def reading(suite: str, browser: str):
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise MachError(
            f"{suite}: {browser} posted a result of the wrong form: {type(error).__name__}: {error}"
        ) from None


def _positive(value) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        raise ValueError(f"{value!r} is not a positive number")
    return value


def _amount(value) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise ValueError(f"{value!r} is not a number from 0")
    return value


def _median_ratio(pairs: Iterable[dict]) -> float:
    return statistics.median(_positive(pair["measured"]) / _positive(pair["reference"]) for pair in pairs)


def _ratio(value: float) -> str:
    return f"{value:.3f}"


def _at_most(value: float, most: float) -> bool:
    # A ratio is compared as it is shown.
    return round(value, 3) <= most


def _by_browser(names: Iterable[str], cells: Iterable[str]) -> dict[str, str]:
    return dict(zip(names, cells, strict=True))


# Kernels


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
        return f"{_ratio(ratio)} ({name})"


def read_kernels(results: list[dict], member: str = "kernels") -> KernelFigures:
    pairs: dict[str, dict[str, list[dict]]] = {}
    for result in results:
        for kernel in result[member]:
            for comparison in kernel["comparisons"]:
                pairs.setdefault(comparison["name"], {}).setdefault(kernel["name"], []).extend(comparison["pairs"])
    reference, ratios = {}, {}
    for comparison, kernels in pairs.items():
        ratios[comparison] = {name: _median_ratio(of_kernel) for name, of_kernel in kernels.items()}
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
            intervals = sorted({_positive(trace["sampleInterval"]) for trace in traces})
            notes.append(
                f"{name}: true interval {', '.join(f'{interval:g}' for interval in intervals)} ms, {samples} samples, "
                f"{100 * with_stack / samples:.0f} % of them with a stack"
            )
    return notes


def _kernel_report(
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
            cells = [_ratio(of_browser.ratios[comparison][kernel]) for comparison in comparisons]
            rows.setdefault(kernel, [kernel]).extend([f"{_positive(milliseconds):.1f}", *cells])
        means = [_ratio(of_browser.mean(comparison)) for comparison in comparisons]
        rows.setdefault("geometric mean", ["geometric mean"]).extend(["", *means])
    means = rows.pop("geometric mean")
    result = Report([Table([header, *rows.values(), means], f"Time of each {row}, medians of the pairs' ratios")])
    for name, of_browser in figures.items():
        result.add_control(comparisons[0], name, of_browser.mean(comparisons[0]))
        result.notes += [f"{name}, {note}" for note in of_browser.notes]
    return result, figures, comparisons


def _kernel_limits(
    figures: dict[str, KernelFigures], control: str, comparison: str, most: float | None, most_worst: float | None
) -> list[Limit]:
    ours = next(iter(figures.values()))
    limits = [
        Limit(
            f"{comparison}, geometric mean",
            {name: _ratio(of_browser.mean(comparison)) for name, of_browser in figures.items()},
            {name: _ratio(of_browser.mean(control)) for name, of_browser in figures.items()},
            "" if most is None else f"≤ {most:g}",
            None if most is None else _at_most(ours.mean(comparison), most),
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
                _at_most(ours.worst(comparison)[1], most_worst),
                (ours.mean(control),),
            )
        )
    return limits


def overhead_report(measurement: dict) -> Report:
    result, figures, (control, at_10, at_1) = _kernel_report(measurement, 3)
    result.limits += _kernel_limits(figures, control, at_10, MOST_AT_10_MS, MOST_KERNEL_AT_10_MS)
    means = [of_browser.mean(at_10) for of_browser in figures.values()]
    result.limits.append(
        Limit(
            f"{at_10}, beyond Chromium's",
            _by_browser(figures, [f"{means[0] - means[1]:+.3f}" if len(means) > 1 else "", *("" for _ in means[1:])]),
            {},
            f"≤ {MOST_OVER_OTHER:+g}",
            _at_most(means[0] - means[1], MOST_OVER_OTHER) if len(means) > 1 else None,
            tuple(of_browser.mean(control) for of_browser in figures.values()),
        )
    )
    result.limits += _kernel_limits(figures, control, at_1, MOST_AT_1_MS, MOST_KERNEL_AT_1_MS)
    result.limits.append(_processor_time(result, measurement, MOST_PROCESSOR_TIME))
    return result


def floor_report(measurement: dict) -> Report:
    """The same figures of a program whose handler of signals does nothing. Nothing is wanted of it."""
    result, figures, (control, *measured) = _kernel_report(measurement, 4)
    for comparison in measured:
        result.limits += _kernel_limits(figures, control, comparison, None, None)
    result.limits.append(_processor_time(result, measurement, None))
    libraries, figures, (control, *measured) = _kernel_report(measurement, 4, "library", "libraries")
    result.tables += libraries.tables
    for comparison in measured:
        limits = _kernel_limits(figures, control, comparison, None, None)
        result.limits += [replace(limit, what=f"{comparison}, libraries, geometric mean") for limit in limits]
    for name, of_browser in figures.items():
        result.add_control("of the libraries", name, of_browser.mean(control))
    return result


def _processor_time(result: Report, measurement: dict, most: float | None) -> Limit:
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
            ratios[name] = [_median_ratio(of_control), _median_ratio(of_measured)]
            seconds = statistics.median(pair["reference"] for pair in of_control)
        result.add_control("of the processor time", name, ratios[name][0])
        result.notes.append(f"{name}: a block of kernels takes {seconds:.2f} s of processor time while off")
    control, ours = next(iter(ratios.values()))
    return Limit(
        "1 ms/off, processor time of all processes",
        {name: _ratio(pair[1]) for name, pair in ratios.items()},
        {name: _ratio(pair[0]) for name, pair in ratios.items()},
        "" if most is None else f"≤ {most:g}",
        None if most is None else _at_most(ours, most),
        (control,),
    )


def scale_report(measurement: dict) -> Report:
    result, figures, (control, *measured) = _kernel_report(measurement, 3)
    for comparison in measured:
        result.limits += _kernel_limits(figures, control, comparison, MOST_OF_MANY, None)
    at_once: dict[str, int] = {}
    for browser in measurement["browsers"]:
        with reading("scale", browser["name"]):
            at_once[browser["name"]] = min(int(_positive(posted["atOnce"]["count"])) for posted in browser["results"])
            failure = browser["results"][0]["atOnce"]["failure"]
        most = at_once[browser["name"]]
        result.notes.append(f"{browser['name']}: one profiler more than {most}: {failure or 'none'}")
    result.limits.append(
        Limit(
            "profilers at once",
            {name: str(count) for name, count in at_once.items()},
            {},
            f"≥ {LEAST_AT_ONCE}",
            next(iter(at_once.values())) >= LEAST_AT_ONCE,
        )
    )
    return result


# Policies


def policy_report(measurement: dict) -> Report:
    """Compares each variant with the page without a header, load by load of a cycle.

    The others are compared with the mean of the variants "no header" and "no header again". The ratio of these two is
    the control.
    """
    result = Report()
    kinds = {"loadMs": "load", "scriptMs": "script"}
    # By kind of time, by variant and by browser.
    ratios: dict[str, dict[str, dict[str, float]]] = {kind: {} for kind in kinds}
    variants: list[str] = []
    rows: dict[str, list[str]] = {}
    header = ["header"]
    for browser in measurement["browsers"]:
        name = browser["name"]
        with reading("policy", name):
            # Loads at the same index belong to the same cycle, in all variants.
            loads: dict[str, list[dict]] = {}
            for posted in browser["results"]:
                loads.setdefault(posted["variant"], []).extend(posted["loads"])
            variants = list(loads)
            reference, control, *_ = variants
            header += [f"{name}, load", "script"]
            times = {
                variant: {kind: [_positive(load[kind]) for load in loads[variant]] for kind in kinds}
                for variant in variants
            }
            first = [f"{_trimmed(times[reference][kind], statistics.fmean):.0f} ms" for kind in kinds]
            rows.setdefault(reference, [reference]).extend(first)
            of_both = {}
            for kind in kinds:
                pairs = zip(times[reference][kind], times[control][kind], strict=True)
                of_both[kind] = [statistics.geometric_mean(pair) for pair in pairs]
            for variant in variants[1:]:
                compared_with = times[reference] if variant == control else of_both
                for kind in kinds:
                    both = zip(times[variant][kind], compared_with[kind], strict=True)
                    of_loads = [time / of_none for time, of_none in both]
                    ratio = _trimmed(of_loads, statistics.geometric_mean)
                    ratios[kind].setdefault(variant, {})[name] = ratio
                    error = _trimmed_error(of_loads)
                    rows.setdefault(variant, [variant]).append(f"{_ratio(ratio)} ± {_ratio(error)}")
    caption = "Pages with a policy header and no profiler, against one without, and the standard error of that"
    result.tables.append(Table([header, *rows.values()], caption))
    control, *allowing = variants[1:]
    for kind, shown in kinds.items():
        for name, ratio in ratios[kind][control].items():
            result.add_control(f"of the {shown} time", name, ratio)
        for variant in allowing:
            ours = next(iter(ratios[kind][variant].values()))
            result.limits.append(
                Limit(
                    f"{variant}, {shown} time",
                    {name: _ratio(ratio) for name, ratio in ratios[kind][variant].items()},
                    {name: _ratio(ratio) for name, ratio in ratios[kind][control].items()},
                    f"1 ± {POLICY_BAND:g}",
                    _at_most(abs(ours - 1), POLICY_BAND),
                    (next(iter(ratios[kind][control].values())),),
                )
            )
    return result


def instructions_report(measurement: dict) -> Report:
    """Compares the instructions of each variant with those of the page without a header. The lowest round counts."""
    [browser] = measurement["browsers"]
    name = browser["name"]
    with reading("instructions", name):
        least: dict[str, float] = {}
        for posted in browser["results"]:
            counted = _positive(posted["instructions"])
            least[posted["variant"]] = min(counted, least.get(posted["variant"], counted))
        reference, control, *allowing = least
    caption = "Instructions of the engine of a browser that loads a page with a policy header, and of one without"
    rows = [["header", f"{name}, millions", "ratio"]]
    rows.append([reference, f"{least[reference] / 1e6:.0f}", ""])
    ratios = {variant: least[variant] / least[reference] for variant in (control, *allowing)}
    rows += [[variant, f"{least[variant] / 1e6:.0f}", _ratio(ratio)] for variant, ratio in ratios.items()]
    result = Report([Table(rows, caption)])
    result.add_control("of the instructions", name, ratios[control])
    for variant in allowing:
        result.limits.append(
            Limit(
                f"{variant}, instructions",
                {name: _ratio(ratios[variant])},
                {name: _ratio(ratios[control])},
                f"1 ± {POLICY_BAND:g}",
                _at_most(abs(ratios[variant] - 1), POLICY_BAND),
                (ratios[control],),
            )
        )
    return result


def _trimmed(values: Iterable[float], average: Callable[[list[float]], float]) -> float:
    """The average of the values without the lowest tenth and the highest tenth."""
    return average(_trim(values)[0])


def _trim(values: Iterable[float]) -> tuple[list[float], int]:
    """The values in order, without the lowest tenth and the highest tenth, and the size of a tenth."""
    values = sorted(values)
    cut = len(values) // 10
    return values[cut : len(values) - cut], cut


def _trimmed_error(values: Iterable[float]) -> float:
    """The standard error of `_trimmed`: each outer tenth counts as the nearest of the other values."""
    kept, cut = _trim(values)
    moved = [kept[0]] * cut + kept + [kept[-1]] * cut
    count = len(moved)
    return statistics.stdev(moved) / (len(kept) / count) / math.sqrt(count) if count > 1 else math.nan


# Traces


def trace_report(measurement: dict) -> Report:
    result = Report()
    stops: dict[str, dict[str, list[dict]]] = {}
    # Bytes per sample in all, and in the second half of the trace, to which hardly any stack is new.
    grown: dict[str, float] = {}
    grown_later: dict[str, float] = {}
    times = ("stop(), ms", "longest block, ms", "control, ms")
    rows = [["browser, asked for", "samples", "frames", "stacks", "gives", *times]]
    for browser in measurement["browsers"]:
        name = browser["name"]
        with reading("trace", name):
            by_format = stops.setdefault(name, {})
            for posted in browser["results"]:
                for stop in posted["stops"]:
                    by_format.setdefault(stop["format"], []).append(stop)
            # They are stopped in any order.
            if sorted(by_format) != sorted(TRACE_FORMATS):
                raise ValueError(f"the formats are {list(by_format)}")
            growths, growths_later = zip(*map(growth_per_sample, browser["results"]))
            grown[name] = statistics.median(growths)
            grown_later[name] = statistics.median(growths_later)
            for form in TRACE_FORMATS:
                of_form = by_format[form]
                counted = of_form[0]
                rows.append(
                    [
                        f"{name}, {form}",
                        *("" if counted[key] is None else str(counted[key]) for key in ("samples", "frames", "stacks")),
                        counted["form"] if counted["bytes"] is None else f"{counted['form']}, {counted['bytes']} bytes",
                        *(f"{_median(of_form, key):.1f}" for key in ("milliseconds", "block", "controlBlock")),
                    ]
                )
            first = by_format["default"][0]
            result.notes.append(
                f"{name}: true interval {_positive(first['sampleInterval']):g} ms; about {grown[name]:.0f} bytes of "
                f"memory per sample with the tables of stacks and functions, and {grown_later[name]:.0f} in the second "
                "half, to which hardly any stack is new"
                # A browser may have allocated the memory for its buffers before.
                f"{'; below 0 is noise' if min(grown[name], grown_later[name]) < 0 else ''}"
            )
    result.tables.append(Table(rows, "Stopping a profiler with a long trace, medians"))
    ours = next(iter(stops))
    traces = {name: by_format["default"] for name, by_format in stops.items()}
    # Only a browser that knows the format gives a text.
    texts = {name: of["json-gzip"] for name, of in stops.items() if of["json-gzip"][0]["form"] == "gzip"}
    for what, key, of_browsers, most in (
        ("stop() of the trace", "milliseconds", traces, MOST_STOP),
        ("longest block of the trace", "block", traces, MOST_BLOCK),
        ("stop() of json-gzip", "milliseconds", texts, MOST_GZIP_STOP),
        ("longest block of json-gzip", "block", texts, MOST_GZIP_BLOCK),
    ):
        values = {name: _median(of_browser, key) for name, of_browser in of_browsers.items()}
        controls = {name: _median(of_browser, "controlBlock") for name, of_browser in of_browsers.items()}
        result.limits.append(
            Limit(
                what,
                {name: f"{value:.1f} ms" for name, value in values.items()},
                {name: f"{control:.1f} ms" for name, control in controls.items()},
                f"≤ {most:g} ms",
                ours in values and values[ours] <= most,
                is_noisy=controls.get(ours, 0.0) > most * CONTROL_SHARE,
            )
        )
    result.limits.append(
        Limit(
            "memory per sample without tables",
            {name: f"{value:.0f} bytes" for name, value in grown_later.items()},
            {},
            f"≤ {MOST_BYTES_PER_SAMPLE:g} bytes",
            grown_later[ours] <= MOST_BYTES_PER_SAMPLE,
            # No sample gives memory back.
            is_noisy=grown_later[ours] < 0,
        )
    )
    return result


def growth_per_sample(posted: dict) -> tuple[float, float]:
    """By how many bytes per sample the memory has grown, in all, and in the second half of the trace."""
    # Memory of a profiler that does not grow cannot be told from memory that the allocator keeps.
    held = posted["growth"] - posted["controlGrowth"]
    held_later = posted["secondGrowth"] - posted["controlSecondGrowth"]
    (trace,) = (stop for stop in posted["stops"] if stop["format"] == "default")
    samples = _positive(trace["samples"]) * len(posted["stops"])
    return held / samples, held_later / (samples / 2)


def _median(of: list[dict], key: str) -> float:
    return statistics.median(_amount(one[key]) for one in of)


# Starting


def start_report(measurement: dict) -> Report:
    result = Report()
    rows = [
        ["browser", "visits", "functions", "new Profiler(), ms", "longest block then, ms", "a sweep before, ms",
         "first sweep after, ms", "sweeps after/before", "a while later/before"]
    ]  # fmt: skip
    # By browser, for the measured step and for the control.
    created: dict[str, dict[str, float]] = {}
    speed: dict[str, dict[str, float]] = {}
    for browser in measurement["browsers"]:
        name = browser["name"]
        with reading("start", name):
            visits = browser["results"]
            if not all(visit["samplesWithStack"] for visit in visits):
                raise MachError(f"start: {name}: the profiler gave no sample with a stack")
            created[name], speed[name] = {}, {}
            for step, shown in (("control", f"{name}, control"), ("measured", name)):
                steps = [visit[step] for visit in visits]
                created[name][step] = _median(steps, "milliseconds")
                speed[name][step] = _speed(steps, "after")
                rows.append(
                    [
                        shown,
                        str(len(visits)),
                        str(visits[0]["functions"]),
                        f"{created[name][step]:.2f}",
                        f"{_median(steps, 'block'):.2f}",
                        f"{statistics.median(statistics.median(one['before']) for one in steps):.2f}",
                        f"{statistics.median(_positive(one['after'][0]) for one in steps):.2f}",
                        _ratio(speed[name][step]),
                        _ratio(_speed(steps, "later")),
                    ]
                )
            result.add_control("of the speed", name, speed[name]["control"])
    result.tables.append(Table(rows, "The first profiler of a page whose functions are compiled, medians"))
    ours = next(iter(created))
    result.limits += [
        Limit(
            "time of new Profiler()",
            {name: f"{of_step['measured']:.2f} ms" for name, of_step in created.items()},
            {name: f"{of_step['control']:.2f} ms" for name, of_step in created.items()},
            f"< {MOST_CREATION:g} ms",
            created[ours]["measured"] < MOST_CREATION,
            is_noisy=created[ours]["control"] > MOST_CREATION * CONTROL_SHARE,
        ),
        Limit(
            "time of the functions right after",
            {name: _ratio(of_step["measured"]) for name, of_step in speed.items()},
            {name: _ratio(of_step["control"]) for name, of_step in speed.items()},
            f"≤ {MOST_SLOWER_AFTER:g}",
            _at_most(speed[ours]["measured"], MOST_SLOWER_AFTER),
            (speed[ours]["control"],),
        ),
    ]
    return result


def _speed(steps: list[dict], key: str) -> float:
    """The median time of the sweeps, divided by that of the sweeps before the step."""
    return statistics.median(
        statistics.median(_positive(sweep) for sweep in step[key])
        / statistics.median(_positive(sweep) for sweep in step["before"])
        for step in steps
    )


# Hooks


@dataclass(frozen=True)
class SideBySide:
    """A figure that is measured in three browsers side by side, in each round.

    The ratios compare the first browser with the geometric mean of the other two, which are the same one twice. The
    controls compare these two.
    """

    reference: float
    ratio: float
    control: float
    # By round.
    ratios: list[float]
    controls: list[float]

    @property
    def noise(self) -> float:
        """How far from 1 the control was in its worst round."""
        return max(abs(control - 1) for control in self.controls)

    @property
    def error(self) -> float:
        """The standard error of the mean of the controls. One round says nothing of it."""
        count = len(self.controls)
        return statistics.stdev(self.controls) / math.sqrt(count) if count > 1 else math.inf

    def cells(self) -> list[str]:
        return [with_range(self.control, self.controls), with_range(self.ratio, self.ratios)]


# The measured values, by round and by variant. Values at the same index were measured in turns.
Rounds = list[dict[str, list[float]]]
# The names of the three browsers, in the order of SideBySide.
HOOKS = (STROBE, PUBLISHED, AGAIN)


def read_rounds(posted: list[dict], page: str, is_counted: bool, read: Callable[[dict], list]) -> Rounds:
    rounds: dict[int, dict[str, list[float]]] = {}
    for result in posted:
        if result["page"] == page and _is_counted(result) == is_counted:
            values = [_positive(value) for value in read(result)]
            rounds.setdefault(result["round"], {})[result["variant"]] = values
    if not rounds:
        raise ValueError(f"there is no result of the page {page}{', counted' if is_counted else ''}")
    return [rounds[number] for number in sorted(rounds)]


def _is_counted(result: dict) -> bool:
    """Whether it is the result of a visit under valgrind, whose times and memory mean nothing."""
    return "instructions" in result


def side_by_side(rounds: Rounds, variants: tuple[str, str, str] = HOOKS) -> SideBySide:
    """The medians over the rounds of the medians over the pairs of each round."""
    measured, reference, again = variants
    ratios, controls, of_reference = [], [], []
    for of_variant in rounds:
        both = _of_both(of_variant, variants)
        ratios.append(_median_of_ratios(of_variant[measured], both))
        controls.append(_median_of_ratios(of_variant[again], of_variant[reference]))
        of_reference.append(statistics.median(both))
    medians = (statistics.median(values) for values in (of_reference, ratios, controls))
    return SideBySide(*medians, ratios, controls)


def least_side_by_side(rounds: Rounds, variants: tuple[str, str, str] = HOOKS) -> SideBySide:
    """The figure for counts. The lowest round counts, because it has the least unrelated work."""
    figure = side_by_side(rounds, variants)
    least = {variant: [min(value for of in rounds for value in of[variant])] for variant in variants}
    [both] = _of_both(least, variants)
    [measured], [reference], [again] = least.values()
    return replace(figure, reference=both, ratio=measured / both, control=again / reference)


def mean_side_by_side(figures: Iterable[SideBySide]) -> SideBySide:
    """The figure for all kernels: the geometric mean of each round."""
    figures = list(figures)
    ratios = [statistics.geometric_mean(of_round) for of_round in zip(*(figure.ratios for figure in figures))]
    controls = [statistics.geometric_mean(of_round) for of_round in zip(*(figure.controls for figure in figures))]
    return SideBySide(math.nan, statistics.median(ratios), statistics.median(controls), ratios, controls)


def _of_both(of_variant: dict[str, list[float]], variants: tuple[str, str, str]) -> list[float]:
    """The values that the first browser is compared with."""
    _, reference, again = variants
    return [statistics.geometric_mean(pair) for pair in zip(of_variant[reference], of_variant[again], strict=True)]


def _median_of_ratios(measured: list[float], reference: list[float]) -> float:
    return statistics.median(value / other for value, other in zip(measured, reference, strict=True))


def with_range(ratio: float, of_rounds: list[float]) -> str:
    return f"{_ratio(ratio)} ({_ratio(min(of_rounds))} to {_ratio(max(of_rounds))})"


def bounded(what: str, figure: SideBySide, most: float, band: float, browser: str = STROBE) -> Limit:
    ratio, control = _ratio(figure.ratio), _ratio(figure.control)
    met = _at_most(figure.ratio, most)
    return Limit(what, {browser: ratio}, {browser: control}, f"≤ {most:g}", met, (figure.control,), band)


def bounded_time(what: str, figure: SideBySide, most: float, band: float) -> Limit:
    """Too noisy also if the standard error of the control over the rounds is not within the band."""
    return replace(bounded(what, figure, most, band), control_means=(figure.control, 1 + figure.error))


def _worst_time(kernels: dict[str, SideBySide]) -> Limit:
    """The worst kernel is the noisiest one if the controls of any are off."""
    worst = max(kernels, key=lambda name: kernels[name].ratio)
    limit = bounded_time("kernels, worst time", kernels[worst], MOST_KERNEL_OF_HOOKS, ROUGH_BAND)
    of_all = tuple(mean for kernel in kernels.values() for mean in (kernel.control, 1 + kernel.error))
    return replace(limit, values={STROBE: f"{_ratio(kernels[worst].ratio)} ({worst})"}, control_means=of_all)


def hooks_report(measurement: dict) -> Report:
    """Compares Strobe with the shell around the crates as published. The control is that shell again."""
    strobe, servo = measurement["browsers"]
    posted = strobe["results"] + servo["results"]
    with reading("hooks", f"{strobe['name']} or {servo['name']}"):
        names = [kernel["name"] for kernel in posted[0]["kernels"]]

        def times(index: int) -> Callable[[dict], list]:
            return lambda result: result["kernels"][index]["milliseconds"]

        def figure(page: str, key: str) -> SideBySide:
            return side_by_side(read_rounds(posted, page, False, lambda result: [result[key]]))

        def counted(page: str, key: str) -> SideBySide:
            return least_side_by_side(read_rounds(posted, page, True, lambda result: [result[key]]))

        kernels = {
            name: side_by_side(read_rounds(posted, "kernels", False, times(index))) for index, name in enumerate(names)
        }
        mean = mean_side_by_side(kernels.values())
        load = side_by_side(read_rounds(posted, "load", False, lambda result: result["milliseconds"]))
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
        loads = [result for result in posted if result["page"] == "load" and not _is_counted(result)]
        [script_count] = {_positive(result["scripts"]) for result in loads}
        sizes = [_positive(browser["bytes"]) for browser in (strobe, servo)]
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
    rows.append(["size of the program", f"{sizes[1] / 1e6:.1f} MB", "", _ratio(sizes[0] / sizes[1])])
    result.tables.append(Table(rows, "Loads, memory, instructions (the least of the rounds), and the program's file"))
    result.limits += [
        bounded_time("kernels, geometric mean of the time", mean, MOST_TIME_OF_HOOKS, CONTROL_BAND),
        _worst_time(kernels),
        bounded_time("time of a load", load, MOST_LOAD_OF_HOOKS, ROUGH_BAND),
        *(bounded(what, of, MOST_INSTRUCTIONS_OF_HOOKS, COUNTED_BAND) for what, of in instructions.items()),
        *(bounded(what, of, MOST_MEMORY_OF_HOOKS, CONTROL_BAND) for what, of in memory.items()),
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


# Real libraries


# A set has one session of each state, by its name. Groups are values by library, one for each set.
Sets = list[dict[str, dict]]
Groups = dict[str, list[float]]
# The kinds of sessions, and how a set's members are named in what the page posts.
SESSIONS = {"long sessions": "long", "sessions of 150 ms": "short"}


@dataclass(frozen=True)
class Interval:
    """A figure, and the interval that it has if the sets are drawn again."""

    value: float
    least: float
    most: float

    @property
    def ends(self) -> tuple[float, float]:
        return self.least, self.most

    def shown(self, form: str = ".3f") -> str:
        return f"{self.value:{form}} ({self.least:{form}} to {self.most:{form}})"


def _interval(groups: Iterable[list[float]], figure: Callable[[list[list[float]]], float]) -> Interval:
    groups = list(groups)
    return Interval(figure(groups), *confidence.interval(groups, figure))


def _mean_of_medians(groups: list[list[float]]) -> float:
    return statistics.geometric_mean(statistics.median(group) for group in groups)


def _mean_of_trimmed(groups: list[list[float]]) -> float:
    return statistics.fmean(_trimmed(group, statistics.fmean) for group in groups)


def session_ratios(sets: Sets, state: str) -> list[float]:
    """The times of a state, divided by the mean of the two states without a profiler. OFF_AGAIN is divided by OFF."""
    ratios = []
    for of_state in sets:
        times = {name: _positive(session["milliseconds"]) for name, session in of_state.items()}
        reference = times[OFF] if state == OFF_AGAIN else statistics.geometric_mean((times[OFF], times[OFF_AGAIN]))
        ratios.append(times[state] / reference)
    return ratios


def start_costs(sets: Sets, state: str) -> list[float]:
    """By how many ms the first slice of a session is slower than its other slices, compared with no profiler."""

    def excess(session: dict) -> float:
        others = (_positive(session["milliseconds"]) - _positive(session["first"])) / (session["slices"] - 1)
        return session["first"] - others

    costs = []
    for of_state in sets:
        excesses = {name: excess(session) for name, session in of_state.items()}
        both = (excesses[OFF] + excesses[OFF_AGAIN]) / 2
        costs.append(excesses[state] - (excesses[OFF] if state == OFF_AGAIN else both))
    return costs


@dataclass
class RealFigures:
    """The libraries of one browser. `sets` are by kind of session and by library."""

    sets: dict[str, dict[str, Sets]]
    checksums: dict[str, float]

    def ratios(self, kind: str, state: str) -> Groups:
        return {library: session_ratios(sets, state) for library, sets in self.sets[kind].items()}

    def starts(self, state: str) -> Groups:
        return {
            library: [cost for kind in self.sets for cost in start_costs(self.sets[kind][library], state)]
            for library in self.checksums
        }

    def creations(self, library: str, state: str) -> list[float]:
        """How long `new Profiler()` took, in ms."""
        return [_amount(of_state[state]["creation"]) for kind in self.sets.values() for of_state in kind[library]]

    def sampling(self, kind: str, state: str) -> dict[str, tuple[int, int, float]]:
        """By library: the samples that were taken while it worked, those with a stack, and how many there should be."""
        counts = {}
        for library, sets in self.sets[kind].items():
            sessions = [of_state[state] for of_state in sets]
            samples, with_stack = (sum(session[key] for session in sessions) for key in ("samples", "samplesWithStack"))
            wanted = sum(session["milliseconds"] / _positive(session["interval"]) for session in sessions)
            counts[library] = samples, with_stack, wanted
        return counts

    def intervals(self, kind: str, state: str) -> str:
        intervals = {of_state[state]["interval"] for sets in self.sets[kind].values() for of_state in sets}
        return ", ".join(f"{interval:g}" for interval in sorted(intervals))


def read_real(results: list[dict]) -> RealFigures:
    sets: dict[str, dict[str, Sets]] = {kind: {} for kind in SESSIONS}
    checksums: dict[str, float] = {}
    for result in results:
        library = result["library"]
        if checksums.setdefault(library, result["checksum"]) != result["checksum"]:
            raise ValueError(f"the checksum of {library} is {result['checksum']} and {checksums[library]}")
        for kind, key in SESSIONS.items():
            sets[kind].setdefault(library, []).extend(result[key])
    return RealFigures(sets, checksums)


def real_report(measurement: dict) -> Report:
    figures: dict[str, RealFigures] = {}
    for browser in measurement["browsers"]:
        with reading("real", browser["name"]):
            figures[browser["name"]] = read_real(browser["results"])
    checksums = {name: of_browser.checksums for name, of_browser in figures.items()}
    first, *others = checksums
    for other in others:
        if checksums[other] != checksums[first]:
            raise MachError(f"real: {first} and {other} did not do the same work: {checksums}")
    result = Report()
    for kind in SESSIONS:
        _add_real_ratios(result, figures, kind)
    _add_real_sampling(result, figures)
    _add_real_starts(result, figures)
    if "stops" in measurement:
        packages = ", ".join(f"{name} {version}" for name, version in measurement["packages"].items())
        result.notes.append(f"packages: {packages}")
        result.notes.append(f"the load of the machine in the minute before was {measurement['load']:.2f}")
        with reading("real", first):
            _add_real_stops(result, first, measurement["stops"])
    else:
        result.notes.append("the measurement did not end, and has no stops")
    return result


def _add_real_ratios(result: Report, figures: dict[str, RealFigures], kind: str):
    header, rows, means = ["library"], {}, ["geometric mean"]
    # By state and by browser.
    of_state: dict[str, dict[str, Interval]] = {state: {} for state in (OFF_AGAIN, *ON)}
    medians: dict[str, list[list[list[float]]]] = {state: [] for state in ON}
    for name, of_browser in figures.items():
        with reading("real", name):
            header += [f"{name}, ms", "off/off", *(f"{state}/off" for state in ON)]
            means.append("")
            for library, sets in of_browser.sets[kind].items():
                off = statistics.median(_positive(one[OFF]["milliseconds"]) for one in sets)
                rows.setdefault(library, [library]).append(f"{off:.0f}")
            for state, intervals in of_state.items():
                ratios = of_browser.ratios(kind, state)
                for library, group in ratios.items():
                    rows[library].append(_ratio(statistics.median(group)))
                intervals[name] = _interval(ratios.values(), _mean_of_medians)
                means.append(intervals[name].shown())
                if state in ON:
                    medians[state].append(list(ratios.values()))
    result.tables.append(Table([header, *rows.values(), means], f"Time of {kind}, medians of the sets' ratios"))
    controls = of_state[OFF_AGAIN]
    for name, control in controls.items():
        result.add_control(f"of {kind}", name, control.value)
    ours, *others = figures
    at_1 = of_state["1 ms"]
    over = None
    if others:
        count = len(medians[ON[0]][0])
        over = _interval(
            [group for of_browser in medians[ON[0]][:2] for group in of_browser],
            lambda groups: _mean_of_medians(groups[:count]) - _mean_of_medians(groups[count:]),
        )
    result.limits += [
        Limit(
            f"10 ms/off, {kind}, beyond Chromium's",
            {ours: over.shown("+.3f") if over else "", **dict.fromkeys(others, "")},
            {},
            f"≤ {MOST_REAL_OVER_OTHER:+g}",
            _at_most(over.value, MOST_REAL_OVER_OTHER) if over else None,
            tuple(end for control in controls.values() for end in control.ends),
        ),
        Limit(
            f"1 ms/off, {kind}",
            {name: interval.shown() for name, interval in at_1.items()},
            {name: control.shown() for name, control in controls.items()},
            f"≤ {MOST_REAL_AT_1_MS:g}",
            _at_most(at_1[ours].value, MOST_REAL_AT_1_MS),
            controls[ours].ends,
        ),
    ]


def _add_real_sampling(result: Report, figures: dict[str, RealFigures]):
    rows = [["sessions", "interval, ms", "samples", "with a stack, %", "least", "missed, %", "most"]]
    for name, of_browser in figures.items():
        with reading("real", name):
            for kind in SESSIONS:
                for state in ON:
                    counts = of_browser.sampling(kind, state)
                    if not all(with_stack for _, with_stack, _ in counts.values()):
                        raise ValueError(f"a profiler at {state} gave no sample with a stack")
                    samples, with_stack, wanted = (sum(column) for column in zip(*counts.values()))
                    shares = {library: 100 * of[1] / of[0] for library, of in counts.items()}
                    missed = {library: 100 * (1 - of[0] / of[2]) for library, of in counts.items()}
                    least, most = min(shares, key=shares.get), max(missed, key=missed.get)
                    rows.append(
                        [
                            f"{name}, {kind}, {state}",
                            of_browser.intervals(kind, state),
                            str(samples),
                            f"{100 * with_stack / samples:.1f}",
                            f"{shares[least]:.1f} ({least})",
                            f"{100 * (1 - samples / wanted):.1f}",
                            f"{missed[most]:.1f} ({most})",
                        ]
                    )
    result.tables.append(Table(rows, "Samples while a library worked, at the interval that the profiler has"))


def _add_real_starts(result: Report, figures: dict[str, RealFigures]):
    header, rows, means = ["library"], {}, ["mean"]
    of_state: dict[str, dict[str, Interval]] = {state: {} for state in (OFF_AGAIN, *ON)}
    for name, of_browser in figures.items():
        with reading("real", name):
            header += [f"{name}, new Profiler()", "first slice, control", *(f"at {state}" for state in ON)]
            created = []
            for library in of_browser.checksums:
                both = [time for state in ON for time in of_browser.creations(library, state)]
                created.append(statistics.median(both))
                rows.setdefault(library, [library]).append(f"{created[-1]:.2f}")
            means.append(f"{statistics.fmean(created):.2f}")
            for state, intervals in of_state.items():
                costs = of_browser.starts(state)
                for library, group in costs.items():
                    rows[library].append(f"{_trimmed(group, statistics.fmean):+.2f}")
                intervals[name] = _interval(costs.values(), _mean_of_trimmed)
                means.append(intervals[name].shown("+.2f"))
    caption = (
        "A session's start, in ms: `new Profiler()`, and by how much the slice right after it is slower than later"
    )
    result.tables.append(Table([header, *rows.values(), means], caption))
    ours, controls = next(iter(figures)), of_state[OFF_AGAIN]
    for state in ON:
        cost = of_state[state]
        result.limits.append(
            Limit(
                f"slower right after the start, {state}",
                {name: f"{interval.shown('+.2f')} ms" for name, interval in cost.items()},
                {name: f"{interval.shown('+.2f')} ms" for name, interval in controls.items()},
                f"≤ {MOST_START:g} ms",
                round(cost[ours].value, 2) <= MOST_START,
                # The control would be 1 if a start cost nothing. If it is off by as much as the limit, the
                # figure means nothing.
                tuple(1 + end for end in controls[ours].ends),
                MOST_START,
            )
        )


def _add_real_stops(result: Report, name: str, stops: dict[str, dict[str, dict]]):
    """A row for each library, and limits for the worst one. The stops are saved measurements by interval."""
    libraries = list(next(iter(stops.values())))
    header, rows = ["library"], {library: [library] for library in libraries}
    for shown, of_interval in stops.items():
        header += [f"{shown}: stops", "median, µs", "99th, µs", "longest, µs", "missed, %", "unwalkable, %"]
        worst: dict[str, tuple[float, str]] = {"median": (0.0, ""), "99th percentile": (0.0, "")}
        load = max(saved["load"] for saved in of_interval.values())
        for library, saved in of_interval.items():
            problems = [*saved["panics"], *([saved["failure"]] if saved["failure"] else [])]
            result.notes += [f"{name}, stops of {library} at {shown}: {problem}" for problem in problems]
            times, counts = saved["stops"], saved["counts"]
            if times is None:
                raise ValueError(f"the sampler logged no stop of {library} at {shown}")
            median, percentile_99, longest = (_amount(times[key]) / 1000 for key in STOP_KEYS)
            for what, time in zip(worst, (median, percentile_99)):
                worst[what] = max(worst[what], (time, library))
            due = _positive(counts["taken"] + counts["missed"])
            shares = (100 * counts[key] / due for key in ("missed", "unwalkable"))
            rows[library] += [
                str(times["count"]),
                *(f"{time:.1f}" for time in (median, percentile_99, longest)),
                *(f"{share:.2f}" for share in shares),
            ]
        for (what, (time, library)), most in zip(worst.items(), MOST_REAL_STOPS[shown], strict=True):
            result.limits.append(
                Limit(
                    f"stops at {shown}, {what} of the worst library",
                    {name: f"{time:.1f} µs ({library})"},
                    {},
                    f"≤ {most:g} µs",
                    round(time, 1) <= most,
                    is_noisy=load > MOST_LOAD,
                )
            )
        if load > MOST_LOAD:
            result.notes.append(f"{name}, stops at {shown}: {noise_of(load)}")
    result.tables.append(Table([header, *rows.values()], "How long a sample stops the library, by the sampler's clock"))


REPORTS: dict[str, Callable[[dict], Report]] = {
    "overhead": overhead_report,
    "floor": floor_report,
    "policy": policy_report,
    "instructions": instructions_report,
    "trace": trace_report,
    "scale": scale_report,
    "start": start_report,
    "real": real_report,
    "hooks": hooks_report,
}
