/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A worker of any kind that loads scripts of other origins and profiles itself.

const TIME = 50;
const windows = [];

function visible(call) {
  return call();
}

function visibleCallback() {
  const start = performance.now();
  const end = start + TIME;
  let now;
  let x = 1;
  do {
    // So that nearly all samples are in this function itself.
    for (let i = 0; i < 2000; i++) {
      x = (x * 31 + i) | 0;
    }
    now = performance.now();
  } while (now < end);
  windows.push([start, now]);
  return x;
}

// Loads the scripts and returns a call of the given function, with the values of expressions. The text of a data:
// worker is in its trace, so this file must not contain names that may not be there.
function ordered({ scripts, order: [name, ...values] }) {
  importScripts(...scripts);
  const called = (0, eval)(name);
  const given = values.map(value => (0, eval)(value));
  return () => called(...given);
}

async function answer(data) {
  try {
    const call = ordered(data);
    const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
    await visible(call);
    return { trace: await profiler.stop(), windows };
  } catch (error) {
    return { error: `${error}\n${error.stack}` };
  }
}

// Works without a profiler.
async function work(data) {
  await ordered(data)();
  return { windows, timeOrigin: performance.timeOrigin };
}

function answerTo(target) {
  return async ({ data }) => target.postMessage(await (data.only ? work : answer)(data));
}

if (typeof SharedWorkerGlobalScope === "function" && self instanceof SharedWorkerGlobalScope) {
  onconnect = ({ ports: [port] }) => {
    port.onmessage = ({ data }) => data === "close" ? close() : answerTo(port)({ data });
  };
} else if (typeof ServiceWorkerGlobalScope === "function" && self instanceof ServiceWorkerGlobalScope) {
  onmessage = ({ data, ports: [port] }) => answerTo(port)({ data });
} else if (name === "outer") {
  const inner = new Worker("worker.js");
  onmessage = ({ data }) => { inner.postMessage(data); };
  inner.onmessage = ({ data }) => { postMessage(data); };
} else {
  onmessage = answerTo(self);
}
