# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""What the module of a suite has, whose figures are tables of ratios and limits.

A measurement has `suite`, `settings`, `machine`, `when` and `browsers`. Each browser has `name`, `version`, `build` and
`results`, the posts of its pages in order. Ours is the first browser. All pairs of a browser count alike, in whichever
visit they were measured.
"""

from typing import Protocol

from .report import Report


class Suite(Protocol):
    # The title of its document in docs/figures/.
    TITLE: str

    def report(self, measurement: dict) -> Report:
        """Raises MachError with the place if the measurement is not what the suite's pages post."""
