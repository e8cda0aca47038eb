/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Programs that make stacks of all kinds, for some milliseconds each. They need only the engine.

"use strict";

const kinds = {};

kinds.recursion = function () {
  function fibonacci(n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
  }
  return fibonacci(22);
};

kinds.deepRecursion = function () {
  let depth = 0;
  function deeper(...rest) {
    depth += 1;
    return deeper(depth, ...rest.slice(0, 3)) + 1;
  }
  try {
    deeper();
  } catch (error) {
    return error instanceof InternalError || error instanceof RangeError ? depth : -1;
  }
  return -2;
};

kinds.inlining = function () {
  const add = (a, b) => a + b;
  const double = (x) => add(x, x);
  const quadruple = (x) => double(double(x));
  let sum = 0;
  for (let i = 0; i < 200000; i++) {
    sum = (sum + quadruple(i)) | 0;
  }
  return sum;
};

kinds.closures = function () {
  const makers = [];
  for (let i = 0; i < 200; i++) {
    makers.push((x) => (y) => x * i + y);
  }
  let sum = 0;
  for (let round = 0; round < 50; round++) {
    for (const make of makers) {
      sum += make(round)(1);
    }
  }
  return sum;
};

kinds.generators = function () {
  function* numbers(n) {
    for (let i = 0; i < n; i++) {
      yield i;
    }
  }
  function* twice(n) {
    yield* numbers(n);
    yield* numbers(n);
  }
  let sum = 0;
  for (let round = 0; round < 50; round++) {
    for (const number of twice(100)) {
      sum += number;
    }
  }
  return sum;
};

kinds.exceptions = function () {
  function fail(n) {
    if (n === 0) {
      throw new Error("on purpose");
    }
    try {
      fail(n - 1);
    } finally {
      caught += 1;
    }
  }
  let caught = 0;
  for (let i = 0; i < 300; i++) {
    try {
      fail(i % 12);
    } catch (error) {
      caught += error.stack.length > 0 ? 1 : 0;
    }
  }
  return caught;
};

kinds.regularExpressions = function () {
  let count = 0;
  const text = "aaaaaaaaaaaaaaaaaaaaaab 2026-11-21 ünïcödé ".repeat(20);
  for (let i = 0; i < 20; i++) {
    count += text.match(/(a+)+b/gu).length;
    count += text.replace(/(\d+)-(\d+)-(\d+)/g, (all, year) => year + i).length;
    count += text.split(/\s+/).length;
  }
  return count;
};

kinds.sorting = function () {
  const compare = (a, b) => a - b;
  let state = 1;
  const random = () => (state = (state * 48271) % 2147483647);
  const numbers = Array.from({ length: 3000 }, random);
  numbers.sort(compare);
  return [...numbers].sort((a, b) => compare(b, a))[0];
};

kinds.arrays = function () {
  const numbers = Array.from({ length: 2000 }, (_, index) => index);
  let sum = 0;
  for (let round = 0; round < 10; round++) {
    sum += numbers
      .map((x) => x * 2)
      .filter((x) => x % 3 === 0)
      .reduce((a, b) => a + b, 0);
    numbers.forEach((x) => (sum -= x));
    sum += numbers.findIndex((x) => x === 1999) + numbers.flatMap((x) => [x, x]).length;
  }
  return sum;
};

kinds.strings = function () {
  let rope = "";
  for (let i = 0; i < 5000; i++) {
    rope += String.fromCharCode(97 + (i % 26)) + i;
  }
  return rope.toUpperCase().indexOf("Z4999") + rope.normalize().length + encodeURIComponent(rope).length;
};

kinds.json = function () {
  const tree = (depth) => (depth === 0 ? { leaf: [1, "two", null] } : { left: tree(depth - 1), right: tree(depth - 1) });
  const text = JSON.stringify(tree(8), (key, value) => value, 1);
  return JSON.stringify(JSON.parse(text, (key, value) => value)).length;
};

kinds.accessors = function () {
  class Point {
    #x = 0;
    get x() {
      return this.#x;
    }
    set x(value) {
      this.#x = value + 1;
    }
    static [Symbol.hasInstance](value) {
      return typeof value === "object";
    }
  }
  const point = new Point();
  let sum = 0;
  for (let i = 0; i < 20000; i++) {
    point.x = i;
    sum += point.x + (point instanceof Point ? 1 : 0);
  }
  return sum;
};

kinds.proxies = function () {
  const target = { value: 1 };
  const proxy = new Proxy(target, {
    get: (object, name) => Reflect.get(object, name),
    set: (object, name, value) => Reflect.set(object, name, value),
    has: () => true,
    ownKeys: (object) => Reflect.ownKeys(object),
  });
  let sum = 0;
  for (let i = 0; i < 5000; i++) {
    proxy.value = i;
    sum += proxy.value + ("any" in proxy ? 1 : 0) + Object.keys(proxy).length;
  }
  return sum;
};

