/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

function inner() {
  return work(100);
}

const outer = () => inner() + work(50);

// The different orders of members in the objects of an array.
function orders(objects) {
  return [...new Set(objects.map(object => Object.keys(object).join()))].sort();
}

function memberOrders(trace) {
  const { frames, samples, stacks } = trace;
  return { trace: orders([trace]), frames: orders(frames), samples: orders(samples), stacks: orders(stacks) };
}

runTest(async () => {
  const options = { sampleInterval: 1, maxBufferSize: 100_000 };
  const zipped = await performance.profile({ ...options, format: "json-gzip" });
  const plain = new Profiler({ ...options, format: "default" });
  const without = await performance.profile(options);
  // So that all of them have samples without a stack.
  await new Promise(resolve => setTimeout(resolve, 50));
  const enough = new Profiler({ sampleInterval: 1, maxBufferSize: 200 });
  let isEnough = false;
  enough.addEventListener("samplebufferfull", () => { isEnough = true; });
  while (!isEnough) {
    outer();
    [3, 1, 2].sort((a, b) => { work(30); return a - b; });
    await task();
  }
  await enough.stop();
  const promise = zipped.stop();
  const promises = [promise, plain.stop(), without.stop()];
  const again = zipped.stop();
  const [bytes, trace, other] = await Promise.all(promises);
  const text = await decompressed(bytes);
  const parsed = JSON.parse(text);
  const full = new Profiler({ sampleInterval: 1, maxBufferSize: 3, format: "json-gzip", name: "full" });
  await event(full, "samplebufferfull");
  while (performance.getEntriesByName("full").length === 0) {
    await task();
  }
  const [entry] = performance.getEntriesByName("full");
  const rejections = [];
  for (const format of ["object", "JSON-GZIP", "", null, 1, {}]) {
    const caught = error => error.name;
    rejections.push(await performance.profile({ ...options, format }).then(() => "none", caught));
  }
  return {
    isBuffer: Object.prototype.toString.call(bytes),
    isSame: bytes === await again && bytes === await zipped.stop(),
    isEntrysTrace: performance.getEntriesByType("profile")
      .some(({ trace: entryTrace }) => entryTrace === bytes),
    head: [...new Uint8Array(bytes).slice(0, 3)],
    text,
    // Whether the text is the JSON of the default object with the same members.
    isStringified: JSON.stringify(parsed) === text,
    trace,
    isOtherPlain: Array.isArray(other.samples),
    orders: [memberOrders(parsed), memberOrders(trace)],
    full: {
      isSame: entry.trace === await full.stop(),
      sampleCount: entry.sampleCount,
      samples: JSON.parse(await decompressed(entry.trace)).samples.length,
      json: "trace" in JSON.parse(JSON.stringify(entry)),
    },
    rejections,
  };
});
