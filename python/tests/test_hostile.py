# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Tests of strobe.bench.hostile: its limits."""

import unittest

from strobe.bench.hostile import KINDS, Measured, bytes_per_function, report
from strobe.bench.measurement import Measurement
from strobe.bench.process_size import ProcessSize
from strobe.bench.sample_counts import StopDurations

NAME = "functions of a long URL"


def visit(*, longest=500_000, median=2_000, grown=1000, stacks=95, load=0.0) -> Measurement:
    return Measurement(
        result={"functions": 3000, "samples": 100, "stacks": stacks, "frames": 10},
        sizes={"start": ProcessSize(9, 100_000, 9), "end": ProcessSize(9, 100_000 + grown, 9)},
        stops=StopDurations(100, median, median, longest),
        load=load,
    )


class HostileTest(unittest.TestCase):
    def missed(self, end_seconds: float | None = 1.0, **values) -> list[str]:
        measured = {NAME: Measured(visit(), visit(**values), end_seconds)}
        return [problem.removeprefix(f"{NAME}: ") for problem in report(measured)[1]]

    def test_each_limit(self):
        self.assertEqual(self.missed(), [])
        self.assertEqual(self.missed(longest=2_500_000), ["longest stop 2.50 ms, more than 2 ms"])
        self.assertEqual(self.missed(median=3_000), ["median stop 3.00 µs, 1.5 times that with short names"])
        self.assertEqual(self.missed(grown=31_000), ["10240 bytes a function, more than 2048"])
        self.assertEqual(self.missed(stacks=20), ["20% of the samples have a stack, 95% with short names"])
        self.assertEqual(self.missed(4.0), ["the end of the recording takes 4.0 s, more than 3 s"])
        self.assertEqual(self.missed(None), ["the recording does not end within 60 s"])

    def test_a_busy_machine_is_too_noisy(self):
        [problem] = self.missed(longest=2_500_000, load=9.0)
        self.assertIn("too noisy", problem)

    def test_nothing_is_no_success(self):
        empty = Measurement()
        _, missed = report({NAME: Measured(empty, empty, 1.0)})
        self.assertEqual(missed, [f"{NAME}: the sampler logged no stop"])
        self.assertIsNone(bytes_per_function(Measured(empty, empty, 1.0)))

    def test_the_pages_have_names_of_their_own(self):
        self.assertEqual(len({kind.name for kind in KINDS}), len(KINDS))
