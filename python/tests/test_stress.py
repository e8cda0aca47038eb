# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import contextlib
import dataclasses
import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Iterator
from pathlib import Path
from unittest import mock
from urllib.parse import parse_qs, urlencode, urlsplit

from strobe import build, crashes, paths, quarantine
from strobe.bench.process_size import ProcessSize
from strobe.bench.sample_counts import SampleCounts
from strobe.crashes import Crash
from strobe.errors import MachError
from strobe.stress import browser as stress_browser
from strobe.stress import exemptions, plan, report, stress, watchdog
from strobe.stress.browser import Browser
from strobe.stress.changes import CONFIGURATIONS
from strobe.stress.episode import Episode, Step
from strobe.stress.plan import FEATURES, make_changes_episode, make_episode
from strobe.stress.report import Failure, Totals
from strobe.stress.watchdog import HARD_BOUND, Activity, Watchdog, read_activity
from strobe.stress.webdriver import Refused

PAGES = paths.ROOT / "tests" / "stress"

# Stands in for the browser. It sends one heartbeat as the page of the last address, and then obeys that page's path.
FAKE = """\
import http.client, json, os, signal, sys, threading, time, urllib.parse
ended = []
signal.signal(signal.SIGTERM, lambda *_: ended.append(1))
url = urllib.parse.urlsplit(sys.argv[-1])
what = url.path.rpartition("/")[2]
script = json.loads(urllib.parse.parse_qs(url.query).get("script", ["{}"])[0])
def be_named(name, barrier):
    with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w") as file:
        file.write(name)
    barrier.wait()
    time.sleep(1000)
barrier = threading.Barrier(1 + len(script.get("threads", [])))
for name in script.get("threads", []):
    threading.Thread(target=be_named, args=[name, barrier], daemon=True).start()
barrier.wait()
def tell(moment):
    for seconds, panic in script.get(moment, []):
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - seconds))
        print(f"[{stamp} ERROR strobe::crash] {panic}", file=sys.stderr, flush=True)
def leave():
    for line in script.get("says", []):
        print(line, file=sys.stderr, flush=True)
    if "signal" in script:
        signal.signal(script["signal"], signal.SIG_DFL)
        os.kill(os.getpid(), script["signal"])
    sys.exit(script.get("status", 0))
def beat(**more):
    connection = http.client.HTTPConnection("127.0.0.1", url.port)
    body = {"identity": "a", "role": "page", "window": "0", "quiet": False, "settled": False, "turns": 5,
            "counts": {"samples": 3} | script.get("counts", {}), "failures": []}
    connection.request("POST", "/beat", json.dumps(body | more))
    return json.loads(connection.getresponse().read())
if what == "leaving":
    sys.exit(3)
if what == "crashed":
    sys.exit(1)
if what != "silent":
    beat(failures=["a bent profile"] if what == "failing" else [])
if what == "crashing":
    os.kill(os.getpid(), signal.SIGSEGV)
tell("early")
if "saved" in script:
    profile = sys.argv[sys.argv.index("-o") + 1]
    open(profile, "w").close()
    os.utime(profile, times=(time.time() - script["saved"],) * 2)
if "by itself" in script:
    leave()
if what == "panicking":
    print("[2026-11-21T21:19:44Z ERROR strobe::crash] no bricks (thread a?b=c&d, x.rs:1:1)", file=sys.stderr)
if what == "counting":
    print("[2026-11-21T21:19:44Z DEBUG js_profiler::sampling_thread] SessionId(1): SampleCounts { taken: 7, missed: 1,"
          " collecting: 0, unwalkable: 0, truncated: 0 }", file=sys.stderr, flush=True)
closed = settled = quiet = False
turns = 0
while not closed and not (ended and what != "immortal"):
    time.sleep(0.01)
    if what != "silent":
        turns += 1
        counts = {"samples": 3, "turns": not quiet}
        told = beat(settled=settled and what != "restless", quiet=quiet, turns=turns, counts=counts)
        orders = [order["what"] for order in told]
        closed, settled = "close" in orders, "settle" in orders
        if "replace" in orders:
            turns, quiet = 0, "quiet" in orders
if ended and what == "sulking":
    print("strobe: no bricks", file=sys.stderr, flush=True)
    sys.exit(5)
if ended or closed:
    tell("late")
    time.sleep(script.get("pause", 0))
    leave()
"""


UNFINISHED = "strobe: the engine did not shut down within 10 s"


def episode(**members) -> Episode:
    usual = {"seed": 1, "number": 2, "feature": "programs", "duration": 0.2, "ending": "SIGTERM", "options": []}
    return Episode(**usual | {"pages": ["one.stress.test/stress/page.html?window=0&seed=1"]} | members)


class PlanTest(unittest.TestCase):
    def test_the_plan_follows_from_the_seed(self):
        first = [make_episode(7, number) for number in range(40)]
        self.assertEqual(first[::-1], [make_episode(7, number) for number in reversed(range(40))])
        self.assertNotEqual(first, [make_episode(8, number) for number in range(40)])
        # No two episodes differ only in their numbers.
        self.assertGreater(len({episode.duration for episode in first}), 30)
        pages = [re.sub(r"seed=\d+\+\d+\+", "", page) for episode in first for page in episode.pages]
        self.assertEqual(len(set(pages)), len(pages))

    def test_a_plan_as_it_was(self):
        # A seed that was printed earlier must give the same plan. If you change plans on purpose, change this, too.
        features = [make_episode(7, number).feature for number in range(8)]
        self.assertEqual(
            features,
            ["stops", "endings", "kills", "endings", "profile-command", "short-memory", "navigation", "leaks"],
        )
        first = make_episode(7, 8)
        self.assertEqual(
            (first.feature, first.duration, first.ending, first.settles), ("everything", 8.62, "SIGHUP", True)
        )
        preferences = {
            "js_profiling_base_interval_us": 500,
            "js_mem_gc_compacting_enabled": True,
            "js_mem_gc_per_zone_enabled": True,
            "js_mem_gc_malloc_threshold_base_mb": 38,
            "js_mem_gc_high_frequency_time_limit_ms": 100000,
            "js_mem_gc_low_frequency_heap_growth": 150,
        }
        options = [f"--pref={name}={json.dumps(value)}" for name, value in preferences.items()]
        self.assertEqual(first.options, ["--multiprocess", *options])
        (page,) = first.pages
        self.assertEqual(page.partition("?")[0], "one.stress.test/stress/page.html")
        query = parse_qs(urlsplit(page).query)
        self.assertEqual(query["seed"], ["7 8 318fe4d4"])
        mix = plan.LITTLE | plan.MIXES["everything"]
        self.assertEqual(json.loads(query["with"][0]), mix)
        self.assertEqual(
            [(step.at, step.what) for step in first.steps],
            [
                (1.253, "signal"),
                (1.458, "order"),
                (2.119, "stop-thread"),
                (2.89, "signal"),
                (3.171, "order"),
                (3.198, "signal"),
                (5.27, "order"),
                (5.483, "order"),
                (5.894, "signal"),
                (6.762, "signal"),
                (8.576, "stop-thread"),
            ],
        )
        burst = {"name": "SIGURG", "thread": True, "burst": 200, "pick": 0.19491579343172383}
        self.assertEqual(first.steps[8].arguments, burst)
        killed = make_episode(7, 2)
        self.assertEqual((killed.ending, len(killed.pages), len(killed.steps)), ("SIGTERM", 3, 1))

    def test_a_plan_in_another_process(self):
        script = "from strobe.stress.plan import make_episode; print(make_episode(7, 8).to_json())"
        again = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONPATH": str(paths.ROOT / "python"), "PYTHONHASHSEED": "1"},
            capture_output=True,
            text=True,
        )
        self.assertEqual(again.stdout.strip(), str(make_episode(7, 8).to_json()))

    def test_plans_differ(self):
        def plan(seed: int, number: int) -> str:
            episode = make_episode(seed, number).to_json() | {"seed": 0, "number": 0}
            # The seeds of its pages differ in any case.
            return re.sub(r"seed=[^&]*", "", json.dumps(episode))

        plans = [plan(seed, number) for seed in (7, 8, 2**32 - 1) for number in range(60)]
        self.assertEqual(len(set(plans)), len(plans))

    def test_every_feature_has_its_share(self):
        cycle = sum(FEATURES.values())
        for round_ in range(3):
            found = [make_episode(5, number).feature for number in range(round_ * cycle, (round_ + 1) * cycle)]
            self.assertEqual({feature: found.count(feature) for feature in FEATURES}, FEATURES)
        numbers = stress.wanted_episodes(5, ["kills", "leaks"])
        features = {make_episode(5, next(numbers)).feature for _ in range(6)}
        self.assertEqual(features, {"kills", "leaks"})

    def test_steps_are_possible(self):
        episodes = [make_episode(3, number) for number in range(300)]
        self.assertTrue(any(episode.multiprocess for episode in episodes))
        whats = set()
        for episode in episodes:
            times = [step.at for step in episode.steps]
            self.assertEqual(times, sorted(times))
            self.assertIn(episode.ending, plan.ENDINGS)
            if episode.feature == "kills":
                self.assertTrue(episode.multiprocess and len(episode.pages) > 1)
            for step in episode.steps:
                whats.add(step.what)
                self.assertTrue(0 <= step.arguments.get("pick", 0) < 1 if step.arguments.get("pick") else True)
                self.assertLess(step.arguments.get("window", 0), len(episode.pages))
        written = Path(stress.__file__).read_text(encoding="utf-8")
        for what in whats:
            self.assertRegex(written, rf'case .*"{what}"')
        for name in plan.IGNORED_SIGNALS + plan.HANDLED_SIGNALS:
            self.assertTrue(name == "SAMPLER" or hasattr(signal, name), name)

    def test_pages_know_all_actions_and_orders(self):
        scripts = "".join(file.read_text(encoding="utf-8") for file in PAGES.glob("*.js"))
        for mix in (plan.LITTLE, *plan.MIXES.values()):
            for action in mix:
                self.assertRegex(scripts, rf"function {action}\(")
        for kinds in plan.PROGRAMS.values():
            for kind in kinds:
                self.assertRegex(scripts, rf"(?m)^    {kind}\(make, name, callee\)")
        orders = {
            step.arguments["order"]["what"]
            for number in range(100)
            for step in make_episode(1, number).steps
            if step.what == "order"
        }
        for order in orders | {"close", "quiet", "settle"}:
            self.assertRegex(scripts, rf"(?m)^    {order}(\(|:|,)")

    def test_addresses(self):
        for number in range(50):
            for place, page in enumerate(make_episode(2, number).pages):
                site, _, path = page.partition("/")
                self.assertEqual(site, plan.SITES[place])
                self.assertTrue((paths.ROOT / "tests" / urlsplit(path).path).is_file())
                parameters = parse_qs(urlsplit(path).query, strict_parsing=True)
                self.assertEqual(parameters["window"], [str(place)])
                json.loads(parameters["with"][0])


