/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The two functions do the same operation, 70 and 30 times. Each operation needs the result of the one
// before, so that it takes the same time in both functions, and the engine can leave none out.
//
// With more rounds, the engine would compile a function on its own before the loop that calls it. The
// loop would then call the function instead of inlining it.
function seventy(x) {
  for (let i = 0; i < 140; i++) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    x = (x + i) | 0;
  }
  return x;
}

function thirty(x) {
  for (let i = 0; i < 60; i++) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    x = (x + i) | 0;
  }
  return x;
}

function loop(x) {
  for (let i = 0; i < 5000; i++) {
    x = seventy(x);
    x = thirty(x);
  }
  return x;
}

var rounds = 0;
var result = 1;

function busy() {
  result = loop(result);
  rounds++;
}
