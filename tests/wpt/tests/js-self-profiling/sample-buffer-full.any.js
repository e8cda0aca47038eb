// META: timeout=long
/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// https://wicg.github.io/js-self-profiling/#dfn-take-a-sample

const options = { sampleInterval: 1, maxBufferSize: 2 };

const full = profiler => new Promise(resolve => profiler.addEventListener("samplebufferfull", resolve, { once: true }));
const soon = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));

function busy(milliseconds) {
  let last = performance.now();
  for (let worked = 0; worked < milliseconds;) {
    const now = performance.now();
    // A thread that waits for a processor meanwhile is not sampled.
    worked += Math.min(now - last, 1);
    last = now;
  }
}

const starters = {
  "new Profiler()": async () => new Profiler(options),
  "performance.profile()": () => performance.profile(options),
};

for (const [name, start] of Object.entries(starters)) {
  promise_test(async () => {
    const profiler = await start();
    const seen = [];
    profiler.addEventListener("samplebufferfull", () => seen.push(profiler.stopped));
    profiler.addEventListener("samplebufferfull", () => seen.push(profiler.stopped));
    await full(profiler);
    await soon(0);
    seen.push(profiler.stopped);
    assert_array_equals(seen, [false, false, true]);
  }, `${name}: the event is fired first, and then the profiler is stopped`);

  promise_test(async () => {
    const profiler = await start();
    // As in the example of the specification.
    const trace = await new Promise(resolve => {
      profiler.addEventListener("samplebufferfull", () => {
        if (profiler.stopped) {
          return;
        }
        resolve(profiler.stop());
        assert_true(profiler.stopped);
      });
    });
    assert_equals(trace.samples.length, 2);
  }, `${name}: a handler that returns if the profiler is stopped gets the trace`);

  promise_test(async t => {
    const profiler = await start();
    profiler.onsamplebufferfull = t.unreached_func("fired after stop()");
    // The buffer is full, and the event is queued.
    busy(50);
    const trace = await profiler.stop();
    assert_equals(trace.samples.length, 2);
    await soon(100);
    const entry = performance.getEntriesByType("profile").find(entry => entry.trace === trace);
    assert_equals(entry?.bufferFull, false, "it was not fired");
  }, `${name}: no event after stop(), though the buffer was full before`);

  promise_test(async () => {
    const profiler = await start();
    await full(profiler);
    const trace = await profiler.stop();
    assert_equals(trace.samples.length, 2);
    const entry = performance.getEntriesByType("profile").find(entry => entry.trace === trace);
    assert_equals(entry?.bufferFull, true);
  }, `${name}: the first stop() after the buffer was full resolves`);
}

promise_test(async t => {
  const profiler = new Profiler(options);
  const first = profiler.stop();
  const second = profiler.stop();
  assert_not_equals(first, second);
  await promise_rejects_dom(t, "InvalidStateError", second);
  await first;
  await promise_rejects_dom(t, "InvalidStateError", profiler.stop());
}, "new Profiler(): a second stop() rejects, and the first one resolves");

promise_test(async t => {
  const profiler = new Profiler(options);
  await full(profiler);
  await profiler.stop();
  await promise_rejects_dom(t, "InvalidStateError", profiler.stop());
}, "new Profiler(): a second stop() after the buffer was full rejects");

promise_test(async () => {
  const profiler = await performance.profile(options);
  const first = profiler.stop();
  assert_equals(profiler.stop(), first);
  await first;
  assert_equals(profiler.stop(), first);
}, "performance.profile(): every stop() has the same promise");

promise_test(async () => {
  // One profiler after the other, until there are enough traces.
  const traces = [];
  let started = 0;
  await new Promise(resolve => {
    function rotate() {
      const profiler = new Profiler(options);
      started++;
      profiler.addEventListener("samplebufferfull", () => {
        profiler.stop().then(trace => {
          traces.push(trace);
          if (traces.length === 5) {
            resolve();
          }
        });
        if (started < 5) {
          rotate();
        }
      });
    }
    rotate();
  });
  await soon(50);
  assert_equals(started, 5);
  assert_equals(traces.length, 5);
}, "profilers that a handler starts one after the other");
