/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

const TIMES = 10;

runTest(async () => {
  const round = Number(location.hash.slice(1));
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  work(20);
  if (round < TIMES) {
    location.hash = `#${round + 1}`;
    location.reload();
    work(5);
    await new Promise(() => {});
  }
  return { round, trace: await profiler.stop() };
});
