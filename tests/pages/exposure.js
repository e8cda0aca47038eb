/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Also called in a worker.
function exposed() {
  const descriptor = (prototype, name) => {
    const { get, set, value, enumerable } = Object.getOwnPropertyDescriptor(prototype, name);
    return {
      get: typeof get, set: typeof set, value: typeof value, enumerable,
      length: value?.length ?? null,
    };
  };
  return {
    constructor: {
      type: typeof Profiler,
      name: Profiler.name,
      length: Profiler.length,
      isEventTarget: Object.getPrototypeOf(Profiler) === EventTarget
        && Object.getPrototypeOf(Profiler.prototype) === EventTarget.prototype,
      tag: Profiler.prototype[Symbol.toStringTag],
    },
    members: Object.getOwnPropertyNames(Profiler.prototype).sort(),
    sampleInterval: descriptor(Profiler.prototype, "sampleInterval"),
    stopped: descriptor(Profiler.prototype, "stopped"),
    stop: descriptor(Profiler.prototype, "stop"),
    onsamplebufferfull: descriptor(Profiler.prototype, "onsamplebufferfull"),
    profile: {
      type: typeof Performance.prototype.profile,
      length: Performance.prototype.profile.length,
      isOnGlobal: performance.profile === Performance.prototype.profile,
    },
    entry: {
      isPerformanceEntry: Object.getPrototypeOf(PerformanceProfileEntry) === PerformanceEntry
        && Object.getPrototypeOf(PerformanceProfileEntry.prototype) === PerformanceEntry.prototype,
      members: Object.getOwnPropertyNames(PerformanceProfileEntry.prototype).sort(),
      trace: descriptor(PerformanceProfileEntry.prototype, "trace"),
      toJSON: descriptor(PerformanceProfileEntry.prototype, "toJSON"),
      isSupported: PerformanceObserver.supportedEntryTypes.includes("profile"),
    },
  };
}

runTest(async () => {
  const source = `${exposed}\npostMessage(exposed());`;
  const worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  const { data } = await event(worker, "message");
  worker.terminate();
  return { window: exposed(), worker: data };
});
