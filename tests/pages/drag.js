/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// A page that logs how the mouse was dragged. A key makes it busy for so long that a whole drag waits for it.

"use strict";

const BUSY = 1000;
let pressedAt = null;
let movedTo = null;
addEventListener("keydown", () => {
  console.log("busy");
  const end = performance.now() + BUSY;
  while (performance.now() < end) {
    // Handles no event meanwhile.
  }
});
addEventListener("mousedown", ({ clientX }) => {
  pressedAt = clientX;
  movedTo = null;
});
addEventListener("mousemove", ({ clientX }) => {
  movedTo = clientX;
});
addEventListener("mouseup", ({ clientX }) => {
  console.log(`pressed at ${pressedAt}, moved to ${movedTo}, let go at ${clientX}`);
});
