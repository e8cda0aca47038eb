/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Runs in a frame together with hidden.js. The page calls its functions if it may access the frame. Otherwise
// the frame does what a message says, and answers when it did that.

addEventListener("message", async ({ data, ports: [port], source }) => {
  if (!port) {
    return;
  }
  windows.length = 0;
  const answer = await FRAME[data](source);
  port.postMessage({ answer, windows, timeOrigin: performance.timeOrigin });
});

const FRAME = {
  spin() {
    hiddenSpin();
  },
  async spinLater() {
    await undefined;
    hiddenSpin();
  },
  builtIn() {
    hiddenBuiltIn("sort");
  },
  domain() {
    document.domain = document.domain;
  },
  async profileParent() {
    const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
    visible(parent.hiddenOfParent);
    return profiler.stop();
  },
  async refused() {
    try {
      new Profiler({ sampleInterval: 1, maxBufferSize: 10 });
      return "allowed";
    } catch (error) {
      return error.name;
    }
  },
  entries() {
    return performance.getEntriesByType("profile").length;
  },
  manyNew() {
    const functions = hiddenNewFunctions(2000);
    hiddenDuring(() => {
      let x = 1;
      for (const call of functions) {
        x = call(x);
      }
    });
  },
};
