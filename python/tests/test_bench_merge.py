# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from strobe.bench import merge
from strobe.bench.formats import AGAIN, TOOL, Run
from strobe.bench.merge import GO, TRACES, UNPACKING
from strobe.errors import MachError

SAME = {"functions": 3, "nanoseconds": 60, TOOL: 0, TRACES: 0}


def measured(load: float = 1.0, **seconds_and_memory: tuple[float, float]) -> dict:
    """A measurement. Memory is in MB."""
    names = {"tool": TOOL, "again": AGAIN, "go": GO, "unpacking": UNPACKING, "traces": TRACES}
    usual = {"tool": (1, 100), "again": (1, 100), "go": (4.1, 410), "unpacking": (1, 1), "traces": (2, 299)}
    runs = {
        names[name]: [{"seconds": seconds, "memory": int(1e6 * memory)}] * 3
        for name, (seconds, memory) in {**usual, **seconds_and_memory}.items()
    }
    what = {"sessions": 10, "samples": 20, "bytes": {"pprof": 1_000_000, TRACES: 2_000_000}, "go": "1.26.8"}
    return {**what, "runs": runs, "sums": SAME, "load": load}


class LimitsTest(unittest.TestCase):
    def test_limits_are_met(self):
        text, missed = merge.judge(measured())
        self.assertEqual(missed, [])
        self.assertIn("10 sessions of 20 samples: 1 MB of pprof and 2 MB of traces; Go 1.26.8", text)

    def test_each_figure_can_miss_its_limit(self):
        for measurement, problem in (
            (measured(go=(3.9, 410)), "it takes 0.26 of the time of go tool pprof, more than 0.25"),
            (measured(go=(4.1, 390)), "it takes 0.26 of the memory of go tool pprof, more than 0.25"),
            (measured(traces=(2, 301)), "traces: 301 MB of memory, more than 300"),
            (measured(again=(1.2, 100)), "too noisy: the tool takes 0.83 of its own time"),
            (measured(load=3.0), "load"),
            ({**measured(), "sums": {**SAME, TOOL: 2}}, "tool: 2 functions have another time than by go tool pprof"),
            ({**measured(), "sums": {**SAME, TRACES: 1}}, "traces: 1 functions have another time"),
            ({**measured(), "sums": {**SAME, "functions": 0}}, "shows no function"),
        ):
            [missed] = merge.judge(measurement)[1]
            self.assertIn(problem, missed)


class MeasureTest(unittest.TestCase):
    def test_each_program_is_first_once(self):
        order = []

        def program(name: str) -> Run:
            order.append(name)
            return Run(1.0, 1)

        runs = merge.measure({name: lambda name=name: program(name) for name in "ab"}, 2)
        self.assertEqual(order, ["a", "b", "b", "a"])
        self.assertEqual([len(runs["a"]), len(runs["b"])], [2, 2])


class SumsTest(unittest.TestCase):
    def test_each_function_is_compared(self):
        times = {GO: {"a": 1, "b": 2}, TOOL: {"a": 1, "c": 2}, TRACES: {"a": 1, "b": 3}}
        self.assertEqual(merge.compared(times), {"functions": 2, "nanoseconds": 3, TOOL: 2, TRACES: 1})

    def test_the_table_of_go_is_read(self):
        heads = "Type: time\n      flat  flat%   sum%        cum   cum%\n"
        table = f"{heads}  90ns 90.00% 90.00%  95ns 95.00%  a b\n     0     0% 90.00%   5ns  5.00%  c\n"
        with mock.patch.object(merge.process, "output", return_value=table):
            self.assertEqual(merge.times_of_functions("pprof", Path("x")), {"a b": 90, "c": 0})
        with mock.patch.object(merge.process, "output", return_value=None), self.assertRaisesRegex(MachError, "failed"):
            merge.times_of_functions("pprof", Path("x"))


class GoTest(unittest.TestCase):
    def found(self, says: str) -> str:
        with tempfile.TemporaryDirectory() as folder:
            go = Path(folder, "go")
            go.write_text(f"#!/bin/sh\necho '{says}'\n")
            go.chmod(0o755)
            with mock.patch.dict(os.environ, {"PATH": f"{folder}:/bin"}):
                return merge.version_of(merge.find_go())

    def test_an_old_go_is_refused(self):
        self.assertEqual(self.found("go version go1.26.8 linux/amd64"), "1.26.8")
        self.assertEqual(self.found("go version go1.30 linux/amd64"), "1.30")
        with self.assertRaisesRegex(MachError, r"go is Go 1\.9\.7; 1\.26 or newer"):
            self.found("go version go1.9.7 linux/amd64")
        with self.assertRaisesRegex(MachError, "does not say its version: 'no'"):
            self.found("no")
        with mock.patch.dict(os.environ, {"PATH": "/nonexistent"}), self.assertRaisesRegex(MachError, "on the PATH"):
            merge.find_go()


if __name__ == "__main__":
    unittest.main()
