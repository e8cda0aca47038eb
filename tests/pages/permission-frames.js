/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

async function inFrame(attributes) {
  const frame = document.createElement("iframe");
  Object.assign(frame, attributes);
  document.documentElement.append(frame);
  const { data } = await event(window, "message");
  frame.remove();
  return data;
}

async function inWorker(url) {
  const worker = new Worker(url);
  worker.onerror = error => report({ error: error.message });
  const { data } = await event(worker, "message");
  worker.terminate();
  return data;
}

// The constructors of a frame, called from here: it is the frame that would be profiled.
async function throughFrame() {
  const frame = document.createElement("iframe");
  document.documentElement.append(frame);
  const options = { sampleInterval: 10, maxBufferSize: 10 };
  const { Profiler, performance } = frame.contentWindow;
  const outcome = { exposed: typeof Profiler };
  try {
    new Profiler(options);
    outcome.constructor = "allowed";
  } catch (error) {
    outcome.constructor = `${error.name}: ${error.message}`;
  }
  outcome.profile = await performance.profile(options).then(() => "allowed", error => error.name);
  return outcome;
}

runTest(async () => {
  const page = new Profiler({ sampleInterval: 10, maxBufferSize: 10 });
  const script = new URL("permission-inside.js", location.href);
  const outcomes = {
    frame: await inFrame({ src: "permission-inside.html" }),
    allowFrame: await inFrame({ src: "permission-inside.html", allow: "js-profiling" }),
    srcdoc: await inFrame({ srcdoc: `<script src="${script}"></script>` }),
    blob: await inFrame({
      src: URL.createObjectURL(new Blob([`<script src="${script}"></script>`], { type: "text/html" })),
    }),
    blank: await throughFrame(),
    worker: await inWorker("permission-inside.js"),
  };
  await page.stop();
  return outcomes;
});
