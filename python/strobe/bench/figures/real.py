# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""real: libraries at work, in sessions with a profiler and without, and how long samples stop them."""

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ...errors import MachError
from .. import confidence
from ..machine import MOST_LOAD, noise_of
from .posted import amount, positive, reading
from .report import Limit, Report, Table, at_most, shown_ratio
from .trimmed import trimmed

TITLE = "Real libraries"
# Limits are ratios, unless a unit is given.
MOST_OVER_OTHER = 0.002
MOST_AT_1_MS = 1.02
MOST_START = 0.2  # ms
# By interval: the limits of the median and of the 99th percentile, in µs.
MOST_STOPS = {"1 ms": (4.0, 25.0), "10 ms": (10.0, 60.0)}
# The states of a library's sessions: see real.js.
OFF, OFF_AGAIN, ON = "off", "off again", ("10 ms", "1 ms")
# Members of StopDurations.
STOP_KEYS = ("median", "percentile_99", "longest")
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
    return statistics.fmean(trimmed(group, statistics.fmean) for group in groups)


def session_ratios(sets: Sets, state: str) -> list[float]:
    """The times of a state, divided by the mean of the two states without a profiler. OFF_AGAIN is divided by OFF."""
    ratios = []
    for of_state in sets:
        times = {name: positive(session["milliseconds"]) for name, session in of_state.items()}
        reference = times[OFF] if state == OFF_AGAIN else statistics.geometric_mean((times[OFF], times[OFF_AGAIN]))
        ratios.append(times[state] / reference)
    return ratios


def start_costs(sets: Sets, state: str) -> list[float]:
    """By how many ms the first slice of a session is slower than its other slices, compared with no profiler."""

    def excess(session: dict) -> float:
        others = (positive(session["milliseconds"]) - positive(session["first"])) / (session["slices"] - 1)
        return session["first"] - others

    costs = []
    for of_state in sets:
        excesses = {name: excess(session) for name, session in of_state.items()}
        both = (excesses[OFF] + excesses[OFF_AGAIN]) / 2
        costs.append(excesses[state] - (excesses[OFF] if state == OFF_AGAIN else both))
    return costs


@dataclass
class Libraries:
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
        return [amount(of_state[state]["creation"]) for kind in self.sets.values() for of_state in kind[library]]

    def sampling(self, kind: str, state: str) -> dict[str, tuple[int, int, float]]:
        """By library: the samples that were taken while it worked, those with a stack, and how many there should be."""
        counts = {}
        for library, sets in self.sets[kind].items():
            sessions = [of_state[state] for of_state in sets]
            samples, with_stack = (sum(session[key] for session in sessions) for key in ("samples", "samplesWithStack"))
            wanted = sum(session["milliseconds"] / positive(session["interval"]) for session in sessions)
            counts[library] = samples, with_stack, wanted
        return counts

    def intervals(self, kind: str, state: str) -> str:
        intervals = {of_state[state]["interval"] for sets in self.sets[kind].values() for of_state in sets}
        return ", ".join(f"{interval:g}" for interval in sorted(intervals))


def read_libraries(results: list[dict]) -> Libraries:
    sets: dict[str, dict[str, Sets]] = {kind: {} for kind in SESSIONS}
    checksums: dict[str, float] = {}
    for result in results:
        library = result["library"]
        if checksums.setdefault(library, result["checksum"]) != result["checksum"]:
            raise ValueError(f"the checksum of {library} is {result['checksum']} and {checksums[library]}")
        for kind, key in SESSIONS.items():
            sets[kind].setdefault(library, []).extend(result[key])
    return Libraries(sets, checksums)


def report(measurement: dict) -> Report:
    figures: dict[str, Libraries] = {}
    for browser in measurement["browsers"]:
        with reading("real", browser["name"]):
            figures[browser["name"]] = read_libraries(browser["results"])
    checksums = {name: of_browser.checksums for name, of_browser in figures.items()}
    first, *others = checksums
    for other in others:
        if checksums[other] != checksums[first]:
            raise MachError(f"real: {first} and {other} did not do the same work: {checksums}")
    result = Report()
    for kind in SESSIONS:
        _add_ratios(result, figures, kind)
    _add_sampling(result, figures)
    _add_starts(result, figures)
    if "stops" in measurement:
        packages = ", ".join(f"{name} {version}" for name, version in measurement["packages"].items())
        result.notes.append(f"packages: {packages}")
        result.notes.append(f"the load of the machine in the minute before was {measurement['load']:.2f}")
        with reading("real", first):
            _add_stops(result, first, measurement["stops"])
    else:
        result.notes.append("the measurement did not end, and has no stops")
    return result


def _add_ratios(result: Report, figures: dict[str, Libraries], kind: str):
    header, rows, means = ["library"], {}, ["geometric mean"]
    # By state and by browser.
    of_state: dict[str, dict[str, Interval]] = {state: {} for state in (OFF_AGAIN, *ON)}
    medians: dict[str, list[list[list[float]]]] = {state: [] for state in ON}
    for name, of_browser in figures.items():
        with reading("real", name):
            header += [f"{name}, ms", "off/off", *(f"{state}/off" for state in ON)]
            means.append("")
            for library, sets in of_browser.sets[kind].items():
                off = statistics.median(positive(one[OFF]["milliseconds"]) for one in sets)
                rows.setdefault(library, [library]).append(f"{off:.0f}")
            for state, intervals in of_state.items():
                ratios = of_browser.ratios(kind, state)
                for library, group in ratios.items():
                    rows[library].append(shown_ratio(statistics.median(group)))
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
            f"≤ {MOST_OVER_OTHER:+g}",
            at_most(over.value, MOST_OVER_OTHER) if over else None,
            tuple(end for control in controls.values() for end in control.ends),
        ),
        Limit(
            f"1 ms/off, {kind}",
            {name: interval.shown() for name, interval in at_1.items()},
            {name: control.shown() for name, control in controls.items()},
            f"≤ {MOST_AT_1_MS:g}",
            at_most(at_1[ours].value, MOST_AT_1_MS),
            controls[ours].ends,
        ),
    ]


def _add_sampling(result: Report, figures: dict[str, Libraries]):
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


def _add_starts(result: Report, figures: dict[str, Libraries]):
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
                    rows[library].append(f"{trimmed(group, statistics.fmean):+.2f}")
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


def _add_stops(result: Report, name: str, stops: dict[str, dict[str, dict]]):
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
            median, percentile_99, longest = (amount(times[key]) / 1000 for key in STOP_KEYS)
            for what, time in zip(worst, (median, percentile_99)):
                worst[what] = max(worst[what], (time, library))
            due = positive(counts["taken"] + counts["missed"])
            shares = (100 * counts[key] / due for key in ("missed", "unwalkable"))
            rows[library] += [
                str(times["count"]),
                *(f"{time:.1f}" for time in (median, percentile_99, longest)),
                *(f"{share:.2f}" for share in shares),
            ]
        for (what, (time, library)), most in zip(worst.items(), MOST_STOPS[shown], strict=True):
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
