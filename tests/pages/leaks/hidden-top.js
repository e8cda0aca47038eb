/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Works at its top level when it is loaded.

{
  const start = performance.now();
  let x = 1;
  while (performance.now() < start + TIME) {
    for (let i = 0; i < 2000; i++) {
      x = (Math.imul(x, 31) + i) | 0;
    }
  }
  windows.push([start, performance.now()]);
}
