/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

function workAfter() {
  return work(300);
}

runTest(() => new Promise((resolve, reject) => {
  const full = new Profiler({ sampleInterval: 1, maxBufferSize: 3 });
  full.onsamplebufferfull = async () => {
    try {
      full.onsamplebufferfull = null;
      const next = new Profiler({ sampleInterval: 1, maxBufferSize: 1000 });
      const fullTrace = await full.stop();
      workAfter();
      const nextTrace = await next.stop();
      resolve({ handler: full.onsamplebufferfull, fullTrace, nextTrace });
    } catch (error) {
      reject(error);
    }
  };
}));
