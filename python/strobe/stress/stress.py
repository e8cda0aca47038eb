# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach stress: puts a browser that stops its own threads under random stress, for minutes.

A run is a series of episodes (plan.py). Each starts a browser with pages of tests/stress and disturbs it. The
pages post heartbeats with what they have done and found, and obey the orders in the answers.
"""

import contextlib
import dataclasses
import functools
import itertools
import json
import queue
import random
import re
import signal
import tempfile
import threading
import time
from collections import deque
from pathlib import Path

from .. import asan, build, paths, process, quarantine
from ..bench.process_size import ProcessSize, read_size, settled_size
from ..bench.sample_counts import LOG_FILTER, SampleCounts, read_counts
from ..errors import MachError
from ..run import shown_from_here
from ..server import PageServer
from ..slowness import scaled
from . import changes
from .browser import Browser, free_port, is_running, save_stacks
from .changes import CONFIGURATIONS, LEAST_SECONDS
from .episode import Episode, Step
from .exemptions import (
    COLLECTING_HANG,
    CRASHED,
    EARLY_RECORDING,
    EARLY_SIGNAL,
    ENGINE_DID_NOT_SHUT_DOWN,
    HARMLESS,
    LOST_PAGE,
    NO_UNWINDING,
    OWN_END,
    OWN_HANG,
    SAYS,
    SCRIPT_THREAD_TOLD,
    UNENDED,
    UNENDED_WORKER,
    UNFORCED_SAMPLE,
    UNREPEATED_LEAK,
    WORKER_THREAD,
    Circumstances,
    Excuses,
    Exemption,
    denials_told,
    read_panics,
    said,
    without_queries,
)
from .plan import FEATURES, SITES, make_changes_episode, make_episode
from .report import Failure, Totals
from .watchdog import BOUND, BUSY, BUSY_SHARE, Activity, Watchdog, read_activity
from .webdriver import Driver, Refused

LARGEST_SEED = 2**32 - 1
# Seconds between looks at the browser.
LOOK = 0.1
# Seconds that a browser may take to end; the shell itself gives up after 10.
ENDING_BOUND = 8.0
# Seconds that it may take after it has given up.
LAST_BOUND = 30.0
# A browser that waited for a processor for this many seconds could not have ended in time.
STARVED = 2.0
# Seconds over which it is seen whether a browser does anything.
IDLE_SPAN = 2.0
# Seconds between looks at the names of its threads, of which there are dozens.
NAMES_INTERVAL = 0.5
# Seconds in which a page that survives the kill of a process must have sent a heartbeat.
KILL_BOUND = 30.0
# The most failures found by pages that count in an episode: a page can find the same one again and again.
MOST_FAILURES = 5
# Orders that a page obeys without leaving.
STAYS = ("push", "quiet")
# How much more a process may grow than without profilers.
MORE_THREADS = 2
MORE_FILES = 4
MORE_MEMORY = 60_000  # kB
LEAK_ATTEMPTS = 3
# What grows by this many times as much is a leak, even if it does so only once.
LARGE_LEAK = 4
# How many turns the page does before each measurement.
LEAK_TURNS = (100, 200, 100)
# glibc gives the system what was freed. By default it keeps more the larger the blocks are, up to some 300 MB after
# stacks of 65,536 frames: then growth says nothing about leaks.
LEAK_ENVIRONMENT = {
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": "131072",  # bytes
    "MALLOC_TRIM_THRESHOLD_": "131072",  # bytes
}

SAMPLER_THREAD = "JsSampler"
# Seconds in which the sampling thread does not wake up if there are no sessions: longer than any interval.
SAMPLER_REST = 2.0

# Messages about crashes. Only that of a main thread that joins another one may be excused.
FATAL = (f"{SAYS}internal error: ", f"{SAYS}the engine stopped unexpectedly")
# Seconds that may pass from the moment when a browser begins to end by itself until we see it: the shell gives up after
# 10 seconds, and we may be busy with something else.
OWN_ENDING_BOUND = 15.0


def stress(
    minutes: float,
    seed: int | None,
    episode: int | None,
    features: list[str],
    release: bool,
    profile: bool = True,
    sanitized: bool = False,
):
    """Runs episodes for some minutes, or one of them, and prints a report. Raises MachError for a failure.

    A feature may be a configuration of the engine's changes, and must then be the only one.
    """
    for feature in features:
        if feature not in FEATURES and feature not in CONFIGURATIONS:
            known = f"{', '.join(FEATURES)}, and {changes.FORM}"
            raise MachError(f"--feature {feature}: no such feature; the features are {known}")
    configuration = next((CONFIGURATIONS[feature] for feature in features if feature in CONFIGURATIONS), None)
    if configuration is not None and len(features) > 1:
        raise MachError(f"--feature {configuration.name} excludes other features")
    if episode is not None and seed is None:
        raise MachError("--episode needs the --seed of its plan")
    if seed is None:
        seed = random.randint(1, LARGEST_SEED)
    binary = build.find(release, sanitized=sanitized)
    folder = paths.target_dir() / "stress"
    folder.mkdir(parents=True, exist_ok=True)
    figures = folder / f"seed-{stem_of(seed, configuration.name if configuration else '')}.json"
    what = f"episode {episode}" if episode is not None else f"{minutes:g} min"
    print(f"stress: {what}, --seed {seed}, with {shown_from_here(binary)}")
    totals = Totals()
    more = " --asan" if sanitized else " --release" if release else ""
    run = Run(binary, folder, totals, profile, more, quarantine.find(binary))
    started = time.monotonic()
    plan = make_episode if configuration is None else functools.partial(make_changes_episode, configuration)
    numbers = wanted_episodes(seed, features) if configuration is None else itertools.count()
    try:
        for number in numbers if episode is None else [episode]:
            one = plan(seed, number)
            left = 60 * minutes - (time.monotonic() - started)
            if episode is None and left < (0 if configuration is None else LEAST_SECONDS):
                break
            if episode is None and configuration is not None:
                one = dataclasses.replace(one, duration=min(one.duration, left))
            run.episode(one)
            totals.seconds = time.monotonic() - started
            save(figures, binary, seed, totals)
    finally:
        totals.seconds = time.monotonic() - started
        if configuration is not None:
            missing = changes.what_was_not_done(totals, profile)
            totals.failures += [Failure(seed, episode, configuration.name, what) for what in missing]
        elif profile:
            feature = ", ".join(totals.episodes)
            totals.failures += [Failure(seed, episode, feature, what) for what in totals.what_was_not_sampled()]
        print(f"\n{totals.report(more)}\n\nThe figures are in {shown_from_here(figures)}")
        save(figures, binary, seed, totals)
    if configuration is not None:
        print(changes.summary(configuration, totals))
    if totals.failures:
        raise MachError(f"{len(totals.failures)} failures, see above")


def wanted_episodes(seed: int, features: list[str]):
    """The numbers of the episodes about these features, or of all episodes, without end."""
    number = 0
    while True:
        if not features or make_episode(seed, number).feature in features:
            yield number
        number += 1


def stem_of(seed: int, feature: str) -> str:
    """The beginning of the names of files. A configuration has its own."""
    return f"{seed}-{re.sub('[:,]', '-', feature)}" if feature in CONFIGURATIONS else str(seed)


def save(place: Path, binary: Path, seed: int, totals: Totals):
    result = {"binary": str(binary), "seed": seed, **totals.to_json()}
    place.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


class Run:
    """Runs episodes one after the other."""

    def __init__(
        self,
        binary: Path,
        folder: Path,
        totals: Totals,
        profile: bool,
        more: str = "",
        library: Path | None = None,
    ):
        self.binary = binary
        self.folder = folder
        self.totals = totals
        self.profile = profile
        # Arguments of the command that repeats an episode.
        self.more = more
        # See quarantine.py.
        self.library = library
        # Of the current episode.
        self.excuses = Excuses()

    def episode(self, episode: Episode):
        began = time.monotonic()
        self.excuses = Excuses()
        if episode.feature == "leaks":
            failures = self.leaks(episode)
        else:
            failures = self.play(episode, self.profile).failures
        if episode.short_of_memory and self.profile:
            failures = self.without_own_hangs(episode, failures)
        self.totals.excuse(self.excuses.hits)
        self.totals.add({"episodes": 1})
        self.totals.episodes[episode.feature] = self.totals.episodes.get(episode.feature, 0) + 1
        self.totals.failures += failures
        outcome = f"{len(failures)} failures" if failures else "ok"
        how = " ".join(option.removeprefix("--") for option in episode.options)
        print(f"  {episode.name}: {outcome}, {time.monotonic() - began:.0f} s, {episode.ending}; {how}")
        for failure in failures:
            print(failure.text(self.more))

    def play(self, episode: Episode, profile: bool, label: str = "") -> "Play":
        play = Play(episode, self.binary, self.folder, profile, label, self.library)
        play.run()
        self.totals.add(play.counts)
        self.totals.excuse(play.excuses.hits)
        self.totals.samples.add(play.samples)
        return play

    def without_own_hangs(self, episode: Episode, failures: list[Failure]) -> list[Failure]:
        """The failures without those hangs that also happen without profilers.

        An engine that is almost out of memory may do nothing but collect garbage. Then it is busy.
        """
        others = [failure for failure in failures if not failure.is_hang]
        if not any(failure.is_busy_hang for failure in failures):
            return failures
        control = self.play(episode, False, "-control")
        # A crash is a failure, whether it happens with profilers or without.
        crashes = [failure for failure in control.failures if failure.is_crash]
        hangs_too = COLLECTING_HANG.name in control.excuses.hits or any(
            failure.is_busy_hang for failure in control.failures
        )
        if not hangs_too or not self.excuse(OWN_HANG, episode):
            return failures + crashes
        return others + crashes

    def excuse(self, exemption: Exemption, episode: Episode) -> bool:
        """Uses an exemption for something that several plays of an episode show together."""
        return self.excuses.take(exemption, Circumstances(episode))

    def leaks(self, episode: Episode) -> list[Failure]:
        """The leaks of a browser: what grows by more than without profilers.

        What Servo keeps differs from run to run, so what grows once by little is no leak. The attempts go on until in
        one of them nothing grows.
        """
        attempts: list[list[Growth]] = []
        while len(attempts) < LEAK_ATTEMPTS:
            control = self.play(episode, False, "-control")
            measured = self.play(episode, True)
            if control.failures or measured.failures:
                return control.failures + measured.failures
            growths = leaked(control.sizes, measured.sizes)
            before = {growth.what for attempt in attempts for growth in attempt}
            attempts.append(growths)
            if not growths and all(self.excuse(UNREPEATED_LEAK, episode) for _ in attempts[:-1]):
                return []
            if any(growth.is_large or growth.what in before for growth in growths):
                break
        told = "; then ".join("; ".join(map(str, growths)) or "nothing" for growths in attempts)
        return [Failure(episode.seed, episode.number, episode.feature, f"leak: {told}")]


@dataclasses.dataclass(frozen=True)
class Growth:
    """What has grown by more than it may."""

    what: str
    grown: int
    # In the control.
    usual: int
    allowed: int

    @property
    def is_large(self) -> bool:
        return self.grown > self.usual + LARGE_LEAK * self.allowed

    def __str__(self):
        unit = " kB" if self.what == "memory" else ""
        return f"{self.what} grew by {self.grown}{unit}, by {self.usual}{unit} without profilers"


def leaked(control: list[ProcessSize], measured: list[ProcessSize]) -> list[Growth]:
    """What has grown, from the first size to the last, by more than in the control."""
    growths = []
    for name, allowed in (("threads", MORE_THREADS), ("files", MORE_FILES), ("memory", MORE_MEMORY)):
        grown, usual = (getattr(sizes[-1], name) - getattr(sizes[0], name) for sizes in (measured, control))
        if grown > usual + allowed:
            growths.append(Growth(name, grown, usual, allowed))
    return growths


def is_fatal(line: str) -> bool:
    """Whether the browser says that a page, its main thread or the engine has crashed."""
    return CRASHED in line or line.startswith(FATAL)


def why(lines: list[str]) -> str:
    return f": {lines[-1]}" if lines else ""


class Stuck(Exception):
    """The browser hangs or has failed, so that the episode cannot go on."""


class Play:
    """A run of the browser by an episode's plan."""

    def __init__(
        self,
        episode: Episode,
        binary: Path,
        folder: Path,
        profile: bool,
        label: str = "",
        library: Path | None = None,
    ):
        self.episode = episode
        self.binary = binary
        self.profile = profile
        self.library = library
        self.stem = folder / f"{stem_of(episode.seed, episode.feature)}-{episode.number}{label}"
        self.log = Path(f"{self.stem}.log")
        self.failures: list[Failure] = []
        self.counts: dict[str, int] = {"starts": 1}
        self.samples = SampleCounts()
        self.sizes: list[ProcessSize] = []
        self.browser: Browser | None = None
        self.driver: Driver | None = None
        self.lock = threading.Lock()
        # By window: the orders that its page has not yet received, and the time of its last heartbeat.
        self.orders = {window: deque() for window in range(len(episode.pages))}
        self.last_beat: dict[int, float] = {}
        # By window: the number of turns of its page.
        self.turns: dict[int, int] = {}
        self.watchdogs = {window: Watchdog(f"a heartbeat of page {window}") for window in range(len(episode.pages))}
        # The order that every page gets with each answer, and the windows whose pages have come to rest.
        self.standing: dict | None = None
        self.quiet = set()
        self.settled = set()
        self.identities: dict[str, str] = {}
        self.last_kill: float | None = None
        # Moments in the last seconds, with the processor time that the browser had taken by then, and when the names of
        # its threads were read.
        self.noted: deque[tuple[float, float]] = deque()
        self.names_noted = float("-inf")
        # The other circumstances are known at the end.
        self.known = Circumstances(episode, self.counts)
        self.excuses = Excuses()
        self.found: queue.SimpleQueue[str] = queue.SimpleQueue()

    def run(self):
        for old in self.log.parent.glob(f"{self.log.stem}.*"):
            old.unlink()
        with tempfile.TemporaryDirectory(prefix="strobe-stress-") as scratch:
            hosts = Path(scratch) / "hosts"
            hosts.write_text("".join(f"127.0.0.1 {site}\n" for site in SITES), encoding="utf-8")
            answers = {"/beat": self.on_beat}
            with PageServer(paths.ROOT / "tests", inbox="/nothing", answers=answers) as server:
                self.port = int(server.origin.rpartition(":")[2])
                self.start(Path(scratch), hosts)
                try:
                    with contextlib.suppress(Stuck):
                        self.follow()
                    self.finish()
                finally:
                    # Also if we are interrupted.
                    self.browser.end()
        if not self.failures:
            self.log.unlink(missing_ok=True)

    def start(self, scratch: Path, hosts: Path):
        episode = self.episode
        command = [str(self.binary)]
        urls = [self.url(page) for page in episode.pages]
        self.profile_file = None
        if episode.profile_command is not None:
            command.append("profile")
            self.profile_file = scratch / "profile"
            command += [*episode.profile_command, "-o", str(self.profile_file)]
        command += ["--headless", "--pref=dom_allow_scripts_to_close_windows=true", *episode.options]
        # Workers may profile, too.
        command += ["--pref=js_profiling_allow=true", "--pref=js_profiling_all_markers=true"]
        if episode.webdriver:
            port = free_port()
            command.append(f"--webdriver={port}")
            self.driver = Driver(port, self.look)
        environment = {"HOST_FILE": str(hosts), "RUST_LOG": LOG_FILTER}
        # What is kept of freed memory would look like a leak.
        environment |= LEAK_ENVIRONMENT if episode.feature == "leaks" else quarantine.preloaded(self.library)
        self.started = time.monotonic()
        self.browser = Browser([*command, *urls], environment, self.log, scratch)

    def url(self, page: str) -> str:
        site, _, path = page.partition("/")
        origins = json.dumps([f"http://{other}:{self.port}" for other in SITES if other != site])
        more = f"&origins={origins.replace(' ', '')}" + ("" if self.profile else "&profile=no")
        return f"http://{site}:{self.port}/{path}{more}"

    # Heartbeats, on threads of the server

    def on_beat(self, body: bytes) -> str:
        try:
            beat = json.loads(body)
        except ValueError:
            self.found.put(f"a heartbeat that is not JSON: {body[:100]!r}")
            return "[]"
        with self.lock:
            if beat["identity"] not in self.identities:
                self.identities[beat["identity"]] = beat["role"]
                self.count("workers" if beat["role"] == "worker" else "pages")
            for name, number in beat["counts"].items():
                self.count(name, number)
            for failure in beat["failures"]:
                self.found.put(f"{failure.strip()} (in a {beat['role']}, turn {beat['turns']})")
            standing = [] if self.standing is None else [self.standing]
            if beat["role"] != "page":
                # The page that opened the window, which would pass it orders, may be gone.
                return json.dumps(standing if beat["role"] == "window" else [])
            window = int(beat["window"])
            self.last_beat[window] = time.monotonic()
            if beat["quiet"]:
                self.quiet.add(window)
            else:
                self.turns[window] = beat["turns"]
            if beat["settled"]:
                self.settled.add(window)
            orders = list(self.orders[window])
            # Orders after an order to leave are for the next page.
            for at, order in enumerate(orders):
                if order["what"] not in STAYS:
                    orders = orders[: at + 1]
                    break
            for order in orders:
                self.orders[window].popleft()
                if order["what"] not in STAYS and self.known.left is None:
                    self.known.left = time.time()
            return json.dumps(orders + standing)

    def count(self, name: str, number: int = 1):
        self.counts[name] = self.counts.get(name, 0) + number

    # The plan

    def follow(self):
        episode = self.episode
        if episode.feature == "leaks":
            self.measure_leaks()
            return
        if self.driver is not None:
            self.begin_session()
        for step in episode.steps:
            self.wait_until(step.at)
            self.do(step)
        # A recording may end earlier by itself.
        self.wait_until(episode.duration, or_end=episode.profile_command is not None)
        if episode.settles:
            self.settle()

    def wait_until(self, at: float, or_end: bool = False):
        while time.monotonic() - self.started < at:
            if or_end and self.browser.poll() is not None:
                return
            self.look()
            time.sleep(min(LOOK, max(0.0, at - (time.monotonic() - self.started))))

    def look(self):
        """Checks that the browser runs and does not hang, and raises Stuck otherwise."""
        browser = self.browser
        pids = browser.pids()
        has_ended = browser.poll() is not None
        self.take_found()
        if has_ended or self.has_crashed():
            raise Stuck
        activity = read_activity(pids)
        self.note(activity)
        with self.lock:
            last_beat = dict(self.last_beat)
        for window, watchdog in list(self.watchdogs.items()):
            if watchdog.last_seen != (seen := last_beat.get(window)):
                watchdog.last_seen = seen
                watchdog.alive()
            verdict = watchdog.look(activity)
            if self.may_be_lost(seen):
                # Servo notices a lost page only when it has a message for it.
                if watchdog.counted > scaled(KILL_BOUND):
                    del self.watchdogs[window]
                    if self.excuse(LOST_PAGE):
                        self.known.lost_pages += 1
                    else:
                        self.fail(f"page {window} has sent no heartbeat since a process was killed")
            elif verdict is not None:
                self.hang(verdict)

    def note(self, activity: Activity):
        """Notes what the browser does, in case it ends before the next look."""
        now = time.monotonic()
        self.noted.append((now, activity.ran))
        while now - self.noted[0][0] > IDLE_SPAN:
            self.noted.popleft()
        if now - self.names_noted >= NAMES_INTERVAL:
            names = frozenset(self.browser.thread_names())
            # A browser that is just ending may have only some of its threads.
            if self.browser.poll() is None:
                self.known.last_threads, self.names_noted = names, now

    def was_idle(self) -> bool:
        """Whether the browser did nothing in the last seconds in which it was seen."""
        if len(self.noted) < 2:
            return False
        (first, ran_before), (last, ran) = self.noted[0], self.noted[-1]
        return ran - ran_before <= (last - first) * BUSY_SHARE

    def has_crashed(self) -> bool:
        """Whether a process of a page has crashed, whose page will send no more heartbeats."""
        return not self.episode.short_of_memory and any(not is_running(core.pid) for core in self.browser.cores())

    def may_be_lost(self, last_beat: float | None) -> bool:
        return self.last_kill is not None and (last_beat is None or last_beat < self.last_kill + 1)

    def take_found(self):
        with contextlib.suppress(queue.Empty):
            while True:
                found = self.found.get_nowait()
                if len(self.failures) < MOST_FAILURES:
                    self.fail(found)

    def excuse(self, exemption: Exemption) -> bool:
        self.known.killed = self.browser.killed
        return self.excuses.take(exemption, self.known)

    def fail(self, what: str, saved: list[Path] = ()):
        if what not in (failure.what for failure in self.failures):
            places = [shown_from_here(place) for place in (*saved, self.log)]
            episode = self.episode
            self.failures.append(Failure(episode.seed, episode.number, episode.feature, what, places))

    def hang(self, verdict: str):
        place = Path(f"{self.stem}.stacks.txt")
        self.judge_hang(verdict, place, save_stacks(self.browser, place))

    def judge_hang(self, verdict: str, place: Path, stacks: str):
        is_excused = self.excuses.judge_deadlock(stacks, self.known) or (
            BUSY in verdict and self.excuses.judge_collections(stacks, self.known)
        )
        if is_excused:
            print(f"  {self.episode.name}: with an exemption: {verdict}; {shown_from_here(place)}")
        else:
            self.fail(verdict, [place])
        raise Stuck

    def do(self, step: Step):
        browser, arguments = self.browser, step.arguments
        match step.what:
            case "order":
                order = dict(arguments["order"])
                if "page" in order:
                    order["url"] = self.window_url(order.pop("page"), arguments["window"])
                with self.lock:
                    self.orders[arguments["window"]].append(order)
            case "signal":
                if browser.send_if_harmless(**arguments):
                    self.count("signals", arguments["burst"])
            case "kill":
                if browser.kill_content(arguments["pick"]):
                    self.last_kill = time.monotonic()
                    self.count("kills")
            case "stop":
                browser.stop(**arguments)
                self.count("stops", len(arguments["stretches"]))
            case "stop-thread":
                self.count("threadStops", browser.stop_thread(**arguments))
            case "starve":
                browser.starve(**arguments)
                self.count("starvations")
            case "feed":
                browser.feed()
            case "record" | "end-record" | "force-sample":
                self.do_by_driver(step)

    def window_url(self, page: str, window: int) -> str:
        """The address of a page of any site that is to open in a window."""
        url = self.url(page)
        return url.replace(f"window={SITES.index(page.partition('/')[0])}&", f"window={window}&")

    def begin_session(self):
        try:
            self.driver.begin()
        except (MachError, Refused) as error:
            self.look()
            self.fail(f"no WebDriver session: {error}")
            raise Stuck from None

    def do_by_driver(self, step: Step):
        try:
            match step.what:
                case "record":
                    self.driver.ask(f"start?interval={step.arguments['interval']}&")
                case "end-record":
                    answer = self.driver.ask("stop?")
                    if "recording" not in answer:
                        self.fail(f"a recording could not be stopped: {answer}")
                        return
                    self.count("recordings")
                    self.driver.ask(f"forget?id={answer['recording']}&")
                case "force-sample":
                    self.driver.force_sample()
                    self.count("forcedSamples")
        except Refused as error:
            is_known = step.what == "force-sample" and UNFORCED_SAMPLE.pattern.search(str(error))
            if not is_known or not self.excuse(UNFORCED_SAMPLE):
                self.fail(f"{step.what}: {error}")
        except MachError as error:
            # The browser has ended, or does not answer.
            self.look()
            self.fail(f"{step.what}: {error}")

    def measure_leaks(self):
        """Measures the size of the browser after each stretch of work, when everything has ended."""
        for turns in LEAK_TURNS:
            self.await_turns(turns)
            self.become_quiet()

            def read(pid: int) -> ProcessSize:
                self.look()
                return read_size(pid)

            self.sizes.append(settled_size(self.browser.pid, read=read))
            self.await_rest_of_sampler()
            self.do(Step(0, "order", {"window": 0, "order": {"what": "replace", "page": self.episode.pages[0]}}))

    def await_turns(self, turns: int):
        """Waits until the first page has done this many turns. A turn is the same work with profilers and without."""
        self.turns[0] = 0
        while self.turns[0] < turns:
            self.look()
            time.sleep(LOOK)

    def await_rest_of_sampler(self):
        """Waits until the sampling thread sleeps, because every document that began a profiler is gone.

        The thread itself stays as long as an event loop that was profiled.
        """
        watchdog = Watchdog("the sleep of the sampling thread")
        before = None
        ran = self.browser.processor_time_of(WORKER_THREAD)
        while before != (switches := self.browser.switches_of(SAMPLER_THREAD)):
            before = switches
            rest_ends = time.monotonic() + SAMPLER_REST
            while time.monotonic() < rest_ends:
                self.look()
                if verdict := watchdog.look(read_activity(self.browser.pids())):
                    now = self.browser.processor_time_of(WORKER_THREAD)
                    # A worker that waits for messages is not the reason.
                    busy = sum(seconds - ran.get(thread, 0.0) for thread, seconds in now.items())
                    if busy <= watchdog.elapsed * BUSY_SHARE or not self.excuse(UNENDED_WORKER):
                        self.hang(verdict)
                    return
                time.sleep(LOOK)

    def settle(self):
        """Waits until everything that the pages asked for has been answered."""
        self.browser.feed()
        self.standing = {"what": "settle"}
        watchdogs = {window: Watchdog(f"an answer that page {window} waits for") for window in self.watchdogs}
        while waiting := self.watchdogs.keys() - self.settled:
            self.look()
            activity = read_activity(self.browser.pids())
            for window in waiting:
                if verdict := watchdogs[window].look(activity):
                    self.hang(verdict)
            time.sleep(LOOK)
        self.count("settled")

    def become_quiet(self):
        with self.lock:
            self.quiet.clear()
            for window, orders in self.orders.items():
                orders.append({"what": "quiet"})
                orders.append({"what": "replace", "url": self.url(self.episode.pages[window]) + "&quiet=yes"})
        watchdog = Watchdog("the end of everything that the pages started")
        while not self.quiet:
            self.look()
            if verdict := watchdog.look(read_activity(self.browser.pids())):
                self.hang(verdict)
            time.sleep(LOOK)

    # The end

    def finish(self):
        browser, known = self.browser, self.known
        # This notes all processes before they end.
        browser.pids()
        known.was_ready = bool(self.last_beat)
        status = browser.poll()
        has_ended = status is not None
        try:
            if has_ended:
                known.ending = time.time() - scaled(OWN_ENDING_BOUND)
            elif not self.has_crashed():
                status = self.end_browser()
        except Stuck:
            pass
        finally:
            if known.ending is None:
                known.ending = time.time()
            if (saved := self.profile_saved()) is not None:
                known.ending = min(known.ending, saved)
            browser.end()
        known.killed = browser.killed
        known.ended_idly = self.was_idle()
        known.keeps_cores = browser.watch.no_core is None
        known.lost_all_pages = all(self.may_be_lost(self.last_beat.get(window)) for window in self.orders)
        self.take_found()
        self.await_processes()
        log = self.read_output()
        for report in asan.reports(log):
            self.fail(f"a sanitizer found an error: {report}")
        excused = self.judge_panics(log)
        has_aborted = self.judge_crashes(log, excused)
        explained, unexplained = self.judge_said(log, excused)
        if has_ended:
            self.check_own_end(status, explained, unexplained, has_aborted)
        elif status is not None:
            self.check_status(status, explained, unexplained, has_aborted)
        if status in (None, 0) and (fatal := [line for line in unexplained if is_fatal(line)]):
            self.fail(fatal[0])
        self.read_samples(log)
        if self.profile_file is not None and not self.failures:
            self.check_profile()

    def profile_saved(self) -> float | None:
        """When `strobe profile` has saved the profile. From then on it ends by itself, perhaps before we tell it to."""
        if self.profile_file is None or not self.profile_file.exists():
            return None
        return self.profile_file.stat().st_mtime

    def end_browser(self) -> int:
        """Ends the browser as the plan says, and waits for its exit."""
        browser, ending = self.browser, self.episode.ending
        self.known.ending = time.time()
        browser.feed()
        if self.episode.profile_command is not None:
            # `strobe profile` would end a recording whose page closes, so the browser gets a signal instead.
            browser.send("SIGINT" if ending == "close" else ending)
        elif self.driver is not None and ending == "close":
            self.driver.attend = self._attend_end
            try:
                self.driver.command("DELETE", f"/session/{self.driver.session}/servo/shutdown", None)
            except (MachError, Refused):
                # The browser has ended before its answer, or there is no session.
                browser.send("SIGTERM")
        elif ending == "close" and self.last_kill is None:
            self.standing = {"what": "close"}
        else:
            browser.send("SIGTERM" if ending == "close" else ending)
        closes = ending == "close" and self.driver is None and self.episode.profile_command is None
        bound = BOUND if closes else ENDING_BOUND if self.last_kill is None else LAST_BOUND
        watchdog = Watchdog("the end of the browser", bound=bound)
        place = Path(f"{self.stem}.stacks.txt")
        stacks = None
        while (status := browser.poll()) is None:
            activity = read_activity(browser.pids())
            self.note(activity)
            if verdict := watchdog.look(activity):
                if stacks is not None:
                    self.judge_hang(verdict, place, stacks)
                stacks = save_stacks(browser, place)
                watchdog = Watchdog("the end of the browser, for the second time", bound=LAST_BOUND)
            time.sleep(LOOK / 2)
        # Otherwise it could have run for long enough to end, though it also waited.
        had_no_time = watchdog.counted <= scaled(ENDING_BOUND)
        self.known.was_starved = stacks is None and had_no_time and watchdog.elapsed - watchdog.counted >= STARVED
        return status

    def _attend_end(self):
        if self.browser.poll() is not None:
            raise MachError("the browser has ended")

    def await_processes(self):
        browser = self.browser
        deadline = time.monotonic() + scaled(LAST_BOUND)
        while (left := browser.left_behind()) and time.monotonic() < deadline:
            time.sleep(LOOK)
        if left:
            self.fail(f"processes of pages outlive the browser: {left}")

    def read_output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def judge_panics(self, log: str) -> list[str]:
        """The excused panics of threads. The others become failures."""
        excused = []
        for panic in read_panics(log):
            if problem := self.excuses.judge_panic(panic, self.known):
                self.fail(problem)
            else:
                excused.append(panic.text)
        return excused

    def judge_crashes(self, log: str, excused: list[str]) -> bool:
        """Whether the crash of the browser's own process is excused. Each crash that is not excused is a failure.

        What is known of a crash is kept and printed in any case.
        """
        browser = self.browser
        told = [*denials_told(log), *(text for text in excused if NO_UNWINDING.match(text))]
        has_aborted = False
        # When a process is gone, the kernel has written its core.
        for crash in browser.crashes(self.binary):
            if self.excuses.judge_crash(crash, told, self.known):
                has_aborted |= crash.pid == browser.pid
                print(f"  {self.episode.name}: with an exemption: {crash}")
                continue
            self.count("crashes")
            self.fail(str(crash))
        return has_aborted

    def judge_said(self, log: str, excused: list[str]) -> tuple[list[str], list[str]]:
        """The errors that the browser reports: those that are excused, and those that are not."""
        explained, unexplained = [], []
        for line in said(log):
            page, crashed, reason = line.partition(CRASHED)
            if crashed:
                is_excused = self.excuses.judge_page_crash(without_queries(reason), excused, self.known)
            elif ENGINE_DID_NOT_SHUT_DOWN in line:
                is_excused = any(self.excuse(exemption) for exemption in UNENDED)
            elif told := next((one for one in HARMLESS if one.pattern.search(line)), None):
                if problem := self.excuses.refuse(told, self.known):
                    self.fail(f"{line} ({problem})")
                continue
            elif SCRIPT_THREAD_TOLD.pattern.search(line) and self.excuse(SCRIPT_THREAD_TOLD):
                continue
            else:
                is_excused = False
            (explained if is_excused else unexplained).append(line)
        return explained, unexplained

    def check_own_end(self, status: int, explained: list[str], unexplained: list[str], has_aborted: bool):
        """Checks an end that we did not ask for. It is right if no page is left, or if the recording has ended."""
        is_expected = has_aborted or status == 0 or (status == 1 and explained and not unexplained)
        if not is_expected and status == 1 and not any(is_fatal(line) for line in unexplained):
            # A recording may end before its page has come.
            is_expected = self.excuse(EARLY_RECORDING)
        if self.episode.profile_command is None:
            is_expected = is_expected and self.excuse(OWN_END)
        if not is_expected:
            what = process.describe_status(status) if status else "ended"
            self.fail(f"the browser {what} by itself{why(unexplained)}")

    def check_status(self, status: int, explained: list[str], unexplained: list[str], has_aborted: bool):
        """Checks the status of a browser that was told to end."""
        episode = self.episode
        by_kill = episode.ending == "SIGKILL"
        is_expected = has_aborted or status == (-signal.SIGKILL if by_kill else 0)
        if by_kill and episode.profile_command is not None:
            # It may have ended before the signal.
            is_expected = is_expected or status == 0
        if not is_expected and status == 1 and not unexplained:
            is_expected = explained or self.excuse(EARLY_SIGNAL)
        if not is_expected and status in (-signal.SIGHUP, -signal.SIGINT, -signal.SIGTERM):
            is_expected = self.excuse(EARLY_SIGNAL)
        if not is_expected and status == 1 and not any(is_fatal(line) for line in unexplained):
            is_expected = self.excuse(EARLY_RECORDING)
        if not is_expected:
            self.fail(f"the browser {process.describe_status(status)}{why(unexplained)}")

    def read_samples(self, log: str):
        """Adds the sampler's counts in the log."""
        for line in log.splitlines():
            if counts := read_counts(line):
                self.samples.add(counts)

    def check_profile(self):
        """Checks that `strobe convert` can read the recording."""
        if self.episode.ending == "SIGKILL" or not self.known.was_ready:
            return
        files = [self.profile_file, *sorted(self.profile_file.parent.glob("profile*"))]
        file = next((file for file in files if file.is_file()), None)
        if file is None:
            self.fail("strobe profile has written no file")
            return
        form = next(option for option in self.episode.profile_command if option.startswith("--format="))
        command = [str(self.binary), "convert", f"--from={form.partition('=')[2]}", str(file), "-", "--to=collapsed"]
        self.count("recordings")
        if process.output(command) is None:
            kept = Path(f"{self.stem}.profile")
            kept.write_bytes(file.read_bytes())
            self.fail(f"`strobe convert` cannot read what strobe profile has written: {kept}")
