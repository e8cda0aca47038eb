/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

const VALID = { sampleInterval: 10, maxBufferSize: 10 };

const ARGUMENTS = {
  valid: [VALID],
  nothing: [],
  undefined: [undefined],
  null: [null],
  "a number": [1],
  "no members": [{}],
  "no sampleInterval": [{ maxBufferSize: 10 }],
  "no maxBufferSize": [{ sampleInterval: 10 }],
  "undefined sampleInterval": [{ sampleInterval: undefined, maxBufferSize: 10 }],
  "negative sampleInterval": [{ ...VALID, sampleInterval: -1 }],
  "slightly negative sampleInterval": [{ ...VALID, sampleInterval: -0.001 }],
  "NaN as sampleInterval": [{ ...VALID, sampleInterval: NaN }],
  "infinite sampleInterval": [{ ...VALID, sampleInterval: Infinity }],
  "a symbol as sampleInterval": [{ ...VALID, sampleInterval: Symbol("x") }],
  "a symbol as maxBufferSize": [{ ...VALID, maxBufferSize: Symbol("x") }],
  "a big integer as maxBufferSize": [{ ...VALID, maxBufferSize: 10n }],
  "a symbol as name": [{ ...VALID, name: Symbol("x") }],
  "an unknown format": [{ ...VALID, format: "object" }],
  "an unknown format and a negative sampleInterval": [{ ...VALID, format: "json", sampleInterval: -1 }],
  "a throwing getter": [{ ...VALID, get sampleInterval() { throw new EvalError("thrown"); } }],
};

const WAYS = {
  constructor: options => new Profiler(...options),
  profile: options => performance.profile(...options),
};

async function outcome(start) {
  let given;
  try {
    given = start();
  } catch (error) {
    return { how: "throws", ...facts(error) };
  }
  try {
    const how = given instanceof Promise ? "resolves" : "gives";
    const profiler = await given;
    await profiler.stop();
    return { how, isProfiler: profiler instanceof Profiler };
  } catch (error) {
    return { how: "rejects", ...facts(error) };
  }
}

function facts(error) {
  const types = [DOMException, EvalError, RangeError, TypeError];
  return {
    name: error.name,
    message: error.message,
    types: types.filter(type => error instanceof type).map(type => type.name),
  };
}

runTest(async () => {
  const outcomes = {};
  for (const [way, start] of Object.entries(WAYS)) {
    outcomes[way] = {};
    for (const [name, options] of Object.entries(ARGUMENTS)) {
      outcomes[way][name] = await outcome(() => start(options));
    }
  }
  outcomes.constructor["without new"] = await outcome(() => Profiler(VALID));
  outcomes.profile["of another object"] = await outcome(() => Performance.prototype.profile.call({}, VALID));
  return outcomes;
});
