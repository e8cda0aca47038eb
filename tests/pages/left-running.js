/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

function firstPageWork() {
  return work(50);
}

runTest(async () => {
  if (location.search === "?loaded") {
    // From now on a navigation adds to the history, and this page stays in it.
    await event(window, "pageshow");
    await task();
  }
  const options = { sampleInterval: 1, maxBufferSize: 100_000 };
  const left = new Profiler(options);
  await performance.profile(options);
  // The event of one profiler and the trace of another are still to come when the page is left.
  const full = new Profiler({ sampleInterval: 1, maxBufferSize: 3 });
  full.onsamplebufferfull = () => left.stop();
  new Profiler({ sampleInterval: 1, maxBufferSize: 3, format: "json-gzip" });
  const zipped = new Profiler({ ...options, format: "json-gzip" });
  firstPageWork();
  new Profiler(options).stop();
  zipped.stop();
  location.href = "left-running-second.html";
  firstPageWork();
  // The next page reports.
  await new Promise(() => {});
});
