/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// WebAssembly that runs on stacks of its own, because it may be suspended (JS Promise Integration). Each function but `spin` is a
// shape. The stacks that it must have are in the test.

const COLD_MILLISECONDS = 60;
const HOT_MILLISECONDS = 150;
const LEAST_SAMPLES = 40;
const MOST_ROUNDS = 20;
// Some milliseconds, so that few samples are taken before and after.
const LONG = 5_000_000;
const DEPTH = 20;

const AT_ONCE = 0;
const AFTER_JOBS = 1;
const REJECTED = 2;
const COLLECTED = 3;
const INNER = 4;
const BUSY = 5;
const SPIN = 6;

const IMPORTS = ["atOnce", "afterJobs", "rejected", "collected", "inner", "busy"];

const waits = target => [...get(0), ...call(target), drop];
const spins = [...countDown(0, 1), ...get(1)];

const SHAPES = {
  resumedAtOnce: [...waits(AT_ONCE), ...spins],
  resumedAfterJobs: [...waits(AFTER_JOBS), ...spins],
  beforeItIsSuspended: [...spins, drop, ...waits(AT_ONCE), ...get(1)],
  // A block that is left by catch_all.
  resumedByRejection: [0x02, 0x40, 0x1f, 0x40, 1, 2, 0, ...waits(REJECTED), 0x0b, 0x0b, ...spins],
  afterCollections: [...waits(COLLECTED), ...spins],
  // The import makes another call that may be suspended.
  nested: [...get(0), ...call(INNER)],
  callsScript: [...waits(AT_ONCE), ...get(0), ...call(BUSY)],
  tailCall: [...waits(AT_ONCE), ...get(0), 0x12, SPIN],
  oneInTurn: [...get(0), ...set(2), ...waits(AFTER_JOBS), ...spins, drop, ...waits(AFTER_JOBS), ...get(2), ...set(0), ...spins],
  otherInTurn: [...get(0), ...set(2), ...waits(AFTER_JOBS), ...spins, drop, ...waits(AFTER_JOBS), ...get(2), ...set(0), ...spins],
  // It calls itself by a table, because other calls are inlined into it. The local 0 is how deep.
  recursion: [
    ...get(0), 0x45,
    0x04, I32, ...waits(AT_ONCE), ...i32(LONG), ...set(2), ...countDown(2, 1), ...get(1),
    0x05, ...get(0), ...i32(1), 0x6b, ...i32(0), 0x11, 0, 0, ...i32(1), 0x6a, 0x0b,
  ],
};

const names = ["spin", ...Object.keys(SHAPES)];

const bytes = wasmModule({
  types: [[[I32], [I32]]],
  imports: IMPORTS.map(text => ["js", text, [0, 0]]),
  tables: [[0x70, 0, 1]],
  elements: [[0, ...i32(0), 0x0b, 1, SPIN + names.indexOf("recursion")]],
  functions: names.map(text => ({ name: text, type: 0, locals: [[2, I32]], body: SHAPES[text] ?? spins })),
});


let garbage;

function collect() {
  for (let i = 0; i < 20_000; i++) {
    garbage = [i, { i }, [garbage?.[0]]];
  }
}

function busy(count) {
  let x = 1;
  for (let i = 0; i < count; i++) {
    x = (Math.imul(x, 31) + i) | 0;
  }
  return x;
}

const js = {
  atOnce: new WebAssembly.Suspending(() => Promise.resolve(1)),
  afterJobs: new WebAssembly.Suspending(async () => { await null; await null; return 1; }),
  rejected: new WebAssembly.Suspending(() => Promise.reject(new Error("as expected"))),
  collected: new WebAssembly.Suspending(() => { collect(); return Promise.resolve(1); }),
  inner: new WebAssembly.Suspending(function callsInner(count) { return promising.spin(count); }),
  busy,
};

const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { js });
const promising = Object.fromEntries(names.map(text => [text, WebAssembly.promising(exports[text])]));

const shapes = Object.fromEntries(Object.keys(SHAPES).map(text => [text, () => promising[text](LONG)]));
shapes.recursion = () => promising.recursion(DEPTH);
shapes.inTurn = () => Promise.all([promising.oneInTurn(LONG), promising.otherInTurn(LONG)]);
delete shapes.oneInTurn;
delete shapes.otherInTurn;

async function drive(run, milliseconds) {
  const start = performance.now();
  let now;
  do {
    await run();
    now = performance.now();
  } while (now < start + milliseconds);
  return [start, now];
}

runTest(async () => {
  const results = {};
  for (const [text, run] of Object.entries(shapes)) {
    const rounds = results[text] = [];
    await drive(run, COLD_MILLISECONDS);
    let samples = 0;
    while (samples < LEAST_SAMPLES && rounds.length < MOST_ROUNDS) {
      const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 10_000 });
      const [start, end] = await drive(run, HOT_MILLISECONDS);
      const trace = await profiler.stop();
      rounds.push({ start, end, trace });
      samples += trace.samples.filter(({ timestamp }) => start < timestamp && timestamp < end).length;
    }
  }
  return results;
});
