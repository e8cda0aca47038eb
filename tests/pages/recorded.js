/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A page with a script and a frame of another origin, and a worker. All of them alternate between work and waiting.

const parameters = new URLSearchParams(location.search);
const other = parameters.get("other");

const script = document.createElement("script");
script.src = `${other}/recorded-muted.js`;
document.documentElement.append(script);

const frame = document.createElement("iframe");
frame.src = `${other}/recorded-frame.html`;
document.documentElement.append(frame);

let frameRounds = 0;
addEventListener("message", ({ data }) => { frameRounds = data; });

let workerRounds = 0;
const worker = new Worker("recorded-worker.js", { name: "sums" });
worker.onmessage = ({ data }) => { workerRounds = data; };

function spin(rounds) {
  let x = 1;
  for (let i = 0; i < rounds; i++) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
  }
  return x;
}

function ourWork() {
  return spin(1e6);
}

const list = document.createElement("ol");
document.documentElement.append(list);

function layOut() {
  for (let i = 0; i < 500; i++) {
    list.append(document.createElement("li"));
  }
  const { height } = list.getBoundingClientRect();
  list.replaceChildren();
  return height;
}

// Runs when the profiler has stopped. The name changes in each round: optimised code calls a DOM function that only reads
// once before the loop, if its arguments stay the same.
function callDom() {
  let sum = 0;
  for (let i = 0; i < 1e5; i++) {
    sum += list.getAttribute(i % 2 === 0 ? "none" : "absent") === null ? 1 : 0;
  }
  return sum;
}

let rounds = 0;

function turn() {
  ourWork();
  layOut();
  if (typeof mutedWork === "function") {
    mutedWork();
    rounds++;
  }
  if (trace !== null) {
    callDom();
    roundsAfterTrace++;
  }
  setTimeout(turn, 20);
}

// The page's own trace, while the browser records.
let trace = null;
let roundsAfterTrace = 0;

async function profileItself() {
  const profiler = new Profiler({ sampleInterval: 10, maxBufferSize: 1e6 });
  await new Promise(resolve => {
    (function wait() {
      rounds >= 40 ? resolve() : setTimeout(wait, 20);
    })();
  });
  trace = await profiler.stop();
}

if (parameters.has("profile")) {
  profileItself();
}
turn();
