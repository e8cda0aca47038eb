// META: timeout=long
/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

const options = { sampleInterval: 1, maxBufferSize: 10_000 };

function busy(milliseconds) {
  let last = performance.now();
  for (let worked = 0; worked < milliseconds;) {
    const now = performance.now();
    // A thread that waits for a processor meanwhile is not sampled.
    worked += Math.min(now - last, 1);
    last = now;
  }
}

async function parsed(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

promise_test(async () => {
  const profilers = await Promise.all(
    ["json-gzip", "default"].map(format => performance.profile({ ...options, format })));
  busy(50);
  const [bytes, trace] = await Promise.all(profilers.map(profiler => profiler.stop()));
  assert_class_string(bytes, "ArrayBuffer");
  const text = await parsed(bytes);
  assert_array_equals(Object.keys(text), Object.keys(trace));
  assert_greater_than(text.samples.length, 0);
  // Both were sampled at the same times, once the second profiler had its second sample. Before that, the first
  // profiler may get a sample alone: if it was due just before the second one started, it is taken just after.
  const times = new Set(trace.samples.map(({ timestamp }) => timestamp));
  const common = text.samples.filter(({ timestamp }) => timestamp >= trace.samples[1].timestamp);
  assert_greater_than(common.length, 0);
  for (const { timestamp } of common) {
    assert_true(times.has(timestamp), `${timestamp} is in both`);
  }
  assert_equals(text.frames.find(({ name }) => name === "busy").line,
    trace.frames.find(({ name }) => name === "busy").line);
  assert_equals(await profilers[0].stop(), bytes);
  assert_true(performance.getEntriesByType("profile").some(entry => entry.trace === bytes));
}, "json-gzip is the JSON text of the trace, compressed");

for (const format of ["object", "gzip", "", "Default", null]) {
  promise_test(
    t => promise_rejects_js(t, TypeError, performance.profile({ ...options, format })),
    `the format ${format_value(format)} is a TypeError`);
}

promise_test(async () => {
  const trace = await (await performance.profile({ ...options, format: undefined })).stop();
  assert_true(Array.isArray(trace.samples));
}, "the format is \"default\" if none is given");
