/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

runTest(async () => {
  const options = { sampleInterval: 1, maxBufferSize: 100_000 };
  new Profiler(options);
  const profiler = await performance.profile(options);
  work(50);
  // The trace of this one is still to come.
  new Profiler(options).stop();
  return profiler.stopped;
});
