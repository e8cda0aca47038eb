/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A script of another origin, fetched without CORS, and all kinds of calls between it and the page's script.

function sync(call) {
  return () => traced(() => { call(); });
}

function visibleCallback() {
  visibleSpin();
}

function visibleCompare(a, b) {
  visibleSpin();
  return a - b;
}

function visibleThrow() {
  throw new Error("visible");
}

function visibleSmall(x, i) {
  for (let j = 0; j < 10; j++) {
    x = (Math.imul(x, 31) + i + j) | 0;
  }
  return x;
}

function visibleLoop() {
  let x = 1;
  for (let i = 0; i < 2000; i++) {
    x = hiddenSmall(x, i);
  }
  return x;
}

function button() {
  const element = document.createElement("button");
  document.documentElement.append(element);
  return element;
}

// A target whose listener is hidden.
function listened() {
  const target = new EventTarget();
  target.addEventListener("x", hiddenSpin);
  return target;
}

const CASES = {
  "function": sync(() => visible(hiddenSpin)),
  "arrow function": sync(() => visible(hiddenArrow)),
  "method": sync(() => visible(() => hiddenObject.hiddenMethod())),
  "getter": sync(() => visible(() => hiddenObject.hiddenGetter)),
  "setter": sync(() => visible(() => { hiddenObject.hiddenSetter = 1; })),
  "constructor": sync(() => visible(() => new HiddenClass())),
  "class field": sync(() => visible(() => new HiddenField())),
  "private method": sync(() => visible(() => new HiddenPrivate().call())),
  "static block": sync(() => visible(hiddenStaticBlock)),
  "base class": sync(() => visible(() => new (class VisibleDerived extends HiddenClass {})())),
  "generator": sync(() => visible(() => hiddenGenerator().next())),
  "generator in for-of": sync(() => visible(() => { for (const _ of hiddenGenerator()) { break; } })),
  "delegating generator": sync(() => visible(() => (function* visibleGenerator() { yield* hiddenGenerator(); })().next())),
  "async function": () => traced(() => visible(hiddenAsync)),
  "async generator": () => traced(() => visible(() => hiddenAsyncGenerator().next())),
  "bound function": sync(() => visible(hiddenBound)),
  "proxy get": sync(() => visible(() => hiddenProxy.x)),
  "proxy has": sync(() => visible(() => "x" in hiddenProxy)),
  "proxy apply": sync(() => visible(hiddenCallable)),
  "tagged template": sync(() => visible(() => hiddenTag`x`)),
  "default argument": sync(() => visible(() => hiddenDefault())),

  "conversion": sync(() => visible(() => +hiddenConvertible)),
  "string tag": sync(() => visible(() => `${hiddenObject}`)),
  "iteration": sync(() => visible(() => { const [] = hiddenIterable; const [x] = hiddenIterable; return x; })),
  "instanceof": sync(() => visible(() => 1 instanceof hiddenInstance)),
  "thenable": () => traced(() => visible(() => Promise.resolve(hiddenThenable))),
  "await of a thenable": () => traced(() => visible(async () => { await hiddenThenable; })),

  "comparator": sync(() => visible(() => [2, 1].sort(hiddenCompare))),
  "replacer": sync(() => visible(() => "x".replace("x", hiddenReplacer))),
  "reviver": sync(() => visible(() => JSON.parse("{}", hiddenReviver))),
  "toJSON": sync(() => visible(() => JSON.stringify(hiddenSerializable))),
  "callback of map": sync(() => visible(() => [1].map(hiddenMapped))),
  "Reflect.apply": sync(() => visible(() => Reflect.apply(hiddenSpin, null, []))),
  "event listener": sync(() => {
    const target = listened();
    visible(() => target.dispatchEvent(new Event("x")));
  }),
  "custom element": sync(() => {
    if (!customElements.get("x-other")) {
      hiddenDefine("x-other");
    }
    visible(() => document.documentElement.append(document.createElement("x-other")));
  }),

  "direct eval": sync(() => visible(hiddenEval)),
  "indirect eval": sync(() => visible(hiddenIndirectEval)),
  "eval with a source URL": sync(() => visible(hiddenEvalWithUrl)),
  "new Function": sync(() => visible(hiddenMade)),
  "new GeneratorFunction": sync(() => visible(() => hiddenMadeGenerator().next())),
  "text of a timer": () => traced(() => hiddenTimer("(function hiddenText() { hiddenSpin(); hiddenResolve(); })()")),

  "wasm, called by the page": sync(() => visible(() => during(() => hiddenWasm.spin(20_000)))),
  "wasm, called by its script": sync(() => visible(() => hiddenDuring(hiddenWasmLoop))),
  "wasm that calls back": sync(() => visible(() => hiddenWasmCalls(visibleCallback))),
  "wasm that calls its script": sync(() => visible(() => hiddenWasmCalls(hiddenSpin))),

  "callback": sync(() => visible(() => hiddenCall(visibleCallback))),
  "callback by map": sync(() => visible(() => hiddenCallByMap(visibleCallback))),
  "callback by sort": sync(() => visible(() => hiddenSortBy(visibleCompare))),
  "callback by Reflect.apply": sync(() => visible(() => hiddenApply(visibleCallback))),
  "hidden between hidden": sync(() => visible(() => hiddenCall(() => visibleCallback2()))),

  "throws": sync(() => visible(() => { try { hiddenThrow(); } catch { /* As expected. */ } })),
  "catches": sync(() => visible(() => hiddenCatch(visibleThrow))),
  "finally": sync(() => visible(() => hiddenFinally(() => 1))),

  "inlined into the page's": sync(() => visible(() => during(visibleLoop))),
  "the page's inlined into it": sync(() => visible(() => hiddenDuring(() => hiddenLoop(visibleSmall)))),

  "depth": sync(() => visible(() => hiddenRecursion(50, hiddenSpin))),
  "depth below a callback": sync(() => visible(() => hiddenRecursion(50, visibleCallback))),
  "more depth than is walked": sync(() => visible(() => hiddenDeepRecursion(5000, visibleCallback))),
  "depth, with built-ins in between": sync(() => visible(() => hiddenRecursionByMap(400, visibleCallback))),
  "depth on top of the page's": sync(() => visible(() => visibleRecursion(300, () => hiddenRecursion(400, hiddenSpin)))),
  "more depth than is walked, on top of the page's": sync(() => {
    visible(() => visibleRecursion(300, () => hiddenDeepRecursion(5000, hiddenSpin)));
  }),

  "long name": sync(() => visible(hiddenLongNames)),

  // Shallow and deep stacks in turn.
  "depths": () => traced(() => {
    for (let i = 0; i < 24; i++) {
      visible(() => hiddenRecursion(i % 2 === 0 ? 1 : 2000, hiddenSpin));
    }
  }),
};

for (const name of ["sort", "parse", "stringify", "replace", "exec", "map", "dom", "now"]) {
  CASES[`built-in: ${name}`] = sync(() => visible(() => hiddenBuiltIn(name)));
}

for (const name of ["timer", "microtask", "reaction", "message", "frame", "mutation"]) {
  CASES[`task: ${name}`] = () => traced(() => visible(() => hiddenLater(hiddenQueues[name])));
}

function visibleCallback2() {
  hiddenCall(hiddenSpin);
}

loadScript(HIDDEN_SCRIPT).then(() => runCases(CASES));
