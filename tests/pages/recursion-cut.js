/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

function deepest() {
  return work(2);
}

// These two are inlined into each other, so a frame of the thread's stack holds several of their calls.
function even(depth) {
  return depth === 0 ? deepest() : odd(depth - 1) + 1;
}

function odd(depth) {
  return depth === 0 ? deepest() : even(depth - 1) + 1;
}

// Deep stacks are cut at another of the calls each time. The stacks in between are whole.
function inTurns() {
  for (let i = 0; i < 500; i++) {
    even(i % 2 ? 12 : 600 + (i >> 1) % 16);
  }
}

runTest(async () => {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  inTurns();
  return profiler.stop();
});
