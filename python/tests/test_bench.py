# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import contextlib
import copy
import io
import itertools
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

from strobe import paths, process_tree
from strobe.bench import (
    accuracy,
    bench,
    browsers,
    busy,
    figures,
    generated_page,
    generated_script,
    hooks,
    machine,
    measurement,
    performance_docs,
    process_size,
    real,
    sample_counts,
    soak,
    stops,
    visits,
    workers,
)
from strobe.bench.figures.report import Limit, Report, judge
from strobe.bench.figures.trimmed import trimmed, trimmed_error
from strobe.bench.measurement import Measurement, read_measurement
from strobe.bench.process_size import ProcessSize
from strobe.bench.sample_counts import SampleCounts, StopDurations, read_counts, read_reasons, read_stops
from strobe.bench.turns import Turns
from strobe.errors import MachError
from strobe.setup import upstream

PREFIX = "[2026-01-31T12:00:00Z DEBUG js_profiler::sampling_thread] "
COUNTS = "SampleCounts { taken: 1200, missed: 3, collecting: 40, unwalkable: 1, truncated: 7 }"
STOPPED = "EventLoopId({}): stood still {} times, ns: median 1234, 99th percentile 5678, longest 91011"
# Logs what the arguments say, loads the page, stops at a checkpoint, posts and ends with a status.
FAKE_BROWSER = """\
#!{python}
import os, sys, urllib.request
from urllib.parse import urljoin

if sys.argv[1:] == ["--version"]:
    print("strobe 0.1.0 (Servo 0.7.0, SpiderMonkey 153.6.0)")
    sys.exit()
*flags, url = sys.argv[1:]
assert flags[:3] == ["--headless", "--pref", "js_profiling_allow=true"], flags
assert "js_profiler=debug" in os.environ["RUST_LOG"]
post = lambda path, body: urllib.request.urlopen(urllib.request.Request(urljoin(url, path), body, method="POST"))
post("/checkpoint/start", b"")
sys.stderr.write({log!r})
if {body!r}:
    post("/result", {body!r}.encode())
sys.exit({status})
"""


class SampleCountsTest(unittest.TestCase):
    def test_the_line_of_a_finished_session(self):
        self.assertEqual(read_counts(f"{PREFIX}SessionId(3): {COUNTS}\n"), SampleCounts(1200, 3, 40, 1, 7))
        # A count more changes nothing, and the order neither.
        reordered = "SampleCounts { truncated: 7, idle: 9, taken: 1200, missed: 3, unwalkable: 1, collecting: 40 }"
        self.assertEqual(read_counts(f"{PREFIX}SessionId(12): {reordered}"), SampleCounts(1200, 3, 40, 1, 7))

    def test_other_lines(self):
        for line in (f"{PREFIX}EventLoopId(1): 2 timed walks", "", "SampleCounts"):
            self.assertIsNone(read_counts(line))
        with self.assertRaises(KeyError):
            read_counts("SessionId(3): SampleCounts { taken: 1 }")

    def test_the_line_of_reasons(self):
        reasons = '{"a stub has no frame": 2, "the thread is on another stack": 11}'
        line = f"{PREFIX}EventLoopId(1): unwalkable: {reasons}\n"
        self.assertEqual(read_reasons(line), {"a stub has no frame": 2, "the thread is on another stack": 11})
        self.assertEqual(read_reasons(f"{PREFIX}SessionId(3): {COUNTS}"), {})

    def test_the_line_of_stops(self):
        line = f"[2026-01-31T12:00:00Z DEBUG js_profiler::sampled_thread::durations] {STOPPED.format(1, 9876)}\n"
        self.assertEqual(read_stops(line), StopDurations(9876, 1234, 5678, 91011))
        for other in (f"{PREFIX}SessionId(3): {COUNTS}", 'EventLoopId(1): unwalkable: {"stood still 2 times": 2}', ""):
            self.assertIsNone(read_stops(other))
        self.assertIsNone(read_counts(line))
        self.assertEqual(read_reasons(line), {})

    def test_logged_lines(self):
        self.assertRegex(f"{PREFIX}EventLoopId(1): 2 sessions", sample_counts.LOGGED)
        self.assertRegex("[2026-01-31T12:00:00Z ERROR script] x", sample_counts.LOGGED)
        for line in ("strobe: oh", "[x] y", "a [2026-01-31T12:00:00Z ERROR script] x"):
            self.assertNotRegex(line, sample_counts.LOGGED)

    def test_sums_and_shares(self):
        counts = SampleCounts(1200, 3, 40, 1, 7)
        counts.add(SampleCounts(taken=800, unwalkable=3))
        self.assertEqual(counts, SampleCounts(2000, 3, 40, 4, 7))
        self.assertEqual(counts.share("unwalkable"), 0.2)
        self.assertEqual(SampleCounts().share("missed"), 0)


class ProcessSizeTest(unittest.TestCase):
    def test_of_this_process(self):
        before = process_size.read_size(os.getpid())
        with open(os.devnull):
            after = process_size.read_size(os.getpid())
        self.assertEqual(after.files, before.files + 1)
        with socket.create_server(("127.0.0.1", 0)):
            self.assertEqual(process_size.read_size(os.getpid()).files, before.files)
        self.assertGreaterEqual(before.threads, 1)
        self.assertGreater(before.memory, 1000)

    def test_of_none(self):
        with tempfile.TemporaryDirectory() as proc, self.assertRaisesRegex(MachError, "/7: No such file"):
            process_size.read_size(7, Path(proc))

    def settle(self, *sizes: ProcessSize) -> tuple[ProcessSize, float]:
        """The settled size, and after how long, of a process with one size after the other."""
        now = 0.0
        sizes = list(sizes)

        def sleep(seconds):
            nonlocal now
            now += seconds

        def read(_):
            return sizes.pop(0) if len(sizes) > 1 else sizes[0]

        return process_size.settled_size(1, read, lambda: now, sleep), now

    def test_it_settles(self):
        falling = [ProcessSize(threads, 5000 - threads, 30) for threads in (9, 8, 8, 7)]
        self.assertEqual(self.settle(*falling), (falling[-1], process_size.QUIET + 3 * process_size.INTERVAL))
        # Memory alone does not keep it waiting.
        self.assertEqual(self.settle(*(ProcessSize(5, memory, 30) for memory in range(99)))[1], process_size.QUIET)
        restless = [ProcessSize(5, 0, files) for files in range(9999)]
        self.assertEqual(self.settle(*restless)[1], process_size.BOUND)

    def test_the_table(self):
        text = process_size.size_table({"start": ProcessSize(20, 250_000, 90), "end": ProcessSize(21, 1_000, 91)})
        self.assertEqual(
            text.split("\n"),
            ["browser     start  end", "threads        20   21", "memory, MB    256    1", "files          90   91"],
        )


class MeasurementTest(unittest.TestCase):
    def measure(self, log: str, body: str, status: int = 0):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        browser = Path(scratch.name) / "browser"
        browser.write_text(FAKE_BROWSER.format(python=sys.executable, log=log, body=body, status=status))
        browser.chmod(0o755)
        self.saved = Path(scratch.name) / "bench" / "soak.json"
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), mock.patch.object(process_size, "QUIET", 0.0):
            measured = measurement.measure(browser, "/soak/soak.html?minutes=1", {"js_x": "1"}, 60.0, self.saved)
        return measured, errors.getvalue()

    def test_a_visit(self):
        stopped = [STOPPED.format(group, count) for group, count in enumerate((20, 300, 4))]
        lines = (f"SessionId(1): {COUNTS}", 'EventLoopId(1): unwalkable: {"a": 2}', f"SessionId(2): {COUNTS}", *stopped)
        log = "strobe: oh\n" + "".join(f"{PREFIX}{line}\n" for line in lines)
        measured, errors = self.measure(log, '{"rounds": 3}')
        self.assertEqual((measured.result, measured.failure), ({"rounds": 3}, None))
        self.assertEqual((measured.sessions, measured.counts.taken, measured.reasons), (2, 2400, {"a": 2}))
        self.assertEqual(measured.stops, StopDurations(300, 1234, 5678, 91011))
        self.assertEqual((errors, measured.failures()), ("strobe: oh\n", []))
        self.assertGreater(measured.sizes["start"].memory, 0)
        saved = json.loads(self.saved.read_text())
        self.assertEqual((saved["counts"]["unwalkable"], saved["sizes"]["start"]["threads"]), (2, 1))
        self.assertEqual(self.saved.with_suffix(".log").read_text(), log)
        self.assertEqual(saved["browsers"][0]["version"], "0.1.0")
        self.assertEqual(read_measurement(saved), measured)
        # As it was saved before there was a clock of stops.
        del saved["stops"]
        self.assertIsNone(read_measurement(saved).stops)

    def test_a_failure_keeps_what_there_is(self):
        measured, _ = self.measure(f"SessionId(1): {COUNTS}\n", "", status=3)
        self.assertEqual((measured.result, measured.counts.taken, measured.stops), (None, 1200, None))
        self.assertEqual(measured.failure, "the browser failed with status 3 before the page's result")
        self.assertEqual(measured.failures(), [measured.failure])
        measured, _ = self.measure("", '{"error": "no"}')
        self.assertEqual(measured.failure, "/soak/soak.html could not be profiled: no")

    def test_a_panic_is_a_failure(self):
        measured, _ = self.measure("[2026-01-31T12:00:00Z ERROR strobe::crash] oh (thread a, b.rs:1:2)\n", "{}")
        self.assertEqual(measured.failures(), ["1 threads panicked, the first: oh (thread a, b.rs:1:2)"])

    def test_limits_that_are_missed(self):
        saved = Path("x.json")
        with contextlib.redirect_stdout(io.StringIO()) as output:
            measurement.finish("a table", [], saved)
            with self.assertRaisesRegex(MachError, "^2 of the limits missed:\n  a\n  b$"):
                measurement.finish("a table", ["a", "b"], saved)
        self.assertIn("\na table\n", output.getvalue())


