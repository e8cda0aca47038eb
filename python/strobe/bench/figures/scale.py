# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""scale: many profilers, compared with one."""

from .kernels import kernel_limits, kernel_report
from .posted import positive, reading
from .report import Limit, Report

TITLE = "Many profilers"
MOST_OF_MANY = 1.2  # a ratio
LEAST_AT_ONCE = 100


def report(measurement: dict) -> Report:
    result, figures, (control, *measured) = kernel_report(measurement, 3)
    for comparison in measured:
        result.limits += kernel_limits(figures, control, comparison, MOST_OF_MANY, None)
    at_once: dict[str, int] = {}
    for browser in measurement["browsers"]:
        with reading("scale", browser["name"]):
            at_once[browser["name"]] = min(int(positive(posted["atOnce"]["count"])) for posted in browser["results"])
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