class WatchdogTest(unittest.TestCase):
    def setUp(self):
        self.now = 100.0
        self.watchdog = Watchdog("a heartbeat", bound=10.0, clock=lambda: self.now)

    def pass_time(self, seconds: int, ran=0.0, waited=0.0, stopped=False) -> str | None:
        """Looks once a second, and returns the last verdict."""
        verdict = self.watchdog.look(self.activity(stopped))
        for _ in range(seconds):
            self.now += 1
            self.ran = getattr(self, "ran", 0) + ran
            self.waited = getattr(self, "waited", 0) + waited
            verdict = self.watchdog.look(self.activity(stopped))
        return verdict

    def activity(self, stopped: bool) -> Activity:
        return Activity(getattr(self, "ran", 0), {1: getattr(self, "waited", 0), 2: 0}, stopped)

    def test_a_process_that_could_run_but_does_nothing_hangs(self):
        self.assertIsNone(self.pass_time(10))
        verdict = self.pass_time(1)
        self.assertRegex(verdict, "^hang: a heartbeat has not come in 11 s, in 11 of which .* idle: 0.0 s")

    def test_a_process_that_runs_without_end_hangs_too(self):
        self.assertRegex(self.pass_time(11, ran=1), "busy: 11.0 s of processor time")

    def test_a_stopped_process_does_not_hang(self):
        self.assertIsNone(self.pass_time(1000, stopped=True))
        # The same is true of a stop between two looks.
        self.assertIsNone(self.pass_time(10))
        self.assertIsNotNone(self.pass_time(1))

    def test_a_process_without_a_processor_does_not_hang(self):
        self.assertIsNone(self.pass_time(50, ran=0.1, waited=0.9))
        self.assertRegex(self.pass_time(60, ran=0.1, waited=0.9), "^hang: a heartbeat has not come in 1.. s, in 1. of")

    def test_no_process_may_wait_for_ever(self):
        self.assertIsNone(self.pass_time(int(HARD_BOUND), waited=1.0))
        self.assertIsNotNone(self.pass_time(1, waited=1.0))

    def test_a_sign_of_life(self):
        for _ in range(5):
            self.assertIsNone(self.pass_time(9))
            self.watchdog.alive()
        self.assertIsNotNone(self.pass_time(11))

    def test_what_the_kernel_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            task = Path(folder) / "12" / "task" / "13"
            task.mkdir(parents=True)
            stat = "12 (a ) b) R 1 1 1 0 -1 0 0 0 0 0 " + f"{stress_ticks(3)} {stress_ticks(1)} 0 0 20 0 2 0"
            (Path(folder) / "12" / "stat").write_text(stat)
            (task / "schedstat").write_text("5000 1500000000 7\n")
            self.assertEqual(read_activity([12, 99], Path(folder)), Activity(4.0, {13: 1.5}, False))
            (Path(folder) / "12" / "stat").write_text(stat.replace(" R ", " T "))
            self.assertTrue(read_activity([12], Path(folder)).stopped)

    def test_a_real_process(self):
        program = subprocess.Popen(["sleep", "100"])
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        self.assertFalse(read_activity([program.pid]).stopped)
        program.send_signal(signal.SIGSTOP)
        os.waitpid(program.pid, os.WUNTRACED)
        self.assertTrue(read_activity([program.pid]).stopped)


def stress_ticks(seconds: int) -> int:
    return seconds * os.sysconf("SC_CLK_TCK")


class FromOutsideTest(unittest.TestCase):
    """The disturbances of a process, on a process of ours."""

    def start(self, script: str) -> Browser:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        browser = Browser([sys.executable, "-c", script], {}, folder / "log", folder)
        self.addCleanup(browser.end)
        self.log = folder / "log"
        return browser

    def wait_for(self, text: str):
        for _ in range(3000):
            if text in self.log.read_text():
                return
            threading.Event().wait(0.01)
        self.fail(f"{text} has not come: {self.log.read_text()}")

    def test_signals_go_only_where_they_do_no_harm(self):
        script = (
            "import signal, time\n"
            "signal.signal(signal.SIGUSR1, lambda *_: print('handled', flush=True))\n"
            "print('ready', flush=True)\n"
            "while True: time.sleep(0.01)\n"
        )
        browser = self.start(script)
        self.wait_for("ready")
        self.assertFalse(browser.send_if_harmless("SIGUSR2", 0.5, False, 1))
        self.assertFalse(browser.send_if_harmless("SAMPLER", 0.5, True, 1))
        self.assertTrue(browser.send_if_harmless("SIGWINCH", 0.5, True, 5))
        self.assertTrue(browser.send_if_harmless("SIGUSR1", 0.5, False, 1))
        self.wait_for("handled")
        self.assertIsNone(browser.poll())

    def start_threads(self) -> tuple[stress_browser.Browser, int]:
        """A browser, and one of its threads that is not the first."""
        script = (
            "import threading, time\n"
            "count = [0]\n"
            "def work():\n"
            "    while True: count[0] += 1; time.sleep(0.001)\n"
            "thread = threading.Thread(target=work, daemon=True); thread.start()\n"
            "print(thread.native_id, flush=True)\n"
            "while True: time.sleep(0.01)\n"
        )
        browser = self.start(script)
        self.wait_for("\n")
        return browser, int(self.log.read_text())

    def test_how_often_threads_go_to_sleep(self):
        browser, thread = self.start_threads()
        name = Path(f"/proc/{browser.pid}/task/{thread}/comm").read_text().strip()
        before = browser.switches_of(name[:4])
        self.assertEqual(set(before), {browser.pid, thread})
        while browser.switches_of(name)[thread] == before[thread]:
            self.assertIsNone(browser.poll())
        self.assertEqual(browser.switches_of("No such"), {})

    def test_what_threads_are_called_and_how_long_they_run(self):
        browser, thread = self.start_threads()
        name = Path(f"/proc/{browser.pid}/task/{thread}/comm").read_text().strip()
        self.assertIn(name, browser.thread_names())
        before = browser.processor_time_of(name)
        self.assertEqual(set(before), {browser.pid, thread})
        while browser.processor_time_of(name)[thread] == before[thread]:
            self.assertIsNone(browser.poll())
        self.assertEqual(browser.processor_time_of("No such"), {})

    def test_a_thread_that_is_held_may_be_killed(self):
        browser, thread = self.start_threads()
        killer = threading.Timer(0.1, browser.process.kill)
        killer.start()
        stress_browser.hold_thread(thread, 0.5)
        killer.join()
        self.assertEqual(browser.process.wait(10), -signal.SIGKILL)

    def test_a_thread_is_held_while_others_run(self):
        browser, thread = self.start_threads()

        def switches() -> int:
            return browser.switches_of("")[thread]

        seen = []

        def watch():
            for _ in range(3000):
                status = Path(f"/proc/{browser.pid}/task/{thread}/stat").read_text().rpartition(")")[2].split()[0]
                if status == "t":
                    seen.append(status)
                    return

        watcher = threading.Thread(target=watch)
        watcher.start()
        self.assertTrue(stress_browser.hold_thread(thread, 0.5))
        watcher.join()
        self.assertEqual(seen, ["t"])
        before = switches()
        while switches() == before:
            self.assertIsNone(browser.poll())

    def test_stretches_of_stops_end(self):
        browser = self.start("import time; time.sleep(1000)")
        browser.stop([0.01, 0.02], None)
        browser.stop([0.01], 0.0)
        self.assertFalse(read_activity([browser.pid]).stopped)

    def test_spinners_end(self):
        browser = self.start("import time; time.sleep(1000)")
        browser.starve(2, 5, True)
        spinners = list(browser._spinners)
        self.assertEqual(os.sched_getaffinity(browser.pid), {min(os.sched_getaffinity(0))})
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, browser.pid), 5)
        browser.feed()
        self.assertTrue(all(spinner.poll() is not None for spinner in spinners))
        self.assertEqual(os.sched_getaffinity(browser.pid), os.sched_getaffinity(0))

    def test_processes_of_pages(self):
        script = "import subprocess; subprocess.Popen(['sleep', '1000']); print('ready', flush=True); input()"
        browser = self.start(f"import os, time\n{script.replace('input()', 'time.sleep(1000)')}")
        self.wait_for("ready")
        (content,) = browser.content_pids()
        self.assertTrue(browser.kill_content(0.9))
        self.assertEqual(browser.killed, {content})
        browser.end()
        # The kernel may end the process a moment later.
        while browser.left_behind():
            threading.Event().wait(0.01)


