/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// This page does not use the harness, because Servo fails to measure one of the harness' objects.

// The sizes that about:memory would show for the profiler, in bytes.
async function profilerMemory(isOurs = name => name === "js-profiler") {
  const processes = JSON.parse(await navigator.servo.reportMemory());
  const reports = processes.flatMap(({ reports }) => reports);
  return reports.filter(({ path }) => path.some(isOurs)).map(({ size }) => size);
}

// How many functions to compile.
const COMPILED = 200;

// How many bytes are left of an event loop that keeps nothing.
const FREED = 10_000;
// It takes 10 s, and longer on a busy machine.
const MOST_KEPT_FOR = 60_000; // ms

// Works for some milliseconds, and counts only those in which the thread ran: see harness.js.
function work(milliseconds) {
  let last = performance.now();
  for (let worked = 0; worked < milliseconds;) {
    const now = performance.now();
    worked += Math.min(now - last, 1);
    last = now;
  }
}

// Makes functions and runs them until they are compiled.
const kept = [];
function compile(count) {
  for (let i = 0; i < count; i++) {
    const compiled = new Function("x", `let sum = ${i}; for (let i = 0; i < x; i++) { sum += i; } return sum;`);
    for (let j = 0; j < 1000; j++) {
      compiled(10);
    }
    kept.push(compiled);
  }
}

// Waits until what is kept for later sessions is freed, and returns the memory then.
async function freedMemory() {
  const end = performance.now() + MOST_KEPT_FOR;
  for (;;) {
    const memory = await profilerMemory();
    if (memory.every(size => size < FREED) || performance.now() > end) {
      return memory;
    }
    await new Promise(resolve => setTimeout(resolve, 500));
  }
}

async function measure() {
  const codeTables = () => profilerMemory(name => name === "js-code-tables");
  const tables = await codeTables();
  compile(COMPILED);
  const moreTables = await codeTables();
  const before = await profilerMemory();
  const begin = performance.now();
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 1_000_000 });
  work(100);
  const begunTime = performance.now();
  const early = await profilerMemory();
  const earlyTime = performance.now();
  // The memory for samples is doubled each time. Before `early` it may be given twice the time that has passed.
  work(Math.max(2000, 4 * (earlyTime - begin)));
  const lateTime = performance.now();
  const late = await profilerMemory();
  const { samples } = await profiler.stop();
  const begun = samples.filter(({ timestamp }) => timestamp < begunTime).length;
  const between = samples.filter(({ timestamp }) => earlyTime < timestamp && timestamp < lateTime).length;
  const after = await profilerMemory();
  // Nobody has accessed the trace of this profiler.
  const full = new Profiler({ sampleInterval: 1, maxBufferSize: 500 });
  await new Promise(resolve => { full.onsamplebufferfull = resolve; });
  while (performance.getEntriesByType("profile").length < 2) {
    await new Promise(resolve => setTimeout(resolve, 1));
  }
  const entries = await profilerMemory(name => name.startsWith("PerformanceProfileEntry"));
  const freed = await freedMemory();
  return { before, begun, early, late, between, after, entries, freed, compiled: COMPILED, tables, moreTables };
}

measure()
  .catch(error => ({ error: String(error) }))
  .then(result => fetch("/result", { method: "POST", body: JSON.stringify(result) }))
  .then(() => window.close());
