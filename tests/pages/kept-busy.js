/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A page that is always busy, and that a test drives from outside.

var turns = 0;
var profilers = [];

function turn() {
  busy();
  turns++;
  setTimeout(turn);
}

turn();

// Waits for `count` turns.
async function turned(count) {
  const last = turns + count;
  while (turns < last) {
    await new Promise(resolve => setTimeout(resolve));
  }
  return turns;
}

// Starts a profiler and gives its number.
function start(sampleInterval = 1) {
  const profiler = new Profiler({ sampleInterval, maxBufferSize: 1e6 });
  profiler.events = [];
  for (const type of ["error", "samplebufferfull"]) {
    profiler.addEventListener(type, event => {
      const { bubbles, cancelable, message } = event;
      profiler.events.push({
        type, bubbles, cancelable, message, isErrorEvent: event instanceof ErrorEvent, stopped: profiler.stopped,
      });
    });
  }
  return profilers.push(profiler) - 1;
}

// The outcome of an attempt to start a profiler.
function tryToStart() {
  try {
    return { started: start() };
  } catch (error) {
    return refusal(error);
  }
}

function stop(number) {
  return profilers[number].stop().then(trace => ({ trace }), refusal);
}

function refusal(error) {
  return { isException: error instanceof DOMException, name: error.name, message: error.message };
}

// Waits for events of a profiler and gives them.
async function events(number) {
  while (!profilers[number].events.length) {
    await turned(1);
  }
  // A second event would come by then.
  await turned(20);
  return profilers[number].events;
}

// Calls one of these functions in a worker that is always busy too.
function inWorker(name, ...values) {
  worker ??= new Worker("kept-busy-worker.js");
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(message));
    worker.postMessage({ name, values });
  });
}

var worker;
