/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A recursion whose stacks are known: tests/stacks.rs computes the same functions for each depth.

const DEPTH = 120;
const functions = [calls, passes, iterates, calls, passes];

let rounds = 0;
// How long they took, in milliseconds.
let busy = 0;

function next(depth) {
  return depth === 0 ? spin() : functions[depth % functions.length](depth - 1) + 1;
}

// The optimising compiler inlines this.
function forward(depth) {
  return next(depth) + 1;
}

function calls(depth) {
  if (depth % 2 === 1) {
    return next(depth) + 1; // odd
  }
  return next(depth) + 2; // even
}

function passes(depth) {
  return forward(depth) + 1;
}

function iterates(depth) {
  let sum = 0;
  [depth].forEach(function iterated(value) {
    sum += next(value);
  });
  return sum;
}

function spin() {
  let sum = 0;
  for (let i = 0; i < 100_000; i++) {
    sum = (sum + i) | 0;
  }
  return sum & 1;
}

// Takes longer if the thread seldom gets a processor.
async function recurse(milliseconds, least) {
  const end = performance.now() + milliseconds;
  while (rounds < least || performance.now() < end) {
    const begin = performance.now();
    for (let i = 0; i < 20; i++) {
      next(DEPTH);
    }
    busy += performance.now() - begin;
    rounds++;
    await task();
  }
}

if (location.search === "?recorded") {
  addEventListener("load", () => recurse(Infinity, 0));
} else {
  runTest(async () => {
    const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
    await recurse(3000, 800);
    return profiler.stop();
  });
}
