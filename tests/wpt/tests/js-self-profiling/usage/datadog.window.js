// META: timeout=long
// META: script=resources/usage.js
/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// After DataDog/browser-sdk, packages/browser-rum/src/domain/profiling/datadogProfiler.ts: one
// profiler follows the other, on a timer, when the buffer is full and before the page is unloaded. It
// pauses while the page is hidden.
function rum({ collectInterval, maxBufferSize }, send) {
  let instance = { state: "stopped" };
  const counts = { started: 0, filled: 0 };

  function collect({ profiler, timer, startTime }) {
    clearTimeout(timer);
    profiler.removeEventListener("samplebufferfull", onFull);
    profiler.stop().then(
      trace => send(Object.assign({}, trace, { startTime, endTime: performance.now() })),
      error => send(error));
  }

  function next() {
    if (instance.state === "running") {
      collect(instance);
    }
    const profiler = new Profiler({ sampleInterval: 10, maxBufferSize });
    counts.started++;
    instance = {
      state: "running",
      profiler,
      startTime: performance.now(),
      timer: setTimeout(next, collectInterval),
    };
    profiler.addEventListener("samplebufferfull", onFull);
  }

  function onFull() {
    counts.filled++;
    next();
  }

  function end(state) {
    if (instance.state === "running") {
      const running = instance;
      instance = { state };
      collect(running);
    }
  }

  return {
    start: next,
    stop: () => end("stopped"),
    changeVisibility(visibility) {
      if (visibility === "hidden") {
        end("paused");
      } else if (instance.state === "paused") {
        next();
      }
    },
    beforeUnload: next,
    counts,
  };
}

// Works in tasks of 20 ms until a condition is true.
async function workUntil(holds) {
  while (!holds()) {
    busy(20);
    await laterTask();
  }
}

promise_test(async () => {
  const traces = [];
  const session = rum({ collectInterval: 60_000, maxBufferSize: 5 }, trace => traces.push(trace));
  session.start();
  await workUntil(() => traces.length >= 4);
  session.stop();
  const { started } = session.counts;
  await workUntil(() => traces.length >= started);
  busy(200);
  await laterTask();
  assert_equals(session.counts.started, started, "no profiler is started after the end");
  assert_equals(session.counts.filled, started - 1);
  assert_equals(traces.length, started, "each gave one trace");
  for (const trace of traces.slice(0, -1)) {
    assert_equals(trace.samples.length, 5, "a full buffer's trace");
  }
  for (let i = 1; i < traces.length - 1; i++) {
    assert_greater_than(traces[i].samples[0].timestamp, traces[i - 1].samples.at(-1).timestamp);
  }
}, "DataDog/browser-sdk: a full buffer's handler stops the profiler and starts the next");

promise_test(async () => {
  const traces = [];
  const session = rum({ collectInterval: 100, maxBufferSize: 15 }, trace => traces.push(trace));
  session.start();
  await workUntil(() => traces.length >= 3);
  session.stop();
  await workUntil(() => traces.length === session.counts.started);
  for (const { samples, startTime, endTime } of traces.slice(0, -1)) {
    assert_greater_than(samples.length, 0);
    for (const { timestamp } of samples) {
      assert_greater_than_equal(timestamp, startTime - 1000);
      assert_less_than_equal(timestamp, endTime);
    }
  }
}, "DataDog/browser-sdk: a timer makes one profiler follow the other");

promise_test(async () => {
  const traces = [];
  const session = rum({ collectInterval: 60_000, maxBufferSize: 3 }, trace => traces.push(trace));
  session.start();
  // The buffer fills in the task in which the session ends.
  busy(150);
  session.stop();
  await workUntil(() => traces.length > 0);
  busy(100);
  await laterTask();
  await laterTask();
  assert_equals(session.counts.started, 1);
  assert_equals(session.counts.filled, 0);
  assert_equals(traces.length, 1);
  assert_equals(traces[0].samples.length, 3);
}, "DataDog/browser-sdk: a session that ends with a full buffer starts no profiler");

promise_test(async () => {
  const traces = [];
  const session = rum({ collectInterval: 60_000, maxBufferSize: 1000 }, trace => traces.push(trace));
  session.start();
  (function first() { busy(60); })();
  session.changeVisibility("hidden");
  (function hidden() { busy(60); })();
  session.changeVisibility("visible");
  (function second() { busy(60); })();
  session.beforeUnload();
  (function third() { busy(60); })();
  session.stop();
  await workUntil(() => traces.length === 3);
  assert_equals(session.counts.started, 3);
  const parts = ["first", "hidden", "second", "third"];
  const found = traces.map(sampledNames).map(names => parts.filter(part => names.has(part)));
  assert_array_equals(found.map(String), ["first", "second", "third"]);
}, "DataDog/browser-sdk: a session pauses while hidden, and is flushed by beforeunload");

// transport/formDataEmitter.ts: the trace is sent as a file in a form.
promise_test(async () => {
  const profiler = new Profiler(options);
  busy(100);
  const trace = await profiler.stop();
  const form = new FormData();
  form.append("wall-time.json", new Blob([JSON.stringify(trace)], { type: "application/json" }), "wall-time.json");
  form.append("event", new Blob([JSON.stringify({ attachments: ["wall-time.json"] })]), "event.json");
  assert_true(sampledNames(trace).has("busy"));
  const received = JSON.parse(await form.get("wall-time.json").text());
  assert_object_equals(received, trace);
}, "DataDog/browser-sdk: a trace goes through a form's file unchanged");
