/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A worker of any kind. When a message says so, it profiles itself and answers with the trace.

function spinInWorker(milliseconds) {
  const end = performance.now() + milliseconds;
  let x = 0;
  while (performance.now() < end) {
    for (let i = 0; i < 100; i++) {
      x = (Math.imul(x, 31) + i) | 0;
    }
  }
  return x;
}

function workerWork() {
  spinInWorker(100);
}

async function profile() {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  for (let i = 0; i < 5; i++) {
    await undefined;
    workerWork();
  }
  return profiler.stop();
}

function answerTo(target) {
  return async () => target.postMessage(await profile().catch(error => error.name));
}

const kind = location.search.slice(1);
if (kind === "nested") {
  const inner = new Worker("workers-inside.js?dedicated");
  onmessage = () => inner.postMessage("profile");
  inner.onmessage = ({ data }) => postMessage(data);
} else if (kind === "shared") {
  // At its end Servo waits for shared workers that have not closed themselves.
  onconnect = ({ ports: [port] }) => {
    port.onmessage = ({ data }) => data === "close" ? close() : answerTo(port)();
  };
} else if (kind === "service") {
  onmessage = ({ ports: [port] }) => answerTo(port)();
} else {
  onmessage = answerTo(self);
}
