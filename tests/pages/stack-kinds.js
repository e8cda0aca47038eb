/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Each function of `driven` and `selfDriven` is a kind of function or call. The stacks that it must
// have are in the table of tests/browser/tests/stack_kinds.rs.

const OPTIONS = { sampleInterval: 1, maxBufferSize: 10_000 };

// How long a kind runs, first while it is being compiled, and then while its samples count.
const COLD_MILLISECONDS = 30;
const HOT_MILLISECONDS = 100;
const SELF_DRIVEN_MILLISECONDS = 180;
// One round has so many, unless many samples are missed.
const LEAST_STACKS = 70;

// The rounds of each kind: when it became hot, when it ended, and the trace.
const results = {};

// The getter on the global object would be on the stacks too, so it is called only once.
const clock = performance;

let end = 0;

function isOver() {
  return clock.now() >= end;
}

// Starts a profiler for a kind that reads the clock itself.
function start() {
  end = clock.now() + SELF_DRIVEN_MILLISECONDS;
  return new Profiler(OPTIONS);
}

let ratio = 0.7;

// The leaf of most stacks. It takes long enough to be sampled. It has no loop and little bytecode, so
// that it is inlined. Each division waits for the one before, the first one for that of the last call.
function busy() {
  ratio = 3 / (3 / (3 / (3 / (3 / (3 / (3 / (3 / (3 / (3 / (3 / (3 / (3 / (3 / (3 / (3 / (3 / (
    3 / (3 / (3 / (3 / (3 / (3 / (3 / (3 / (3 / (3 / (3 / (3 / (3 / (3 / (3 / (
    3 / ratio))))))))))))))))))))))))))))))));
  return ratio;
}

let turn = 0;

// The time varies, so that calls do not get into step with the samples.
function busyInTurn() {
  turn = (turn * 31 + 7) % 401;
  for (let i = 0; i < 100 + turn; i++) {
    busy();
  }
}

// Accessors and classes

const withAccessors = {
  get property() { return busy(); },
  set property(value) { busy(); },
};

class WithField {
  field = busy();
}

class Base {
  constructor() { busy(); }
}

class Derived extends Base {}

// Functions

const ofOneIdentifier = value => busy() + value;

function boundTarget() {
  return busy();
}

const bound = boundTarget.bind(null, 1);

const made = new Function("return busy();");

function* endless() {
  for (;;) {
    yield busy();
  }
}

const resumed = endless();

function* three() {
  yield busy() + busy() + busy();
  yield busy() + busy() + busy();
  yield busy() + busy() + busy();
}

function* delegating() {
  yield* three();
}

// Proxies

const proxy = new Proxy({}, {
  get(target, key) { return busy(); },
  set(target, key, value) { return busy() > 0; },
  has(target, key) { return busy() > 0; },
  deleteProperty(target, key) { return busy() > 0; },
  ownKeys(target) { return busy() > 0 ? [] : null; },
});

const functionProxy = new Proxy(function () {}, {
  apply(target, self, list) { return busy(); },
  construct(target, list) { return busy() > 0 ? target : null; },
});

// Callbacks

// The engine recognises `a - b` and sorts without calling the function.
function compare(a, b) {
  return busy() > 0 && a < b ? -1 : 1;
}

function replacer(word) {
  return busy() + busy() + busy() > 0 ? word : "";
}

function revive(key, value) {
  return busy() > 0 ? value : null;
}

function replaceValue(key, value) {
  return busy() > 0 ? value : null;
}

function mapped(value) {
  return busy() + value;
}

function forEached(value) {
  busy();
}

function fromMapped(value) {
  return busy() + busy() + busy() + value;
}

const eventTarget = new EventTarget();
const listenedTo = new Event("listened");
eventTarget.addEventListener("listened", function listener() {
  return busyInTurn();
});

// Small functions that are inlined into each other, and more of them than the compiler inlines into one.

