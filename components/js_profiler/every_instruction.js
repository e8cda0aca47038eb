/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Line 1 is the line of evaluated text, so no function is defined on it. Where a function is defined, a note has its
// name, a greater-than sign and what it may call.
"use strict";

function add(a, b) { return a + b; } // add >
function inner(x) { return add(x, 1) + x; } // inner > add
function outer(n) { let sum = 0; for (let i = 0; i < n; i++) { sum += inner(i); } return sum; } // outer > inner
function calls() { return outer(3) + inner(1); } // calls > outer inner

function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); } // fibonacci > fibonacci
function recursion() { return fibonacci(4); } // recursion > fibonacci

function mapped(x) { return inner(x); } // mapped > inner
function compare(a, b) { return add(a, -b); } // compare > add
function callbacks() { return [3, 1, 2].map(mapped).sort(compare).reduce(add, 0); } // callbacks > mapped compare add

function replacer(text) { return add(text, "!"); } // replacer > add
function reviver(key, value) { return inner(key) && value; } // reviver > inner
function toJson() { return add(1, 1); } // toJson > add
function natives() { // natives > replacer reviver toJson mapped
  const text = "abc".replace(/[a-c]/g, replacer) + JSON.stringify({ toJSON: toJson });
  JSON.parse("[1, 2]", reviver);
  return text + Reflect.apply(mapped, null, [1]) + mapped.call(null, 1) + mapped.bind(null, 2)();
}

function first(a) { return a; } // first >
function last(...all) { return all.at(-1); } // last >
function sum(a, b, c) { return add(a, b) + c; } // sum > add
function third(a, b, c) { return c; } // third >
// There are enough different functions that optimised code calls them through one stub, and enough arguments that
// their number might be taken for an address.
const callees = [first, Math.max, last, Math.min, sum, Math.hypot, third, Array.of, Date.UTC];
function invoke(callee) { return callee(1, 2, 3, 4, 5, 6, 7, 8); } // invoke > first last sum third
function invokeNew(callee) { return new callee(1, 2, 3, 4, 5, 6); } // invokeNew > first
function genericCalls() { // genericCalls > invoke invokeNew
  let count = 0;
  for (const callee of callees) {
    count += Number(invoke(callee) !== null);
  }
  for (const constructor of [first, Array, Date, Map.bind(null, undefined), Uint8Array.bind(null, 1)]) {
    count += Number(invokeNew(constructor) !== null);
  }
  return count;
}

const accessed = {
  get value() { return inner(1); }, // getter > inner
  set value(x) { inner(x); }, // setter > inner
  valueOf() { return add(1, 2); }, // valueOf > add
  toString() { return add("a", "b"); }, // toString > add
};
const trapped = new Proxy({}, {
  get(target, name) { return inner(name); }, // trap > inner
  has() { return add(1, 0) === 1; }, // hasTrap > add
});
function accessors() { // accessors > getter setter valueOf toString trap hasTrap
  accessed.value = accessed.value + 1;
  return `${accessed}` + (accessed * 2) + trapped.name + ("x" in trapped);
}

function* numbers(n) { for (let i = 0; i < n; i++) { yield add(i, 1); } } // numbers > add
function* delegating(n) { yield* numbers(n); } // delegating > numbers
function generators() { // generators > delegating numbers
  const [first, second] = delegating(3);
  return [first, second, ...numbers(2)].length;
}

function fail(x) { throw new Error(add("fail", x)); } // fail > add
function failLater(x) { try { return fail(x); } finally { add(x, 1); } } // failLater > fail add
function exceptions() { // exceptions > failLater fail arrow
  let caught = 0;
  for (const failing of [failLater, fail]) {
    try {
      failing(1);
    } catch {
      caught += 1;
    }
  }
  return [1, 2].map((x) => x).length + caught; // arrow >
}

class Base {
  constructor(x) { this.x = inner(x); } // base > inner
  method(x) { return add(this.x, x); } // method > add
}
class Derived extends Base {
  constructor(x) { super(add(x, 1)); this.y = this.method(x); } // derived > base add override
  method(x) { return super.method(x) + 1; } // override > method
}
function classes() { return new Derived(1).method(2) + new Base(1).x; } // classes > derived override base

