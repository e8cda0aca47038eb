/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

function declared() { return work(8); }

const expression = function named () { return work(8); };

const inferred = function () { return work(8); };

const arrow = (x) => work(8);

const object = {
  method() { return work(8); },
  get accessor() { return work(8); },
  set accessor(value) { work(8); },
  "quoted name"() { return work(8); },
  *generator() { yield work(8); },
};

class Shape {
  constructor(sides) { this.sides = work(8) && sides; }
  area() { return work(8); }
  static unit() { return work(8); }
  #hidden() { return work(8); }
  callHidden() { return this.#hidden(); }
}

  /* 😀 é */ function ünïcödé( /* é */ x) { return work(8); }

function outerFunction() {
  function innerFunction(a,
    b) { return work(8); }
  return innerFunction();
}

function onTwoLines
  (
  ) { return work(8); }

function callEach(callback) {
  callback();
}

function everything() {
  declared();
  expression();
  inferred();
  arrow();
  object.method();
  object.accessor = object.accessor;
  object["quoted name"]();
  [...object.generator()];
  const shape = new Shape(3);
  shape.area();
  Shape.unit();
  shape.callHidden();
  ünïcödé();
  outerFunction();
  onTwoLines();
  // The only function without a name.
  callEach((/* anonymous */) => work(8));
}

runTest(async () => {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  for (let i = 0; i < 12; i++) {
    everything();
  }
  return profiler.stop();
});