kinds.evaluated = function () {
  let sum = 0;
  for (let i = 0; i < 60; i++) {
    sum += (0, eval)("(function evaluated(x) { for (let i = 0; i < 200; i++) x += i; return x; })(" + i + ")");
    sum += new Function("x", "let y = 0; while (y < 500) y += x; return y;")(1 + i);
  }
  return sum;
};

kinds.calls = function () {
  function callee(a, b) {
    return (arguments.length + a + b) | 0;
  }
  const bound = callee.bind(null, 1);
  let sum = 0;
  for (let i = 0; i < 10000; i++) {
    sum += bound(i) + callee.call(null, i, 1) + callee.apply(null, [i, i]) + Reflect.apply(callee, null, [1, i]);
    sum += callee(...[i, 2]) + callee(i);
    sum |= 0;
  }
  return sum;
};

kinds.collections = function () {
  const map = new Map();
  const set = new Set();
  for (let i = 0; i < 3000; i++) {
    map.set({ i }, i);
    set.add("key" + (i % 500));
  }
  let sum = 0;
  map.forEach((value, key) => (sum += value + key.i));
  for (const [key, value] of map) {
    sum += value - key.i;
  }
  return sum + set.size;
};

kinds.garbage = function () {
  let kept = null;
  for (let i = 0; i < 20000; i++) {
    kept = { previous: i % 100 === 0 ? null : kept, data: new Array(8).fill(i), text: "x" + i };
  }
  return kept.text.length;
};

kinds.bigNumbers = function () {
  let product = 1n;
  for (let i = 1n; i < 600n; i++) {
    product *= i;
  }
  return String(product).length + Math.fround(Math.sin(1e10) + Math.pow(2, 0.5));
};

kinds.typedArrays = function () {
  const bytes = new Uint8Array(1 << 16);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i + 8 <= bytes.length; i += 8) {
    view.setFloat64(i, i);
  }
  return bytes.sort((a, b) => b - a)[0] + Float64Array.from(bytes, (x) => x / 2).length;
};

kinds.iterators = function () {
  class Countdown {
    constructor(from) {
      this.from = from;
    }
    [Symbol.iterator]() {
      let left = this.from;
      return { next: () => ({ done: left === 0, value: left-- }), return: () => ({}) };
    }
  }
  let sum = 0;
  for (let i = 0; i < 50; i++) {
    const [first, ...rest] = new Countdown(60);
    sum += first + Math.max(...rest);
    for (const value of new Countdown(60)) {
      if (value < 30) {
        break;
      }
    }
  }
  return sum;
};

function wasm(bytes) {
  return new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(bytes))).exports;
}

// (func (export "fib") (param i32) (result i32) ...), which calls itself.
const FIBONACCI = [
  0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x06, 0x01, 0x60, 0x01, 0x7f, 0x01, 0x7f, 0x03, 0x02, 0x01,
  0x00, 0x07, 0x07, 0x01, 0x03, 0x66, 0x69, 0x62, 0x00, 0x00, 0x0a, 0x1e, 0x01, 0x1c, 0x00, 0x20, 0x00, 0x41, 0x02,
  0x48, 0x04, 0x7f, 0x20, 0x00, 0x05, 0x20, 0x00, 0x41, 0x01, 0x6b, 0x10, 0x00, 0x20, 0x00, 0x41, 0x02, 0x6b, 0x10,
  0x00, 0x6a, 0x0b, 0x0b,
];
// (memory 1) (func (export "load") (param i32) (result i32) local.get 0 i32.load)
const LOAD = [
  0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x06, 0x01, 0x60, 0x01, 0x7f, 0x01, 0x7f, 0x03, 0x02, 0x01,
  0x00, 0x05, 0x03, 0x01, 0x00, 0x01, 0x07, 0x08, 0x01, 0x04, 0x6c, 0x6f, 0x61, 0x64, 0x00, 0x00, 0x0a, 0x09, 0x01,
  0x07, 0x00, 0x20, 0x00, 0x28, 0x02, 0x00, 0x0b,
];

kinds.webAssembly = function () {
  return wasm(FIBONACCI).fib(20);
};

// Each trap is a signal, which the engine handles on an alternate stack.
kinds.webAssemblyTraps = function () {
  const { load } = wasm(LOAD);
  let trapped = 0;
  for (let i = 0; i < 300; i++) {
    try {
      load(0x7ffffff0 - i);
    } catch (error) {
      trapped += error instanceof WebAssembly.RuntimeError ? 1 : 0;
    }
  }
  return trapped;
};
