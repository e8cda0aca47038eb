/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

importScripts("busy.js", "kept-busy.js");

addEventListener("message", async ({ data: { name, values } }) => {
  postMessage(await self[name](...values));
});

// Stops a profiler and ends the worker, which waits for the trace.
function stopAndClose(number) {
  const stopped = stop(number);
  close();
  return stopped;
}
