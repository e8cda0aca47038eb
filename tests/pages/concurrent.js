/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// There is room for more samples than they have time for. A full profiler would not be one of those at once.
const OPTIONS = { sampleInterval: 10, maxBufferSize: 1e6 };
const MOST = 100;

async function refusals() {
  const refusals = [];
  try {
    new Profiler(OPTIONS);
  } catch (error) {
    refusals.push({ how: "throws", isTypeError: error instanceof TypeError, message: error.message });
  }
  await performance.profile(OPTIONS).catch(error => {
    refusals.push({ how: "rejects", isTypeError: error instanceof TypeError, message: error.message });
  });
  return refusals;
}

runTest(async () => {
  const running = [];
  while (running.length < MOST - 1) {
    running.push(new Profiler(OPTIONS));
  }
  running.push(await performance.profile(OPTIONS));
  const whenAllRun = await refusals();
  // A stopped profiler makes room for another one.
  await running.pop().stop();
  running.push(new Profiler(OPTIONS));
  const whenAllRunAgain = await refusals();
  // So does a full one.
  await running.pop().stop();
  const full = new Profiler({ sampleInterval: 1, maxBufferSize: 1 });
  await event(full, "samplebufferfull");
  running.push(new Profiler(OPTIONS));
  const whenOneIsFull = await refusals();
  const traces = await Promise.all([full, running[0], running.at(-1)].map(profiler => profiler.stop()));
  return { whenAllRun, whenAllRunAgain, whenOneIsFull, traces };
});