class SoakTest(unittest.TestCase):
    LOOP = {
        "sessions": 3,
        "samples": 1100,
        "stacks": 1010,
        "cut": 10,
        "inRoot": 999,
        "falseRoots": {"spin": {"samples": 1, "example": "spin"}},
        "falseEdges": {},
        "leaves": {"spin": 1010},
    }
    RESULT = {"sampleInterval": 1, "rounds": 9, "workersStarted": 4, "page": LOOP, "workers": copy.deepcopy(LOOP)}

    def setUp(self):
        size = ProcessSize(20, 250_000, 90)
        self.measured = Measurement(
            copy.deepcopy(self.RESULT), SampleCounts(10_000, 3, 40, 10, 7), 6, {"start": size, "end": size}
        )

    def missed(self) -> list[str]:
        return soak.report(self.measured)[1]

    def test_the_tables(self):
        text, missed = soak.report(self.measured)
        self.assertEqual(missed, [])
        lines = text.split("\n")
        self.assertIn("unwalkable       10  0.100    0.1", lines)
        loops = "page                3     1100        1010          10            999  99.900            0"
        self.assertIn(loops, lines)
        self.assertIn("page: false root spin: 1 samples, as spin", lines)
        self.assertEqual(lines[-1], "The browser: status 0")

    def test_reasons(self):
        self.measured.reasons.update({"a": 1, "b": 9})
        self.assertIn("\nunwalkable: b: 9\nunwalkable: a: 1\n", soak.report(self.measured)[0])

    def test_each_limit(self):
        self.measured.counts.unwalkable = 11
        self.assertEqual(self.missed(), ["0.110 % of the samples unwalkable, more than 0.1 %"])
        self.measured.counts.unwalkable = 0
        self.measured.result["page"]["inRoot"] = 998
        self.assertEqual(self.missed(), ["page: 99.800 % of the stacks end in a known root, fewer than 99.9 %"])
        self.measured.result["page"]["inRoot"] = 1000
        self.measured.result["workers"]["falseEdges"] = {"a > b": {"samples": 2, "example": "a > b"}}
        self.assertEqual(self.missed(), ["workers: 2 samples with a false edge"])
        self.assertIn("workers: false edge a > b: 2 samples, as a > b", soak.report(self.measured)[0])

    def test_nothing_is_no_success(self):
        nothing = Measurement(failure="the browser was ended by signal 11 (Segmentation fault)")
        text, missed = soak.report(nothing)
        self.assertEqual(missed, ["no session was logged: the sampler took no sample", nothing.failure])
        self.assertIn(f"The browser: {nothing.failure}", text)
        self.measured.result["workers"] = {**self.LOOP, "stacks": 0, "cut": 0, "inRoot": 0}
        self.assertEqual(self.missed(), ["workers: no stacks"])

    def test_mistakes_are_shown_by_their_samples(self):
        mistakes = {f"a > {n}": {"samples": n, "example": "x"} for n in range(1, 30)}
        lines = soak.mistake_lines("page: false edge", mistakes)
        self.assertEqual(lines[0], "page: false edge a > 29: 29 samples, as x")
        self.assertEqual(lines[soak.MISTAKES_SHOWN :], ["page: false edge: 9 more"])


class AccuracyTest(unittest.TestCase):
    def busy(self, timestamps: list[float], interval: float = 10, milliseconds: float = 1000, wrong: int = 0):
        run = {"name": "loop", "interval": interval, "milliseconds": milliseconds, "timestamps": timestamps}
        return accuracy.report_busy({"busy": [{**run, "wrong": {"(no stack)": wrong} if wrong else {}}]})

    def test_spacing(self):
        apart = accuracy.spacing([10.0 * n for n in range(100)], 10, 1000)
        self.assertEqual((apart.mean, apart.percentile_99), (10, 10))
        self.assertAlmostEqual(apart.missing, 0)
        # One of a hundred comes a whole interval late, and one never.
        late = [10.0 * n + (10 if n > 50 else 0) for n in range(99)]
        apart = accuracy.spacing(late, 10, 1000)
        self.assertAlmostEqual(apart.mean, 990 / 98)
        self.assertGreater(apart.percentile_99, 11)
        self.assertAlmostEqual(apart.missing, 1)
        self.assertEqual(accuracy.spacing([1, 2], 10, 1000).mean, float("inf"))

    def test_busy_programs(self):
        even = [10.0 * n for n in range(100)]
        text, missed = self.busy(even)
        self.assertEqual(missed, [])
        self.assertIn("loop       10 ms      100    100.00     10.00     10.00        0.00", text.split("\n"))
        text, missed = self.busy(even, wrong=1)
        self.assertEqual(missed, ["loop at 10 ms: 99.00 % of the samples right, fewer than 99.5 %"])
        self.assertIn("wrong in loop at 10 ms: 1 samples, as (no stack)", text)
        slow = [10.3 * n for n in range(97)]
        self.assertEqual(
            self.busy(slow)[1],
            [
                "loop at 10 ms: mean spacing 10.30 ms, not within 2 % of the interval",
                "loop at 10 ms: 3.00 % of the samples missing, more than 1 %",
            ],
        )
        uneven = [n * 10.0 + (n % 10 == 9) * 8 - (n % 10 == 1) * 8 for n in range(100)]
        self.assertEqual(self.busy(uneven)[1], [])
        rare = [n * 9.0 if n < 50 else 90 + n * 9.0 for n in range(100)]
        self.assertEqual(
            self.busy(rare)[1], ["loop at 10 ms: 99th percentile of the spacing 99.00 ms, more than 3.5 intervals"]
        )
        noise = Measurement(load=2.5).noise()
        run = {"name": "loop", "interval": 10, "milliseconds": 1000, "timestamps": slow, "wrong": {"a": 1}}
        self.assertEqual(
            accuracy.report_busy({"busy": [run]}, noise)[1],
            [
                "loop at 10 ms: 98.97 % of the samples right, fewer than 99.5 %",
                "loop at 10 ms: too noisy: the load of the machine was 2.50, of which about 1 was our own",
            ],
        )
        # Spacing is judged at 10 ms alone.
        self.assertEqual(self.busy(slow, interval=5)[1], [])
        self.assertEqual(len(self.busy([])[1]), 4)

    def test_splits(self):
        split = {"name": "70/30", "shares": {"a": 70, "b": 30}, "samples": 1000}
        text, missed = accuracy.report_splits({"splits": [{**split, "leaves": {"a": 690, "b": 305, "run": 5}}]})
        self.assertEqual(missed, [])
        self.assertIn("70/30     1000  a              70       69.00", text.split("\n"))
        _, missed = accuracy.report_splits({"splits": [{**split, "leaves": {"a": 700, "run": 300}}]})
        self.assertEqual(missed, ["70/30: b has 0.00 % instead of 30 %"])

    def test_a_crowd(self):
        crowd = [{"interval": 10, "milliseconds": 10_000, "samples": samples} for samples in (990, 1000, 1010)]
        text, missed = accuracy.report_crowd({"crowd": crowd})
        self.assertEqual(missed, [])
        self.assertIn("        3  10 ms     99.00     100.00   101.00", text.split("\n"))
        crowd[0]["samples"] = 980
        _, missed = accuracy.report_crowd({"crowd": crowd})
        self.assertEqual(missed, ["1 of 3 profilers at 10 ms got 98.00 to 98.00 % of their samples"])
        for samples in (980, 990):
            crowd[0]["samples"] = samples
            _, missed = accuracy.report_crowd({"crowd": crowd}, ["too noisy"])
            self.assertEqual(missed, ["3 profilers at 10 ms: too noisy"])

    def test_a_failure(self):
        _, missed = accuracy.report(Measurement(failure="the browser ended"))
        self.assertEqual(missed, ["the browser ended"])


class StopsTest(unittest.TestCase):
    def measured(self, median_10: int = 1500, percentile_99: int = 6000, median_1000: int = 30_000, frames=1002):
        """As the limits just allow it."""
        return {
            10: Measurement({"medianDepth": 12}, stops=StopDurations(19_000, median_10, percentile_99, 123_456)),
            # That of the 99th percentile is for the other depth.
            1000: Measurement({"medianDepth": frames}, stops=StopDurations(18_000, median_1000, 90_000, 1_000_000)),
        }

    def test_the_table(self):
        text, missed = stops.report(self.measured())
        self.assertEqual(missed, [])
        lines = text.split("\n")
        self.assertIn("   10              12  19000        1.50      6.00       123.46", lines)
        self.assertIn(" 1000            1002  18000       30.00     90.00      1000.00", lines)
        self.assertIn("limits: depth 10 median 1.5 µs, 99th percentile 6 µs; depth 1000 median 30 µs", lines)
        self.assertIn("\ndepth 1000, js_profiling_max_stack_depth=4096: load of the machine", text)
        self.assertIn("times in the signal's handler. The time that the kernel takes", text)

    def test_each_limit(self):
        for changed, missed in (
            ({"median_10": 1510}, "depth 10: median 1.51 µs, more than 1.5 µs"),
            ({"percentile_99": 6500}, "depth 10: 99th percentile 6.50 µs, more than 6 µs"),
            ({"median_1000": 31_000}, "depth 1000: median 31.00 µs, more than 30 µs"),
            ({"frames": 512}, "depth 1000: the samples have 512 frames: the stacks are not whole"),
        ):
            self.assertEqual(stops.report(self.measured(**changed))[1], [missed])

    def test_a_busy_machine_is_too_noisy(self):
        for changed in ({}, {"median_10": 1510}):
            measured = self.measured(**changed)
            measured[10].load = 2.01
            noise = "depth 10: too noisy: the load of the machine was 2.01, of which about 1 was our own"
            self.assertEqual(stops.report(measured)[1], [noise])
            measured[10].load = 2.0
            self.assertEqual(len(stops.report(measured)[1]), len(changed))

    def test_nothing_is_no_success(self):
        measured = self.measured()
        measured[10].stops = None
        measured[1000] = Measurement(failure="the browser ended")
        text, missed = stops.report(measured)
        nothing = "the sampler logged no stop"
        self.assertEqual(missed, [f"depth 10: {nothing}", f"depth 1000: {nothing}", "depth 1000: the browser ended"])
        self.assertIn("The browser: the browser ended", text)

    def test_a_visit_for_each_depth(self):
        saved = Path(self.enterContext(tempfile.TemporaryDirectory())) / "stops.json"
        measured, visits = self.measured(percentile_99=30_000), []

        def measure(binary, page, preferences, bound, of_chain):
            visits.append((page, preferences, of_chain.name))
            return measured[10 if "depth=10&" in page else 1000]

        with (
            mock.patch.object(stops, "measure", measure),
            contextlib.redirect_stdout(io.StringIO()),
            self.assertRaisesRegex(MachError, "^1 of the limits missed:\n  depth 10: 99th percentile 30.00 µs"),
        ):
            stops.stops(Path("release/strobe"), saved, 20.0)
        lifted = {"js_profiling_max_stack_depth": "4096"}
        self.assertEqual(
            visits,
            [
                ("/stops/stops.html?depth=10&seconds=20.0", {}, "stops-10.json"),
                ("/stops/stops.html?depth=1000&seconds=20.0", lifted, "stops-1000.json"),
            ],
        )
        self.assertEqual(stops.read_chains(json.loads(saved.read_text())), measured)
        self.assertTrue((measurement.PAGES / "stops" / "stops.html").is_file())


