/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A program has the same period as the samples, as an animation may have it.

const INTERVAL = 10;
const FIRST_PART = 3;
// So many in which the thread was not interrupted, but not more than this in all.
const PERIODS = 1500;
const MOST_PERIODS = 6000;

let last = 0;
let longestPause = 0;

function spinUntil(time) {
  let now;
  do {
    now = performance.now();
    longestPause = Math.max(longestPause, now - last);
    last = now;
  } while (now < time);
}

function thirty(time) {
  spinUntil(time);
}

function seventy(time) {
  spinUntil(time);
}

function run() {
  const start = performance.now();
  last = start;
  for (let i = 0, whole = 0; whole < PERIODS && i < MOST_PERIODS; i++) {
    longestPause = 0;
    const begin = start + i * INTERVAL;
    thirty(begin + FIRST_PART);
    seventy(begin + INTERVAL);
    if (longestPause < 1) {
      whole++;
    }
  }
}

runTest(async () => {
  const profiler = new Profiler({ sampleInterval: INTERVAL, maxBufferSize: 10_000 });
  run();
  return profiler.stop();
});
