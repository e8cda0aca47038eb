/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

const end = performance.now() + 30;
const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 1000 });
while (performance.now() < end) {
  // Nothing else.
}

profiler.stop().then(
  trace => postMessage({ settled: "resolved", samples: trace.samples.length }),
  error => postMessage({ settled: error.name }));
close();
