/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

const PROFILED_MILLISECONDS = 3000;

let depth = 0;
const wasm = instantiateWasm(descend);

// Alternates between frames of WebAssembly and of scripts.
function descend() {
  if (depth-- > 0) {
    wasm.callBack(1);
  }
  return 0;
}

// Runs library code that uses the frame pointer for something else. Its locals are where those frames were.
function evaluate(i) {
  return eval(`${i} + 1`);
}

// The levels place these calls at many places on the stack.
function callAt(level, i) {
  return level === 0 ? evaluate(i) : callAt(level - 1, i);
}

runTest(async () => {
  const profiler = new Profiler({ sampleInterval: 0, maxBufferSize: 1_000_000 });
  const end = performance.now() + PROFILED_MILLISECONDS;
  for (let i = 0; performance.now() < end; i++) {
    depth = 20 + i % 101;
    descend();
    // Only once, because its callees leave frames of their own.
    callAt(i % 13, i);
  }
  return { trace: await profiler.stop() };
});
