# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Large profiles: a recording of Node.js that is scaled up. The same size gives the same file each time.

The calls of the recording are there many times, each time of modules with other URLs. Its samples come again and again,
each time with the calls of the next copy. The times between samples vary, by less than they themselves. A file of 74 MB
has some 3 million samples.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from .. import paths

RECORDING = paths.ROOT / "components" / "profile_formats" / "tests" / "tools" / "node-24.22.3.cpuprofile"
# As in a file of 74 MB with 3 million samples, which the calls take half of.
SAMPLES_OF_NODE = 20
# So many lists of times between samples are made, and repeated.
VARIANTS = 64
# Samples are written in pieces of about so many characters.
PIECE = 1 << 20
ROOT = "(root)"


@dataclass(frozen=True)
class Scaled:
    """A recording with its calls `copies` times and its samples `rounds` times."""

    nodes: list[dict]
    samples: list[int]
    deltas: list[int]
    copies: int
    rounds: int

    def parents(self) -> dict[int, int]:
        return {child: node["id"] for node in self.nodes for child in node.get("children", ())}

    def rounds_of(self, copy: int) -> int:
        """How often the samples come with the calls of a copy."""
        return self.rounds // self.copies + (copy < self.rounds % self.copies)

    def count(self) -> int:
        return self.rounds * len(self.samples)


