# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Reading a trace, as a page gets it from `Profiler.stop()`, and what it says about functions.

The format is ProfilerTrace of https://wicg.github.io/js-self-profiling/#the-profilertrace-dictionary:
four tables, `resources`, `frames`, `stacks` and `samples`, that refer to each other by index.
"""

import json
import math
from dataclasses import dataclass
from urllib.parse import urlsplit

from .errors import MachError


@dataclass(frozen=True)
class Function:
    """Where a frame's function is defined; `line` and `column` are 1-based, None for a built-in."""

    name: str
    resource: str | None
    line: int | None
    column: int | None

    @property
    def shown_name(self) -> str:
        return self.name or "(anonymous)"

    @property
    def shown_place(self) -> str:
        if self.resource is None:
            return "(built-in)"
        url = urlsplit(self.resource)
        file = url.path.rpartition("/")[2] or url.netloc or self.resource
        return ":".join(str(part) for part in (file, self.line, self.column) if part is not None)


@dataclass(frozen=True)
class FunctionTime:
    """In how many samples a function was the innermost one, and in how many it was on the stack at all."""

    function: Function
    self_samples: int
    total_samples: int


@dataclass(frozen=True)
class Trace:
    """A trace that has been checked: every index is valid and every parent stands before its child."""

    resources: list[str]
    frames: list[dict]
    stacks: list[dict]
    samples: list[dict]

    @property
    def samples_with_stack(self) -> int:
        return sum("stackId" in sample for sample in self.samples)

    @property
    def duration(self) -> float:
        """Milliseconds from the first sample to the last."""
        return self.samples[-1]["timestamp"] - self.samples[0]["timestamp"] if self.samples else 0.0

    def function_times(self) -> list[FunctionTime]:
        """Every sampled function, by self time and then by total time, the largest first.

        A recursive function counts once per sample in its total, however often it is on the stack.
        """
        functions = [self._function(frame) for frame in self.frames]
        samples_of: dict[int, int] = {}
        for sample in self.samples:
            if "stackId" in sample:
                samples_of[sample["stackId"]] = samples_of.get(sample["stackId"], 0) + 1
        own: dict[Function, int] = {}
        total: dict[Function, int] = {}
        for stack_id, count in samples_of.items():
            leaf = functions[self.stacks[stack_id]["frameId"]]
            own[leaf] = own.get(leaf, 0) + count
            for function in {functions[frame_id] for frame_id in self._frames_of(stack_id)}:
                total[function] = total.get(function, 0) + count
        times = [FunctionTime(function, own.get(function, 0), total[function]) for function in total]
        return sorted(times, key=lambda time: (-time.self_samples, -time.total_samples, time.function.name))

    def _frames_of(self, stack_id: int | None):
        while stack_id is not None:
            stack = self.stacks[stack_id]
            yield stack["frameId"]
            stack_id = stack.get("parentId")

    def _function(self, frame: dict) -> Function:
        resource = self.resources[frame["resourceId"]] if "resourceId" in frame else None
        return Function(frame["name"], resource, frame.get("line"), frame.get("column"))


def read_json(text: bytes, what: str):
    """The value of a JSON text, or MachError. NaN and Infinity are no JSON, though Python reads them."""

    def refuse(constant):
        raise ValueError(f"{constant} is no JSON number")

    try:
        return json.loads(text, parse_constant=refuse)
    except ValueError as error:
        raise MachError(f"{what} is not JSON: {error}") from None


def read_trace(value) -> Trace:
    """Checks a decoded trace, or raises MachError naming the first place that is wrong."""
    _check_type(value, dict, "trace")
    tables = {}
    for name in ("resources", "frames", "stacks", "samples"):
        if name not in value:
            _broken(f"trace.{name}", "is missing")
        tables[name] = _check_type(value[name], list, f"trace.{name}")
    for index, resource in enumerate(tables["resources"]):
        _check_type(resource, str, f"trace.resources[{index}]")
    for index, frame in enumerate(tables["frames"]):
        _check_frame(frame, f"trace.frames[{index}]", len(tables["resources"]))
    for index, stack in enumerate(tables["stacks"]):
        place = f"trace.stacks[{index}]"
        _check_type(stack, dict, place)
        _check_index(stack, "frameId", place, len(tables["frames"]), "frames")
        if "parentId" in stack:
            parent = _check_index(stack, "parentId", place, len(tables["stacks"]), "stacks")
            if parent >= index:
                _broken(f"{place}.parentId", f"is {parent}; a parent stands before its child")
    latest = -math.inf
    for index, sample in enumerate(tables["samples"]):
        place = f"trace.samples[{index}]"
        _check_type(sample, dict, place)
        timestamp = sample.get("timestamp")
        if isinstance(timestamp, bool) or not isinstance(timestamp, (int, float)):
            _broken(f"{place}.timestamp", f"is {_described(sample, 'timestamp')}, not a number of milliseconds")
        if timestamp < latest:
            _broken(f"{place}.timestamp", f"is {timestamp}, earlier than the sample before ({latest})")
        latest = timestamp
        if "stackId" in sample:
            _check_index(sample, "stackId", place, len(tables["stacks"]), "stacks")
    return Trace(**tables)


def _check_frame(frame, place: str, resource_count: int):
    _check_type(frame, dict, place)
    if not isinstance(frame.get("name"), str):
        _broken(f"{place}.name", f"is {_described(frame, 'name')}, not a string")
    if "resourceId" in frame:
        _check_index(frame, "resourceId", place, resource_count, "resources")
    for member in ("line", "column"):
        if member in frame and (type(frame[member]) is not int or frame[member] < 1):
            _broken(f"{place}.{member}", f"is {_described(frame, member)}, not a whole number from 1")


def _check_type(value, kind: type, place: str):
    names = {dict: "an object", list: "an array", str: "a string"}
    if not isinstance(value, kind):
        _broken(place, f"is {json.dumps(value)[:60]}, not {names[kind]}")
    return value


def _check_index(holder: dict, member: str, place: str, count: int, table: str) -> int:
    index = holder.get(member)
    if type(index) is not int or not 0 <= index < count:
        _broken(f"{place}.{member}", f"is {_described(holder, member)}, not an index into {count} {table}")
    return index


def _described(holder: dict, member: str) -> str:
    return json.dumps(holder[member])[:60] if member in holder else "missing"


def _broken(place: str, what: str):
    raise MachError(f"broken trace: {place} {what}")
