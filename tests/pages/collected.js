/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Makes a function, calls it, and holds on to it by a WeakRef alone.
function makeAndCall() {
  const made = {
    collectedFunction() { work(300); },
  };
  made.collectedFunction();
  return new WeakRef(made.collectedFunction);
}

runTest(async () => {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  const weak = makeAndCall();
  let collections = 0;
  while (weak.deref() && collections < 100) {
    // A WeakRef holds on until the end of the task.
    await task();
    navigator.servo.garbageCollectAllContexts();
    collections++;
  }
  return { isCollected: !weak.deref(), trace: await profiler.stop() };
});
