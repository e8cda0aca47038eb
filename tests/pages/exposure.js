/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

runTest(() => {
  const descriptor = name => {
    const { get, set, value, enumerable } = Object.getOwnPropertyDescriptor(Profiler.prototype, name);
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
    sampleInterval: descriptor("sampleInterval"),
    stopped: descriptor("stopped"),
    stop: descriptor("stop"),
    onsamplebufferfull: descriptor("onsamplebufferfull"),
    profile: {
      type: typeof Performance.prototype.profile,
      length: Performance.prototype.profile.length,
    },
  };
});
