/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

const profiler = location.search === "?profiled" && new Profiler({ sampleInterval: 1, maxBufferSize: 1e6 });
let number = 0;

function turnOn() {
  for (;;) {
    number = Math.imul(number, 31) + 1 | 0;
  }
}

postMessage(Boolean(profiler));
turnOn();
