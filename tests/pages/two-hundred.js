/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

const TIMES = 200;

function some(round) {
  return work(round % 7);
}

runTest(async () => {
  const traces = [];
  for (let round = 0; round < TIMES; round++) {
    const options = { sampleInterval: 1 + round % 3, maxBufferSize: 1000 };
    const profiler = round % 2 ? new Profiler(options) : await performance.profile(options);
    some(round);
    traces.push(await profiler.stop());
  }
  return traces;
});
