/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// This page does not use the harness: see memory.js. Nor does it use WeakRef: Servo keeps its objects for ever.

// More than the timeline keeps.
const SESSIONS = 12;

async function finish(number) {
  const format = number % 2 ? "json-gzip" : "default";
  const trace = await new Profiler({ sampleInterval: 1, maxBufferSize: 10, format }).stop();
  trace.number = number;
}

// The number of objects of an interface.
async function count(name) {
  const processes = JSON.parse(await navigator.servo.reportMemory());
  const names = processes.flatMap(({ reports }) => reports).flatMap(({ path }) => path);
  const counts = names.map(each => each.match(/^(\w+) \[(\d+)\]$/)).filter(match => match?.[1] === name);
  return counts.reduce((sum, match) => sum + Number(match[2]), 0);
}

async function collect() {
  for (let number = 0; number < SESSIONS; number++) {
    await finish(number);
  }
  const before = await count("PerformanceProfileEntry");
  for (let collections = 0; collections < 5; collections++) {
    await new Promise(resolve => setTimeout(resolve, 1));
    navigator.servo.garbageCollectAllContexts();
  }
  await new Promise(resolve => setTimeout(resolve, 1));
  return {
    before,
    entries: await count("PerformanceProfileEntry"),
    profilers: await count("Profiler"),
    same: performance.getEntriesByType("profile").map(({ trace }, number) => trace.number === number),
  };
}

collect()
  .catch(error => ({ error: String(error) }))
  .then(result => fetch("/result", { method: "POST", body: JSON.stringify(result) }))
  .then(() => window.close());