class Play(stress.Play):
    """Waits until the fake has done its part, however long that takes."""

    def follow(self):
        while "silent" not in self.episode.pages[0] and self.counts.get("samples", 0) < 6:
            self.look()
            threading.Event().wait(0.01)
        super().follow()


class PlayCase(unittest.TestCase):
    """Plays episodes with the fake, whose script says what it logs and how it ends."""

    stacks = ""
    core_stacks = ""
    output = io.StringIO()

    def save_stacks(self, browser: Browser, place: Path) -> str:
        place.write_text(self.stacks)
        return self.stacks

    def keep(self, core: crashes.Core, binary: Path) -> Crash:
        # Nobody needs a core of the fake.
        core.file.unlink()
        return Crash(core.pid, core.signal, "", "  core: kept")

    def crashes(self, browser: Browser, binary: Path) -> list[Crash]:
        """The crashes, with the stack that the test wants, whether there are cores here or not."""
        found = browser.watch.crashes(browser.seen, browser.pid, browser.process.returncode, binary)
        return [dataclasses.replace(crash, stack=self.core_stacks) for crash in found]

    def play(self, what: str, script: dict | None = None, **members):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        fake = folder / "fake.py"
        fake.write_text(FAKE)
        binary = folder / "strobe"
        binary.write_text(f'#!/bin/sh\nexec {sys.executable} {fake} "$@"\n')
        binary.chmod(0o755)
        pages = [f"one.stress.test/stress/{what}?window=0&seed=1&{urlencode({'script': json.dumps(script or {})})}"]
        play = Play(episode(pages=pages, **members), binary, folder, True)
        with (
            mock.patch.object(stress, "save_stacks", self.save_stacks),
            mock.patch.object(crashes, "keep", self.keep),
            mock.patch.object(Browser, "crashes", lambda browser, binary: self.crashes(browser, binary)),
            contextlib.redirect_stdout(self.output),
        ):
            play.run()
        self.folder = folder
        return play

    def failures(self, what: str, script: dict | None = None, **members) -> list[str]:
        return [failure.what for failure in self.play(what, script, **members).failures]


class PlayTest(PlayCase):
    def test_a_browser_that_does_as_it_should(self):
        for ending, settles in (("SIGTERM", False), ("close", True), ("SIGKILL", False)):
            play = self.play("counting", ending=ending, settles=settles)
            self.assertEqual(play.counts.get("settled", 0), settles)
            self.assertEqual(play.failures, [])
            self.assertEqual(play.counts["pages"], 1)
            self.assertGreaterEqual(play.counts["samples"], 3)
            self.assertEqual(play.samples, SampleCounts(taken=7, missed=1))
            self.assertFalse(play.log.exists())

    def test_what_can_go_wrong(self):
        crashing = self.failures("crashing")
        self.assertTrue(any("was ended by signal 11 (Segmentation fault)" in failure for failure in crashing), crashing)
        self.assertTrue(any(re.match(r"crash of process \d+ by SIGSEGV\n.*core: ", one) for one in crashing), crashing)
        self.assertEqual(self.failures("leaving"), ["the browser failed with status 3 by itself"])
        self.assertEqual(self.failures("crashed"), ["the browser failed with status 1 by itself"])
        # Nothing shows that it was for lack of memory.
        self.assertEqual(
            self.failures("crashed", short_of_memory=True), ["the browser failed with status 1 by itself"]
        )
        self.assertEqual(self.failures("failing"), ["a bent profile (in a page, turn 5)"])
        self.assertEqual(self.failures("panicking"), ["a thread panicked: no bricks (thread a?..., x.rs:1:1)"])
        self.assertEqual(self.failures("sulking"), ["the browser failed with status 5: strobe: no bricks"])
        self.assertEqual(
            self.failures("unfinished", {"says": [UNFINISHED], "status": 1}),
            [f"the browser failed with status 1: {UNFINISHED}"],
        )
        # Its log is kept.
        self.assertTrue((self.folder / "1-2.log").exists())

    def test_hangs(self):
        def short(what: str, bound=None) -> Watchdog:
            # On a slow machine a page may be late.
            return Watchdog(what, bound=0.3 if "heartbeat" not in what or self.is_silent else 60)

        with mock.patch.object(stress, "Watchdog", short):
            self.is_silent = True
            (failure,) = self.play("silent", duration=1e6).failures
            self.assertRegex(failure.what, "^hang: a heartbeat of page 0 has not come")
            self.assertEqual(len(failure.saved), 2)
            self.is_silent = False
            (failure,) = self.failures("restless", settles=True)
            self.assertRegex(failure, "^hang: an answer that page 0 waits for has not come")
            (failure,) = self.failures("immortal")
            self.assertRegex(failure, "^hang: the end of the browser, for the second time")

    def test_a_debugger_that_takes_too_long_leaves_no_process_stopped(self):
        sleeper = subprocess.Popen(["sleep", "60"])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        debugger = folder / "gdb"
        debugger.write_text(f"#!/bin/sh\nkill -STOP {sleeper.pid}\nexec sleep 60\n")
        debugger.chmod(0o755)
        browser = mock.Mock(pids=lambda: [sleeper.pid])
        with mock.patch.object(crashes, "DEBUGGER_BOUND", 0.5):
            text = stress_browser.save_stacks(browser, folder / "stacks", str(debugger))
        self.assertIn("timed out after 0.5 seconds", text)
        self.assertEqual((folder / "stacks").read_text(), text)
        self.assertFalse(read_activity([sleeper.pid]).stopped)

    def test_sizes_are_taken_at_rest_after_the_same_work(self):
        with (
            mock.patch.object(stress, "LEAK_TURNS", (20, 30)),
            mock.patch.object(stress, "SAMPLER_REST", 0.01),
            mock.patch.object(stress, "settled_size", lambda pid, read: read(pid)),
        ):
            play = self.play("leaking", feature="leaks", ending="close")
        self.assertEqual(play.failures, [])
        self.assertEqual(len(play.sizes), 2)
        self.assertGreaterEqual(play.counts["turns"], 20 + 30)

    def test_orders_and_leaving(self):
        play = stress.Play(episode(), Path("strobe"), Path("."), True)
        for what in ("push", "navigate", "back"):
            play.orders[0].append({"what": what})
        beat = {"identity": "a", "role": "page", "window": "0", "quiet": False, "settled": False, "turns": 1}
        beat |= {"counts": {"samples": 2}, "failures": []}

        def answer(**more) -> list[str]:
            return [order["what"] for order in json.loads(play.on_beat(json.dumps(beat | more).encode()))]

        self.assertEqual(answer(role="worker", identity="b"), [])
        # Orders after an order to leave are for the next page.
        self.assertEqual(answer(), ["push", "navigate"])
        self.assertEqual(answer(identity="c"), ["back"])
        self.assertEqual(answer(), [])
        # All documents get the standing order, also those that a page has opened.
        play.standing = {"what": "close"}
        self.assertEqual([answer(role=role) for role in ("page", "window", "worker")], [["close"], ["close"], []])
        self.assertEqual(play.counts, {"starts": 1, "pages": 2, "workers": 1, "samples": 14})
        self.assertEqual(play.on_beat(b"{"), "[]")
        play.take_found()
        self.assertEqual(len(play.failures), 1)


