# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""What the sampler counts and measures, as the browser logs it when a session ends."""

import re
from dataclasses import dataclass, fields

# The value of RUST_LOG: errors of all crates, which is the default, and the sampler's log.
LOG_FILTER = "error,js_profiler=debug"
# A logged line begins with [TIME LEVEL TARGET].
LOGGED = re.compile(r"^\[\S+ +[A-Z]+ +\w+(?:::\w+)*\] ")
# The line that components/shell/crash.rs logs for a panic of a thread that is not the main one.
PANIC = re.compile(r"^\[\S+ +ERROR +strobe::crash\] (.*)")
REASONS = re.compile(r"\bEventLoopId\(\d+\): unwalkable: \{(.*)\}")
STOPS = re.compile(
    r"\bEventLoopId\(\d+\): stood still (\d+) times, ns: median (\d+), 99th percentile (\d+), longest (\d+)"
)
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
        """A count in % of the samples taken."""
        return 100 * getattr(self, name) / self.taken if self.taken else 0.0


@dataclass(frozen=True)
class StopDurations:
    """How often the thread of an event loop was stopped, and for how long, in ns: see sampled_thread/durations.rs."""

    count: int
    median: int
    percentile_99: int
    longest: int


def read_counts(line: str) -> SampleCounts | None:
    """The counts of a session that ended, if the line has them. A missing count is an error of ours."""
    match = FINISHED_SESSION.search(line)
    if match is None:
        return None
    counts = {name: int(number) for name, number in re.findall(r"(\w+): (\d+)", match.group(2))}
    return SampleCounts(**{field.name: counts[field.name] for field in fields(SampleCounts)})


def read_reasons(line: str) -> dict[str, int]:
    """How many samples of an event loop could not be walked, by reason, if the line says so."""
    match = REASONS.search(line)
    return {reason: int(number) for reason, number in re.findall(r'"(.*?)": (\d+)', match.group(1) if match else "")}


def read_stops(line: str) -> StopDurations | None:
    """How long an event loop stood still since its first session began, if the line says so."""
    match = STOPS.search(line)
    return match and StopDurations(*map(int, match.groups()))
