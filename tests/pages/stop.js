/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

function stopInside(profiler) {
  return profiler.stop();
}

runTest(async () => {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 1000 });
  const states = [profiler.stopped];
  work(50);
  states.push(profiler.stopped);
  const first = profiler.stop();
  states.push(profiler.stopped);
  const second = stopInside(profiler);
  const trace = await first;
  states.push(profiler.stopped);
  work(20);
  const third = await profiler.stop();
  return {
    states,
    arePromises: first instanceof Promise && second instanceof Promise,
    traces: [trace, await second, third],
  };
});
