// META: timeout=long
/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// An unreferenced profiler continues as long as the page could notice its end.

const options = { sampleInterval: 10, maxBufferSize: 100_000 };
// The most profilers that an event loop may have at once.
const MOST = 100;

function startAll(count, init = () => {}) {
  for (let i = 0; i < count; i++) {
    init(new Profiler(options));
  }
}

const soon = () => new Promise(resolve => setTimeout(resolve, 0));

// Makes so much garbage that the engine collects it, because a page cannot ask for a collection.
async function garbageCollect() {
  for (let i = 0; i < 20; i++) {
    for (let j = 0; j < 10; j++) {
      new Uint8Array(8 * 1024 * 1024).fill(j);
    }
    await soon();
  }
}

async function isRoomMade() {
  for (let i = 0; i < 20; i++) {
    await garbageCollect();
    try {
      await new Profiler(options).stop();
      return true;
    } catch (error) {
      assert_equals(error.name, "TypeError");
    }
  }
  return false;
}

promise_test(async () => {
  // A reference may be left on the stack.
  startAll(MOST);
  assert_throws_js(TypeError, () => new Profiler(options), "one more than allowed");
  assert_true(await isRoomMade());
}, "profilers that cannot be observed end when they are collected");

promise_test(async () => {
  const seen = [];
  new Profiler({ sampleInterval: 1, maxBufferSize: 100 }).onsamplebufferfull = () => seen.push("full");
  for (let i = 0; i < 5; i++) {
    await garbageCollect();
  }
  const end = performance.now() + 10_000;
  while (!seen.length && performance.now() < end) {
    await new Promise(resolve => setTimeout(resolve, 20));
  }
  assert_array_equals(seen, ["full"]);
}, "a profiler with a listener continues");

promise_test(async () => {
  const entry = new Promise(resolve => {
    const observer = new PerformanceObserver(list => {
      const [entry] = list.getEntriesByName("observed");
      if (entry) {
        observer.disconnect();
        resolve(entry);
      }
    });
    observer.observe({ type: "profile" });
  });
  new Profiler({ sampleInterval: 1, maxBufferSize: 100, name: "observed" });
  for (let i = 0; i < 5; i++) {
    await garbageCollect();
  }
  assert_equals((await entry).sampleCount, 100);
}, "a profiler whose entry is observed continues");

promise_test(async () => {
  const promise = new Profiler(options).stop();
  await garbageCollect();
  assert_true(Array.isArray((await promise).samples));
}, "a profiler with a pending promise of its trace continues");
