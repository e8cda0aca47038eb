/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

function perNumber(n) {
  return work(0.2) + n;
}

function* numbers(count) {
  for (let i = 0; i < count; i++) {
    yield perNumber(i);
  }
}

function* delegating(count) {
  yield* numbers(count);
  try {
    yield work(1);
  } finally {
    cleanUp();
  }
}

// Is called seldom, so it works for long.
function cleanUp() {
  return work(20);
}

function consumeAll() {
  let sum = 0;
  for (const n of numbers(100)) {
    sum += n;
  }
  return sum;
}

function consumeOne(generator) {
  return generator.next().value + work(0.2);
}

function consumeByHand() {
  const generator = delegating(50);
  let sum = 0;
  for (let i = 0; i < 51; i++) {
    sum += consumeOne(generator);
  }
  generator.return();
  return sum;
}

// Different functions resume the generator in turn. Each is its caller until the next yield.
function resumeFirst(generator) {
  return generator.next().value;
}

function resumeSecond(generator) {
  return generator.next().value;
}

function* alternating() {
  for (;;) {
    yield calledByFirst();
    yield calledBySecond();
  }
}

function calledByFirst() {
  return work(0.5);
}

function calledBySecond() {
  return work(0.5);
}

function resumeInTurn() {
  const generator = alternating();
  for (let i = 0; i < 100; i++) {
    resumeFirst(generator);
    resumeSecond(generator);
  }
}

runTest(async () => {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  for (let i = 0; i < 12; i++) {
    consumeAll();
    consumeByHand();
    resumeInTurn();
  }
  return profiler.stop();
});
