/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A page that is busy as long as it is there, and driven from outside.

var turns = 0;
var profilers = [];

function turn() {
  busy();
  turns++;
  setTimeout(turn);
}

turn();

// So many turns later.
async function turned(count) {
  const last = turns + count;
  while (turns < last) {
    await new Promise(resolve => setTimeout(resolve));
  }
  return turns;
}

// Gives the number of the profiler.
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

// What an attempt to start one comes to.
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

// The events of a profiler, once there are any.
async function events(number) {
  while (!profilers[number].events.length) {
    await turned(1);
  }
  // What would come twice would have come.
  await turned(20);
  return profilers[number].events;
}

// Calls one of these functions in a worker that is kept busy as well.
function inWorker(name, ...values) {
  worker ??= new Worker("kept-busy-worker.js");
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(message));
    worker.postMessage({ name, values });
  });
}

var worker;
