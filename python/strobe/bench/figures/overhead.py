# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""overhead: kernels with a profiler and without, and the processor time of all processes."""

from .kernels import kernel_limits, kernel_report, processor_time
from .report import Limit, Report, at_most, by_browser

TITLE = "Kernels with a profiler and without"
# Limits are ratios.
MOST_AT_10_MS = 1.01
MOST_OVER_OTHER = 0.002
MOST_KERNEL_AT_10_MS = 1.03
MOST_AT_1_MS = 1.015
MOST_KERNEL_AT_1_MS = 1.06
MOST_PROCESSOR_TIME = 1.03


def report(measurement: dict) -> Report:
    result, figures, (control, at_10, at_1) = kernel_report(measurement, 3)
    result.limits += kernel_limits(figures, control, at_10, MOST_AT_10_MS, MOST_KERNEL_AT_10_MS)
    means = [of_browser.mean(at_10) for of_browser in figures.values()]
    result.limits.append(
        Limit(
            f"{at_10}, beyond Chromium's",
            by_browser(figures, [f"{means[0] - means[1]:+.3f}" if len(means) > 1 else "", *("" for _ in means[1:])]),
            {},
            f"≤ {MOST_OVER_OTHER:+g}",
            at_most(means[0] - means[1], MOST_OVER_OTHER) if len(means) > 1 else None,
            tuple(of_browser.mean(control) for of_browser in figures.values()),
        )
    )
    result.limits += kernel_limits(figures, control, at_1, MOST_AT_1_MS, MOST_KERNEL_AT_1_MS)
    result.limits.append(processor_time(result, measurement, MOST_PROCESSOR_TIME))
    return result
