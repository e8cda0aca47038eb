/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Every kind of function that may not be shown, because this script is of another origin or because it runs
// in another realm.

function hiddenStep() {
  let x = 1;
  for (let i = 0; i < 2000; i++) {
    x = (Math.imul(x, 31) + i) | 0;
  }
  return x;
}

// Calls `step` again and again, and records when.
function hiddenDuring(step) {
  const start = performance.now();
  const end = start + TIME;
  let now;
  do {
    step();
    now = performance.now();
  } while (now < end);
  windows.push([start, now]);
}

function hiddenSpin() {
  hiddenDuring(hiddenStep);
}

// Kinds of functions

const hiddenArrow = () => { hiddenSpin(); };

const hiddenObject = {
  hiddenMethod() { hiddenSpin(); },
  get hiddenGetter() { return hiddenSpin(); },
  set hiddenSetter(value) { hiddenSpin(value); },
  get [Symbol.toStringTag]() { return hiddenSpin(); },
};

class HiddenClass {
  constructor() { hiddenSpin(); }
}

class HiddenField {
  hiddenField = hiddenSpin();
}

class HiddenPrivate {
  #hiddenPrivate() { hiddenSpin(); }
  call() { this.#hiddenPrivate(); }
}

function hiddenStaticBlock() {
  return class HiddenStatic { static { hiddenSpin(); } };
}

function* hiddenGenerator() {
  hiddenSpin();
  yield 1;
}

async function hiddenAsync() {
  await undefined;
  hiddenSpin();
}

async function* hiddenAsyncGenerator() {
  await undefined;
  hiddenSpin();
  yield 1;
}

const hiddenBound = hiddenSpin.bind(null, 1);
const hiddenProxy = new Proxy({}, {
  get() { return hiddenSpin(); },
  has() { hiddenSpin(); return true; },
});
const hiddenCallable = new Proxy(function hiddenTarget() {}, { apply() { hiddenSpin(); } });

function hiddenTag() {
  hiddenSpin();
}

function hiddenDefault(value = hiddenSpin()) {
  return value;
}

// Functions that the language calls implicitly

const hiddenConvertible = { [Symbol.toPrimitive]() { hiddenSpin(); return 1; } };
const hiddenIterable = {
  [Symbol.iterator]: () => ({ next() { hiddenSpin(); return { done: true }; } }),
};
const hiddenThenable = { then(resolve) { hiddenSpin(); resolve(); } };
const hiddenSerializable = { toJSON() { hiddenSpin(); return 1; } };
const hiddenInstance = { [Symbol.hasInstance]() { hiddenSpin(); return true; } };

// Functions that built-ins call

function hiddenCompare(a, b) {
  hiddenSpin();
  return a - b;
}

function hiddenReplacer() {
  hiddenSpin();
  return "";
}

function hiddenReviver(key, value) {
  if (key === "") {
    hiddenSpin();
  }
  return value;
}

function hiddenMapped() {
  hiddenSpin();
}

// Code that is made from text

function hiddenEval() {
  eval("(function hiddenEvaluated() { hiddenSpin(); })();");
}

function hiddenIndirectEval() {
  (0, eval)("(function hiddenEvaluatedGlobally() { hiddenSpin(); })();");
}

function hiddenEvalWithUrl() {
  eval("(function hiddenEvaluatedAt() { hiddenSpin(); })();\n//# sourceURL=page.js");
}

const hiddenMade = new Function("hiddenSpin();");
const hiddenMadeGenerator = new (Object.getPrototypeOf(hiddenGenerator).constructor)("hiddenSpin();");

function hiddenTimer(text) {
  return new Promise(resolve => {
    hiddenResolve = resolve;
    setTimeout(text);
  });
}

let hiddenResolve;

// WebAssembly. It has two functions with hidden names. One calls its import as often as it is told to, and
// one is a loop.

const HIDDEN_WASM = Uint8Array.from(
  atob(
    "AGFzbQEAAAABBgFgAX8BfwINAQJqcwZjYWxsZWUAAAMDAgAABxMCCGNhbGxCYWNrAAEEc3BpbgACCj0CGwEBfwNAIAEgABAAaiEBIABBAWsi" +
    "AA0ACyABCx8BAX8DQCABQY3M5QBsIABqIQEgAEEBayIADQALIAELACwEbmFtZQElAgESaGlkZGVuV2FzbUNhbGxCYWNrAg5oaWRkZW5XYXNtU3Bp" +
    "bg=="),
  character => character.charCodeAt(0));

let hiddenWasmCallee = null;
const hiddenWasm = new WebAssembly.Instance(
  new WebAssembly.Module(HIDDEN_WASM),
  { js: { callee: n => { hiddenWasmCallee?.(); return n; } } }).exports;

function hiddenWasmLoop() {
  hiddenWasm.spin(20_000);
}

// Hidden functions between other functions

function hiddenWasmCalls(callback) {
  hiddenWasmCallee = callback;
  hiddenWasm.callBack(1);
  hiddenWasmCallee = null;
}

// Built-ins

const HIDDEN_NUMBERS = Array.from({ length: 500 }, (_, i) => Math.imul(i, 2654435761) | 0);
const HIDDEN_TEXT = JSON.stringify(HIDDEN_NUMBERS.map(number => ({ number, text: `number ${number}` })));

const hiddenBuiltIns = {
  sort() { HIDDEN_NUMBERS.sort(); },
  parse() { JSON.parse(HIDDEN_TEXT); },
  stringify() { JSON.stringify(HIDDEN_NUMBERS); },
  replace() { HIDDEN_TEXT.replace(/[aeiou]/g, "-"); },
  exec() { /(?:a+)+b/.exec("aaaaaaaaaaaaaac"); },
  map() { HIDDEN_NUMBERS.map(hiddenStep1); },
  dom() { document.body.innerHTML = "<p>hidden</p>".repeat(20); },
  now() { for (let i = 0; i < 50; i++) { performance.now(); } },
};

function hiddenStep1(x) {
  for (let i = 0; i < 20; i++) {
    x = (Math.imul(x, 31) + i) | 0;
  }
  return x;
}

function hiddenBuiltIn(name) {
  hiddenDuring(hiddenBuiltIns[name]);
}

function hiddenDefine(name) {
  customElements.define(name, class HiddenElement extends HTMLElement {
    connectedCallback() { hiddenSpin(); }
  });
}

// Callbacks

function hiddenCall(callback) {
  return callback();
}

function hiddenCallByMap(callback) {
  return [1].map(() => callback());
}

function hiddenSortBy(compare) {
  return [2, 1].sort(compare);
}

function hiddenApply(callback) {
  return Reflect.apply(callback, null, []);
}

// Errors

function hiddenThrow() {
  hiddenSpin();
  throw new Error("hidden");
}

function hiddenCatch(callback) {
  try {
    callback();
  } catch {
    hiddenSpin();
  }
}

function hiddenFinally(callback) {
  try {
    return callback();
  } finally {
    hiddenSpin();
  }
}

// Functions that are small enough to be inlined

function hiddenSmall(x, i) {
  for (let j = 0; j < 10; j++) {
    x = (Math.imul(x, 31) + i + j) | 0;
  }
  return x;
}

function hiddenLoop(small) {
  let x = 1;
  for (let i = 0; i < 2000; i++) {
    x = small(x, i);
  }
  return x;
}

// Depth

function hiddenRecursion(depth, call) {
  if (depth === 0) {
    call();
  } else {
    hiddenRecursion(depth - 1, call);
  }
  // This prevents a tail call.
  return depth;
}

// Only frames of Ion code are small enough for this depth. The stack has no room for as many Baseline frames.
function hiddenDeepRecursion(depth, call) {
  for (;;) {
    try {
      hiddenRecursion(depth, () => {});
      break;
    } catch {
      for (let i = 0; i < 100; i++) {
        hiddenRecursion(100, () => {});
      }
    }
  }
  hiddenRecursion(depth, call);
}

function hiddenRecursionByMap(depth, call) {
  return depth === 0 ? [call()] : [1].map(() => hiddenRecursionByMap(depth - 1, call));
}

// Functions that tasks and microtasks call

function hiddenLater(queue) {
  return new Promise(resolve => {
    queue(() => {
      hiddenSpin();
      resolve();
    });
  });
}

const hiddenQueues = {
  timer(task) { setTimeout(task); },
  microtask(task) { queueMicrotask(task); },
  reaction(task) { Promise.resolve().then(task); },
  message(task) {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = task;
    port2.postMessage(null);
  },
  frame(task) { requestAnimationFrame(task); },
  mutation(task) {
    new MutationObserver(task).observe(document.documentElement, { attributes: true });
    document.documentElement.lang = "x-hidden";
  },
};

// Functions that were never called before

function hiddenNewFunctions(count) {
  let text = "";
  for (let i = 0; i < count; i++) {
    text += `function hiddenNew${i}(x) { for (let j = 0; j < 300; j++) { x = (Math.imul(x, 31) + j) | 0; } return x; }\n`;
  }
  return (0, eval)(`(() => { ${text} return [${Array.from({ length: count }, (_, i) => `hiddenNew${i}`)}]; })()`);
}

// No buffer for names is large enough for this one.
function hiddenLongNames() {
  const name = "hidden".repeat(40_000);
  const spin = (0, eval)(`(function ${name}() { hiddenSpin(); })`);
  spin();
}
