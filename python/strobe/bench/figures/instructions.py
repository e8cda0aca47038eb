# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""instructions: the loads of policy, counted in instructions by valgrind."""

from .policy import BAND
from .posted import positive, reading
from .report import Limit, Report, Table, at_most, shown_ratio

TITLE = "The same in instructions"


def report(measurement: dict) -> Report:
    """Compares the instructions of each variant with those of the page without a header. The lowest round counts."""
    [browser] = measurement["browsers"]
    name = browser["name"]
    with reading("instructions", name):
        least: dict[str, float] = {}
        for posted in browser["results"]:
            counted = positive(posted["instructions"])
            least[posted["variant"]] = min(counted, least.get(posted["variant"], counted))
        reference, control, *allowing = least
    caption = "Instructions of the engine of a browser that loads a page with a policy header, and of one without"
    rows = [["header", f"{name}, millions", "ratio"]]
    rows.append([reference, f"{least[reference] / 1e6:.0f}", ""])
    ratios = {variant: least[variant] / least[reference] for variant in (control, *allowing)}
    rows += [[variant, f"{least[variant] / 1e6:.0f}", shown_ratio(ratio)] for variant, ratio in ratios.items()]
    result = Report([Table(rows, caption)])
    result.add_control("of the instructions", name, ratios[control])
    for variant in allowing:
        result.limits.append(
            Limit(
                f"{variant}, instructions",
                {name: shown_ratio(ratios[variant])},
                {name: shown_ratio(ratios[control])},
                f"1 ± {BAND:g}",
                at_most(abs(ratios[variant] - 1), BAND),
                (ratios[control],),
            )
        )
    return result
