/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Runs cells of the matrix, in a document or worker.

// How many milliseconds code runs while it is sampled.
const TIME = 20;

// If nine of ten samples are missed, this gives enough of them.
const MOST_ATTEMPTS = 60;

// The beginnings and ends of the times when code ran.
const windows = [];

// Calls a function again and again.
function visible(call) {
  const start = performance.now();
  const end = start + TIME;
  let now;
  do {
    call(20_000);
    now = performance.now();
  } while (now < end);
  windows.push([start, now]);
}

// The trace of calls of a function. A busy machine takes few samples, so the function is called until there are enough.
async function traced(run) {
  windows.length = 0;
  for (let attempt = 1; ; attempt++) {
    const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
    const from = windows.length;
    visible(run);
    const trace = await profiler.stop();
    const times = windows.slice(from);
    const isIn = ({ timestamp }) => times.some(([start, end]) => start + 1 < timestamp && timestamp < end - 1);
    if (trace.samples.filter(isIn).length >= 5 || attempt === MOST_ATTEMPTS) {
      return { trace, windows: times };
    }
  }
}

// The trace of a function that a script of one side has made: side 0 is the page's own, side 1 is of the other origin. The
// scripts are those of the global `makes`. Code is made in the realm of the global `into`, which profiles.
async function cell({ maker, scheduler, name }, side, makes, into) {
  into.made = undefined;
  const { prefix, makers, schedulers } = makes.sides[side];
  const { call, made } = makers[maker](into, name ?? `${prefix}Made`);
  const target = schedulers[scheduler](call);
  target?.dispatchEvent(new Event("go"));
  const run = await made();
  return into.traced(run);
}

async function bothSides(asked, makes, into) {
  const results = {};
  for (const [side, name] of [[1, "hidden"], [0, "control"]]) {
    try {
      results[name] = await cell(asked, side, makes, into);
    } catch (error) {
      results[name] = { error: `${error}\n${error.stack}` };
    }
  }
  return results;
}
