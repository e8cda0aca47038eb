/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Two realms have instances of one module, and a function of one instance calls a function of the other, in every way.

const TIME = 120;
// Some milliseconds, so that hardly a sample is taken between two calls.
const LONG = 5_000_000;

// Functions of two numbers: they call one of the other instance with the first number, and count the second one down, before
// that (tail calls) or after it.
const THERE_AND_BACK = ["byImport", "byTable", "byReference"];
const TAIL = ["tailImport", "tailTable", "tailReference"];

const OTHER = 0;
const LEAF = 1;

// The import and the table's first element are the other instance's leaf.
const ways = {
  byImport: [...get(0), ...call(OTHER)],
  byTable: [...get(0), ...i32(0), 0x11, 0, 0],
  byReference: [...get(0), ...i32(0), 0x25, 0, 0x14, 0],
  tailImport: [...get(0), 0x12, OTHER],
  tailTable: [...get(0), ...i32(0), 0x13, 0, 0],
  tailReference: [...get(0), ...i32(0), 0x25, 0, 0x15, 0],
};

const bytes = wasmModule({
  types: [[[I32], [I32]], [[I32, I32], [I32]]],
  imports: [["js", "other", [0, 0]]],
  // (ref null 0)
  tables: [[0x63, 0, 0, 1]],
  functions: [
    { name: "leaf", type: 0, locals: [[1, I32]], body: [...countDown(0, 1), ...get(1)] },
    ...THERE_AND_BACK.map(way => ({
      name: way, type: 1, locals: [[1, I32]], body: [...ways[way], drop, ...countDown(1, 2), ...get(2)],
    })),
    ...TAIL.map(way => ({ name: way, type: 1, locals: [[1, I32]], body: [...countDown(1, 2), ...ways[way]] })),
  ],
});

function instance(realm, module, other) {
  const { exports } = new realm.WebAssembly.Instance(module, { js: { other } });
  exports.table0.set(0, other);
  return exports;
}

// Two instances in each realm, because one has to be first: it is called by the other realm's.
function pair(realm, otherRealm, module) {
  const callee = new otherRealm.WebAssembly.Instance(module, { js: { other: x => x } }).exports.leaf;
  return instance(realm, module, callee);
}

function visible(call, ...numbers) {
  const start = performance.now();
  const end = start + TIME;
  let now;
  do {
    call(...numbers);
    now = performance.now();
  } while (now < end);
  return [start, now];
}

runTest(async () => {
  const frame = (await addFrame()).contentWindow;
  const module = new WebAssembly.Module(bytes);
  const callers = { page: pair(globalThis, frame, module), frame: pair(frame, globalThis, module) };
  const results = [];
  for (const [caller, exports] of Object.entries(callers)) {
    for (const way of [...THERE_AND_BACK, ...TAIL]) {
      for (const [leaf, numbers] of [["callee", [LONG, 1]], ["caller", [1, LONG]]]) {
        // Until the optimising compiler has its code.
        visible(exports[way], ...numbers);
        const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 10_000 });
        const [start, end] = visible(exports[way], ...numbers);
        results.push({ caller, way, leaf, start, end, trace: await profiler.stop() });
      }
    }
  }
  return results;
});
