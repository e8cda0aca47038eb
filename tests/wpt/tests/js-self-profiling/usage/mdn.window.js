// META: timeout=long
// META: script=resources/usage.js
/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// After mdn/content, files/en-us/web/api/js_self-profiling_api/profile_content_and_format/index.md:
// a button's handler profiles what another module does.
async function handleClick(genPrimes) {
  const profiler = new Profiler({ sampleInterval: 10, maxBufferSize: 10000 });
  genPrimes(300);
  return profiler.stop();
}

promise_test(async () => {
  const { genPrimes } = await import("./resources/generate.js");
  const button = document.createElement("button");
  const profiled = new Promise(resolve => {
    button.addEventListener("click", function clicked() { resolve(handleClick(genPrimes)); });
  });
  button.click();
  const trace = await profiled;
  const { resources } = trace;
  const stacks = trace.samples.map(sample => framesOf(trace, sample));
  const prime = stacks.find(frames => frames.some(({ name }) => name === "isPrime"));
  assert_not_equals(prime, undefined, "a sample of isPrime");
  const [isPrime, genPrimesFrame, handler] = ["isPrime", "genPrimes", "handleClick"].map(wanted =>
    prime.find(({ name }) => name === wanted));
  assert_true(resources[isPrime.resourceId].endsWith("/generate.js"));
  assert_true(resources[handler.resourceId].endsWith("/mdn.window.js"));
  assert_equals(isPrime.resourceId, genPrimesFrame.resourceId);
  const lines = (await (await fetch(resources[isPrime.resourceId])).text()).split("\n");
  for (const frame of [isPrime, genPrimesFrame]) {
    const definition = lines[frame.line - 1];
    assert_true(definition.includes(`function ${frame.name}(`), `line ${frame.line} defines ${frame.name}`);
    assert_equals(frame.column, definition.indexOf("(") + 1, "the column of its parameters");
  }
}, "mdn/content: a click handler's profile names functions, modules and places");

// The same page: "the first item in frames represents a sample taken in the Profiler() constructor".
promise_test(async () => {
  for (let i = 0; i < 20; i++) {
    const before = performance.now();
    const trace = await (function startAndStop() {
      return new Profiler({ sampleInterval: 10, maxBufferSize: 100 }).stop();
    })();
    assert_greater_than(trace.samples.length, 0, "there is a sample");
    const [first] = trace.samples;
    assert_greater_than_equal(first.timestamp, before - 1);
    assert_true(framesOf(trace, first).some(({ name }) => name === "startAndStop"));
  }
}, "mdn/content: the first sample is taken in the constructor, with its caller on the stack");

// After mdn/content, files/en-us/web/api/profiler/samplebufferfull_event/index.md.
promise_test(async () => {
  const profiler = new Profiler({ sampleInterval: 10, maxBufferSize: 5 });
  const logged = [];
  const told = new Promise((resolve, reject) => {
    profiler.addEventListener("samplebufferfull", async event => {
      logged.push(event);
      profiler.stop().then(trace => resolve(JSON.stringify(trace)), reject);
    });
  });
  await fillBuffer(profiler);
  assert_equals(JSON.parse(await told).samples.length, 5, "as many samples as were asked for");
  busy(50);
  await laterTask();
  assert_equals(logged.length, 1);
  assert_false(logged[0].bubbles);
  assert_false(logged[0].cancelable);
}, "mdn/content: the handler of samplebufferfull gets the trace from stop()");

// After mdn/content, files/en-us/web/api/profiler/profiler/index.md.
promise_test(async () => {
  assert_throws_js(RangeError, () => new Profiler({ sampleInterval: -1, maxBufferSize: 1000 }));
  const profiler = new Profiler({ sampleInterval: 10, maxBufferSize: 1000 });
  assert_false(profiler.stopped);
  assert_equals(profiler.sampleInterval, 10);
  await profiler.stop();
  assert_true(profiler.stopped);
}, "mdn/content: the constructor starts a profiler, and refuses a negative interval");

// After the advice of mdn/content, files/en-us/web/api/js_self-profiling_api/index.md, to process a
// profile outside the main thread.
promise_test(async t => {
  const worker = new Worker("resources/counting-worker.js");
  t.add_cleanup(() => worker.terminate());
  const profiler = new Profiler(options);
  busy(150);
  const trace = await profiler.stop();
  const answered = nextEvent(worker, "message");
  worker.postMessage(trace);
  const { data } = await answered;
  assert_equals(Object.values(data).reduce((a, b) => a + b), trace.samples.length);
}, "mdn/content: a trace is passed to a worker, which counts its samples");
