# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The results of ./mach bench: tables of ratios, and limits. Each suite has a module in the form of suite.py."""

from ...errors import MachError
from . import floor, hooks, instructions, overhead, policy, real, scale, start, trace
from .report import Report
from .suite import Suite

SUITES: dict[str, Suite] = {
    "overhead": overhead,
    "floor": floor,
    "policy": policy,
    "instructions": instructions,
    "hooks": hooks,
    "start": start,
    "real": real,
    "scale": scale,
    "trace": trace,
}


def report(measurement: dict) -> Report:
    """Raises MachError with the place if the measurement is not what the suite's pages post."""
    suite = measurement.get("suite")
    if suite not in SUITES:
        raise MachError(f"the measurement is of the suite {suite!r}, which has no report")
    names = [browser["name"] for browser in measurement["browsers"]]
    if len(set(names)) != len(names):
        raise MachError(f"{suite}: two browsers have the same name: {', '.join(names)}")
    for browser in measurement["browsers"]:
        if not browser["results"]:
            raise MachError(f"{suite}: {browser['name']} has no results")
    return SUITES[suite].report(measurement)
