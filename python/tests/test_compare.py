# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import argparse
import contextlib
import copy
import io
import itertools
import json
import os
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock
from urllib.parse import parse_qs, urlsplit

from strobe.bench import bench, browsers, compared_builds, compared_figures, measurement, real
from strobe.bench.compared_builds import ORDERS, PARTS
from strobe.bench.compared_figures import VARIANTS, Difference, compare_report, difference
from strobe.bench.measurement import Measurement
from strobe.bench.sample_counts import StopDurations
from strobe.commands import bench as bench_command
from strobe.errors import MachError
from strobe.setup import toolchain

STOPPED = (
    "[2026-01-31T12:00:00Z DEBUG js_profiler::x] EventLoopId(1): stood still 90 times, ns: "
    "median {}, 99th percentile {}, longest 9999\n"
)
COUNTS = "fn=js::Call(int)\n0 40000\nfn=script::dom::node::Node::insert\n0 500\n"


def posted(page: str, asked: dict[str, list[str]], slower: float) -> dict:
    """What a page posts if everything takes `slower` times what it takes otherwise."""

    def pairs(ratio: float) -> list[dict]:
        return [{"reference": 50.0, "measured": 50.0 * ratio}]

    if page == "/overhead.html":
        names = {"off/off": 1.0, "10 ms/off": 1.005 * slower, "1 ms/off": 1.01 * slower}
        state, trace = {"profilers": 1}, {"sampleInterval": 1, "samples": 9, "samplesWithStack": 9}
        traces = {"reference": trace, "measured": trace}
        return {
            "comparisons": [{"name": name, "reference": state, "measured": state, "traces": traces} for name in names],
            "kernels": [
                {
                    "name": kernel,
                    "comparisons": [{"name": name, "pairs": pairs(ratio)} for name, ratio in names.items()],
                }
                for kernel in ("sort", "JSON")
            ],
            "processorTime": [
                {"name": "off/off", "pairs": pairs(1.0)},
                {"name": "1 ms/off", "pairs": pairs(1.03 * slower)},
            ],
        }
    if page == "/stops/stops.html":
        return {"medianDepth": int(asked["depth"][0]) + 2}
    if page == "/accuracy/accuracy.html":
        busy = [
            {
                "name": name,
                "interval": interval,
                "milliseconds": 1000.0,
                "wrong": {},
                "timestamps": [slower * interval * number for number in range(1000 // interval)],
            }
            for interval in (1, 10)
            for name in ("loop", "sort")
        ]
        split = {"name": "70/30", "shares": {"a": 70, "b": 30}, "samples": 1000, "leaves": {"a": 700, "b": 295, "c": 5}}
        return {"busy": busy, "splits": [split], "crowd": []}
    if page == "/trace/trace.html":
        growth = {"growth": 4e6, "controlGrowth": 0, "secondGrowth": 16e5, "controlSecondGrowth": 0}
        stops = [{"format": "default", "samples": 100_000}, {"format": "json-gzip", "samples": None}]
        return {
            **{name: bytes * slower for name, bytes in growth.items()},
            "stops": stops,
            "peakMemory": 300e6 * slower,
        }
    sizes = {"hasProfiler": True, "peakMemory": 300e6 * slower, "memory": 200e6 * slower}
    if "loads" in asked:
        return {**sizes, "scripts": 150, "milliseconds": [100.0] * int(asked["loads"][0])}
    if "units" in asked:
        return {**sizes, "kernels": [{"name": name, "milliseconds": [50.0]} for name in ("sort", "JSON")]}
    return {"units": [3, 5]}


def options(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    bench_command.add_arguments(parser)
    return parser.parse_args(["compare", *arguments])


class CompareTest(unittest.TestCase):
    """The browsers only say their version. Their visits are made up, and noted: build, address and flags."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.slower = {"new": 1.0, "old": 1.0}
        self.new, self.old = self.browser("new"), self.browser("old")
        self.target = self.folder / "target"
        self.visits: list[tuple[str, str, list[str]]] = []
        # What a page posts instead.
        self.posts: dict[str, dict] = {}
        self.enterContext(mock.patch.object(bench.paths, "target_dir", lambda: self.target))
        self.enterContext(mock.patch.object(compared_builds, "STOP_VISITS", 2))
        for module in (browsers, measurement):
            self.enterContext(mock.patch.object(module, "visit", self.visit))

    def browser(self, name: str, version: str = "strobe 0.1.0", folder: str = "release") -> Path:
        file = self.folder / name / folder / "strobe"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n# {name}\necho '{version}'\n")
        file.chmod(0o755)
        return file.resolve()

    def visit(self, binary, arguments, _server, page, received, _bound, *, started=None, on_log=None, **_):
        [name] = (build for build in self.slower if str(self.folder / build / "release") in f"{binary} {arguments}")
        self.visits.append((name, page, arguments))
        for argument in arguments:
            if argument.startswith("--cachegrind-out-file="):
                Path(argument.partition("=")[2]).write_text(COUNTS)
        if "stops.html" in page:
            median = int(1000 * self.slower[name])
            on_log(STOPPED.format(median, 2 * median))
        address = urlsplit(page)
        result = self.posts.get(name) or posted(address.path, parse_qs(address.query), self.slower[name])
        received(json.dumps(result).encode())

    def compare(self, *arguments: str, old: Path | None = None) -> dict:
        """The saved measurement. What is printed is kept, even if limits are missed."""
        given = options(f"--old={old or self.old}", "--stop-seconds=1", "--accuracy-seconds=1", *arguments)
        with (
            mock.patch.dict(os.environ, {"STROBE_BINARY": str(self.new)}),
            contextlib.redirect_stdout(io.StringIO()) as output,
        ):
            try:
                bench.bench(given)
            finally:
                self.output = output.getvalue()
        return json.loads((self.target / "bench" / "compare.json").read_text())

    def test_a_build_that_is_the_same(self):
        # The old one may say more of its parts, or less.
        self.browser("new", version="strobe 0.2.0 (Servo 0.7.0, SpiderMonkey 153.6)\nbuilt today")
        saved = self.compare("--rounds=2")
        described = [(browser["name"], browser["version"], browser["build"]) for browser in saved["browsers"]]
        self.assertEqual(described, [("new", "0.2.0", "release"), ("old", "0.1.0", "release")])
        self.assertRegex(
            self.output, r"^compare: 2 rounds, .* in new \(0\.2\.0, release\) and old \(0\.1\.0, release\);"
        )
        limits = compare_report(saved).limits
        self.assertEqual({limit.verdict for limit in limits}, {"met"})
        # Each part has its limits.
        for what in (
            "overhead, 10 ms/off, kernels",
            "stops at depth 1000, median",
            "shares of samples, new − old, points",
        ):
            self.assertIn(what, [limit.what for limit in limits])
        results = [result for browser in saved["browsers"] for result in browser["results"]]
        pages = {result["page"] for result in results}
        self.assertEqual({result["part"] for result in results}, set(PARTS))
        self.assertEqual(len(results), 2 * 3 * len(pages), "one for each page, browser and round")
        self.assertEqual({result["variant"] for result in saved["browsers"][0]["results"]}, {"new"})
        self.assertEqual({result["variant"] for result in saved["browsers"][1]["results"]}, {"old", "old again"})
        # The new one comes at each place.
        programs = [name for name, page, _ in self.visits if "overhead.html" in page]
        self.assertEqual(programs, ["new", "old", "old", "old", "old", "new"])
        programs = [name for name, page, _ in self.visits if "depth=10&" in page]
        self.assertEqual([place % 3 for place, name in enumerate(programs) if name == "new"], [0, 2, 1, 2])
        deep = [flags for _, page, flags in self.visits if "depth=1000" in page]
        self.assertTrue(all("js_profiling_max_stack_depth=4096" in flags for flags in deep))
        traces = [flags for _, page, flags in self.visits if "trace.html" in page]
        self.assertTrue(all("js_profiling_base_interval_us=100" in flags for flags in traces))

    def test_a_build_that_is_worse(self):
        self.slower["new"] = 1.06
        with self.assertRaisesRegex(
            MachError, r"not shown to be no worse: \d+ of the limits missed, 0 too noisy"
        ) as caught:
            self.compare("--rounds=2")
        for what in (
            "overhead, 10 ms/off, kernels: 1.060, wanted ≤ 1.005",
            "overhead, 1 ms/off, processor time of all processes: 1.060, wanted ≤ 1.005",
            "stops at depth 10, 99th percentile: 1.060, wanted ≤ 1.05",
            "spacing of samples at 10 ms, mean: 1.060, wanted 1 ± 0.01",
            "memory per sample without tables: 1.060, wanted ≤ 1.01",
            "peak memory with the loads: 1.060, wanted ≤ 1.01",
        ):
            self.assertIn(f"\n  {what}", str(caught.exception))
        self.assertNotIn("\n  shares", str(caught.exception))
        self.assertIn("\nWhat is wanted:\n", self.output, "the report is printed")

    def test_what_is_too_noisy_is_measured_longer(self):
        noisy = iter([{"overhead", "trace"}, {"trace"}, set()])
        parts = []

        def is_noisy(_, part):
            if part == PARTS[0]:
                parts.append(next(noisy))
            return part in parts[-1]

        with mock.patch.object(compared_builds, "is_noisy", is_noisy):
            saved = self.compare("--part=trace", "--part=overhead", "--rounds=1", "--most-rounds=9")
        self.assertEqual(saved["settings"]["rounds"], 3)
        rounds = {(result["part"], result["round"]) for result in saved["browsers"][0]["results"]}
        self.assertEqual(rounds, {("overhead", 0), ("trace", 0), ("overhead", 1), ("trace", 1), ("trace", 2)})
        self.assertIn("\nround 3 is done: trace\n", self.output)

    def test_no_more_rounds_than_the_bound(self):
        with mock.patch.object(compared_builds, "is_noisy", lambda *_: True):
            saved = self.compare("--part=overhead", "--rounds=1", "--most-rounds=2")
        self.assertEqual(saved["settings"]["rounds"], 2)
        with mock.patch.object(compared_builds, "is_noisy", lambda *_: True):
            saved = self.compare("--part=overhead", "--rounds=3", "--most-rounds=1")
        self.assertEqual(saved["settings"]["rounds"], 3)

    def test_a_control_out_of_its_band_is_too_noisy(self):
        # Every second visit of the old build is slower.
        visit, again = self.visit, itertools.cycle([1.0, 1.02])

        def visit_old(binary, *arguments, **more):
            if str(binary) == str(self.old):
                self.slower["old"] = next(again)
            visit(binary, *arguments, **more)

        with (
            mock.patch.object(browsers, "visit", visit_old),
            self.assertRaisesRegex(
                MachError, "0 of the limits missed, 3 too noisy:\n  overhead, 10 ms/off, kernels: too"
            ),
        ):
            self.compare("--part=overhead", "--rounds=2", "--most-rounds=3")
        self.assertIn("\nround 3 is done: overhead\n", self.output)

    def test_instructions_are_counted_in_the_first_rounds(self):
        valgrind = self.folder / "valgrind"
        valgrind.write_text("#!/bin/sh\n")
        valgrind.chmod(0o755)
        with mock.patch("shutil.which", return_value=str(valgrind)):
            saved = self.compare("--part=trace", "--rounds=2", "--counts=1")
        counted = [result for result in saved["browsers"][0]["results"] if result["part"] == "instructions"]
        self.assertEqual([(result["page"], result["round"]) for result in counted], [("kernels", 0), ("load", 0)])
        self.assertEqual({result["instructions"] for result in counted}, {40000})
        verdicts = {limit.what: limit.verdict for limit in compare_report(saved).limits}
        self.assertEqual(verdicts["instructions of the engine, load"], "met")
        with (
            mock.patch("shutil.which", return_value=None),
            self.assertRaisesRegex(MachError, "^valgrind is not installed"),
        ):
            self.compare("--counts=1")

    def test_libraries(self):
        script = self.folder / "acorn.js"
        script.write_text("1")
        stopped = Measurement(stops=StopDurations(90, 3000, 9000, 10_000))
        with (
            mock.patch.object(compared_builds.npm, "check_node"),
            mock.patch.object(real, "bundle", return_value={"acorn": script}),
            mock.patch.object(real, "measure_stops", return_value=stopped) as measure_stops,
        ):
            saved = self.compare("--part=trace", "--libraries", "--rounds=2")
        visits = [(call.args[0], call.args[1], call.args[2]) for call in measure_stops.call_args_list]
        orders = ((self.new, self.old, self.old), (self.old, self.old, self.new))
        expected = [(binary, "acorn", interval) for order in orders for interval in (1, 10) for binary in order]
        self.assertEqual(visits, expected)
        limits = {limit.what: limit.verdict for limit in compare_report(saved).limits}
        self.assertEqual(limits["stops of libraries at 10 ms, 99th percentile"], "met")

    def test_a_visit_that_fails(self):
        def failed(message: str, result: dict):
            self.posts["old"] = result
            with self.assertRaisesRegex(MachError, message):
                self.compare("--part=stops", "--rounds=1")

        fault = "the samples have 9 frames: the stacks are not whole"
        failed(f"^stops at depth 10 in old: {fault}$", {"medianDepth": 9})
        failed("^stops at depth 10 in old: /stops/stops.html could not be profiled: oh$", {"error": "oh"})

    def test_what_is_wrong_is_found_before_a_build(self):
        def refused(message: str, *arguments: str):
            with mock.patch.object(bench.build, "find") as find, self.assertRaisesRegex(MachError, message):
                bench.bench(options(*arguments))
            find.assert_not_called()

        refused(r"^--old: nowhere: no such program$", "--old=nowhere")
        refused(r"^there is no part speed; these are there: overhead, stops, ", f"--old={self.old}", "--part=speed")
        with mock.patch.object(toolchain, "valgrind", side_effect=MachError("no valgrind")):
            refused("^no valgrind$", f"--old={self.old}", "--counts=1")
        with self.assertRaisesRegex(MachError, "are not builds of the same kind; --release makes the new one"):
            self.compare(old=self.browser("other", folder="debug"))

    def test_each_browser_comes_at_each_place(self):
        self.assertEqual(set(ORDERS), set(itertools.permutations(VARIANTS)))
        for place in range(3):
            for three in (ORDERS[:3], ORDERS[3:]):
                self.assertEqual({order[place] for order in three}, set(VARIANTS))

    def test_the_same_program(self):
        self.compare("--part=trace", "--rounds=1", old=self.new)
        self.assertIn("new and old are the same program, so all ratios should be 1", self.output)
        self.compare("--part=trace", "--rounds=1")
        self.assertNotIn("are the same program", self.output)


class ComparedFiguresTest(unittest.TestCase):
    def measured(self, part: str, results: list[dict]) -> dict:
        """A measurement of results by variant, all in one part. Nothing in it is the same object as anything else."""
        browser = {"version": "0.1.0", "build": "release", "sha256": "ab"}
        of_part = [{"round": 0, "part": part, **result} for result in copy.deepcopy(results)]
        of_new = [result for result in of_part if result["variant"] == "new"]
        of_old = [result for result in of_part if result["variant"] != "new"]
        browsers = [{**browser, "name": "new", "results": of_new}, {**browser, "name": "old", "results": of_old}]
        return {"suite": "compare", "load": 0.5, "browsers": browsers}

    def verdicts(self, saved: dict) -> dict[str, tuple[str, str]]:
        return {limit.what: (limit.values["new"], limit.verdict) for limit in compare_report(saved).limits}

    def stops(self, **medians: list[list[int]]) -> dict:
        """Medians in ns by round and visit. The other percentile is three times as much."""
        results = []
        for variant, rounds in medians.items():
            for number, of_round in enumerate(rounds):
                times = [{"median": median, "percentile_99": 3 * median} for median in of_round]
                labels = {"variant": variant.replace("_", " "), "round": number}
                results += [{**labels, "page": f"stops at depth {depth}", "stops": times} for depth in (10, 1000)]
        return self.measured("stops", results)

    def test_stops(self):
        # A visit among several that is out of line changes nothing, whether a build is the new or the old one.
        old = [[1000, 1000, 9000], [1000, 1000, 1000]]
        met = self.stops(new=[[1050, 1050, 1050], [1050, 1050, 5000]], old=old, old_again=[[1000] * 3] * 2)
        self.assertEqual(self.verdicts(met)["stops at depth 10, median"], ("1.050", "met"))
        table = compare_report(met).tables[0]
        cells = ["6", "1.00 µs", "1.000 (1.000 to 1.000)", "1.050 (1.050 to 1.050)"]
        self.assertEqual(table.rows[2], ["stops at depth 10, 99th percentile", *cells[:1], "3.00 µs", *cells[2:]])
        self.assertEqual(table.rows[1][1:], cells)
        missed = self.stops(new=[[1051] * 3] * 2, old=[[1000] * 3] * 2, old_again=[[1000] * 3] * 2)
        self.assertEqual(self.verdicts(missed)["stops at depth 1000, 99th percentile"], ("1.051", "missed"))
        # Both visits of the old build count alike: the new one is compared with their geometric mean.
        both = self.stops(new=[[1020] * 3] * 2, old=[[1000] * 3] * 2, old_again=[[1040] * 3] * 2)
        self.assertEqual(self.verdicts(both)["stops at depth 10, median"], ("1.000", "met"))
        for again in (
            [[1051] * 3] * 2,
            # Near 1 by chance, and with a single round nobody knows.
            [[900] * 3, [1100] * 3],
            [[1000] * 3],
        ):
            same = [[1000] * 3] * len(again)
            noisy = self.stops(new=same, old=same, old_again=again)
            self.assertEqual(self.verdicts(noisy)["stops at depth 10, median"][1], "too noisy")

    def accuracy(self, changed: dict[str, dict] | None = None, rounds: int = 1) -> dict:
        """A split and a busy program. `changed` are, by variant, other leaves, wrong samples, and spacing."""
        results = []
        for variant in VARIANTS:
            of = {"leaves": {"a": 7000, "b": 2990}, "wrong": 0, "mean": 10.0, "percentile_99": 28.0}
            of |= (changed or {}).get(variant, {})
            split = {"name": "70/30", "shares": {"a": 70, "b": 30}, "samples": 10_000, "leaves": of["leaves"]}
            apart = {"mean": of["mean"], "percentile_99": of["percentile_99"], "missing": 0.0}
            busy = {"name": "loop", "interval": 10, "samples": 1000, "wrong": of["wrong"], **apart}
            result = {"page": "accuracy", "variant": variant, "splits": [split], "busy": [busy]}
            results += [{**result, "round": number} for number in range(rounds)]
        return self.measured("accuracy", results)

    def test_shares(self):
        shares, right = "shares of samples, new − old, points", "samples with the right function, new − old, points"

        def verdict(what: str, **changed: dict) -> str:
            return self.verdicts(self.accuracy({name.replace("_", " "): of for name, of in changed.items()}))[what][1]

        text = compare_report(self.accuracy()).text()
        self.assertRegex(
            text, r"70/30 +a +70 +70\.00 +70\.00 +\+0\.00 \(-1\.62 to \+1\.62\)  \+0\.00 \(-1\.41 to \+1\.40\)"
        )
        self.assertEqual(verdict(shares), "met")
        # Four shares are compared. 1.4 points are 2.5 standard deviations of a difference of 10,000 and 20,000 samples.
        self.assertEqual(verdict(shares, new={"leaves": {"a": 7130, "b": 2860}}), "met")
        self.assertEqual(verdict(shares, new={"leaves": {"a": 7150, "b": 2840}}), "missed")
        self.assertEqual(verdict(shares, new={"leaves": {"a": 6850, "b": 3140}}), "missed")
        # What is in no known function counts, too.
        self.assertEqual(verdict(shares, new={"leaves": {"a": 6960, "b": 2970}}), "missed")
        self.assertEqual(verdict(shares, old_again={"leaves": {"a": 7170, "b": 2820}}), "too noisy")
        self.assertEqual(verdict(right, new={"wrong": 1}), "met")
        self.assertEqual(verdict(right, new={"wrong": 12}), "missed")
        self.assertEqual(verdict(right, old={"wrong": 12}, old_again={"wrong": 12}), "met", "fewer are no worse")

    def test_rounds_are_summed(self):
        """What one round has by chance is no chance if each of many rounds has it."""
        shares, changed = "shares of samples, new − old, points", {"new": {"leaves": {"a": 7100, "b": 2890}}}
        for rounds, verdict in ((1, "met"), (4, "missed")):
            self.assertEqual(self.verdicts(self.accuracy(changed, rounds))[shares][1], verdict)

    def test_spacing(self):
        def verdict(what: str, **new: float) -> tuple[str, str]:
            return self.verdicts(self.accuracy({"new": new}, rounds=2))[f"spacing of samples at 10 ms, {what}"]

        self.assertEqual(verdict("mean", mean=10.1), ("1.010", "met"))
        self.assertEqual(verdict("mean", mean=9.85), ("0.985", "missed"))
        self.assertEqual(verdict("99th percentile", percentile_99=29.5), ("1.054", "missed"))
        self.assertEqual(verdict("99th percentile", percentile_99=25.0), ("0.893", "met"), "less spread is no worse")

    def test_an_interval_of_a_difference(self):
        # As R's prop.test has it without a correction, but by Newcombe's method: 56/70 and 48/80.
        found = difference("x", (56, 70), (48, 80), 1)
        self.assertAlmostEqual(found.value, 20.0)
        self.assertAlmostEqual(found.least, 5.24, places=2)
        self.assertAlmostEqual(found.most, 33.39, places=2)
        self.assertGreater(found.excess, 1)
        wider = difference("x", (56, 70), (48, 80), 20)
        self.assertLess(wider.least, 0)
        self.assertLess(wider.excess, 1)
        # Nothing of many against nothing of many.
        self.assertEqual(difference("x", (0, 1000), (0, 1000), 1).excess, 0)
        self.assertEqual(Difference("x", -2.0, -3.0, -1.0).excess, 2.0)
        self.assertEqual(Difference("x", 0.5, -0.5, 1.5).shown(), "+0.50 (-0.50 to +1.50)")

    def trace(self, **second_growths: list[float]) -> dict:
        stops = [{"format": "default", "samples": 50_000}, {"format": "json-gzip", "samples": None}]
        return self.measured(
            "trace",
            [
                {
                    "page": "trace",
                    "variant": variant.replace("_", " "),
                    "round": number,
                    "growth": 2_100_000,
                    "controlGrowth": 100_000,
                    "secondGrowth": growth,
                    "controlSecondGrowth": 0,
                    "stops": stops,
                    "peakMemory": 300e6,
                }
                for variant, growths in second_growths.items()
                for number, growth in enumerate(growths)
            ],
        )

    def test_memory(self):
        what, same = "memory per sample without tables", {"old": [800_000] * 2, "old_again": [800_000] * 2}
        saved = self.trace(new=[808_000] * 2, **same)
        self.assertEqual(self.verdicts(saved)[what], ("1.010", "met"))
        self.assertEqual(self.verdicts(saved)["peak memory with the traces"], ("1.000", "met"))
        self.assertEqual(compare_report(saved).tables[0].rows[1][1], "20.0 bytes")
        self.assertEqual(self.verdicts(self.trace(new=[809_000] * 2, **same))[what], ("1.011", "missed"))
        # A round without growth has no ratio.
        more = {name: [*growths, 800_000] for name, growths in same.items()}
        self.assertEqual(self.verdicts(self.trace(new=[-1, 800_000, 800_000], **more))[what], ("1.000", "met"))
        noisy = self.trace(new=[-1, 0], **same)
        self.assertEqual(self.verdicts(noisy)[what], ("none", "too noisy"))
        self.assertIn(f"{what}: 2 rounds in which it did not grow are left out", compare_report(noisy).notes)

    def test_results_of_the_wrong_form(self):
        saved = self.stops(new=[[1000]], old=[[1000]], old_again=[[0]])
        with self.assertRaisesRegex(MachError, "^compare, stops: new or old posted a .* 0 is not a positive number$"):
            compare_report(saved)
        saved = self.stops(new=[[1000]], old=[[1000]])
        with self.assertRaisesRegex(MachError, "wrong form: KeyError: 'old again'$"):
            compare_report(saved)
        saved["browsers"][0]["results"][0]["part"] = "speed"
        with self.assertRaisesRegex(MachError, "^the measurement has a part 'speed', which has no report$"):
            compare_report(saved)

    def test_every_part_has_a_report(self):
        parts = {*PARTS, compared_builds.LIBRARIES, compared_figures.COUNTED}
        self.assertEqual(parts, set(compared_figures.PART_REPORTS))

    def test_as_the_pages_have_it(self):
        page = (measurement.PAGES / "stops" / "stops.js").read_text()
        warm_up = re.search(r"^const WARM_UP_TIME = (\d+);", page, re.MULTILINE)[1]
        self.assertEqual(int(warm_up), 1000 * compared_builds.STOP_WARM_UP)