FETCH = (
    "called `Result::unwrap()` on an `Err` value: Disconnected "
    "(thread {}, /a/servo-script-0.7.0-b/fetch/fetch.rs:1:2)"
)
PARENT = (
    "assertion failed: parent_proxy.currently_active().is_some() "
    "(thread Script#2, /a/servo-script-0.7.0-b/dom/window/windowproxy.rs:943:13)"
)
DENIED = "assertion failed: !obj.is_null() (thread Script#1, /a/servo-script-bindings-0.7.0-b/wrap.rs:106:13)"
NO_UNWINDING = "panic in a function that cannot unwind (thread {}, library/core/src/panicking.rs:225:5)"
RUSTS_ABORT = "Program terminated with signal SIGABRT, Aborted.\n#0  abort ()\n#1  core::panicking::panic_nounwind ()\n"
# The time of a panic long before the end.
LONG_AGO = 30
# Threads as gdb prints them.
COLLECTING = """\
Thread 45 (Thread 0x7fb4387a56c0 (LWP 18986) "{name}"):
#0  0x0000555bdb163e72 in js::GenericTracerImpl<js::gc::MarkingTracerT<1u> >::onObjectEdge(JSObject**, char const*) ()
{inside}#1  0x0000555bdb14408f in JS::Zone::traceKeptObjects(JSTracer*) ()
#2  0x0000555bdb10f606 in js::gc::GCRuntime::gcCycle(bool, JS::SliceBudget const&, JS::GCReason) ()
#3  0x0000555bdb10fda7 in js::gc::GCRuntime::collect(bool, JS::SliceBudget const&, JS::GCReason) ()
#4  0x0000555bdb1032ba in js::gc::GCRuntime::gcIfRequestedImpl(bool) ()
#5  0x0000555bdb0e5fb6 in void* js::gc::CellAllocator::AllocTenuredCellForNurseryAlloc<(js::AllowGC)1>(JSContext*) ()
#6  0x0000555bdaed1157 in js::WeakRefObject::construct(JSContext*, unsigned int, JS::Value*) ()
#7  0x000024bce297f8f9 in ?? ()

"""
WAITING = """\
Thread 56 (Thread 0x7fb3213ed6c0 (LWP 19791) "{name}"):
#0  syscall () at ../sysdeps/unix/sysv/linux/x86_64/syscall.S:38
#1  0x0000555bdd248a27 in std[e28293b1aa0f68bd]::thread::functions::park ()
{outside}#3  0x0000555bda35d560 in script::dom::workers::abstractworkerglobalscope::run_worker_event_loop::h9e7002d2 ()

"""
SAMPLER = """\
Thread 39 (Thread 0x7fb439b1d6c0 (LWP 18955) "JsSampler"):
#0  syscall () at ../sysdeps/unix/sysv/linux/x86_64/syscall.S:38
#1  0x0000555bdada54c6 in js_profiler::stop::handshake::Handshake::request::hd4180a425d164a64 ()

"""


def worker(name: object = "") -> str:
    return f"WW:http://a.test/worker.js{name}"


