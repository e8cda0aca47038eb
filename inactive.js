/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

function workBefore() {
  return work(50);
}

function workAfter() {
  return work(50);
}

runTest(async () => {
  // The first one is that of the load. Once it is over, a navigation adds to the history.
  await event(window, "pageshow");
  await task();
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  workBefore();
  location.href = "inactive-second.html";
  await event(window, "pagehide");
  const hidden = performance.now();
  await event(window, "pageshow");
  const shown = performance.now();
  workAfter();
  return { hidden, shown, trace: await profiler.stop() };
});
