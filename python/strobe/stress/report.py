# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The report of a stress run: what it has done and found."""

from dataclasses import asdict, dataclass, field

from ..bench.sample_counts import SampleCounts
from ..crashes import CRASH
from ..table import text_table
from .exemptions import EXEMPTIONS
from .watchdog import BUSY, HANG

# The event loops of a run do more turns than this, unless its browsers end before their pages have begun. With so many,
# dozens of profilers were started.
LEAST_TURNS = 500

# Rows of the report, by the keys of the counts that tests/stress posts and stress.py keeps.
ROWS = {
    "episodes": "episodes",
    "starts": "browsers started",
    "pages": "documents",
    "ordersObeyed": "navigations",
    "settled": "episodes that came to rest",
    "windowsOpened": "windows opened",
    "windowsClosed": "windows closed",
    "framesAdded": "frames added",
    "framesRemoved": "frames removed",
    "workers": "workers that ran",
    "workersTerminated": "workers terminated",
    "workersClosed": "workers that closed themselves",
    "turns": "turns of event loops",
    "programs": "programs made",
    "profilersStarted": "profilers started",
    "profilersStopped": "profilers stopped",
    "profilersAbandoned": "profilers abandoned",
    "profilersRefused": "profilers refused",
    "profilersOfRemoved": "profilers refused in removed documents",
    "buffersFull": "buffers full",
    "entries": "timeline entries",
    "samples": "samples in traces",
    "samplesWithStack": "samples with a stack",
    "samplesInGC": "samples during garbage collection",
    "falseEdges": "samples with a false edge",
    "checkedReads": "values read while the engine changed",
    "wrongValues": "values that were wrong",
    "recordings": "engine recordings",
    "forcedSamples": "forced samples",
    "kills": "processes of pages killed",
    "signals": "signals from outside",
    "stops": "stops of processes",
    "threadStops": "stops of single threads",
    "starvations": "starvations",
    "crashes": "crashes",
}


@dataclass
class Failure:
    """A failure, and how to repeat it."""

    seed: int
    # None for a failure of the run.
    episode: int | None
    feature: str
    what: str
    # Files with more details.
    saved: list[str] = field(default_factory=list)

    @property
    def is_hang(self) -> bool:
        return self.what.startswith(HANG)

    @property
    def is_busy_hang(self) -> bool:
        return self.is_hang and BUSY in self.what

    @property
    def is_crash(self) -> bool:
        return self.what.startswith(CRASH)

    def command(self, more: str) -> str:
        episode = "" if self.episode is None else f" --episode {self.episode}"
        # An episode of one configuration is not in the plan of the seed.
        feature = f" --feature {self.feature}" if ":" in self.feature else ""
        return f"./mach stress --seed {self.seed}{episode}{feature}{more}"

    def text(self, more: str) -> str:
        """`more` has further arguments of the command that repeats it."""
        where = "the run" if self.episode is None else f"episode {self.episode}"
        lines = [f"seed {self.seed}, {where} ({self.feature}): {self.what}"]
        lines += [f"  saved: {place}" for place in self.saved]
        return "\n".join([*lines, f"  again: {self.command(more)}"])


@dataclass
class Totals:
    counts: dict[str, int] = field(default_factory=dict)
    # The counts that the browser logged of sessions which ended normally.
    samples: SampleCounts = field(default_factory=SampleCounts)
    seconds: float = 0.0
    episodes: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    # How often each exemption was used, by name.
    exemptions: dict[str, int] = field(default_factory=lambda: {exemption.name: 0 for exemption in EXEMPTIONS})

    def add(self, counts: dict[str, int]):
        for name, number in counts.items():
            self.counts[name] = self.counts.get(name, 0) + number

    def excuse(self, hits: dict[str, int]):
        for name, number in hits.items():
            self.exemptions[name] += number

    def what_was_not_sampled(self) -> list[str]:
        """What the traces of a run with profilers should have had. Without it their checks mean nothing."""
        if self.counts.get("samplesWithStack") or self.counts.get("turns", 0) <= LEAST_TURNS:
            return []
        return [f"no sample has a stack, in {self.counts['turns']} turns of event loops"]

    def report(self, more: str) -> str:
        rows = [["what", "number"]]
        rows += [[text, str(self.counts.get(name, 0))] for name, text in ROWS.items()]
        parts = [text_table(rows, left=(0,))]
        rows = [["exemption", "number", "only"]]
        rows += [[one.name, str(self.exemptions[one.name]), one.state.text] for one in EXEMPTIONS]
        parts.append(text_table(rows, left=(0, 2)))
        reasons = [f"{one.name}: {one.reason}" for one in EXEMPTIONS if self.exemptions[one.name]]
        parts += ["\n".join(reasons)] if reasons else []
        sampler = self.samples
        shares = ", ".join(
            f"{getattr(sampler, name)} {name} ({sampler.share(name):.3f} %)"
            for name in ("missed", "collecting", "unwalkable", "truncated")
        )
        parts.append(f"Samples of sessions that ended normally: {sampler.taken} taken, {shares}.")
        features = ", ".join(f"{name} {number}" for name, number in sorted(self.episodes.items()))
        parts.append(f"Episodes: {features or 'none'}; {self.seconds / 60:.1f} min.")
        parts += [failure.text(more) for failure in self.failures]
        return "\n\n".join(parts)

    def to_json(self) -> dict:
        return asdict(self)
