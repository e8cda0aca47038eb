/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// data/gaps.js: where an event loop was not sampled.

import assert from "node:assert/strict";
import test from "node:test";

import { dataOf, strobe } from "./page.mjs";

const { gaps } = strobe;

// An event loop of samples at these times, in milliseconds, with an interval of 1 ms.
function loopOf(times, more = {}, missed) {
  const samples = {
    time: times.map((time, i) => Math.round((time - (times[i - 1] ?? 0)) * 1000)), stack: times.map(() => -1),
    activity: times.map(() => 1), ...more,
  };
  return strobe.recording.decode(dataOf({ samples, missed })).loops[0];
}

test("a sample lasts until the next one, unless that is more than an interval and a half later", () => {
  const loop = loopOf([0, 1, 2.5, 4.001, 5]);
  assert.deepEqual([0, 1, 2, 3].map((index) => gaps.endOf(loop, index, 1)), [1, 2.5, 3.5, 5]);
  // The last one has nobody after it.
  assert.equal(gaps.endOf(loop, 4, 1), 6);
});

test("a sample that stands for several lasts as long as they", () => {
  const loop = loopOf([0, 3.4, 9], { weight: [3, 3, 1] });
  assert.deepEqual([0, 1].map((index) => gaps.endOf(loop, index, 1)), [3.4, 6.4]);
});

test("a sample with a worth lasts for that, whatever the interval is", () => {
  const loop = loopOf([0, 10, 20], { worth: [10e6, 4e6, 1e6] });
  assert.deepEqual([0, 1, 2].map((index) => gaps.endOf(loop, index, 1)), [10, 14, 21]);
});

test("where samples are known to be missed is a gap, however short", () => {
  const missed = { start: [1200], end: [1300], samples: [1], why: [4] };
  const loop = loopOf([0, 1, 2.2, 4.4], {}, missed);
  assert.deepEqual([0, 1, 2].map((index) => gaps.endOf(loop, index, 1)), [1, 2, 4.4]);
  assert.deepEqual(gaps.at(loop, 2.1, 1), { before: 1, after: 2, from: 2, to: 2.2, missed: [0, 0, 0, 0, 1, 0] });
  assert.equal(gaps.whyOf(gaps.at(loop, 2.1, 1)), "1 missed: 1 stack too deep");
});

test("every time belongs to a sample, to a gap, or to neither before and after the recording", () => {
  const loop = loopOf([10, 11, 20]);
  assert.equal(gaps.at(loop, 9.9, 1), null);
  assert.deepEqual([10, 10.999, 11, 11.9, 20, 20.9].map((time) => gaps.at(loop, time, 1).index), [0, 0, 1, 1, 2, 2]);
  assert.deepEqual(gaps.at(loop, 15, 1), { before: 1, after: 2, from: 12, to: 20 });
  assert.equal(gaps.at(loop, 21, 1), null);
  assert.equal(gaps.whyOf(gaps.at(loop, 15, 1)), "");
});
