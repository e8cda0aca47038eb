/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

function inner() {
  return work(60);
}

// On the stack when the profiler starts, and while it works.
function starter(start) {
  const profiler = start();
  inner();
  return profiler;
}

function aboveStarter(start) {
  const profiler = starter(start);
  inner();
  return profiler;
}

// Already compiled when it starts a profiler.
function hotInner(x) {
  return Math.imul(x, 31) | 0;
}

function hotStarter(rounds, start) {
  let x = 1;
  for (let i = 0; i < rounds; i++) {
    x = hotInner(x);
  }
  const profiler = start?.();
  if (profiler) {
    inner();
  }
  return profiler ?? x;
}

function aboveHotStarter(rounds, start) {
  return hotStarter(rounds, start);
}

runTest(async () => {
  const options = { sampleInterval: 1, maxBufferSize: 10_000 };
  const construct = () => new Profiler(options);
  const cold = await aboveStarter(construct).stop();
  for (let i = 0; i < 3000; i++) {
    aboveHotStarter(1000);
  }
  const hot = await aboveHotStarter(1000, construct).stop();
  const second = aboveStarter(construct);
  const again = await aboveHotStarter(1000, construct).stop();
  await second.stop();
  return { cold, hot, again };
});