function level1() { return level2() + 1; }
function level2() { return level3() + 1; }
function level3() { return level4() + 1; }
function level4() { return level5() + 1; }
function level5() { return level6() + 1; }
function level6() { return level7() + 1; }
function level7() { return level8() + 1; }
function level8() { return level9() + 1; }
function level9() { return level10() + 1; }
function level10() { return level11() + 1; }
function level11() { return level12() + 1; }
function level12() { return busy() + busy() + busy() + busy(); }

// Recursion through another function is inlined too.
function even(depth) {
  return depth === 0 ? busy() + busy() + busy() + busy() : odd(depth - 1) + 1;
}

function odd(depth) {
  return depth === 0 ? busy() + busy() + busy() + busy() : even(depth - 1) + 1;
}

// WebAssembly

// The module with a name section that has these names, starting with the first function that is not imported.
function withNames(...names) {
  const counted = bytes => [bytes.length, ...bytes];
  const text = string => counted(new TextEncoder().encode(string));
  const named = names.flatMap((name, i) => [i + 1, ...text(name)]);
  const functionNames = [1, ...counted([names.length, ...named])];
  return new Uint8Array([...WASM, 0, ...counted([...text("name"), ...functionNames])]);
}

function calledByWasm() {
  return busy();
}

function calledByNamedWasm() {
  return unnamed.callBack(2);
}

const imports = { js: { callee: calledByWasm } };
const unnamed = new WebAssembly.Instance(new WebAssembly.Module(WASM), imports).exports;
const convertedByWasm = { toJSON: unnamed.spin };
const named = new WebAssembly.Instance(
  new WebAssembly.Module(withNames("namedCallBack", "namedSpin")),
  { js: { callee: calledByNamedWasm } }).exports;
const streamedURL = URL.createObjectURL(
  new Blob([withNames("streamedCallBack", "streamedSpin")], { type: "application/wasm" }));
let streamed;

// Values for built-ins

const NUMBERS = Array.from({ length: 100 }, (_, i) => Math.imul(i, 2654435761) | 0);
const RECORDS = NUMBERS.map(number => ({ number, text: `number ${number}` }));
const RECORDS_TEXT = JSON.stringify(RECORDS);
// It has so many parts that the allocator and the system take time too.
const QUERY = "a=1&b=2&c=3&d=4&e=5&f=6&g=7&h=8&".repeat(8);
// They are so many that reading and matching them takes nearly all of a call.
const SELECTORS = Array.from({ length: 40 }, (_, i) => `.none${i}`).join();
const LIST_TEXTS = NUMBERS.map(number => JSON.stringify([number, [number, `${number}`]]));
const ARRAY_LIKE = { length: 50, 0: 1 };
const TEXT = "the quick brown fox jumps over the lazy dog ".repeat(20);
const map = new Map();
const pushed = [];
let button;
let list;
let item;
let sine = 0.5;
let stamp;

