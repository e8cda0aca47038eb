/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A page that runs programs that allocate, and then has a worker run them. Both profile themselves. If somebody else records
// the page (`?recorded`), it only runs them and logs what they have taken.

const MILLISECONDS = 1000;

async function inPage() {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 1_000_000 });
  const times = measured();
  return { times, trace: await profiler.stop() };
}

function inWorker() {
  const worker = new Worker("allocating-worker.js");
  return new Promise((resolve, reject) => {
    worker.onmessage = event => resolve(event.data);
    worker.onerror = event => reject(new Error(event.message));
    worker.postMessage(MILLISECONDS);
  });
}

function measured() {
  return runAll(MILLISECONDS);
}

// They are compiled.
runAll(100);
if (location.search === "?recorded") {
  console.log(`times ${JSON.stringify(measured())}`);
  window.finished = true;
} else {
  runTest(async () => ({ page: await inPage(), worker: await inWorker() }));
}
