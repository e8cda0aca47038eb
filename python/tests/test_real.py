# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import contextlib
import copy
import io
import json
import re
import statistics
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from strobe.bench import browsers, confidence, figures, performance_docs, real
from strobe.bench.figures.real import OFF, OFF_AGAIN, ON, SESSIONS, session_ratios, start_costs
from strobe.errors import MachError

# Posts what the script of its library says, and its flags. With an interval it logs a stop and a session, too.
LIBRARY_BROWSER = """\
#!{python}
import json, sys, time, urllib.request
from urllib.parse import urljoin

if sys.argv[1:] == ["--version"]:
    print("{version}")
    sys.exit()
*flags, url = sys.argv[1:]
with urllib.request.urlopen(url) as response:
    policy = response.headers["Document-Policy"]
with urllib.request.urlopen(urljoin(url, "/generated/library.js")) as response:
    script = response.read().decode()
result = {{**{posted}, "script": script, "policy": policy, "order": time.monotonic_ns(), "url": url}}
if "interval=" in url:
    name = "[2026-01-31T12:00:00Z DEBUG js_profiler::sampling_thread]"
    print(name, "SessionId(1): SampleCounts {{ taken: 90, missed: 10, collecting: 0, unwalkable: 1, truncated: 0 }}",
          file=sys.stderr)
    print(name, "EventLoopId(1): stood still 90 times, ns: median 3000, 99th percentile 20000, longest 50000",
          file=sys.stderr)
body = json.dumps(result).encode()
urllib.request.urlopen(urllib.request.Request(urljoin(url, "/result"), body, method="POST"))
"""


def session(milliseconds: float, interval: int | None = None, first: float = 10.0, **more) -> dict:
    made = {"creation": 0.5, "first": first, "milliseconds": milliseconds, "slices": 11}
    if interval is None:
        return made
    samples = int(milliseconds / interval)
    return {**made, "interval": interval, "samples": samples, "samplesWithStack": samples - 1, **more}


def one_set(at_10: float = 1.0, at_1: float = 1.0, again: float = 1.0, start: float = 0.0, length: float = 110) -> dict:
    """What the states take of the time without a profiler. `start` is how much slower the first slice is, in ms."""
    off = length
    return {
        "off": session(off, first=length / 11),
        "off again": session(off * again, first=length / 11 * again),
        # The other slices take what is left, so that the ratio stays.
        "10 ms": session(off * at_10, 10, first=off * at_10 / 11 + start * 10 / 11),
        "1 ms": session(off * at_1, 1, first=off * at_1 / 11 + start * 10 / 11),
    }


def visit(library: str, sets: list[dict], checksum: int = 7) -> dict:
    return {"library": library, "checksum": checksum, "long": sets, "short": sets}


def stop(median: int = 3000, percentile_99: int = 20000) -> dict:
    times = {"count": 400, "median": median, "percentile_99": percentile_99, "longest": 90000}
    counts = {"taken": 390, "missed": 10, "collecting": 1, "unwalkable": 0, "truncated": 0}
    return {"stops": times, "counts": counts, "panics": [], "failure": None, "load": 1.0}


def measured(ours: list[dict], theirs: list[dict] | None = None, **stops) -> dict:
    """A measurement of two libraries in one or two browsers. The second library has two of the sets."""
    described = [("Strobe", "0.1.0", "release", ours), ("Chromium", "156.0.1", None, theirs)]
    made = {
        "suite": "real",
        "when": "2026-01-31T12:00:00+00:00",
        "settings": {"rounds": 1, "long": 4, "short": 8, "seconds": 4},
        "machine": {"processor": "Fast 1", "cores": 2, "memory": 24 << 30, "kernel": "Linux 6.1", "virtualised": "kvm"},
        "browsers": [
            {
                "name": name,
                "version": version,
                "build": build,
                "results": [visit("acorn", sets), visit("react", sets[:2])],
            }
            for name, version, build, sets in described
            if sets is not None
        ],
        "load": 0.1,
        "packages": {"acorn": "8.19.0", "react": "19.3.1"},
        "stops": {
            interval: {"acorn": stop(), "react": stops.get(f"at_{interval[:-3]}", stop())}
            for interval in ("1 ms", "10 ms")
        },
    }
    return copy.deepcopy(made)


def verdicts(saved: dict) -> dict[str, str]:
    return {limit.what: limit.verdict for limit in figures.report(saved).limits}


