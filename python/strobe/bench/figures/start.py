# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""start: the first profiler of a page whose functions are compiled."""

import statistics

from ...errors import MachError
from .posted import median, positive, reading
from .report import CONTROL_SHARE, Limit, Report, Table, at_most, shown_ratio

TITLE = "The first profiler"
MOST_CREATION = 5.0  # ms
MOST_SLOWER_AFTER = 1.02  # a ratio


def report(measurement: dict) -> Report:
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
                created[name][step] = median(steps, "milliseconds")
                speed[name][step] = _speed(steps, "after")
                rows.append(
                    [
                        shown,
                        str(len(visits)),
                        str(visits[0]["functions"]),
                        f"{created[name][step]:.2f}",
                        f"{median(steps, 'block'):.2f}",
                        f"{statistics.median(statistics.median(one['before']) for one in steps):.2f}",
                        f"{statistics.median(positive(one['after'][0]) for one in steps):.2f}",
                        shown_ratio(speed[name][step]),
                        shown_ratio(_speed(steps, "later")),
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
            {name: shown_ratio(of_step["measured"]) for name, of_step in speed.items()},
            {name: shown_ratio(of_step["control"]) for name, of_step in speed.items()},
            f"≤ {MOST_SLOWER_AFTER:g}",
            at_most(speed[ours]["measured"], MOST_SLOWER_AFTER),
            (speed[ours]["control"],),
        ),
    ]
    return result


def _speed(steps: list[dict], key: str) -> float:
    """The median time of the sweeps, divided by that of the sweeps before the step."""
    return statistics.median(
        statistics.median(positive(sweep) for sweep in step[key])
        / statistics.median(positive(sweep) for sweep in step["before"])
        for step in steps
    )
