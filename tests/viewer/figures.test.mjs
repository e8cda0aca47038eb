/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// data/format.js, data/time-window.js and data/palette.js.

import assert from "node:assert/strict";
import test from "node:test";

import { strobe } from "./page.mjs";

const { format, palette, timeWindow } = strobe;
const THIN = "\u202f";

test("times have as many digits as tell samples apart", () => {
  const { sampledTime, interval, moment } = format;
  assert.deepEqual([sampledTime(1234, 1), sampledTime(12, 0.5), sampledTime(12.34, 0.01)], [`1${THIN}234`, "12.0", "12.34"]);
  assert.deepEqual([interval(1), interval(1.588), interval(0.1)], ["1 ms", "1.59 ms", "100 µs"]);
  assert.deepEqual([moment(12), moment(1234.5)], ["12.0 ms", "1.2345 s"]);
});

test("marks of a ruler have as many digits as the step needs", () => {
  const { timeMark } = format;
  assert.deepEqual([timeMark(3000, 1000), timeMark(300, 100), timeMark(350, 50)], ["3 s", "0.3 s", "350 ms"]);
  assert.deepEqual([timeMark(12, 1), timeMark(12.5, 0.5), timeMark(0.25, 0.01), timeMark(10001, 1)], ["12 ms", "12.5 ms", "0.25 ms", "10.001 s"]);
});

test("lengths of time have the unit that suits them", () => {
  const { duration } = format;
  assert.deepEqual([duration(0), duration(0.0004), duration(999), duration(-1500), duration(10000)], ["0 ms", "0 µs", "999 ms", "-1.50 s", "10.0 s"]);
});

test("numbers are in groups of three digits before the point", () => {
  assert.deepEqual([format.count(999), format.count(1000), format.count(1234567)], ["999", `1${THIN}000`, `1${THIN}234${THIN}567`]);
  assert.deepEqual([format.plural(1, "sample", "samples"), format.plural(2, "sample", "samples")], ["1 sample", "2 samples"]);
  assert.deepEqual([format.bytes(0), format.bytes(1023), format.bytes(150 * 1024), format.bytes(1024 ** 4)], ["0 B", "1023 B", "150 KiB", "1024 GiB"]);
});

test("places are written as people write them", () => {
  const { place, line, lines, offset, program, fileName } = format;
  assert.deepEqual([place("a.js", 0, 7), place("a.js", 3, 4), line(3, 0), line(3, 4), lines(3, 9), offset(31)],
    ["a.js", "a.js:3:4", "3", "3:4", "3–9", "0x1f"]);
  assert.deepEqual([program({ name: "Servo", version: "" }), program({ name: "Servo", version: "1" })], ["Servo", "Servo 1"]);
  assert.deepEqual([fileName("https://a.test/b/?c"), fileName(""), fileName("https://a.test/x.js#/y")], ["b", "", "x.js"]);
});

test("keys move a window within its bounds", () => {
  const keyed = (key, window = [40, 50]) => timeWindow.keyed(window, key, [0, 100], 1);
  assert.deepEqual([keyed("ArrowLeft"), keyed("ArrowRight"), keyed("ArrowLeft", [0, 10])], [[39, 49], [41, 51], [0, 10]]);
  assert.deepEqual([keyed("ArrowRight", [95, 100]), keyed("ArrowRight", [89.5, 99.5])], [[95, 100], [90, 100]]);
  assert.deepEqual([keyed("0"), keyed("Home"), keyed("End"), keyed("x")], [[0, 100], [0, 10], [90, 100], null]);
  assert.equal(timeWindow.span(keyed("-")), 15);
  assert.deepEqual(keyed("+", [45, 45.5]), [44.75, 45.75]);
});

test("a wheel's turn is in pixels, whatever its unit", () => {
  const { wheelDistance } = timeWindow;
  const turn = { deltaX: 1, deltaY: -2 };
  assert.deepEqual([0, 1, 2].map((deltaMode) => wheelDistance({ ...turn, deltaMode })), [[1, -2], [16, -32], [400, -800]]);
});

test("marks are at 1, 2 or 5 times a power of ten", () => {
  const { markStep, marks } = timeWindow;
  assert.deepEqual([markStep([0, 1], 10), markStep([0, 3], 10), markStep([0, 9], 10)].map((step) => step.toFixed(3)), ["0.100", "0.500", "1.000"]);
  assert.deepEqual(marks([-25, 21], 10), [-20, -10, 0, 10, 20]);
});

test("a script has the same colour in every recording", () => {
  // FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/
  const hash = (text) => [...text].reduce((sum, one) => ((sum ^ BigInt(one.charCodeAt(0))) * 16777619n) % 2n ** 32n, 2166136261n);
  for (const name of ["https://a.test/a.js", "https://a.test/b.js", ""]) {
    assert.equal(palette.tintOf(name), Number((hash(name) >> 8n) % 8n));
    assert.equal(palette.shadeOf(name, 7), Number((hash(`${name}:7`) >> 8n) % 3n));
  }
  for (const scheme of [palette.LIGHT, palette.DARK]) {
    assert.equal(scheme.scripts.length, 8);
    assert.ok(scheme.scripts.flat().every((colour) => /^#[0-9a-f]{6}$/.test(colour)));
  }
});
