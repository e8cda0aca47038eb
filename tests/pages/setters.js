/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

const NAMES = [
  "frames", "resources", "samples", "stacks", "name", "resourceId", "line", "column", "parentId", "frameId",
  "timestamp", "stackId", "droppedEntriesCount",
];

function inner() {
  return work(300);
}

runTest(async () => {
  const seen = [];
  for (const name of NAMES) {
    Object.defineProperty(Object.prototype, name, {
      configurable: true,
      get() { return undefined; },
      set(value) {
        seen.push([name, typeof value]);
        throw new EvalError("the setter of the page");
      },
    });
  }
  const profiler = new Profiler(Object.assign(Object.create(null), { sampleInterval: 1, maxBufferSize: 10_000 }));
  inner();
  const trace = await profiler.stop();
  const text = JSON.stringify(trace);
  for (const name of NAMES) {
    delete Object.prototype[name];
  }
  return { seen, trace: JSON.parse(text) };
});
