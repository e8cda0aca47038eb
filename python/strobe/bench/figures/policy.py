# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""policy: pages with a policy header, where nobody profiles, in time."""

import statistics

from .posted import positive, reading
from .report import Limit, Report, Table, at_most, shown_ratio
from .trimmed import trimmed, trimmed_error

TITLE = "A policy that allows profiling where nobody profiles"
BAND = 0.01


def report(measurement: dict) -> Report:
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
                variant: {kind: [positive(load[kind]) for load in loads[variant]] for kind in kinds}
                for variant in variants
            }
            first = [f"{trimmed(times[reference][kind], statistics.fmean):.0f} ms" for kind in kinds]
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
                    ratio = trimmed(of_loads, statistics.geometric_mean)
                    ratios[kind].setdefault(variant, {})[name] = ratio
                    error = trimmed_error(of_loads)
                    rows.setdefault(variant, [variant]).append(f"{shown_ratio(ratio)} ± {shown_ratio(error)}")
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
                    {name: shown_ratio(ratio) for name, ratio in ratios[kind][variant].items()},
                    {name: shown_ratio(ratio) for name, ratio in ratios[kind][control].items()},
                    f"1 ± {BAND:g}",
                    at_most(abs(ours - 1), BAND),
                    (next(iter(ratios[kind][control].values())),),
                )
            )
    return result
