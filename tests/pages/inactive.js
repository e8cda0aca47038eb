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
  // The first event is that of the load. After the load, a navigation adds to the history.
  await event(window, "pageshow");
  await task();
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  workBefore();
  // The listeners are added now, because `window` is that of the next page once this one is left.
  const hidden = event(window, "pagehide").then(() => performance.now());
  const shown = event(window, "pageshow").then(() => performance.now());
  location.href = "inactive-second.html";
  const times = { hidden: await hidden, shown: await shown };
  workAfter();
  return { ...times, trace: await profiler.stop() };
});
