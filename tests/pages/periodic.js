/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A program has the same period as the samples, as an animation may have it.

const INTERVAL = 10;
const FIRST_PART = 3;
const PERIODS = 1500;

function spinUntil(time) {
  while (performance.now() < time);
}

function thirty(time) {
  spinUntil(time);
}

function seventy(time) {
  spinUntil(time);
}

function run() {
  const start = performance.now();
  for (let i = 0; i < PERIODS; i++) {
    const begin = start + i * INTERVAL;
    thirty(begin + FIRST_PART);
    seventy(begin + INTERVAL);
  }
}

runTest(async () => {
  const profiler = new Profiler({ sampleInterval: INTERVAL, maxBufferSize: 10_000 });
  run();
  return profiler.stop();
});
