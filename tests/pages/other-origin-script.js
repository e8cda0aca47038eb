/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Served from a different origin than the page.

function otherOriginWork() {
  return work(1);
}

function otherOriginCall(callback) {
  otherOriginWork();
  callback();
  otherOriginSpin();
}

// Works without calling functions of the page.
function otherOriginSpin() {
  let x = 1;
  for (let i = 0; i < 1_000_000; i++) {
    x = (Math.imul(x, 31) + i) | 0;
  }
  return x;
}

const otherOriginMade = new Function("return otherOriginSpin();");

function otherOriginEval(callback) {
  eval("(function otherOriginEvaluated() { callback(); otherOriginMade(); })()");
}

const otherOriginObject = {
  otherOriginMethod(callback) {
    callback();
  },
  *otherOriginGenerator(callback) {
    yield callback();
  },
};
