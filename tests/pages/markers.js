/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

async function frameAt(url) {
  const frame = document.createElement("iframe");
  frame.src = url;
  document.body.append(frame);
  await event(frame, "load");
  return frame;
}

function answerOf(frame) {
  const { port1, port2 } = new MessageChannel();
  const answer = new Promise(resolve => { port1.onmessage = resolve; });
  frame.contentWindow.postMessage("work", "*", [port2]);
  return answer;
}

// The kinds of work. Each gives a trace.
const KINDS = {
  style: () => profile(() => repeat(() => forceStyle(document))),
  layout: () => profile(() => repeat(() => forceLayout(document))),
  // Each frame is rendered for a few milliseconds.
  rendering: () => profile(() => render(document, 8)),
  script: () => profile(() => repeat(spin)),
  garbage: () => profile(() => repeat(makeGarbage)),
  idle: () => profile(() => new Promise(resolve => { setTimeout(resolve, TIME); })),

  // Reading a message creates objects without running script. There are enough messages that garbage is
  // collected for some time meanwhile, even on a slow machine.
  messages: () => profile(async () => {
    const { port1, port2 } = new MessageChannel();
    for (let i = 0; i < 60; i++) {
      const read = new Promise(resolve => { port1.onmessage = resolve; });
      port2.postMessage(makeGarbage());
      await read;
    }
  }),

  // Work for a document that this page may access.
  async frame() {
    const { contentDocument } = await frameAt("markers-frame.html");
    return profile(async () => {
      repeat(() => forceStyle(contentDocument));
      repeat(() => forceLayout(contentDocument));
      await render(contentDocument);
    });
  },

  // Work of a document of another origin, on the same event loop.
  async other() {
    const url = new URLSearchParams(location.search).get("other");
    const frame = await frameAt(url);
    return profile(() => answerOf(frame));
  },

  async worker() {
    const worker = new Worker("markers-worker.js");
    worker.onerror = error => report({ error: error.message });
    const answer = event(worker, "message");
    worker.postMessage("profile");
    const { data } = await answer;
    worker.terminate();
    return data;
  },
};

runTest(async () => {
  await event(window, "load");
  fill(document);
  // Waits until the first rendering is over.
  await render(document);
  const traces = {};
  for (const kind of new URLSearchParams(location.search).get("kinds").split(",")) {
    traces[kind] = await KINDS[kind]();
  }
  return traces;
});
