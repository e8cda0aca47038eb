/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The same in kind, 70 to 30 in number. Each operation needs the result of the one before, so that a
// round takes as long in the one as in the other, and none can be left out.
//
// Not more rounds: a function that loops for longer is compiled by itself before the loop that calls
// it is, which then calls it instead of inlining it.
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
