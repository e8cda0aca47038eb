/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

const FILTERS = {
  nothing: [],
  undefined: [undefined],
  null: [null],
  empty: [{}],
  name: [{ name: "a" }],
  "other name": [{ name: "c" }],
  type: [{ entryType: "mark" }],
  "other type": [{ entryType: "no such type" }],
  both: [{ name: "a", entryType: "measure" }],
  initiator: [{ initiatorType: "script" }],
  "initiator and type": [{ initiatorType: "script", entryType: "mark" }],
  "other initiator": [{ initiatorType: "beacon" }],
  "unknown member": [{ colour: "red" }],
  converted: [{ name: { toString() { return "a"; } } }],
  profile: [{ entryType: "profile", name: "profiler" }],
};

function errorOf(call) {
  try {
    call();
    return "none";
  } catch (error) {
    return error.name;
  }
}

runTest(async () => {
  const observed = new Promise(resolve => {
    const observer = new PerformanceObserver(list => {
      if (list.getEntriesByType("profile").length > 0) {
        resolve(list);
      }
    });
    observer.observe({ entryTypes: ["mark", "measure", "profile"] });
  });
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 10 });
  await task();
  await profiler.stop();
  // In the same task as the entry of the session, so that one list has all entries.
  performance.mark("b");
  performance.mark("a");
  performance.measure("a", "b", "a");
  performance.mark("past", { startTime: 0 });
  const list = await observed;
  const results = {};
  for (const [name, filter] of Object.entries(FILTERS)) {
    const describe = from => from.getEntries(...filter)
      .filter(entry => entry.entryType !== "paint" && entry.entryType !== "visibility-state")
      .map(entry => `${entry.entryType} ${entry.name.replace(/.*\//, "")}`);
    results[name] = { performance: describe(performance), list: describe(list) };
  }
  return {
    results,
    errors: [1, "name", Symbol("s")].map(filter => [
      errorOf(() => performance.getEntries(filter)),
      errorOf(() => list.getEntries(filter)),
    ]),
    lengths: [performance.getEntries.length, list.getEntries.length],
    isSorted: performance.getEntries().every(
      (entry, index, all) => index === 0 || entry.startTime >= all[index - 1].startTime),
  };
});
