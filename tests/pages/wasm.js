/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

let exports;

function calledByWasm(n) {
  return leafBelowWasm(n) + 1;
}

function leafBelowWasm(n) {
  let x = n;
  for (let i = 0; i < 2000; i++) {
    x = (Math.imul(x, 31) + i) | 0;
  }
  return x & 1;
}

function callBack() {
  return exports.callBack(100);
}

// Enters wasm twice: wasm, JavaScript, wasm, JavaScript.
function calledByOuterWasm(n) {
  return n % 50 === 0 ? callBack() : 0;
}

function callOuter() {
  return outerExports.callBack(100);
}

let outerExports;

function spinInWasm() {
  return exports.spin(100_000);
}

// However seldom the thread gets a processor, there are so many rounds.
const LEAST_ROUNDS = 1500;

function rounds(milliseconds) {
  const end = performance.now() + milliseconds;
  let sum = 0;
  for (let round = 0; round < LEAST_ROUNDS || performance.now() < end; round++) {
    sum += callBack() + callOuter() + spinInWasm();
  }
  return sum;
}

runTest(async () => {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  exports = instantiateWasm(calledByWasm);
  outerExports = instantiateWasm(calledByOuterWasm);
  rounds(2500);
  const trace = await profiler.stop();
  return { trace, isRight: exports.spin(1000) === spinLikeWasm(1000) };
});
