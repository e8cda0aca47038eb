/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The number of rounds. After them the page closes if its address says so.
const parameters = new URLSearchParams(location.search);
const lastRound = Number(parameters.get("rounds") ?? Infinity);

// The number of rounds that the page's worker has done.
var workerRounds = 0;

if (parameters.has("worker")) {
  const worker = new Worker("busy-worker.js");
  worker.onmessage = ({ data }) => { workerRounds = data; };
}

// The frames may have other origins.
for (const address of parameters.getAll("frame")) {
  const frame = document.createElement("iframe");
  frame.src = address;
  document.documentElement.append(frame);
}

// The number of rounds that the frames have done, by origin.
var frameRounds = {};
addEventListener("message", ({ data, origin }) => { frameRounds[origin] = data; });

let nextTurn = () => setTimeout(turn);

if (parameters.has("hidden")) {
  // A tab that is not shown has fewer timers, but as many messages.
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = turn;
  nextTurn = () => port2.postMessage(null);
}

function turn() {
  busy();
  if (parent !== window) {
    parent.postMessage(rounds, "*");
  }
  if (rounds < lastRound) {
    nextTurn();
  } else if (parameters.has("close")) {
    close();
  }
}

turn();
