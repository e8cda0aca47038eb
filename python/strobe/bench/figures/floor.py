# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""floor: the kernels and libraries in a program whose handler of signals does nothing. Nothing is wanted of it."""

from dataclasses import replace

from .kernels import kernel_limits, kernel_report, processor_time
from .report import Report

TITLE = "What the signals alone cost"


def report(measurement: dict) -> Report:
    result, figures, (control, *measured) = kernel_report(measurement, 4)
    for comparison in measured:
        result.limits += kernel_limits(figures, control, comparison, None, None)
    result.limits.append(processor_time(result, measurement, None))
    libraries, figures, (control, *measured) = kernel_report(measurement, 4, "library", "libraries")
    result.tables += libraries.tables
    for comparison in measured:
        limits = kernel_limits(figures, control, comparison, None, None)
        result.limits += [replace(limit, what=f"{comparison}, libraries, geometric mean") for limit in limits]
    for name, of_browser in figures.items():
        result.add_control("of the libraries", name, of_browser.mean(control))
    return result
