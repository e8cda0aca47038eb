/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

runTest(async () => {
  const full = new Profiler({ sampleInterval: 1, maxBufferSize: 3 });
  const other = new Profiler({ sampleInterval: 1, maxBufferSize: Number.MAX_SAFE_INTEGER });
  const profiled = await performance.profile({ sampleInterval: 1, maxBufferSize: 3 });
  const empty = new Profiler({ sampleInterval: 1, maxBufferSize: 0 });
  const events = { full: [], other: [], profiled: [], empty: [], attribute: [] };
  const listeners = { full, other, profiled, empty };
  for (const [name, profiler] of Object.entries(listeners)) {
    profiler.addEventListener("samplebufferfull", event => {
      events[name].push({
        type: event.type,
        isTrusted: event.isTrusted,
        bubbles: event.bubbles,
        cancelable: event.cancelable,
        isPlain: Object.getPrototypeOf(event) === Event.prototype,
        isAtTarget: event.target === profiler,
        stopped: profiler.stopped,
      });
    });
  }
  // The attribute's handler should be called too.
  full.onsamplebufferfull = function (event) {
    events.attribute.push({ isThis: this === full, type: event.type });
  };
  const handler = typeof full.onsamplebufferfull;
  await Promise.all([full, profiled, empty].map(profiler => event(profiler, "samplebufferfull")));
  // When another one that works in the same time is full, the one with room has more samples than that.
  const more = new Profiler({ sampleInterval: 1, maxBufferSize: 50 });
  let isMoreFull = false;
  more.addEventListener("samplebufferfull", () => { isMoreFull = true; });
  while (!isMoreFull) {
    work(20);
    await task();
  }
  await more.stop();
  // Another event would come in one of these tasks.
  for (let i = 0; i < 20; i++) {
    await task();
  }
  const stopped = { full: full.stopped, other: other.stopped };
  const traces = {};
  for (const [name, profiler] of Object.entries(listeners)) {
    traces[name] = await profiler.stop();
  }
  return {
    events, handler, stopped, traces,
    again: await full.stop().catch(error => error.name),
    profiledAgain: await profiled.stop(),
    otherStopped: other.stopped,
  };
});
