// META: timeout=long
// META: script=resources/usage.js
/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

function agent(t, url) {
  const worker = new Worker(url);
  t.add_cleanup(() => worker.terminate());
  const said = [];
  const waiting = [];
  worker.onmessage = ({ data }) => {
    said.push(data);
    waiting.splice(0).forEach(look => look());
  };
  const configuration = { sampleInterval: 10, maxBufferSize: 1000, collectInterval: 60_000, id: "a" };
  return {
    said,
    send: message => worker.postMessage(message),
    configure: (changes = {}) => worker.postMessage({ type: "configuration", ...configuration, ...changes }),
    async until(holds) {
      while (!holds(said)) {
        await new Promise(resolve => waiting.push(resolve));
      }
    },
  };
}

async function startedAgent(t, configuration) {
  const { said, until, configure, ...rest } = agent(t, "resources/worker-agent.js");
  configure(configuration);
  await until(() => said.length > 0);
  // Today the specification has the interface only in windows.
  assert_implements_optional(said[0].error !== "not-supported-by-browser", "Profiler in workers");
  assert_equals(said[0].type, "started");
  return { said, until, ...rest };
}

const traces = said => said.filter(({ type }) => type === "trace");

promise_test(async t => {
  const worker = agent(t, "resources/worker-agent.js");
  worker.configure();
  await worker.until(said => said.length > 0);
  assert_true(worker.said[0].type === "started" || worker.said[0].error === "not-supported-by-browser");
}, "DataDog/browser-sdk, worker: the page learns whether the worker can profile itself");

promise_test(async t => {
  const { said, until, send } = await startedAgent(t);
  send({ type: "work", milliseconds: 200 });
  send({ type: "detach" });
  await until(() => traces(said).length > 0);
  const [{ id, trace }] = traces(said);
  assert_equals(id, "a");
  assert_true(sampledNames(trace).has("workInWorker"));
}, "DataDog/browser-sdk, worker: the trace is flushed before the worker closes itself");

promise_test(async t => {
  const { said, until, send } = await startedAgent(t, { maxBufferSize: 4 });
  while (traces(said).length < 3) {
    const worked = said.filter(({ type }) => type === "worked").length;
    send({ type: "work", milliseconds: 60 });
    await until(() => said.filter(({ type }) => type === "worked").length > worked);
  }
  for (const { trace } of traces(said).slice(0, 3)) {
    assert_equals(trace.samples.length, 4);
  }
}, "DataDog/browser-sdk, worker: a full buffer makes one profiler follow the other");
