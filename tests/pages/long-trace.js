/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// More samples than one task makes objects for, and fewer than two tasks do.
const SAMPLES = 40_000;

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

runTest(async () => {
  const windows = { plain: window, read: window, full: window };
  const frames = {};
  for (const name of ["removed", "removedBefore"]) {
    frames[name] = await addFrame();
    windows[name] = frames[name].contentWindow;
  }
  const profilers = {};
  const full = [];
  for (const [name, { Profiler }] of Object.entries(windows)) {
    profilers[name] = new Profiler({ sampleInterval: 0, maxBufferSize: SAMPLES });
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
  const wanted = [[window, 3], [windows.removed, 1], [windows.removedBefore, 1]];
  while (wanted.some(([target, count]) => entries(target).length < count)) {
    await task();
  }

  // The parts are made in tasks, between which others run.
  let isMade = false;
  const promise = profilers.plain.stop().finally(() => { isMade = true; });
  await Promise.resolve();
  const madeAtOnce = isMade;
  const plain = await promise;

  // The entry has the whole object while the parts are being made.
  const stopped = profilers.read.stop();
  const sameEntries = entries().filter(entry => entry.trace.samples.length === SAMPLES).length;
  const read = await stopped;

  const removed = outcome(profilers.removed.stop());
  frames.removed.remove();
  frames.removedBefore.remove();
  return {
    madeAtOnce,
    plain: summary(plain),
    sameEntries,
    isOfEntry: entries().some(entry => entry.trace === read),
    removed: await removed,
    removedBefore: await outcome(profilers.removedBefore.stop()),
  };
});