// Functions that the test calls again and again. A call takes microseconds, so the function gets compiled.
const driven = {
  getter() { return withAccessors.property; },
  setter() { withAccessors.property = 1; },
  classField() { return new WithField(); },
  staticField() { return class { static placed = busy() + busy() + busy(); }; },
  staticBlock() { return class { static { busy() + busy() + busy(); } }; },
  defaultConstructor() { return new Derived(); },
  arrowOfOneIdentifier() { return ofOneIdentifier(1); },
  anonymousArrow() { return (() => busy())(); },
  boundFunction() { return bound(); },
  functionOfText() { return made(); },
  directEval() { return eval("for (let i = 0; i < 100; i++) { busy(); }"); },
  // The code is compiled each time. With a short loop, most samples would be in compilation and the interpreter.
  indirectEval() { return (0, eval)("for (let i = 0; i < 1000; i++) { busy(); }"); },
  generator() { return resumed.next().value; },
  generatorInForOf() {
    let sum = 0;
    for (const value of three()) {
      sum += value;
    }
    return sum;
  },
  delegatingGenerator() { return [...delegating()]; },
  inlinedChain() { return level1(); },
  mutualRecursion() { return even(13); },

  proxyGet() { return proxy.property; },
  proxySet() { proxy.property = 1; },
  proxyHas() { return "property" in proxy; },
  proxyDelete() { return delete proxy.property; },
  proxyOwnKeys() { return Reflect.ownKeys(proxy); },
  proxyApply() { return functionProxy(); },
  proxyConstruct() { return new functionProxy(); },

  sortComparator() { return [3, 1, 2, 5, 4].sort(compare); },
  replaceCallback() { return "the quick brown fox".replace(/\w+/g, replacer); },
  reviver() { return JSON.parse("[1, 2, 3]", revive); },
  stringifyReplacer() { return JSON.stringify([1, 2, 3], replaceValue); },
  mapCallback() { return [1, 2, 3].map(mapped); },
  mapArrow() { return [1, 2, 3].map(item => busy() + item); },
  forEachCallback() { [1, 2, 3].forEach(forEached); },
  fromCallback() { return Array.from([1, 2, 3], fromMapped); },
  eventListener() { return eventTarget.dispatchEvent(listenedTo); },
  inlineHandler() { button.click(); },

  wasm() { return unnamed.spin(300); },
  wasmCallback() { return unnamed.callBack(3); },
  // The function gets the key.
  wasmToJSON() { return JSON.stringify({ 3000: convertedByWasm }); },
  wasmNamed() { return named.spin(300); },
  wasmNested() { return named.callBack(2); },
  wasmStreamed() { return streamed.spin(300); },

  sort() { return NUMBERS.sort(); },
  sortByDifference() { return NUMBERS.sort((a, b) => a - b); },
  parse() { return JSON.parse(RECORDS_TEXT); },
  stringify() { return JSON.stringify(RECORDS); },
  exec() { return /(?:a+)+b/.exec("aaaaaaaaaaaac"); },
  replace() { return TEXT.replace(/[aeiou]/g, "-"); },
  push() {
    pushed.length = 0;
    for (let i = 0; i < 20; i++) {
      pushed.push(
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24);
    }
  },
  mapSet() {
    for (let i = 0; i < 20; i++) {
      map.set(i, i);
    }
  },
  dateNow() {
    for (let i = 0; i < 20; i++) {
      stamp = Date.now();
    }
  },
  performanceNow() {
    for (let i = 0; i < 20; i++) {
      stamp = clock.now();
    }
  },
  mathSin() {
    for (let i = 0; i < 20; i++) {
      sine = 3 / (3 / (3 / (3 / Math.sin(sine + 1))));
    }
    return sine;
  },
  from() { return Array.from(ARRAY_LIKE); },
  builtInCalledByBuiltIn() { return LIST_TEXTS.map(JSON.parse); },
  appendChild() { return list.appendChild(item); },
  querySelector() { return list.querySelector(SELECTORS); },
  interfaceConstructor() { return new URLSearchParams(QUERY); },
  getBoundingClientRect() { return list.getBoundingClientRect(); },
  getInnerHTML() { return list.innerHTML; },
  setInnerHTML() { item.innerHTML = "<b>some</b> <i>text</i>"; },
  setTextContent() { item.textContent = "some other text"; },
};

// Kinds that run in more than one task. Each calls isOver() to know when to end.

async function awaiting() {
  beforeAwait();
  await null;
  afterAwait();
}

function beforeAwait() {
  return busyInTurn();
}

function afterAwait() {
  return busyInTurn();
}

function reaction() {
  return busyInTurn();
}

function microtask() {
  return busyInTurn();
}

// Messages call `again` until the time is over.
function perMessage(again) {
  return new Promise(resolve => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = function onMessage() {
      again();
      if (isOver()) {
        resolve();
      } else {
        port2.postMessage(null);
      }
    };
    port2.postMessage(null);
  });
}

function queueing() {
  queueMicrotask(microtask);
  busyInTurn();
}

function loadScript(properties) {
  const script = Object.assign(document.createElement("script"), properties);
  document.documentElement.append(script);
  return event(script, "load");
}