class ExemptionTest(PlayCase):
    """Things that look like failures, in the states in which they are excused and in others."""

    def excused(self, script: dict, **members) -> dict[str, int]:
        """Plays an episode that must have no failures, and returns the exemptions that it uses."""
        play = self.play("page", script, **members)
        self.assertEqual([failure.what for failure in play.failures], [])
        return play.excuses.hits

    def failed(self, script: dict, **members) -> list[str]:
        return self.failures("page", script, **members)

    def test_a_panic_in_its_state(self):
        self.assertEqual(self.excused({"late": [[0, FETCH.format(worker("?a=b"))]]}), {"fetch-gone": 1})
        shared = {"late": [[0, FETCH.format("S" + worker())]] * 2}
        self.assertEqual(self.excused(shared, ending="close"), {"fetch-gone": 2})

    def test_a_panic_before_its_state(self):
        (failure,) = self.failed({"early": [[LONG_AGO, FETCH.format(worker())]]})
        self.assertRegex(
            failure, r"^a thread panicked: .* \(known as fetch-gone, but only while the browser ends\)$"
        )

    def test_a_panic_while_strobe_profile_ends_by_itself(self):
        panic = [[LONG_AGO, FETCH.format(worker())]]
        with mock.patch.object(Play, "check_profile"):
            script = {"early": panic, "saved": LONG_AGO + 1}
            self.assertEqual(self.excused(script, profile_command=[]), {"fetch-gone": 1})
            (failure,) = self.failed({"early": panic, "saved": LONG_AGO - 2}, profile_command=[])
            self.assertRegex(failure, "only while the browser ends")

    def test_a_panic_of_another_thread(self):
        (failure,) = self.failed({"late": [[0, FETCH.format("Script#1")]]})
        self.assertEqual(failure, f"a thread panicked: {FETCH.format('Script#1')}")

    def test_a_panic_that_comes_too_often(self):
        cap = next(one.cap for one in exemptions.SERVO_PANICS if one.name == "fetch-gone")
        play = self.play("page", {"late": [[0, FETCH.format(worker(number))] for number in range(cap + 1)]})
        (failure,) = play.failures
        self.assertRegex(failure.what, rf"worker.js{cap}, .*no more than {cap} times in an episode\)$")
        self.assertEqual(play.excuses.hits, {"fetch-gone": cap})

    def test_a_panic_that_another_thread_gets(self):
        place = "/a/ipc-channel-0.22.0/src"
        panic = f"assertion failed: self.fd == -1 (thread router-proxy, {place}/platform/unix/mod.rs:1:1)"
        told = f"Failed to join on the router proxy thread: Any {{ .. }} (thread Constellation, {place}/router.rs:1:1)"
        self.assertEqual(
            self.excused({"late": [[0, panic], [0, told]]}), {"channel-untaken": 1, "channel-untaken-told": 1}
        )

    def test_a_frame_whose_parent_goes_away(self):
        crash = {"says": [f"strobe: http://a.test/?b,c crashed: {PARENT}"], "status": 1}
        script = crash | {"late": [[0, PARENT]], "counts": {"framesAdded": 1}}
        self.assertEqual(self.excused(script), {"frame-parent-inactive": 1})
        # The page may have been the last one.
        script |= {"early": script.pop("late"), "by itself": True}
        self.assertEqual(self.excused(script), {"frame-parent-inactive": 1, "own-end": 1})
        failures = self.failed({**script, "counts": {}})
        self.assertEqual(len(failures), 2)
        self.assertRegex(failures[0], "known as frame-parent-inactive, but only where frames were added")
        self.assertRegex(failures[1], "^the browser failed with status 1 by itself: strobe: .* crashed: assertion ")

    def test_a_process_of_pages_whose_script_thread_has_panicked(self):
        told = (
            "strobe: internal error: Failed to join on the script thread.: Any { .. } "
            "(thread main, /a/servo-0.7.0-b/servo.rs:1390:18)"
        )
        script = {"late": [[0, PARENT]], "counts": {"framesAdded": 1}, "says": [told]}
        self.assertEqual(
            self.excused(script, options=["--multiprocess"]), {"frame-parent-inactive": 1, "script-thread-told": 1}
        )
        # There is one such thread only, the panic is not known, or there is none.
        self.assertEqual(self.failed(script), [told])
        failures = self.failed({**script, "counts": {}}, options=["--multiprocess"])
        self.assertEqual(failures[1], told)
        self.assertEqual(self.failed({"says": [told]}, options=["--multiprocess"]), [told])
        # It does not explain the status of the browser.
        (failure,) = self.failed({**script, "status": 1}, options=["--multiprocess"])
        self.assertRegex(failure, "^the browser failed with status 1")

    def test_a_page_that_a_known_panic_has_left_alone(self):
        late = {"late": [[0, FETCH.format(worker())]]}
        script = late | {"says": ["strobe: http://a.test/ crashed: no bricks (thread a, x.rs:1:1)"]}
        self.assertRegex(self.failed(script | {"status": 1})[0], "^the browser failed with status 1: .* no bricks")
        self.assertRegex(self.failed(script)[0], "^strobe: .* crashed: no bricks")
        # The reason of a page's crash must be the panic.
        script = late | {"says": [f"strobe: http://a.test/ crashed: {PARENT}"], "status": 1}
        self.assertRegex(self.failed(script)[0], "^the browser failed with status 1: .* crashed: assertion failed")

    def test_a_crash_beside_a_known_panic(self):
        late = {"late": [[0, FETCH.format(worker())]]}
        failures = self.failed(late | {"signal": signal.SIGSEGV})
        self.assertTrue(any("ended by signal 11" in failure for failure in failures), failures)
        early = {"early": [[0, DENIED]], "by itself": True}
        failures = self.failed(early | {"signal": signal.SIGSEGV}, short_of_memory=True)
        self.assertTrue(any("ended by signal 11" in failure for failure in failures), failures)

    def test_panics_for_lack_of_memory(self):
        page = {"early": [[0, DENIED]], "says": [f"strobe: http://a.test/ crashed: {DENIED}"], "status": 1}
        expected = {"memory-no-object": 1, "own-end": 1}
        self.assertEqual(self.excused(page | {"by itself": True}, short_of_memory=True), expected)
        self.assertEqual(len(self.failed(page | {"by itself": True})), 2)
        self.core_stacks = RUSTS_ABORT
        early = [[0, DENIED], [0, NO_UNWINDING.format("Script#1")]]
        process = {"early": early, "signal": signal.SIGABRT, "by itself": True}
        play = self.play("page", process, short_of_memory=True)
        self.assertEqual(play.failures, [])
        self.assertEqual(play.excuses.hits, expected | {"memory-no-unwinding": 1, "memory-abort": 1})
        self.assertEqual(play.counts.get("crashes", 0), 0)
        # What is known of it is told all the same.
        self.assertRegex(self.output.getvalue(), r"with an exemption: crash of process \d+ by SIGABRT\n.*core: ")
        # The log alone excuses nothing.
        self.core_stacks = ""
        failures = self.failed(process, short_of_memory=True)
        self.assertTrue(any("ended by signal 6" in failure for failure in failures), failures)
        self.core_stacks = RUSTS_ABORT
        # In other episodes this is three failures.
        self.assertGreaterEqual(len(self.failed(process)), 3)

    def test_texts_of_denials(self):
        place = "(thread Script#1, /a/build/servo-script-bindings-0a1b/out/Bindings/ABinding.rs:1:1)"
        for text, name in (
            (f"assertion failed: !rval.get().is_null() {place}", "memory-no-object"),
            (f"assertion failed: JS_DefineProperty(cx,\n    obj, 1) {place}", "memory-call-failed"),
            (f"assertion failed: unsafe {{ JS_SetPrototype(cx) }} {place}", "memory-call-failed"),
            (f"called `Result::unwrap()` on an `Err` value: JSFailed {place}", "memory-call-failed"),
            (f"called `Result::unwrap()` on an `Err` value: () {place}", "memory-call-failed"),
            (f"cannot make a page: out of memory {place}", "memory-told"),
        ):
            self.assertEqual(self.excused({"early": [[0, text]]}, short_of_memory=True), {name: 1})

    def test_an_unknown_panic_where_memory_is_short(self):
        for text in (
            "no bricks (thread Script#1, /a/servo-script-0.7.0-b/x.rs:1:1)",
            # Panics of our own code, inside a Servo crate or outside.
            "assertion failed: !obj.is_null() (thread Script#1, /a/servo-script-0.7.0-b/dom/profiler.rs:1:1)",
            "assertion failed: !obj.is_null() (thread Script#1, components/js_profiler/x.rs:1:1)",
            # A panic without an earlier refusal of memory.
            NO_UNWINDING.format("Script#1"),
        ):
            (failure,) = self.failed({"early": [[0, text]]}, short_of_memory=True)
            self.assertTrue(failure.startswith(f"a thread panicked: {text}"), failure)
        early = [[0, DENIED], [0, NO_UNWINDING.format("Script#2")]]
        script = {"early": early, "signal": signal.SIGABRT, "by itself": True}
        self.core_stacks = RUSTS_ABORT
        failures = self.failed(script, short_of_memory=True)
        self.assertRegex(failures[0], r"^a thread panicked: .*Script#2.* in a thread that was refused memory\)$")
        self.assertTrue(any("ended by signal 6" in failure for failure in failures), failures)

    def test_aborts_for_lack_of_memory(self):
        known = exemptions.Circumstances(episode(short_of_memory=True))
        stack = "#0 abort ()\n#1 {} ()\n"
        line = "Hit MOZ_CRASH([unhandlable oom] a) at b.cpp:1"
        for told, number, function, hits in (
            ([line], signal.SIGSEGV, "js::AutoEnterOOMUnsafeRegion::crash_impl", {"memory-engine": 1}),
            (["memory allocation of 8 bytes failed"], signal.SIGABRT, "rust_oom", {"memory-allocator": 1}),
            ([NO_UNWINDING], signal.SIGABRT, "panic_cannot_unwind", {"memory-abort": 1}),
            ([NO_UNWINDING], signal.SIGSEGV, "panic_cannot_unwind", {"memory-abort": 1}),
            # Crashes by another signal, at another place, at an unknown place, and without a reason in the log.
            ([line], signal.SIGSEGV, "", {}),
            ([line], signal.SIGABRT, "js::AutoEnterOOMUnsafeRegion::crash_impl", {}),
            ([line], signal.SIGSEGV, "js::GetterSetter::setter", {}),
            ([NO_UNWINDING], signal.SIGSEGV, "js::GetterSetter::setter", {}),
            ([], signal.SIGSEGV, "js::AutoEnterOOMUnsafeRegion::crash_impl", {}),
        ):
            excuses = exemptions.Excuses()
            told = list(told)
            crash = Crash(1, number, stack.format(function) if function else "")
            self.assertEqual(excuses.judge_crash(crash, told, known), bool(hits))
            # One reason in the log excuses one process.
            self.assertFalse(excuses.judge_crash(crash, told, known))
            self.assertEqual(excuses.hits, hits)
        self.assertEqual(exemptions.denials_told(f"a\n{line}\n{NO_UNWINDING}\n"), [line])

    def test_a_process_that_was_killed(self):
        known = exemptions.Circumstances(episode(), killed={12})
        excuses = exemptions.Excuses()

        def judge(pid: int) -> str | None:
            text = f"UnregisterReporter: 'system-content-{pid}' name is unknown (thread MemoryProfiler, /a/mem.rs:1:1)"
            return excuses.judge_panic(exemptions.Panic(0.0, text), known)

        self.assertRegex(judge(13), "known as memory-reporter-unknown, but only of a process that was killed")
        self.assertIsNone(judge(12))
        self.assertRegex(judge(12), "no more than 1 times")
        self.assertTrue(excuses.judge_page_crash("Send failed (Disconnected)", [], known))
        known.keeps_cores = False
        self.assertFalse(excuses.judge_page_crash("Send failed (Disconnected)", [], known))
        known.keeps_cores, known.killed = True, set()
        self.assertFalse(excuses.judge_page_crash("Send failed (Disconnected)", [], known))
        self.assertEqual(excuses.hits, {"memory-reporter-unknown": 1, "page-process-gone": 1})

    def test_an_end_that_waits_for_a_shared_worker(self):
        script = {"says": [UNFINISHED], "status": 1, "counts": {"sharedWorkers": 1}, "threads": ["SWW:http://a"]}
        failed = [f"the browser failed with status 1: {UNFINISHED}"]
        with mock.patch.object(stress, "NAMES_INTERVAL", 0):
            self.assertEqual(self.excused(script), {"shared-worker-unended": 1})
            # Something else that runs scripts is left, no shared worker is left, or none was started.
            for other in ("WW:http://b", "Script#2"):
                self.assertEqual(self.failed(script | {"threads": ["SWW:http://a", other]}), failed)
            self.assertEqual(self.failed(script | {"threads": []}), failed)
            self.assertEqual(self.failed(script | {"counts": {}}), failed)

    def test_an_end_that_waits_for_a_message_of_a_killed_process(self):
        [exemption] = [one for one in exemptions.UNENDED if one.name == "kill-unnoticed"]
        for killed, is_idle, is_excused in (({5}, True, True), ({5}, False, False), (set(), True, False)):
            known = exemptions.Circumstances(episode(), killed=killed, ended_idly=is_idle)
            self.assertEqual(exemptions.Excuses().take(exemption, known), is_excused)

    def test_whether_a_browser_did_nothing(self):
        def was_idle(*ran: float) -> bool:
            play = stress.Play(episode(), Path("strobe"), Path("."), True)
            play.browser = mock.Mock(thread_names=lambda: {"Script#1"}, poll=lambda: None)
            with mock.patch.object(stress.time, "monotonic", side_effect=itertools.count(0, 0.5)):
                for seconds in ran:
                    play.note(Activity(seconds, {}))
            self.assertEqual(play.known.last_threads, {"Script#1"})
            return play.was_idle()

        self.assertTrue(was_idle(1, 1.1, 1.2, 1.3))
        self.assertFalse(was_idle(1, 1.4, 1.8, 2.2))
        # Only the last two seconds count. When a process ends, its time is gone.
        self.assertTrue(was_idle(1, 9, 9, 9, 9, 9, 9))
        self.assertFalse(was_idle(1, 1, 1, 1, 1, 1, 9))
        self.assertTrue(was_idle(9, 1))
        # One look says nothing.
        self.assertFalse(was_idle(1))

    def test_an_end_without_a_processor(self):
        def waiting(pids):
            return Activity(ran=0, waited={1: time.monotonic()})

        with mock.patch.object(stress, "STARVED", 0.05), mock.patch.object(stress, "read_activity", waiting):
            hits = self.excused({"says": [UNFINISHED], "status": 1, "pause": 0.2})
        self.assertEqual(hits, {"end-starved": 1})

    def test_an_end_that_had_time_though_it_also_waited_for_a_processor(self):
        def waiting(pids):
            return Activity(ran=0, waited={1: time.monotonic() / 2})

        with (
            mock.patch.object(stress, "STARVED", 0.05),
            mock.patch.object(stress, "ENDING_BOUND", 0.05),
            mock.patch.object(stress, "read_activity", waiting),
        ):
            failures = self.failed({"says": [UNFINISHED], "status": 1, "pause": 0.6}, ending="close")
        self.assertEqual(failures, [f"the browser failed with status 1: {UNFINISHED}"])

    def test_a_killed_process_excuses_one_page(self):
        play = stress.Play(episode(feature="kills", pages=["a", "b", "c"]), Path("strobe"), Path("."), True)
        play.browser = mock.Mock(pids=lambda: [], poll=lambda: None, cores=lambda: [], thread_names=lambda: set())
        play.browser.killed = {5}
        play.last_kill = time.monotonic()
        for one in play.watchdogs.values():
            one.counted = 1e6
        play.look()
        self.assertEqual(play.excuses.hits, {"page-killed": 1})
        self.assertEqual(
            [failure.what for failure in play.failures],
            [f"page {number} has sent no heartbeat since a process was killed" for number in (1, 2)],
        )

    def test_a_forced_sample_that_is_refused(self):
        refused = (
            "POST /session/1/forcesample: unknown error: 2 profiling sessions have no sample: "
            "their thread could not be sampled"
        )

        def play(times: int, error: str) -> stress.Play:
            play = stress.Play(episode(webdriver=True), Path("strobe"), Path("."), True)
            play.browser = mock.Mock(killed=set())
            play.driver = mock.Mock()
            play.driver.force_sample.side_effect = Refused(error)
            for _ in range(times):
                play.do(Step(0, "force-sample"))
            return play

        cap = exemptions.UNFORCED_SAMPLE.cap
        self.assertEqual(play(cap, refused).failures, [])
        [failure] = play(cap + 1, refused).failures
        self.assertEqual(failure.what, f"force-sample: {refused}")
        # Another error, though it is one of the same command.
        other = "POST /session/1/forcesample: no such window: it is closed"
        self.assertEqual([failure.what for failure in play(1, other).failures], [f"force-sample: {other}"])

    def test_an_exemption_excuses_one_thing(self):
        says = [UNFINISHED, "strobe: internal error: no bricks"]
        script = {"counts": {"sharedWorkers": 1}, "threads": ["SWW:http://a"], "says": says, "status": 1}
        with mock.patch.object(stress, "NAMES_INTERVAL", 0):
            self.assertEqual(self.failed(script), [f"the browser failed with status 1: {says[1]}"])
            says[1] = "strobe: a page's process cannot be recorded: no bricks"
            self.assertEqual(
                self.excused(script, options=["--multiprocess"]), {"page-process-told": 1, "shared-worker-unended": 1}
            )

    def test_messages_after_which_the_browser_goes_on_have_a_cap(self):
        of_page = "strobe: a page's process cannot be recorded: no bricks"
        for exemption, line, members in (
            (exemptions.HARMLESS[0], of_page, {"options": ["--multiprocess"]}),
            (exemptions.HARMLESS[1], "strobe: Servo: NoBricks", {}),
        ):
            name, cap = exemption.name, exemption.cap
            self.assertEqual(self.excused({"says": [line] * cap}, **members), {name: cap})
            [failure] = self.failed({"says": [line] * (cap + 1)}, **members)
            self.assertEqual(failure, f"{line} (known as {name}, but no more than {cap} times in an episode)")
        # With one process there is none of pages.
        [failure] = self.failed({"says": [of_page]})
        self.assertEqual(failure, f"{of_page} (known as page-process-told, but only in several processes)")

    def test_whether_cores_are_kept(self):
        self.assertTrue(self.play("counting").known.keeps_cores)
        with mock.patch.object(crashes, "allow_cores", side_effect=MachError("no room")):
            self.assertFalse(self.play("counting").known.keeps_cores)

    def test_an_end_before_any_page(self):
        known = {"was_ready": False}
        for exemption, members in (
            (exemptions.EARLY_SIGNAL, {"ending": "SIGHUP"}),
            (exemptions.EARLY_RECORDING, {"ending": "close", "profile_command": []}),
        ):
            excuses = exemptions.Excuses()
            self.assertTrue(excuses.take(exemption, exemptions.Circumstances(episode(**members), **known)))
            self.assertFalse(excuses.take(exemption, exemptions.Circumstances(episode(**members), **known)))
            for others, ready in (({"ending": "close"}, False), (members, True)):
                circumstances = exemptions.Circumstances(episode(**others), was_ready=ready)
                self.assertFalse(exemptions.Excuses().take(exemption, circumstances))

    def test_a_deadlock_of_servos(self):
        constellation = (
            'Thread 1 (Thread 0x1 (LWP 1) "Constellation"):\n#0 futex ()\n#1 lock_slow ()\n'
            "#2 PipelineNamespace::set_installer_sender ()\n"
        )
        worker = (
            'Thread 2 (Thread 0x2 (LWP 2) "WW:one.stress.t"):\n#0 futex ()\n#1 Channel::recv ()\n'
            "#2 PipelineNamespace::auto_install ()\n"
        )
        with mock.patch.object(
            stress, "Watchdog", lambda what, bound=None: Watchdog(what, 60 if "heartbeat" in what else 0.3)
        ):
            self.stacks = constellation + worker
            play = self.play("immortal")
            self.assertEqual((play.failures, play.excuses.hits), ([], {"namespace-deadlock": 1}))
            # With several processes it is not excused.
            self.assertEqual(len(self.failures("immortal", options=["--multiprocess"])), 1)
            # One of the two threads is not enough, and neither are other threads.
            page = worker.replace("WW:one.stress.t", "Script#1")
            for self.stacks in (constellation, worker, constellation + page):
                play = self.play("immortal")
                self.assertEqual(len(play.failures), 1)
                self.assertEqual(play.excuses.hits, {})

    def test_an_engine_that_does_nothing_but_collect_garbage(self):
        def hung(stacks: str, is_busy=True, **members) -> dict[str, int]:
            play = stress.Play(episode(**{"short_of_memory": True} | members), Path("strobe"), Path("."), True)
            verdict = f"hang: a heartbeat has not come{watchdog.BUSY if is_busy else '; it was idle: '}9 s"
            with self.assertRaises(stress.Stuck), contextlib.redirect_stdout(self.output):
                play.judge_hang(verdict, Path("stacks"), stacks)
            self.assertEqual(len(play.failures), 0 if play.excuses.hits else 1)
            return play.excuses.hits

        collecting = COLLECTING.format(name="Script#1", inside="")
        others = WAITING.format(name="WW:one.stress.t", outside="") + SAMPLER
        self.assertEqual(hung(collecting + others), {"hang-collecting": 1})
        self.assertEqual(hung(others + collecting.replace("Script#1", "SWW:one.stress")), {"hang-collecting": 1})
        # Memory is not short, or it does nothing at all.
        self.assertEqual(hung(collecting + others, short_of_memory=False), {})
        self.assertEqual(hung(collecting + others, is_busy=False), {})
        # All wait, one runs something else, or nobody knows.
        self.assertEqual(hung(others), {})
        running = 'Thread 3 (Thread 0x3 (LWP 3) "WW:one.stress.t"):\n#0  0x01 in js::RunScript ()\n'
        self.assertEqual(hung(collecting + running + others), {})
        self.assertEqual(hung('Thread 3 (Thread 0x3 (LWP 3) "Script#1"):\n'), {})
        self.assertEqual(hung("  thread 3: Script#1, futex_wait_queue, 202 0x1\n"), {})
        # The collection was asked for by something else than an allocation.
        asked = collecting.replace("CellAllocator", "Interrupt")
        self.assertEqual(hung(asked + others), {})
        # The thread waits in our code, or collects there.
        ours = "#2  0x01 in js_profiler::stop::linux::wait ()\n"
        self.assertEqual(hung(collecting + WAITING.format(name="Script#2", outside=ours)), {})
        self.assertEqual(hung(COLLECTING.format(name="Script#1", inside=ours) + others), {})
        # Whatever the sampler does.
        self.assertEqual(hung(collecting + others.replace("Handshake", "Other")), {"hang-collecting": 1})

    def test_each_says_what_it_is(self):
        names = [exemption.name for exemption in exemptions.EXEMPTIONS]
        self.assertEqual(len(set(names)), len(names))
        for exemption in exemptions.EXEMPTIONS:
            self.assertRegex(exemption.reason, r"^[A-Z].*\.$")
            self.assertGreater(exemption.cap, 0)
            self.assertFalse(exemptions.Excuses().hits)


