/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// state.js and views/time-axis.js: the window of time, the time that counts, and the keys that change them.

import assert from "node:assert/strict";
import test from "node:test";

import { dataOf, runPart, strobe } from "./page.mjs";

globalThis.requestAnimationFrame = () => 1;
globalThis.cancelAnimationFrame = () => {};
runPart("state.js");
runPart("views/time-axis.js");
const { state, timeAxis } = strobe;

// A recording of ten samples, from 0 to 10 ms.
function show() {
  const time = Array.from({ length: 10 }, (_, i) => (i ? 1000 : 0));
  state.show(strobe.recording.decode(dataOf({ samples: { time, stack: time.map(() => -1), activity: time.map(() => 1) } })));
  state.flush();
}

function press(key, more = {}) {
  let isPrevented = false;
  const isKnown = timeAxis.key({ key, preventDefault: () => { isPrevented = true; }, ...more });
  assert.equal(isPrevented, isKnown);
  return isKnown;
}

test("a place on the axis is a time in the window", () => {
  show();
  assert.deepEqual([0, 50, 100].map((x) => timeAxis.timeAt(x, 100)), [0, 5, 10]);
  timeAxis.setWindow([4, 6]);
  assert.deepEqual([0, 50, 100].map((x) => timeAxis.timeAt(x, 100)), [4, 5, 6]);
});

test("a drag chooses the time between its ends, within the recording", () => {
  show();
  timeAxis.chooseRange(70, 20, 100);
  assert.deepEqual(state.range, [2, 7]);
  timeAxis.chooseRange(-10, 1000, 100);
  assert.deepEqual(state.range, [0, 10]);
  // Nothing is chosen outside of it.
  timeAxis.chooseRange(200, 300, 100);
  assert.deepEqual(state.range, [0, 10]);
  timeAxis.clearRange();
  assert.equal(state.range, null);
});

test("what counts is what is on the screen, and the other way around", () => {
  show();
  timeAxis.setWindow([2, 8]);
  assert.ok(press("s"));
  assert.deepEqual(state.range, [2, 8]);
  timeAxis.setWindow([0, 10]);
  assert.ok(press("z"));
  assert.deepEqual(state.window, [2, 8]);
  // At least some samples are on the screen.
  state.change({ range: [9.5, 9.6] }, "range");
  timeAxis.zoomToRange();
  assert.deepEqual(state.window, [6, 10]);
});

test("keys with Ctrl, Alt or the system's key are others'", () => {
  show();
  for (const modifier of ["ctrlKey", "altKey", "metaKey"]) {
    assert.equal(press("s", { [modifier]: true }), false);
  }
  assert.equal(press("x"), false);
  assert.equal(state.range, null);
});

test("the window is panned by parts of its length", () => {
  show();
  timeAxis.setWindow([2, 4]);
  timeAxis.panBy(0.5);
  assert.deepEqual(state.window, [3, 5]);
  assert.ok(press("ArrowLeft"));
  assert.deepEqual(state.window.map((time) => time.toFixed(3)), ["2.800", "4.800"]);
});

test("the lanes are those of event loops that did something, and the others on request", () => {
  const data = dataOf({ samples: { time: [0], stack: [-1], activity: [0] } });
  const [{ eventLoops }] = data.processes;
  eventLoops.push({ ...eventLoops[0], samples: { time: [0], stack: [-1], activity: [4] } });
  state.show(strobe.recording.decode(data));
  assert.deepEqual(state.lanes(), [1]);
  state.change({ idleLoopsAreShown: true }, "lanes");
  assert.deepEqual(state.lanes(), [1, 0]);
});
