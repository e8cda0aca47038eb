/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Records a page in Chromium, or a worker in workerd, by the DevTools protocol:
// `node devtools-protocol.mjs WAY ADDRESS OUT URL [DONE]`. WAY is `page`, `trace` or `workerd`, and ADDRESS that of the inspector.
// DONE is an expression of a promise of the end of the page's work. It needs Node.js 22 or newer, which has a client for WebSockets.

import { writeFileSync } from "node:fs";

/** In microseconds. */
const INTERVAL = Number(process.env.INTERVAL);

const [way, address, out, url, expression] = process.argv.slice(2);
const connection = await connect(address);
if (way === "workerd") {
  await connection.call("Profiler.enable");
  await connection.call("Profiler.setSamplingInterval", { interval: INTERVAL });
  await connection.call("Profiler.start");
  const response = await fetch(url);
  if (!response.ok) {
    throw new Error(`the worker answered ${response.status}: ${await response.text()}`);
  }
  const { profile } = await connection.call("Profiler.stop");
  writeFileSync(out, JSON.stringify(profile));
} else {
  const { targetId } = await connection.call("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await connection.call("Target.attachToTarget", { targetId, flatten: true });
  const ofPage = (method, params) => connection.call(method, params, sessionId);
  await ofPage("Page.enable");
  const visit = async () => {
    const loaded = connection.event("Page.loadEventFired");
    await ofPage("Page.navigate", { url });
    await loaded;
    await ofPage("Runtime.evaluate", { expression, awaitPromise: true });
  };
  if (way === "page") {
    await ofPage("Profiler.enable");
    await ofPage("Profiler.setSamplingInterval", { interval: INTERVAL });
    await ofPage("Profiler.start");
    await visit();
    const { profile } = await ofPage("Profiler.stop");
    writeFileSync(out, JSON.stringify(profile));
  } else {
    const includedCategories = ["disabled-by-default-v8.cpu_profiler"];
    await connection.call("Tracing.start", { traceConfig: { includedCategories, excludedCategories: ["*"] } });
    const events = [];
    connection.on("Tracing.dataCollected", ({ value }) => events.push(...value));
    await visit();
    const complete = connection.event("Tracing.tracingComplete");
    await connection.call("Tracing.end");
    await complete;
    writeFileSync(out, JSON.stringify({ traceEvents: events }));
  }
}
connection.close();

/** A connection whose calls return promises of what the browser answers. */
async function connect(address) {
  const socket = new WebSocket(address);
  const answers = new Map();
  const listeners = new Map();
  let last = 0;
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error(`no connection to ${address}`));
  });
  socket.onmessage = ({ data }) => {
    const { id, result, error, method, params } = JSON.parse(data);
    if (id === undefined) {
      listeners.get(method)?.forEach((listener) => listener(params));
      return;
    }
    const { resolve, reject } = answers.get(id);
    answers.delete(id);
    if (error) {
      reject(new Error(error.message));
    } else {
      resolve(result);
    }
  };
  socket.onclose = () => {
    answers.forEach(({ reject }) => reject(new Error("the connection was closed")));
  };
  const on = (method, listener) => listeners.set(method, [...(listeners.get(method) ?? []), listener]);
  return {
    call(method, params = {}, sessionId = undefined) {
      last += 1;
      const answer = new Promise((resolve, reject) => answers.set(last, { resolve, reject }));
      socket.send(JSON.stringify({ id: last, method, params, sessionId }));
      return answer;
    },
    event: (method) => new Promise((resolve) => on(method, resolve)),
    on,
    close: () => socket.close(),
  };
}
