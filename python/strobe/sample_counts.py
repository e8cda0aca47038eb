# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The sampler's own counts, as the browser logs them when a session ends."""

import re
from dataclasses import dataclass, fields

# For RUST_LOG: errors of everybody, as without it, and the sampler's log.
LOG_FILTER = "error,js_profiler=debug"
# A line begins with [TIME LEVEL TARGET].
SAMPLER_LINE = re.compile(r"^\[\S+ +(?:TRACE|DEBUG) +js_profiler\b")
FINISHED_SESSION = re.compile(r"\bSessionId\((\d+)\): SampleCounts \{ (.*?) \}")


@dataclass
class SampleCounts:
    """The members of SampleCounts in components/shared/js_profiler/trace.rs, which says what they mean."""

    taken: int = 0
    missed: int = 0
    collecting: int = 0
    unwalkable: int = 0
    truncated: int = 0

    def add(self, other: "SampleCounts"):
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    def share(self, name: str) -> float:
        """One of the counts in % of the samples taken."""
        return 100 * getattr(self, name) / self.taken if self.taken else 0.0


def read_counts(line: str) -> SampleCounts | None:
    """The counts of the session that ended, if the line says so. A count that is missing is an error of ours."""
    match = FINISHED_SESSION.search(line)
    if match is None:
        return None
    counts = {name: int(number) for name, number in re.findall(r"(\w+): (\d+)", match.group(2))}
    return SampleCounts(**{field.name: counts[field.name] for field in fields(SampleCounts)})