function compiled(bytes, imports) { // compiled >
  return new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(bytes)), imports).exports;
}
// (import "a" "b" (func (param i32) (result i32))) (func (export "f") (param i32) (result i32) local.get 0 call 0):
const CALL = [
  0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x06, 0x01, 0x60, 0x01, 0x7f, 0x01, 0x7f, 0x02, 0x07, 0x01,
  0x01, 0x61, 0x01, 0x62, 0x00, 0x00, 0x03, 0x02, 0x01, 0x00, 0x07, 0x05, 0x01, 0x01, 0x66, 0x00, 0x01, 0x0a, 0x08,
  0x01, 0x06, 0x00, 0x20, 0x00, 0x10, 0x00, 0x0b,
];
// (memory 1) (func (export "load") (param i32) (result i32) local.get 0 i32.load):
const LOAD = [
  0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x06, 0x01, 0x60, 0x01, 0x7f, 0x01, 0x7f, 0x03, 0x02, 0x01,
  0x00, 0x05, 0x03, 0x01, 0x00, 0x01, 0x07, 0x08, 0x01, 0x04, 0x6c, 0x6f, 0x61, 0x64, 0x00, 0x00, 0x0a, 0x09, 0x01,
  0x07, 0x00, 0x20, 0x00, 0x28, 0x02, 0x00, 0x0b,
];
const { f: calling } = compiled(CALL, { a: { b: inner } });
const { load } = compiled(LOAD);
function webAssembly() { // webAssembly > inner
  try {
    return calling(1) + load(0) + load(0x7ffffff0);
  } catch (error) {
    return error instanceof WebAssembly.RuntimeError;
  }
}

// As webAssembly(), but without anything that keeps Ion code from calling WebAssembly directly.
function wasmCalls() { // wasmCalls > inner expect
  let sum = 0;
  for (let i = 0; i < 3; i++) { sum += calling(i) + load(i); }
  expect(sum, 9);
}

let evaluations = 0;
function evaluator() { // evaluator > evaluated
  evaluations += 1;
  return eval(`inner(${evaluations})`) + new Function("x", `return inner(x) + ${evaluations}`)(1);
}
const evaluateIndirectly = eval;
function indirect() { // indirect > evaluated
  evaluations += 1;
  return evaluateIndirectly(`inner(${evaluations}) + outer(2)`);
}

function expect(value, expected) { // expect >
  if (!Object.is(value, expected)) { throw new Error(`${String(value)} where ${String(expected)} was expected`); }
}

// A setter that replaces itself with a number, which is not a pointer.
function redefining(x) { // redefining >
  Object.defineProperty(this, "foo", { value: x, writable: true, configurable: true });
}
function redefinition() { // redefinition > redefining expect
  const object = {};
  for (const number of [1.5, 2.5e-310]) {
    Object.defineProperty(object, "foo", { set: redefining, get: undefined, configurable: true });
    object.foo = number;
    expect(object.foo, number);
  }
}

const GROWN = Array.from({ length: 24 }, (_, i) => `grown${i}`);
function growing(x) { for (let i = 0; i < GROWN.length; i++) { this[GROWN[i]] = x + i; } } // growing >
function growth() { // growth > growing expect
  const object = Object.defineProperty({}, "grow", { set: growing });
  object.grow = 5;
  for (let i = 0; i < GROWN.length; i++) { expect(object[GROWN[i]], 5 + i); }
}

const KEYS = Array.from({ length: 40 }, (_, i) => `k${i}`);
function tables() { // tables > expect
  const object = {};
  for (let i = 0; i < KEYS.length; i++) { object[KEYS[i]] = i; }
  for (let i = 0; i < KEYS.length; i += 3) { delete object[KEYS[i]]; }
  for (let i = 0; i < KEYS.length; i++) {
    const descriptor = Object.getOwnPropertyDescriptor(object, KEYS[i]);
    expect(descriptor === undefined, i % 3 === 0);
    expect(object.hasOwnProperty(KEYS[i]), i % 3 !== 0);
    if (descriptor) { expect(descriptor.value, i); }
  }
}

