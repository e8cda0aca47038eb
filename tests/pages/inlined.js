/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

function run(milliseconds) {
  const end = performance.now() + milliseconds;
  let x = 1;
  while (performance.now() < end) {
    x = loop(x);
  }
  return x;
}

// Whether the code is compiled and inlined into the loop before the first profiler starts.
const compiledBefore = new URLSearchParams(location.search).has("compiled-before");

async function profiledRun() {
  if (compiledBefore) {
    run(1000);
  }
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  if (!compiledBefore) {
    run(1000);
  }
  const start = performance.now();
  run(5000);
  const end = performance.now();
  return { start, end, trace: await profiler.stop() };
}

runTest(async () => {
  const runs = [];
  let samples = 0;
  // Enough samples for accurate shares. A busy machine needs more than one run for that.
  while (samples < 4000 && runs.length < 8) {
    const run = await profiledRun();
    runs.push(run);
    samples += run.trace.samples.filter(({ timestamp }) => timestamp >= run.start && timestamp <= run.end).length;
  }
  return runs;
});
