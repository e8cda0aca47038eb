/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The entry of a session that nobody stopped, so its trace is not an object yet.
async function entryOf(format) {
  const full = new Profiler({ sampleInterval: 1, maxBufferSize: 3, format, name: format });
  await event(full, "samplebufferfull");
  while (performance.getEntriesByName(format).length === 0) {
    await task();
  }
  return performance.getEntriesByName(format)[0];
}

runTest(async () => {
  const frame = document.createElement("iframe");
  document.body.append(frame);
  const other = frame.contentWindow.PerformanceProfileEntry.prototype;
  const { get } = Object.getOwnPropertyDescriptor(other, "trace");
  const entry = await entryOf("default");
  const trace = get.call(entry);
  return {
    isOurs: trace instanceof Object && trace.samples instanceof Array && trace.samples[0] instanceof Object,
    isSame: trace === entry.trace,
    isBufferOurs: get.call(await entryOf("json-gzip")) instanceof ArrayBuffer,
  };
});
