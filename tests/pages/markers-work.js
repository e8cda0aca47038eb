/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Work of each kind for a document or a worker. It takes some hundred milliseconds.

const TIME = 400;

// Adds elements to a document. All of them change with the classes of its body.
function fill(target) {
  const style = target.createElement("style");
  style.textContent = `
    .blue p { color: blue; background-color: yellow; }
    .narrow { width: 20em; }
    .narrow p { padding-left: 3px; }`;
  target.head.append(style);
  for (let i = 0; i < 1500; i++) {
    const paragraph = target.createElement("p");
    paragraph.textContent = `Paragraph ${i} has a few words, and so it has a few lines.`;
    target.body.append(paragraph);
  }
}

// Steps take most of that time, however seldom the thread gets a processor. A step that takes much longer than the fastest one
// was interrupted, and could not be sampled meanwhile.
function repeat(step) {
  let worked = 0;
  let fastest = Infinity;
  while (worked < TIME) {
    const begin = performance.now();
    step();
    const duration = performance.now() - begin;
    fastest = Math.min(fastest, duration);
    // Short steps are not measured exactly. At least the clock advances.
    worked += Math.max(Math.min(duration, Math.max(2 * fastest, 1)), 0.001);
  }
}

function forceStyle(target) {
  target.body.classList.toggle("blue");
  return target.defaultView.getComputedStyle(target.body.lastChild).color;
}

function forceLayout(target) {
  target.body.classList.toggle("narrow");
  return target.body.offsetHeight;
}

// On a busy machine there may be few frames in that time.
async function render(target, leastFrames = 1) {
  const end = performance.now() + TIME;
  for (let frames = 0; frames < leastFrames || performance.now() < end; frames++) {
    target.body.classList.toggle("narrow");
    await new Promise(resolve => { target.defaultView.requestAnimationFrame(resolve); });
  }
}

function makeGarbage() {
  let kept = [];
  for (let i = 0; i < 20_000; i++) {
    kept.push({ i, next: kept[i >> 1], text: `${i}` });
  }
  return kept;
}

function spin() {
  let x = 0;
  for (let i = 0; i < 10_000; i++) {
    x = (Math.imul(x, 31) + i) | 0;
  }
  return x;
}

async function profile(work) {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  await work();
  return profiler.stop();
}
