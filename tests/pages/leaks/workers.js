/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Workers: scripts of other origins in them, and what other documents see of them.

const SPIN = "/leaks/hidden-spin.js";
const OWN_SPIN = new URL(SPIN, location).href;
const WORKER = new URL("worker.js", location).href;

async function workerText() {
  return (await fetch(WORKER)).text();
}

// The worker's own trace.
function inWorker(order, scripts = [HIDDEN_SCRIPT], make = () => new Worker(WORKER)) {
  return async () => {
    const worker = await make();
    worker.onerror = error => report({ error: error.message });
    worker.postMessage({ scripts, order });
    const { data } = await event(worker, "message");
    worker.terminate();
    return data;
  };
}

// The page's trace, while a worker works.
function beside(make) {
  return async () => {
    const worker = await make();
    return traced(async () => {
      worker.postMessage({ scripts: [HIDDEN_SCRIPT], order: ["hiddenSpin"], only: "work" });
      const { data } = await event(worker, "message");
      noteFrom(data.timeOrigin, data.windows);
      worker.terminate();
    });
  };
}

const CASES = {
  "importScripts": inWorker(["hiddenSpin"]),
  "importScripts, redirected": inWorker(["hiddenSpin"], [asked(OWN_SPIN, { Location: other + SPIN })]),
  "importScripts, redirected to the worker's origin":
    inWorker(["hiddenSpin"], [asked(other + SPIN, { Location: OWN_SPIN })]),
  "importScripts with a CORS header":
    inWorker(["hiddenSpin"], [asked(other + SPIN, { "Access-Control-Allow-Origin": "*" })]),
  "importScripts with a source URL": inWorker(["hiddenSpin"], [`${other}/leaks/hidden-source-url.js`]),
  "importScripts, built-ins": inWorker(["hiddenBuiltIn", "'sort'"]),
  "importScripts, eval": inWorker(["hiddenEval"]),
  "importScripts, new Function": inWorker(["hiddenMade"]),
  "importScripts, callback": inWorker(["hiddenCall", "visibleCallback"]),
  "importScripts, timer": inWorker(["hiddenLater", "hiddenQueues.timer"]),
  "blob: worker": inWorker(["hiddenSpin"], [HIDDEN_SCRIPT],
    async () => new Worker(URL.createObjectURL(new Blob([await workerText()], { type: "text/javascript" })))),
  "data: worker": inWorker(["hiddenSpin"], [HIDDEN_SCRIPT],
    async () => new Worker(`data:text/javascript,${encodeURIComponent(await workerText())}`)),
  "data: worker and a script of its creator's": inWorker(["hiddenSpin"], [OWN_SPIN],
    async () => new Worker(`data:text/javascript,${encodeURIComponent(await workerText())}`)),
  "nested worker": inWorker(["hiddenSpin"], [HIDDEN_SCRIPT], () => new Worker(WORKER, { name: "outer" })),
  async "shared worker"() {
    const { port } = new SharedWorker(WORKER);
    port.start();
    port.postMessage({ scripts: [HIDDEN_SCRIPT], order: ["hiddenSpin"] });
    const { data } = await event(port, "message");
    port.postMessage("close");
    return data;
  },
  async "service worker"() {
    const registration = await navigator.serviceWorker.register("worker.js");
    const worker = registration.installing ?? registration.waiting ?? registration.active;
    const { port1, port2 } = new MessageChannel();
    port1.start();
    worker.postMessage({ scripts: [HIDDEN_SCRIPT], order: ["hiddenSpin"] }, [port2]);
    const { data } = await event(port1, "message");
    return data;
  },
  "worker beside the page": beside(() => new Worker(WORKER)),
  "nested worker beside the page": beside(() => new Worker(WORKER, { name: "outer" })),
};

runCases(CASES);