const selfDriven = {
  async asyncFunction() {
    while (!isOver()) {
      await awaiting();
    }
  },
  async promiseReaction() {
    while (!isOver()) {
      await Promise.resolve().then(reaction);
    }
  },
  messageListener() { return perMessage(busyInTurn); },
  microtaskOfListener() { return perMessage(queueing); },
  topLevelScript() { return loadScript({ src: "stack-kinds-script.js" }); },
  module() { return loadScript({ src: "stack-kinds-module.js", type: "module" }); },
  async profilerConstructor() {
    // On a busy machine there is time for one turn only. So the first one is not under the test either.
    await null;
    while (!isOver()) {
      const started = [];
      for (let i = 0; i < 20; i++) {
        started[i] = new Profiler(OPTIONS);
      }
      for (let i = 0; i < 20; i++) {
        await started[i].stop();
      }
    }
  },
  async performanceProfile() {
    while (!isOver()) {
      const started = [];
      for (let i = 0; i < 20; i++) {
        started[i] = await clock.profile(OPTIONS);
      }
      for (let i = 0; i < 20; i++) {
        await started[i].stop();
      }
    }
  },
};

// Functions that are running when profiling starts, and then continue.

// In its first call only its loop is compiled.
function coldStarter() {
  const profiler = start();
  while (!isOver()) {
    busyInTurn();
  }
  return profiler;
}

// Compiled before profiling starts. A function is not inlined into itself, and its callee is different
// each time. So there is a frame for each call.
function hotStarter(depth, callee) {
  const value = depth === 0 ? callee() : hotStarter(depth - 1, callee);
  return value;
}

const NOTHINGS = [() => 0, () => 1, () => 2, () => 3, () => 4, () => 5, () => 6, () => 7];

// A busy machine misses samples, so a kind may need more than one round.
function isNeeded(name) {
  const rounds = results[name] ??= [];
  const stacks = rounds.flatMap(({ hot, trace }) =>
    trace.samples.filter(({ timestamp, stackId, marker }) => (
      // While garbage is collected a sample has what is still there of the stack before.
      timestamp >= hot && stackId !== undefined && marker !== "gc")));
  return stacks.length < LEAST_STACKS && rounds.length < 50;
}

// Calls the function of a kind for some milliseconds, and returns when it ended.
function drive(run, milliseconds) {
  const until = clock.now() + milliseconds;
  let now;
  do {
    // Enough calls that reading the clock takes only a negligible share of the samples.
    for (let i = 0; i < 200; i++) {
      run();
    }
    now = clock.now();
  } while (now < until);
  return now;
}

runTest(async () => {
  if (document.readyState !== "complete") {
    await event(window, "load");
  }
  button = document.getElementById("button");
  list = document.getElementById("list");
  item = list.firstChild;
  const source = await WebAssembly.instantiateStreaming(fetch(streamedURL), imports);
  streamed = source.instance.exports;

  for (const round of results.inlineScript) {
    round.trace = await round.trace;
  }
  const coldProfiler = coldStarter();
  results.coldStarter = [{ hot: 0, end, trace: await coldProfiler.stop() }];
  for (let i = 0; i < 100_000; i++) {
    hotStarter(3, NOTHINGS[i % NOTHINGS.length]);
  }
  while (isNeeded("hotStarter")) {
    const profiler = hotStarter(3, coldStarter);
    results.hotStarter.push({ hot: 0, end, trace: await profiler.stop() });
  }

  for (const name of Object.keys(driven)) {
    while (isNeeded(name)) {
      const profiler = new Profiler(OPTIONS);
      const hot = drive(driven[name], COLD_MILLISECONDS);
      const last = drive(driven[name], HOT_MILLISECONDS);
      results[name].push({ hot, end: last, trace: await profiler.stop() });
    }
  }
  for (const name of Object.keys(selfDriven)) {
    while (isNeeded(name)) {
      const profiler = start();
      await selfDriven[name]();
      results[name].push({ hot: 0, end, trace: await profiler.stop() });
    }
  }
  return { results, streamedURL };
});
