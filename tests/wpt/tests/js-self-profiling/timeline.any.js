// META: timeout=long
/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

const options = { sampleInterval: 1, maxBufferSize: 10_000 };

function full(profiler) {
  return new Promise(resolve => profiler.addEventListener("samplebufferfull", resolve, { once: true }));
}

// Resolves with the entry of this name when an observer gets it.
function observed(name, init = { entryTypes: ["profile"] }) {
  return new Promise(resolve => {
    const observer = new PerformanceObserver((list, itself, callbackOptions) => {
      const [entry] = list.getEntriesByName(name, "profile");
      if (entry) {
        observer.disconnect();
        resolve({ entry, callbackOptions });
      }
    });
    observer.observe(init);
  });
}

test(() => {
  assert_in_array("profile", PerformanceObserver.supportedEntryTypes);
  assert_class_string(PerformanceProfileEntry.prototype, "PerformanceProfileEntry");
  assert_equals(Object.getPrototypeOf(PerformanceProfileEntry), PerformanceEntry);
  assert_throws_js(TypeError, () => new PerformanceProfileEntry());
}, "the entry type is supported");

promise_test(async () => {
  const told = observed("stopped");
  const before = performance.now();
  const profiler = new Profiler({ ...options, name: "stopped" });
  const trace = await profiler.stop();
  const after = performance.now();
  const { entry } = await told;
  assert_true(entry instanceof PerformanceProfileEntry);
  assert_equals(entry.entryType, "profile");
  assert_equals(entry.name, "stopped");
  assert_equals(entry.sampleInterval, profiler.sampleInterval);
  assert_equals(entry.sampleCount, trace.samples.length);
  assert_equals(entry.trace, trace);
  assert_greater_than_equal(entry.startTime, before);
  assert_less_than_equal(entry.startTime + entry.duration, after);
  assert_array_equals(performance.getEntriesByName("stopped"), [entry]);
}, "a stopped session becomes an entry with the trace of stop()");

promise_test(async () => {
  const told = observed("full");
  const profiler = new Profiler({ ...options, maxBufferSize: 2, name: "full" });
  await full(profiler);
  const { entry } = await told;
  assert_true(entry.bufferFull);
  assert_equals(entry.sampleCount, 2);
  assert_equals(entry.trace.samples.length, 2);
  assert_equals(await profiler.stop(), entry.trace);
  assert_array_equals(performance.getEntriesByName("full"), [entry]);
}, "a session whose buffer is full becomes an entry without stop()");

promise_test(async () => {
  const profiler = await performance.profile({ ...options, maxBufferSize: 2 });
  const log = [];
  const told = observed("profiler").then(() => log.push("observed"));
  profiler.addEventListener("samplebufferfull", () => {
    log.push("event");
    profiler.stop().then(() => log.push(`stopped, ${performance.getEntriesByName("profiler").length} entry`));
  });
  await told;
  assert_array_equals(log, ["event", "stopped, 1 entry", "observed"]);
}, "event, promise and observer come in this order, and the name is \"profiler\" by default");

promise_test(async () => {
  const { entry } = await observed("stopped", { type: "profile", buffered: true });
  const json = entry.toJSON();
  assert_array_equals(
    Object.keys(json),
    ["name", "entryType", "startTime", "duration", "sampleInterval", "sampleCount", "bufferFull"],
    "all attributes but the trace");
  for (const [name, value] of Object.entries(json)) {
    assert_equals(value, entry[name], name);
  }
  assert_false(JSON.stringify(performance.getEntries()).includes("samples"));
  assert_equals(typeof entry.trace, "object");
}, "a buffered entry and its toJSON()");

promise_test(async () => {
  const kept = performance.getEntriesByType("profile").length;
  let added = 0;
  while (performance.getEntriesByType("profile").length === kept + added) {
    await new Profiler(options).stop();
    added++;
    assert_less_than(added, 1000, "the buffer has a bound");
  }
  const { callbackOptions } = await observed("stopped", { type: "profile", buffered: true });
  assert_equals(callbackOptions.droppedEntriesCount, 1);
}, "entries that come when the buffer is full are counted");
