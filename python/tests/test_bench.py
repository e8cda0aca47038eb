# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import contextlib
import copy
import io
import json
import os
import socket
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from strobe import accuracy, measurement, process_size, sample_counts, soak, workers
from strobe.errors import MachError
from strobe.measurement import Measurement
from strobe.process_size import ProcessSize
from strobe.sample_counts import SampleCounts, read_counts, read_reasons

PREFIX = "[2026-01-31T12:00:00Z DEBUG js_profiler::sampling_thread] "
COUNTS = "SampleCounts { taken: 1200, missed: 3, collecting: 40, unwalkable: 1, truncated: 7 }"
# Logs what the arguments say, loads the page, stops at a checkpoint, posts and ends with a status.
FAKE_BROWSER = """\
#!{python}
import os, sys, urllib.request
from urllib.parse import urljoin

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
        for line in (f"{PREFIX}GroupId(1): 2 sessions, interval Some(1) ticks", "", "SampleCounts"):
            self.assertIsNone(read_counts(line))
        with self.assertRaises(KeyError):
            read_counts("SessionId(3): SampleCounts { taken: 1 }")

    def test_the_line_of_reasons(self):
        line = f'{PREFIX}GroupId(1): unwalkable: {{"a stub has no frame": 2, "the thread is on another stack": 11}}\n'
        self.assertEqual(read_reasons(line), {"a stub has no frame": 2, "the thread is on another stack": 11})
        self.assertEqual(read_reasons(f"{PREFIX}SessionId(3): {COUNTS}"), {})

    def test_logged_lines(self):
        self.assertRegex(f"{PREFIX}GroupId(1): 2 sessions", sample_counts.LOGGED)
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
        lines = (f"SessionId(1): {COUNTS}", 'GroupId(1): unwalkable: {"a": 2}', f"SessionId(2): {COUNTS}")
        log = "strobe: oh\n" + "".join(f"{PREFIX}{line}\n" for line in lines)
        measured, errors = self.measure(log, '{"rounds": 3}')
        self.assertEqual((measured.result, measured.failure), ({"rounds": 3}, None))
        self.assertEqual((measured.sessions, measured.counts.taken, measured.reasons), (2, 2400, {"a": 2}))
        self.assertEqual((errors, measured.failures()), ("strobe: oh\n", []))
        self.assertGreater(measured.sizes["start"].memory, 0)
        saved = json.loads(self.saved.read_text())
        self.assertEqual((saved["counts"]["unwalkable"], saved["sizes"]["start"]["threads"]), (2, 1))
        self.assertEqual(self.saved.with_suffix(".log").read_text(), log)

    def test_a_failure_keeps_what_there_is(self):
        measured, _ = self.measure(f"SessionId(1): {COUNTS}\n", "", status=3)
        self.assertEqual((measured.result, measured.counts.taken), (None, 1200))
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
        self.assertEqual((apart.median, apart.percentile_99), (10, 10))
        self.assertAlmostEqual(apart.missing, 0)
        # One of a hundred comes a whole interval late, and one never.
        late = [10.0 * n + (10 if n > 50 else 0) for n in range(99)]
        apart = accuracy.spacing(late, 10, 1000)
        self.assertEqual(apart.median, 10)
        self.assertGreater(apart.percentile_99, 11)
        self.assertAlmostEqual(apart.missing, 1)
        self.assertEqual(accuracy.spacing([1, 2], 10, 1000).median, float("inf"))

    def test_busy_programs(self):
        even = [10.0 * n for n in range(100)]
        text, missed = self.busy(even)
        self.assertEqual(missed, [])
        self.assertIn("loop       10 ms      100    100.00       10.00     10.00        0.00", text.split("\n"))
        text, missed = self.busy(even, wrong=1)
        self.assertEqual(missed, ["loop at 10 ms: 99.00 % of the samples right, fewer than 99.5 %"])
        self.assertIn("wrong in loop at 10 ms: 1 samples, as (no stack)", text)
        slow = [10.2 * n for n in range(98)]
        self.assertEqual(
            self.busy(slow)[1],
            [
                "loop at 10 ms: median spacing 10.20 ms, not within 1 % of the interval",
                "loop at 10 ms: 2.00 % of the samples missing, more than 1 %",
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

    def test_a_failure(self):
        _, missed = accuracy.report(Measurement(failure="the browser ended"))
        self.assertEqual(missed, ["the browser ended"])


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
