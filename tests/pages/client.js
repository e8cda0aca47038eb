/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Does what clients that collect profiles in production do, without knowledge of a particular browser.

const INTERVAL = 10;
const SECTIONS = 3;

let unsupportedFor = "";

function start(maxBufferSize) {
  if (typeof globalThis.Profiler !== "function") {
    unsupportedFor = "no constructor";
    return undefined;
  }
  try {
    return new Profiler({ sampleInterval: INTERVAL, maxBufferSize });
  } catch (error) {
    // A page that may not profile gets an Error, and goes on without profiling.
    if (error instanceof Error && error.message.includes("disabled by Document Policy")) {
      unsupportedFor = "policy";
      return undefined;
    }
    throw error;
  }
}

// Collects sections without gaps: the next profiler starts before the full one stops.
function collect(sections, done) {
  // The first sample is taken in the constructor.
  const started = performance.now();
  const profiler = start(20);
  if (!profiler) {
    done(sections);
    return;
  }
  profiler.addEventListener("samplebufferfull", async () => {
    const isLast = sections.length === SECTIONS - 1;
    const section = { started };
    sections.push(section);
    if (!isLast) {
      collect(sections, done);
    }
    const trace = await profiler.stop();
    // Clients copy traces with more members, and send them as text or to a worker.
    Object.assign(section, trace, { interval: profiler.sampleInterval, ended: performance.now() });
    if (isLast) {
      done(sections);
    }
  }, { once: true });
}

// The names of a sample's functions, from the leaf.
function stackOf(trace, { stackId }) {
  const names = [];
  for (let id = stackId; id !== undefined; id = trace.stacks[id].parentId) {
    names.push(trace.frames[trace.stacks[id].frameId].name);
  }
  return names;
}

function busy() {
  return work(100);
}

runTest(async () => {
  const collected = new Promise(resolve => collect([], resolve));
  let finished = false;
  collected.then(() => { finished = true; });
  while (!finished) {
    busy();
    await task();
  }
  const sections = await collected;

  // One more profiler, which the page stops twice.
  const whole = start(Number.MAX_SAFE_INTEGER);
  let manual;
  if (whole) {
    for (let i = 0; i < 20; i++) {
      busy();
    }
    const trace = await whole.stop();
    const again = await whole.stop().catch(error => error.name);
    manual = { again, stopped: whole.stopped, clone: structuredClone(trace) };
  }
  const texts = sections.map(section => JSON.stringify(section));
  return {
    unsupportedFor,
    sections: texts.map(text => {
      const { started, ended, interval, ...trace } = JSON.parse(text);
      return { started, ended, interval, trace };
    }),
    stacks: sections.map(trace => trace.samples.map(sample => stackOf(trace, sample))),
    manual,
  };
});