const prototypes = [{ x: 1 }, { get x() { return 2; } }, { y: 0, x: 3 }]; // inherited >
function shapes() { // shapes > inherited expect
  const object = {};
  for (let i = 0; i < 6; i++) {
    Object.setPrototypeOf(object, prototypes[i % 3]);
    expect(object.x, i % 3 + 1);
    object[`own${i}`] = i;
  }
  Object.freeze(object);
  for (let i = 0; i < 6; i++) { expect(object[`own${i}`], i); }
}

// More objects than the nursery has room for.
function garbage() { // garbage > keep expect
  let last = null;
  for (let i = 0; i < 270; i++) { last = keep(i, last); }
  expect(last[0], 269);
  expect(last[1][0], 268);
}
function keep(i, last) { return [i, i % 30 ? last : null, new Array(110)]; } // keep >

let compilations = 0;
function compiling() { // compiling > evaluated expect compiled
  compilations += 1;
  const twice = new Function("x", `return x + x + ${compilations}`);
  let sum = 0;
  for (let i = 0; i < 3; i++) { sum += twice(i); }
  expect(sum, 6 + 3 * compilations);
  const { load } = compiled(LOAD);
  expect(load(0), 0);
}

// The engine's functions for tests.
const { gc, startgc, gcslice, gcstate, wasmHasTier2CompilationCompleted } = engine;

const records = Array.from({ length: 20 }, (_, i) => ({ i, next: { i } }));
function change(i) { records[i].next = { i }; return records[i].next.i; } // change >
function changes() { // changes > change expect
  for (let i = 0; i < 20; i++) { expect(change(i), i); }
}
// Code of functions that are not running is discarded. What nothing refers to is swept, and its code with it.
function collection() { // collection > expect changes evaluated
  const dead = new Function("x", "return x");
  expect(dead(1), 1);
  gc();
  changes();
}
// Baseline code calls a part of itself when it stores a new object into an old environment, array or list of arguments.
// The numbers are where the frame of a function would have its callee.
function stored(object) { // stored > kept expect
  const number = 2.5e-310, other = 1.5, kept = () => object; // kept >
  // Functions and scripts move.
  gc(undefined, "shrinking");
  for (let i = 0; i < 3; i++) { object = { i, number, other }; expect(kept().i, i); }
}
function listed() { // listed > expect
  const number = 2.5e-310, list = [];
  for (let i = 0; i < 3; i++) { const made = [{ i }, [i, number], { number }]; list[i] = made; expect(made[0].i, i); }
}
function passed(first) { // passed > expect
  const number = 2.5e-310;
  for (let i = 0; i < 3; i++) { arguments[0] = { i, number }; expect(arguments[0].i, i); }
  return arguments;
}
function barriers() { stored({}); listed(); passed({}); } // barriers > stored listed passed
function slices() { // slices > changes
  startgc(1);
  while (gcstate() !== "NotActive") { changes(); gcslice(2000); }
}

// Another thread compiles a function while it runs, and its code is linked.
let links = 0;
function linking() { // linking > evaluated expect
  links += 1;
  const twice = new Function("x", `return x + x + ${links}`);
  let sum = 0;
  for (let i = 0; i < 3000; i++) { sum += twice(i); }
  expect(sum, 2999 * 3000 + 3000 * links);
}

// (func (export "spin") (param i32) (result i32) (loop (local.set 0 (i32.sub (local.get 0) (i32.const 1)))
// (br_if 0 (local.get 0))) (local.get 0)):
const SPIN = [
  0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x06, 0x01, 0x60, 0x01, 0x7f, 0x01, 0x7f, 0x03, 0x02, 0x01,
  0x00, 0x07, 0x08, 0x01, 0x04, 0x73, 0x70, 0x69, 0x6e, 0x00, 0x00, 0x0a, 0x14, 0x01, 0x12, 0x00, 0x03, 0x40, 0x20,
  0x00, 0x41, 0x01, 0x6b, 0x21, 0x00, 0x20, 0x00, 0x0d, 0x00, 0x0b, 0x20, 0x00, 0x0b,
];
function tiers() { // tiers > compiled expect
  const { spin } = compiled(SPIN);
  for (let i = 0; i < 20; i++) { expect(spin(1000), 0); }
}

