# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""trace: stopping with a long trace, and the memory of a sample."""

import statistics

from .posted import median, positive, reading
from .report import CONTROL_SHARE, Limit, Report, Table

TITLE = "Stopping with a long trace"
FORMATS = ("default", "json-gzip")
# In ms.
MOST_STOP, MOST_BLOCK = 20.0, 8.0
MOST_GZIP_STOP, MOST_GZIP_BLOCK = 120.0, 1.0
MOST_BYTES_PER_SAMPLE = 20.0


def report(measurement: dict) -> Report:
    result = Report()
    stops: dict[str, dict[str, list[dict]]] = {}
    # Bytes per sample in all, and in the second half of the trace, to which hardly any stack is new.
    grown: dict[str, float] = {}
    grown_later: dict[str, float] = {}
    times = ("stop(), ms", "longest block, ms", "control, ms")
    rows = [["browser, asked for", "samples", "frames", "stacks", "gives", *times]]
    for browser in measurement["browsers"]:
        name = browser["name"]
        with reading("trace", name):
            by_format = stops.setdefault(name, {})
            for posted in browser["results"]:
                for stop in posted["stops"]:
                    by_format.setdefault(stop["format"], []).append(stop)
            # They are stopped in any order.
            if sorted(by_format) != sorted(FORMATS):
                raise ValueError(f"the formats are {list(by_format)}")
            growths, growths_later = zip(*map(growth_per_sample, browser["results"]))
            grown[name] = statistics.median(growths)
            grown_later[name] = statistics.median(growths_later)
            for form in FORMATS:
                of_form = by_format[form]
                counted = of_form[0]
                rows.append(
                    [
                        f"{name}, {form}",
                        *("" if counted[key] is None else str(counted[key]) for key in ("samples", "frames", "stacks")),
                        counted["form"] if counted["bytes"] is None else f"{counted['form']}, {counted['bytes']} bytes",
                        *(f"{median(of_form, key):.1f}" for key in ("milliseconds", "block", "controlBlock")),
                    ]
                )
            first = by_format["default"][0]
            result.notes.append(
                f"{name}: true interval {positive(first['sampleInterval']):g} ms; about {grown[name]:.0f} bytes of "
                f"memory per sample with the tables of stacks and functions, and {grown_later[name]:.0f} in the second "
                "half, to which hardly any stack is new"
                # A browser may have allocated the memory for its buffers before.
                f"{'; below 0 is noise' if min(grown[name], grown_later[name]) < 0 else ''}"
            )
    result.tables.append(Table(rows, "Stopping a profiler with a long trace, medians"))
    ours = next(iter(stops))
    traces = {name: by_format["default"] for name, by_format in stops.items()}
    # Only a browser that knows the format gives a text.
    texts = {name: of["json-gzip"] for name, of in stops.items() if of["json-gzip"][0]["form"] == "gzip"}
    for what, key, of_browsers, most in (
        ("stop() of the trace", "milliseconds", traces, MOST_STOP),
        ("longest block of the trace", "block", traces, MOST_BLOCK),
        ("stop() of json-gzip", "milliseconds", texts, MOST_GZIP_STOP),
        ("longest block of json-gzip", "block", texts, MOST_GZIP_BLOCK),
    ):
        values = {name: median(of_browser, key) for name, of_browser in of_browsers.items()}
        controls = {name: median(of_browser, "controlBlock") for name, of_browser in of_browsers.items()}
        result.limits.append(
            Limit(
                what,
                {name: f"{value:.1f} ms" for name, value in values.items()},
                {name: f"{control:.1f} ms" for name, control in controls.items()},
                f"≤ {most:g} ms",
                ours in values and values[ours] <= most,
                is_noisy=controls.get(ours, 0.0) > most * CONTROL_SHARE,
            )
        )
    result.limits.append(
        Limit(
            "memory per sample without tables",
            {name: f"{value:.0f} bytes" for name, value in grown_later.items()},
            {},
            f"≤ {MOST_BYTES_PER_SAMPLE:g} bytes",
            grown_later[ours] <= MOST_BYTES_PER_SAMPLE,
            # No sample gives memory back.
            is_noisy=grown_later[ours] < 0,
        )
    )
    return result


def growth_per_sample(posted: dict) -> tuple[float, float]:
    """By how many bytes per sample the memory has grown, in all, and in the second half of the trace."""
    # Memory of a profiler that does not grow cannot be told from memory that the allocator keeps.
    held = posted["growth"] - posted["controlGrowth"]
    held_later = posted["secondGrowth"] - posted["controlSecondGrowth"]
    (trace,) = (stop for stop in posted["stops"] if stop["format"] == "default")
    samples = positive(trace["samples"]) * len(posted["stops"])
    return held / samples, held_later / (samples / 2)
