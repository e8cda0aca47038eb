/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// The trace that a page gets from Profiler.stop(), as viewer data. In the browser, the server reads such traces. This
// is for the page without the browser. Both make one event loop without a name, a kind and realms, and take the median
// of the time between samples as the interval.
strobe.webTrace = (() => {
  /** @type {Record<string, number>} */
  const MARKERS = { script: 1, gc: 2, style: 3, layout: 4, paint: 5, other: 6 };
  const UNKNOWN_KIND = 3;
  const DEFAULT_INTERVAL = 1;

  /** @param {any} value */
  function isWebTrace(value) {
    return ["resources", "frames", "stacks", "samples"].every(key => Array.isArray(value?.[key]));
  }

  /** @param {any} trace */
  function toViewerData(trace) {
    const resources = trace.resources.map((/** @type {any} */ url, /** @type {number} */ i) => (
      expect(typeof url === "string", url, `resources[${i}]`, "no text")));
    // A trace's frames are functions: it does not say where in them they were.
    /** @type {Record<string, any[]>} */
    const functions = { name: [], kind: [], resource: [], line: [], column: [], realm: [] };
    /** @type {Record<string, number[]>} */
    const frames = { function: [], line: [], column: [] };
    trace.frames.forEach((/** @type {any} */ frame, /** @type {number} */ i) => {
      functions.name.push(expect(typeof frame?.name === "string", frame?.name, `frames[${i}].name`, "no text"));
      functions.kind.push(UNKNOWN_KIND);
      functions.resource.push(id(frame.resourceId, resources.length, `frames[${i}].resourceId`));
      functions.line.push(frame.line ?? 0);
      functions.column.push(frame.column ?? 0);
      functions.realm.push(-1);
      frames.function.push(i);
      frames.line.push(0);
      frames.column.push(0);
    });
    /** @type {Record<string, number[]>} */
    const stacks = { parent: [], frame: [] };
    trace.stacks.forEach((/** @type {any} */ stack, /** @type {number} */ i) => {
      stacks.parent.push(id(stack?.parentId, i, `stacks[${i}].parentId`));
      const frame = id(stack.frameId, trace.frames.length, `stacks[${i}].frameId`);
      stacks.frame.push(expect(frame >= 0, frame, `stacks[${i}].frameId`, "missing"));
    });
    /** @type {Record<string, number[]>} */
    const samples = { time: [], stack: [], activity: [] };
    /** @type {number[]} */
    const differences = [];
    let last = 0;
    trace.samples.forEach((/** @type {any} */ sample, /** @type {number} */ i) => {
      const place = `samples[${i}].timestamp`;
      const time = expect(Number.isFinite(sample?.timestamp), sample?.timestamp, place, "no number");
      const microseconds = Math.round(time * 1000);
      expect(microseconds >= last, time, place, "earlier than the sample before");
      if (i > 0 && microseconds > last) {
        differences.push(microseconds - last);
      }
      samples.time.push(microseconds - last);
      last = microseconds;
      samples.stack.push(id(sample.stackId, trace.stacks.length, `samples[${i}].stackId`));
      const { marker } = sample;
      if (marker !== undefined && !Object.hasOwn(MARKERS, marker)) {
        throw new Error(`samples[${i}].marker: ${JSON.stringify(marker)} is not known`);
      }
      samples.activity.push(marker === undefined ? -1 : MARKERS[marker]);
    });
    differences.sort((a, b) => a - b);
    return {
      version: 2,
      interval: differences.length ? differences[differences.length >> 1] / 1000 : DEFAULT_INTERVAL,
      timeOrigin: null,
      processes: [{
        name: "", pid: null, ended: null,
        eventLoops: [{ name: "", kind: "unknown", documents: [], resources, realms: [], functions, frames, stacks, samples }],
      }],
    };
  }

  /** @param {any} value @param {number} length @param {string} place */
  function id(value, length, place) {
    if (value === undefined) {
      return -1;
    }
    const isThere = Number.isInteger(value) && value >= 0 && value < length;
    return expect(isThere, value, place, `not one of the ${length} there are`);
  }

  /** @param {boolean} condition @param {any} value @param {string} place @param {string} problem */
  function expect(condition, value, place, problem) {
    if (!condition) {
      throw new Error(`${place}: ${JSON.stringify(value) ?? "nothing"} is ${problem}`);
    }
    return value;
  }

  return { isWebTrace, toViewerData };
})();
