/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A loop whose numbers take all registers that the optimising compiler may use. Each is no address, and stays the same when its
// bytes are rotated.

const NUMBERS = 14;
const TIME = 1500;

const numbers = Array.from({ length: NUMBERS }, (_, i) => 1 + i);
const bytes = wasmModule({
  types: [[[I32, I64], [I64]]],
  functions: [{
    name: "crowded",
    type: 0,
    locals: [[NUMBERS, I64]],
    body: [
      ...numbers.flatMap(i => [...get(1), ...set(1 + i)]),
      0x03, 0x40,
      // local = rotl(local, 8)
      ...numbers.flatMap(i => [...get(1 + i), 0x42, 8, 0x89, ...set(1 + i)]),
      ...get(0), ...i32(1), 0x6b, 0x22, 0, 0x0d, 0,
      0x0b,
      ...get(2), ...numbers.slice(1).flatMap(i => [...get(1 + i), 0x85]),
    ],
  }],
});

runTest(async () => {
  const { crowded } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 10_000 });
  const start = performance.now();
  let end;
  do {
    crowded(20_000, 0x4141414141414141n);
    end = performance.now();
  } while (end < start + TIME);
  return { start, end, trace: await profiler.stop() };
});
