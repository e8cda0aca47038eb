/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Runs in a frame of the page's origin.

function spinInFrame() {
  let x = 1;
  for (let i = 0; i < 1_000_000; i++) {
    x = (Math.imul(x, 31) + i) | 0;
  }
  return x;
}

function callFromFrame(callback) {
  spinInFrame();
  return callback();
}
