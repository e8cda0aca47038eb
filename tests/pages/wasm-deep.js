/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

const WORK_MILLISECONDS = 20;
const PROFILED_RUNS = 50;
const WARM_UP_CALLS = 2000;
const WARM_UP_DEPTH = 20;

// (module
//   (import "js" "callee" (func $callee (param i32) (result i32)))
//   (func $recurse (export "recurse") (param $n i32) (result i32) (local $i i32)
//     (if (result i32) (i32.eqz (local.get $n))
//       (then
//         (drop (call $callee (i32.const 0)))
//         (local.set $i (i32.const 10000000))
//         (loop (br_if 0 (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))
//         (i32.const 0))
//       (else (i32.add (call $recurse (i32.sub (local.get $n) (i32.const 1))) (i32.const 1))))))
const RECURSION = new Uint8Array([
  0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00,
  // One type: i32 to i32.
  0x01, 0x06, 0x01, 0x60, 0x01, 0x7f, 0x01, 0x7f,
  // The import.
  0x02, 0x0d, 0x01, 0x02, 0x6a, 0x73, 0x06, 0x63, 0x61, 0x6c, 0x6c, 0x65, 0x65, 0x00, 0x00,
  // A function of that type, and its name.
  0x03, 0x02, 0x01, 0x00,
  0x07, 0x0b, 0x01,
  0x07, 0x72, 0x65, 0x63, 0x75, 0x72, 0x73, 0x65, 0x00, 0x01,
  // Its code.
  0x0a, 0x31, 0x01,
  0x2f, 0x01, 0x01, 0x7f,
  0x20, 0x00, 0x45,
  0x04, 0x7f,
  0x41, 0x00, 0x10, 0x00, 0x1a,
  0x41, 0x80, 0xad, 0xe2, 0x04, 0x21, 0x01,
  0x03, 0x40, 0x20, 0x01, 0x41, 0x01, 0x6b, 0x22, 0x01, 0x0d, 0x00, 0x0b,
  0x41, 0x00,
  0x05,
  0x20, 0x00, 0x41, 0x01, 0x6b, 0x10, 0x01, 0x41, 0x01, 0x6a,
  0x0b,
  0x0b,
]);

// (module (func (export "trap") unreachable))
const TRAP = new Uint8Array([
  0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00,
  0x01, 0x04, 0x01, 0x60, 0x00, 0x00,
  0x03, 0x02, 0x01, 0x00,
  0x07, 0x08, 0x01, 0x04, 0x74, 0x72, 0x61, 0x70, 0x00, 0x00,
  0x0a, 0x05, 0x01, 0x03, 0x00, 0x00, 0x0b,
]);
const { trap } = new WebAssembly.Instance(new WebAssembly.Module(TRAP)).exports;

function bottom() {
  return work(WORK_MILLISECONDS);
}

const recursion = new WebAssembly.Instance(new WebAssembly.Module(RECURSION), { js: { callee: bottom } });
let isWarm = false;
let depth = 0;
const wasm = instantiateWasm(alternate);

// Alternates between frames of WebAssembly and of scripts.
function alternate() {
  return depth-- > 0 ? wasm.callBack(1) : trapAgainAndAgain();
}

// The engine handles each trap in a signal handler, on an alternate stack, which is small.
function trapAgainAndAgain() {
  let last = performance.now();
  for (let worked = 0; isWarm && worked < WORK_MILLISECONDS;) {
    try {
      trap();
    } catch {
      // The exception is expected.
    }
    const now = performance.now();
    // Only the time in which the thread ran.
    worked += Math.min(now - last, 1);
    last = now;
  }
  return 0;
}

const KINDS = {
  recursion(n) {
    recursion.exports.recurse(n);
  },
  alternation(n) {
    depth = n;
    alternate();
  },
};

runTest(async () => {
  const parameters = new URLSearchParams(location.search);
  const [run, deep] = [KINDS[parameters.get("kind")], Number(parameters.get("depth"))];
  // Before it is compiled, code needs more of the stack.
  for (let i = 0; i < WARM_UP_CALLS; i++) {
    KINDS.alternation(WARM_UP_DEPTH);
  }
  isWarm = true;
  run(deep);
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  const start = performance.now();
  for (let i = 0; i < PROFILED_RUNS; i++) {
    run(deep);
  }
  const end = performance.now();
  return { start, end, trace: await profiler.stop() };
});
