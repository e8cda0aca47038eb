/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A page that a test drives from outside. It posts nothing.

var clicks = 0;
var answer;
var profilers = [];
var whenFull;

document.querySelector("#button").addEventListener("click", () => { clicks++; });
document.querySelector("#asking").addEventListener("click", () => { answer = prompt("Name?"); });

function start(sampleInterval, maxBufferSize) {
  const profiler = new Profiler({ sampleInterval, maxBufferSize });
  whenFull = event(profiler, "samplebufferfull").then(() => "full");
  profilers.push(profiler);
}

function stopAll() {
  return Promise.all(profilers.splice(0).map(profiler => profiler.stop()));
}

function workInTask() {
  work(1000);
}
