/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

function early() {
  return work(100);
}

function shared() {
  return work(2000);
}

function late() {
  return work(100);
}

runTest(async () => {
  const often = new Profiler({ sampleInterval: 5, maxBufferSize: 10_000 });
  early();
  const seldom = await performance.profile({ sampleInterval: 20, maxBufferSize: 10_000 });
  const start = performance.now();
  shared();
  const end = performance.now();
  const seldomTrace = await seldom.stop();
  late();
  const oftenTrace = await often.stop();
  return { start, end, oftenTrace, seldomTrace };
});
