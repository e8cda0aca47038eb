/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

function secondPageWork() {
  return work(100);
}

runTest(async () => {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 10_000 });
  secondPageWork();
  // Events of the first page would come during this time.
  for (let i = 0; i < 50; i++) {
    await task();
  }
  secondPageWork();
  return profiler.stop();
});
