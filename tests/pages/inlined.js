/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The same in kind, 70 to 30 in number. Each operation needs the result of the one before, so that a
// round takes as long in the one as in the other, and none can be left out.
function seventy(x) {
  for (let i = 0; i < 700; i++) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    x = (x + i) | 0;
  }
  return x;
}

function thirty(x) {
  for (let i = 0; i < 300; i++) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    x = (x + i) | 0;
  }
  return x;
}

function loop(x) {
  for (let i = 0; i < 1000; i++) {
    x = seventy(x);
    x = thirty(x);
  }
  return x;
}

function run(milliseconds) {
  const end = performance.now() + milliseconds;
  let x = 1;
  while (performance.now() < end) {
    x = loop(x);
  }
  return x;
}

runTest(async () => {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  // Compiled, and the one inlined into the other, while the profiler is on.
  run(1000);
  const start = performance.now();
  run(5000);
  const end = performance.now();
  return { start, end, trace: await profiler.stop() };
});
