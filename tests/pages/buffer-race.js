/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// When this returns, the buffer is full, and the event waits for the end of the task.
function fillAndStop() {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 3 });
  let events = 0;
  profiler.onsamplebufferfull = () => { events++; };
  // For much longer than three samples need, because a busy machine misses most of them.
  work(200);
  return { promise: profiler.stop(), stopped: profiler.stopped, events: () => events };
}

runTest(async () => {
  const outcomes = [];
  for (let i = 0; i < 10; i++) {
    const { promise, stopped, events } = fillAndStop();
    const trace = await promise;
    for (let i = 0; i < 5; i++) {
      await task();
    }
    outcomes.push({ trace, stopped, events: events() });
  }
  return outcomes;
});
