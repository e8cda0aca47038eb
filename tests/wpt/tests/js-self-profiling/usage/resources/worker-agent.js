/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// After a branch of DataDog/browser-sdk, packages/browser-rum/src/domain/profiling/
// workerProfilingAgent.ts: the page tells the worker when to start and when to end, and gets the traces.
let session;

function start({ sampleInterval, maxBufferSize, collectInterval, id }) {
  if (!self.Profiler) {
    postMessage({ type: "error", error: "not-supported-by-browser" });
    return;
  }
  let profiler;
  try {
    profiler = new self.Profiler({ sampleInterval, maxBufferSize });
  } catch ({ name }) {
    postMessage({
      type: "error",
      error: name === "NotAllowedError" ? "missing-document-policy-header" : "unexpected-exception",
    });
    return;
  }
  const configuration = { sampleInterval, maxBufferSize, collectInterval, id };
  session = { profiler, configuration, timer: setTimeout(restart, collectInterval) };
  profiler.addEventListener("samplebufferfull", restart);
  postMessage({ type: "started" });
}

async function collect({ profiler, configuration: { id }, timer }) {
  clearTimeout(timer);
  profiler.removeEventListener("samplebufferfull", restart);
  postMessage({ type: "trace", id, trace: await profiler.stop() });
}

async function restart() {
  if (session) {
    const current = session;
    session = undefined;
    await collect(current);
    start(current.configuration);
  }
}

async function flush() {
  if (session) {
    const current = session;
    session = undefined;
    await collect(current);
  }
}

function workInWorker(milliseconds) {
  const end = performance.now() + milliseconds;
  while (performance.now() < end) {
    // Until then.
  }
}

addEventListener("message", async ({ data }) => {
  if (data.type === "configuration") {
    start(data);
  } else if (data.type === "work") {
    workInWorker(data.milliseconds);
    postMessage({ type: "worked" });
  } else if (data.type === "detach") {
    await flush();
    self.close();
  }
});