class LeakTest(unittest.TestCase):
    def test_only_growth_beyond_the_control_counts(self):
        def sizes(*sizes):
            return [ProcessSize(*size) for size in sizes]

        control = sizes((50, 300_000, 90), (60, 1, 1), (55, 350_000, 95))
        self.assertEqual(stress.leaked(control, sizes((40, 300_000, 90), (47, 410_000, 99))), [])
        growths = stress.leaked(control, sizes((40, 300_000, 90), (48, 410_001, 100)))
        self.assertEqual(
            list(map(str, growths)),
            [
                "threads grew by 8, by 5 without profilers",
                "files grew by 10, by 5 without profilers",
                "memory grew by 110001 kB, by 50000 kB without profilers",
            ],
        )

    def test_a_leak_is_large_or_comes_again(self):
        def grown(**members: int) -> list[ProcessSize]:
            return [ProcessSize(1, 1, 1), dataclasses.replace(ProcessSize(1, 1, 1), **members)]

        none, threads, files = grown(), grown(threads=9), grown(files=9)
        memory, large = grown(memory=60_002), grown(threads=10)
        for measured, excused, expected in (
            ([none], 0, None),
            ([threads, none], 1, None),
            # Each time something else has grown.
            ([threads, files, none], 2, None),
            ([threads, files, memory], 0, "leak: threads grew by 8, .*; then files grew by 8, .*; then memory grew by"),
            ([threads, threads], 0, "leak: threads grew by 8, by 0 without profilers; then threads grew by 8, "),
            ([files, threads, files], 0, "leak: files .*; then threads .*; then files "),
            ([large], 0, "leak: threads grew by 9, by 0 without profilers$"),
        ):
            run = stress.Run(Path("strobe"), Path("."), Totals(), True)
            plays = [mock.Mock(failures=[], sizes=sizes) for size in measured for sizes in (none, size)]
            run.play = mock.Mock(side_effect=plays)
            failures = run.leaks(episode(feature="leaks"))
            self.assertEqual(len(failures), 0 if expected is None else 1, failures)
            if expected is not None:
                self.assertRegex(failures[0].what, f"^{expected}")
            self.assertEqual(run.play.call_count, len(plays))
            self.assertEqual(run.excuses.hits, {"leak-unrepeated": excused} if excused else {})