class BootstrapTest(unittest.TestCase):
    @staticmethod
    def mean(groups: list[list[float]]) -> float:
        return statistics.fmean(statistics.fmean(group) for group in groups)

    def test_of_measurements_that_are_the_same(self):
        self.assertEqual(confidence.interval([[2.0, 2.0], [4.0]], self.mean), (3.0, 3.0))

    def test_of_measurements_that_differ(self):
        values = [1.0 + number / 100 for number in range(100)]
        least, most = confidence.interval([values], self.mean)
        # Two standard errors of the mean, 0.029 each, on both sides.
        self.assertAlmostEqual(least, 1.495 - 2 * 0.029, delta=0.01)
        self.assertAlmostEqual(most, 1.495 + 2 * 0.029, delta=0.01)
        self.assertEqual(confidence.interval([values], self.mean), (least, most), "the same each time")
        # Four times as many measurements halve it.
        narrow = confidence.interval([values * 4], self.mean)
        self.assertAlmostEqual((most - least) / (narrow[1] - narrow[0]), 2, delta=0.2)

    def test_each_group_keeps_its_size(self):
        sizes = set()
        confidence.interval([[1.0] * 3, [2.0] * 5], lambda groups: sizes.add(tuple(map(len, groups))) or 1.0)
        self.assertEqual(sizes, {(3, 5)})


