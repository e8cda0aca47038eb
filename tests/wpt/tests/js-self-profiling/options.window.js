// META: timeout=long
/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Both ways to start a profiler, as functions that return a promise.
const starters = {
  "new Profiler()": async (...options) => new Profiler(...options),
  "performance.profile()": (...options) => performance.profile(...options),
};

const valid = { sampleInterval: 10, maxBufferSize: 10 };

// Works until many samples have been due.
function outlast(profiler) {
  let last = performance.now();
  for (let worked = 0; worked < 30 * profiler.sampleInterval;) {
    const now = performance.now();
    // A thread that waits for a processor meanwhile is not sampled.
    worked += Math.min(now - last, 1);
    last = now;
  }
}

for (const [name, start] of Object.entries(starters)) {
  for (const [what, options] of [
    ["no argument", []],
    ["undefined", [undefined]],
    ["null", [null]],
    ["a number", [10]],
    ["a string", ["sampleInterval"]],
    ["an empty dictionary", [{}]],
    ["no sampleInterval", [{ maxBufferSize: 10 }]],
    ["no maxBufferSize", [{ sampleInterval: 10 }]],
    ["an undefined sampleInterval", [{ ...valid, sampleInterval: undefined }]],
    ["an undefined maxBufferSize", [{ ...valid, maxBufferSize: undefined }]],
    ["a sampleInterval that is NaN", [{ ...valid, sampleInterval: NaN }]],
    ["an infinite sampleInterval", [{ ...valid, sampleInterval: Infinity }]],
    ["a sampleInterval that is a symbol", [{ ...valid, sampleInterval: Symbol() }]],
    ["a sampleInterval that is a BigInt", [{ ...valid, sampleInterval: 10n }]],
    ["a maxBufferSize that is a BigInt", [{ ...valid, maxBufferSize: 10n }]],
    // Options are converted before their values are checked.
    ["a negative sampleInterval and no maxBufferSize", [{ sampleInterval: -1 }]],
  ]) {
    promise_test(t => promise_rejects_js(t, TypeError, start(...options)), `${name}: ${what} is a TypeError`);
  }

  for (const sampleInterval of [-1, -0.001, -Number.MAX_VALUE]) {
    promise_test(
      t => promise_rejects_js(t, RangeError, start({ ...valid, sampleInterval })),
      `${name}: a sampleInterval of ${sampleInterval} is a RangeError`);
  }

  for (const [sampleInterval, expected] of [
    [0, 1], [-0, 1], [0.5, 1], [1, 1], [1.9, 1], [10.5, 10], ["20", 20], [true, 1], [null, 1],
  ]) {
    promise_test(async () => {
      const profiler = await start({ ...valid, sampleInterval });
      assert_equals(profiler.sampleInterval, expected);
      await profiler.stop();
    }, `${name}: a sampleInterval of ${format_value(sampleInterval)} is supported as ${expected}`);
  }

  // ToUint32, since neither [EnforceRange] nor [Clamp] is given.
  for (const [maxBufferSize, expected] of [
    [2, 2], [2.9, 2], ["2", 2], [2 ** 32 + 2, 2], [-(2 ** 32) + 2, 2], [0, 0], [NaN, 0], [2 ** 32, 0], [Infinity, 0],
    [null, 0],
  ]) {
    promise_test(async () => {
      const profiler = await start({ sampleInterval: 1, maxBufferSize });
      outlast(profiler);
      assert_equals((await profiler.stop()).samples.length, expected);
    }, `${name}: a maxBufferSize of ${format_value(maxBufferSize)} holds ${expected} samples`);
  }
  for (const maxBufferSize of [-1, 2 ** 32 - 1, Number.MAX_SAFE_INTEGER]) {
    promise_test(async () => {
      const profiler = await start({ sampleInterval: 1, maxBufferSize });
      outlast(profiler);
      assert_greater_than((await profiler.stop()).samples.length, 2);
      assert_true(profiler.stopped);
    }, `${name}: a maxBufferSize of ${maxBufferSize} is large`);
  }

  promise_test(async () => {
    const seen = [];
    const options = {};
    for (const [key, value] of Object.entries(valid)) {
      Object.defineProperty(options, key, {
        get() {
          seen.push(key);
          return { valueOf() { seen.push(`${key} as a number`); return value; } };
        },
      });
    }
    await (await start(options)).stop();
    assert_array_equals(seen, [
      "maxBufferSize", "maxBufferSize as a number", "sampleInterval", "sampleInterval as a number",
    ]);
  }, `${name}: members are read and converted in the order of their names, each once`);

  promise_test(async t => {
    const error = new Error("from the getter");
    const options = { get maxBufferSize() { throw error; }, get sampleInterval() { return assert_unreached(); } };
    await promise_rejects_exactly(t, error, start(options));
  }, `${name}: an exception of a getter is passed on, and the next member is not read`);
}

test(() => {
  assert_equals(performance.profile.length, 1);
  const promise = performance.profile();
  assert_true(promise instanceof Promise, "it rejects instead of throwing");
  promise.catch(() => {});
}, "performance.profile() returns a promise for any arguments");