class BusyTest(unittest.TestCase):
    @staticmethod
    def result(programs: int, interval: int, samples: int, ran: float, of_function: float = 0.7) -> dict:
        leaves = {"seventy": round(of_function * samples), "thirty": samples - round(of_function * samples)}
        return {
            "programs": programs,
            "interval": interval,
            "milliseconds": 10_000.0,
            "shares": {"seventy": 70, "thirty": 30},
            "leaves": leaves,
            # The second thread is the page's.
            "before": {"1": [3.0, 0.0], "2": [1.0, 0.0]},
            "after": {"1": [3.5, 0.0], "2": [1.0 + ran, 5.0], "3": [0.1, 0.0]},
        }

    def report(self, *results: dict) -> tuple[str, list[str]]:
        return busy.report({"browsers": [{"name": "Strobe", "results": list(results)}]})

    def test_samples_are_compared_with_the_time_for_which_the_thread_ran(self):
        results = [self.result(0, 1, 9900, 9.9), self.result(4, 1, 4500, 5.0), self.result(4, 1, 4700, 5.0)]
        text, missed = self.report(*results)
        self.assertEqual(missed, [])
        self.assertRegex(text, r"Strobe +1 ms +4 +50\.0 +9200 +92\.0 +46\.0 +seventy +70 +70\.00 ")

    def test_too_few_samples_and_wrong_shares_are_missed(self):
        few = self.result(8, 1, 800, 1.0)
        self.assertEqual(
            self.report(self.result(0, 1, 9900, 9.9), few)[1],
            ["8 busy programs, 1 ms: samples at 80.0 % of the ticks at which the thread ran"],
        )
        # Of the longer interval only the shares are judged.
        self.assertEqual(self.report(self.result(0, 10, 980, 9.9), self.result(8, 10, 80, 1.0))[1], [])
        [wrong] = self.report(self.result(0, 1, 9900, 9.9), self.result(2, 1, 9000, 9.0, 0.68))[1]
        self.assertIn("2 busy programs, 1 ms: seventy has 68.00 % instead of 70 %", wrong)

    def test_a_busy_machine_is_too_noisy(self):
        [noise] = self.report(self.result(0, 1, 5000, 8.0), self.result(2, 1, 1000, 5.0))[1]
        self.assertIn("too noisy: without busy programs the thread ran for 80.0 % of the time", noise)


class WorkersTest(unittest.TestCase):
    START = ProcessSize(20, 200_000, 90)

    def leaks(self, control: ProcessSize, end: ProcessSize) -> list[str]:
        return workers.leaks({"start": self.START, "end": control}, {"start": self.START, "end": end})

    def test_leaks(self):
        start = self.START
        self.assertEqual(self.leaks(start, start), [])
        self.assertEqual(self.leaks(start, ProcessSize(19, 209_000, 89)), [])
        self.assertEqual(self.leaks(ProcessSize(25, 220_000, 90), ProcessSize(20, 230_000, 90)), [])
        self.assertEqual(
            self.leaks(ProcessSize(20, 220_000, 90), ProcessSize(22, 240_000, 91)),
            [
                "22 threads at the end, 20 at the start",
                "91 files at the end, 90 at the start",
                "memory has grown by 20 %, and by 10 % without profilers",
            ],
        )

    def test_the_tables(self):
        page = {"samples": 100, "stacks": 90, "right": 89}
        sums = {**page, "workersStarted": 50, "terminated": 49, "started": 80, "finished": 60}
        sizes = {"start": self.START, "end": self.START}
        measured = Measurement({"page": page, "workers": sums}, sizes=sizes)
        none = {name: 0 for name in page}
        control = Measurement({"page": none, "workers": {**sums, **none}}, sizes=sizes)
        text, missed = workers.report(control, measured)
        self.assertEqual(missed, [])
        self.assertIn("page             100          90             89", text.split("\n"))
        sums["stacks"] = 0
        self.assertEqual(workers.report(control, measured)[1], ["no worker gave a trace with a stack"])
        control.failure = "the browser ended"
        self.assertIn("the browser ended", workers.report(control, measured)[1])


# Loads the page, asks for what the browser takes, and posts a result with the page's address.
ASKING_BROWSER = """\
#!{python}
import json, os, sys, time, urllib.request
from urllib.parse import urljoin

if sys.argv[1:] == ["--version"]:
    print("{version}")
    sys.exit()
*flags, url = sys.argv[1:]
post = lambda path, body: urllib.request.urlopen(urllib.request.Request(urljoin(url, path), body, method="POST"))
with urllib.request.urlopen(url) as response:
    headers = dict(response.headers)
result = {{"url": url, "policy": headers.get("Document-Policy"), "flags": flags, "order": time.monotonic_ns()}}
for name in ("processor-time", "memory"):
    with post("/checkpoint/" + name, b"") as response:
        result[name] = json.load(response)
sys.stderr.write("logged\\n")
if "loads=" in url:
    result["turns"] = []
    for load in range(int(url.partition("loads=")[2])):
        post("/checkpoint/turn", b"")
        result["turns"].append(time.monotonic_ns())
    post("/checkpoint/turn", b"")
post("/result", json.dumps(result).encode())
if {stays}:
    time.sleep(1000)
"""

# Runs what it is given, and writes what cachegrind would.
COUNTING_VALGRIND = """\
#!{python}
import subprocess, sys

[place] = [number for number, argument in enumerate(sys.argv) if argument.startswith("--cachegrind-out-file=")]
assert sys.argv[1] == "--tool=cachegrind", sys.argv
status = subprocess.run(sys.argv[place + 1 :]).returncode
with open(sys.argv[place].partition("=")[2], "w") as file:
    file.write("events: Ir\\nfn=wait\\n0 7\\nfn=js::Call(int)\\n0 40000\\n8 4000\\n")
    file.write("fl=b\\nfn=???\\n0 1000\\nfn=script::dom::node::Node::insert\\n0 500\\n")
    file.write("fn=<&mut style::rules::Rules as core::fmt::Debug>::fmt\\n0 100\\n")
    file.write("fn=crossbeam_channel::Receiver<script::Message>::recv\\n0 9\\nsummary: 45616\\n")
sys.exit(status)
"""


class CompareTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def browser(self, name: str, version: str, stays: bool = False) -> Path:
        binary = self.folder / name
        binary.parent.mkdir(parents=True, exist_ok=True)
        binary.write_text(ASKING_BROWSER.format(python=sys.executable, version=version, stays=stays))
        binary.chmod(0o755)
        return binary

    def compare(self, suite: str, measured, settings, measure=visits.measure_together) -> dict:
        saved = self.folder / "bench" / f"{suite}.json"
        # What the pages of this suite do not post has no report.
        nothing = mock.Mock(return_value=Report())
        with contextlib.redirect_stdout(io.StringIO()) as output, mock.patch.object(bench, "report", nothing):
            bench.compare(suite, measured, settings, saved, measure)
        self.output = output.getvalue()
        return json.loads(saved.read_text())

    def test_browsers_take_turns(self):
        printed = "strobe 0.1.0 (Servo 0.7.0, SpiderMonkey 153.6.0)"
        ours = browsers.strobe(self.browser("release/strobe", printed), {"js_x": "1"})
        path = self.browser("chromium", "Chromium 156.0.1 built on Debian", stays=True)
        with mock.patch.dict(os.environ, {"CHROMIUM": str(path)}):
            other = browsers.chromium()
        saved = self.compare("start", [ours, other], {"rounds": 3})
        names = r"Strobe 0\.1\.0 and Chromium 156\.0\.1"
        self.assertRegex(self.output, rf"^start: 3 rounds, in {names}, the release build; takes about \d+ s\n")
        builds = [(browser["name"], browser["version"], browser["build"]) for browser in saved["browsers"]]
        self.assertEqual(builds, [("Strobe", "0.1.0", "release"), ("Chromium", "156.0.1", None)])
        results = [(result["order"], index) for index in (0, 1) for result in saved["browsers"][index]["results"]]
        self.assertEqual([index for _, index in sorted(results)], [0, 1, 1, 0, 0, 1])
        first, second = (browser["results"][0] for browser in saved["browsers"])
        self.assertEqual(first["flags"], ["--headless", "--pref", "js_x=1"])
        self.assertEqual(second["flags"][:4], list(browsers.CHROMIUM_FLAGS))
        profile = Path(second["flags"][4].removeprefix("--user-data-dir="))
        self.assertFalse(profile.exists(), "the folder of the profile is left")
        self.assertGreater(first["processor-time"], 0)
        self.assertGreater(first["memory"], 1_000_000)
        self.assertEqual((first["policy"], first["round"]), ("js-profiling", 0))
        self.assertEqual((self.folder / "bench" / "start.log").read_text(), 6 * "logged\n")
        self.assertEqual(saved["machine"]["cores"], len(os.sched_getaffinity(0)))

    def test_rounds_before_a_failure_are_kept(self):
        ours = browsers.strobe(self.browser("release/strobe", "strobe 0.1.0"))
        visit, made = visits.measure_visit, []

        def fail_at_the_third(*arguments):
            made.append(arguments)
            if len(made) == 3:
                raise MachError("the browser failed")
            return visit(*arguments)

        with mock.patch.object(visits, "measure_visit", fail_at_the_third), self.assertRaises(MachError):
            self.compare("start", [ours], {"rounds": 9})
        saved = json.loads((self.folder / "bench" / "start.json").read_text())
        self.assertEqual((saved["settings"], len(saved["browsers"][0]["results"])), ({"rounds": 2}, 2))

    def test_each_policy_has_its_header(self):
        ours = browsers.strobe(self.browser("debug/strobe", "strobe 0.1.0"))
        results = self.compare("policy", [ours], {"rounds": 1, "loads": 2})["browsers"][0]["results"]
        self.assertEqual([result["variant"] for result in results], list(bench.POLICIES))
        policies = [result["policy"] for result in results]
        modes = ["js-profiling", "js-profiling-mode=eager", "js-profiling-mode=lazy"]
        self.assertEqual(policies, [None, None, *modes, None, None])
        self.assertTrue(results[0]["url"].endswith("/policy/policy.html?parts=10&loads=2"))
        # They are open at the same time, and none asks for a turn more than once after the others.
        turns = [(time, member) for member, result in enumerate(results) for time in result["turns"]]
        order = [member for _, member in sorted(turns)]
        self.assertEqual([sorted(order[:7]), sorted(order[7:])], 2 * [list(range(7))])
        self.assertNotEqual(order[:7], order[7:])
        # The page must ask for as many parts as it has.
        page = (measurement.PAGES / "policy" / "policy.html").read_text()
        self.assertEqual(page.count("/generated/policy.js"), bench.POLICY_PARTS)

    def test_instructions_are_counted(self):
        valgrind = self.folder / "valgrind"
        valgrind.write_text(COUNTING_VALGRIND.format(python=sys.executable))
        valgrind.chmod(0o755)
        ours = browsers.strobe(self.browser("release/strobe", "strobe 0.1.0"))
        with mock.patch("shutil.which", return_value=str(valgrind)):
            counted = browsers.counted(ours)
            saved = self.compare("instructions", [counted], {"rounds": 2, "loads": 1}, visits.measure_apart)
        results = saved["browsers"][0]["results"]
        self.assertEqual([result["variant"] for result in results], 2 * list(bench.POLICIES))
        self.assertEqual({result["instructions"] for result in results}, {45000})
        self.assertEqual({result["documentInstructions"] for result in results}, {600})
        self.assertEqual(results[0]["flags"], ["--headless"])
        with self.assertRaisesRegex(MachError, "^cachegrind's output counts has no function of the engine"):
            (self.folder / "counts").write_text("fn=wait\n0 7\nsummary: 7\n")
            browsers.read_instructions(self.folder / "counts", browsers.ENGINE, "of the engine")

    def test_a_browser_that_fails_ends_those_that_wait_for_it(self):
        ours = browsers.strobe(self.browser("debug/strobe", "strobe 0.1.0"))
        others = []

        def measure_visit(_browser, visit, _generated, _log, take_turn, started):
            if visit.labels["variant"].startswith("Feature-Policy"):
                raise MachError("the browser failed")
            other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
            others.append(other)
            started(other.pid)
            for _ in range(3):
                take_turn()
            other.wait()
            raise MachError("ended")

        with mock.patch.object(visits, "measure_visit", measure_visit):
            with self.assertRaisesRegex(MachError, "^the browser failed$"):
                self.compare("policy", [ours], {"rounds": 1, "loads": 2})
        self.assertEqual([other.returncode for other in others], [-signal.SIGTERM] * 6)

    def test_turns_that_nobody_takes_any_more(self):
        taken = Turns(2, 1)
        # Whoever is second waits for nothing.
        waiting = [threading.Thread(target=taken.take, args=(member,)) for member in (0, 1)]
        for thread in waiting:
            thread.start()
        taken.abandon()
        for thread in waiting:
            thread.join()
        taken.take(0)

    def test_texts_made_before_they_are_needed(self):
        made = []
        texts = generated_script.Prepared(lambda: made.append(len(made)) or str(made[-1]))
        texts.prepare(2)
        self.assertEqual((made, texts()), ([0, 1], "0"))
        texts.prepare(2)
        self.assertEqual([texts(), texts(), texts(), len(made)], ["1", "2", "3", 4])

    def test_every_suite_has_its_page(self):
        settings = {"rounds": 1, "pairs": 2, "blocks": 3, "loads": 4}
        for suite in figures.SUITES:
            if suite == "hooks":
                of_suite = hooks.visits([1, 2], 3, 4)
            elif suite == "floor":
                # It is a program.
                continue
            elif suite == "real":
                of_suite = real.visits(real.LIBRARIES, {"long": 1, "short": 2})
            else:
                of_suite = bench.visits_of(suite, settings)
            for visit in of_suite:
                self.assertTrue((measurement.PAGES / visit.page.partition("?")[0].lstrip("/")).is_file(), visit.page)
        with self.assertRaisesRegex(MachError, "there is no suite speed"):
            bench.visits_of("speed", settings)

    def test_chromium_that_is_not_there(self):
        with mock.patch.dict(os.environ, {"PATH": str(self.folder)}):
            os.environ.pop("CHROMIUM", None)
            with self.assertRaisesRegex(MachError, "^there is no `chromium` on the PATH; `apt-get install chromium`"):
                browsers.chromium()
            os.environ["CHROMIUM"] = "/nowhere/chrome"
            with self.assertRaisesRegex(MachError, "^CHROMIUM names /nowhere/chrome, which is not a program"):
                browsers.chromium()
            os.environ["CHROMIUM"] = str(self.browser("other", "no number"))
            with self.assertRaisesRegex(MachError, "gives no version, but 'no number'"):
                browsers.chromium()

    def test_durations(self):
        self.assertEqual([visits.duration(seconds) for seconds in (9.6, 89, 240)], ["10 s", "89 s", "4 min"])


# Does what the pages of hooks do in a browser: asks for turns, and posts what each gives.
HOOKS_BROWSER = """\
#!{python}
import json, sys, time, urllib.request
from urllib.parse import parse_qs, urljoin, urlsplit

if sys.argv[1:] == ["--version"]:
    print("strobe 0.1.0 (Servo 0.7.0, SpiderMonkey 153.6.0)")
    sys.exit()
*flags, url = sys.argv[1:]
post = lambda path, body: urllib.request.urlopen(urllib.request.Request(urljoin(url, path), body, method="POST"))
with urllib.request.urlopen(url) as response:
    policies = [name for name in response.headers if name.lower().endswith("policy")]
asked = parse_qs(urlsplit(url).query)
result = {{"flags": flags, "policies": policies, "hasProfiler": {has_profiler}, "turns": []}}
result["started"] = time.monotonic_ns()
if "js_offthread_compilation_enabled=false" in flags:
    time.sleep(0.2)  # As slow as under valgrind, so that two at once would overlap.
count = None
if "loads" in asked:
    count = int(asked["loads"][0])
    result |= {{"scripts": 150, "milliseconds": [100.0] * count}}
elif "units" in asked:
    units = asked["units"][0].split(",")
    count = (1 + int(asked["pairs"][0])) * len(units)
    result |= {{"kernels": [{{"name": unit, "milliseconds": [50.0]}} for unit in units]}}
else:
    result["units"] = [3, 5]
if count is not None:
    for turn in range(count + 1):
        post("/checkpoint/turn", b"")
        result["turns"].append(time.monotonic_ns())
    for name, checkpoint in (("memory", "memory"), ("peakMemory", "peak-memory")):
        with post("/checkpoint/" + checkpoint, b"") as response:
            result[name] = json.load(response)
    post("/checkpoint/turn", b"")
post("/result", json.dumps(result).encode())
"""


