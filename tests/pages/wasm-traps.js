/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// (module
//   (memory 1)
//   (func (export "load") (param i32) (result i32) (i32.load (local.get 0)))
//   (func (export "trap") unreachable))
const WASM = new Uint8Array([
  0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00,
  // Two types: i32 to i32, and nothing to nothing.
  0x01, 0x09, 0x02, 0x60, 0x01, 0x7f, 0x01, 0x7f, 0x60, 0x00, 0x00,
  // A function of each, a memory of one page, and the names.
  0x03, 0x03, 0x02, 0x00, 0x01,
  0x05, 0x03, 0x01, 0x00, 0x01,
  0x07, 0x0f, 0x02,
  0x04, 0x6c, 0x6f, 0x61, 0x64, 0x00, 0x00,
  0x04, 0x74, 0x72, 0x61, 0x70, 0x00, 0x01,
  // Their code.
  0x0a, 0x0d, 0x02,
  0x07, 0x00, 0x20, 0x00, 0x28, 0x02, 0x00, 0x0b,
  0x03, 0x00, 0x00, 0x0b,
]);

const FAR_OUTSIDE = 0x7fff_ffff;

const exports = new WebAssembly.Instance(new WebAssembly.Module(WASM)).exports;

// Whether the call traps, as it should.
function traps(call) {
  try {
    call();
  } catch (error) {
    return error instanceof WebAssembly.RuntimeError;
  }
  return false;
}

// The engine handles each trap in a signal handler, on an alternate stack.
function trapAgainAndAgain(rounds) {
  let count = 0;
  for (let i = 0; i < rounds; i++) {
    count += traps(() => exports.load(FAR_OUTSIDE - i % 4096));
    count += traps(exports.trap);
    count += exports.load(i % 65532) === 0;
  }
  return count;
}

runTest(async () => {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 1e6 });
  const ROUNDS = 1000;
  let rounds = 0;
  let count = 0;
  const start = performance.now();
  // Runs for a fixed time to get samples. The test asserts no number of them.
  while (performance.now() - start < 4000) {
    count += trapAgainAndAgain(ROUNDS);
    rounds += ROUNDS;
  }
  return { trace: await profiler.stop(), rounds, count };
});
