/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

function thrower(round) {
  const x = spin(round);
  if (x !== null) {
    throw new RangeError(`round ${round}`);
  }
  return x;
}

function spin(round) {
  let x = round;
  for (let i = 0; i < 500; i++) {
    x = (Math.imul(x, 31) + i) | 0;
  }
  return x;
}

function passing(round) {
  return thrower(round) + 1;
}

function finishing(round) {
  try {
    return passing(round);
  } finally {
    finish(round);
  }
}

function finish(round) {
  return spin(round);
}

function rethrowing(round) {
  try {
    return finishing(round);
  } catch (error) {
    note(error);
    throw error;
  }
}

function note(error) {
  return spin(error.message.length);
}

function catching(round) {
  try {
    return rethrowing(round);
  } catch {
    return recover(round);
  }
}

function recover(round) {
  return spin(round);
}

// Runs between calls of the throwing functions, and does not call them.
function bystander(round) {
  let x = round;
  for (let i = 0; i < 1500; i++) {
    x = (Math.imul(x, 33) + i) | 0;
  }
  return x;
}

function* throwingGenerator() {
  for (let round = 0; ; round++) {
    try {
      yield spin(round);
    } catch {
      recover(round);
    }
  }
}

function throwInto(generator) {
  generator.next();
  generator.throw(new Error("thrown into"));
}

function rounds(milliseconds) {
  const end = performance.now() + milliseconds;
  const generator = throwingGenerator();
  let caught = 0;
  for (let round = 0; performance.now() < end; round++) {
    catching(round);
    caught++;
    bystander(round);
    throwInto(generator);
  }
  return caught;
}

runTest(async () => {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  const caught = rounds(3000);
  return { caught, trace: await profiler.stop() };
});
