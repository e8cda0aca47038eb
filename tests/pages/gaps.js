/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// When this thread stood still: reads the clock all the time, and notes where it jumped.

const TURN = 20; // ms
const LEAST_GAP = 0.2; // ms
const MOST = 100_000;

// The time where a gap began, since the epoch, and how long it was, in milliseconds.
var gaps = [];
var turns = 0;

function turn() {
  let last = performance.now();
  const until = last + TURN;
  while (last < until) {
    const now = performance.now();
    if (now - last >= LEAST_GAP && gaps.length < MOST) {
      gaps.push([performance.timeOrigin + last, now - last]);
    }
    last = now;
  }
  turns++;
  setTimeout(turn);
}

turn();
