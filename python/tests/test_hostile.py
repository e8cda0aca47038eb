# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Tests of strobe.bench.hostile: its limits."""

import unittest

from strobe.bench.hostile import KINDS, End, Measured, more_memory, report
from strobe.bench.measurement import Measurement
from strobe.bench.process_size import ProcessSize
from strobe.bench.sample_counts import StopDurations

NAME = "functions of a long URL"


def visit(*, longest=500_000, median=2_000, grown=1000, stacks=95, load=0.0, functions=3000) -> Measurement:
    return Measurement(
        result={"functions": functions, "samples": 100, "stacks": stacks, "frames": 10},
        sizes={"start": ProcessSize(9, 100_000, 9), "end": ProcessSize(9, 100_000 + grown, 9)},
        stops=StopDurations(100, median, median, longest),
        load=load,
    )


class HostileTest(unittest.TestCase):
    def missed(self, file: float | None = 0.5, browser: float | None = 1.0, **values) -> list[str]:
        measured = {NAME: Measured(visit(), visit(**values), End(file, browser))}
        return [problem.removeprefix(f"{NAME}: ") for problem in report(measured)[1]]

    def test_each_limit(self):
        self.assertEqual(self.missed(), [])
        self.assertEqual(self.missed(longest=2_500_000), ["longest stop 2.50 ms, more than 2 ms"])
        self.assertEqual(self.missed(median=3_000), ["median stop 3.00 µs, 1.5 times that with short names"])
        more = "bytes more for a function than with short names, more than 2048"
        self.assertEqual(self.missed(grown=31_000), [f"10240 {more}"])
        # What a process holds varies by more than so many functions may take.
        self.assertEqual(self.missed(grown=16_000, functions=1000), [])
        few = "29297 kB more than with short names, more than 16384 kB"
        self.assertEqual(self.missed(grown=30_297, functions=2), [few])
        self.assertEqual(self.missed(stacks=20), ["20% of the samples have a stack, 95% with short names"])
        self.assertEqual(self.missed(4.0), ["its file comes 4.0 s after the signal, more than 3 s"])
        self.assertEqual(self.missed(browser=4.0), ["its end comes 4.0 s after the signal, more than 3 s"])
        self.assertEqual(self.missed(browser=None), ["its end does not come within 60 s after the signal"])

    def test_a_busy_machine_is_too_noisy(self):
        [problem] = self.missed(longest=2_500_000, load=9.0)
        self.assertIn("too noisy", problem)

    def test_nothing_is_no_success(self):
        empty = Measurement()
        nothing = Measured(empty, empty, End(1.0, 1.0))
        _, missed = report({NAME: nothing})
        self.assertEqual(missed, [f"{NAME}: the sampler logged no stop"])
        self.assertIsNone(more_memory(nothing))

    def test_the_pages_have_names_of_their_own(self):
        self.assertEqual(len({kind.name for kind in KINDS}), len(KINDS))
