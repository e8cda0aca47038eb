/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The page's side of the browser tests: runs a page's test, posts the result, and closes the page.

// The server for the results. A page from elsewhere has it in its address.
const server =
  new URLSearchParams(location.search).get("server") ?? new URL(document.currentScript.src).origin;

let reported = false;

async function report(result) {
  // Only the first result counts.
  if (reported) {
    return;
  }
  reported = true;
  // Any origin may post in this mode, even that of a file.
  await fetch(`${server}/result`, { method: "POST", mode: "no-cors", body: JSON.stringify(result) });
  window.close();
}

// An error as text that is useful outside the page.
function description(error) {
  return error instanceof Error ? `${error}\n${error.stack}` : String(error);
}

// No function calls the test, so that no frame of this file is below the test's frames.
function runTest(test) {
  Promise.resolve().then(test).then(
    value => report({ value }),
    error => report({ error: description(error) }));
}

addEventListener("error", event => {
  const what = event.message ?? `${event.target.localName} ${event.target.src} did not load`;
  report({ error: `${what} (${event.filename}:${event.lineno}:${event.colno})` });
}, true);
addEventListener("unhandledrejection", event => {
  report({ error: `unhandled rejection: ${description(event.reason)}` });
});

// Waits until the test has examined the browser, and gives the test's answer.
async function checkpoint(name) {
  const response = await fetch(`${server}/checkpoint/${name}`);
  return response.json();
}

function event(target, type) {
  return new Promise(resolve => target.addEventListener(type, resolve, { once: true }));
}

// Adds a frame of the page's origin, and waits until it has loaded.
async function addFrame() {
  const frame = document.createElement("iframe");
  frame.src = "other-realm-frame.html";
  const loaded = event(frame, "load");
  document.body.append(frame);
  await loaded;
  return frame;
}

// The text of a trace in the format "json-gzip".
async function decompressed(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

// Waits for the next task.
function task() {
  const { port1, port2 } = new MessageChannel();
  const promise = new Promise(resolve => { port1.onmessage = resolve; });
  port2.postMessage(null);
  return promise;
}

// Works for some milliseconds.
function work(milliseconds) {
  let x = 0;
  let worked = 0;
  let last = performance.now();
  while (worked < milliseconds) {
    for (let i = 0; i < 1000; i++) {
      x = (Math.imul(x, 31) + i) | 0;
    }
    const now = performance.now();
    // At most the time that the loops take. For the rest, the thread did not run and could not be sampled.
    worked += Math.min(now - last, 1);
    last = now;
  }
  return x;
}
