/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Every way in which a page gets samples.

function call() {
  visible(hiddenSpin);
}

function lastEntry() {
  return performance.getEntriesByType("profile").at(-1);
}

const CASES = {
  "the object": () => traced(call),
  async "json-gzip"() {
    const result = await traced(call, { format: "json-gzip" });
    return { ...result, trace: JSON.parse(await decompressed(result.trace)) };
  },
  async "JSON.stringify"() {
    const result = await traced(call);
    return { ...result, trace: JSON.parse(JSON.stringify(result.trace)) };
  },
  async "structured clone"() {
    const result = await traced(call);
    return { ...result, trace: structuredClone(result.trace) };
  },
  async "entry of the timeline"() {
    const result = await traced(call);
    return { ...result, trace: lastEntry().trace };
  },
  async "json-gzip in the timeline"() {
    const result = await traced(call, { format: "json-gzip" });
    return { ...result, trace: JSON.parse(await decompressed(lastEntry().trace)) };
  },
  async "observer"() {
    const observed = new Promise(resolve => {
      new PerformanceObserver((list, observer) => {
        observer.disconnect();
        resolve(list.getEntries()[0].trace);
      }).observe({ type: "profile" });
    });
    const result = await traced(call);
    return { ...result, trace: await observed };
  },
  async "full buffer"() {
    windows.length = 0;
    const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 20 });
    const full = event(profiler, "samplebufferfull");
    call();
    await full;
    return { trace: await profiler.stop(), windows: [...windows] };
  },
  async "profile()"() {
    windows.length = 0;
    const profiler = await performance.profile({ sampleInterval: 1, maxBufferSize: 100_000 });
    call();
    await task();
    return { trace: await profiler.stop(), windows: [...windows] };
  },
  async "one of two profilers"() {
    const first = new Profiler({ sampleInterval: 2, maxBufferSize: 100_000 });
    const result = await traced(call);
    return { ...result, trace: await first.stop() };
  },
  async "profiler that starts below a muted script"() {
    windows.length = 0;
    let profiler;
    visible(() => hiddenCall(() => {
      profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
      hiddenSpin();
    }));
    await task();
    return { trace: await profiler.stop(), windows: [...windows] };
  },
  async "profiler that stops below a muted script"() {
    windows.length = 0;
    const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
    let stopped;
    visible(() => hiddenCall(() => {
      hiddenSpin();
      stopped = profiler.stop();
    }));
    return { trace: await stopped, windows: [...windows] };
  },
};

loadScript(HIDDEN_SCRIPT).then(() => runCases(CASES));