// The functions of a realm are called while it goes away: nothing refers to the realm any more when the call has
// returned.
function realms() { // realms > expect evaluated
  expect(inNewRealm("function ofRealm(x) { return x * 2; } ofRealm(21);"), 42);
  gc();
}

// WebAssembly that waits for promises, on a stack of its own.
// (import "a" "b" (func (param i32) (result i32))) (memory 1)
// (func (export "r") (param i32) (result i32)
//   (if (result i32) (local.get 0) (then (call 1 (i32.sub (local.get 0) (i32.const 1)))) (else (call 0 (local.get 0)))))
// (func (export "t") (param i32) (result i32) (return_call 1 (local.get 0)))
// (func (export "l") (param i32) (result i32) (i32.load (call 0 (local.get 0)))):
const WAITING = [
  0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x06, 0x01, 0x60, 0x01, 0x7f, 0x01, 0x7f, 0x02, 0x07, 0x01,
  0x01, 0x61, 0x01, 0x62, 0x00, 0x00, 0x03, 0x04, 0x03, 0x00, 0x00, 0x00, 0x05, 0x03, 0x01, 0x00, 0x01, 0x07, 0x0d,
  0x03, 0x01, 0x72, 0x00, 0x01, 0x01, 0x74, 0x00, 0x02, 0x01, 0x6c, 0x00, 0x03, 0x0a, 0x26, 0x03, 0x13, 0x00, 0x20,
  0x00, 0x04, 0x7f, 0x20, 0x00, 0x41, 0x01, 0x6b, 0x10, 0x01, 0x05, 0x20, 0x00, 0x10, 0x00, 0x0b, 0x0b, 0x06, 0x00,
  0x20, 0x00, 0x12, 0x01, 0x0b, 0x09, 0x00, 0x20, 0x00, 0x10, 0x00, 0x28, 0x02, 0x00, 0x0b,
];
function waiting(imported) {
  const { r, t, l } = compiled(WAITING, { a: { b: new WebAssembly.Suspending(imported) } });
  return [r, t, l].map(WebAssembly.promising);
}
let settled = null;
function note(value) { settled = value; } // note >
function noteError(error) { settled = error; } // noteError >
function settle(promise, expected) { // settle > note noteError expect
  settled = null;
  promise.then(note, noteError);
  runJobs();
  expect(settled, expected);
}

function resolvedAtOnce(x) { return Promise.resolve(add(x, 1)); } // resolvedAtOnce > add
let resolveLater, rejectLater;
function resolvedLater() { // resolvedLater > executor
  return new Promise((resolve, reject) => { resolveLater = resolve; rejectLater = reject; }); // executor >
}
const [recursive, tailCalling, loading] = waiting(resolvedAtOnce);
const [recursiveLater, , loadingLater] = waiting(resolvedLater);
function suspensions() { // suspensions > resolvedAtOnce resolvedLater settle expect note noteError
  settle(recursive(0), 1);
  settle(recursive(20), 1);
  settle(tailCalling(3), 1);
  settle(loading(0), 0);
  const later = recursiveLater(4);
  resolveLater(7);
  settle(later, 7);
  // The exception goes through the frames that wait.
  const failed = recursiveLater(2);
  rejectLater("no");
  settle(failed, "no");
  // The promising call of a stack that has just been resumed ends by a trap.
  const trapped = loadingLater(0);
  resolveLater(0x7ffffff0);
  trapped.then(note, noteError);
  runJobs();
  expect(settled instanceof WebAssembly.RuntimeError, true);
}

// Several stacks at once, of which one is resumed while another one waits and a third one runs.
function nesting(x) { return recursive(add(x, 2)); } // nesting > add resolvedAtOnce
const [nested] = waiting(nesting);
function nestings() { // nestings > nesting resolvedLater settle
  const first = recursiveLater(1), resolveFirst = resolveLater;
  const second = recursiveLater(2), resolveSecond = resolveLater;
  settle(nested(1), 1);
  resolveSecond(2);
  settle(second, 2);
  resolveFirst(1);
  settle(first, 1);
}

// A stack that waits is traced, and what it refers to moves.
function waitings() { // waitings > resolvedLater settle
  const waited = recursiveLater(3);
  gc();
  resolveLater(5);
  settle(waited, 5);
}
