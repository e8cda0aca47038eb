# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The plan of `./mach stress`, which follows from a seed.

Each episode follows from the seed and its own number alone, so that it can be repeated without the others. The timing
of what happens in an episode still differs from run to run.
"""

import json
import random
from urllib.parse import urlencode

from .changes import EPISODE_SECONDS, Configuration
from .changes import FEATURE as ENGINE_CHANGES
from .episode import Episode, Step

# The main subject of an episode, and the number of such episodes in a round.
FEATURES = {
    "programs": 2,
    "recursion": 2,
    "garbage": 2,
    "profilers": 2,
    "workers": 2,
    "frames": 2,
    "navigation": 2,
    "windows": 1,
    "recordings": 2,
    "profile-command": 2,
    "kills": 2,
    "signals": 2,
    "stops": 2,
    "starvation": 1,
    "short-memory": 1,
    ENGINE_CHANGES: 2,
    "endings": 4,
    "leaks": 1,
    "everything": 3,
}
# Host names of this machine. Each is a site, whose pages have their own process with --multiprocess.
SITES = ("one.stress.test", "two.stress.test", "three.stress.test")

# Actions of tests/stress/*.js and their weights, in addition to those with profilers.
LITTLE = {
    "startWorker": 1,
    "endWorker": 1,
    "shareWorker": 1,
    "addFrame": 1,
    "removeFrame": 1,
    "callFrame": 1,
    "wait": 1,
    "abandonProfiler": 1,
    "startWrongly": 1,
    "observeProfiles": 1,
}
MIXES = {
    "programs": {"makeProgram": 6},
    "profilers": {"startProfiler": 20, "stopProfiler": 16, "abandonProfiler": 4, "observeProfiles": 4},
    "workers": {"startWorker": 12, "endWorker": 8, "shareWorker": 4},
    "frames": {"addFrame": 8, "removeFrame": 6, "callFrame": 6},
    "windows": {"openWindow": 3, "closeWindow": 2},
    # Without calls into frames, which generated programs need, and without workers that nobody ends.
    ENGINE_CHANGES: {"callFrame": 0, "shareWorker": 0},
    "everything": {
        "startWorker": 3,
        "endWorker": 2,
        "addFrame": 3,
        "removeFrame": 2,
        "openWindow": 1,
        "closeWindow": 1,
    },
}
# Kinds of programs of tests/stress/generator.js.
PROGRAMS = {
    "recursion": {"recursion": 20, "exhaustion": 20, "exceptions": 8, "traps": 6},
    "garbage": {"garbage": 25, "buffers": 12, "strings": 8, "json": 6},
    "short-memory": {"garbage": 25, "buffers": 20},
    # Servo 0.7.0 keeps documents that were navigated away from, and with them the buffers that they have made.
    "leaks": {"buffers": 0},
}

# How a browser is ended: by its pages, by signals, or by its WebDriver server.
ENDINGS = ("close", "SIGTERM", "SIGINT", "SIGHUP", "SIGKILL")
# Signals that nobody handles and that the kernel ignores.
IGNORED_SIGNALS = ("SIGCHLD", "SIGWINCH", "SIGCONT", "SIGURG")
# Sent only to a process that handles or ignores it.
HANDLED_SIGNALS = ("SIGPIPE", "SIGPROF", "SIGUSR1", "SIGUSR2", "SIGALRM", "SAMPLER")

FORMATS = ("firefox", "speedscope", "cpuprofile", "collapsed", "trace", "html")


def make_episode(seed: int, number: int) -> Episode:
    # The random numbers that follow from a text are the same in every Python from 3.2 on.
    numbers = random.Random(f"stress {seed} {number}")
    # All features come once before any comes again.
    cycle = [feature for feature, times in FEATURES.items() for _ in range(times)]
    round_, place = divmod(number, len(cycle))
    random.Random(f"stress {seed} round {round_}").shuffle(cycle)
    return _Maker(seed, number, cycle[place], numbers).make()


def make_changes_episode(configuration: Configuration, seed: int, number: int) -> Episode:
    """An episode of a run of exactly this configuration."""
    numbers = random.Random(f"stress {configuration.name} {seed} {number}")
    return _Maker(seed, number, ENGINE_CHANGES, numbers).make_configured(configuration)


class _Maker:
    def __init__(self, seed: int, number: int, feature: str, numbers: random.Random):
        self.seed = seed
        self.number = number
        self.feature = feature
        self.random = numbers
        self.options = []
        self.steps = []
        self.duration = round(numbers.uniform(8, 20), 2)
        # Where the engine is changed.
        self.place = "page"

    def make(self) -> Episode:
        feature = self.feature
        multiprocess = feature == "kills" or (feature != "leaks" and self.random.random() < 0.3)
        if multiprocess:
            self.options.append("--multiprocess")
        self.set_preferences()
        pages = self.random.choice([1, 1, 2])
        if feature == ENGINE_CHANGES:
            self.place = self.random.choice(["page", "worker"])
        if feature == "kills":
            pages = 3
        elif feature in ("leaks", "profile-command"):
            pages = 1
        ending = self.random.choice(ENDINGS)
        profile_command = None
        if feature == "leaks":
            ending = "close"
            # To collect garbage before it is measured.
            self.prefer("expose_servointernals_globally", True)
        elif feature == "endings":
            # Mostly while it starts.
            self.duration = round(self.random.choice([1.0, 3.0, 6.0]) * self.random.random(), 3)
        elif feature == "profile-command":
            profile_command = self.make_profile_command()
        else:
            self.add_steps(pages)
        settles = feature not in ("leaks", "endings", "profile-command", "kills") and self.random.random() < 0.5
        urls = [self.page(site) for site in SITES[:pages]]
        return Episode(
            seed=self.seed,
            number=self.number,
            feature=feature,
            duration=self.duration,
            ending=ending,
            options=self.options,
            pages=urls,
            steps=sorted(self.steps, key=lambda step: step.at),
            settles=settles,
            webdriver=feature == "recordings",
            profile_command=profile_command,
            short_of_memory=feature == "short-memory",
        )

    def make_configured(self, configuration: Configuration) -> Episode:
        self.place = configuration.place
        self.options = configuration.options()
        sites = SITES[: 2 if configuration.processes == "multiprocess" else 1]
        return Episode(
            seed=self.seed,
            number=self.number,
            feature=configuration.name,
            duration=EPISODE_SECONDS,
            ending=self.random.choice(["close", "SIGTERM"]),
            options=self.options,
            pages=[self.page(site) for site in sites],
            settles=True,
        )

    # The browser

    def prefer(self, name: str, value):
        self.options.append(f"--pref={name}={json.dumps(value)}")

    def set_preferences(self):
        if self.random.random() < (0.7 if self.feature == ENGINE_CHANGES else 0.3):
            self.prefer("js_profiling_base_interval_us", self.random.choice([100, 250, 500, 5000]))
        if self.random.random() < 0.2:
            self.prefer("js_profiling_max_stack_depth", self.random.choice([1, 2, 50, 5000, 65536]))
        often = self.feature in ("garbage", "short-memory", "everything")
        if self.random.random() < (1 if often else 0.3):
            self.prefer("js_mem_gc_compacting_enabled", self.random.random() < 0.7)
            # Not the incremental one: Servo says that its barriers for it are not right.
            self.prefer("js_mem_gc_per_zone_enabled", self.random.random() < 0.5)
            self.prefer("js_mem_gc_malloc_threshold_base_mb", self.random.choice([1, 4, 38]))
            self.prefer("js_mem_gc_high_frequency_time_limit_ms", self.random.choice([0, 1000, 100_000]))
            self.prefer("js_mem_gc_low_frequency_heap_growth", self.random.choice([105, 150]))
        if self.random.random() < 0.1:
            self.prefer("js_ion_enabled", False)
        if self.random.random() < 0.05:
            self.prefer("js_baseline_jit_enabled", False)
        if self.feature == "short-memory":
            # In MiB.
            self.prefer("js_mem_max", self.random.choice([24, 48, 96]))

    # Its pages

    def page(self, site: str) -> str:
        mix = dict(LITTLE)
        parameters = {"seed": f"{self.seed} {self.number} {self.random.getrandbits(32):x}"}
        programs = PROGRAMS.get(self.feature, {})
        if self.feature in MIXES:
            mix |= MIXES[self.feature]
        if self.feature == "leaks":
            # In Servo 0.7.0 a shared worker has no owners, so it lives, with its profilers, as long as the browser.
            del mix["shareWorker"]
            # Each run does the same work, so that the sizes can be compared.
            parameters["childTurns"] = 40
        if self.feature == ENGINE_CHANGES:
            parameters |= {"changes": self.place, "workers": 2 if self.place == "worker" else 1, "frames": 1}
        if self.feature == "profilers":
            parameters["profilers"] = 60
        if self.feature == "workers":
            parameters["workers"] = 16
        if self.feature == "frames":
            parameters["frames"] = 8
        parameters["window"] = SITES.index(site)
        parameters["with"] = json.dumps(mix, separators=(",", ":"))
        parameters["programs"] = json.dumps(programs, separators=(",", ":"))
        return f"{site}/stress/page.html?{urlencode(parameters)}"

    # What is done to it

    def add(self, what: str, at: float | None = None, **arguments):
        when = self.random.uniform(1, self.duration) if at is None else at
        self.steps.append(Step(round(when, 3), what, arguments))

    def add_steps(self, pages: int):
        everything = self.feature == "everything"
        if self.feature == "navigation" or everything or self.random.random() < 0.3:
            self.navigate(pages, self.random.randint(3, 25) if self.feature == "navigation" else 4)
        if self.feature == "kills":
            for _ in range(self.random.randint(1, 4)):
                self.add("kill", pick=self.random.random())
        if self.feature == "signals" or everything:
            self.send_signals(self.random.randint(5, 40) if self.feature == "signals" else 5)
        if self.feature == "stops" or everything:
            self.stop_and_continue(self.random.randint(3, 10) if self.feature == "stops" else 2)
        if self.feature == "starvation":
            self.starve()
        if self.feature == "recordings":
            self.record()

    def navigate(self, pages: int, times: int):
        for _ in range(times):
            what = self.random.choice(["navigate", "navigate", "replace", "reload", "back", "back", "forward", "push"])
            order = {"what": what}
            if what in ("navigate", "replace"):
                order["page"] = self.page(self.random.choice(SITES))
            self.add("order", window=self.random.randrange(pages), order=order)

    def send_signals(self, times: int):
        for _ in range(times):
            self.add(
                "signal",
                name=self.random.choice(IGNORED_SIGNALS + HANDLED_SIGNALS),
                # To one thread of the process, or to whichever the kernel chooses.
                thread=self.random.random() < 0.7,
                burst=self.random.choice([1, 1, 10, 200]),
                pick=self.random.random(),
            )

    def stop_and_continue(self, times: int):
        for _ in range(times):
            if self.random.random() < 0.5:
                stretches = self.random.choice([1, 1, 20])
                longest = 3.0 if stretches == 1 else 0.05
                self.add(
                    "stop",
                    stretches=[round(self.random.uniform(0.001, longest), 4) for _ in range(stretches)],
                    # One process, or all.
                    pick=self.random.choice([None, self.random.random()]),
                )
            else:
                self.add("stop-thread", seconds=round(self.random.uniform(0.01, 2), 3), pick=self.random.random())

    def starve(self):
        begin = self.random.uniform(0, self.duration / 2)
        self.add(
            "starve",
            at=begin,
            spinners=self.random.randint(2, 12),
            nice=self.random.choice([0, 0, 5, 19]),
            one_core=self.random.random() < 0.5,
        )
        self.add("feed", at=self.random.uniform(begin + 2, self.duration))

    def record(self):
        times = self.random.randint(2, 8)
        moments = sorted(self.random.uniform(1, self.duration) for _ in range(2 * times))
        for begin, end in zip(moments[::2], moments[1::2]):
            self.add("record", at=begin, interval=self.random.choice(["0.1", "0.5", "1", "5"]))
            self.add("end-record", at=end)
        for _ in range(self.random.randint(0, 10)):
            self.add("force-sample")

    def make_profile_command(self) -> list[str]:
        options = [f"--interval={self.random.choice(['0.1', '0.5', '1', '10'])}"]
        bound = self.random.choice(["duration", "keep-last", "until-load", "signal"])
        if bound == "duration":
            options.append(f"--duration={self.random.choice(['0.2', '2', '8'])}")
        elif bound == "keep-last":
            options.append(f"--keep-last={self.random.choice(['0.1', '3'])}")
        elif bound == "until-load":
            options.append("--until-load")
        if self.random.random() < 0.3:
            options.append(f"--long-tasks={self.random.choice(['1', '50'])}")
        options.append(f"--event-loops={self.random.choice(['all', 'main'])}")
        options.append(f"--format={self.random.choice(FORMATS)}")
        return options
