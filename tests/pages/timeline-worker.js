/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The code of the worker.
async function inWorker() {
  const observed = new Promise(resolve => {
    new PerformanceObserver(list => resolve(list.getEntries())).observe({ entryTypes: ["profile"] });
  });
  const profilers = [
    new Profiler({ sampleInterval: 1, maxBufferSize: 100, name: "in a worker" }),
    await performance.profile({ sampleInterval: 1, maxBufferSize: 100, format: "json-gzip" }),
  ];
  const end = performance.now() + 20;
  while (performance.now() < end) { /* Work. */ }
  const trace = await profilers[0].stop();
  const bytes = await profilers[1].stop();
  const [entry] = await observed;
  return {
    supported: PerformanceObserver.supportedEntryTypes,
    name: entry.name,
    isSame: entry.trace === trace,
    samples: [entry.sampleCount, trace.samples.length],
    bytes: [bytes instanceof ArrayBuffer, new Uint8Array(bytes)[0], new Uint8Array(bytes)[1]],
    inBuffer: performance.getEntriesByType("profile").map(({ name }) => name),
  };
}

runTest(async () => {
  const source = `${inWorker}\ninWorker().then(postMessage, error => postMessage(String(error)));`;
  const worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  const { data } = await event(worker, "message");
  worker.terminate();
  return { worker: data, page: performance.getEntriesByType("profile").length };
});
