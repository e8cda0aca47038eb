/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

const REQUESTED = [0, -0, 0.3, 1, 1.999, 2, 9.99, 10, 10.7, 20, "15.5", 1e9];

runTest(async () => {
  const intervals = [];
  for (const sampleInterval of REQUESTED) {
    const options = { sampleInterval, maxBufferSize: 10 };
    const constructed = new Profiler(options);
    const profiled = await performance.profile(options);
    intervals.push([constructed.sampleInterval, profiled.sampleInterval]);
    // The attribute cannot be set.
    Reflect.set(constructed, "sampleInterval", 7);
    await constructed.stop();
    await profiled.stop();
    intervals.at(-1).push(constructed.sampleInterval);
  }
  return intervals;
});
