/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Finds out when this thread paused: reads the clock all the time, and records where it jumped.
//
// Turns follow each other by messages. Timers of a page that is not shown fire once in a second. Times that another page
// compares with its own are of Date: Servo's performance.timeOrigin is not since the epoch.

const TURN = 20; // ms
const LEAST_GAP = 0.2; // ms
const MOST = 100_000;

// For each gap, its beginning since the epoch and its length, in milliseconds.
var gaps = [];
// When turns ended, in milliseconds since the epoch.
var ends = [];
var turns = 0;
var channel = new MessageChannel();
channel.port1.onmessage = turn;

function turn() {
  let last = performance.now();
  const until = last + TURN;
  while (last < until) {
    const now = performance.now();
    if (now - last >= LEAST_GAP && gaps.length < MOST) {
      gaps.push([Date.now() - (now - last), now - last]);
    }
    last = now;
  }
  turns++;
  if (ends.length < MOST) {
    ends.push(Date.now());
  }
  channel.port2.postMessage(null);
}

turn();
