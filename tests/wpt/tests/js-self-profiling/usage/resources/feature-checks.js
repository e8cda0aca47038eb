/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Each check finds out in its own way whether the page may profile. No check may throw.

// After getsentry/sentry-javascript, packages/browser/src/profiling/utils.ts: a constructor that
// failed once is not tried again in the session.
function sentry() {
  let failed = false;
  const start = () => {
    const Constructor = window.Profiler;
    if (failed || typeof Constructor !== "function") {
      return undefined;
    }
    try {
      return new Constructor({ sampleInterval: 10, maxBufferSize: Math.floor(30_000 / 10) });
    } catch {
      failed = true;
      return undefined;
    }
  };
  const profilers = [start(), start()];
  profilers.forEach(profiler => profiler?.stop());
  return profilers.map(profiler => profiler !== undefined);
}

// After DataDog/browser-sdk, packages/browser-rum/src/domain/profiling/datadogProfiler.ts: an error
// whose message says that Document Policy forbids profiling tells the author to check the headers.
function datadog() {
  if (!globalThis.Profiler) {
    return "not-supported-by-browser";
  }
  try {
    new globalThis.Profiler({ sampleInterval: 10, maxBufferSize: 9000 }).stop();
    return "running";
  } catch (error) {
    return error instanceof Error && error.message.includes("disabled by Document Policy")
      ? "missing-document-policy-header"
      : "unexpected-exception";
  }
}

// After the worker's part in a branch of DataDog/browser-sdk,
// packages/browser-rum/src/domain/profiling/workerProfilingAgent.ts: the error's name decides.
function errorName() {
  try {
    new self.Profiler({ sampleInterval: 10, maxBufferSize: 100 }).stop();
    return null;
  } catch ({ name }) {
    return name;
  }
}

// After pmeenan/rumcap, samples/capture-tool/spike.mjs: a missing interface is told from a missing
// permission, and the actual interval is recorded.
function rumcap() {
  let status = "unsupported";
  let interval = null;
  try {
    if (typeof Profiler === "function") {
      const profiler = new Profiler({ sampleInterval: 2, maxBufferSize: 30_000 });
      interval = profiler.sampleInterval;
      status = "started";
      profiler.stop();
    } else {
      status = "no constructor";
    }
  } catch (error) {
    status = `threw ${error && error.name}`;
  }
  const there = typeof window.Profiler !== "undefined";
  const profiler = status === "started" ? "available" : there ? "needs a policy" : "unsupported";
  return { status, interval, profiler };
}

// After victor-homyakov/self-profiling-api-demo, src/profiler/profiler.ts: the code first looks for
// everything that the upload needs.
function homyakov() {
  const needed = [PerformanceObserver, CompressionStream].every(part => typeof part !== "undefined");
  if (!needed || !window.Profiler) {
    return false;
  }
  try {
    new window.Profiler({ maxBufferSize: 1000, sampleInterval: 1 }).stop();
    return true;
  } catch {
    return false;
  }
}

// After jupyterlab/ui-profiler, src/jsBenchmarks.ts and src/benchmark.ts: the choice is offered if
// the interface exists. Choosing it may then fail, with a reason.
async function jupyterlab() {
  const offered = typeof window.Profiler !== "undefined";
  const started = await (async () => new window.Profiler({ sampleInterval: 10, maxBufferSize: 100 }))()
    .then(profiler => profiler.stop())
    .then(() => true, () => false);
  return { offered, started };
}

(async () => {
  parent.postMessage({
    sentry: sentry(),
    datadog: datadog(),
    errorName: errorName(),
    rumcap: rumcap(),
    homyakov: homyakov(),
    jupyterlab: await jupyterlab(),
  }, "*");
})();
