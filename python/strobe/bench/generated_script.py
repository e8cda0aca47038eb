# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Script texts for pages that need a lot of script. No text comes twice, so that no browser has compiled it before."""

import itertools
import queue
from collections.abc import Callable

# A module of a bundle, as on web sites: its functions are created when it is called, and some of them run.
MODULE = """\
function (exports) {
    "use strict";
    class Shape@ {
        constructor(width, height) { this.width = width; this.height = height; this.tags = new Set(["@"]); }
        get area() { return this.width * this.height; }
        scaled(factor) { return new Shape@(this.width * factor, this.height * factor); }
        toString() { return `Shape@ ${this.width} x ${this.height} (${[...this.tags].join(", ")})`; }
    }
    function total@(shapes) {
        return shapes.map((shape) => shape.area).filter((area) => area > @ % 7).reduce((sum, area) => sum + area, 0);
    }
    function parse@(text) {
        const result = {};
        for (const pair of text.split("&")) {
            const [name, value = ""] = pair.split("=");
            if (name in result) { result[name] = [].concat(result[name], value); } else { result[name] = value; }
        }
        return result;
    }
    const handlers@ = {
        open: function (event) { return this.state[event.name] || (this.state[event.name] = { id: @, open: true }); },
        close: (event, state) => { delete state[event.name]; return Object.keys(state).length; },
        async load(url) { const response = await fetch(url); return response.ok ? response.json() : null; },
    };
    exports.run = function run@() {
        const shapes = Array.from({ length: 5 }, (_, index) => new Shape@(index, @ % 11));
        const text = `id=@&name=shape&name=other&total=${total@(shapes)}`;
        return `${shapes[2].scaled(2)} ${parse@(text).name.length}`;
    };
    exports.handlers = handlers@;
}"""

# Functions that make compilers work: with numbers, strings, objects and arrays.
HOT = (
    "function hot@(x) { let s = x + @; for (let i = 0; i < 100; i++) { s = (Math.imul(s, 31) + i) | 0; } return s; }",
    "function hot@(x) { let s = @ / 7; for (let i = 0; i < 100; i++) { s = s * 0.5 + i / (x + 1); } return s; }",
    "function hot@(x) { const p = { a: x, b: @ }; for (let i = 0; i < 100; i++) { p.a += p.b ^ i; } return p.a; }",
    "function hot@(x) { const l = [x, @, 3]; for (let i = 0; i < 100; i++) { l[i % 3] += l[1] & i; } return l[0]; }",
)


def bundles(size: int) -> Callable[[], str]:
    """A function that returns another bundle of about `size` bytes each time."""
    serial = itertools.count(1)
    count = max(1, round(size / len(MODULE)))

    def bundle() -> str:
        modules = ",\n".join(MODULE.replace("@", str(next(serial))) for _ in range(count))
        return (
            f"(function () {{\nconst modules = [{modules}];\n"
            # As on web sites, not all of it is used.
            "for (let i = 0; i < modules.length; i += 2) { const exports = {}; modules[i](exports); exports.run(); }\n"
            "globalThis.scriptsRun = (globalThis.scriptsRun ?? 0) + 1;\n})();\n"
        )

    return bundle


def hot_functions(count: int) -> Callable[[], str]:
    """A function that returns a script with this many different functions. The script puts them into `hotFunctions`."""

    def script() -> str:
        functions = ",\n".join(HOT[number % len(HOT)].replace("@", str(number)) for number in range(1, count + 1))
        return f"globalThis.hotFunctions = [\n{functions},\n];\n"

    return script


class Prepared:
    """A function that returns texts of `make`. It returns those first that were made in advance."""

    def __init__(self, make: Callable[[], str]):
        self._make = make
        self._texts: queue.SimpleQueue[str] = queue.SimpleQueue()

    def prepare(self, count: int):
        for _ in range(count - self._texts.qsize()):
            self._texts.put(self._make())

    def __call__(self) -> str:
        try:
            return self._texts.get_nowait()
        except queue.Empty:
            return self._make()