class HooksTest(unittest.TestCase):
    SETTINGS = {"rounds": 2, "pairs": 2, "loads": 3, "counts": 1}

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.valgrind = self.program("valgrind", COUNTING_VALGRIND)
        self.ours = self.program("ours/release/strobe", HOOKS_BROWSER, has_profiler=True)
        self.published = self.program("base/release/strobe", HOOKS_BROWSER, has_profiler=False)

    def program(self, name: str, text: str, **values) -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.format(python=sys.executable, **values))
        file.chmod(0o755)
        return file

    def measure(self, ours: Path, published: Path, **changed) -> dict:
        saved = self.folder / "bench" / "hooks.json"
        with (
            contextlib.redirect_stdout(io.StringIO()) as output,
            mock.patch("shutil.which", return_value=str(self.valgrind)),
        ):
            measured = hooks.measure(ours, published, {**self.SETTINGS, **changed}, saved)
        self.output = output.getvalue()
        self.assertEqual(json.loads(saved.read_text()), measured)
        return measured

    def test_a_run(self):
        measured = self.measure(self.ours, self.published)
        version = re.escape(upstream.pinned_packages()["servo"]["version"])
        names = rf"Strobe 0\.1\.0 and Servo {version}, the release build"
        self.assertRegex(self.output, rf"^hooks: 2 rounds, 2 pairs, 3 loads, 1 counts, in {names}; takes about ")
        ours, published = measured["browsers"]
        self.assertEqual(ours["bytes"], self.ours.stat().st_size)
        self.assertEqual(published["bytes"], self.published.stat().st_size)
        self.assertEqual({result["variant"] for result in ours["results"]}, {"Strobe"})
        results = ours["results"] + published["results"]
        for result in results:
            # Nothing allows profiling, neither a header nor a preference.
            self.assertEqual(result["policies"], [])
            self.assertNotIn("js_profiling", " ".join(result["flags"]))
            is_counted = "instructions" in result
            self.assertEqual("js_offthread_compilation_enabled=false" in result["flags"], is_counted)
        # Each page in each of the three; under valgrind in the first round alone.
        kinds = [(result["page"], result["variant"], result["round"], "instructions" in result) for result in results]
        pages, of_round = ("kernels", "load"), ((0, False), (1, False), (0, True))
        expected = [
            (page, variant, *where)
            for page in pages
            for variant in ("Strobe", "Servo", "Servo again")
            for where in of_round
        ]
        self.assertEqual(sorted(kinds), sorted(expected))
        # They were open at the same time, and went one after the other.
        for page, turns in (("kernels", 3 * 2 + 1), ("load", 3 + 1)):
            of_page = [result for result in results if (result["page"], result["round"]) == (page, 1)]
            order = sorted((time, result["variant"]) for result in of_page for time in result["turns"])
            self.assertEqual(len(order), 3 * turns)
            for cycle in range(turns):
                members = {variant for _, variant in order[3 * cycle : 3 * cycle + 3]}
                self.assertEqual(len(members), 3, f"{page}: turn {cycle}")
            # Under valgrind each is alone.
            counted = [result for result in results if result["page"] == page and "instructions" in result]
            counted.sort(key=lambda result: result["started"])
            for before, after in itertools.pairwise(counted):
                self.assertLess(before["turns"][-1], after["started"], page)
        self.assertEqual({kernel["name"] for kernel in results[0]["kernels"]}, {"3", "5"}, "as calibrated")
        self.assertEqual(figures.report(measured).limits[3].verdict, "met", "the report reads what is saved")

    def test_no_more_counts_than_rounds(self):
        measured = self.measure(self.ours, self.published, rounds=1, counts=9)
        self.assertEqual(measured["settings"], {"rounds": 1, "pairs": 2, "loads": 3, "counts": 1})

    def test_two_browsers_that_are_not_what_they_should_be(self):
        with self.assertRaisesRegex(MachError, "^the browser that should be Servo has a Profiler: it has our hooks$"):
            self.measure(self.ours, self.ours)
        with self.assertRaisesRegex(MachError, "^the browser that should be Strobe has no Profiler: it has no hooks$"):
            self.measure(self.published, self.published)

    def test_kernels_without_units(self):
        self.program("base/release/strobe", HOOKS_BROWSER.replace("[3, 5]", "[3, 0]"), has_profiler=False)
        message = r"^/hooks/kernels.html in Servo gave \[3, 0\] as the units of the kernels$"
        with self.assertRaisesRegex(MachError, message):
            self.measure(self.ours, self.published)

    def test_missing_tools_are_found_before_a_build(self):
        with mock.patch.object(hooks.build, "build_both") as builds, mock.patch("shutil.which", return_value=None):
            with self.assertRaisesRegex(MachError, "^valgrind is not installed"):
                hooks.hooks(True, None, self.SETTINGS, self.folder / "hooks.json")
        builds.assert_not_called()

    def test_as_the_pages_have_it(self):
        def constants(name: str) -> dict[str, str]:
            return dict(re.findall(r"^const (\w+) = (\d+);", (measurement.PAGES / name).read_text(), re.MULTILINE))

        of_pairs, of_kernels = constants("pairs.js"), constants("hooks/kernels.js")
        self.assertEqual(int(of_pairs["WARM_UP_PAIRS"]), hooks.WARM_UP_PAIRS)
        self.assertEqual(
            (1 + int(of_kernels["RUNS_BEFORE"])) * int(of_pairs["RUN_TIME"]), 1000 * hooks.SECONDS_PER_TURN
        )
        self.assertEqual(int(constants("hooks/load.js")["WARM_UP_LOADS"]), hooks.WARM_UP_LOADS)

    def test_the_generated_page(self):
        made = generated_page.generated_page()
        again = generated_page.generated_page()
        page, script = (made.files[path]() for path in (generated_page.PATH, "/generated/part.js"))
        # Each browser gets the same texts, and none of them twice.
        self.assertEqual(again.files[generated_page.PATH](), page)
        again.prepare()
        self.assertEqual(again.files["/generated/part.js"](), script)
        for path, text in ((generated_page.PATH, page), ("/generated/part.js", script)):
            self.assertNotEqual(made.files[path](), text)
        self.assertEqual(page.count("<section "), generated_page.PARTS)
        self.assertEqual(page.count("<script>") + page.count('src="/generated/part.js?'), 150)
        own_scripts = int(re.search(r"OWN_SCRIPTS = (\d+);", (measurement.PAGES / "hooks" / "load.js").read_text())[1])
        self.assertEqual(page.count("<script"), 150 + own_scripts)
        self.assertNotIn(generated_page.MARK, page)
        self.assertNotIn("@", page)