class SamplerRestTest(unittest.TestCase):
    """The sampling thread, once nothing is profiled any more."""

    def rest(self, looks: Iterator[int], worker_runs: bool | None, is_excused=True) -> mock.Mock:
        """Each of `looks` says how often the thread has gone to sleep by then. There may be a worker that runs."""

        def processor_time_of(name: str) -> dict[int, float]:
            self.assertEqual(name, stress.WORKER_THREAD)
            return {} if worker_runs is None else {2: time.monotonic() if worker_runs else 7.0}

        browser = mock.Mock(pids=lambda: [], processor_time_of=processor_time_of)
        browser.switches_of = lambda name: {1: next(looks)}
        play = mock.Mock(browser=browser)
        play.excuse.return_value = is_excused
        play.hang.side_effect = stress.Stuck
        with (
            mock.patch.object(stress, "SAMPLER_REST", 0.01),
            mock.patch.object(stress, "LOOK", 0.001),
            mock.patch.object(stress, "Watchdog", lambda what: Watchdog(what, bound=0.1)),
            contextlib.suppress(stress.Stuck),
        ):
            stress.Play.await_rest_of_sampler(play)
        return play

    def test_it_sleeps(self):
        looks = iter([7, 9, 9])
        play = self.rest(looks, worker_runs=None)
        play.hang.assert_not_called()
        play.excuse.assert_not_called()
        self.assertEqual(list(looks), [])

    def test_it_does_not_sleep(self):
        # A worker that only waits is no reason.
        for worker_runs in (None, False):
            play = self.rest(itertools.count(), worker_runs)
            self.assertRegex(play.hang.call_args.args[0], "^hang: the sleep of the sampling thread has not come")
            play.excuse.assert_not_called()

    def test_it_does_not_sleep_while_a_worker_runs(self):
        play = self.rest(itertools.count(), worker_runs=True)
        play.hang.assert_not_called()
        play.excuse.assert_called_once_with(exemptions.UNENDED_WORKER)

    def test_it_does_not_sleep_while_a_worker_runs_that_is_not_excused(self):
        play = self.rest(itertools.count(), worker_runs=True, is_excused=False)
        self.assertRegex(play.hang.call_args.args[0], "^hang: the sleep of the sampling thread has not come")


class OwnHangTest(unittest.TestCase):
    """A browser that is low on memory."""

    def failures(self, measured: list[str], control: list[str], collects: int = 0) -> list[str]:
        """`collects` says how often the stacks of the control have shown that it only collects garbage."""

        def play(run, one, profile, label=""):
            found = [Failure(1, 2, one.feature, what) for what in (measured if profile else control)]
            hits = {"hang-collecting": 1} if collects and not profile else {}
            return mock.Mock(failures=found, excuses=mock.Mock(hits=hits))

        self.totals = Totals()
        run = stress.Run(Path("strobe"), Path("."), self.totals, True)
        with mock.patch.object(stress.Run, "play", play), contextlib.redirect_stdout(io.StringIO()):
            run.episode(episode(feature="short-memory", short_of_memory=True))
        return [failure.what for failure in self.totals.failures]

    def test_a_hang_without_profilers_is_servos(self):
        x, y = f"hang: x{watchdog.BUSY}9 s", f"hang: y{watchdog.BUSY}9 s"
        self.assertEqual(self.failures([x, "crash"], [y]), ["crash"])
        self.assertEqual(self.totals.exemptions["hang-of-servos"], 1)
        self.assertEqual(self.failures([x], [], collects=1), [])
        self.assertEqual(self.totals.exemptions["hang-of-servos"], 1)

    def test_a_hang_of_a_browser_that_does_nothing_is_ours(self):
        busy, idle = f"hang: x{watchdog.BUSY}9 s", "hang: x; it was idle: 0 s"
        self.assertEqual(self.failures([idle], [idle]), [idle])
        self.assertEqual(self.failures([idle], [busy]), [idle])
        self.assertEqual(self.failures([busy], [idle]), [busy])
        self.assertEqual(self.totals.exemptions["hang-of-servos"], 0)

    def test_a_hang_only_with_profilers_is_ours(self):
        x, y = f"hang: x{watchdog.BUSY}9 s", f"hang: y{watchdog.BUSY}9 s"
        self.assertEqual(self.failures([x, "crash"], ["crash"]), [x, "crash"])
        self.assertEqual(self.failures(["crash"], [y]), ["crash"])
        # A crash of the control run is a failure in any case.
        crash = "crash of process 12 by SIGSEGV"
        self.assertEqual(self.failures([x], [crash]), [x, crash])
        self.assertEqual(self.totals.exemptions["hang-of-servos"], 0)
        self.assertEqual(self.failures([x], [y, crash]), [crash])
        self.assertEqual(self.failures(["crash"], [y]), ["crash"])
        self.assertEqual(self.totals.exemptions["hang-of-servos"], 0)


