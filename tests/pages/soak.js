/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

const MILLISECONDS = 60_000;

let exports;
let serial = 0;

function check(isRight, what) {
  if (!isRight) {
    throw new Error(`wrong result: ${what}`);
  }
}

function churnGarbage() {
  const kept = [];
  for (let i = 0; i < 3000; i++) {
    const text = `number ${i} of ${serial}`;
    kept.push({ text, list: [i, text.length, { i }], view: new Uint8Array(i % 64) });
    if (i % 1000 === 999) {
      kept.splice(0, 900);
    }
  }
  check(kept.at(-1).list[2].i === 2999, "garbage");
  return kept;
}

function compile() {
  const salt = ++serial;
  const compiled = new Function("n", `
    let x = ${salt};
    for (let i = 0; i < n; i++) {
      x = (Math.imul(x, 31) + i) | 0;
    }
    return x;`);
  const x = compiled(20_000);
  check(x === reference(salt, 20_000), "new Function");
}

function reference(x, n) {
  for (let i = 0; i < n; i++) {
    x = (Math.imul(x, 31) + i) | 0;
  }
  return x;
}

function throwDeep(depth) {
  if (depth === 0) {
    throw new RangeError("deep");
  }
  try {
    return throwDeep(depth - 1);
  } finally {
    serial++;
  }
}

function throwAndCatch() {
  let caught = 0;
  for (let i = 0; i < 100; i++) {
    try {
      throwDeep(20);
    } catch (error) {
      caught += error instanceof RangeError ? 1 : 0;
    }
  }
  check(caught === 100, "exceptions");
}

function calledByWasm(n) {
  return reference(n, 50) & 1;
}

function runWasm() {
  exports.callBack(500);
  check(exports.spin(50_000) === WASM_SPIN, "wasm");
}

const WASM_SPIN = spinLikeWasm(50_000);

function* count(n) {
  for (let i = 0; i < n; i++) {
    yield i;
  }
}

function* countTwice(n) {
  yield* count(n);
  yield* count(n);
}

function runGenerators() {
  let sum = 0;
  for (const n of countTwice(2000)) {
    sum += n;
  }
  check(sum === 2000 * 1999, "generators");
}

const TEXT = "the quick brown fox jumps over the lazy dog ".repeat(200);

function replaceWord(word) {
  return word.toUpperCase();
}

function matchText() {
  check(TEXT.match(/(?:q|l)\w*\s+\w+/g).length === 400, "regular expression");
  check(TEXT.replace(/\b(?:fox|dog)\b/g, replaceWord).endsWith("DOG "), "replacement");
  check(!/^(?:a|aa)+$/.test("a".repeat(20) + "b"), "backtracking");
}

function endlessly(depth) {
  return endlessly(depth + 1) + 1;
}

function overflow() {
  let name = "none";
  try {
    endlessly(0);
  } catch (error) {
    name = error.name;
  }
  check(["InternalError", "RangeError"].includes(name), `stack overflow: ${name}`);
}

// The engine recognises `a - b` and sorts without calling the function.
function compareNumbers(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

function sortNumbers() {
  const numbers = Array.from({ length: 2000 }, (_, i) => Math.imul(i, 2654435761) | 0);
  numbers.sort(compareNumbers);
  check(numbers.every(isNotBefore), "sort");
}

function isNotBefore(number, i, numbers) {
  return i === 0 || numbers[i - 1] <= number;
}

function reviveDate(key, value) {
  return key === "date" ? new Date(value) : value;
}

function runJSON() {
  const text = JSON.stringify({ list: Array(500).fill({ date: "2000-01-01", n: 1 }) });
  check(JSON.parse(text, reviveDate).list[499].date.getTime() === 946684800000, "JSON");
}

function slice() {
  churnGarbage();
  compile();
  throwAndCatch();
  runWasm();
  runGenerators();
  matchText();
  overflow();
  sortNumbers();
  runJSON();
}

async function slices(end) {
  let count = 0;
  while (performance.now() < end) {
    slice();
    count++;
    await task();
  }
  return count;
}

runTest(async () => {
  exports = instantiateWasm(calledByWasm);
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 200_000 });
  const start = performance.now();
  const before = await checkpoint("start");
  const first = await slices(start + MILLISECONDS / 2);
  const middle = await checkpoint("middle");
  // Other profilers start and stop meanwhile.
  const other = new Profiler({ sampleInterval: 3, maxBufferSize: 100 });
  const second = await slices(start + MILLISECONDS);
  const otherTrace = await other.stop();
  const end = performance.now();
  const trace = await profiler.stop();
  return { start, end, slices: first + second, threads: [before, middle], trace, otherTrace };
});
