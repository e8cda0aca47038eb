/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// May be loaded more than once.

function hiddenStep() {
  let x = 1;
  for (let i = 0; i < 2000; i++) {
    x = (Math.imul(x, 31) + i) | 0;
  }
  return x;
}

function hiddenSpin() {
  const start = performance.now();
  const end = start + TIME;
  let now;
  do {
    hiddenStep();
    now = performance.now();
  } while (now < end);
  windows.push([start, now]);
}
