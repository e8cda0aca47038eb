/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

const DEPTH = 2000;

function deepest() {
  return work(2);
}

function descend(depth) {
  // This is not a tail call, so every call has its own frame.
  return depth === 0 ? deepest() : descend(depth - 1) + 1;
}

function even(depth) {
  return depth === 0 ? deepest() : odd(depth - 1) + 1;
}

function odd(depth) {
  return depth === 0 ? deepest() : even(depth - 1) + 1;
}

function onePlace() {
  for (let i = 0; i < 300; i++) {
    descend(DEPTH);
  }
}

function twoPlaces() {
  for (let i = 0; i < 300; i++) {
    even(DEPTH);
  }
}

runTest(async () => {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  onePlace();
  twoPlaces();
  return profiler.stop();
});