def scaled(bytes_: int, bytes_of_sample: float) -> Scaled:
    """As many samples as a file of about this size has."""
    profile = json.loads(RECORDING.read_text(encoding="utf-8"))
    samples = profile["samples"]
    rounds = max(1, round(bytes_ / bytes_of_sample / len(samples)))
    copies = max(1, rounds * len(samples) // (SAMPLES_OF_NODE * len(profile["nodes"])))
    return Scaled(profile["nodes"], samples, profile["timeDeltas"], copies, rounds)


def varied(deltas: list[int], variant: int) -> list[int]:
    return [delta + delta * (variant * 7 + index * 13) % 97 // 11 for index, delta in enumerate(deltas)]


def url_of(url: str, copy: int) -> str:
    """Functions of the engine have none, and those of Node.js are the same in all copies."""
    return f"file:///app/node_modules/package-{copy}/{url.rpartition('/')[2]}" if url.startswith("file:") else url


def pieces(parts: Iterator[str]) -> Iterator[str]:
    """The parts with commas between them, in larger pieces."""
    held, length, before = [], 0, ""
    for part in parts:
        held.append(part)
        length += len(part)
        if length >= PIECE:
            yield before + ",".join(held)
            held, length, before = [], 0, ","
    if held:
        yield before + ",".join(held)


def write_list(file: TextIO, name: str, parts: Iterator[str]):
    file.write(f'"{name}":[')
    file.writelines(pieces(parts))
    file.write("]")


def write_cpuprofile(file: Path, bytes_: int) -> int:
    """Writes a `.cpuprofile` of about this size, and returns how many samples it has."""
    scale = scaled(bytes_, 21.9)
    # The root is there once.
    [root] = [node for node in scale.nodes if node["callFrame"]["functionName"] == ROOT]
    others = [node for node in scale.nodes if node is not root]
    numbers = {node["id"]: number for number, node in enumerate(others)}

    def id_of(node: int, copy: int) -> int:
        return 1 if node == root["id"] else 2 + copy * len(others) + numbers[node]

    def text_of(node: dict, copy: int) -> str:
        rounds = scale.rounds_of(copy)
        frame = node["callFrame"]
        new = {
            "id": id_of(node["id"], copy),
            "callFrame": {**frame, "url": url_of(frame["url"], copy)},
            "hitCount": node["hitCount"] * rounds,
        }
        if node.get("children"):
            new["children"] = [id_of(child, copy) for child in node["children"]]
        if node.get("positionTicks"):
            new["positionTicks"] = [{**tick, "ticks": tick["ticks"] * rounds} for tick in node["positionTicks"]]
        return json.dumps(new, separators=(",", ":"))

    def nodes() -> Iterator[str]:
        of_root = [id_of(child, copy) for copy in range(scale.copies) for child in root["children"]]
        new = {**root, "id": 1, "hitCount": root["hitCount"] * scale.rounds, "children": of_root}
        yield json.dumps(new, separators=(",", ":"))
        for copy in range(scale.copies):
            for node in others:
                yield text_of(node, copy)

    lists = [",".join(map(str, varied(scale.deltas, variant))) for variant in range(VARIANTS)]
    time = sum(sum(varied(scale.deltas, number % VARIANTS)) for number in range(scale.rounds))
    ids = [",".join(str(id_of(sample, copy)) for sample in scale.samples) for copy in range(scale.copies)]
    with file.open("w", encoding="utf-8") as text:
        text.write("{")
        write_list(text, "nodes", nodes())
        text.write(f',"startTime":1000000,"endTime":{1_000_000 + time},')
        write_list(text, "samples", (ids[number % scale.copies] for number in range(scale.rounds)))
        text.write(",")
        write_list(text, "timeDeltas", (lists[number % VARIANTS] for number in range(scale.rounds)))
        text.write("}")
    return scale.count()


def write_firefox(file: Path, bytes_: int) -> int:
    """Writes a processed profile of the Firefox Profiler of about this size, and returns how many samples it has."""
    scale = scaled(bytes_, 22.9)
    parents = scale.parents()
    numbers = {node["id"]: number for number, node in enumerate(scale.nodes)}
    count = len(scale.nodes)
    frames = [node["callFrame"] for node in scale.nodes]
    urls = sorted({frame["url"] for frame in frames if frame["url"]})
    names = sorted({frame["functionName"] or "(anonymous)" for frame in frames})
    # Each copy has strings for its URLs, and the names are there once.
    strings = {name: number for number, name in enumerate(names)}
    copies = range(scale.copies)
    is_js = [frame["lineNumber"] >= 0 for frame in frames]

    def column(name: str, of_copy: Callable[[int], Iterable]) -> tuple[str, Iterator[str]]:
        return name, (",".join(json.dumps(value) for value in of_copy(copy)) for copy in copies)

    def same(value) -> Callable[[int], list]:
        return lambda copy: [value] * count

    # How many entries before a stack its caller is; 0 if there is none. Children come after their parents.
    ids = [node["id"] for node in scale.nodes]
    offsets = [numbers[one] - numbers[parents[one]] if one in parents else 0 for one in ids]
    lines = [(node.get("positionTicks") or [{"line": None}])[0]["line"] for node in scale.nodes]

    def numbers_of(copy: int) -> range:
        return range(copy * count, (copy + 1) * count)

    def sources_of(copy: int) -> list[int | None]:
        return [copy * len(urls) + urls.index(frame["url"]) if frame["url"] else None for frame in frames]

    tables = {
        "stackTable": [column("frame", numbers_of), column("prefixOffset", lambda copy: offsets)],
        "frameTable": [
            column("address", same(-1)),
            column("inlineDepth", same(0)),
            column("category", same(1)),
            column("subcategory", same(0)),
            column("func", numbers_of),
            column("nativeSymbol", same(None)),
            column("innerWindowID", same(0)),
            column("line", lambda copy: lines),
            column("column", same(None)),
            column("originalLocation", same(None)),
            column("lib", same(-1)),
        ],
        "funcTable": [
            column("name", lambda copy: [strings[frame["functionName"] or "(anonymous)"] for frame in frames]),
            column("isJS", lambda copy: is_js),
            column("relevantForJS", same(False)),
            column("resource", same(-1)),
            column("source", sources_of),
            column("lineNumber", lambda copy: [frame["lineNumber"] + 1 or None for frame in frames]),
            column("columnNumber", lambda copy: [frame["columnNumber"] + 1 or None for frame in frames]),
            column("originalLocation", same(None)),
        ],
    }
    per_source = {"id": None, "startLine": 1, "startColumn": 1, "sourceMapURL": None, "content": None}
    sources = [
        (name, (",".join([json.dumps(value)] * len(urls)) for _ in copies)) for name, value in per_source.items()
    ]
    of_urls = (range(len(names) + copy * len(urls), len(names) + (copy + 1) * len(urls)) for copy in copies)
    sources.append(("filename", (",".join(map(str, of_copy)) for of_copy in of_urls)))
    samples = scale.count()
    deltas = [",".join(str(delta / 1000) for delta in varied(scale.deltas, variant)) for variant in range(VARIANTS)]
    stacks = [",".join(str(copy * count + numbers[sample]) for sample in scale.samples) for copy in copies]
    processor_times = ["0" if not index else str(delta) for index, delta in enumerate(scale.deltas)]
    meta = {
        "preprocessedProfileVersion": 70,
        "version": 34,
        "product": "Node.js",
        "processType": 0,
        "interval": 10,
        "startTime": 0,
        "symbolicated": True,
        "sourceCodeIsNotOnSearchfox": True,
        "usesOnlyOneStackType": False,
        "debug": False,
        "extensions": {"length": 0, "baseURL": [], "id": [], "name": []},
        "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "µs"},
        "categories": [
            {"name": "Other", "color": "grey", "subcategories": ["Other"]},
            {"name": "JavaScript", "color": "yellow", "subcategories": ["Other"]},
        ],
        "markerSchema": [],
    }
    thread = {
        "name": "main",
        "isMainThread": True,
        "processType": "default",
        "processName": "node",
        "processStartupTime": 0,
        "processShutdownTime": None,
        "registerTime": 0,
        "unregisterTime": None,
        "pausedRanges": [],
        "pid": "1",
        "tid": "1",
        "markers": {"length": 0, "name": [], "category": [], "phase": [], "startTime": [], "endTime": [], "data": []},
    }
    with file.open("w", encoding="utf-8") as text:
        empty = '"libs":[],"pages":[],"profilerOverhead":[],"counters":[]'
        text.write(f'{{"meta":{json.dumps(meta)},{empty},"threads":[')
        text.write(json.dumps(thread)[:-1])
        text.write(f',"samples":{{"length":{samples},"weightType":"samples","weight":null,')
        write_list(text, "stack", (stacks[number % scale.copies] for number in range(scale.rounds)))
        text.write(",")
        write_list(text, "timeDeltas", (deltas[number % VARIANTS] for number in range(scale.rounds)))
        text.write(",")
        write_list(text, "threadCPUDelta", (",".join(processor_times) for _ in range(scale.rounds)))
        text.write('}}],"shared":{')
        all_strings = [*names, *(url_of(url, copy) for copy in copies for url in urls)]
        text.write(f'"stringArray":{json.dumps(all_strings)},')
        write_table(text, "sources", scale.copies * len(urls), sources)
        for name, columns in tables.items():
            text.write(",")
            write_table(text, name, scale.copies * count, columns)
        for name, columns in {
            "resourceTable": ("type", "name", "host"),
            "nativeSymbols": ("libIndex", "address", "name", "functionSize"),
            "sourceLocationTable": ("source", "line", "column"),
        }.items():
            text.write(f',"{name}":{json.dumps({**{column: [] for column in columns}, "length": 0})}')
        text.write("}}")
    return samples


def write_table(file: TextIO, name: str, length: int, columns: list[tuple[str, Iterator[str]]]):
    file.write(f'"{name}":{{"length":{length}')
    for column, parts in columns:
        file.write(",")
        write_list(file, column, parts)
    file.write("}")
