/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

importScripts("allocating-programs.js");

onmessage = async ({ data: milliseconds }) => {
  runAll(100);
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 1_000_000 });
  const times = runAll(milliseconds);
  postMessage({ times, trace: await profiler.stop() });
};
