/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

let frameWindow;

function callback() {
  return work(2);
}

function caller() {
  return frameWindow.callFromFrame(callback);
}

runTest(async () => {
  const frame = document.createElement("iframe");
  frame.src = "other-realm-frame.html";
  document.documentElement.append(frame);
  await event(frame, "load");
  frameWindow = frame.contentWindow;
  // Both realms have a function with this name, and the two must not be confused.
  frameWindow.eval("function work(milliseconds) { return spinInFrame(); }");
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  for (let i = 0; i < 200; i++) {
    caller();
    frameWindow.work();
  }
  return profiler.stop();
});