class RealFiguresTest(unittest.TestCase):
    PLAIN = [one_set(), one_set(), one_set()]
    AT_1, AT_10 = "1 ms/off, long sessions", "10 ms/off, long sessions, beyond Chromium's"

    def test_all_limits_are_met(self):
        report = figures.report(measured(self.PLAIN, self.PLAIN))
        self.assertEqual([limit.verdict for limit in report.limits], ["met"] * 10)
        text = report.text()
        for line in (
            "acorn 110 1.000 1.000 1.000 110 1.000 1.000 1.000",
            "Strobe, long sessions, 10 ms 10 55 90.9 90.9 (acorn) 0.0 0.0 (acorn)",
            "Strobe, sessions of 150 ms, 1 ms 1 550 99.1 99.1 (acorn) 0.0 0.0 (acorn)",
            "react 400 3.0 20.0 90.0 2.50 0.00 400 3.0 20.0 90.0 2.50 0.00",
            "packages: acorn 8.19.0, react 19.3.1",
            "the load of the machine in the minute before was 0.10",
        ):
            self.assertIn(line, [" ".join(line.split()) for line in text.split("\n")])

    def test_ratios_are_medians_of_the_sets(self):
        sets = [one_set(at_1=1.01), one_set(at_1=1.02), one_set(at_1=9.0)]
        saved = measured(sets, self.PLAIN)
        # acorn has all three sets, react the first two: 1.02 and 1.015.
        [limit] = [limit for limit in figures.report(saved).limits if limit.what == self.AT_1]
        self.assertTrue(limit.values["Strobe"].startswith("1.017 ("), limit.values)
        self.assertEqual(verdicts(saved)[self.AT_1], "met")
        self.assertEqual(verdicts(measured([one_set(at_1=1.021)] * 3, self.PLAIN))[self.AT_1], "missed")

    def test_both_sessions_without_a_profiler_are_the_reference(self):
        sets = [one_set(at_1=1.01, again=1.0201)]
        self.assertAlmostEqual(session_ratios(sets, "1 ms")[0], 1.0)
        self.assertAlmostEqual(session_ratios(sets, "off again")[0], 1.0201)

    def test_beside_chromium(self):
        self.assertEqual(verdicts(measured([one_set(at_10=1.012)] * 3, [one_set(at_10=1.01)] * 3))[self.AT_10], "met")
        saved = measured([one_set(at_10=1.013)] * 3, [one_set(at_10=1.01)] * 3)
        [limit] = [limit for limit in figures.report(saved).limits if limit.what == self.AT_10]
        self.assertEqual((limit.values["Strobe"], limit.verdict), ("+0.003 (+0.003 to +0.003)", "missed"))
        # Ours is alone.
        self.assertEqual(verdicts(measured(self.PLAIN))[self.AT_10], "not compared")

    def test_a_control_that_is_off(self):
        noisy = [one_set(again=1.02)] * 3
        of_noisy = verdicts(measured(noisy, self.PLAIN))
        self.assertEqual((of_noisy[self.AT_1], of_noisy[self.AT_10]), ("too noisy", "too noisy"))
        # Chromium's control counts where it is compared.
        of_noisy = verdicts(measured(self.PLAIN, noisy))
        self.assertEqual((of_noisy[self.AT_1], of_noisy[self.AT_10]), ("met", "too noisy"))

    def test_a_control_that_is_not_known_well(self):
        # Its median is 1, but a draw may have either.
        wide = [one_set(again=1.03), one_set(again=0.97), one_set()]
        [limit] = [limit for limit in figures.report(measured(wide)).limits if limit.what == self.AT_1]
        self.assertRegex(limit.controls["Strobe"], r"^1\.000 \(0\.9[78]\d to 1\.0[123]\d\)$")
        self.assertEqual((limit.met, limit.verdict), (True, "too noisy"))

    def test_the_code_right_after_the_start(self):
        # The first slice is slower, and the others by a tenth of it quicker.
        self.assertAlmostEqual(start_costs([one_set(start=0.2)], "10 ms")[0], 0.2)
        self.assertAlmostEqual(start_costs([one_set(at_10=1.5, start=0.2)], "10 ms")[0], 0.2)
        self.assertAlmostEqual(start_costs([one_set()], "off again")[0], 0.0)
        # What the first slice of every session takes is not the profiler's.
        slower = one_set()
        for of_state in slower.values():
            of_state["first"] += 1
        self.assertAlmostEqual(start_costs([slower], "10 ms")[0], 0.0)
        self.assertAlmostEqual(start_costs([slower], "off again")[0], 0.0)
        what = "slower right after the start, 10 ms"
        self.assertEqual(verdicts(measured([one_set(start=0.2)] * 3))[what], "met")
        self.assertEqual(verdicts(measured([one_set(start=0.21)] * 3))[what], "missed")
        noisy = copy.deepcopy(self.PLAIN)
        for of_state in noisy:
            of_state["off again"]["first"] += 1
        self.assertEqual(verdicts(measured(noisy))[what], "too noisy")

    def test_missed_samples_and_samples_without_a_stack(self):
        sets = copy.deepcopy(self.PLAIN)
        for of_state in sets:
            of_state["1 ms"].update(samples=88, samplesWithStack=66)
        text = figures.report(measured(sets)).text()
        line = "Strobe, long sessions, 1 ms 1 440 75.0 75.0 (acorn) 20.0 20.0 (acorn)"
        self.assertIn(line, [" ".join(line.split()) for line in text.split("\n")])
        for of_state in sets:
            of_state["1 ms"].update(samplesWithStack=0)
        with self.assertRaisesRegex(MachError, "a profiler at 1 ms gave no sample with a stack"):
            figures.report(measured(sets))

    def test_stops_of_the_worst_library(self):
        def verdict(what: str, **stops) -> str:
            return verdicts(measured(self.PLAIN, **stops))[f"stops at {what} of the worst library"]

        self.assertEqual(verdict("1 ms, median", at_1=stop(median=4040)), "met")
        self.assertEqual(verdict("1 ms, median", at_1=stop(median=4060)), "missed")
        self.assertEqual(verdict("1 ms, 99th percentile", at_1=stop(percentile_99=25100)), "missed")
        self.assertEqual(verdict("10 ms, median", at_10=stop(median=10000, percentile_99=60000)), "met")
        self.assertEqual(verdict("10 ms, median", at_10=stop(median=10100)), "missed")
        self.assertEqual(verdict("10 ms, 99th percentile", at_10=stop(percentile_99=60100)), "missed")
        # Beside other programs they mean nothing, whatever they are.
        for median in (3000, 9000):
            busy = {**stop(median), "load": 3.5}
            self.assertEqual(verdict("1 ms, median", at_1=busy), "too noisy")
            self.assertEqual(verdict("10 ms, median", at_1=busy), "met")
        note = "Strobe, stops at 1 ms: the load of the machine was 3.50, of which about 1 was our own"
        self.assertIn(note, figures.report(measured(self.PLAIN, at_1=busy)).notes)
        failed = {**stop(), "panics": ["oh"], "failure": "the browser ended"}
        notes = figures.report(measured(self.PLAIN, at_1=failed)).notes
        self.assertIn("Strobe, stops of react at 1 ms: oh", notes)
        self.assertIn("Strobe, stops of react at 1 ms: the browser ended", notes)
        with self.assertRaisesRegex(MachError, "the sampler logged no stop of react at 10 ms"):
            figures.report(measured(self.PLAIN, at_10={**stop(), "stops": None}))

    def test_a_measurement_that_did_not_end(self):
        saved = measured(self.PLAIN)
        for key in ("stops", "load", "packages"):
            del saved[key]
        report = figures.report(saved)
        self.assertIn("the measurement did not end, and has no stops", report.notes)
        self.assertEqual(len(report.limits), 6)

    def test_work_that_is_not_the_same(self):
        saved = measured(self.PLAIN, self.PLAIN)
        saved["browsers"][1]["results"][1]["checksum"] = 8
        with self.assertRaisesRegex(MachError, "^real: Strobe and Chromium did not do the same work"):
            figures.report(saved)
        saved["browsers"][1]["results"].append(visit("acorn", self.PLAIN, 9))
        with self.assertRaisesRegex(MachError, "^real: Chromium posted .* the checksum of acorn is 9 and 7"):
            figures.report(saved)

    def test_results_of_the_wrong_form(self):
        for change, message in (
            (lambda of_state: of_state["1 ms"].pop("samples"), "KeyError: 'samples'"),
            (lambda of_state: of_state["off"].update(milliseconds=0), "ValueError: 0 is not a positive number"),
            (lambda of_state: of_state.pop("off again"), "KeyError: 'off again'"),
            (lambda of_state: of_state["10 ms"].update(interval="x"), "ValueError: 'x' is not a positive number"),
        ):
            saved = measured(self.PLAIN)
            change(saved["browsers"][0]["results"][0]["short"][0])
            with self.assertRaisesRegex(MachError, f"^real: Strobe posted a result of the wrong form: {message}"):
                figures.report(saved)

    def test_the_section_of_the_document(self):
        section = performance_docs.make_section(measured(self.PLAIN, self.PLAIN), "real")
        self.assertTrue(section.startswith("`./mach bench real`: 1 rounds, 4 long, 8 short, "))
        self.assertIn("| 1 ms/off, long sessions | 1.000 (1.000 to 1.000) | 1.000 (1.000 to 1.000) |", section)


