/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The differences from an object that JSON.parse returns, by path.
function oddities(value, path = "trace") {
  if (typeof value !== "object") {
    return ["string", "number"].includes(typeof value) ? [] : [`${path} is ${typeof value}`];
  }
  const odd = [];
  const prototype = Array.isArray(value) ? Array.prototype : Object.prototype;
  if (value === null || Object.getPrototypeOf(value) !== prototype) {
    return [`${path} is not a plain object`];
  }
  if (Object.getOwnPropertySymbols(value).length > 0 || !Object.isExtensible(value)) {
    odd.push(`${path} has symbols or is not extensible`);
  }
  for (const name of Object.getOwnPropertyNames(value)) {
    if (name === "length" && Array.isArray(value)) {
      continue;
    }
    const property = Object.getOwnPropertyDescriptor(value, name);
    if (!("value" in property) || !property.writable || !property.enumerable || !property.configurable) {
      odd.push(`${path}.${name} is not a plain property`);
    }
    odd.push(...oddities(property.value, `${path}.${name}`));
  }
  return odd;
}

function inner() {
  return work(150);
}

function outer() {
  return inner() + work(50);
}

runTest(async () => {
  const start = performance.now();
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 10_000 });
  outer();
  // Nothing runs for a while.
  for (let i = 0; i < 100; i++) {
    await task();
  }
  outer();
  const promise = profiler.stop();
  const stop = performance.now();
  // From here on nothing is in the trace.
  work(100);
  const trace = await promise;
  return {
    start,
    stop,
    trace,
    text: JSON.stringify(trace),
    clone: JSON.stringify(structuredClone(trace)),
    oddities: oddities(trace),
    members: Object.keys(trace).sort(),
  };
});
