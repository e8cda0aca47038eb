/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

function beforeAwait() {
  return work(1);
}

function afterAwait() {
  return work(1);
}

function afterTask() {
  return work(1);
}

async function awaiting() {
  beforeAwait();
  await null;
  afterAwait();
  await task();
  afterTask();
}

function startAwaiting() {
  return awaiting();
}

async function outer() {
  await startAwaiting();
  return afterInner();
}

function afterInner() {
  return work(1);
}

async function* asyncNumbers() {
  for (let i = 0; i < 5; i++) {
    await null;
    yield perAsyncNumber();
  }
}

function perAsyncNumber() {
  return work(1);
}

async function consumeAsync() {
  for await (const number of asyncNumbers()) {
    perConsumed(number);
  }
}

function perConsumed() {
  return work(1);
}

function reaction() {
  return work(1);
}

async function* queueWaits() {
  yield* asyncNumbers();
}

async function throwing() {
  await null;
  throw new Error("thrown");
}

async function catching() {
  try {
    await throwing();
  } catch {
    afterCatch();
  } finally {
    await null;
    afterFinally();
  }
}

function afterCatch() {
  return work(1);
}

function afterFinally() {
  return work(1);
}

runTest(async () => {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  // Each function works for 200 ms, so it has samples even if most are missed.
  for (let i = 0; i < 200; i++) {
    await outer();
    await consumeAsync();
    await queueWaits().next();
    await catching();
    await Promise.resolve().then(reaction);
  }
  return profiler.stop();
});
