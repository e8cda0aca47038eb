/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Gives the entries that observers of one session receive, and the order of events.
async function observed(options, session) {
  const log = [];
  const entries = [];
  const droppedEntriesCounts = [];
  const done = new Promise(resolve => {
    const observer = new PerformanceObserver((list, itself, callbackOptions) => {
      log.push(`observed ${list.getEntries().map(entry => entry.name)}`);
      entries.push(...list.getEntries());
      droppedEntriesCounts.push(callbackOptions.droppedEntriesCount ?? "none");
      observer.disconnect();
      resolve();
    });
    observer.observe(options);
  });
  const result = await session(log);
  await done;
  // Another entry would come in one of these tasks.
  for (let i = 0; i < 20; i++) {
    await task();
  }
  return { log, entries, droppedEntriesCounts, result };
}

function facts(entry) {
  return {
    isProfile: entry instanceof PerformanceProfileEntry,
    isEntry: entry instanceof PerformanceEntry,
    name: entry.name,
    entryType: entry.entryType,
    startTime: entry.startTime,
    duration: entry.duration,
    sampleInterval: entry.sampleInterval,
    sampleCount: entry.sampleCount,
    bufferFull: entry.bufferFull,
    traceIsSame: entry.trace === entry.trace,
    trace: entry.trace,
    json: JSON.parse(JSON.stringify(entry)),
    jsonMembers: Object.keys(entry.toJSON()),
  };
}

function profiler(members = {}) {
  return new Profiler({ sampleInterval: 1, maxBufferSize: 100_000, ...members });
}

async function stopped(log) {
  const before = performance.now();
  const started = profiler({ sampleInterval: 2.5, name: "stopped" });
  const after = performance.now();
  work(50);
  const stopping = performance.now();
  const promise = started.stop();
  const stop = performance.now();
  const trace = await promise;
  log.push("resolved");
  const [entry] = performance.getEntriesByName("stopped");
  return { times: { before, after, stopping, stop }, isInBuffer: entry.trace === trace, trace };
}

// Nobody ever calls stop().
async function fullAlone(log) {
  const full = profiler({ maxBufferSize: 3, name: "full" });
  await event(full, "samplebufferfull");
  log.push("event");
  while (performance.getEntriesByName("full").length === 0) {
    await task();
  }
  const [entry] = performance.getEntriesByName("full", "profile");
  const trace = entry.trace;
  return { stopGivesSame: await full.stop() === trace };
}

// The listener calls stop().
async function fullStopped(log) {
  const full = profiler({ maxBufferSize: 3, name: "full and stopped" });
  await event(full, "samplebufferfull");
  log.push("event");
  const trace = await full.stop();
  log.push("resolved");
  const entries = performance.getEntriesByName("full and stopped");
  return { entries: entries.length, isSame: entries[0].trace === trace };
}

// At the time of the call the buffer is full, and the event is still to come.
async function race(log) {
  const full = profiler({ maxBufferSize: 3, name: "race" });
  full.onsamplebufferfull = () => log.push("event");
  work(30);
  const trace = await full.stop();
  log.push("resolved");
  const entries = performance.getEntriesByName("race");
  return { entries: entries.length, isSame: entries[0].trace === trace, full: entries[0].bufferFull };
}

runTest(async () => {
  const before = performance.getEntriesByType("profile").length;
  const outcomes = {};
  for (const session of [stopped, fullAlone, fullStopped, race]) {
    const { entries, ...outcome } = await observed({ entryTypes: ["mark", "profile"] }, session);
    outcomes[session.name] = { ...outcome, entries: entries.map(facts) };
  }
  // Inner sessions end first.
  const outer = profiler();
  await task();
  const inner = profiler({ name: "" });
  work(10);
  await inner.stop();
  work(10);
  await outer.stop();
  const { entries } = await observed({ type: "profile", buffered: true }, () => undefined);
  const buffered = performance.getEntriesByType("profile");
  return {
    before,
    outcomes,
    names: entries.map(entry => entry.name),
    isBuffer: entries.length === buffered.length
      && entries.every((entry, index) => entry === buffered[index]),
    isSorted: entries.every((entry, index) => index === 0 || entry.startTime >= entries[index - 1].startTime),
    supported: PerformanceObserver.supportedEntryTypes,
    constructible: (() => {
      try {
        return typeof new PerformanceProfileEntry();
      } catch (error) {
        return error.name;
      }
    })(),
  };
});
