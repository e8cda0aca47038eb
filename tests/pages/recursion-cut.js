/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

function deepest(milliseconds) {
  return work(milliseconds);
}

function descend(depth, milliseconds) {
  return depth === 0 ? deepest(milliseconds) : descend(depth - 1, milliseconds) + 1;
}

// The optimising compiler inlines this.
function inner(depth, milliseconds) {
  return descend(depth, milliseconds) + 1;
}

function outer(depth, milliseconds) {
  return inner(depth, milliseconds) + 1;
}

let garbage;

// Some of the deep stacks are cut between the two functions. The stacks in between are whole. What walks have kept is
// forgotten each time: the memory makes the engine collect garbage.
function inTurns() {
  for (let i = 0; i < 300; i++) {
    garbage = new Uint8Array(1 << 26);
    outer(i % 2 ? 2 : 12 + (i >> 1) % 8, 4);
  }
}

runTest(async () => {
  for (let i = 0; i < 5000; i++) {
    outer(2, 0);
  }
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  inTurns();
  return profiler.stop();
});
