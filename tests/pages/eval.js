/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

const EVALUATED = `
  function evaluatedInner() { return work(5); }

  function evaluated() { return evaluatedInner(); }
  evaluated();
  work(5);`;

function evaluate() {
  return eval(EVALUATED);
}

function evaluateGlobally() {
  return (0, eval)("(function global() { return work(5); })()");
}

const made = new Function("x", "return work(5);");

const MadeGenerator = Object.getPrototypeOf(function* () {}).constructor;
const madeGenerator = new MadeGenerator("for (;;) yield work(5);");

function callMade() {
  made(1);
}

function callMadeGenerator() {
  madeGenerator().next();
}

runTest(async () => {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  for (let i = 0; i < 20; i++) {
    evaluate();
    evaluateGlobally();
    callMade();
    callMadeGenerator();
  }
  return profiler.stop();
});
