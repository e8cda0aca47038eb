# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import copy
import unittest

from strobe.errors import MachError
from strobe.trace import Function, read_json, read_trace

PAGE = "http://127.0.0.1:4000/demo/primes.js?v=2"
# main calls itself twice and then isPrime; a built-in; samples with and without a stack.
TRACE = {
    "resources": [PAGE],
    "frames": [
        {"name": "main", "resourceId": 0, "line": 20, "column": 14},
        {"name": "isPrime", "resourceId": 0, "line": 3, "column": 17},
        {"name": "sort"},
        {"name": "", "resourceId": 0, "line": 9, "column": 2},
    ],
    "stacks": [
        {"frameId": 0},
        {"frameId": 0, "parentId": 0},
        {"frameId": 1, "parentId": 1},
        {"frameId": 2, "parentId": 0},
    ],
    "samples": [
        {"timestamp": 10.0, "stackId": 2},
        {"timestamp": 11, "stackId": 2},
        {"timestamp": 12.5},
        {"timestamp": 12.5, "stackId": 1},
        {"timestamp": 14, "stackId": 3},
    ],
}


def changed(*path_and_value):
    """TRACE with one value replaced, or removed if it is `...`."""
    *path, last, value = path_and_value
    trace = copy.deepcopy(TRACE)
    holder = trace
    for step in path:
        holder = holder[step]
    if value is ...:
        del holder[last]
    else:
        holder[last] = value
    return trace


def samples_by_name(trace) -> dict[str, tuple[int, int]]:
    return {time.function.name: (time.self_samples, time.total_samples) for time in read_trace(trace).function_times()}


class TimesTest(unittest.TestCase):
    def test_self_and_total(self):
        self.assertEqual(samples_by_name(TRACE), {"isPrime": (2, 2), "main": (1, 4), "sort": (1, 1)})

    def test_order(self):
        names = [time.function.name for time in read_trace(TRACE).function_times()]
        self.assertEqual(names, ["isPrime", "main", "sort"])

    def test_one_function_in_two_frames_is_one_function(self):
        trace = changed("frames", 1, dict(TRACE["frames"][0]))
        self.assertEqual(samples_by_name(trace), {"main": (3, 4), "sort": (1, 1)})

    def test_deep_recursion(self):
        trace = {
            "resources": [],
            "frames": [{"name": "down"}],
            "stacks": [{"frameId": 0}] + [{"frameId": 0, "parentId": index} for index in range(5000)],
            "samples": [{"timestamp": 0, "stackId": 5000}],
        }
        (time,) = read_trace(trace).function_times()
        self.assertEqual((time.self_samples, time.total_samples), (1, 1))

    def test_counts(self):
        trace = read_trace(TRACE)
        self.assertEqual((trace.samples_with_stack, trace.duration), (4, 4))
        empty = read_trace({"resources": [], "frames": [], "stacks": [], "samples": []})
        self.assertEqual((empty.samples_with_stack, empty.duration, empty.function_times()), (0, 0, []))

    def test_shown(self):
        self.assertEqual(Function("f", PAGE, 3, 17).shown_place, "primes.js:3:17")
        self.assertEqual(Function("f", "http://127.0.0.1:4000/", 3, 17).shown_place, "127.0.0.1:4000:3:17")
        self.assertEqual(Function("f", PAGE, 3, None).shown_place, "primes.js:3")
        self.assertEqual(Function("sort", None, None, None).shown_place, "(built-in)")
        self.assertEqual(Function("", PAGE, 1, 1).shown_name, "(anonymous)")


class BrokenTraceTest(unittest.TestCase):
    def check(self, trace, message):
        with self.assertRaises(MachError) as caught:
            read_trace(trace)
        self.assertEqual(str(caught.exception), f"broken trace: {message}")

    def test_tables(self):
        self.check(None, "trace is null, not an object")
        self.check(changed("stacks", ...), "trace.stacks is missing")
        self.check(changed("frames", {}), "trace.frames is {}, not an array")
        self.check(changed("resources", 0, None), "trace.resources[0] is null, not a string")

    def test_frames(self):
        self.check(changed("frames", 1, "name", ...), "trace.frames[1].name is missing, not a string")
        self.check(
            changed("frames", 0, "resourceId", 1), "trace.frames[0].resourceId is 1, not an index into 1 resources"
        )
        self.check(changed("frames", 0, "line", None), "trace.frames[0].line is null, not a whole number from 1")
        self.check(changed("frames", 0, "column", 0), "trace.frames[0].column is 0, not a whole number from 1")

    def test_stacks(self):
        self.check(
            changed("stacks", 1, "parentId", 1), "trace.stacks[1].parentId is 1; a parent stands before its child"
        )
        self.check(
            changed("stacks", 1, "parentId", None), "trace.stacks[1].parentId is null, not an index into 4 stacks"
        )
        self.check(changed("stacks", 2, "frameId", 4), "trace.stacks[2].frameId is 4, not an index into 4 frames")
        self.check(changed("stacks", 2, "frameId", True), "trace.stacks[2].frameId is true, not an index into 4 frames")

    def test_samples(self):
        self.check(changed("samples", 2, []), "trace.samples[2] is [], not an object")
        self.check(
            changed("samples", 2, "timestamp", ...),
            "trace.samples[2].timestamp is missing, not a number of milliseconds",
        )
        self.check(
            changed("samples", 4, "timestamp", 12),
            "trace.samples[4].timestamp is 12, earlier than the sample before (12.5)",
        )
        self.check(changed("samples", 0, "stackId", -1), "trace.samples[0].stackId is -1, not an index into 4 stacks")

    def test_text(self):
        self.assertEqual(read_json(b'{"a": 1}', "it"), {"a": 1})
        with self.assertRaisesRegex(MachError, "^it is not JSON: Expecting"):
            read_json(b"{", "it")
        with self.assertRaisesRegex(MachError, "^it is not JSON: NaN is no JSON number$"):
            read_json(b"[NaN]", "it")
