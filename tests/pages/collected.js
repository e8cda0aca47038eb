/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Makes a function, calls it, and forgets it.
function makeAndCall() {
  const made = {
    collectedFunction() { work(300); },
  };
  made.collectedFunction();
}

runTest(async () => {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  makeAndCall();
  for (let collections = 0; collections < 5; collections++) {
    await task();
    navigator.servo.garbageCollectAllContexts();
  }
  await task();
  return profiler.stop();
});
