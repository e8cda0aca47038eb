// META: timeout=long
// META: script=resources/usage.js
/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// After the example of WICG/js-self-profiling, README.md: the first of a full buffer and the load event
// sends the trace, and the second finds the profiler stopped.
function sendOnce(profiler, target, type) {
  const sent = [];
  const found = [];
  const collectAndSend = async ({ type }) => {
    found.push([type, profiler.stopped]);
    if (profiler.stopped) {
      return;
    }
    const trace = await profiler.stop();
    sent.push(JSON.stringify({ timing: performance.timing, trace }));
  };
  profiler.addEventListener("samplebufferfull", collectAndSend);
  target.addEventListener(type, collectAndSend);
  return { sent, found };
}

promise_test(async () => {
  const page = new EventTarget();
  const profiler = new Profiler({ sampleInterval: 10, maxBufferSize: 3 });
  const { sent, found } = sendOnce(profiler, page, "load");
  await fillBuffer(profiler);
  await laterTask();
  page.dispatchEvent(new Event("load"));
  await laterTask();
  assert_array_equals(found.map(String), ["samplebufferfull,false", "load,true"]);
  assert_equals(sent.length, 1, "sent once");
  assert_equals(JSON.parse(sent[0]).trace.samples.length, 3);
}, "WICG/js-self-profiling: a full buffer before the load event sends the trace");

promise_test(async () => {
  const page = new EventTarget();
  const profiler = new Profiler({ sampleInterval: 10, maxBufferSize: 3 });
  const { sent, found } = sendOnce(profiler, page, "load");
  // The buffer fills in the task that has the load event, so that its own event cannot come before.
  busy(150);
  page.dispatchEvent(new Event("load"));
  await laterTask();
  busy(50);
  await new Promise(resolve => step_timeout(resolve, 200));
  assert_array_equals(found.map(String), ["load,false"], "no event after stop()");
  assert_equals(sent.length, 1, "sent once");
  assert_equals(JSON.parse(sent[0]).trace.samples.length, 3);
}, "WICG/js-self-profiling: the load event before a full buffer sends the trace");

// After the first example of WICG/js-self-profiling, index.html.
promise_test(async () => {
  function expensive() {
    let sum = 0;
    for (let i = 0; i < 20_000; i++) {
      sum += Math.sqrt(i) % 7;
    }
    return sum;
  }
  const profiler = new Profiler({ sampleInterval: 10, maxBufferSize: 10_000 });
  const start = performance.now();
  let duration = 0;
  while (duration < 300) {
    expensive();
    duration = performance.now() - start;
  }
  const trace = await profiler.stop();
  const text = JSON.stringify({ duration, trace });
  const received = JSON.parse(text);
  assert_true(sampledNames(received.trace).has("expensive"));
  assert_greater_than_equal(received.trace.samples.length, 2);
  const [first, last] = [received.trace.samples.at(0), received.trace.samples.at(-1)];
  assert_less_than_equal(last.timestamp - first.timestamp, received.duration + 1000);
}, "WICG/js-self-profiling: an expensive operation is profiled and sent with its duration");

// After the second example there: from the first script of a page to its load event.
promise_test(async t => {
  const { data } = await messageOfFrame(t, "resources/page-load.html");
  const { trace, loadEventStart } = JSON.parse(data);
  assert_true(sampledNames(trace).has("initialise"), "the page's own work is in the trace");
  for (const { timestamp } of trace.samples) {
    assert_greater_than(timestamp, 0);
    assert_less_than_equal(timestamp, loadEventStart + 1000, "on the clock of the page's own timing");
  }
}, "WICG/js-self-profiling: a page load is profiled until the load event");

// After the appendix of README.md on the format.
promise_test(async () => {
  const profiler = new Profiler(options);
  (function outer() {
    (function inner() { busy(150); })();
    busy(50);
  })();
  const trace = await profiler.stop();
  const { resources, frames, stacks, samples } = trace;
  assert_true(sampledNames(trace).has("inner"));
  assert_equals(new Set(resources).size, resources.length, "a resource occurs once");
  assert_equals(new Set(frames.map(frame => JSON.stringify(frame))).size, frames.length, "a frame occurs once");
  assert_equals(new Set(stacks.map(stack => JSON.stringify(stack))).size, stacks.length, "a stack occurs once");
  for (const { resourceId } of frames) {
    assert_true(resourceId === undefined || resourceId in resources);
  }
  for (const { frameId, parentId } of stacks) {
    assert_true(frameId in frames);
    assert_true(parentId === undefined || parentId in stacks);
  }
  for (const { stackId, timestamp } of samples) {
    assert_true(stackId === undefined || stackId in stacks);
    assert_equals(typeof timestamp, "number");
  }
}, "WICG/js-self-profiling: a trace is a trie without duplicates");
