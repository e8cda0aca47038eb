/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

function failing(worker) {
  worker.onerror = error => report({ error: error.message });
  return worker;
}

// The answer of a worker that is told to profile itself.
async function profileOf(kind) {
  if (kind === "dedicated" || kind === "nested") {
    const worker = failing(new Worker(`workers-inside.js?${kind}`));
    worker.postMessage("profile");
    const { data } = await event(worker, "message");
    worker.terminate();
    return data;
  }
  if (kind === "shared") {
    const { port } = failing(new SharedWorker("workers-inside.js?shared"));
    port.start();
    port.postMessage("profile");
    const { data } = await event(port, "message");
    port.postMessage("close");
    return data;
  }
  const { port1, port2 } = new MessageChannel();
  const registration = await navigator.serviceWorker.register("workers-inside.js?service");
  const worker = registration.installing ?? registration.waiting ?? registration.active;
  port1.start();
  worker.postMessage("profile", [port2]);
  const { data } = await event(port1, "message");
  return data;
}

function pageWork() {
  work(20);
}

runTest(async () => {
  const kind = new URLSearchParams(location.search).get("kind");
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  let answer;
  const answered = profileOf(kind).then(data => { answer = data; });
  // The page works at the same time.
  while (!answer) {
    pageWork();
    await task();
  }
  await answered;
  return { worker: answer, page: await profiler.stop() };
});
