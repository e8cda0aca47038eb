/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// data/difference.js: what is clear about two sides of a comparison.

import assert from "node:assert/strict";
import test from "node:test";

import { dataOf, everything, functionsOf, nodesOf, strobe } from "./page.mjs";

const { difference, recording } = strobe;

// A comparison in which a function has so many samples on both sides.
function compared(...counts) {
  const sides = counts.map((count) => dataOf({
    ...functionsOf("f"), stacks: { parent: [-1], frame: [0] },
    samples: { time: [0], weight: [count], stack: [0], activity: [1], worth: [count * 1e6] },
  }).processes[0]);
  const decoded = recording.decode({ ...dataOf({}), comparison: true, processes: sides });
  return difference.compute(decoded, nodesOf(decoded), everything(decoded));
}

test("a change is clear if it is more than samples vary, and more than a fiftieth", () => {
  const isClear = (...counts) => difference.change(compared(...counts), "functionSelf", 0).isClear;
  assert.deepEqual([isClear(100, 120), isClear(100, 160), isClear(160, 100)], [false, true, true]);
  assert.deepEqual([isClear(1e6, 1.01e6), isClear(1e6, 1.03e6)], [false, true]);
});

test("a change is told in times of a session", () => {
  const sentence = (...counts) => difference.sentence(compared(...counts), "functionSelf", 0);
  assert.equal(sentence(100, 160), "100 ms → 160 ms a session, +60.0 %");
  assert.equal(sentence(160, 100), "160 ms → 100 ms a session, -37.5 %");
  assert.equal(sentence(100, 101), "100 ms → 101 ms a session, +1.0 %, not clear");
});

test("only two sides that both have samples are compared", () => {
  assert.equal(compared(100, 0), null);
  const one = recording.decode(dataOf({}));
  assert.equal(difference.compute(one, nodesOf(one), everything(one)), null);
});
