/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

const SESSIONS = 12;

// What a new observer receives in its first two callbacks.
async function told(options, name) {
  const calls = [];
  const observer = new PerformanceObserver((list, itself, callbackOptions) => {
    calls.push({
      names: list.getEntries().map(entry => entry.name),
      hasCount: "droppedEntriesCount" in callbackOptions,
      droppedEntriesCount: callbackOptions.droppedEntriesCount,
    });
  });
  observer.observe(options);
  for (const suffix of ["first", "second"]) {
    const callsBefore = calls.length;
    performance.mark(`${name} ${suffix}`);
    while (calls.length === callsBefore) {
      await task();
    }
  }
  observer.disconnect();
  return calls;
}

// How many resources are reported as dropped when there is no room for another one.
async function droppedResources() {
  const full = event(performance, "resourcetimingbufferfull");
  performance.setResourceTimingBufferSize(1);
  await fetch("harness.js");
  await full;
  await task();
  const [{ droppedEntriesCount }] = await told({ entryTypes: ["mark", "resource"] }, "c");
  return droppedEntriesCount;
}

runTest(async () => {
  const observed = [];
  let dropped;
  const observer = new PerformanceObserver((list, itself, { droppedEntriesCount }) => {
    observed.push(...list.getEntries().map(entry => entry.name));
    dropped ??= droppedEntriesCount;
  });
  observer.observe({ type: "profile" });
  const traces = [];
  for (let i = 0; i < SESSIONS; i++) {
    const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 10, name: String(i) });
    traces.push(await profiler.stop());
  }
  while (observed.length < SESSIONS) {
    await task();
  }
  const buffer = performance.getEntriesByType("profile");
  const calls = {
    profile: await new Promise(resolve => {
      new PerformanceObserver((list, itself, options) => {
        itself.disconnect();
        resolve({ count: list.getEntries().length, ...options });
      }).observe({ type: "profile", buffered: true });
    }),
    mark: await told({ type: "mark" }, "a"),
    both: await told({ entryTypes: ["mark", "profile"] }, "b"),
  };
  return {
    observed,
    droppedAtFirst: dropped,
    buffer: buffer.map(entry => entry.name),
    traces: traces.length,
    isTrace: buffer.every((entry, index) => entry.trace === traces[index]),
    calls,
    droppedResources: await droppedResources(),
  };
});
