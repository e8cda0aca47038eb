/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Long enough to be sampled. Only the time in which the thread runs counts.
function spin() {
  let last = performance.now();
  for (let worked = 0; worked < 80;) {
    const now = performance.now();
    worked += Math.min(now - last, 1);
    last = now;
  }
}
//# sourceMappingURL=maps/texts.js.map
