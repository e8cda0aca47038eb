/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// More samples than two tasks make objects for. Their compressed text is longer than what one task copies.
const SAMPLES = 40_000;

// The profilers that give a compressed text.
const TEXTS = ["text", "readText"];

const BOUND = 20_000;

function outcome(promise) {
  const unsettled = new Promise(resolve => setTimeout(resolve, BOUND, "unsettled"));
  return Promise.race([promise.then(() => "resolved", error => error.name), unsettled]);
}

function summary(trace) {
  const times = trace.samples.map(sample => sample.timestamp);
  const { stacks } = trace;
  return {
    members: Object.keys(trace),
    samples: trace.samples.length,
    holes: SAMPLES - Object.keys(trace.samples).length,
    areInOrder: times.every((time, i) => i === 0 || time >= times[i - 1]),
    unknownStacks: trace.samples.filter(({ stackId }) => stackId !== undefined && !stacks[stackId]).length,
  };
}

// Stops a profiler whose trace has arrived. `atOnce` says whether no other task could run before the promise was resolved.
async function stopped(profiler) {
  let isMade = false;
  const promise = profiler.stop().finally(() => { isMade = true; });
  await Promise.resolve();
  const atOnce = isMade;
  return { atOnce, trace: await promise };
}

runTest(async () => {
  const windows = { plain: window, read: window, full: window, text: window, readText: window };
  const frames = {};
  for (const name of ["removed", "removedBefore"]) {
    frames[name] = await addFrame();
    windows[name] = frames[name].contentWindow;
  }
  const profilers = {};
  const full = [];
  for (const [name, { Profiler }] of Object.entries(windows)) {
    const format = TEXTS.includes(name) ? "json-gzip" : "default";
    profilers[name] = new Profiler({ sampleInterval: 0, maxBufferSize: SAMPLES, format });
    full.push(event(profilers[name], "samplebufferfull"));
  }
  let areFull = false;
  const waiting = Promise.all(full).then(() => { areFull = true; });
  while (!areFull) {
    work(100);
    await task();
  }
  await waiting;
  const entries = (target = window) => target.performance.getEntriesByType("profile");
  const wanted = [[window, 5], [windows.removed, 1], [windows.removedBefore, 1]];
  while (wanted.some(([target, count]) => entries(target).length < count)) {
    await task();
  }

  // The parts are made in tasks, between which others run.
  const plain = await stopped(profilers.plain);
  const text = await stopped(profilers.text);

  // The entries have the whole trace while the parts are being made.
  const promises = [profilers.read.stop(), profilers.readText.stop()];
  const traces = entries().map(({ trace }) => trace);
  const [read, readText] = await Promise.all(promises);
  const texts = traces.filter(trace => trace instanceof ArrayBuffer);
  const objects = traces.filter(trace => !texts.includes(trace));

  const removed = outcome(profilers.removed.stop());
  frames.removed.remove();
  frames.removedBefore.remove();
  return {
    atOnce: [plain.atOnce, text.atOnce],
    textBytes: text.trace.byteLength,
    objects: [plain.trace, ...objects].map(summary),
    texts: (await Promise.all([text.trace, ...texts].map(decompressed))).map(json => summary(JSON.parse(json))),
    areOfEntries: objects.includes(read) && texts.includes(readText),
    removed: await removed,
    removedBefore: await outcome(profilers.removedBefore.stop()),
  };
});