class RealTest(unittest.TestCase):
    SETTINGS = {"rounds": 2, "long": 1, "short": 2, "seconds": 3}

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def browser(self, name: str, version: str) -> Path:
        binary = self.folder / name
        binary.parent.mkdir(parents=True, exist_ok=True)
        posted = {"checksum": 7, "long": [one_set()], "short": [one_set(), one_set()]}
        binary.write_text(LIBRARY_BROWSER.format(python=sys.executable, version=version, posted=posted))
        binary.chmod(0o755)
        return binary

    def bundle(self, libraries: list[str], folder: Path) -> dict[str, Path]:
        """Writes the name of each library, in place of its bundle, which needs packages."""
        folder.mkdir(parents=True)
        for library in libraries:
            (folder / library).write_text(library)
        return {library: folder / library for library in libraries}

    def test_a_run(self):
        binary = self.browser("release/strobe", "strobe 0.1.0")
        other = self.browser("chromium", "Chromium 156.0.1")
        saved = self.folder / "bench" / "real.json"
        with (
            contextlib.redirect_stdout(io.StringIO()) as output,
            mock.patch.object(real, "bundle", self.bundle),
            mock.patch.dict("os.environ", {"CHROMIUM": str(other)}),
            mock.patch("os.getloadavg", return_value=(1.0, 1.0, 1.0)),
        ):
            made = real.real(binary, browsers.chromium(), self.SETTINGS, ["react", "acorn"], saved)
        begin = (
            r"^real: 2 rounds, 1 long, 2 short, 3 seconds, in Strobe 0\.1\.0 and Chromium 156\.0\.1, the release build"
        )
        self.assertRegex(output.getvalue(), begin)
        self.assertEqual(json.loads(saved.read_text()), made)
        ordered = []
        for browser in made["browsers"]:
            for result in browser["results"]:
                # Each library has its own script, and the page may profile.
                self.assertEqual((result["script"], result["policy"]), (result["library"], "js-profiling"))
                self.assertTrue(result["url"].endswith("/real/real.html?long=1&short=2"))
                ordered.append((result["order"], browser["name"], result["library"]))
        ours, theirs = "Strobe", "Chromium"
        self.assertEqual(
            [name_and_library for _, *name_and_library in sorted(ordered)],
            [
                *([ours, "react"], [theirs, "react"], [theirs, "acorn"], [ours, "acorn"]),
                *([theirs, "react"], [ours, "react"], [ours, "acorn"], [theirs, "acorn"]),
            ],
        )
        self.assertEqual(list(made["stops"]), ["1 ms", "10 ms"])
        of_react = made["stops"]["10 ms"]["react"]
        self.assertTrue(of_react["result"]["url"].endswith("/real/real.html?interval=10&seconds=3"))
        self.assertEqual((of_react["result"]["script"], of_react["stops"]["median"]), ("react", 3000))
        self.assertTrue((self.folder / "bench" / "real" / "stops-react-10-ms.log").exists())
        self.assertEqual(made["packages"]["acorn"], "8.19.0")
        self.assertEqual({limit.verdict for limit in figures.report(made).limits}, {"met"})

    def test_libraries_are_bundled_with_their_work(self):
        installed, scripts = self.folder / "installed", self.folder / "bench" / "scripts"
        with (
            mock.patch.dict("os.environ", {"STROBE_CACHE_DIR": str(self.folder / "cache")}),
            mock.patch.object(real.npm, "install", return_value=installed) as install,
            mock.patch.object(real.process, "run") as run,
        ):
            made = real.bundle(["acorn", "react"], scripts)
        install.assert_called_once_with(real.SOURCES)
        run.assert_called_once_with(["node", str(installed / "bundle.mjs"), str(scripts), "acorn", "react"])
        self.assertEqual(made, {"acorn": scripts / "acorn.js", "react": scripts / "react.js"})
        self.assertTrue(scripts.is_dir())

    def test_a_library_that_is_not_there(self):
        with mock.patch.object(real.npm, "check_node") as check_node:
            self.assertEqual(real.chosen([]), list(real.LIBRARIES))
            self.assertEqual(real.chosen(["react", "acorn"]), ["react", "acorn"])
            with self.assertRaisesRegex(
                MachError, "^there is no library angular; these are there: typescript-transpile, "
            ):
                real.chosen(["acorn", "angular"])
            check_node.side_effect = MachError("there is no node")
            with self.assertRaisesRegex(MachError, "^there is no node$"):
                real.chosen(["acorn"])

    def test_each_library_has_its_work(self):
        works = {file.stem for file in real.SOURCES.glob("*.mjs")} - {"bundle", "checksum"}
        self.assertEqual(works, set(real.LIBRARIES))
        for library in real.LIBRARIES:
            text = (real.SOURCES / f"{library}.mjs").read_text()
            self.assertIn("export function unit() {", text)
            used = set(re.findall(r' from "(?:texts?:)?([\w-][\w.-]*)', text))
            packages = json.loads((real.SOURCES / "package.json").read_text())["dependencies"]
            self.assertLessEqual(used, set(packages), library)

    def test_as_the_page_has_it(self):
        text = (real.SOURCES / "real.js").read_text()
        constants = dict(re.findall(r"^const (\w+_TIME) = (\d+);", text, re.MULTILINE))
        # A set has four sessions.
        self.assertGreater(1000 * real.SECONDS_PER_LONG_SET, 4 * int(constants["LONG_TIME"]))
        self.assertGreater(1000 * real.SECONDS_PER_SHORT_SET, 4 * int(constants["SHORT_TIME"]))
        self.assertGreater(
            1000 * real.SECONDS_BEFORE, int(constants["WARM_UP_TIME"]) + 4 * int(constants["SHORT_TIME"])
        )
        self.assertIn(f"sessions of {constants['SHORT_TIME']} ms", SESSIONS)
        states = re.findall(r'\{ name: "(.*?)", sampleInterval: (\w+) \}', text)
        self.assertEqual([name for name, _ in states], [OFF, OFF_AGAIN, *ON])
        orders = [json.loads(order) for order in re.findall(r"^    (\[\d, \d, \d, \d\]),$", text, re.MULTILINE)]
        # Each state once at each place, and once after each of the others.
        for place in zip(*orders):
            self.assertEqual(sorted(place), [0, 1, 2, 3])
        self.assertEqual(len({pair for order in orders for pair in zip(order, order[1:])}), 12)


if __name__ == "__main__":
    unittest.main()
