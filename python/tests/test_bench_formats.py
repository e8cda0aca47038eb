# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import contextlib
import io
import json
import sys
import tempfile
import unittest
from functools import partial
from pathlib import Path

from strobe.bench import formats, generated_profiles
from strobe.bench.formats import AGAIN, OLD, PROFILER_CLI, SPEEDSCOPE, TOOL
from strobe.errors import MachError


def file_of(**seconds_and_memory: tuple[float, float]) -> dict:
    """A measured file. Both numbers are in the units of the tool."""
    names = {"tool": TOOL, "again": AGAIN, "profiler_cli": PROFILER_CLI, "speedscope": SPEEDSCOPE, "old": OLD}
    runs = {
        names[name]: [{"seconds": seconds, "memory": int(1e6 * memory)}] * 3
        for name, (seconds, memory) in {"tool": (1, 1), "again": (1, 1), **seconds_and_memory}.items()
    }
    floor = {"reading": 0.1, "unpacking": 0.5, "parsing": 0.25}
    what = {"kind": "cpuprofile", "megabytes": formats.SIZE, "bytes": 300_000_000, "samples": 12_000_000}
    return {**what, "runs": runs, "floor": floor}


def judged(*files: dict, load: float = 1.0) -> list[str]:
    return formats.judge({"files": list(files), "load": load})[1]


class LimitsTest(unittest.TestCase):
    def test_limits_are_met(self):
        self.assertEqual(judged(file_of(profiler_cli=(10.1, 3.1), speedscope=(20.1, 1))), [])

    def test_each_figure_can_miss_its_limit(self):
        for measured, problem in (
            (file_of(profiler_cli=(9.9, 3.1)), "profiler-cli takes 9.90 times as long, less than 10"),
            (file_of(profiler_cli=(10.1, 2.9)), "it takes 0.34 of the memory of profiler-cli, more than 0.33"),
            (file_of(speedscope=(19.9, 9)), "speedscope takes 19.90 times as long, less than 20"),
            (file_of(again=(1.2, 1)), "too noisy: the tool takes 1.20 of its own time"),
            ({**file_of(old=(4.9, 3)), "megabytes": formats.SMALL_SIZE}, "old takes 4.90 times as long, less than 5"),
        ):
            [missed] = judged(measured)
            self.assertIn(problem, missed)
        self.assertIn("load", judged(load=3.0)[0])

    def test_a_program_that_does_not_read_a_file_is_no_comparison(self):
        measured = file_of()
        measured["runs"][PROFILER_CLI] = []
        text, missed = formats.judge({"files": [measured], "load": 1.0})
        self.assertIn("does not read it", text)
        self.assertEqual(missed, [])


    def test_what_no_reader_can_do_without_is_beside_the_tool(self):
        text, _ = formats.judge({"files": [file_of(tool=(2, 1))], "load": 1.0})
        self.assertRegex(text, r"parsing alone +0\.25 +0\.12")


class MeasureTest(unittest.TestCase):
    def test_a_program_that_fails_is_left_out_and_the_tool_may_not_fail(self):
        fine = partial(self.run_python, "print(1)")
        fails = partial(self.run_python, "raise SystemExit('too large')")
        with tempfile.NamedTemporaryFile() as file, contextlib.redirect_stdout(io.StringIO()) as printed:
            runs = formats.measure({TOOL: fine, SPEEDSCOPE: fails}, Path(file.name), 2)
            self.assertEqual([len(runs[TOOL]), runs[SPEEDSCOPE]], [2, []])
            self.assertGreater(runs[TOOL][0]["memory"], 1_000_000)
            with self.assertRaisesRegex(MachError, "status 1: too large"):
                formats.measure({TOOL: fails}, Path(file.name), 1)
        self.assertIn("speedscope does not read", printed.getvalue())

    def run_python(self, script: str, _file: Path) -> formats.Run:
        return formats.run([sys.executable, "-c", script])[0]


class GeneratedProfilesTest(unittest.TestCase):
    def test_a_profile_is_the_same_each_time_and_has_all_its_samples(self):
        for kind, write in formats.KINDS.items():
            with tempfile.TemporaryDirectory() as folder:
                files = [Path(folder, f"{number}.{kind}") for number in range(2)]
                [samples, again] = [write(file, 2_000_000) for file in files]
                self.assertEqual((again, files[0].read_bytes()), (samples, files[1].read_bytes()))
                size = files[0].stat().st_size
                self.assertTrue(1_700_000 < size < 2_300_000, f"{kind}: {size}")
                profile = json.loads(files[0].read_text())
            if kind == "cpuprofile":
                ids = {node["id"] for node in profile["nodes"]}
                self.assertEqual(len(ids), len(profile["nodes"]))
                self.assertLessEqual(set(profile["samples"]), ids)
                self.assertEqual([len(profile[name]) for name in ("samples", "timeDeltas")], [samples, samples])
                self.assertEqual(profile["endTime"] - profile["startTime"], sum(profile["timeDeltas"]))
            else:
                [thread] = profile["threads"]
                for name in ("stack", "timeDeltas", "threadCPUDelta"):
                    self.assertEqual(len(thread["samples"][name]), samples)
                shared = profile["shared"]
                for name, table in shared.items():
                    if name != "stringArray":
                        columns = [len(column) for key, column in table.items() if key != "length"]
                        self.assertEqual(set(columns), {table["length"]}, name)
                self.assertLess(max(shared["sources"]["filename"]), len(shared["stringArray"]))

    def test_a_larger_file_has_more_calls_and_more_samples(self):
        small, large = (generated_profiles.scaled(size, 20.0) for size in (1_000_000, 10_000_000))
        self.assertGreater(large.copies, 5 * small.copies)
        self.assertGreater(large.count(), 5 * small.count())
