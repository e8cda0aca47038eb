/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The number of tasks that are waiting at each turn of the event loop.
const TASKS = 50;

for (let i = 0; i < TASKS; i++) {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => port2.postMessage(null);
  port2.postMessage(null);
}

runTest(async () => {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 3 });
  await event(profiler, "samplebufferfull");
  const { samples } = await profiler.stop();
  const other = await performance.profile({ sampleInterval: 1, maxBufferSize: 1000 });
  await other.stop();
  return samples.length;
});
