/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

function first(a) {
  return a;
}

function second(a, b) {
  return b;
}

function third(a, b, c) {
  return c;
}

// There are so many different functions that optimised code calls them through one stub.
const callees = [Math.max, first, Math.min, second, Math.hypot, third, Array.of, Date.UTC];

function callEach(rounds) {
  let count = 0;
  for (let i = 0; i < rounds; i++) {
    for (const callee of callees) {
      // The stub's frame has the number of arguments in the place of a callee.
      count += Number(callee(1, 2, 3, 4, 5, 6, 7, 8) !== null);
    }
  }
  return count;
}

runTest(async () => {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  const end = performance.now() + 3000;
  while (performance.now() < end) {
    callEach(1000);
  }
  return profiler.stop();
});
