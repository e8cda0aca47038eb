/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

const options = { sampleInterval: 10, maxBufferSize: 10_000 };

function busy(milliseconds) {
  let last = performance.now();
  for (let worked = 0; worked < milliseconds;) {
    const now = performance.now();
    // A thread that waits for a processor meanwhile is not sampled.
    worked += Math.min(now - last, 1);
    last = now;
  }
}

// The frames of a sample, the innermost first. There are none if no code of the page ran.
function framesOf(trace, { stackId }) {
  const frames = [];
  for (let id = stackId; id !== undefined; id = trace.stacks[id].parentId) {
    frames.push(trace.frames[trace.stacks[id].frameId]);
  }
  return frames;
}

function sampledNames(trace) {
  return new Set(trace.samples.flatMap(sample => framesOf(trace, sample)).map(({ name }) => name));
}

function nextEvent(target, type) {
  return new Promise(resolve => target.addEventListener(type, resolve, { once: true }));
}

// A later task, after those that are queued now.
function laterTask() {
  return new Promise(resolve => setTimeout(resolve, 0));
}

// Works until the profiler's buffer is full, and returns the event.
async function fillBuffer(profiler) {
  const filled = nextEvent(profiler, "samplebufferfull");
  let full = false;
  filled.then(() => { full = true; });
  while (!full) {
    busy(20);
    await laterTask();
  }
  return filled;
}

// The first message of a page in a frame, and the frame, which is removed after the test.
async function messageOfFrame(t, url) {
  const frame = document.createElement("iframe");
  t.add_cleanup(() => frame.remove());
  frame.src = url;
  const said = new Promise(resolve => {
    addEventListener("message", function listener({ source, data }) {
      if (source === frame.contentWindow) {
        removeEventListener("message", listener);
        resolve(data);
      }
    });
  });
  document.body.append(frame);
  return { frame, data: await said };
}