class ProcessTreeTest(unittest.TestCase):
    def test_of_this_process(self):
        before = process_tree.processor_time(os.getpid())
        busy = "sum(range(20_000_000)); print(flush=True); input(); sum(range(20_000_000))"
        with subprocess.Popen([sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            self.assertIn(child.pid, process_tree.tree(os.getpid()))
            running = process_tree.processor_time(os.getpid())
            child.communicate(b"\n")
        self.assertGreater(running, before)
        # That of a child that has ended stays.
        self.assertGreater(process_tree.processor_time(os.getpid()), running)
        self.assertGreater(process_tree.own_memory(os.getpid()), 1_000_000)

    def test_of_made_up_processes(self):
        proc = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for pid, parent, name in ((7, 1, "a"), (70, 7, "b) c ("), (71, 70, "d"), (8, 1, "e")):
            (proc / str(pid)).mkdir()
            (proc / str(pid) / "stat").write_text(f"{pid} ({name}) S {parent} 1 1 0 -1 4 1 2 3 4 100 20 3 0 20 0\n")
            (proc / str(pid) / "status").write_text(
                "Name: x\nVmHWM:\t 200 kB\nRssAnon:\t     10 kB\nRssFile:\t 99 kB\n"
            )
        (proc / "self").mkdir()
        self.assertEqual(list(process_tree.tree(7, proc)), [7, 70, 71])
        self.assertEqual(process_tree.processor_time(7, proc), 3 * 123 / process_tree.CLOCK_TICKS)
        self.assertEqual(process_tree.own_memory(70, proc), 2 * 10 * 1024)
        self.assertEqual(process_tree.peak_memory(7, proc), 3 * 200 * 1024)
        for pid, thread in ((7, 7), (70, 72)):
            (proc / str(pid) / "task" / str(thread)).mkdir(parents=True)
            (proc / str(pid) / "task" / str(thread) / "schedstat").write_text(f"{thread}000000000 500000000 12\n")
        self.assertEqual(process_tree.thread_times(7, proc), {"7": [7.0, 0.5], "72": [72.0, 0.5]})
        with self.assertRaisesRegex(MachError, "/9: no such process"):
            process_tree.processor_time(9, proc)


class MachineTest(unittest.TestCase):
    def test_a_virtual_one(self):
        proc = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (proc / "cpuinfo").write_text("model name\t: Fast 1\nflags\t\t: fpu hypervisor sse\n")
        (proc / "meminfo").write_text("MemTotal:       2048 kB\n")
        with mock.patch.object(machine.process, "output", return_value=None):
            described = machine.describe_machine(proc)
        self.assertEqual((described.processor, described.memory, described.virtualised), ("Fast 1", 2 << 20, "yes"))
        with mock.patch.object(machine.process, "output", return_value="kvm\n"):
            self.assertEqual(machine.describe_machine(proc).virtualised, "kvm")
        (proc / "cpuinfo").write_text("flags\t\t: fpu\n")
        for output, virtualised in (("none\n", "no"), (None, "unknown")):
            with mock.patch.object(machine.process, "output", return_value=output):
                self.assertEqual(machine.describe_machine(proc).virtualised, virtualised)


class GeneratedScriptTest(unittest.TestCase):
    def test_no_bundle_comes_twice(self):
        make = generated_script.bundles(200_000)
        first, second = make(), make()
        self.assertNotEqual(first, second)
        for text in (first, second):
            self.assertLess(abs(len(text) - 200_000), 20_000)
            self.assertNotIn("@", text)
            self.assertEqual(text.count("scriptsRun = "), 1)

    def test_hot_functions(self):
        text = generated_script.hot_functions(8000)()
        self.assertEqual(len(set(text.split("\n"))), 8000 + 3)
        self.assertIn("function hot8000(", text)


def made_up(suite: str, *results: list[dict]) -> dict:
    """A measurement in as many browsers as there are lists of results."""
    described = [("Strobe", "0.1.0", "release"), ("Chromium", "156.0.1", None)]
    made = json.dumps(
        {
            "suite": suite,
            "when": "2026-01-31T12:00:00+00:00",
            "settings": {"rounds": 2, "pairs": 3},
            "machine": {
                "processor": "Fast 1", "cores": 2, "memory": 24 << 30, "kernel": "Linux 6.1", "virtualised": "kvm",
            },
            "browsers": [
                {"name": name, "version": version, "build": build, "results": of_browser}
                for (name, version, build), of_browser in zip(described, results)
            ],
        }
    )  # fmt: skip
    # Nothing in it is the same object as anything else.
    return json.loads(made)


def pairs(*ratios: float) -> list[dict]:
    return [{"reference": 50.0, "measured": 50.0 * ratio} for ratio in ratios]


def limits(report: Report) -> dict[str, tuple[str, bool | None]]:
    """What is shown of ours, and whether it is met."""
    return {limit.what: (limit.values.get("Strobe"), limit.met) for limit in report.limits}


class FiguresTest(unittest.TestCase):
    def visit(self, names, ratios, profilers=(0, 1), **more) -> dict:
        """Of two kernels, of which the second is slower by 0.01 in each comparison but the control."""
        traces = {"sampleInterval": 10, "samples": 100, "samplesWithStack": 90}
        comparisons = [
            {
                "name": name,
                "reference": {"profilers": profilers[0]},
                "measured": {"profilers": profilers[index > 0]},
                "traces": {"reference": {**traces}, "measured": {**traces}},
            }
            for index, name in enumerate(names)
        ]
        kernels = [
            {
                "name": kernel,
                "comparisons": [
                    {"name": name, "pairs": pairs(*(ratio + (slower if index else 0) for ratio in of))}
                    for index, (name, of) in enumerate(zip(names, ratios))
                ],
            }
            for kernel, slower in (("sort", 0), ("JSON", 0.01))
        ]
        return {"comparisons": comparisons, "kernels": kernels, **more}

    def overhead(
        self, at_10: float = 1.002, at_1: float = 1.01, control: float = 1.0, processor: float = 1.03, **more: float
    ) -> dict:
        # The median is over all visits: that of the first alone would be another one.
        names = ("off/off", "10 ms/off", "1 ms/off", *more)
        times = [
            {"name": "off/off", "pairs": pairs(1.0, 1.0)},
            {"name": "1 ms/off", "pairs": pairs(processor, processor, 9.0)},
        ]
        ratios = [(ratio,) for ratio in (control, at_10, at_1, *more.values())]
        slow_ones = [(ratio, 7.0 + number) for number, (ratio,) in enumerate(ratios)]
        first = self.visit(names, slow_ones, processorTime=times)
        second = self.visit(names, ratios, processorTime=times)
        return made_up("overhead", [first, second], [second])

    def check(self, saved: dict, what: str, shown: str, met: bool | None):
        self.assertEqual(limits(figures.report(saved))[what], (shown, met))

    def test_overhead(self):
        saved = self.overhead()
        report = figures.report(saved)
        self.assertEqual([limit.met for limit in report.limits], [True] * 6)
        self.assertEqual(limits(report)["10 ms/off, geometric mean"][0], "1.007")
        self.assertEqual(limits(report)["10 ms/off, worst kernel"][0], "1.012 (JSON)")
        self.assertEqual(limits(report)["10 ms/off, beyond Chromium's"][0], "+0.000")
        text = report.text()
        self.assertIn("Strobe, 10 ms/off: true interval 10 ms, 200 samples, 90 % of them with a stack", text)
        self.assertIn("\nsort                  50.0    1.000      1.002     1.010          50.0  ", text)
        self.assertNotIn("not within", text)
        self.check(self.overhead(at_10=1.006), "10 ms/off, geometric mean", "1.011", False)
        self.check(self.overhead(at_10=1.021), "10 ms/off, worst kernel", "1.031 (JSON)", False)
        self.check(self.overhead(at_1=1.011), "1 ms/off, geometric mean", "1.016", False)
        self.check(self.overhead(at_1=1.051), "1 ms/off, worst kernel", "1.061 (JSON)", False)
        self.check(self.overhead(processor=1.031), "1 ms/off, processor time of all processes", "1.031", False)
        note = "Strobe: the control off/off is 1.020, not within 0.5% of 1"
        noisy = figures.report(self.overhead(control=1.02))
        self.assertIn(note, noisy.text())
        # The processor time has a control of its own.
        self.assertEqual([limit.verdict for limit in noisy.limits], 5 * ["too noisy"] + ["met"])
        self.assertEqual({limit.verdict for limit in report.limits}, {"met"})

    def test_nothing_is_wanted_of_the_floor(self):
        without_signal = "1 ms, no signal/off"
        saved = {**self.overhead(at_1=1.2, processor=1.3, **{without_signal: 1.1}), "suite": "floor"}
        with self.assertRaisesRegex(MachError, "floor: Strobe posted a result of the wrong form: KeyError"):
            figures.report(saved)
        with self.assertRaisesRegex(MachError, "floor: 3 comparisons instead of 4: off/off, 10 ms/off, 1 ms/off"):
            figures.report({**self.overhead(), "suite": "floor"})
        of_libraries = self.overhead(at_1=1.4, control=1.02, **{without_signal: 1.3})["browsers"]
        for browser, other in zip(saved["browsers"], of_libraries, strict=True):
            for posted, of_other in zip(browser["results"], other["results"], strict=True):
                posted["libraries"] = of_other["kernels"]
        report = figures.report(saved)
        self.assertEqual({(limit.wanted, limit.met) for limit in report.limits}, {("", None)})
        shown = {limit.what: limit.values["Strobe"] for limit in report.limits}
        self.assertEqual(shown["1 ms/off, geometric mean"], "1.205")
        self.assertEqual(shown[f"{without_signal}, geometric mean"], "1.105")
        self.assertEqual(shown["1 ms/off, processor time of all processes"], "1.300")
        self.assertEqual(shown["1 ms/off, libraries, geometric mean"], "1.405")
        self.assertEqual(shown[f"{without_signal}, libraries, geometric mean"], "1.305")
        self.assertEqual([table.rows[0][0] for table in report.tables], ["kernel", "library"])
        self.assertIn("Strobe: the control of the libraries is 1.020, not within 0.5% of 1", report.text())

    def test_overhead_beside_another_browser(self):
        saved = self.overhead(at_10=1.004)
        saved["browsers"][1] = {**self.overhead(at_10=0.998)["browsers"][1]}
        self.check(saved, "10 ms/off, beyond Chromium's", "+0.006", False)
        saved["browsers"][1] = {**self.overhead(control=1.05)["browsers"][1]}
        verdicts = {limit.what: limit.verdict for limit in figures.report(saved).limits}
        self.assertEqual(verdicts["10 ms/off, beyond Chromium's"], "too noisy")
        self.assertEqual(verdicts["10 ms/off, geometric mean"], "met")
        del saved["browsers"][1]
        self.check(saved, "10 ms/off, beyond Chromium's", "", None)

    def test_profilers_without_samples_say_nothing(self):
        saved = self.overhead()
        saved["browsers"][0]["results"][1]["comparisons"][2]["traces"]["measured"]["samplesWithStack"] = 0
        with self.assertRaisesRegex(MachError, "^1 ms/off: the profilers gave no sample with a stack$"):
            figures.report(saved)

    def test_results_of_the_wrong_form(self):
        def broken(change, message: str):
            saved = self.overhead()
            change(saved["browsers"][1]["results"][0])
            with self.assertRaisesRegex(MachError, f"^overhead: Chromium posted a result of the wrong form: {message}"):
                figures.report(saved)

        def set_pair(value):
            return lambda result: result["kernels"][0]["comparisons"][0]["pairs"][0].update(measured=value)

        broken(lambda result: result.pop("kernels"), "KeyError: 'kernels'")
        broken(lambda result: result.pop("processorTime"), "KeyError: 'processorTime'")
        broken(set_pair(0), "ValueError: 0 is not a positive number")
        broken(set_pair("1"), "ValueError: '1' is not a positive number")
        broken(set_pair(float("nan")), "ValueError: nan is not a positive number")
        broken(lambda result: result["kernels"][0]["comparisons"][0].update(pairs=[]), "StatisticsError|ValueError")
        for saved, message in (
            ({**self.overhead(), "suite": "speed"}, "suite 'speed', which has no report"),
            (made_up("start", []), "^start: Strobe has no results$"),
        ):
            with self.assertRaisesRegex(MachError, message):
                figures.report(saved)

    def scale(self, many: float = 1.1, at_once: int = 100) -> dict:
        names = ("1/1 at 10 ms", "50/1 at 10 ms", "50/1 at 1 ms")
        more = {"atOnce": {"count": at_once, "failure": "TypeError: too many"}}
        return made_up("scale", [self.visit(names, [(1.0,), (1.0,), (many,)], profilers=(1, 50), **more)])

    def test_scale(self):
        report = figures.report(self.scale())
        self.assertEqual([limit.met for limit in report.limits], [True] * 3)
        self.assertIn("Strobe: one profiler more than 100: TypeError: too many", report.notes)
        self.check(self.scale(many=1.2), "50/1 at 1 ms, geometric mean", "1.205", False)
        self.check(self.scale(at_once=99), "profilers at once", "99", False)

    def policy(self, ratios: dict[str, float]) -> dict:
        """In two rounds, of which the second is slower in all variants."""
        results = []
        for number, slower in ((0, 1), (1, 3)):
            for variant in ("no header", "no header again", "lazy", "eager"):
                loads = [{"loadMs": 500 * slower * ratios.get(variant, 1), "scriptMs": 200 * slower}] * 3
                results.append({"variant": variant, "round": number, "loads": loads})
        return made_up("policy", results)

    def test_policy(self):
        report = figures.report(self.policy({}))
        self.assertEqual([limit.met for limit in report.limits], [True] * 4)
        self.assertIn("\nno header              1000 ms         400 ms\n", report.text())
        self.assertIn("\nlazy             1.000 ± 0.000  1.000 ± 0.000\n", report.text())
        self.check(self.policy({"lazy": 1.01}), "lazy, load time", "1.010", True)
        self.check(self.policy({"lazy": 1.011}), "lazy, load time", "1.011", False)
        self.check(self.policy({"eager": 0.989}), "eager, load time", "0.989", False)
        self.check(self.policy({"eager": 0.989}), "eager, script time", "1.000", True)
        self.assertEqual(trimmed([1000, *range(1, 10)], statistics.fmean), 5.5)
        # The deviation of 2, 2, 3, 4, 5, 6, 7, 8, 9, 9 is 2.718.
        self.assertAlmostEqual(trimmed_error([1000, *range(1, 10)]), 2.718 / 0.8 / 10**0.5, places=3)
        noisy = figures.report(self.policy({"no header again": 0.97}))
        self.assertIn("Strobe: the control of the load time is 0.970", noisy.notes[0])
        self.assertEqual([limit.verdict for limit in noisy.limits], 2 * ["too noisy"] + 2 * ["met"])
        saved = self.policy({})
        saved["browsers"][0]["results"][2]["loads"][0]["scriptMs"] = -1
        with self.assertRaisesRegex(MachError, "^policy: Strobe .* ValueError: -1 is not a positive number"):
            figures.report(saved)

    def test_instructions(self):
        counts = {"no header": (40, 41), "no header again": (43, 40), "lazy": (40.4, 50), "eager": (99, 40.5)}
        results = [
            {"variant": variant, "round": number, "instructions": 1e9 * count[number]}
            for number in (0, 1)
            for variant, count in counts.items()
        ]
        saved = made_up("instructions", results)
        self.check(saved, "lazy, instructions", "1.010", True)
        self.check(saved, "eager, instructions", "1.012", False)
        results = saved["browsers"][0]["results"]
        results[5]["instructions"] = 41.5e9
        noisy = figures.report(saved)
        self.assertEqual([limit.verdict for limit in noisy.limits], 2 * ["too noisy"])
        self.assertIn("Strobe: the control of the instructions is 1.038", noisy.notes[0])
        del results[3]["instructions"]
        with self.assertRaisesRegex(MachError, "^instructions: Strobe posted .* KeyError: 'instructions'"):
            figures.report(saved)

    def trace(self, milliseconds: float = 20, block: float = 8, gzip_block: float = 1, growth: int = 2_000_000):
        def stop(form: str, milliseconds: float, block: float, samples: int | None) -> dict:
            counts = {"samples": samples, "frames": samples and 41, "stacks": samples and 900}
            times = {"milliseconds": milliseconds, "block": block, "controlBlock": 0.5}
            gives = "object" if samples else "gzip"
            size = None if samples else 999
            return {"format": form, "form": gives, "sampleInterval": 0.1, "bytes": size, **counts, **times}

        def visit(plain: dict, gzip: dict) -> dict:
            in_all = {"growth": 6_000_000, "controlGrowth": 1_000_000}
            later = {"secondGrowth": growth, "controlSecondGrowth": 0}
            return {**in_all, **later, "stops": [gzip, plain]}

        ours = visit(stop("default", milliseconds, block, 100_000), stop("json-gzip", 90, gzip_block, None))
        # Chromium does not know the format.
        other = visit(stop("default", 45, 44, 100_000), stop("json-gzip", 45, 44, 100_000))
        return made_up("trace", [ours], [other])

    def test_trace(self):
        def report_text(**changed) -> str:
            return figures.report(self.trace(**changed)).text()

        report = figures.report(self.trace())
        self.assertEqual([limit.met for limit in report.limits], [True] * 5)
        self.assertEqual(limits(report)["memory per sample without tables"][0], "20 bytes")
        self.assertIn("about 25 bytes of memory per sample with the tables", report.text())
        self.assertNotIn("Chromium", report.limits[2].values)
        self.assertIn("Strobe, json-gzip                             gzip, 999 bytes", report.text())
        self.check(self.trace(milliseconds=21), "stop() of the trace", "21.0 ms", False)
        self.check(self.trace(block=8.1), "longest block of the trace", "8.1 ms", False)
        self.check(self.trace(gzip_block=1.1), "longest block of json-gzip", "1.1 ms", False)
        self.check(self.trace(growth=2_500_000), "memory per sample without tables", "25 bytes", False)
        # Less memory than before is noise.
        negative = {limit.what: limit.verdict for limit in figures.report(self.trace(growth=-200_000)).limits}
        self.assertEqual(negative.pop("memory per sample without tables"), "too noisy")
        self.assertEqual(set(negative.values()), {"met"})
        busy = self.trace()
        for stop in busy["browsers"][0]["results"][0]["stops"]:
            stop["controlBlock"] = 4.1
        self.assertEqual(
            [limit.verdict for limit in figures.report(busy).limits], ["met", "too noisy", "met", "too noisy", "met"]
        )
        self.assertIn("-2 in the second half, to which hardly any stack is new; below 0", report_text(growth=-200_000))
        self.assertNotIn("noise", report_text())
        alone = self.trace()
        del alone["browsers"][1]
        self.check(alone, "stop() of the trace", "20.0 ms", True)
        # In whatever order they were stopped.
        shown = limits(figures.report(alone))
        alone["browsers"][0]["results"][0]["stops"].reverse()
        self.assertEqual(limits(figures.report(alone)), shown)
        alone["browsers"][0]["results"][0]["stops"].pop()
        with self.assertRaisesRegex(MachError, "^trace: Strobe .* the formats are \\['default'\\]"):
            figures.report(alone)

    def start(self, milliseconds: float = 0.5, after: float = 1.0, with_stack: int = 3) -> dict:
        def step(milliseconds: float, after: float) -> dict:
            sweeps = {"before": [2, 2, 9], "after": [8 * after, 2 * after, 2 * after], "later": [2, 2, 2]}
            return {"milliseconds": milliseconds, "block": 1, **sweeps}

        visit = {"functions": 8000, "control": step(0, 1.0), "measured": step(milliseconds, after)}
        return made_up("start", [{**visit, "samplesWithStack": with_stack}])

    def test_start(self):
        report = figures.report(self.start())
        self.assertEqual([limit.met for limit in report.limits], [True] * 2)
        self.check(self.start(milliseconds=5), "time of new Profiler()", "5.00 ms", False)
        self.check(self.start(after=1.03), "time of the functions right after", "1.030", False)
        busy = self.start()
        busy["browsers"][0]["results"][0]["control"]["milliseconds"] = 2.6
        self.assertEqual([limit.verdict for limit in figures.report(busy).limits], ["too noisy", "met"])
        with self.assertRaisesRegex(MachError, "^start: Strobe: the profiler gave no sample with a stack"):
            figures.report(self.start(with_stack=0))


class HookFiguresTest(unittest.TestCase):
    def measured(
        self, kernel: float = 1.0, load: float = 1.0, memory: float = 1.0, counted: float = 1.0, again: float = 1.0
    ) -> dict:
        """Three rounds, of which the last is slower in all browsers; the two kernels differ by 0.004 in the second.

        The arguments are what Strobe takes of what Servo does; `again` is the control's, of everything.
        """
        results = {"Strobe": [], "Servo": []}
        for number, slower in enumerate((1, 1, 2)):
            for variant in ("Strobe", "Servo", "Servo again"):

                def of(ratio: float, variant=variant) -> float:
                    return {"Strobe": ratio * again**0.5, "Servo": 1.0, "Servo again": again}[variant]

                noise = 1.004 if (number, variant) == (1, "Servo again") else 1.0
                times = [40 * slower * of(kernel), 50 * slower * of(kernel), 50 * slower * of(kernel)]
                sort = {"name": "sort", "milliseconds": [noise * time for time in times]}
                kernels = [sort, {"name": "JSON", "milliseconds": times}]
                sizes = {"peakMemory": 300e6 * of(memory), "memory": 200e6 * of(memory)}
                loads = [9000 * of(1), 300 * slower * of(load), 300 * slower * of(load)]
                labels = {"variant": variant, "round": number}
                of_browser = results["Strobe" if variant == "Strobe" else "Servo"]
                of_browser.append({**labels, "page": "kernels", "kernels": kernels, **sizes})
                of_browser.append({**labels, "page": "load", "milliseconds": loads, "scripts": 1000, **sizes})
                if number < 2:
                    # The first count has something in it that the second has not, in Strobe alone.
                    more = 1.5 if (number, variant) == (0, "Strobe") else 1.0
                    counts = {"instructions": 9e9 * of(counted) * more, "documentInstructions": 1e9 * of(1)}
                    # Times and memory under valgrind are none.
                    slow = {"milliseconds": [1e6], "scripts": 150, "kernels": [], "peakMemory": 9e9, "memory": 9e9}
                    of_browser += [{**labels, "page": page, **slow, **counts} for page in ("kernels", "load")]
        saved = made_up("hooks", results["Strobe"], results["Servo"])
        saved["browsers"][0].update(bytes=103_000_000)
        saved["browsers"][1].update(name="Servo", version="0.7.0", bytes=100_000_000)
        return saved

    def check(self, saved: dict, what: str, shown: str, verdict: str):
        report = figures.report(saved)
        [limit] = [limit for limit in report.limits if limit.what == what]
        self.assertEqual((limit.values["Strobe"], limit.verdict), (shown, verdict))

    def test_the_tables(self):
        report = figures.report(self.measured(kernel=1.001, memory=1.002))
        self.assertEqual({limit.verdict for limit in report.limits}, {"met"})
        lines = [" ".join(line.split()) for line in report.text().split("\n")]
        for line in (
            # Against both in Servo, of which one has 1.004 in the second round.
            "sort 50.1 1.000 (1.000 to 1.004) 1.001 (0.999 to 1.001)",
            "JSON 50.0 1.000 (1.000 to 1.000) 1.001 (1.001 to 1.001)",
            "geometric mean 1.000 (1.000 to 1.002) 1.001 (1.000 to 1.001)",
            "time of a load 300 ms 1.000 (1.000 to 1.000) 1.000 (1.000 to 1.000)",
            "peak memory with the loads 300.0 MB 1.000 (1.000 to 1.000) 1.002 (1.002 to 1.002)",
            # The least of the counts, within what the rounds have.
            "instructions of the engine, load 9000 million 1.000 (1.000 to 1.000) 1.000 (1.000 to 1.500)",
            "size of the program 100.0 MB 1.030",
        ):
            self.assertIn(line, lines)
        note = "after 1000 scripts Strobe has +400 bytes more in use for each, of which the control is good to ±0"
        self.assertIn(note, report.notes)

    def test_limits_of_times(self):
        mean, worst = "kernels, geometric mean of the time", "kernels, worst time"
        self.check(self.measured(kernel=1.005), mean, "1.005", "met")
        self.check(self.measured(kernel=1.006), mean, "1.006", "missed")
        self.check(self.measured(kernel=1.03), worst, "1.030 (JSON)", "met")
        self.check(self.measured(kernel=1.031), worst, "1.031 (JSON)", "missed")
        # Faster is no failure.
        self.check(self.measured(kernel=0.9), mean, "0.900", "met")
        self.check(self.measured(load=1.03), "time of a load", "1.030", "met")
        self.check(self.measured(load=1.031), "time of a load", "1.031", "missed")
        noisy = self.measured(again=1.012)
        self.check(noisy, mean, "1.000", "too noisy")
        self.check(noisy, "time of a load", "1.000", "met")
        self.check(self.measured(again=1.031), "time of a load", "1.000", "too noisy")
        # The limit does not grow with the noise: not even if the control is right in the mean of the rounds.
        varying = self.measured(kernel=1.006)
        for result in varying["browsers"][1]["results"]:
            if result["variant"] == "Servo again" and result["round"] != 2 and result["page"] == "kernels":
                for kernel in result["kernels"]:
                    factor = 1.02 if result["round"] else 1 / 1.02
                    kernel["milliseconds"] = [factor * time for time in kernel["milliseconds"]]
        self.check(varying, mean, "1.006", "too noisy")
        # One round says nothing of the noise.
        once = self.measured()
        for browser in once["browsers"]:
            browser["results"] = [result for result in browser["results"] if result["round"] == 0]
        self.check(once, mean, "1.000", "too noisy")
        self.assertIn(
            "Servo: the control of the kernels' time is 1.012, not within 0.5% of 1", figures.report(noisy).text()
        )

    def test_limits_of_counts_and_memory(self):
        engine, peak = "instructions of the engine, kernels", "peak memory with the kernels"
        self.check(self.measured(counted=1.003), engine, "1.003", "met")
        self.check(self.measured(counted=1.004), engine, "1.004", "missed")
        self.check(self.measured(counted=1.004), "instructions of documents, kernels", "1.000", "met")
        # The limit is closer than what the control of times may be.
        self.check(self.measured(again=1.003), engine, "1.000", "too noisy")
        self.check(self.measured(again=1.003), peak, "1.000", "met")
        self.check(self.measured(memory=1.01), peak, "1.010", "met")
        for what in (peak, "peak memory with the loads", "memory in use after the loads"):
            self.check(self.measured(memory=1.011), what, "1.011", "missed")

    def test_results_of_the_wrong_form(self):
        def broken(change, message: str):
            saved = self.measured()
            change([result for browser in saved["browsers"] for result in browser["results"]])
            with self.assertRaisesRegex(MachError, f"^hooks: Strobe or Servo posted a .* wrong form: {message}"):
                figures.report(saved)

        broken(lambda results: results[0]["kernels"][1].pop("milliseconds"), "KeyError: 'milliseconds'")
        broken(lambda results: results[0]["kernels"][1]["milliseconds"].pop(), "ValueError: zip")
        broken(lambda results: results[1].update(memory=0), "ValueError: 0 is not a positive number")
        broken(lambda results: [result.pop("instructions", None) for result in results], "")
        broken(lambda results: results[1].update(scripts=149), "ValueError: too many values")
        # One of the three was not measured.
        broken(lambda results: results[0].update(variant="Servo"), "KeyError: 'Strobe'")

    def test_a_section_of_the_document(self):
        section = performance_docs.make_section(self.measured(), "hooks")
        for part in (
            " in Strobe 0.1.0 (release build) and Servo 0.7.0 on Fast 1,",
            "| limit | Strobe | control | wanted |  |",
            "| peak memory with the kernels | 1.000 | 1.000 | ≤ 1.01 | met |",
        ):
            self.assertIn(part, section)


class JudgeTest(unittest.TestCase):
    """What is missed, or cannot be told, ends the command with an error."""

    @staticmethod
    def limit(what: str, met: bool | None, mean: float = 1.0, **more) -> Limit:
        values = {"Strobe": "7 ms", "Other": "8 ms"}
        return Limit(what, values, {"Strobe": "1.1"}, "≤ 6 ms", met, (mean,), **more)

    def test_what_is_met_and_what_is_not_compared(self):
        judge(Report())
        judge(Report(limits=[self.limit("a", True), self.limit("b", None)]))

    def test_what_is_missed_or_too_noisy(self):
        limits = [
            self.limit("a", True),
            self.limit("b", False),
            self.limit("c", True, 1.02),
            self.limit("d", False, is_noisy=True),
            Limit("e", {"Strobe": "-1 bytes"}, {}, "≤ 2 bytes", True, is_noisy=True),
        ]
        with self.assertRaises(MachError) as raised:
            judge(Report(limits=limits))
        self.assertEqual(
            str(raised.exception),
            "1 of the limits missed, 3 too noisy:\n  b: 7 ms, wanted ≤ 6 ms\n  c: too noisy, the control is 1.1\n"
            "  d: too noisy, the control is 1.1\n  e: too noisy: -1 bytes",
        )

    def test_too_noisy_alone_is_an_error(self):
        with self.assertRaisesRegex(MachError, "^0 of the limits missed, 1 too noisy:"):
            judge(Report(limits=[self.limit("a", True), self.limit("b", True, 1.02)]))

    def test_a_report_that_is_printed(self):
        measurement = {"suite": "start"}
        for limits, fails in (([self.limit("a", True)], False), ([self.limit("b", False)], True)):
            report = mock.Mock(return_value=Report(limits=limits))
            with contextlib.redirect_stdout(io.StringIO()) as output, mock.patch.object(bench, "report", report):
                try:
                    bench.print_report(measurement, Path("start.json"))
                    self.assertFalse(fails)
                except MachError:
                    self.assertTrue(fails)
            # It is shown in any case.
            self.assertIn("The figures are in start.json; ", output.getvalue())


class PerformanceDocsTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.figures = self.folder / "figures"
        self.figures.mkdir()
        for suite in performance_docs.SUITES:
            begin, end = performance_docs.BEGIN.format(suite=suite), performance_docs.END.format(suite=suite)
            self.document(suite).write_text(f"# Title\n\nAs before.\n\n{begin}\nold {suite}\n{end}\n\nthe end\n")

    def document(self, suite: str) -> Path:
        return performance_docs.document_of(suite, self.figures)

    def write(self, *suites: str, read: str = "scale") -> str:
        """Writes the documents of these suites, and returns one."""
        with contextlib.redirect_stdout(io.StringIO()):
            performance_docs.write(self.folder, list(suites), self.figures)
        return self.document(read).read_text()

    def save(self, saved: dict):
        (self.folder / f"{saved['suite']}.json").write_text(json.dumps(saved))

    def test_only_what_was_measured_changes(self):
        self.save(FiguresTest().scale())
        text = self.write()
        for line in (
            "# Title",
            "As before.",
            "| profilers at once | 100 |  | ≥ 100 | met |",
            "| kernel | Strobe, ms | 1/1 at 10 ms | 50/1 at 10 ms | 50/1 at 1 ms |",
            "| sort | 50.0 | 1.000 | 1.000 | 1.100 |",
            "the end",
        ):
            self.assertIn(line, text.split("\n"))
        self.assertNotIn("old scale", text)
        self.assertIn("\nold overhead\n", self.document("overhead").read_text())
        how = "`./mach bench scale`: 2 rounds, 3 pairs. Measured 2026-01-31 in Strobe 0.1.0 (release build) on Fast 1,"
        self.assertIn(how, text)
        self.assertIn("on Fast 1, 2 cores, 24.0 GiB of memory, Linux 6.1; virtualised: kvm.", text)
        self.assertEqual(self.write("scale"), text, "writing again changes nothing")

    def test_a_suite_without_a_document_gets_one(self):
        self.save(FiguresTest().scale())
        self.document("scale").unlink()
        text = self.write()
        self.assertTrue(text.startswith("# Many profilers\n\n<!-- begin scale: "), text)
        self.assertIn("| sort | 50.0 | 1.000 | 1.000 | 1.100 |", text.split("\n"))

    def test_no_document_changes_unless_all_can_be_written(self):
        self.save(FiguresTest().scale())
        (self.folder / "trace.json").write_text("{}")
        with self.assertRaisesRegex(MachError, "trace.json is not what"):
            self.write("scale", "trace")
        self.assertIn("\nold scale\n", self.document("scale").read_text())

    def test_accuracy(self):
        measured = Measurement({"busy": [], "splits": [], "crowd": []}, SampleCounts(1200), 6, load=1.5)
        measured.machine, measured.when = made_up("x")["machine"], "2026-01-31"
        measured.browsers = made_up("x", [])["browsers"]
        (self.folder / "bench").mkdir()
        measured.save(self.folder / "accuracy.json")
        text = self.write(read="accuracy")
        self.assertIn("Load of the machine in the last minute: 1.50", text)
        self.assertIn("All limits are met.", text)
        measured.failure = "the browser ended"
        measured.save(self.folder / "accuracy.json")
        self.assertIn("- missed: the browser ended", self.write("accuracy", read="accuracy"))

    def test_stops(self):
        measured = StopsTest().measured(frames=512)
        for of_chain in measured.values():
            of_chain.machine, of_chain.when = made_up("x")["machine"], "2026-01-31"
            of_chain.browsers = made_up("x", [])["browsers"]
        stops.save(measured, self.folder / "stops.json")
        text = self.write("stops", read="stops")
        for line in (
            "   10              12  19000        1.50      6.00       123.46",
            "- missed: depth 1000: the samples have 512 frames: the stacks are not whole",
        ):
            self.assertIn(line, text.split("\n"))
        self.assertIn("`./mach bench stops`. Measured 2026-01-31 in Strobe 0.1.0 (release build) on Fast 1,", text)
        (self.folder / "stops.json").write_text('{"chains": {}}')
        with self.assertRaisesRegex(MachError, "is not what ./mach bench stops saves: KeyError: '10'"):
            self.write("stops")

    def test_what_cannot_be_written(self):
        def check(message: str, *suites: str):
            with self.assertRaisesRegex(MachError, message):
                self.write(*suites)

        check("^there are no figures in ")
        check("^soak has no document in .*figures; these have: overhead, ", "soak")
        check("scale.json is not there; `./mach bench scale` makes it$", "scale")
        (self.folder / "scale.json").write_text("{")
        check("scale.json is not JSON: ")
        (self.folder / "scale.json").write_text("{}")
        check("scale.json is not what ./mach bench scale saves: KeyError: 'suite'")
        self.save(FiguresTest().scale())
        self.document("scale").write_text("nothing")
        check("scale.md: 0 sections from `<!-- begin scale")

    def test_each_suite_has_a_document_with_a_section(self):
        overview = (paths.ROOT / "docs" / "performance.md").read_text()
        for suite, title in performance_docs.SUITES.items():
            text = performance_docs.document_of(suite).read_text()
            self.assertTrue(text.startswith(f"# {title}\n"), suite)
            replaced = performance_docs.replace_section(text, suite, "new", Path("x"))
            self.assertIn(f"-->\nnew\n{performance_docs.END.format(suite=suite)}\n", replaced)
            self.assertIn(f"(figures/{suite}.md)", overview)
