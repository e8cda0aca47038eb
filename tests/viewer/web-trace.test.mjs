/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// data/web-trace.js: the trace that a page gets, as viewer data.

import assert from "node:assert/strict";
import test from "node:test";

import { strobe } from "./page.mjs";

const { isWebTrace, toViewerData } = strobe.webTrace;

const TRACE = {
  resources: ["https://a.test/a.js"],
  frames: [{ name: "f", resourceId: 0, line: 3, column: 4 }, { name: "" }],
  stacks: [{ frameId: 0 }, { parentId: 0, frameId: 1 }],
  samples: [{ timestamp: 1.5, stackId: 1 }, { timestamp: 3.5, marker: "gc" }, { timestamp: 5.5, stackId: 0 }, { timestamp: 15.5 }],
};

test("a trace has four lists", () => {
  assert.ok(isWebTrace(TRACE));
  assert.ok([null, undefined, 1, [], {}, { ...TRACE, stacks: {} }].every((value) => !isWebTrace(value)));
});

test("its frames are functions at unknown places, and its times are differences", () => {
  const data = toViewerData(TRACE);
  const { functions, frames, stacks, samples } = data.processes[0].eventLoops[0];
  assert.deepEqual([functions.name, functions.resource, functions.line], [["f", ""], [0, -1], [3, 0]]);
  assert.deepEqual(frames, { function: [0, 1], line: [0, 0], column: [0, 0] });
  assert.deepEqual(stacks, { parent: [-1, 0], frame: [0, 1] });
  assert.deepEqual(samples, { time: [1500, 2000, 2000, 10000], stack: [1, -1, 0, -1], activity: [-1, 2, -1, -1] });
  // The median of the differences.
  assert.equal(data.interval, 2);
  assert.equal(toViewerData({ ...TRACE, samples: [] }).interval, 1);
});

test("an error says where in the trace it is, and what is wrong", () => {
  const refuses = (change, message) => assert.throws(() => toViewerData({ ...TRACE, ...change }), { message });
  refuses({ resources: [1] }, "resources[0]: 1 is no text");
  refuses({ frames: [{}] }, "frames[0].name: nothing is no text");
  refuses({ frames: [{ name: "f", resourceId: 1 }] }, "frames[0].resourceId: 1 is not one of the 1 there are");
  refuses({ stacks: [{}] }, "stacks[0].frameId: -1 is missing");
  refuses({ stacks: [{ parentId: 0, frameId: 0 }] }, "stacks[0].parentId: 0 is not one of the 0 there are");
  refuses({ samples: [{ timestamp: "1" }] }, 'samples[0].timestamp: "1" is no number');
  refuses({ samples: [{ timestamp: 2 }, { timestamp: 1 }] }, "samples[1].timestamp: 1 is earlier than the sample before");
  refuses({ samples: [{ timestamp: 2, stackId: 2 }] }, "samples[0].stackId: 2 is not one of the 2 there are");
  refuses({ samples: [{ timestamp: 2, marker: "toString" }] }, 'samples[0].marker: "toString" is not known');
});
