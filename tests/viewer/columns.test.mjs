/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// data/activity-sums.js and data/columns.js: what the time line draws.

import assert from "node:assert/strict";
import test from "node:test";

import { dataOf, strobe } from "./page.mjs";

const { activitySums, columns } = strobe;
const [IDLE, SCRIPT, GC, LAYOUT] = [0, 1, 2, 4];

function recordingOf(activity, more = {}, eventLoop = {}) {
  const time = activity.map((_, i) => (i ? 1000 : 0));
  return strobe.recording.decode(dataOf({ samples: { time, stack: activity.map(() => -1), activity, ...more }, ...eventLoop }));
}

// The activities in a column that have a height, by their numbers.
function stepsOf(recording, column) {
  const steps = columns.noSteps();
  // What is left of another column.
  steps.fill(99);
  columns.fillSteps(steps, recording.loops[0], column, recording.interval);
  return Object.fromEntries([...steps].map((tall, activity) => [activity, tall]).filter(([, tall]) => tall > 0));
}

test("the weight of an activity is that of its samples in a stretch", () => {
  const { loops: [loop] } = recordingOf([SCRIPT, GC, SCRIPT, IDLE], { weight: [1, 2, 4, 8] });
  const sums = activitySums.of(loop);
  assert.deepEqual([activitySums.weight(sums, SCRIPT, 0, 4), activitySums.weight(sums, SCRIPT, 1, 4), activitySums.weight(sums, SCRIPT, 0, 0)], [5, 4, 0]);
  assert.deepEqual([activitySums.weight(sums, GC, 1, 2), activitySums.weight(sums, LAYOUT, 0, 4)], [2, 0]);
  // They are added up once.
  assert.equal(activitySums.of(loop), sums);
});

test("weights of any size are added up", () => {
  const { loops: [timed] } = recordingOf([SCRIPT, SCRIPT], { worth: [500e3, 250e3] });
  assert.equal(activitySums.weight(activitySums.of(timed), SCRIPT, 0, 2), 0.75);
  const { loops: [heavy] } = recordingOf([SCRIPT, SCRIPT], { weight: [2 ** 32, 1] });
  assert.equal(activitySums.weight(activitySums.of(heavy), SCRIPT, 0, 2), 2 ** 32 + 1);
});

test("the steps of a column are the parts of its activities", () => {
  const recording = recordingOf([SCRIPT, SCRIPT, SCRIPT, GC, IDLE]);
  const whole = { begin: 0, end: 4, middle: 2 };
  assert.deepEqual(stepsOf(recording, whole), { [SCRIPT]: 16, [GC]: 6 });
  // Idle time is left empty.
  assert.deepEqual(stepsOf(recording, { ...whole, begin: 3, end: 5 }), { [GC]: 12 });
  // All steps together have no more than the room.
  const many = recordingOf([...Array(200).fill(SCRIPT), GC, LAYOUT]);
  assert.deepEqual(stepsOf(many, { begin: 0, end: 202, middle: 100 }), { [SCRIPT]: columns.ROOM });
});

test("idle time alone is a line", () => {
  assert.deepEqual(stepsOf(recordingOf([IDLE, IDLE]), { begin: 0, end: 2, middle: 1 }), { [IDLE]: 2 });
  assert.deepEqual(stepsOf(recordingOf([IDLE, IDLE]), { begin: 1, end: 1, middle: 0.5 }), { [IDLE]: 2 });
});

test("a column between two samples shows the one that goes on, or that nothing is known", () => {
  assert.deepEqual(stepsOf(recordingOf([GC, IDLE]), { begin: 1, end: 1, middle: 0.5 }), { [GC]: columns.ROOM });
  const between = { begin: 1, end: 1, middle: 5 };
  const apart = (activity) => recordingOf(activity, { time: [0, 10000] });
  assert.deepEqual(stepsOf(apart([SCRIPT, GC]), between), { [columns.UNKNOWN]: columns.ROOM });
  assert.deepEqual(stepsOf(apart([SCRIPT, SCRIPT]), between), { [SCRIPT]: columns.ROOM, [columns.UNKNOWN]: columns.ROOM });
  assert.deepEqual(stepsOf(apart([IDLE, IDLE]), between), { [columns.UNKNOWN]: columns.ROOM });
  // Before the recording.
  assert.deepEqual(stepsOf(apart([SCRIPT, GC]), { begin: 0, end: 0, middle: -5 }), {});
});

test("the overview says how busy the event loops that are shown were", () => {
  const data = dataOf({ samples: { time: [0, 1000, 1000, 1000], stack: [-1, -1, -1, -1], activity: [SCRIPT, IDLE, SCRIPT, GC] } });
  const [{ eventLoops }] = data.processes;
  eventLoops.push({ ...eventLoops[0], samples: { ...eventLoops[0].samples, activity: [IDLE, IDLE, IDLE, GC] } });
  const recording = strobe.recording.decode(data);
  const parts = (isShown, count) => [...columns.busyParts(recording, isShown, [0, 4], count).busy];
  assert.deepEqual(parts(() => true, 2), [0.25, 0.75]);
  assert.deepEqual(parts((l) => l === 0, 2), [0.5, 1]);
  assert.deepEqual(parts(() => false, 2), [0, 0]);
  // Narrower columns than samples.
  assert.deepEqual(parts((l) => l === 0, 8), [1, 1, 0, 0, 1, 1, 1, 1]);
});

test("the overview says where nothing is known of any event loop", () => {
  const samples = (...time) => ({ time, stack: time.map(() => -1), activity: time.map(() => SCRIPT) });
  const data = dataOf({ samples: samples(0, 7000) });
  const [{ eventLoops }] = data.processes;
  eventLoops.push({ ...eventLoops[0], samples: samples(4500) });
  const recording = strobe.recording.decode(data);
  const parts = (isShown) => {
    const { busy, isUnknown } = columns.busyParts(recording, isShown, [0, 8], 4);
    return [[...busy], [...isUnknown]];
  };
  assert.deepEqual(parts((l) => l === 0), [[1, 0, 0, 1], [0, 1, 1, 0]]);
  assert.deepEqual(parts(() => true), [[1, 0, 1, 1], [0, 1, 0, 0]]);
});
