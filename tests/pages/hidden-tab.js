/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A page that always works, also while its tab is hidden. Servo does not tell a page that its tab is hidden, so others do.

// How many rounds of work were done since each mark, and when the mark was set.
var marks = [{ rounds: 0, time: performance.now() }];
// Pages in other tabs set marks by it, and hear how many rounds were done since the last one.
const channel = new BroadcastChannel("hidden-tab");

const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 1_000_000 });

function mark() {
  marks.push({ rounds: 0, time: performance.now() });
}

channel.onmessage = mark;

// A tab that is not shown has fewer timers, but as many messages.
const { port1, port2 } = new MessageChannel();
port1.onmessage = () => {
  workInTab();
  const last = marks.at(-1);
  last.rounds++;
  channel.postMessage({ marks: marks.length, rounds: last.rounds });
  port2.postMessage(null);
};
port2.postMessage(null);

function workInTab() {
  return work(5);
}

async function stop() {
  return { marks, trace: await profiler.stop() };
}