class ReportTest(unittest.TestCase):
    def test_the_table_and_the_failures(self):
        totals = Totals(samples=SampleCounts(taken=200, missed=1), seconds=90, episodes={"kills": 2})
        totals.add({"kills": 3, "pages": 5})
        totals.add({"kills": 1})
        totals.excuse({"fetch-gone": 2})
        totals.excuse({"fetch-gone": 1})
        totals.failures.append(Failure(7, 12, "kills", "crash of process 5", ["target/stress/7-12.log"]))
        text = totals.report(" --release")
        self.assertRegex(text, r"(?m)^processes of pages killed +4$")
        self.assertRegex(text, r"(?m)^documents +5$")
        self.assertRegex(text, r"(?m)^recordings|engine recordings +0$")
        self.assertRegex(text, r"(?m)^fetch-gone +3  while the browser ends$")
        self.assertRegex(text, r"(?m)^fetch-gone: A worker fetches, .*\.$")
        self.assertRegex(text, r"(?m)^own-end +0  where ")
        self.assertNotIn("own-end: ", text)
        self.assertIn("200 taken, 1 missed (0.500 %)", text)
        self.assertIn("Episodes: kills 2; 1.5 min.", text)
        self.assertTrue(
            text.endswith(
                "seed 7, episode 12 (kills): crash of process 5\n  saved: target/stress/7-12.log\n"
                "  again: ./mach stress --seed 7 --episode 12 --release"
            )
        )
        self.assertEqual(json.loads(json.dumps(totals.to_json()))["counts"], {"kills": 4, "pages": 5})
        self.assertEqual(json.loads(json.dumps(totals.to_json()))["exemptions"]["fetch-gone"], 3)


class CommandTest(unittest.TestCase):
    def stress(
        self, *, minutes=1e-9, seed=1, number=None, features=(), outcomes=((),), counts=(), profile=True
    ) -> str:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.episodes = []

        def play(run, one):
            self.episodes.append(one.number)
            run.totals.failures += outcomes[(len(self.episodes) - 1) % len(outcomes)]
            run.totals.add(dict(counts))
            run.totals.episodes = {"programs": 1}

        with (
            mock.patch.dict(os.environ, {build.BINARY_VARIABLE: sys.executable, quarantine.VARIABLE: quarantine.OFF}),
            mock.patch.object(stress.paths, "target_dir", lambda: folder),
            mock.patch.object(stress.Run, "episode", play),
            contextlib.redirect_stdout(io.StringIO()) as output,
        ):
            try:
                stress.stress(minutes, seed, number, list(features), release=False, profile=profile)
            finally:
                for figures in (folder / "stress").glob(f"seed-{seed}*.json"):
                    self.saved = json.loads(figures.read_text())
        return output.getvalue()

    def test_wrong_arguments(self):
        with self.assertRaisesRegex(MachError, "--feature dancing: no such feature; the features are programs, "):
            stress.stress(1, 1, None, ["dancing"], False)
        with self.assertRaisesRegex(MachError, "--episode needs the --seed of its plan"):
            stress.stress(1, None, 3, [], False)
        with mock.patch.dict(os.environ, {build.BINARY_VARIABLE: "/no/such"}):
            with self.assertRaisesRegex(MachError, "STROBE_BINARY=/no/such: no such program"):
                stress.stress(1, 1, None, [], False)

    def test_one_episode_of_a_seed(self):
        output = self.stress(seed=9, number=44)
        self.assertEqual(self.episodes, [44])
        self.assertIn("stress: episode 44, --seed 9, with ", output)
        self.assertEqual((self.saved["seed"], self.saved["failures"]), (9, []))

    def test_episodes_until_the_time_is_over(self):
        with mock.patch.object(stress.time, "monotonic", side_effect=[i * 20.0 for i in range(100)]):
            self.stress(minutes=2)
        self.assertEqual(self.episodes, [0, 1, 2])

    def test_failures_fail(self):
        with self.assertRaisesRegex(MachError, "1 failures, see above"):
            self.stress(number=1, outcomes=[[Failure(1, 1, "x", "crash")]])

    def test_no_sample_with_a_stack_fails(self):
        counts = {"turns": report.LEAST_TURNS + 1, "samples": 9}
        with self.assertRaisesRegex(MachError, "1 failures, see above"):
            self.stress(number=7, counts=counts)
        [failure] = self.saved["failures"]
        self.assertEqual(failure["what"], f"no sample has a stack, in {counts['turns']} turns of event loops")
        self.assertEqual((failure["episode"], failure["feature"]), (7, "programs"))
        with mock.patch.object(stress.time, "monotonic", side_effect=[i * 20.0 for i in range(100)]):
            with self.assertRaisesRegex(MachError, "1 failures, see above"):
                self.stress(minutes=2, counts=counts)
        [failure] = self.saved["failures"]
        text = Failure(**failure).text(" --release")
        self.assertRegex(text, r"^seed 1, the run \(programs\): no sample")
        self.assertTrue(text.endswith("again: ./mach stress --seed 1 --release"), text)
        self.stress(number=7, counts=counts | {"samplesWithStack": 1})
        self.stress(number=7, counts=counts, profile=False)
        # The browsers ended before their pages had begun.
        self.stress(number=7, counts=counts | {"turns": report.LEAST_TURNS})

    def test_a_configuration_of_the_engines_changes(self):
        with self.assertRaisesRegex(MachError, r"the features are .*engine-changes:100us\|1ms,page\|worker,s"):
            self.stress(features=["engine-changes:2ms,page,single"])
        with self.assertRaisesRegex(MachError, "--feature engine-changes:.* excludes other features"):
            self.stress(features=["engine-changes:1ms,worker,single", "programs"])
        counts = {"checkedReads": 1200, "checkedReads of churn": 1200, "samples": 7, "samplesWithStack": 5}
        feature = "engine-changes:100us,page,multiprocess"
        with self.assertRaisesRegex(MachError, "3 failures, see above"):
            self.stress(number=0, features=[feature], counts={"checkedReads of churn": 0})
        self.assertEqual(
            [failure["what"] for failure in self.saved["failures"]],
            ["churn has read nothing", "no value was read", "no sample has a stack"],
        )
        output = self.stress(number=0, features=[feature], counts=counts)
        self.assertIn("  churn: 1,200\n", output)
        self.assertRegex(
            output.splitlines()[-1],
            f"^{feature}: . s, 1,200 checked reads, 0 wrong values, 7 samples .5 with a stack., 0 crashes, 0 failures$",
        )


class ConfigurationTest(unittest.TestCase):
    def test_there_is_one_of_each_kind(self):
        self.assertEqual(len(CONFIGURATIONS), 8)
        options = {tuple(configuration.options()) for configuration in CONFIGURATIONS.values()}
        # Whether this happens in pages or in workers is in the pages' addresses.
        self.assertEqual(len(options), 4)

    def test_its_episodes(self):
        one = make_changes_episode(CONFIGURATIONS["engine-changes:100us,worker,multiprocess"], 3, 4)
        self.assertEqual(one, make_changes_episode(CONFIGURATIONS[one.feature], 3, 4))
        self.assertEqual(one.options, ["--pref=js_profiling_base_interval_us=100", "--multiprocess"])
        for page in one.pages:
            self.assertEqual(parse_qs(urlsplit(page).query)["changes"], ["worker"])
        one = make_changes_episode(CONFIGURATIONS["engine-changes:1ms,page,single"], 3, 4)
        self.assertNotIn("--multiprocess", one.options)
        (page,) = one.pages
        self.assertEqual(parse_qs(urlsplit(page).query)["changes"], ["page"])
