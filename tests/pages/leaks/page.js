/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The page's side of the leak suite. visible() calls everything that may be shown. Code that may not be
// shown has "hidden" in its name, and records in `windows` when it ran.

// How many milliseconds code runs while it is sampled. This gives about fifty samples.
const TIME = 50;

// If nine of ten samples are missed, about every second attempt has enough of them.
const MOST_ATTEMPTS = 40;

const parameters = new URLSearchParams(location.search);
const other = parameters.get("other");

// The beginnings and ends of the times when the code of the case ran, in milliseconds since the time origin.
const windows = [];

function visible(call) {
  return call();
}

// Calls `step` again and again, and records when.
function during(step) {
  const start = performance.now();
  const end = start + TIME;
  let now;
  do {
    step();
    now = performance.now();
  } while (now < end);
  windows.push([start, now]);
}

function visibleStep() {
  let x = 1;
  for (let i = 0; i < 2000; i++) {
    x = (Math.imul(x, 31) + i) | 0;
  }
  return x;
}

function visibleRecursion(depth, call) {
  if (depth === 0) {
    call();
  } else {
    visibleRecursion(depth - 1, call);
  }
  return depth;
}

function visibleSpin() {
  during(visibleStep);
}

// A URL whose response has these headers.
function asked(url, headers) {
  return `${url}?${new URLSearchParams(headers)}`;
}

const HIDDEN_SCRIPT = `${other}/leaks/hidden.js`;

function loaded(element) {
  return new Promise((resolve, reject) => {
    element.onload = resolve;
    element.onerror = () => reject(new Error(`${element.src} did not load`));
    document.documentElement.append(element);
  });
}

function loadScript(src, attributes = {}) {
  return loaded(Object.assign(document.createElement("script"), { src, ...attributes }));
}

async function loadFrame(attributes) {
  const frame = Object.assign(document.createElement("iframe"), attributes);
  await loaded(frame);
  return frame;
}

// The trace while `run` works, and the times when its code ran.
async function traced(run, options = {}) {
  windows.length = 0;
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000, ...options });
  await run();
  // By then the last sample of it has been taken.
  await task();
  const trace = await profiler.stop();
  return { trace, windows: [...windows] };
}

// Records windows of another clock.
function noteFrom(timeOrigin, theirs) {
  const shift = timeOrigin - performance.timeOrigin;
  for (const [start, end] of theirs) {
    windows.push([start + shift, end + shift]);
  }
}

// Whether the result of a case has enough samples.
function isSampled({ trace, windows }) {
  const isIn = ({ timestamp }) => windows.some(([start, end]) => start + 1 < timestamp && timestamp < end - 1);
  return !trace?.samples || trace.samples.filter(isIn).length >= 5;
}

// Runs every case of the group, even if one fails.
function runCases(cases) {
  runTest(async () => {
    const results = {};
    for (const [name, run] of Object.entries(cases)) {
      try {
        // Repeats the case if the machine was too busy to take samples.
        for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
          results[name] = await run();
          if (isSampled(results[name])) {
            break;
          }
        }
      } catch (error) {
        results[name] = { error: description(error) };
      }
    }
    return results;
  });
}
